// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/along_tree.hpp"

#include <array>

#include "algorithms/two_tree.hpp"

namespace hcoll {

namespace {

void pass_down(PlanBuilder& plan, const TreeNode& node, const Region& data, bool in_turn) {
    if (node.parent >= 0) plan.recv(node.parent, data);
    // The largest subtree, which is the last child, has the longest way to go and gets the segment first.
    int earlier = PlanBuilder::no_step;
    for (std::size_t index = node.children.size(); index-- > 0;) {
        const int sent = plan.send_after(earlier, node.children[index], data);
        if (in_turn) earlier = sent;
    }
}

// Memory for what children send: for so many at once that none has to wait, but not for all of a large number.
class Partials {
public:
    Partials(PlanBuilder& plan, const Region& like) : plan_(plan), like_(like) {}
    Region next() {
        if (count_ >= most) plan_.release(parts_[count_ % most]);
        return parts_[count_++ % most] = plan_.scratch(like_);
    }

private:
    static constexpr std::size_t most = 16;
    PlanBuilder& plan_;
    Region like_;
    std::array<Region, most> parts_;
    std::size_t count_ = 0;
};

// Any order will do: what comes in is combined into one accumulator.
Region combine_in_place(PlanBuilder& plan, const TreeNode& node, const Region& own, const Region& result) {
    const bool own_is_input = own.buffer == Buffer::input;
    Partials partials(plan, own);
    Region sum = own;
    for (const int child : node.children) {
        const bool starts_sum = own_is_input && sum == own;
        const Region partial = !starts_sum ? partials.next() : node.parent < 0 ? result : plan.scratch(own);
        plan.recv(child, partial);
        plan.reduce(starts_sum ? own : partial, starts_sum ? partial : sum);
        if (starts_sum) sum = partial;
    }
    return sum;
}

// From left to right. The right operand of a combination is where its result is, so the sum moves from one to the next.
Region combine_in_order(PlanBuilder& plan, const TreeNode& node, const Region& own, const Region& result) {
    const int children = static_cast<int>(node.children.size());
    const bool result_is_free = node.parent < 0 && !(result == own);
    Partials partials(plan, own);
    Region sum = own;
    for (int i = 0; i <= children; ++i) {
        const bool is_own = i == node.lower;
        const bool is_last = i == children;
        Region operand = own;
        if (!is_own) {
            operand = is_last && result_is_free ? result : partials.next();
            const auto child = static_cast<std::size_t>(i < node.lower ? i : i - 1);
            plan.recv(node.children[child], operand);
        } else if (own.buffer == Buffer::input && i > 0) {
            operand = is_last && result_is_free ? result : partials.next();
            plan.copy(own, operand);
        }
        if (i > 0) plan.reduce(sum, operand);
        sum = operand;
    }
    return sum;
}

void pass_up(PlanBuilder& plan, const TreeNode& node, bool ordered, const Region& own, const Region& result) {
    const Region sum = ordered ? combine_in_order(plan, node, own, result) : combine_in_place(plan, node, own, result);
    if (node.parent >= 0) {
        plan.send(node.parent, sum);
    } else if (!(sum == result)) {
        plan.copy(sum, result);
    }
}

}  // namespace

void bcast_along(PlanBuilder& plan, const RankGroup& group, int root, const Tree& tree, const Region& data) {
    if (!group.has_self()) return;
    if (tree.shape != TreeShape::two_tree) return pass_down(plan, tree_node(tree, group, root), data, tree.in_turn);
    const auto nodes = two_tree_nodes(group, root);
    for (int half = 0; half < 2; ++half)
        pass_down(plan, nodes[static_cast<std::size_t>(half)], piece_of(data, half, 2), tree.in_turn);
}

void reduce_along(PlanBuilder& plan, const RankGroup& group, int root, const Tree& tree, bool ordered,
                  const Region& own, const Region& result) {
    if (!group.has_self()) return;
    if (tree.shape != TreeShape::two_tree) return pass_up(plan, tree_node(tree, group, root), ordered, own, result);
    const auto nodes = two_tree_nodes(group, root);
    for (int half = 0; half < 2; ++half)
        pass_up(plan, nodes[static_cast<std::size_t>(half)], ordered, piece_of(own, half, 2),
                piece_of(result, half, 2));
}

}  // namespace hcoll
