// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/node_speeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>

#include "tuner/mpi.hpp"
#include "tuner/slow_nodes.hpp"

namespace hcoll {

namespace {

constexpr double never = std::numeric_limits<double>::max();

double best_of_some(int turns, const std::function<void()>& work) {
    double best = never;
    for (int turn = 0; turn < turns; ++turn) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

double computing_seconds() {
    constexpr int turns = 20;
    std::vector<double> values(1 << 15, 1.0);
    volatile double sink = 0;
    return best_of_some(turns, [&] {
        double sum = 0;
        for (int turn = 0; turn < 8; ++turn)
            for (double& value : values) sum += value = value * 0.999 + 0.001;
        sink = sink + sum;
    });
}

// Of this node with the next, on its first rank. Every other node speaks first, so that all pairs of a turn are busy at the same time; where
// their number is odd, the last one and the first are a turn of their own.
double link_seconds(const Placement& allocation, int rank) {
    constexpr int tag = 4;
    constexpr int turns = 6;
    constexpr int bytes = 1 << 20;
    const int nodes = allocation.nodes();
    const int node = allocation.node_of(rank);
    if (nodes < 3 || allocation.index_on_node(rank) != 0) return never;
    std::vector<char> out(bytes);
    std::vector<char> in(bytes);
    const auto first_rank = [&](int of_node) { return allocation.ranks_of_node((of_node + nodes) % nodes).front(); };
    const auto exchange = [&](int peer, bool begins) {
        return best_of_some(turns, [&] {
            if (begins) require_mpi(PMPI_Send(out.data(), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD));
            require_mpi(PMPI_Recv(in.data(), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (!begins) require_mpi(PMPI_Send(out.data(), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD));
        });
    };
    double mine = never;
    const auto turn_of = [nodes](int begins) { return begins == nodes - 1 && nodes % 2 != 0 ? 2 : begins % 2; };
    for (int turn = 0; turn < 3; ++turn) {
        if (turn_of(node) == turn) mine = exchange(first_rank(node + 1), true);
        if (turn_of((node + nodes - 1) % nodes) == turn) exchange(first_rank(node - 1), false);
    }
    return mine;
}

}  // namespace

std::vector<std::string> find_slow_nodes(const Placement& allocation) {
    int rank = 0;
    require_mpi(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
    const std::array<double, 2> mine = {computing_seconds(), link_seconds(allocation, rank)};
    const auto ranks = static_cast<std::size_t>(allocation.ranks());
    std::vector<double> all(rank == 0 ? 2 * ranks : 0);
    require_mpi(PMPI_Gather(mine.data(), 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    require_mpi(PMPI_Get_processor_name(name.data(), &length));
    std::vector<char> names(rank == 0 ? ranks * name.size() : 0);
    require_mpi(PMPI_Gather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
                            MPI_CHAR, 0, MPI_COMM_WORLD));
    if (rank != 0) return {};
    NodeSpeeds speeds;
    for (int node = 0; node < allocation.nodes(); ++node) {
        double fastest = never;
        for (const int of_node : allocation.ranks_of_node(node))
            fastest = std::min(fastest, all[2 * static_cast<std::size_t>(of_node)]);
        speeds.computing.push_back(fastest);
        if (allocation.nodes() > 2)
            speeds.links.push_back(all[2 * static_cast<std::size_t>(allocation.ranks_of_node(node).front()) + 1]);
    }
    std::vector<std::string> sentences;
    for (const SlowNode& slow : slow_nodes(speeds)) {
        const auto first = static_cast<std::size_t>(allocation.ranks_of_node(slow.node).front());
        sentences.push_back(fmt::format(
            "node {} {} {:.0f} % longer than the others; what is measured with it is its speed",
            &names[first * name.size()], slow.by_network ? "takes for messages" : "computes", 100 * (slow.times - 1)));
    }
    return sentences;
}

}  // namespace hcoll
