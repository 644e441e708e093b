// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/split_tree.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace hcoll {

int split_tree_levels(int ranks) {
    assert(ranks >= 1 && "a tree has a root");
    return static_cast<int>(std::bit_width(static_cast<unsigned int>(ranks) - 1U));
}

// At level i rank r sends, or receives, where r mod 2^i = 2^(i - 1). Equation 1 counts the same in two parts: the largest full
// tree, 2^(floor(log2 N) - i), and what is left over.
int split_tree_messages(int ranks, int level) {
    assert(level >= 1 && level <= split_tree_levels(ranks) && "levels are numbered from 1 at the leaves");
    const int half = 1 << (level - 1);
    return (ranks - 1 + half) / (2 * half);
}

int split_tree_background_steps(int ranks, int progress_cores, int split) {
    assert(progress_cores >= 1 && split >= 0);
    int steps = 0;
    for (int level = split + 1; level <= split_tree_levels(ranks); ++level)
        steps += (split_tree_messages(ranks, level) + progress_cores - 1) / progress_cores;
    return steps;
}

int split_tree_steps(int ranks, int progress_cores, int split) {
    return std::min(split, split_tree_levels(ranks)) + split_tree_background_steps(ranks, progress_cores, split);
}

double split_tree_overlapped(int ranks, int progress_cores, int split, double computation) {
    const double background = split_tree_background_steps(ranks, progress_cores, split);
    return std::min(split, split_tree_levels(ranks)) + std::max(computation, background);
}

double split_tree_computation(int ranks, int progress_cores) {
    const int cores = ranks + progress_cores;
    return static_cast<double>(cores) / ranks * split_tree_levels(cores);
}

int best_split(int ranks, int progress_cores) {
    const double computation = split_tree_computation(ranks, progress_cores);
    const auto seconds = [&](int split) { return split_tree_overlapped(ranks, progress_cores, split, computation); };
    int best = 0;
    for (int split = 1; split <= split_tree_levels(ranks); ++split)
        if (seconds(split) < seconds(best)) best = split;
    return best;
}

}  // namespace hcoll
