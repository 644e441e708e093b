// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "tuning/text.hpp"

namespace hcoll {

namespace {

struct Shape {
    int nodes;
    int most_ranks_of_a_node;
    bool has_sockets;  // several with ranks on one node
    std::uint64_t bytes;
    bool is_nonblocking;
};

bool has_several_sockets(const Placement& placement) {
    for (int node = 0; node < placement.nodes(); ++node)
        if (placement.sockets_of_node(node) > 1) return true;
    return false;
}

Shape shape_of(const CandidateSpace& space) {
    const Placement& placement = *space.placement;
    return {.nodes = placement.nodes(),
            .most_ranks_of_a_node = placement.most_ranks_of_a_node(),
            .has_sockets = has_several_sockets(placement),
            .bytes = has_message(space.call.collective) ? space.bytes : 1,
            .is_nonblocking = space.call.is_nonblocking};
}

bool has_parameter(const Algorithm& algorithm, std::string_view name) {
    return std::any_of(algorithm.parameters.begin(), algorithm.parameters.end(),
                       [&](const Parameter* each) { return each->name == name; });
}

// The trees that the ranks of this layout walk, with how many ranks each has.
constexpr int few_ranks = 16;  // among whom trees differ little

struct Walked {
    TreeShape shape;
    int ranks;
    bool is_network;
};
std::vector<Walked> walked_trees(const Algorithm& algorithm, const AlgorithmParameters& parameters,
                                 const Shape& shape) {
    const int ranks_of_node = shape.most_ranks_of_a_node;
    if (!algorithm.uses_placement) {
        const bool has_tree =
            has_parameter(algorithm, "tree") || algorithm.build == bcast_tree || algorithm.build == reduce_tree;
        if (!has_tree) return {};
        return {{parameters.tree.shape, shape.nodes * ranks_of_node, shape.nodes > 1}};
    }
    std::vector<Walked> trees;
    if (has_parameter(algorithm, "network") && parameters.network == NetworkModule::tree && shape.nodes > 1)
        trees.push_back({parameters.levels.network.shape, shape.nodes, true});
    if (has_parameter(algorithm, "node") && ranks_of_node > 1)
        trees.push_back({parameters.levels.node.shape, ranks_of_node, false});
    if (has_parameter(algorithm, "socket") && shape.has_sockets && parameters.with_sockets)
        trees.push_back({parameters.levels.socket.shape, ranks_of_node, false});
    return trees;
}

bool walks(const std::vector<Walked>& trees, TreeShape shape) {
    return std::any_of(trees.begin(), trees.end(), [&](const Walked& tree) { return tree.shape == shape; });
}

// There are two parameters of that name.
bool is_radix_of_trees(const Parameter& parameter) {
    AlgorithmParameters parameters;
    parameter.set(parameters, parameter.maximum);
    return parameters.tree.radix != AlgorithmParameters{}.tree.radix;
}

// Does another value of the parameter make another plan, with what the other parameters are?
bool says_something(const Parameter& parameter, const Algorithm& algorithm, const AlgorithmParameters& parameters,
                    const Shape& shape) {
    const std::vector<Walked> trees = walked_trees(algorithm, parameters, shape);
    const std::string_view name = parameter.name;
    if (name == "s") return false;  // of non-blocking calls, for which the model says it
    if (name == "network" || name == "in_turn") {
        if (shape.nodes == 1) return false;
        return name == "network" || (shape.nodes > 2 && parameters.network == NetworkModule::tree &&
                                     parameters.levels.network.shape != TreeShape::chain &&
                                     parameters.levels.network.shape != TreeShape::linear &&
                                     parameters.levels.network.shape != TreeShape::two_tree);
    }
    if (name == "node" || name == "leaders") return shape.most_ranks_of_a_node > 1;
    if (name == "sockets") return shape.has_sockets;
    if (name == "socket") return shape.has_sockets && parameters.with_sockets;
    if (name == "exchange") return shape.nodes > 1 || !has_parameter(algorithm, "leaders");
    if (name == "radix") {
        if (is_radix_of_trees(parameter)) return walks(trees, TreeShape::k_nomial);
        // Of an exchange, among the leaders of nodes where there are some.
        if (algorithm.uses_placement && shape.nodes <= 2) return false;
        return !has_parameter(algorithm, "leaders") || parameters.exchange == Exchange::recursive_multiplying;
    }
    return true;
}

// ---- heuristics: what is left out, and why ----

struct Rule {
    std::string_view why;
    bool (*leaves_out)(const Algorithm&, const AlgorithmParameters&, const std::vector<Walked>&, const Shape&);
};

std::uint64_t segments_of(const AlgorithmParameters& parameters, const Shape& shape) {
    const std::uint64_t bytes = parameters.pipeline.segment_bytes;
    return bytes == 0 || bytes >= shape.bytes ? 1 : (shape.bytes + bytes - 1) / bytes;
}

constexpr Rule rules[] = {
    {"a chain needs eight segments to be full (Luo 2020, section 6.2)",
     [](const Algorithm&, const AlgorithmParameters& parameters, const std::vector<Walked>& trees, const Shape& shape) {
         constexpr std::uint64_t enough = 8;
         return segments_of(parameters, shape) < enough &&
                std::any_of(trees.begin(), trees.end(), [](const Walked& tree) {
                    const bool is_chain = tree.shape == TreeShape::chain || tree.shape == TreeShape::linear ||
                                          tree.shape == TreeShape::ring;
                    return is_chain && tree.ranks > 3;
                });
     }},
    {"a pipeline of more than 512 segments costs more than it hides",
     [](const Algorithm&, const AlgorithmParameters& parameters, const std::vector<Walked>&, const Shape& shape) {
         constexpr std::uint64_t most = 512;
         return segments_of(parameters, shape) > most;
     }},
    {"a binary tree without segments is a slower binomial one",
     [](const Algorithm&, const AlgorithmParameters& parameters, const std::vector<Walked>& trees, const Shape& shape) {
         return segments_of(parameters, shape) == 1 && walks(trees, TreeShape::binary);
     }},
    {"inside a node of up to 16 ranks, flat, chain and binomial trees stand for all, in a larger one k-nomial ones too",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>& trees, const Shape&) {
         return algorithm.uses_placement && std::any_of(trees.begin(), trees.end(), [](const Walked& tree) {
                    const bool is_usual = tree.shape == TreeShape::flat || tree.shape == TreeShape::chain ||
                                          tree.shape == TreeShape::binomial ||
                                          (tree.shape == TreeShape::k_nomial && tree.ranks > few_ranks);
                    return !tree.is_network && !is_usual;
                });
     }},
    {"radix 4 stands for all k-nomial trees of up to 16 ranks, and 4 to 6 for those of more",
     [](const Algorithm& algorithm, const AlgorithmParameters& parameters, const std::vector<Walked>& trees,
        const Shape&) {
         constexpr int usual = 4;
         constexpr int most_of_many = 6;
         const int radix = parameters.tree.radix;
         return algorithm.uses_placement && std::any_of(trees.begin(), trees.end(), [radix](const Walked& tree) {
                    const bool is_usual =
                        radix == usual || (tree.ranks > few_ranks && radix > usual && radix <= most_of_many);
                    return tree.shape == TreeShape::k_nomial && !is_usual;
                });
     }},
    {"sending in turn is for messages of a handshake, to many",
     [](const Algorithm&, const AlgorithmParameters& parameters, const std::vector<Walked>&, const Shape& shape) {
         constexpr int many = 4;
         constexpr std::uint64_t least = 8 << 10;
         return parameters.levels.network.in_turn && (shape.nodes <= many || shape.bytes < least);
     }},
    {"a message of 1 KB or less is not worth a pipeline",
     [](const Algorithm&, const AlgorithmParameters& parameters, const std::vector<Walked>&, const Shape& shape) {
         constexpr std::uint64_t least = 1 << 10;
         return shape.bytes <= least && segments_of(parameters, shape) > 1;
     }},
    {"a line or a ring of neighbors is a slower chain",
     [](const Algorithm&, const AlgorithmParameters&, const std::vector<Walked>& trees, const Shape&) {
         return walks(trees, TreeShape::linear) || walks(trees, TreeShape::ring);
     }},
    {"one rank sends to more than 16 others over the network",
     [](const Algorithm&, const AlgorithmParameters&, const std::vector<Walked>& trees, const Shape&) {
         constexpr int most = 16;
         return std::any_of(trees.begin(), trees.end(), [](const Walked& tree) {
             return tree.is_network && tree.shape == TreeShape::flat && tree.ranks > most;
         });
     }},
    {"it does not know of nodes, and crosses the network more often",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>&, const Shape& shape) {
         return !algorithm.uses_placement && shape.nodes > 1 && shape.most_ranks_of_a_node > 1;
     }},
    {"with one rank a node it is the same as without levels",
     [](const Algorithm& algorithm, const AlgorithmParameters& parameters, const std::vector<Walked>&,
        const Shape& shape) {
         const bool has_levels = has_parameter(algorithm, "node") && has_parameter(algorithm, "network");
         return has_levels && shape.most_ranks_of_a_node == 1 && parameters.network == NetworkModule::tree &&
                !parameters.levels.network.in_turn && algorithm.collective != Collective::allreduce;
     }},
    {"on one node it is the same as without levels",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>&, const Shape& shape) {
         return algorithm.uses_placement && shape.nodes == 1 && !shape.has_sockets;
     }},
    {"halves of short messages are not worth two trees",
     [](const Algorithm&, const AlgorithmParameters&, const std::vector<Walked>& trees, const Shape& shape) {
         constexpr std::uint64_t least = 4 << 10;
         return shape.bytes < least && walks(trees, TreeShape::two_tree);
     }},
    {"pieces of a message of less than 1 KB are not worth their messages",
     [](const Algorithm& algorithm, const AlgorithmParameters& parameters, const std::vector<Walked>&,
        const Shape& shape) {
         constexpr std::uint64_t least = 1 << 10;
         const bool has_pieces = algorithm.build == allreduce_ring || algorithm.build == allreduce_rabenseifner ||
                                 algorithm.build == allreduce_multi_leader ||
                                 algorithm.build == bcast_scatter_allgather || algorithm.build == bcast_scatter_ring ||
                                 algorithm.build == reduce_rabenseifner ||
                                 (algorithm.build == allreduce_nap && parameters.exchange == Exchange::rabenseifner);
         return has_pieces && shape.bytes < least;
     }},
    {"all of the message in every step is too much from 256 KB on",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>&, const Shape& shape) {
         constexpr std::uint64_t most = 256 << 10;
         const bool is_whole = algorithm.build == allreduce_recursive_multiplying || algorithm.build == allreduce_nap ||
                               algorithm.build == allreduce_smp;
         return is_whole && shape.bytes >= most;
     }},
    {"the same bits for any placement cost more, and are asked for by a setting",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>&, const Shape&) {
         return algorithm.name == "reproducible";
     }},
    {"a split tree is for calls in the background",
     [](const Algorithm& algorithm, const AlgorithmParameters&, const std::vector<Walked>&, const Shape& shape) {
         return algorithm.name == "split_tree" && !shape.is_nonblocking;
     }},
};

