// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/hierarchy.hpp"

namespace hcoll {

namespace {

using Ranks = std::vector<int>;

void put_first(Ranks& ranks, int rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found != ranks.end()) std::iter_swap(ranks.begin(), found);
}

Ranks without(const RankList& ranks, int excluded) {
    Ranks left(ranks.begin(), ranks.end());
    std::erase(left, excluded);
    return left;
}

struct BelowNetwork {
    Ranks node;
    Ranks socket;
};

BelowNetwork below_network(const Placement& placement, int rank, int root, bool with_sockets, int excluded) {
    const int node = placement.node_of(rank);
    BelowNetwork groups;
    if (!with_sockets || placement.sockets_of_node(node) == 1) {
        groups.node = without(placement.ranks_of_node(node), excluded);
        put_first(groups.node, root);
        if (rank != excluded) groups.socket = {rank};
        return groups;
    }
    for (int socket = 0; socket < placement.sockets_of_node(node); ++socket) {
        Ranks members = without(placement.ranks_of_socket(node, socket), excluded);
        if (members.empty()) continue;
        put_first(members, root);
        groups.node.push_back(members.front());
        if (socket == placement.socket_of(rank)) groups.socket = std::move(members);
    }
    put_first(groups.node, root);
    return groups;
}

bool leads_node(const BelowNetwork& groups, int rank) { return !groups.node.empty() && groups.node.front() == rank; }

// The leader of each node but that of `rank`, which leads its own.
Ranks leaders_of_nodes(const Placement& placement, int rank, int root) {
    Ranks leaders;
    leaders.reserve(static_cast<std::size_t>(placement.nodes()));
    for (int node = 0; node < placement.nodes(); ++node)
        leaders.push_back(node == placement.node_of(rank) ? rank : placement.ranks_of_node(node).front());
    if (root == no_rank) return leaders;
    const auto root_node = static_cast<std::size_t>(placement.node_of(root));
    leaders[root_node] = root;
    std::swap(leaders[0], leaders[root_node]);
    return leaders;
}

}  // namespace

Hierarchy hierarchy_of(const Placement& placement, int rank, int root, bool with_sockets, int excluded) {
    BelowNetwork groups = below_network(placement, rank, root, with_sockets, excluded);
    Ranks leaders;
    if (leads_node(groups, rank)) leaders = leaders_of_nodes(placement, rank, root);
    return {RankGroup(std::move(leaders), rank), RankGroup(std::move(groups.node), rank),
            RankGroup(std::move(groups.socket), rank)};
}

TreeOfLevels::TreeOfLevels(const Placement& placement, int root, bool with_sockets, const LevelTrees& trees)
    : placement_(placement),
      root_(root),
      with_sockets_(with_sockets),
      trees_(trees),
      leaders_(leaders_of_nodes(placement, root, root)) {}

TreeNode TreeOfLevels::node(int rank) const {
    TreeNode whole;
    const auto add = [&](const TreeNode& node) {
        whole.parent = node.parent;
        whole.children.insert(whole.children.end(), node.children.begin(), node.children.end());
    };
    BelowNetwork groups = below_network(placement_, rank, root_, with_sockets_, no_rank);
    const bool is_leader = leads_node(groups, rank);
    for (const auto& [ranks, tree] : {std::pair(&groups.socket, &trees_.socket), std::pair(&groups.node, &trees_.node)})
        if (const RankGroup group(std::move(*ranks), rank); group.has_self()) add(tree_node(*tree, group, 0));
    if (!is_leader) return whole;
    const int own_node = placement_.node_of(rank);
    const int root_node = placement_.node_of(root_);
    const int index = own_node == root_node ? 0 : own_node == 0 ? root_node : own_node;
    TreeNode network = tree_node(trees_.network, static_cast<int>(leaders_.size()), index, 0);
    const auto leader = [&](int node) { return leaders_[static_cast<std::size_t>(node)]; };
    if (network.parent >= 0) network.parent = leader(network.parent);
    for (int& child : network.children) child = leader(child);
    add(network);
    return whole;
}

}  // namespace hcoll
