// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/catalog.hpp"

#include <algorithm>

namespace hcoll {

namespace {

constexpr std::uint64_t kibi = 1024;

constexpr std::string_view tree_names[] = {"flat",   "chain",    "ring",     "linear",
                                           "binary", "binomial", "k_nomial", "two_tree"};  // in the order of TreeShape
constexpr std::string_view network_names[] = {"flat",     "chain",    "ring",     "linear", "binary",
                                              "binomial", "k_nomial", "two_tree", "vendor"};
constexpr std::string_view exchange_names[] = {"recursive_multiplying", "rabenseifner", "ring"};
// Trees whose subtrees are runs that begin with their root.
constexpr TreeShape collecting_shapes[] = {TreeShape::flat, TreeShape::chain, TreeShape::binary, TreeShape::binomial,
                                           TreeShape::k_nomial};
constexpr std::string_view collecting_names[] = {"flat", "chain", "binary", "binomial", "k_nomial"};
constexpr std::string_view switch_names[] = {"no", "yes"};

using Parameters = AlgorithmParameters;

// What hcoll-tune tries of each.
constexpr std::uint64_t segment_samples[] = {0,         kibi,      2 * kibi,   4 * kibi,   8 * kibi,   16 * kibi,
                                             32 * kibi, 64 * kibi, 128 * kibi, 256 * kibi, 512 * kibi, 1024 * kibi};
constexpr std::uint64_t tree_radix_samples[] = {3, 4, 5, 6, 8, 16};
constexpr std::uint64_t exchange_radix_samples[] = {2, 3, 4, 8};
constexpr std::uint64_t nap_radix_samples[] = {0, 2, 4};
constexpr std::uint64_t leader_samples[] = {1, 2, 4, 8, 16, 256};

constexpr Parameter size_parameter(std::string_view name, std::string_view help,
                                   void (*set)(Parameters&, std::uint64_t), std::uint64_t (*get)(const Parameters&),
                                   std::span<const std::uint64_t> samples) {
    return {name, ParameterKind::size, 0, kibi * kibi * kibi, {}, help, set, get, samples};
}
constexpr Parameter number_parameter(std::string_view name, std::uint64_t minimum, std::uint64_t maximum,
                                     std::string_view help, void (*set)(Parameters&, std::uint64_t),
                                     std::uint64_t (*get)(const Parameters&),
                                     std::span<const std::uint64_t> samples = {}) {
    return {name, ParameterKind::number, minimum, maximum, {}, help, set, get, samples};
}
constexpr Parameter choice_parameter(std::string_view name, std::span<const std::string_view> names,
                                     std::string_view help, void (*set)(Parameters&, std::uint64_t),
                                     std::uint64_t (*get)(const Parameters&)) {
    return {name, ParameterKind::choice, 0, names.size() - 1, names, help, set, get};
}

constexpr Parameter segment = size_parameter(
    "segment", "bytes of a segment; 0 sends the message whole",
    [](Parameters& p, std::uint64_t value) { p.pipeline.segment_bytes = value; },
    [](const Parameters& p) { return p.pipeline.segment_bytes; }, segment_samples);
constexpr Parameter sends = number_parameter(
    "sends", 1, max_window, "segments in flight to each peer",
    [](Parameters& p, std::uint64_t value) { p.pipeline.sends = static_cast<std::uint32_t>(value); },
    [](const Parameters& p) { return std::uint64_t{p.pipeline.sends}; });
constexpr Parameter receives = number_parameter(
    "receives", 1, max_window, "segments for which receives are posted, from each peer",
    [](Parameters& p, std::uint64_t value) { p.pipeline.receives = static_cast<std::uint32_t>(value); },
    [](const Parameters& p) { return std::uint64_t{p.pipeline.receives}; });
constexpr Parameter window = number_parameter(
    "window", 0, max_window, "segments open at once, at most; 1 waits for one to be through before the next; 0 chooses",
    [](Parameters& p, std::uint64_t value) { p.pipeline.window = static_cast<std::uint32_t>(value); },
    [](const Parameters& p) { return std::uint64_t{p.pipeline.window}; });
constexpr Parameter tree = choice_parameter(
    "tree", tree_names, "shape of the tree",
    [](Parameters& p, std::uint64_t value) { p.tree.shape = static_cast<TreeShape>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.tree.shape); });
constexpr Parameter split_levels{
    "s",
    ParameterKind::number_or_auto,
    0,
    64,
    {},
    "levels of messages, from the leaves, that calling ranks run where the collective is non-blocking; the rest runs "
    "in the background; auto: by the number of ranks and of progress cores",
    [](Parameters& p, std::uint64_t value) {
        p.split = value == automatic_number ? modelled_split : static_cast<int>(value);
    },
    [](const Parameters& p) {
        return p.split == modelled_split ? automatic_number : static_cast<std::uint64_t>(p.split);
    }};
constexpr Parameter one_tree =
    choice_parameter("tree", std::span(tree_names).first<std::size(tree_names) - 1>(), tree.help, tree.set, tree.get);
// Of every k-nomial tree that there is.
constexpr Parameter tree_radix = number_parameter(
    "radix", 2, 64, "radix of k_nomial trees",
    [](Parameters& p, std::uint64_t value) {
        for (Tree* each : {&p.tree, &p.levels.network, &p.levels.node, &p.levels.socket})
            each->radix = static_cast<int>(value);
    },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.tree.radix); }, tree_radix_samples);