std::string_view reason_to_leave_out(const Algorithm& algorithm, const AlgorithmParameters& parameters,
                                     const Shape& shape) {
    const std::vector<Walked> trees = walked_trees(algorithm, parameters, shape);
    for (const Rule& rule : rules)
        if (rule.leaves_out(algorithm, parameters, trees, shape)) return rule.why;
    return {};
}

// ---- combinations ----

// What is cut into segments: the message, or a rank's piece of it.
std::uint64_t bytes_to_cut(const Algorithm& algorithm, const Shape& shape) {
    const bool has_pieces = algorithm.build == bcast_scatter_ring || algorithm.build == allreduce_ring;
    const auto ranks = static_cast<std::uint64_t>(shape.nodes) * static_cast<std::uint64_t>(shape.most_ranks_of_a_node);
    return has_pieces ? shape.bytes / ranks : shape.bytes;
}

// The values that are tried of a parameter; those that come to the same there once.
std::vector<std::uint64_t> values_of(const Parameter& parameter, const Algorithm& algorithm,
                                     const CandidateSpace& space, const Shape& shape) {
    std::vector<std::uint64_t> values(parameter.samples.begin(), parameter.samples.end());
    // The tree of a level begins with the rank that has the message: there a line goes one way only, as a chain does.
    const bool is_of_level = parameter.name == "network" || parameter.name == "node" || parameter.name == "socket";
    // Among two ranks a binomial tree is all of them, but for halves.
    const int members = parameter.name == "network" ? shape.nodes : shape.most_ranks_of_a_node;
    const auto is_new = [&](std::string_view tree) {
        constexpr std::array<std::string_view, 4> like_binomial = {"flat", "chain", "binary", "k_nomial"};
        const bool is_like = std::find(like_binomial.begin(), like_binomial.end(), tree) != like_binomial.end();
        return tree != "linear" && !(members <= 2 && is_like);
    };
    if (parameter.kind == ParameterKind::choice)
        for (std::uint64_t value = 0; value <= parameter.maximum; ++value)
            if (!is_of_level || is_new(parameter.names[value])) values.push_back(value);
    if (const auto varied = space.varied.find(parameter.name); varied != space.varied.end()) {
        values.clear();
        for (const std::string& text : varied->second)
            if (const auto value = parse_parameter_value(parameter, text)) values.push_back(*value);
    }
    const auto most_leaders = static_cast<std::uint64_t>(shape.most_ranks_of_a_node);
    std::set<std::uint64_t> distinct;
    for (const std::uint64_t value : values) {
        if (parameter.name == "segment" && value >= bytes_to_cut(algorithm, shape))
            distinct.insert(0);
        else if (parameter.name == "leaders" && value >= most_leaders)
            distinct.insert(most_leaders);
        else
            distinct.insert(value);
    }
    return {distinct.begin(), distinct.end()};
}

