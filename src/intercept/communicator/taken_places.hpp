// SPDX-License-Identifier: BSD-3-Clause
// What communicators of the same processes share has a place for each of them: a room of shared memory (shared_rooms.hpp), tags of a duplicate
// (shared_duplicate.hpp). Which ones are taken; each rank takes the lowest one that is free, and the ranks agree that it is the same on all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace hcoll {

// From any thread.
class TakenPlaces {
public:
    static constexpr int most = 32;
    static constexpr int none = -1;

    // `serial`: of the communicator that they were made for, the same on all ranks.
    explicit TakenPlaces(std::uint64_t serial) : serial_(serial) {}

    std::uint64_t serial() const { return serial_; }
    // Of that many.
    int take(int places) {
        const std::lock_guard lock(mutex_);
        for (int place = 0; place < places; ++place)
            if (!std::exchange(is_taken_[static_cast<std::size_t>(place)], true)) return place;
        return none;
    }
    // One that was used is not as it was, and never given back.
    void give_back(int unused) {
        const std::lock_guard lock(mutex_);
        is_taken_[static_cast<std::size_t>(unused)] = false;
    }
    // What tells the place from all others, on all ranks alike; not 0.
    std::uint64_t name_of(int place) const { return serial_ * most + static_cast<std::uint64_t>(place) + 1; }

private:
    std::uint64_t serial_;
    std::mutex mutex_;
    std::array<bool, most> is_taken_{};
};

// A place of `of`, set aside for a communicator that is being set up.
template <typename Shared>
struct PlaceAside {
    std::shared_ptr<Shared> of;
    int place = TakenPlaces::none;

    void take(std::shared_ptr<Shared> from) {
        of = std::move(from);
        place = of->take();
    }
    bool is_there() const { return place != TakenPlaces::none; }
    // 0 where there is none.
    std::uint64_t name() const { return is_there() ? of->name_of(place) : 0; }
    // It is used, or was, and not given back.
    void use_up() { *this = {}; }
    void give_back() {
        if (is_there()) of->give_back(place);
        *this = {};
    }
};

}  // namespace hcoll
