// SPDX-License-Identifier: BSD-3-Clause
// What the cost model says is the fastest algorithm at a place: where the built-in rules for several nodes come from.
//
// Pricing all candidates takes from milliseconds to seconds, so it is not done while a program runs: rules.cpp holds the
// outcome as a table, and a test holds the table to the model.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "tuning/machine_model.hpp"
#include "tuning/settings.hpp"

namespace hcoll {

// What the model chooses from, as a setting would say it. None needs the vendor's collectives.
std::span<const std::string_view> model_candidates(Collective collective);

struct ModelledChoice {
    std::string_view choice;
    double seconds = 0;
};

// All candidates for a message of `bytes` (of doubles; a barrier has none) to or from rank 0, the fastest first.
std::vector<ModelledChoice> modelled_choices(Collective collective, const Placement& placement, std::uint64_t bytes,
                                             const MachineModel& machine);

// The same for one algorithm with its parameters, also of blocks of so many bytes; infinite where it is more than `most`.
double modelled_seconds(const AlgorithmChoice& choice, const Placement& placement, std::uint64_t bytes,
                        const MachineModel& machine, double most = std::numeric_limits<double>::infinity());

// The same for one of the candidates.
double modelled_seconds(Collective collective, std::string_view choice, const Placement& placement, std::uint64_t bytes,
                        const MachineModel& machine);

}  // namespace hcoll
