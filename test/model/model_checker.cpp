// SPDX-License-Identifier: BSD-3-Clause
#include "model_checker.hpp"

#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "accesses.hpp"
#include "base/check.hpp"

namespace hcoll::model {

namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr std::size_t heap_bytes = 4 << 20;
constexpr int most_rounds = 300;

class Explorer {
public:
    Explorer(const Program& program, const Limits& limits, const See& see)
        : program_(program), limits_(limits), see_(see), threads_(program.threads.size()) {
        check(threads_.size() <= most_threads, "more threads than the model has");
        for (Thread& each : threads_) {
            each.stack = map_memory(stack_bytes);
            each.heap = map_memory(heap_bytes);
        }
    }
    ~Explorer() {
        for (const Thread& each : threads_) {
            munmap(each.stack, stack_bytes);
            munmap(each.heap, heap_bytes);
        }
    }
    Explorer(const Explorer&) = delete;
    Explorer& operator=(const Explorer&) = delete;

    Result explore();

    void watch(const void* memory, std::size_t bytes, const char* name) { accesses_.watch(memory, bytes, name); }
    void watch_allocations() {
        for (const Thread& each : threads_) accesses_.watch(each.heap, heap_bytes, "allocated memory");
    }
    // In a thread of the program, and not in here.
    bool is_running() const { return running_ >= 0 && !is_inside_; }
    [[noreturn]] void fail(const std::string& what);
    std::uint64_t choose(std::uint64_t alternatives);
    void give_turn();
    std::uint64_t writes() { return current().writes; }
    void let_time_pass() { does_time_pass_ = true; }
    int hour() {
        Thread& self = current();
        // Once; and in the end in any case.
        if (does_time_pass_ && !self.is_late && (by_turns_ || choose(2) == 1)) {
            self.is_late = true;
            ++self.hour;
        }
        return self.hour;
    }
    void pass_time() { ++current().hour; }
    void access(const void* memory, std::size_t bytes, Accesses::Kind kind) {
        const Inside inside(*this);
        note(memory, bytes, kind);
    }
    std::uint64_t load(Location location, std::size_t bytes, Order order, const void* place);
    void store(Location location, std::size_t bytes, std::uint64_t value, Order order, bool is_exclusive,
               const void* place);
    void* allocate(std::size_t bytes, std::size_t alignment);
    bool is_allocated(const void* memory) const {
        const auto* place = static_cast<const std::byte*>(memory);
        return std::any_of(threads_.begin(), threads_.end(),
                           [&](const Thread& each) { return place >= each.heap && place < each.heap + heap_bytes; });
    }

private:
    // What is done here, on behalf of a thread, is none of that one's accesses.
    class Inside {
    public:
        explicit Inside(Explorer& self) : self_(self) { self_.is_inside_ = true; }
        ~Inside() { self_.is_inside_ = false; }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

    private:
        Explorer& self_;
    };
    enum class State { runs, waits, ended };
    struct Thread {
        ucontext_t context;
        std::byte* stack = nullptr;
        std::byte* heap = nullptr;
        std::size_t allocated = 0;
        State state = State::runs;
        std::int16_t done = 0;  // so many of its events
        std::uint64_t writes = 0;
        bool is_late = false;
        int hour = 0;
    };

    static void enter(unsigned int thread);
    void run();
    void resume(int thread);
    void leave();
    bool replay();
    bool extend();
    bool finish_by_turns();
    Thread& thread(int number) { return threads_[static_cast<std::size_t>(number)]; }
    Thread& current() { return thread(running_); }
    bool is_replaying() { return static_cast<std::size_t>(current().done) < graph_.events_of(running_); }
    // The next event of this run that is there already; nullptr: it is a new one.
    const Event* known(Event::Kind kind, Location location);
    // Until all that is known has happened.
    void await_frontier();
    // The running thread's next one.
    void happen(Id id) {
        happened_.push_back(id);
        ++current().done;
    }
    void note_initial(Location location, std::size_t bytes) {
        std::uint64_t initial = 0;
        std::memcpy(&initial, reinterpret_cast<const void*>(location), bytes);
        graph_.set_initial(location, initial);
    }
    Clock clock() {
        if (current().done == 0) return {};
        return graph_.at({static_cast<std::int16_t>(running_), static_cast<std::int16_t>(current().done - 1)}).before;
    }
    Order order_at(const void* place, Order order) {
        if (place == nullptr) return order;
        if (order.acquires || order.releases) result_.ordered_places.insert(place);
        const bool is_weakened = place == limits_.weakened;
        return is_weakened ? Order{false, false} : order;
    }
    void note_atomic(Location location, std::size_t bytes, Accesses::Kind kind) {
        note(reinterpret_cast<const void*>(location), bytes, kind);
    }
    void note(const void* memory, std::size_t bytes, Accesses::Kind kind);
    [[noreturn]] void abandon();
    std::string history();

