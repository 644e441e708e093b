// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/disseminate.hpp"

namespace hcoll {

void allgather_runs_by_dissemination(PlanBuilder& plan, const BlockOrder& order, std::span<const int> edges, int self,
                                     int radix, const Region& own, const Region& memory) {
    const int size = static_cast<int>(edges.size()) - 1;
    const auto edge = [&](int member) { return edges[static_cast<std::size_t>(member)]; };
    const auto rank = [&](int member) { return order.rank(edge(member)); };
    // The second part is empty where the run does not go around.
    const auto parts = [&](int first, int count) {
        const int end = std::min(first + count, size);
        return std::array{order.in_order(memory, {edge(first), edge(end)}),
                          order.in_order(memory, {0, edge(first + count - end)})};
    };
    const auto send = [&](int member, int count) {
        if (count == 1) return plan.send(rank(member), own);
        for (const Region& part : parts(self, count)) plan.send(rank(member), part);
    };
    const auto recv = [&](int member, int count) {
        for (const Region& part : parts(member, count)) plan.recv(rank(member), part);
    };
    disseminate(size, self, radix, send, recv);
}

}  // namespace hcoll
