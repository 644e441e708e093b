// SPDX-License-Identifier: BSD-3-Clause
// Explains what the ranks of a job have traced: how much of each place's time is waiting for late ranks, and which; how much the algorithm; the critical path of its
// calls; and what the messages of plans have carried at each level. Pure functions of the traces.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/traced_calls.hpp"

namespace hcoll {

struct TraceExplanation {
    struct LateRank {
        int rank = 0;             // of MPI_COMM_WORLD
        std::uint64_t calls = 0;  // that it was waited for in
        std::int64_t caused = 0;  // waiting of all ranks, in nanoseconds
    };
    struct Place {
        Collective collective = Collective::bcast;
        CallForm form = CallForm::blocking;
        std::uint64_t bytes = 0;  // of its longest call; those of a place are from half of a power of 4 on
        int size = 0;             // of the communicator
        std::string runs;
        std::uint64_t calls = 0;
        std::int64_t time = 0;                                 // of a rank in a call, over all
        std::int64_t waiting = 0;                              // of that, for late ranks
        std::uint64_t spans = 0;                               // ranks times calls
        std::vector<LateRank> late;                            // who causes most first
        std::array<std::int64_t, PathPiece::kinds> path{};     // of the calls' critical paths
        std::array<std::int64_t, link_count> path_messages{};  // of the messages on them, by level
        std::int64_t slowest = 0;                              // call
        std::uint64_t slowest_number = 0;
        std::uint64_t slowest_key = 0;
        std::string slowest_communicator;
    };
    struct Level {
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
        std::int64_t under_way = 0;  // from where both ranks had come to the message, to its end
    };

    int ranks = 0;            // of the job
    int traced = 0;           // whose traces are there
    int nodes = 0;            // of those
    std::int64_t length = 0;  // of the job so far
    std::uint64_t collectives = 0;
    std::uint64_t incomplete = 0;      // of which not all ranks' are there
    std::uint64_t unfinished = 0;      // that some rank is in at the end of its trace
    std::uint64_t overwritten = 0;     // records
    std::uint64_t left_out = 0;        // steps and runs of calls whose records have given way
    std::uint64_t calls_left_out = 0;  // of all ranks, on communicators that have given way to others
    int compared_once = 0;             // ranks whose clocks were: they did not come to MPI_Finalize
    std::int64_t clock_error = 0;      // by so much a message ended before it had begun, at most
    std::int64_t time = 0;             // of blocking collectives, of all ranks
    std::int64_t waiting = 0;
    std::vector<Place> places;   // most time first
    std::vector<LateRank> late;  // over all places
    std::array<Level, link_count> levels{};
    std::vector<std::string> hosts;  // by rank of MPI_COMM_WORLD
};

// `ranks` in order. May throw std::bad_alloc.
TraceExplanation explain_trace(std::span<const RankTrace> ranks);
std::string explanation_text(const TraceExplanation& explanation);
std::string explanation_json(const TraceExplanation& explanation);

// One call: who came and went when, and its critical path.
std::string call_trace_text(std::span<const RankTrace> ranks, const TracedCallOfAll& call);

}  // namespace hcoll