    const Program& program_;
    const Limits& limits_;
    const See& see_;
    std::vector<Thread> threads_;
    ucontext_t scheduler_{};
    int running_ = -1;
    bool is_inside_ = false;
    bool does_time_pass_ = false;
    bool by_turns_ = false;       // no new ways: each reads the latest, and goes on after it has waited
    bool is_impossible_ = false;  // this way
    std::vector<ExecutionGraph> ways_;
    ExecutionGraph graph_;
    std::vector<Id> happened_;  // in this run
    std::size_t to_replay_ = 0;
    Accesses accesses_;
    Result result_;
};

Explorer* explorer = nullptr;

// ---- coroutines ----

void Explorer::enter(unsigned int thread) {
    Explorer& self = *explorer;
    try {
        self.program_.threads[thread]();
    } catch (const std::exception& error) {
        self.fail(std::string("an exception: ") + error.what());
    } catch (...) {
        self.fail("an exception");
    }
    self.is_inside_ = true;
    self.current().state = State::ended;
    self.leave();
    std::abort();  // nobody comes back
}

void Explorer::leave() {
    Thread& self = current();
    running_ = -1;
    swapcontext(&self.context, &scheduler_);
    is_inside_ = true;
}

void Explorer::resume(int number) {
    running_ = number;
    is_inside_ = false;
    swapcontext(&scheduler_, &thread(number).context);
    running_ = -1;
}

void Explorer::abandon() {
    is_impossible_ = true;
    leave();
    std::abort();
}

void Explorer::fail(const std::string& what) {
    is_inside_ = true;
    if (result_.error.empty()) result_.error = what + "\n" + history();
    abandon();
}

std::string Explorer::history() {
    std::string all;
    std::string last;
    int times = 0;
    const auto add = [&](const std::string& line) {
        if (line == last) {
            ++times;
            return;
        }
        if (times > 1) all += "  (" + std::to_string(times) + " times)\n";
        all += last = line;
        times = 1;
    };
    for (const Id id : happened_) {
        const Event& each = graph_.at(id);
        std::ostringstream text;
        text << "  thread " << id.thread << ": ";
        if (each.kind == Event::Kind::choice) {
            text << "chooses " << each.value << "\n";
            add(text.str());
            continue;
        }
        text << (each.kind == Event::Kind::read ? "reads " : "writes ") << each.value << " at "
             << accesses_.name(each.location) << (each.is_exclusive ? ", exclusively" : "")
             << (each.acquires ? ", acquires" : "") << (each.releases ? ", releases" : "");
        if (each.kind == Event::Kind::read && !each.from.is_initial()) text << ", of thread " << each.from.thread;
        text << "\n";
        add(text.str());
    }
    add("");
    return all;
}

// ---- one run ----

void Explorer::run() {
    accesses_.begin();
    happened_.clear();
    to_replay_ = graph_.order().size();
    by_turns_ = is_impossible_ = false;
    does_time_pass_ = false;
    program_.set_up();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        Thread& each = threads_[i];
        each.state = State::runs;
        each.done = 0;
        each.allocated = 0;
        each.writes = 0;
        each.is_late = false;
        each.hour = 0;
        getcontext(&each.context);
        each.context.uc_stack.ss_sp = each.stack;
        each.context.uc_stack.ss_size = stack_bytes;
        each.context.uc_link = nullptr;
        makecontext(&each.context, reinterpret_cast<void (*)()>(&Explorer::enter), 1, static_cast<unsigned int>(i));
    }
    if (!replay() || !extend()) return;
    result_.most_events = std::max(result_.most_events, graph_.order().size());
    const bool waits =
        std::any_of(threads_.begin(), threads_.end(), [](const Thread& each) { return each.state == State::waits; });
    if (waits) {
        ++result_.waiting;
        if (!finish_by_turns()) return;
    } else {
        ++result_.complete;
        if (see_) see_(graph_);
    }
    try {
        program_.at_end();
    } catch (const std::exception& error) {
        result_.error = std::string(error.what()) + "\n" + history();
    }
}