constexpr Parameter exchange_radix = number_parameter(
    "radix", 2, 64, "how many ranks meet in a step of the exchange",
    [](Parameters& p, std::uint64_t value) { p.radix = static_cast<int>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.radix); }, exchange_radix_samples);
constexpr Parameter nap_radix = number_parameter(
    "radix", 0, 256, "how many groups of nodes meet in a step; 0: as many as a node has ranks, 1 counts as 2",
    [](Parameters& p, std::uint64_t value) { p.radix = value == 1 ? 2 : static_cast<int>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.radix); }, nap_radix_samples);
constexpr Parameter network = choice_parameter(
    "network", network_names, "tree among node leaders, or the MPI library's own non-blocking collective",
    [](Parameters& p, std::uint64_t value) {
        p.network = value + 1 == std::size(network_names) ? NetworkModule::vendor : NetworkModule::tree;
        if (p.network == NetworkModule::tree) p.levels.network.shape = static_cast<TreeShape>(value);
    },
    [](const Parameters& p) {
        return p.network == NetworkModule::vendor ? std::size(network_names) - 1
                                                  : static_cast<std::uint64_t>(p.levels.network.shape);
    });
constexpr Parameter network_tree = choice_parameter(
    "network", tree_names, "tree among node leaders",
    [](Parameters& p, std::uint64_t value) { p.levels.network.shape = static_cast<TreeShape>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.levels.network.shape); });
constexpr Parameter node_tree = choice_parameter(
    "node", tree_names, "tree on a node, among socket leaders where sockets are a level",
    [](Parameters& p, std::uint64_t value) { p.levels.node.shape = static_cast<TreeShape>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.levels.node.shape); });
constexpr Parameter socket_tree = choice_parameter(
    "socket", tree_names, "tree on a socket",
    [](Parameters& p, std::uint64_t value) { p.levels.socket.shape = static_cast<TreeShape>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.levels.socket.shape); });
constexpr Parameter sockets = choice_parameter(
    "sockets", switch_names, "sockets (or NUMA domains) are a level where a node has several",
    [](Parameters& p, std::uint64_t value) { p.with_sockets = value != 0; },
    [](const Parameters& p) { return std::uint64_t{p.with_sockets ? 1U : 0U}; });
constexpr Parameter in_turn = choice_parameter(
    "in_turn", switch_names,
    "over the network a rank sends to one child after another, so that the first has its message sooner",
    [](Parameters& p, std::uint64_t value) { p.levels.network.in_turn = value != 0; },
    [](const Parameters& p) { return std::uint64_t{p.levels.network.in_turn ? 1U : 0U}; });
constexpr Parameter leaders = number_parameter(
    "leaders", 1, 256, "leaders per node, as far as every node has ranks",
    [](Parameters& p, std::uint64_t value) { p.leaders = static_cast<int>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.leaders); }, leader_samples);
