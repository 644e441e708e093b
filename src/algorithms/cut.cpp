// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/cut.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace hcoll {

Plan cut(Plan plan, Collective collective, const NodeOf& node_of, int rank, int levels) {
    if (levels <= 0) return plan;
    check(plan.phases.size() == 1, "a tree's plan has one phase");
    const bool reduces = collective == Collective::reduce;
    const TreeNode node = node_of(rank);
    const TreeLevels at = tree_levels(node_of, rank, levels);
    std::vector<int> callers_children;
    for (std::size_t child = 0; child < node.children.size(); ++child)
        if (at.children[child] <= levels) callers_children.push_back(node.children[child]);
    std::sort(callers_children.begin(), callers_children.end());
    const auto is_callers_message = [&](const Step& step) {
        const bool goes_up = (step.kind == StepKind::send) == (step.peer == node.parent);
        if (goes_up != reduces) return false;
        if (step.peer == node.parent) return at.parent <= levels;
        return std::binary_search(callers_children.begin(), callers_children.end(), step.peer);
    };
    // Steps come after those that they wait for. One that is no message is the callers' if all of these are, where the callers'
    // come first, and if any of these is, where they come last.
    std::vector<char> waits_for_background(plan.steps.size(), 0);
    std::vector<char> waits_for_callers(plan.steps.size(), 0);
    for (std::size_t index = 0; index < plan.steps.size(); ++index) {
        Step& step = plan.steps[index];
        step.by_caller = step.is_message() ? is_callers_message(step)
                         : reduces         ? waits_for_background[index] == 0
                                           : waits_for_callers[index] != 0;
        for (std::uint32_t next = 0; next < step.successors; ++next) {
            const std::uint32_t successor = plan.successors[step.first_successor + next];
            (step.by_caller ? waits_for_callers : waits_for_background)[successor] = 1;
        }
    }
    plan.callers_part = reduces ? CallersPart::first : CallersPart::last;
    return plan;
}

}  // namespace hcoll