// Each thread up to its first new event.
bool Explorer::replay() {
    while (happened_.size() < to_replay_) {
        const std::size_t before = happened_.size();
        for (int i = 0; i < static_cast<int>(threads_.size()); ++i)
            if (thread(i).state == State::runs && static_cast<std::size_t>(thread(i).done) < graph_.events_of(i)) {
                resume(i);
                if (is_impossible_) return false;
            }
        check(happened_.size() != before, "the program does not do the same for the same values");
    }
    return true;
}

bool Explorer::extend() {
    while (true) {
        const auto next = std::find_if(threads_.begin(), threads_.end(),
                                       [](const Thread& each) { return each.state == State::runs; });
        if (next == threads_.end()) return true;
        resume(static_cast<int>(next - threads_.begin()));
        if (is_impossible_) return false;
    }
}

bool Explorer::finish_by_turns() {
    by_turns_ = true;
    for (int round = 0; round < most_rounds; ++round) {
        bool have_ended = true;
        for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
            if (thread(i).state == State::ended) continue;
            thread(i).state = State::runs;
            resume(i);
            if (is_impossible_) return false;
            have_ended = have_ended && thread(i).state == State::ended;
        }
        if (have_ended) return true;
    }
    std::string who;
    for (std::size_t i = 0; i < threads_.size(); ++i)
        if (threads_[i].state != State::ended) who += (who.empty() ? "" : " and ") + std::to_string(i);
    result_.error = "threads wait for ever: " + who + "\n" + history();
    return false;
}

Result Explorer::explore() {
    ways_.emplace_back();
    while (!ways_.empty() && result_.error.empty()) {
        if (result_.complete + result_.waiting >= limits_.most_ways) {
            result_.is_cut_short = true;
            break;
        }
        graph_ = std::move(ways_.back());
        ways_.pop_back();
        run();
    }
    return result_;
}

// ---- what threads do ----

void Explorer::await_frontier() {
    while (happened_.size() < to_replay_) leave();
}

const Event* Explorer::known(Event::Kind kind, Location location) {
    if (!is_replaying()) {
        await_frontier();
        return nullptr;
    }
    const Id id{static_cast<std::int16_t>(running_), current().done};
    const Event& event = graph_.at(id);
    check(event.kind == kind && event.location == location, "the program does not do the same for the same values");
    if (kind == Event::Kind::read)
        while (!event.from.is_initial() && thread(event.from.thread).done <= event.from.index) leave();
    happen(id);
    return &event;
}

std::uint64_t Explorer::load(Location location, std::size_t bytes, Order order, const void* place) {
    const Inside inside(*this);
    order = order_at(place, order);
    const auto value = [&] {
        if (const Event* event = known(Event::Kind::read, location); event != nullptr) return event->value;
        note_initial(location, bytes);
        const std::vector<Id> writes = graph_.readable(running_, location);
        if (!by_turns_)
            for (auto each = writes.begin(); each + 1 != writes.end(); ++each)
                ways_.emplace_back(graph_).add_read(running_, location, order.acquires, *each);
        const Id id = graph_.add_read(running_, location, order.acquires, writes.back());
        happen(id);
        return graph_.at(id).value;
    }();
    note_atomic(location, bytes, Accesses::Kind::atomic_read);
    return value;
}

void Explorer::store(Location location, std::size_t bytes, std::uint64_t value, Order order, bool is_exclusive,
                     const void* place) {
    const Inside inside(*this);
    order = order_at(place, order);
    if (const Event* event = known(Event::Kind::write, location); event != nullptr) {
        check(event->value == value && event->is_exclusive == is_exclusive,
              "the program does not do the same for the same values");
    } else {
        note_initial(location, bytes);
        if (!by_turns_) {
            const Event write{.kind = Event::Kind::write,
                              .releases = order.releases,
                              .is_exclusive = is_exclusive,
                              .location = location,
                              .value = value};
            for (ExecutionGraph& each : graph_.revisits(write, running_)) ways_.push_back(std::move(each));
        }
        const std::vector<std::size_t> places = graph_.places(running_, location, is_exclusive);
        if (places.empty()) abandon();
        if (!by_turns_)
            for (auto each = places.begin() + 1; each != places.end(); ++each)
                ways_.emplace_back(graph_).add_write(running_, location, value, order.releases, is_exclusive, *each);
        happen(graph_.add_write(running_, location, value, order.releases, is_exclusive, places.front()));
    }
    ++current().writes;
    note_atomic(location, bytes, Accesses::Kind::atomic_write);
}