constexpr Parameter exchange = choice_parameter(
    "exchange", exchange_names, "how leaders exchange their slices",
    [](Parameters& p, std::uint64_t value) { p.exchange = static_cast<Exchange>(value); },
    [](const Parameters& p) { return static_cast<std::uint64_t>(p.exchange); });
constexpr Parameter node_exchange = choice_parameter(
    "exchange", std::span(exchange_names).first<2>(),
    "how the ranks of a node combine: all of the message in few steps, or pieces of it in twice as many", exchange.set,
    exchange.get);

std::uint64_t collecting_index(TreeShape shape) {
    return static_cast<std::uint64_t>(std::find(std::begin(collecting_shapes), std::end(collecting_shapes), shape) -
                                      std::begin(collecting_shapes));
}
constexpr Parameter collecting_network = choice_parameter(
    "network", collecting_names, "tree among node leaders",
    [](Parameters& p, std::uint64_t value) { p.levels.network.shape = collecting_shapes[value]; },
    [](const Parameters& p) { return collecting_index(p.levels.network.shape); });
constexpr Parameter collecting_node = choice_parameter(
    "node", collecting_names, "tree on a node",
    [](Parameters& p, std::uint64_t value) { p.levels.node.shape = collecting_shapes[value]; },
    [](const Parameters& p) { return collecting_index(p.levels.node.shape); });

constexpr const Parameter* pipelined[] = {&segment, &sends, &receives, &window};
constexpr const Parameter* pipelined_tree[] = {&tree, &tree_radix, &segment, &sends, &receives, &window};
constexpr const Parameter* pipelined_k_nomial[] = {&tree_radix, &segment, &sends, &receives, &window};
constexpr const Parameter* splitting[] = {&split_levels, &one_tree, &tree_radix, &segment, &sends, &receives, &window};
constexpr const Parameter* multiplying[] = {&exchange_radix, &segment, &sends, &receives, &window};
constexpr const Parameter* han[] = {&network, &node_tree, &socket_tree, &sockets, &tree_radix,
                                    &segment, &sends,     &receives,    &window};
constexpr const Parameter* levels[] = {&network_tree, &node_tree, &socket_tree, &sockets, &tree_radix,
                                       &segment,      &sends,     &receives,    &window};
constexpr const Parameter* reduce_han_parameters[] = {&split_levels, &network, &node_tree, &socket_tree, &sockets,
                                                      &tree_radix,   &segment, &sends,     &receives,    &window};
constexpr const Parameter* reduce_levels[] = {&split_levels, &network_tree, &node_tree, &socket_tree, &sockets,
                                              &tree_radix,   &segment,      &sends,     &receives,    &window};
constexpr const Parameter* bcast_han_parameters[] = {&split_levels, &network,    &node_tree, &socket_tree,
                                                     &sockets,      &tree_radix, &in_turn,   &segment,
                                                     &sends,        &receives,   &window};
constexpr const Parameter* bcast_levels[] = {&split_levels, &network_tree, &node_tree, &socket_tree,
                                             &sockets,      &tree_radix,   &in_turn,   &segment,
                                             &sends,        &receives,     &window};
constexpr const Parameter* smp[] = {&exchange_radix, &node_tree, &socket_tree, &sockets,
                                    &segment,        &sends,     &receives,    &window};
constexpr const Parameter* nap[] = {&nap_radix, &node_exchange, &segment, &sends, &receives, &window};
constexpr const Parameter* multi_leader[] = {&leaders, &collecting_node, &exchange, &exchange_radix,
                                             &segment, &sends,           &receives, &window};
constexpr const Parameter* collecting[] = {&collecting_network, &collecting_node, &tree_radix};
constexpr const Parameter* exchanging[] = {&exchange_radix};
constexpr const Parameter* exchanging_nodes[] = {&exchange_radix, &collecting_node};

