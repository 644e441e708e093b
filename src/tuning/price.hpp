// SPDX-License-Identifier: BSD-3-Clause
// What a collective costs on a machine: every rank's plan is run in virtual time.
//
// The library's own Engine runs the plans: the DAG that is executed is the DAG that is priced, with its windows, numbers
// in flight and order of steps. Only the messages are not moved: they take the time that the MachineModel says, in an
// event-driven simulation. A rank's CPU does one thing at a time: what follows from a completion happens when the CPU has
// come to it; reductions, copies and overheads take its time. The network does its part by itself: a message that both
// sides have posted moves on while their CPUs are busy, or paused.
//
// Messages that wait for the same port go in the order in which they became ready; those that did so at the same time in
// the order in which their senders' plans have them, and then their receivers'. Nothing is left to chance: the same input gives the same price, to the
// bit.
//
// Left out: the control messages of a rendezvous, contention inside the network, and the copy of an eager message that
// arrives before its receive is posted.
//
// Source of the idea: LogGOPSim (Hoefler, Schneider, Lumsdaine 2010), which runs schedules of ranks in LogGP time.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"
#include "topology/placement.hpp"
#include "tuning/machine_model.hpp"
#include "tuning/traffic.hpp"

namespace hcoll {

// Between `begin` and `end` (seconds) rank's CPU makes no progress; work that is under way is taken up again at the end.
struct Pause {
    int rank = 0;
    double begin = 0;
    double end = 0;
};

// What disturbs the ranks. The spans must outlive the call.
struct Disturbance {
    std::span<const double> start_delay;  // by rank, seconds; empty: all start at 0
    std::span<const Pause> pauses;        // of one rank they must not overlap; in any order
};

// How a run is followed.
struct Watch {
    std::vector<MessageTime>* messages = nullptr;  // gets all messages, in the order in which they start
    // A collective that takes more seconds is not followed to its end; it has an infinite price, but no defect.
    double most_seconds = std::numeric_limits<double>::infinity();
};

struct Price {
    double seconds = 0;          // when the last rank has finished; infinite if there is a defect
    std::vector<double> finish;  // by rank: when all its steps, its sends included, are complete; infinite if never
    std::array<LinkTraffic, link_count> links;
    // Why the plans cannot be priced: ranks that wait for ever, messages whose two sides differ in length or that nobody
    // receives. Plans that find_plan_defect (plan_check.hpp) has nothing against have none.
    std::optional<std::string> defect;

    const LinkTraffic& operator[](Link link) const { return links[static_cast<std::size_t>(link)]; }
};

// Prices plans[rank] of all ranks of `placement`. A unit has `unit_bytes` bytes. Thread-safe: it shares nothing. Memory:
// some hundred bytes per rank, per message under way and per instance of a step that can be open; none for the data.
Price price(std::span<const Plan> plans, const Placement& placement, const MachineModel& machine,
            std::uint64_t unit_bytes, const Disturbance& disturbance = {}, const Watch& watch = {});

}  // namespace hcoll