std::uint64_t Explorer::choose(std::uint64_t alternatives) {
    const Inside inside(*this);
    if (const Event* event = known(Event::Kind::choice, 0); event != nullptr) return event->value;
    if (!by_turns_)
        for (std::uint64_t each = 1; each < alternatives; ++each) ways_.emplace_back(graph_).add_choice(running_, each);
    happen(graph_.add_choice(running_, 0));
    return 0;
}

void Explorer::give_turn() {
    const Inside inside(*this);
    check(!is_replaying(), "the program does not do the same for the same values");
    await_frontier();
    current().state = State::waits;
    leave();
}

void Explorer::note(const void* memory, std::size_t bytes, Accesses::Kind kind) {
    if (const auto race = accesses_.note(running_, clock(), reinterpret_cast<Location>(memory), bytes, kind))
        fail("a data race: " + *race);
}

void* Explorer::allocate(std::size_t bytes, std::size_t alignment) {
    const Inside inside(*this);
    Thread& self = current();
    self.allocated = (self.allocated + alignment - 1) / alignment * alignment;
    void* memory = self.heap + self.allocated;
    self.allocated += std::max<std::size_t>(bytes, 1);
    check(self.allocated <= heap_bytes, "a thread of the model allocates too much");
    return memory;
}

}  // namespace

Result explore(const Program& program, const Limits& limits, const See& see) {
    check(explorer == nullptr, "one program at a time");
    Explorer here(program, limits, see);
    explorer = &here;
    // The counts of shared pointers are atomic where a program may have several threads.
    const char single_threaded = std::exchange(__libc_single_threaded, 0);
    Result result = here.explore();
    __libc_single_threaded = single_threaded;
    explorer = nullptr;
    return result;
}

void watch(const void* memory, std::size_t bytes, const char* name) { explorer->watch(memory, bytes, name); }
void watch_allocations() { explorer->watch_allocations(); }

void require(bool holds, const std::string& what) {
    if (holds) return;
    if (is_running()) explorer->fail(what);
    throw std::runtime_error(what);
}

std::uint64_t choose(std::uint64_t alternatives) { return explorer->choose(alternatives); }
void Signal::set() {
    explorer->store(reinterpret_cast<Location>(&set_), sizeof set_, 1, {.acquires = false, .releases = true}, false,
                    nullptr);
}
bool Signal::is_set() const {
    return explorer->load(reinterpret_cast<Location>(&set_), sizeof set_, {.acquires = true, .releases = false},
                          nullptr) != 0;
}
void give_turn() { explorer->give_turn(); }
std::uint64_t writes() { return explorer->writes(); }
void let_time_pass() { explorer->let_time_pass(); }
int hour() { return explorer->hour(); }
void pass_time() { explorer->pass_time(); }
void read_memory(const void* memory, std::size_t bytes) {
    if (is_running() && bytes != 0) explorer->access(memory, bytes, Accesses::Kind::read);
}
void write_memory(const void* memory, std::size_t bytes) {
    if (is_running() && bytes != 0) explorer->access(memory, bytes, Accesses::Kind::write);
}

bool is_running() { return explorer != nullptr && explorer->is_running(); }

std::uint64_t load(Location location, std::size_t bytes, Order order, const void* place) {
    return explorer->load(location, bytes, order, place);
}
void store(Location location, std::size_t bytes, std::uint64_t value, Order order, const void* place) {
    explorer->store(location, bytes, value, order, false, place);
}
std::uint64_t change(Location location, std::size_t bytes, Order order, const void* place,
                     const std::function<std::uint64_t(std::uint64_t)>& change) {
    const std::uint64_t before = explorer->load(location, bytes, order, place);
    explorer->store(location, bytes, change(before), order, true, place);
    return before;
}
std::uint64_t compare_exchange(Location location, std::size_t bytes, std::uint64_t expected, std::uint64_t desired,
                               Order order, Order on_failure, const void* place) {
    // What is read decides which order it has; one that acquires either way is the only kind here.
    check(order.acquires == on_failure.acquires, "a compare-exchange whose orders differ");
    const std::uint64_t before = explorer->load(location, bytes, order, place);
    if (before == expected) explorer->store(location, bytes, desired, order, true, place);
    return before;
}
void* allocate(std::size_t bytes, std::size_t alignment) { return explorer->allocate(bytes, alignment); }
bool is_allocated(const void* memory) { return explorer != nullptr && explorer->is_allocated(memory); }

}  // namespace hcoll::model