constexpr Parameters with(TreeShape shape, std::uint64_t segment_bytes) {
    return {.pipeline = {.segment_bytes = segment_bytes, .sends = 2, .receives = 4},
            .tree = {.shape = shape},
            .levels = {}};
}
constexpr Parameters with_levels(TreeShape network_shape, TreeShape node_shape, TreeShape socket_shape,
                                 std::uint64_t segment_bytes) {
    Parameters parameters = with(TreeShape::binomial, segment_bytes);
    parameters.levels = {
        .network = {.shape = network_shape}, .node = {.shape = node_shape}, .socket = {.shape = socket_shape}};
    return parameters;
}
constexpr Parameters with_radix(int radix, std::uint64_t segment_bytes) {
    Parameters parameters = with(TreeShape::binomial, segment_bytes);
    parameters.radix = radix;
    return parameters;
}
constexpr Parameters with_split(std::uint64_t segment_bytes) {
    Parameters parameters = with(TreeShape::binomial, segment_bytes);
    parameters.split = modelled_split;
    return parameters;
}
constexpr Parameters multi_leader_defaults() {
    Parameters parameters = with_levels(TreeShape::flat, TreeShape::flat, TreeShape::flat, 512 * kibi);
    parameters.exchange = Exchange::rabenseifner;
    return parameters;
}

using enum TreeShape;

