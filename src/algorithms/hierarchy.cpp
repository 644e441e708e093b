#include "algorithms/hierarchy.hpp"

namespace hcoll {

namespace {

using Ranks = std::vector<int>;

void put_first(Ranks& ranks, int rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found != ranks.end()) std::iter_swap(ranks.begin(), found);
}

Ranks without(std::span<const int> ranks, int excluded) {
    Ranks left(ranks.begin(), ranks.end());
    std::erase(left, excluded);
    return left;
}

}  // namespace

Hierarchy hierarchy_of(const Placement& placement, int rank, int root, bool with_sockets, int excluded) {
    const int node = placement.node_of(rank);
    Ranks on_node;
    Ranks on_socket;
    if (!with_sockets || placement.sockets_of_node(node) == 1) {
        on_node = without(placement.ranks_of_node(node), excluded);
        put_first(on_node, root);
        if (rank != excluded) on_socket = {rank};
    } else {
        for (int socket = 0; socket < placement.sockets_of_node(node); ++socket) {
            Ranks members = without(placement.ranks_of_socket(node, socket), excluded);
            if (members.empty()) continue;
            put_first(members, root);
            on_node.push_back(members.front());
            if (socket == placement.socket_of(rank)) on_socket = std::move(members);
        }
        put_first(on_node, root);
    }
    Ranks leaders;
    if (!on_node.empty() && on_node.front() == rank) {
        for (int other = 0; other < placement.nodes(); ++other)
            leaders.push_back(other == node ? rank : placement.ranks_of_node(other).front());
        if (root != no_rank) {
            const auto root_node = static_cast<std::size_t>(placement.node_of(root));
            leaders[root_node] = root;
            std::swap(leaders[0], leaders[root_node]);
        }
    }
    return {RankGroup(std::move(leaders), rank), RankGroup(std::move(on_node), rank),
            RankGroup(std::move(on_socket), rank)};
}

}  // namespace hcoll
