// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/neighbors.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "intercept/process/abort_job.hpp"
#include "intercept/process/log.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

// Other threads may make communicators of the same ranks. Messages of MPI_Comm_create_group may have its tag.
constexpr int tag_of_edges = 31007;
constexpr int tag_of_outcomes = 31008;

// A neighbor waits for what this rank cannot do or tell it.
void expect(int status) { end_job_unless(status, "neighbors are made (LIBHCOLL_SPARSE)"); }

// Of the two ranks; MPI_COMM_NULL on both where the MPI library gives it to one of them only, or to none.
MPI_Comm make_edge(MPI_Comm parent, MPI_Group all, int rank, int lower, int upper) {
    MPI_Comm edge = MPI_COMM_NULL;
    if (is_simulated) return edge;
    const std::array<int, 2> ranks = {lower, upper};
    MPI_Group both = MPI_GROUP_NULL;
    expect(mpi.Group_incl(all, 2, ranks.data(), &both));
    if (mpi.Comm_create_group(parent, both, tag_of_edges, &edge) != MPI_SUCCESS) edge = MPI_COMM_NULL;
    mpi.Group_free(&both);
    const int mine = edge != MPI_COMM_NULL ? 1 : 0;
    const int peer = rank == lower ? upper : lower;
    int theirs = 0;
    expect(mpi.Sendrecv(&mine, 1, MPI_INT, peer, tag_of_outcomes, &theirs, 1, MPI_INT, peer, tag_of_outcomes, parent,
                        MPI_STATUS_IGNORE));
    // One that a single rank has cannot be freed.
    return theirs != 0 ? edge : MPI_COMM_NULL;
}

}  // namespace

template <typename ForEdge>
void Neighbors::in_turns(ForEdge&& for_edge) {
    for (int turn_now = 0; turn_now < turns; ++turn_now) {
        if (turn(rank_) == turn_now) for_edge(rank_, next_);
        if (turn(lower_of_previous()) == turn_now) for_edge(lower_of_previous(), previous_);
    }
}

Neighbors Neighbors::make(MPI_Comm parent, int rank, int ranks) {
    Neighbors neighbors;
    neighbors.rank_ = rank;
    neighbors.ranks_ = ranks;
    MPI_Group all = MPI_GROUP_NULL;
    expect(mpi.Comm_group(parent, &all));
    neighbors.in_turns([&](int lower, MPI_Comm& edge) {
        edge = make_edge(parent, all, rank, lower, (lower + 1) % ranks);
        // The other end has the edge, so this one keeps it.
        if (edge != MPI_COMM_NULL && mpi.Comm_set_errhandler(edge, MPI_ERRORS_RETURN) != MPI_SUCCESS)
            neighbors.has_failed_ = true;
    });
    mpi.Group_free(&all);
    return neighbors;
}

// Along the line of ranks: the edge from the last one to the first is not used. Where an edge is missing, both its ends know, and
// each begins for its side what the other one would have passed on.
bool Neighbors::find_largest(std::span<std::uint64_t> values) const {
    constexpr int tag = 0;
    std::array<std::uint64_t, most_values + 1> largest{};  // the first one: has anything failed?
    std::array<std::uint64_t, most_values + 1> heard{};
    check(values.size() <= most_values, "ranks agree on few values at a time");
    largest[0] = is_complete() && !has_failed_ ? 0 : 1;
    std::copy(values.begin(), values.end(), largest.begin() + 1);
    const std::size_t used = values.size() + 1;
    const int count = static_cast<int>(used);
    const auto hear = [&](MPI_Comm edge, int peer) {
        if (edge == MPI_COMM_NULL) {
            largest[0] = 1;
            return;
        }
        expect(mpi.Recv(heard.data(), count, MPI_UINT64_T, peer, tag, edge, MPI_STATUS_IGNORE));
        for (std::size_t i = 0; i < used; ++i) largest[i] = std::max(largest[i], heard[i]);
    };
    const auto tell = [&](MPI_Comm edge, int peer) {
        if (edge == MPI_COMM_NULL)
            largest[0] = 1;
        else
            expect(mpi.Send(largest.data(), count, MPI_UINT64_T, peer, tag, edge));
    };
    const bool is_first = rank_ == 0;
    const bool is_last = rank_ == ranks_ - 1;
    if (!is_first) hear(previous_, 0);
    if (!is_last) tell(next_, 1);
    if (!is_last) hear(next_, 1);
    if (!is_first) tell(previous_, 0);
    std::copy_n(largest.begin() + 1, values.size(), values.begin());
    return largest[0] == 0;
}

void Neighbors::free() {
    in_turns([](int, MPI_Comm& edge) {
        if (edge == MPI_COMM_NULL) return;
        if (const int status = mpi.Comm_free(&edge); status != MPI_SUCCESS)
            log_line(LogLevel::warn, "a communicator of two ranks cannot be freed (MPI error {})", status);
        edge = MPI_COMM_NULL;
    });
}

}  // namespace hcoll