constexpr Algorithm list[] = {
    {Collective::bcast, "flat", "from the root to each rank", bcast_tree, with(flat, 512 * kibi), pipelined},
    {Collective::bcast, "chain", "from rank to rank in segments; the most bandwidth for large messages", bcast_tree,
     with(chain, 128 * kibi), pipelined},
    {Collective::bcast, "ring", "around both sides of the ring of ranks, between neighbors only", bcast_tree,
     with(ring, 128 * kibi), pipelined},
    {Collective::bcast, "linear", "along the line of ranks in both directions, between neighbors only", bcast_tree,
     with(linear, 128 * kibi), pipelined},
    {Collective::bcast, "binary", "along a binary tree in segments; between chain and binomial", bcast_tree,
     with(binary, 128 * kibi), pipelined},
    {Collective::bcast, "binomial", "along a binomial tree; the fewest steps for small messages", bcast_tree,
     with(binomial, 512 * kibi), pipelined},
    {Collective::bcast, "k_nomial", "along a k-nomial tree; fewer levels, more messages at each", bcast_tree,
     with(k_nomial, 512 * kibi), pipelined_k_nomial},
    {Collective::bcast, "two_tree", "along two binary trees at once, half of the message each", bcast_tree,
     with(two_tree, 128 * kibi), pipelined},
    {Collective::bcast, "split_tree",
     "along a tree; in MPI_Ibcast the last levels by the ranks themselves as they wait", bcast_tree, with_split(0),
     splitting},
    {Collective::bcast, "scatter_allgather", "scatter, then allgather by recursive doubling", bcast_scatter_allgather,
     with(binomial, 0), pipelined},
    {Collective::bcast, "scatter_ring", "scatter, then allgather around a ring", bcast_scatter_ring,
     with(binomial, 128 * kibi), pipelined},
    {Collective::bcast, "han", "through network, node and socket, each level by a module of its own", bcast_han,
     with_levels(binomial, binomial, binomial, 512 * kibi), bcast_han_parameters, Order::always, true},
    {Collective::bcast, "topology_tree", "one tree that follows nodes, sockets and cores, in segments", bcast_han,
     with_levels(chain, chain, chain, 128 * kibi), bcast_levels, Order::always, true},

    {Collective::reduce, "flat", "from each rank to the root", reduce_tree, with(flat, 64 * kibi), pipelined},
    {Collective::reduce, "chain", "from rank to rank in segments; the most bandwidth for large messages", reduce_tree,
     with(chain, 64 * kibi), pipelined},
    {Collective::reduce, "ring", "around both sides of the ring of ranks, between neighbors only", reduce_tree,
     with(ring, 64 * kibi), pipelined},
    {Collective::reduce, "linear", "along the line of ranks from both ends, between neighbors only", reduce_tree,
     with(linear, 64 * kibi), pipelined},
    {Collective::reduce, "binary", "along a binary tree in segments; between chain and binomial", reduce_tree,
     with(binary, 64 * kibi), pipelined},
    {Collective::reduce, "binomial", "along a binomial tree; the fewest steps for small messages", reduce_tree,
     with(binomial, 512 * kibi), pipelined},
    {Collective::reduce, "k_nomial", "along a k-nomial tree; fewer levels, more messages at each", reduce_tree,
     with(k_nomial, 512 * kibi), pipelined_k_nomial},
    {Collective::reduce, "two_tree", "along two binary trees at once, half of the message each", reduce_tree,
     with(two_tree, 64 * kibi), pipelined, Order::never},
    {Collective::reduce, "split_tree",
     "along a tree; in MPI_Ireduce the first levels by the ranks themselves in the call", reduce_tree, with_split(0),
     splitting},
    {Collective::reduce, "rabenseifner", "reduce-scatter, then gather", reduce_rabenseifner, with(binomial, 0),
     pipelined},
    {Collective::reduce, "han", "through network, node and socket, each level by a module of its own", reduce_han,
     with_levels(binomial, binomial, binomial, 512 * kibi), reduce_han_parameters, Order::in_rank_order, true, true},
    {Collective::reduce, "topology_tree", "one tree that follows nodes, sockets and cores, in segments", reduce_han,
     with_levels(chain, chain, chain, 64 * kibi), reduce_levels, Order::in_rank_order, true, true},
    {Collective::reduce, "reproducible", "the same bits for any placement of the ranks and any root",
     reduce_reproducible, with(binomial, 512 * kibi), pipelined, Order::always, true},

    {Collective::allreduce, "recursive_doubling", "exchange with partners at doubling distance; the fewest steps",
     allreduce_recursive_multiplying, with_radix(2, 512 * kibi), pipelined},
    {Collective::allreduce, "recursive_multiplying", "the same with several partners in each step",
     allreduce_recursive_multiplying, with_radix(4, 512 * kibi), multiplying},
    {Collective::allreduce, "ring", "reduce-scatter and allgather around a ring; the fewest bytes", allreduce_ring,
     with(binomial, 64 * kibi), pipelined, Order::never, true, true},
    {Collective::allreduce, "rabenseifner", "reduce-scatter by halving, allgather by doubling; few bytes in few steps",
     allreduce_rabenseifner, with(binomial, 0), pipelined},
    {Collective::allreduce, "reduce_bcast", "reduce to rank 0 and broadcast, both in one pipeline of segments",
     allreduce_reduce_bcast, with(binomial, 128 * kibi), pipelined_tree, Order::by_tree},
    {Collective::allreduce, "smp", "one leader per node exchanges; small and medium messages", allreduce_smp,
     with_radix(2, 512 * kibi), smp, Order::in_rank_order, true, true},
    {Collective::allreduce, "nap", "all ranks of a node exchange at once; the fewest network steps, small messages",
     allreduce_nap, with_radix(0, 512 * kibi), nap, Order::in_rank_order, true, true},
    {Collective::allreduce, "multi_leader", "several leaders per node, each for a slice; large messages",
     allreduce_multi_leader, multi_leader_defaults(), multi_leader, Order::in_rank_order, true, true},
    {Collective::allreduce, "han", "through socket, node and network and back in one pipeline of segments",
     allreduce_han, with_levels(binomial, binomial, binomial, 512 * kibi), han, Order::in_rank_order, true, true},
    {Collective::allreduce, "reproducible", "the same bits for any placement of the ranks", allreduce_reproducible,
     with_levels(binomial, binomial, binomial, 512 * kibi), levels, Order::always, true},

    {Collective::barrier, "linear", "all tell rank 0, which tells all", barrier_linear, with(flat, 0), {}},
    {Collective::barrier,
     "ring",
     "to rank 0 around both sides of the ring of ranks and back, between neighbors only",
     barrier_ring,
     with(ring, 0),
     {}},
    {Collective::barrier,
     "binomial",
     "to rank 0 and back along a binomial tree",
     barrier_binomial,
     with(binomial, 0),
     {}},
    {Collective::barrier,
     "recursive_doubling",
     "exchange with partners at doubling distance",
     barrier_doubling,
     with(binomial, 0),
     {}},
    {Collective::barrier, "dissemination", "the fewest steps for any number of ranks", barrier_dissemination,
     with_radix(2, 0), exchanging},
    {Collective::barrier, "hierarchical", "one leader per node meets the others", barrier_hierarchical,
     with_radix(2, 0), exchanging_nodes, Order::always, true},

    {Collective::gather, "linear", "from each rank to the root", gather_linear, with(flat, 0), {}},
    {Collective::gather,
     "ring",
     "around both sides of the ring of ranks, between neighbors only",
     gather_ring,
     with(binomial, 0),
     {}},
    {Collective::gather, "binomial", "along a binomial tree; the fewest steps", gather_binomial, with(binomial, 0), {}},
    {Collective::gather, "hierarchical", "to a leader on each node, which sends all of the node's to the root",
     gather_hierarchical, with_levels(flat, binomial, flat, 0), collecting, Order::always, true},

    {Collective::scatter, "linear", "from the root to each rank", scatter_linear, with(flat, 0), {}},
    {Collective::scatter,
     "ring",
     "around both sides of the ring of ranks, between neighbors only",
     scatter_ring,
     with(binomial, 0),
     {}},
    {Collective::scatter,
     "binomial",
     "along a binomial tree; the fewest steps",
     scatter_binomial,
     with(binomial, 0),
     {}},
    {Collective::scatter, "hierarchical", "to a leader on each node, which deals out what is the node's",
     scatter_hierarchical, with_levels(flat, binomial, flat, 0), collecting, Order::always, true},

    {Collective::allgather, "linear", "from each rank to each", allgather_linear, with(flat, 0), {}},
    {Collective::allgather, "ring", "around the ring of ranks, between neighbors only; large messages", allgather_ring,
     with(binomial, 128 * kibi), pipelined},
    {Collective::allgather,
     "recursive_doubling",
     "exchange of doubling runs with partners at doubling distance",
     allgather_doubling,
     with(binomial, 0),
     {}},
    {Collective::allgather, "dissemination", "Bruck's pattern; the fewest steps for any number of ranks",
     allgather_dissemination, with_radix(2, 0), exchanging},
    {Collective::allgather, "hierarchical", "one leader per node collects, exchanges with the others, and passes on",
     allgather_hierarchical, with_radix(2, 0), exchanging_nodes, Order::always, true},
};

}  // namespace

