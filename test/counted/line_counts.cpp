// SPDX-License-Identifier: BSD-3-Clause
#include "line_counts.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "../model/model_checker.hpp"
#include "base/check.hpp"
#include "progress/node/memory_units.hpp"

namespace hcoll::counted {

namespace {

using Location = model::Location;

// Looks at a line that has not changed, before others get a turn.
constexpr int looks_in_vain = 16;

constexpr std::size_t stack_bytes = 256 << 10;

struct Line {
    std::uint64_t version = 0;
    int writer = -1;
    int chain = 0;  // behind which it was written
    int turns = 0;
    int queue = 0;            // likewise; when it has been handed to all who came so far
    std::vector<int> givers;  // of this version: the first rank of each cache that has it, the writer before all others
    int readers = 0;
};

struct Rank {
    std::unordered_map<Location, std::uint64_t> seen;  // versions
    int chain = 0;
    int turns = 0;
    int queue = 0;
    // What it looks at, how often in vain, and whether it has given its turn away because of that.
    Location looks_at = 0;
    int vain = 0;
    bool waits = false;
    bool is_done = false;
    // Ranks are coroutines.
    const Work* work = nullptr;
    ucontext_t context{};
    std::vector<std::byte> stack;
};

class Count {
public:
    Count(const Placement& placement, std::size_t bytes, const Weights& weights, Pace pace)
        : placement_(placement),
          weights_(weights),
          pace_(pace),
          bytes_(rounded_up(bytes, page_bytes)),
          memory_(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes_))),
          out_(static_cast<std::size_t>(placement.caches_of_node(0))),
          in_(out_.size()) {
        check(memory_ != nullptr, "no memory");
        std::memset(memory_, 0, bytes_);
        for (int rank = 0; rank < placement.ranks(); ++rank) ranks_.push_back(std::make_unique<Rank>());
    }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    ~Count() { std::free(memory_); }

    Counts run(const std::function<Work(std::byte* memory, int rank)>& prepare) {
        std::vector<Work> works;
        for (int rank = 0; rank < placement_.ranks(); ++rank) works.push_back(prepare(memory_, rank));
        run_all(works);
        counts_ = {};
        std::fill(out_.begin(), out_.end(), 0);
        std::fill(in_.begin(), in_.end(), 0);
        for (auto& [place, line] : lines_) line.chain = line.turns = line.queue = 0;
        for (const auto& rank : ranks_) rank->chain = rank->turns = rank->queue = 0;
        run_all(works);
        for (const auto& rank : ranks_) {
            counts_.chain = std::max(counts_.chain, rank->chain);
            counts_.turns = std::max(counts_.turns, rank->turns);
            counts_.queue = std::max(counts_.queue, rank->queue);
        }
        counts_.most_out = *std::max_element(out_.begin(), out_.end());
        counts_.most_in = *std::max_element(in_.begin(), in_.end());
        return counts_;
    }

    bool is_running() const { return running_ >= 0; }
    void read(Location place, std::size_t bytes) {
        for_lines(place, bytes, [&](Location at) { read_line(at); });
    }
    void write(Location place, std::size_t bytes) {
        for_lines(place, bytes, [&](Location at) { write_line(at); });
    }
    // Before a rank reads a line by which it may wait.
    void look(Location place) {
        const Location at = place / cache_line_bytes;
        Rank& rank = *ranks_[static_cast<std::size_t>(running_)];
        if (rank.looks_at == at && !is_new(rank, at)) {
            if (++rank.vain < looks_in_vain) return;
            give_turn();
        }
        rank.vain = 0;
        rank.looks_at = at;
        if (pace_ == Pace::flag_by_flag) swapcontext(&rank.context, &between_);
    }
    void give_turn() {
        Rank& rank = *ranks_[static_cast<std::size_t>(running_)];
        rank.waits = true;
        swapcontext(&rank.context, &between_);
        rank.waits = false;
    }
    void work_of_running_rank() {
        Rank& rank = *ranks_[static_cast<std::size_t>(running_)];
        (*rank.work)();
        rank.is_done = true;
    }

private:
    template <typename Do>
    void for_lines(Location place, std::size_t bytes, Do&& act) {
        const auto begin = reinterpret_cast<Location>(memory_);
        if (place < begin || place >= begin + bytes_ || bytes == 0) return;
        for (Location at = place / cache_line_bytes; at <= (place + bytes - 1) / cache_line_bytes; ++at) act(at);
    }
    bool is_new(Rank& rank, Location at) {
        const auto found = lines_.find(at);
        return found != lines_.end() && rank.seen[at] != found->second.version;
    }
    void read_line(Location at) {
        Rank& rank = *ranks_[static_cast<std::size_t>(running_)];
        const auto found = lines_.find(at);
        if (found == lines_.end()) return;
        Line& line = found->second;
        std::uint64_t& seen = rank.seen[at];
        if (seen == line.version) return;
        seen = line.version;
        std::size_t nearest = distances;
        int giver = 0;
        for (const int each : line.givers) {
            const std::size_t far = distance(placement_, each, running_);
            if (far >= nearest) continue;
            nearest = far;
            giver = each;
            if (far == 0) break;
        }
        ++counts_.transfers[nearest];
        if (nearest > 0) {
            ++out_[static_cast<std::size_t>(placement_.cache_of(giver))];
            ++in_[static_cast<std::size_t>(placement_.cache_of(running_))];
            line.givers.push_back(running_);
        }
        counts_.readers = std::max(counts_.readers, ++line.readers);
        rank.chain = std::max(rank.chain, line.chain + weights_[nearest]);
        rank.turns = std::max(rank.turns, line.turns) + weights_[nearest];
        rank.queue = line.queue = std::max(rank.queue, line.queue) + weights_[nearest];
    }
    void write_line(Location at) {
        Rank& rank = *ranks_[static_cast<std::size_t>(running_)];
        read_line(at);  // of a line, a part is written
        Line& line = lines_[at];
        if (line.writer != running_ || line.readers > 0) {
            ++line.version;
            line.writer = running_;
            line.givers.assign(1, running_);
            line.readers = 0;
        }
        rank.seen[at] = line.version;
        line.chain = rank.chain;
        line.turns = rank.turns;
        line.queue = rank.queue;
    }

