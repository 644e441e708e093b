#include "algorithms/catalog.hpp"

namespace hcoll {

namespace {

constexpr std::uint64_t kibi = 1024;

constexpr Parameter segment{"segment",
                            ParameterKind::size,
                            0,
                            kibi* kibi* kibi,
                            "bytes of a segment; 0 sends the message whole",
                            [](AlgorithmParameters& p, std::uint64_t value) { p.pipeline.segment_bytes = value; },
                            [](const AlgorithmParameters& p) { return p.pipeline.segment_bytes; }};
constexpr Parameter sends{
    "sends",
    ParameterKind::number,
    1,
    max_window,
    "segments in flight to each peer",
    [](AlgorithmParameters& p, std::uint64_t value) { p.pipeline.sends = static_cast<std::uint32_t>(value); },
    [](const AlgorithmParameters& p) { return std::uint64_t{p.pipeline.sends}; }};
constexpr Parameter receives{
    "receives",
    ParameterKind::number,
    1,
    max_window,
    "segments for which receives are posted, from each peer",
    [](AlgorithmParameters& p, std::uint64_t value) { p.pipeline.receives = static_cast<std::uint32_t>(value); },
    [](const AlgorithmParameters& p) { return std::uint64_t{p.pipeline.receives}; }};
constexpr Parameter tree{"tree",
                         ParameterKind::tree,
                         0,
                         std::size(tree_names) - 1,
                         "shape of the tree",
                         [](AlgorithmParameters& p, std::uint64_t value) { p.tree = static_cast<TreeShape>(value); },
                         [](const AlgorithmParameters& p) { return static_cast<std::uint64_t>(p.tree); }};

constexpr const Parameter* pipelined[] = {&segment, &sends, &receives};
constexpr const Parameter* pipelined_tree[] = {&tree, &segment, &sends, &receives};

constexpr AlgorithmParameters with(TreeShape shape, std::uint64_t segment_bytes) {
    return {.pipeline = {.segment_bytes = segment_bytes, .sends = 2, .receives = 4}, .tree = shape};
}

constexpr Algorithm list[] = {
    {Collective::bcast, "binomial", "along a binomial tree; the fewest steps for small messages", bcast_tree,
     with(TreeShape::binomial, 512 * kibi), pipelined},
    {Collective::bcast, "chain", "from rank to rank in segments; the most bandwidth for large messages", bcast_tree,
     with(TreeShape::chain, 128 * kibi), pipelined},
    {Collective::bcast, "binary", "along a binary tree in segments; between the two", bcast_tree,
     with(TreeShape::binary, 128 * kibi), pipelined},
    {Collective::reduce, "binomial", "along a binomial tree; the fewest steps for small messages", reduce_tree,
     with(TreeShape::binomial, 512 * kibi), pipelined},
    {Collective::reduce, "chain", "from rank to rank in segments; the most bandwidth for large messages", reduce_tree,
     with(TreeShape::chain, 64 * kibi), pipelined},
    {Collective::reduce, "binary", "along a binary tree in segments; between the two", reduce_tree,
     with(TreeShape::binary, 64 * kibi), pipelined},
    {Collective::allreduce, "recursive_doubling", "exchange with partners at doubling distance; the fewest steps",
     allreduce_recursive_doubling, with(TreeShape::binomial, 512 * kibi), pipelined},
    {Collective::allreduce, "reduce_bcast", "reduce to rank 0 and broadcast, both in one pipeline of segments",
     allreduce_reduce_bcast, with(TreeShape::binomial, 128 * kibi), pipelined_tree},
};

}  // namespace

std::span<const Algorithm> algorithms() { return list; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
    for (const Algorithm& algorithm : list)
        if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
    return nullptr;
}

}  // namespace hcoll