class Combinations {
public:
    // `plans`: what tells those apart that were found.
    Combinations(const Algorithm& algorithm, const CandidateSpace& space, const Shape& shape,
                 std::set<std::string>& plans, std::vector<Candidate>& found)
        : algorithm_(algorithm), space_(space), shape_(shape), plans_(plans), found_(found) {}

    // Parameters in the order in which later ones depend on earlier ones: what a tree's radix says, its shape decides.
    void add_all() {
        for (const Parameter* parameter : algorithm_.parameters)
            if (parameter->kind == ParameterKind::choice) parameters_.push_back(parameter);
        for (const Parameter* parameter : algorithm_.parameters)
            if (parameter->kind != ParameterKind::choice) parameters_.push_back(parameter);
        add(0, algorithm_.defaults);
    }

private:
    void add(std::size_t number, const AlgorithmParameters& parameters) {
        if (number == parameters_.size()) return finish(parameters);
        const Parameter& parameter = *parameters_[number];
        const std::vector<std::uint64_t> values = values_of(parameter, algorithm_, space_, shape_);
        if (values.empty() || !says_something(parameter, algorithm_, parameters, shape_))
            return add(number + 1, parameters);
        for (const std::uint64_t value : values) {
            AlgorithmParameters varied = parameters;
            parameter.set(varied, value);
            add(number + 1, varied);
        }
    }

