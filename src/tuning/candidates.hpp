// SPDX-License-Identifier: BSD-3-Clause
// What a tuner chooses from: every algorithm of the catalog with every combination of parameters that is worth a try.
//
// Made from the catalog (Parameter::samples), not from a list. Of combinations whose plans are the same there is one: parameters that say
// nothing at that layout and length keep their defaults. Heuristics leave out what is not likely to win, each for a reason that is told.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "topology/placement.hpp"
#include "tuning/settings.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// Values for parameters in place of their samples, by name, as a setting gives them.
using VariedParameters = std::map<std::string, std::vector<std::string>, std::less<>>;

struct CandidateSpace {
    TableCall call;
    const Placement* placement = nullptr;  // of the ranks; outlives the space
    std::uint64_t bytes = 0;
    bool has_shared_memory = false;
    bool has_heuristics = true;
    VariedParameters varied = {};
    // Names of algorithms; empty: all.
    std::vector<std::string> algorithms = {};
};

struct Candidate {
    AlgorithmChoice choice;
    std::string text;  // short_choice_text
    // Why a heuristic leaves it out; empty where none does.
    std::string_view left_out = {};
    bool is_hierarchical = false;  // made of tasks by level, in segments
};

// The vendor first. Those that are left out are there, too, with the reason.
std::vector<Candidate> find_candidates(const CandidateSpace& space);

// A mistake in what is varied, in a sentence; nothing where there is none.
std::optional<std::string> find_mistake(const VariedParameters& varied);

}  // namespace hcoll