std::span<const Algorithm> algorithms() { return list; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
    for (const Algorithm& algorithm : list)
        if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
    return nullptr;
}

std::vector<Plan> plans_of_all_ranks(const Algorithm& algorithm, const AlgorithmParameters& parameters,
                                     PlanRequest request) {
    std::vector<Plan> plans;
    request.ranks = request.placement->ranks();
    plans.reserve(static_cast<std::size_t>(request.ranks));
    for (request.rank = 0; request.rank < request.ranks; ++request.rank)
        plans.push_back(algorithm.build(request, parameters));
    return plans;
}

bool keeps_order(const Algorithm& algorithm, const AlgorithmParameters& parameters, const Placement& placement) {
    switch (algorithm.order) {
        case Order::always: return true;
        case Order::never: return false;
        case Order::by_tree: return parameters.tree.shape != TreeShape::two_tree;
        case Order::in_rank_order: break;
    }
    return placement.is_in_rank_order() && !has_two_trees(parameters.levels);
}

// As few ranks as have others than neighbors in both directions, each on a node of its own and all on one: what an algorithm does
// between more of them it does between these.
bool is_between_neighbors(const Algorithm& algorithm, const AlgorithmParameters& parameters) {
    if (needs_leaders(algorithm, parameters)) return false;
    constexpr int ranks = 6;
    const auto is_neighbor = [](int rank, int peer) {
        return peer == (rank + 1) % ranks || rank == (peer + 1) % ranks;
    };
    std::vector<Seat> apart;
    apart.reserve(ranks);
    for (int node = 0; node < ranks; ++node) apart.push_back({node, 0});
    for (const Placement& placement : {Placement::one_node(ranks), Placement(apart)})
        for (const bool ordered : {false, true})
            for (int root = 0; root < (has_root(algorithm.collective) ? ranks : 1); ++root) {
                const PlanRequest request{.root = root, .units = 64, .ordered = ordered, .placement = &placement};
                if (ordered && !(is_reduction(algorithm.collective) && keeps_order(algorithm, parameters, placement)))
                    continue;
                const auto plans = plans_of_all_ranks(algorithm, parameters, request);
                for (int rank = 0; rank < ranks; ++rank)
                    for (const Step& step : plans[static_cast<std::size_t>(rank)].steps)
                        if (step.is_message() && !is_neighbor(rank, step.peer)) return false;
            }
    return true;
}

}  // namespace hcoll