    void finish(const AlgorithmParameters& parameters) {
        Candidate candidate;
        candidate.choice = {.kind = AlgorithmChoice::Kind::own, .algorithm = &algorithm_, .parameters = parameters};
        candidate.text = short_choice_text(candidate.choice);
        // A setting may refuse a combination: then nobody can choose it.
        AlgorithmChoice parsed;
        const auto problem = space_.call.is_nonblocking
                                 ? parse_nonblocking_choice(space_.call.collective, candidate.text, parsed)
                                 : parse_choice(space_.call.collective, candidate.text, parsed);
        if (problem) return;
        candidate.is_hierarchical = has_parameter(algorithm_, "network") && has_parameter(algorithm_, "segment") &&
                                    shape_.nodes > 1 && shape_.most_ranks_of_a_node > 1;
        if (space_.has_heuristics) candidate.left_out = reason_to_leave_out(algorithm_, parameters, shape_);
        // Algorithms that are built alike differ by what their parameters are if nobody says so: one stands for both.
        if (plans_.insert(plan_key(parameters)).second) found_.push_back(std::move(candidate));
    }

    // What the plan depends on: parameters that say nothing are left out.
    std::string plan_key(const AlgorithmParameters& parameters) const {
        std::string key = fmt::format("{}", reinterpret_cast<std::uintptr_t>(algorithm_.build));
        if (algorithm_.build == bcast_tree || algorithm_.build == reduce_tree)
            key += fmt::format(",tree={}", static_cast<int>(parameters.tree.shape));
        for (const Parameter* parameter : algorithm_.parameters)
            if (parameter->name != "tree" && says_something(*parameter, algorithm_, parameters, shape_))
                key += fmt::format(",{}={}", parameter->name, parameter->get(parameters));
        // What the shorter list of parameters of one of them leaves at its default.
        if (!has_parameter(algorithm_, "radix") && algorithm_.build == allreduce_recursive_multiplying)
            key += fmt::format(",radix={}", parameters.radix);
        return key;
    }

