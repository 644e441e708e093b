// What the built-in rules for several nodes are made from: which of a few candidates the model (price.hpp, on
// default_machine()) finds fastest, for nodes of equal numbers of ranks. Not for run time: a price takes up to seconds.
// `hcoll-info --model` prints it; a test holds the rules against it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/catalog.hpp"

namespace hcoll {

// A call. Ranks fill node after node, and on each the halves of two sockets.
struct ModelCase {
    Collective collective;
    int nodes;
    int ranks_per_node;
    std::uint64_t bytes;  // for reductions a multiple of 8: elements are doubles
};

// As settings give them; the first ones are right for small messages.
std::span<const std::string_view> model_candidates(Collective collective);

// Infinite where it is more than `most`, which saves time.
double modelled_seconds(const ModelCase& which, std::string_view choice,
                        double most = std::numeric_limits<double>::infinity());

struct ModelledChoice {
    std::string_view choice;
    double seconds;
};
// Of the candidates, the fastest first; those that take more than `factor` times as long as the fastest are left out.
std::vector<ModelledChoice> modelled_choices(const ModelCase& which, double factor);

// The grid: 2 to 64 nodes of 1 to 32 ranks, by factors of 2 as far as there are at most 1,024 ranks; 8 B to 16 MB by
// factors of 4.
std::vector<ModelCase> model_grid(Collective collective);

}  // namespace hcoll
