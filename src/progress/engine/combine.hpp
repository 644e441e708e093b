// SPDX-License-Identifier: BSD-3-Clause
// What a reduction does to operands, wherever they lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "algorithms/kernels/kernel_table.hpp"

namespace hcoll {

// result = left op right, for elements of `element_bytes` bytes, side by side; result may be left or right.
class Combine {
public:
    // `plain` does the same where it is not a null pointer: the shortest messages are combined without a virtual call.
    explicit Combine(std::size_t bytes, Kernel plain = nullptr) : element_bytes(bytes), kernel(plain) {}
    virtual ~Combine() = default;
    virtual void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                            std::size_t elements) const = 0;
    const std::size_t element_bytes;
    const Kernel kernel;
};

// Two operands or more of `bytes` bytes, in their order; `result` may be one of them. It goes by pieces of
// `accumulator_bytes`, the bytes of `accumulator`, so that what is combined from several operands stays in the first-level
// cache.
inline void combine_in_order(std::span<const std::byte* const> operands, std::byte* result, std::size_t bytes,
                             const Combine& combine, std::byte* accumulator, std::size_t accumulator_bytes) {
    const std::size_t piece = accumulator_bytes / combine.element_bytes * combine.element_bytes;
    for (std::size_t offset = 0; offset < bytes; offset += piece) {
        const std::size_t length = std::min(piece, bytes - offset);
        const std::byte* left = operands.front() + offset;
        for (std::size_t i = 1; i < operands.size(); ++i) {
            std::byte* target = i + 1 == operands.size() ? result + offset : accumulator;
            combine(left, operands[i] + offset, target, length / combine.element_bytes);
            left = target;
        }
    }
}

}  // namespace hcoll
