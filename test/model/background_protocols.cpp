// SPDX-License-Identifier: BSD-3-Clause
// The list of what goes on in the background (InFlight): threads of the application that add and drive, calls that lead, and a progress thread.
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "node_segment.hpp"
#include "progress/background/in_flight.hpp"
#include "protocols.hpp"

namespace hcoll::model {
namespace {

// One list, made anew for each run.
alignas(InFlight) std::array<std::byte, sizeof(InFlight)> memory;
InFlight& in_flight() { return *std::launder(reinterpret_cast<InFlight*>(memory.data())); }
constexpr std::size_t most_operations = 4;
std::array<Signal, most_operations> are_over;
Signal must_stop;
// What the callers' parts do, which who has led them sees.
std::array<std::uint64_t, most_operations> led;
bool does_time_pass;

// Is complete after so many moves. Nobody may move it while another one does, and nobody once it is.
class Operation : public BackgroundOperation {
public:
    Operation(std::size_t number, int moves, bool has_callers_part)
        : BackgroundOperation(has_callers_part), number_(number), left_(moves), is_callers_turn_(has_callers_part) {}
    bool advance(Part part, bool& has_moved) noexcept override {
        if (is_callers_turn_) {
            if (part == Part::background) return false;
            is_callers_turn_ = false;
            led[number_] = 1;
        } else if (part == Part::callers) {
            return false;
        }
        has_moved = true;
        if (--left_ != 0) return false;
        are_over[number_].set();
        return true;
    }
    bool is_callers_turn() const noexcept override { return is_callers_turn_; }

private:
    std::size_t number_;
    int left_;
    bool is_callers_turn_;
};

void begin() {
    std::memset(memory.data(), 0, memory.size());
    new (memory.data()) InFlight;
    for (Signal& each : are_over) each.clear();
    must_stop.clear();
    led.fill(0);
    does_time_pass = false;
    watch(led.data(), sizeof led, "what was led");
    watch(memory.data(), memory.size(), "the list");
    watch_allocations();
}

void begin_in_time() {
    begin();
    does_time_pass = true;
    let_time_pass();
}

void add(std::size_t number, int moves) { in_flight().add(std::make_unique<Operation>(number, moves, false)); }
void add_and_lead(std::size_t number, int moves) {
    in_flight().add_and_lead(std::make_unique<Operation>(number, moves, true), std::chrono::seconds(1));
    // Over, whoever has run it; where time passes the call may have given up.
    if (!does_time_pass) require(led[number] == 1, "what was led is not over");
}
// As MPI_Wait of its request.
void wait_for(std::size_t number) {
    while (!are_over[number].is_set())
        if (!in_flight().drive()) give_turn();
}
// While it computes.
void expect(std::size_t number) {
    while (!are_over[number].is_set()) give_turn();
}
// As ProgressThread::run() has it.
void progress() {
    while (!must_stop.is_set()) {
        in_flight().wait_for_any();
        while (in_flight().any() && !must_stop.is_set())
            if (!in_flight().drive(InFlight::Driver::background)) {
                if (in_flight().are_all_left_to_callers())
                    in_flight().wait_for_another(std::chrono::milliseconds(1));
                else
                    give_turn();
            }
    }
}
void stop() {
    must_stop.set();
    in_flight().interrupt();
}

}  // namespace

std::vector<Protocol> protocols_of_the_background() {
    const auto none_left = [] {
        require(!in_flight().any() && !in_flight().any_with_callers_part(), "an operation is left");
    };
    const auto protocol = [&](const char* name, std::vector<std::function<void()>> threads) {
        return Protocol{name, {begin, std::move(threads), none_left}};
    };
    const auto in_time = [&](const char* name, std::vector<std::function<void()>> threads) {
        return Protocol{name, {begin_in_time, std::move(threads), none_left}};
    };
    const auto lead_and_wait = [](std::size_t number) {
        return [number] {
            add_and_lead(number, 1);
            wait_for(number);
        };
    };
    const auto lead_and_compute = [] {
        add_and_lead(0, 2);
        expect(0);
        stop();
    };
    return {
        in_time("two calls lead, and may lose patience", {lead_and_wait(0), lead_and_wait(1)}),
        in_time("a call leads, may lose patience, and computes, beside a progress thread",
                {lead_and_compute, progress}),
        protocol("who adds waits, beside a progress thread", {[] {
                                                                  add(0, 2);
                                                                  wait_for(0);
                                                                  stop();
                                                              },
                                                              progress}),
        protocol("two add and wait", {[] {
                                          add(0, 1);
                                          wait_for(0);
                                      },
                                      [] {
                                          add(1, 2);
                                          wait_for(1);
                                      }}),
        protocol("two operations, one of which nobody waits for, beside a progress thread", {[] {
                                                                                                 add(0, 1);
                                                                                                 add(1, 1);
                                                                                                 wait_for(0);
                                                                                                 expect(1);
                                                                                                 stop();
                                                                                             },
                                                                                             progress}),
        protocol("a call leads, beside a progress thread", {[] {
                                                                add_and_lead(0, 1);
                                                                wait_for(0);
                                                                stop();
                                                            },
                                                            progress}),
        protocol("a call that computes after it has led, beside a progress thread", {lead_and_compute, progress}),
        protocol("two calls lead", {lead_and_wait(0), lead_and_wait(1)}),
    };
}

}  // namespace hcoll::model