    bool can_go_on(Rank& rank) { return !rank.is_done && (!rank.waits || is_new(rank, rank.looks_at)); }
    // Ranks go on in turn, as far as they can.
    void run_all(const std::vector<Work>& works) {
        for (std::size_t i = 0; i < ranks_.size(); ++i) {
            Rank& rank = *ranks_[i];
            rank.is_done = rank.waits = false;
            rank.work = &works[i];
            rank.stack.resize(stack_bytes);
            getcontext(&rank.context);
            rank.context.uc_stack.ss_sp = rank.stack.data();
            rank.context.uc_stack.ss_size = rank.stack.size();
            rank.context.uc_link = &between_;
            makecontext(&rank.context, enter, 0);
        }
        for (bool any = true; any;) {
            any = false;
            for (int rank = 0; rank < placement_.ranks(); ++rank) {
                Rank& next = *ranks_[static_cast<std::size_t>(rank)];
                if (!can_go_on(next)) continue;
                any = true;
                running_ = rank;
                swapcontext(&between_, &next.context);
                running_ = -1;
            }
        }
        for (const auto& rank : ranks_) check(rank->is_done, "ranks wait for what nobody writes");
    }
    static void enter();

    const Placement& placement_;
    Weights weights_;
    Pace pace_;
    std::size_t bytes_;
    std::byte* memory_;
    std::vector<std::uint64_t> out_;  // by cache
    std::vector<std::uint64_t> in_;
    std::unordered_map<Location, Line> lines_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    Counts counts_;
    ucontext_t between_{};
    int running_ = -1;
};

Count* counting = nullptr;

void Count::enter() { counting->work_of_running_rank(); }

}  // namespace

std::size_t distance(const Placement& placement, int a, int b) {
    if (placement.package_of(a) != placement.package_of(b)) return 3;
    if (placement.socket_of(a) != placement.socket_of(b)) return 2;
    return placement.cache_of(a) != placement.cache_of(b) ? 1 : 0;
}

std::uint64_t Counts::all_transfers() const {
    return std::accumulate(transfers.begin(), transfers.end(), std::uint64_t{0});
}

Counts count(const Placement& placement, std::size_t bytes, const Weights& weights, Pace pace,
             const std::function<Work(std::byte* memory, int rank)>& prepare) {
    Count one(placement, bytes, weights, pace);
    counting = &one;
    const Counts found = one.run(prepare);
    counting = nullptr;
    return found;
}

}  // namespace hcoll::counted

// What instrumentation.cpp calls.
namespace hcoll::model {

using counted::counting;

bool is_running() { return counting != nullptr && counting->is_running(); }
void read_memory(const void* memory, std::size_t bytes) {
    if (is_running()) counting->read(reinterpret_cast<Location>(memory), bytes);
}
void write_memory(const void* memory, std::size_t bytes) {
    if (is_running()) counting->write(reinterpret_cast<Location>(memory), bytes);
}

namespace {

std::uint64_t value_at(Location location, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(location), bytes);
    return value;
}
void set_value_at(Location location, std::size_t bytes, std::uint64_t value) {
    std::memcpy(reinterpret_cast<void*>(location), &value, bytes);
}

}  // namespace

// One thread runs at a time: there is no other order.
std::uint64_t load(Location location, std::size_t bytes, Order /*order*/, const void* /*place*/) {
    counting->look(location);
    counting->read(location, bytes);
    return value_at(location, bytes);
}
void store(Location location, std::size_t bytes, std::uint64_t value, Order /*order*/, const void* /*place*/) {
    counting->write(location, bytes);
    set_value_at(location, bytes, value);
}
std::uint64_t change(Location location, std::size_t bytes, Order /*order*/, const void* /*place*/,
                     const std::function<std::uint64_t(std::uint64_t)>& change) {
    const std::uint64_t before = value_at(location, bytes);
    counting->write(location, bytes);
    set_value_at(location, bytes, change(before));
    return before;
}
std::uint64_t compare_exchange(Location location, std::size_t bytes, std::uint64_t expected, std::uint64_t desired,
                               Order order, Order /*on_failure*/, const void* place) {
    return change(location, bytes, order, place,
                  [&](std::uint64_t before) { return before == expected ? desired : before; });
}

void give_turn() { counting->give_turn(); }
int hour() { return 0; }
void pass_time() {}
void* allocate(std::size_t bytes, std::size_t alignment) {
    void* memory = std::aligned_alloc(alignment, rounded_up(bytes, alignment));
    check(memory != nullptr, "no memory");
    return memory;
}
bool is_allocated(const void* /*memory*/) { return false; }

}  // namespace hcoll::model