    const Algorithm& algorithm_;
    const CandidateSpace& space_;
    const Shape& shape_;
    std::set<std::string>& plans_;
    std::vector<Candidate>& found_;
    std::vector<const Parameter*> parameters_;
};

Candidate plain(AlgorithmChoice::Kind kind, std::uint64_t single_copy = 0) {
    Candidate candidate;
    candidate.choice = {.kind = kind, .algorithm = nullptr, .parameters = {}, .single_copy = single_copy};
    candidate.text = short_choice_text(candidate.choice);
    return candidate;
}

}  // namespace

std::vector<Candidate> find_candidates(const CandidateSpace& space) {
    const Shape shape = shape_of(space);
    const auto is_wanted = [&](std::string_view name) {
        return space.algorithms.empty() ||
               std::find(space.algorithms.begin(), space.algorithms.end(), name) != space.algorithms.end();
    };
    std::vector<Candidate> found = {plain(AlgorithmChoice::Kind::vendor)};
    const Collective collective = space.call.collective;
    const bool may_be_shared = space.has_shared_memory && !space.call.is_nonblocking && shape.nodes == 1;
    if (may_be_shared && is_wanted("shared")) {
        found.push_back(plain(AlgorithmChoice::Kind::shared));
        // By one name at all lengths, so that between two of them it is what was measured. The shortest messages are never copied once.
        constexpr std::uint64_t always = 1;
        if (has_message(collective) && (space.bytes > never_copied_once || !space.has_heuristics))
            found.push_back(plain(AlgorithmChoice::Kind::shared, always));
    }
    std::set<std::string> plans;
    for (const Algorithm& algorithm : algorithms())
        if (algorithm.collective == collective && is_wanted(algorithm.name))
            Combinations(algorithm, space, shape, plans, found).add_all();
    return found;
}

std::optional<std::string> find_mistake(const VariedParameters& varied) {
    std::vector<std::string_view> names;
    for (const Algorithm& algorithm : algorithms())
        for (const Parameter* parameter : algorithm.parameters)
            if (std::find(names.begin(), names.end(), parameter->name) == names.end()) names.push_back(parameter->name);
    for (const auto& [name, values] : varied) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            return fmt::format("no algorithm has a parameter '{}'; there are {}", name, alternatives(names));
        for (const std::string& value : values) {
            bool is_valid = false;
            for (const Algorithm& algorithm : algorithms())
                for (const Parameter* parameter : algorithm.parameters)
                    is_valid = is_valid || (parameter->name == name && parse_parameter_value(*parameter, value));
            if (!is_valid) return fmt::format("'{}' is no value for {}", value, name);
        }
    }
    return std::nullopt;
}

}  // namespace hcoll
