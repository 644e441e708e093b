// SPDX-License-Identifier: BSD-3-Clause
// Collectives with what all their ranks have traced of them: put together, and taken apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/placement.hpp"
#include "trace/late_ranks.hpp"
#include "trace/read_trace.hpp"

namespace hcoll {

// One collective with all its ranks whose traces are there, by rank of the communicator; nullptr: of that one it is not.
struct TracedCallOfAll {
    std::vector<const TracedCollective*> ranks;
    std::vector<int> world_ranks;  // -1: not known

    const TracedCollective& any() const;
    bool is_complete() const;
    bool is_over() const;
    std::int64_t begin() const;      // of the first
    std::int64_t end() const;        // of the last, or of what it runs in the background
    int world_rank(int rank) const;  // -1: not known
    // Can it be told who waited for whom? Not of calls that do not block, nor where a rank's record is missing.
    bool is_split() const { return is_complete() && any().form == CallForm::blocking; }
    // Of one that can be split: who came last, too.
    CallArrivals arrivals(int& last) const;
    // Of others all is the algorithm's.
    CallSplit split(int rank, const CallArrivals& arrivals) const;
};

// The collectives of a job, by their begin. `ranks` outlive them. A rank's record that contradicts the others' is none of them, nor are those of communicators of very many more ranks
// than there are traces.
std::vector<TracedCallOfAll> collectives_of(std::span<const RankTrace> ranks);

// A send and a receive of one call that are the same message.
struct TracedMessage {
    int from = 0;  // of the communicator
    int to = 0;
    const TracedStepEvent* send = nullptr;
    const TracedStepEvent* recv = nullptr;
};
std::vector<TracedMessage> messages_of(const TracedCallOfAll& call);

// `ranks` in order; nullptr: that one's trace is not there.
const RankTrace* trace_of(std::span<const RankTrace> ranks, int rank);
// What a message between two ranks of MPI_COMM_WORLD crosses.
Link link_between(std::span<const RankTrace> ranks, int from, int to);

// Where the time of a call goes, backwards from the rank that ends last: what it did last, what that had waited for, and so on, to the rank
// whose coming all of it began with.
struct PathPiece {
    enum class Kind : std::uint8_t {
        late,     // others have come, and this rank has not
        message,  // from `from` to `rank`
        reduce,
        copy,
        leaders,
        wait,  // for a flag of `from`, of which nothing more is known
        between,
    };
    static constexpr std::size_t kinds = 7;
    Kind kind = Kind::between;
    int rank = 0;   // of the communicator: whose time it is
    int from = -1;  // of a message or a wait
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t bytes = 0;
    std::uint32_t step = 0;
};
// In the order of time; the pieces follow one another from the first rank's coming to the last one's end.
std::vector<PathPiece> critical_path(const TracedCallOfAll& call);

}  // namespace hcoll
