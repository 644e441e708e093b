// SPDX-License-Identifier: BSD-3-Clause
// Who may be reading what a rank wrote into places that it uses again and again: it waits for those before it does, and for nobody else.
//
// Uses are counted, by all ranks alike; a reader says with how many it is done. Who reads is noted use by use, and kept in two sets, since a rank
// looks at its readers only now and then:
//
//   uses    0 ...          known ...          settled ...          now
//           over           readers: earlier_   readers: recent_
//
// Where a rank of 128 gives what it has to one other, it looks at one flag, not at 127.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcoll {

// A bit for each rank.
class RankSet {
public:
    explicit RankSet(int ranks) : words_((static_cast<std::size_t>(ranks) + word_bits - 1) / word_bits) {}

    void add(int rank) {
        const auto bit = static_cast<std::size_t>(rank);
        words_[bit / word_bits] |= std::uint64_t{1} << bit % word_bits;
    }
    // Of as many ranks.
    void add(const RankSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i)
            for (std::uint64_t left = words_[i]; left != 0; left &= left - 1)
                visit(static_cast<int>(i * word_bits) + std::countr_zero(left));
    }

private:
    static constexpr std::size_t word_bits = 64;
    std::vector<std::uint64_t> words_;
};

// Of one rank; used by one thread at a time.
class PlaceReaders {
public:
    // With `anybody`, all ranks may always be reading, and nothing is noted.
    PlaceReaders(int ranks, bool anybody) : is_noted_(!anybody), earlier_(ranks), recent_(ranks), all_(ranks) {
        for (int rank = 0; rank < ranks; ++rank) all_.add(rank);
        if (anybody) earlier_ = all_;
    }

    // All that read any of so many uses are done with them.
    std::uint64_t known() const { return known_; }
    void learn(std::uint64_t uses) { known_ = std::max(known_, uses); }

    // Those who read what is written in this use: what it is written over has been settled.
    void add(int rank) {
        if (is_noted_) recent_.add(rank);
    }
    void add(const RankSet& ranks) {
        if (is_noted_) recent_.add(ranks);
    }
    void add_all() { add(all_); }

    // Before use number `now`: until(rank) waits for a reader, and returns with how many uses it is done.
    template <typename Until>
    void settle(std::uint64_t now, Until&& until) {
        earlier_.add(recent_);
        std::uint64_t over = now;
        earlier_.for_each([&](int rank) { over = std::min<std::uint64_t>(over, until(rank)); });
        learn(over);
        // Who was added before this use was settled, though it reads it, is among the earlier ones: so they stay where that may be.
        if (is_noted_ && known_ > settled_) earlier_ = recent_;
        recent_.clear();
        settled_ = now;
    }

private:
    bool is_noted_;
    RankSet earlier_;
    RankSet recent_;
    RankSet all_;
    std::uint64_t known_ = 0;
    std::uint64_t settled_ = 0;  // uses when it was looked the last time
};

}  // namespace hcoll
