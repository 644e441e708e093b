// SPDX-License-Identifier: BSD-3-Clause
// Runs a small program of a few threads in all the ways that the memory model of C++ allows (execution_graph.hpp), and looks whether anything
// goes wrong: a data race, an expectation that does not hold, or threads that wait for ever.
//
// The program is the library's own source, compiled with -fsanitize=thread: what the compiler then calls for each access (__tsan_read8,
// __tsan_atomic64_load, ...) is here, in instrumentation.cpp, instead of in the sanitizer. Threads are run as coroutines of one thread. A way is run
// again from its beginning for each new one, so the program does the same for the same values that it reads.
//
//   atomic accesses   events of the graph
//   other accesses    to memory that was told of are held against one another: two of the same place, one of them a write, must be
//                     ordered by what happens before what. Then they see what they would see on any machine
//   waiting           where the program gives its turn away (give_turn(), wait_at(), pthread_mutex_lock(), ...) it has looked in vain. A thread stays
//                     there: in another way it has seen what it waits for. When no thread can go on, all go on by turns and with the latest
//                     values, and must come to their ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "execution_graph.hpp"

namespace hcoll::model {

struct Program {
    // Before each run, outside of the threads. Memory that threads share is as at the first time then.
    std::function<void()> set_up;
    std::vector<std::function<void()>> threads;
    // After all threads have come to their ends.
    std::function<void()> at_end = [] {};
};

struct Result {
    std::uint64_t complete = 0;  // ways in which all threads came to their ends
    std::uint64_t waiting = 0;   // in which some looked in vain
    std::string error;           // empty: none
    bool is_cut_short = false;   // at the most ways that were allowed
    std::size_t most_events = 0;
    // Of the operations that acquire or release, by where the program calls them: as the hook's caller.
    std::set<const void*> ordered_places;
};

struct Limits {
    std::uint64_t most_ways = 5'000'000;
    // This one neither acquires nor releases: the program is a wrong one then.
    const void* weakened = nullptr;
};

// Calls `see`, if there is one, after each complete way.
using See = std::function<void(const ExecutionGraph&)>;
Result explore(const Program& program, const Limits& limits = {}, const See& see = {});

// ---- for programs ----

// Accesses to this memory that are not atomic are looked at. In set_up().
void watch(const void* memory, std::size_t bytes, const char* name);
// What is allocated by threads is watched, too.
void watch_allocations();
// Otherwise this way is an error.
void require(bool holds, const std::string& what);
// One of so many alternatives, each in ways of its own.
std::uint64_t choose(std::uint64_t alternatives);
// What threads of a program, other than the library's code, tell one another by.
class Signal {
public:
    void clear() { set_ = 0; }  // in set_up()
    void set();
    [[nodiscard]] bool is_set() const;

private:
    std::uint32_t set_ = 0;
};
// From now on a thread may find, at each look at the clock, that it is an hour later. In set_up().
void let_time_pass();
// Looked in vain.
void give_turn();
// How many atomic writes this thread has made: has it moved anything?
std::uint64_t writes();
// As the compiler's own.
void read_memory(const void* memory, std::size_t bytes);
void write_memory(const void* memory, std::size_t bytes);

// ---- for instrumentation.cpp ----

bool is_running();  // a thread of the program
struct Order {
    bool acquires, releases;
};
std::uint64_t load(Location location, std::size_t bytes, Order order, const void* place);
void store(Location location, std::size_t bytes, std::uint64_t value, Order order, const void* place);
// `change` gives what is written instead of what was read.
std::uint64_t change(Location location, std::size_t bytes, Order order, const void* place,
                     const std::function<std::uint64_t(std::uint64_t)>& change);
// Returns what was read; written only where that was `expected`.
std::uint64_t compare_exchange(Location location, std::size_t bytes, std::uint64_t expected, std::uint64_t desired,
                               Order order, Order on_failure, const void* place);
// What this thread's clock says; and it has waited for one.
int hour();
void pass_time();
void* allocate(std::size_t bytes, std::size_t alignment);
bool is_allocated(const void* memory);

}  // namespace hcoll::model
