// SPDX-License-Identifier: BSD-3-Clause
// An execution of a few threads under the memory model of C++, as a graph, and how to get from one to all others.
//
// Events are the atomic accesses of each thread, in program order (po). A read has the write that it reads from (rf); the writes of a location
// have an order (mo). What happens before what (hb) follows from po and from release and acquire. A graph is possible where
//
//   coherence    no read reads a write that another one, later in mo, hides: one that happens before the read, or that is read from before it;
//                mo contradicts hb nowhere
//   atomicity    nothing lies in mo between what a read-modify-write reads and what it writes
//   no thin air  po and rf together have no circle
//
// That is RC11 (Lahav et al., PLDI 2017), with seq_cst taken as acquire and release, and without fences; more is possible in it than on x86-64
// and on AArch64, but for one thing: there a relaxed load may be overtaken by a later store of its thread.
//
// All graphs, each once, come from adding events one at a time: a read may read from each write that is there; a write may have each place in mo
// and, where it comes later than a read that could have read from it, it is read there instead, without what was added since. That is
// TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless, optimal dynamic partial order reduction, POPL 2022).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hcoll::model {

inline constexpr int most_threads = 4;

// So many events of each thread.
using Clock = std::array<std::uint16_t, most_threads>;
void join(Clock& clock, const Clock& other);

// An event, by its thread and its place there. The initial value of a location counts as a write of no thread.
struct Id {
    std::int16_t thread = -1;
    std::int16_t index = 0;
    friend bool operator==(const Id&, const Id&) = default;
    friend auto operator<=>(const Id&, const Id&) = default;
    [[nodiscard]] bool is_initial() const { return thread < 0; }
    [[nodiscard]] bool is_in(const Clock& clock) const {
        return is_initial() || index < clock[static_cast<std::size_t>(thread)];
    }
};

using Location = std::uintptr_t;

struct Event {
    enum class Kind : std::uint8_t { read, write, choice };
    Kind kind = Kind::read;
    bool acquires = false;
    bool releases = false;
    bool is_exclusive = false;  // the write of a read-modify-write, whose read is the event before
    Location location = 0;
    std::uint64_t value = 0;  // that is read, written or chosen
    Id from{};                // a read's write
    // These follow from the rest.
    Clock before{};    // with the event itself: what happens before
    Clock causes{};    // the same along po and rf, whatever the orders are
    Clock released{};  // a write's: what happens before a read that acquires it
};

class ExecutionGraph {
public:
    [[nodiscard]] std::size_t events_of(int thread) const { return threads_[index_of(thread)].size(); }
    [[nodiscard]] const Event& at(Id id) const {
        return threads_[index_of(id.thread)][static_cast<std::size_t>(id.index)];
    }
    // In the order in which they were added.
    [[nodiscard]] const std::vector<Id>& order() const { return order_; }
    // In mo, the initial one first.
    [[nodiscard]] const std::vector<Id>& writes_to(Location location) { return mutable_writes_to(location); }
    [[nodiscard]] std::uint64_t value_of(Location location, Id write) const;
    // Before the thread's next event.
    [[nodiscard]] Clock clock_of(int thread) const;
    void set_initial(Location location, std::uint64_t value) { initial_.try_emplace(location, value); }

    // From which writes may a read of this thread's read now? In mo.
    [[nodiscard]] std::vector<Id> readable(int thread, Location location);
    // Its value is that of the write.
    Id add_read(int thread, Location location, bool acquires, Id from);
    // Where may a write of this thread's come in mo: before the write that has this place now?
    [[nodiscard]] std::vector<std::size_t> places(int thread, Location location, bool is_exclusive);
    Id add_write(int thread, Location location, std::uint64_t value, bool releases, bool is_exclusive,
                 std::size_t place);
    Id add_choice(int thread, std::uint64_t value);

    // The graphs in which an earlier read reads from this write, which is the last event and has no place in mo yet.
    [[nodiscard]] std::vector<ExecutionGraph> revisits(Event write, int thread) const;

    // Equal for equal graphs.
    [[nodiscard]] std::string signature() const;

private:
    static std::size_t index_of(int thread) { return static_cast<std::size_t>(thread); }
    std::vector<Id>& mutable_writes_to(Location location);
    Event& event(Id id) { return threads_[index_of(id.thread)][static_cast<std::size_t>(id.index)]; }
    Id append(int thread, Event event);
    void set_clocks(Id id);
    // The first place in mo that a thread which knows of `clock` may read from.
    [[nodiscard]] std::size_t first_readable(const Clock& clock, Location location) const;
    [[nodiscard]] std::size_t place_of(Location location, Id write) const;
    [[nodiscard]] bool was_added_last(Id id, const std::vector<std::vector<std::size_t>>& added,
                                      const Clock& causes) const;
    [[nodiscard]] ExecutionGraph restricted(const Clock& to) const;
    void recompute_clocks();

    std::array<std::vector<Event>, most_threads> threads_;
    std::vector<Id> order_;
    std::map<Location, std::vector<Id>> writes_;
    std::map<Location, std::uint64_t> initial_;
};

}  // namespace hcoll::model
