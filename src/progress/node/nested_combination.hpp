// SPDX-License-Identifier: BSD-3-Clause
// Operands of all ranks of a node, combined by one of them as if the node's parts had done it: those of a part first, in their order, and then what
// parts give. So a message has the same bits whether its shares are combined level by level (node_levels.hpp) or by one rank at once.
//
//   packages { { a b } { c d } } { e f }      ((a b) (c d)) (e f)
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "progress/engine/combine.hpp"
#include "progress/node/node_levels.hpp"

namespace hcoll {

// Operands of `elements` elements. Each of the places has room for as many.
class NestedCombination {
public:
    using Places = std::array<std::byte*, NodeLevels::most_levels>;

    NestedCombination(const NodeLevels& levels, const Combine& combine, std::size_t elements, const Places& places)
        : levels_(levels),
          combine_(combine),
          elements_(elements),
          innermost_(levels.levels().size() - 1),
          places_(places) {}

    // The operand of the rank at that position; one after another from 0 on.
    void add(int position, const std::byte* operand) {
        const std::size_t shared = levels_.parts_shared(position);
        close(shared);
        if (open_[innermost_] == nullptr)
            open_[innermost_] = operand;
        else
            join(innermost_, operand);
    }
    // Operands may be overwritten from now on.
    void let_go() {
        for (std::size_t depth = 0; depth <= innermost_; ++depth) {
            if (open_[depth] == nullptr || open_[depth] == places_[depth]) continue;
            std::memcpy(places_[depth], open_[depth], elements_ * combine_.element_bytes);
            open_[depth] = places_[depth];
        }
    }
    // When all operands are added. The result may be where one of them is.
    void finish(std::byte* result) {
        close(0);
        std::memmove(result, open_[0], elements_ * combine_.element_bytes);
    }

private:
    void join(std::size_t depth, const std::byte* operand) {
        combine_(open_[depth], operand, places_[depth], elements_);
        open_[depth] = places_[depth];
    }
    // Parts inside of that many are over: what they gave belongs to the one around them.
    void close(std::size_t shared) {
        for (std::size_t depth = innermost_; depth > shared; --depth) {
            if (open_[depth] == nullptr) continue;
            if (open_[depth - 1] == nullptr) {
                if (open_[depth] == places_[depth]) std::swap(places_[depth - 1], places_[depth]);
                open_[depth - 1] = open_[depth];
            } else {
                join(depth - 1, open_[depth]);
            }
            open_[depth] = nullptr;
        }
    }

    const NodeLevels& levels_;
    const Combine& combine_;
    std::size_t elements_;
    std::size_t innermost_;
    Places places_;
    // By how many parts they are in: what there is of a part that is not over; a null pointer where there is nothing yet.
    std::array<const std::byte*, NodeLevels::most_levels> open_{};
};

}  // namespace hcoll
