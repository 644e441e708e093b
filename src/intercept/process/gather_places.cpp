// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/gather_places.hpp"

#include <algorithm>

#include "intercept/process/same_host.hpp"
#include "intercept/process/together.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

constexpr int no_node = -1;

// Of the first rank, which alone reads it.
Machine machine_of_host(MPI_Comm node, int rank) {
    std::vector<int> numbers;
    if (rank == 0) numbers = Machine::read().numbers();
    int count = static_cast<int>(numbers.size());
    if (mpi.Bcast(&count, 1, MPI_INT, 0, node) != MPI_SUCCESS) return {};
    numbers.resize(static_cast<std::size_t>(count));
    if (mpi.Bcast(numbers.data(), count, MPI_INT, 0, node) != MPI_SUCCESS) return {};
    return Machine(std::move(numbers));
}

}  // namespace

MPI_Comm make_node_communicator(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm node = MPI_COMM_NULL;
    bool failed = mpi.Comm_rank(communicator, &rank) != MPI_SUCCESS;
    // Collective: every rank calls it, whatever went wrong before.
    failed = mpi.Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) != MPI_SUCCESS ||
             failed || node == MPI_COMM_NULL;
    // Where some rank has none, freeing it, which is collective, could wait for ever: it is left alone.
    if (is_true_anywhere(failed, communicator)) return MPI_COMM_NULL;
    // The ranks of a simulation are all in one process.
    if constexpr (is_simulated)
        return node;
    else
        return join_ranks_of_host(communicator, node);
}

Host meet_on_host(MPI_Comm node) {
    int rank = 0;
    int size = 1;
    mpi.Comm_rank(node, &rank);
    mpi.Comm_size(node, &size);
    const Machine machine = machine_of_host(node, rank);
    const CpuSet mine = binding_of_process(machine);

    // Where any of them may run, and where any of them may not.
    const std::size_t words = machine.words();
    CpuSet sets(2 * words, 0);
    for (std::size_t i = 0; i < words; ++i) {
        sets[i] = mine.empty() ? 0 : mine[i];
        sets[words + i] = ~sets[i];
    }
    CpuSet any(sets.size(), 0);
    if (words > 0 && mpi.Allreduce(sets.data(), any.data(), static_cast<int>(sets.size()), MPI_UINT64_T, MPI_BOR,
                                   node) != MPI_SUCCESS)
        any = sets;
    bool is_same = true;
    for (std::size_t i = 0; i < words; ++i) is_same = is_same && (any[i] & any[words + i]) == 0;
    any.resize(words);

    const CpuLimit limit = cpu_limit();
    std::vector<CpuLimit> limits(static_cast<std::size_t>(size));
    constexpr int numbers = sizeof(CpuLimit) / sizeof(std::uint64_t);
    if (mpi.Allgather(&limit, numbers, MPI_UINT64_T, limits.data(), numbers, MPI_UINT64_T, node) != MPI_SUCCESS)
        limits.assign(1, limit);
    return {.place = place_on(machine), .cores = cores_of_ranks(machine, any, is_same, limits)};
}

bool gather_places(MPI_Comm communicator, MPI_Comm node, const Place& mine, std::vector<RankPlace>& places) {
    int size = 0;
    int lowest_rank = no_node;
    bool is_well = mpi.Comm_rank(communicator, &lowest_rank) == MPI_SUCCESS;
    is_well = mpi.Bcast(&lowest_rank, 1, MPI_INT, 0, node) == MPI_SUCCESS && is_well;
    const RankPlace place = rank_place(is_well ? lowest_rank : no_node, mine);
    constexpr int numbers = sizeof(RankPlace) / sizeof(int);
    mpi.Comm_size(communicator, &size);
    std::vector<RankPlace> gathered;
    const bool has_memory = has_memory_for([&] { gathered.resize(static_cast<std::size_t>(size)); });
    if (is_true_anywhere(!has_memory, communicator)) return false;
    const int status = mpi.Allgather(&place, numbers, MPI_INT, gathered.data(), numbers, MPI_INT, communicator);
    const bool failed = status != MPI_SUCCESS || std::any_of(gathered.begin(), gathered.end(),
                                                             [](const RankPlace& one) { return one.node == no_node; });
    if (is_true_anywhere(failed, communicator)) return false;
    places = std::move(gathered);
    return true;
}

bool gather_places(MPI_Comm communicator, const Place& mine, std::vector<RankPlace>& places) {
    MPI_Comm node = make_node_communicator(communicator);
    if (node == MPI_COMM_NULL) return false;
    const bool is_well = gather_places(communicator, node, mine, places);
    mpi.Comm_free(&node);
    return is_well;
}

}  // namespace hcoll
