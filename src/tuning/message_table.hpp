// SPDX-License-Identifier: BSD-3-Clause
// Finds the other side of a message: a hash table of messages that only one side has posted yet, for price.cpp.
//
// Open addressing with linear probing; removal closes the hole by moving entries back. Messages with equal routes lie in
// the order in which they were added and leave in that order: MPI's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcoll {

// What tells messages apart (message_tag in plan.hpp).
struct Route {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t tag = 0;

    friend bool operator==(const Route&, const Route&) = default;
};

class MessageTable {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    void add(const Route& route, std::uint32_t message) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        insert({route, message});
        ++count_;
    }

    // Removes the oldest message of this route; none if there is not one.
    std::uint32_t take(const Route& route) {
        for (std::size_t at = home(route);; at = next(at)) {
            const std::uint32_t message = slots_[at].message;
            if (message == none) return none;
            if (slots_[at].route != route) continue;
            close(at);
            --count_;
            return message;
        }
    }

    std::size_t size() const { return count_; }

private:
    struct Slot {
        Route route;
        std::uint32_t message = none;
    };

    std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

    std::size_t home(const Route& route) const {
        std::uint64_t hash = (std::uint64_t{route.from} << 32 | route.to) * 0x9E3779B97F4A7C15ULL;
        hash = (hash ^ hash >> 29 ^ route.tag) * 0xBF58476D1CE4E5B9ULL;
        return static_cast<std::size_t>(hash ^ hash >> 32) & (slots_.size() - 1);
    }

    void insert(const Slot& slot) {
        std::size_t at = home(slot.route);
        while (slots_[at].message != none) at = next(at);
        slots_[at] = slot;
    }

    // An entry may move back into the hole only if its home does not lie behind the hole.
    void close(std::size_t hole) {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = next(hole); slots_[at].message != none; at = next(at)) {
            const std::size_t distance_from_home = (at - home(slots_[at].route)) & mask;
            if (distance_from_home < ((at - hole) & mask)) continue;
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole].message = none;
    }

    // From behind an empty slot and around, so that equal routes keep their order where a run of entries wraps.
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        std::size_t begin = 0;
        while (old[begin].message != none) ++begin;
        for (std::size_t i = 1; i < old.size(); ++i) {
            const Slot& slot = old[(begin + i) & (old.size() - 1)];
            if (slot.message != none) insert(slot);
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);  // always a power of two, at most half full
    std::size_t count_ = 0;
};

}  // namespace hcoll
