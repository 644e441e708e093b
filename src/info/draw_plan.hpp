// SPDX-License-Identifier: BSD-3-Clause
// Plans as text, and their messages as a picture: for people who want to see what an algorithm does.
//
// A picture shows one run in which every message takes one step and nothing else takes anything (unit_latency): ranks side
// by side, node by node, and time downwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"
#include "topology/placement.hpp"
#include "tuning/traffic.hpp"

namespace hcoll::info {

struct PlanPicture {
    std::string title;
    const Placement& placement;
    std::span<const MessageTime> messages;  // of a run in unit latencies
    bool has_segments = false;              // more than one: messages are labelled with theirs
};

// Text for Graphviz: a cluster for each node, ranks as nodes, messages as edges.
std::string plan_dot(const PlanPicture& picture);

// The same as a drawing, without Graphviz.
std::string plan_svg(const PlanPicture& picture);

// The steps of one rank's plan, a line each.
std::string plan_text(const Plan& plan);

// Of how many units the plans must be made for a picture of no more than `segments` segments; `units` where that is fewer.
// A ring is drawn with one segment of each chunk.
std::uint64_t units_to_draw(std::span<const Plan> plans, std::uint64_t units, std::uint64_t segments);

}  // namespace hcoll::info
