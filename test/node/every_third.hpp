// SPDX-License-Identifier: BSD-3-Clause
// Elements with gaps, as collectives over shared memory see them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "progress/engine/scattered_bytes.hpp"

namespace hcoll::test {

inline constexpr std::byte untouched{0xa5};
inline constexpr std::uintptr_t imaginary = std::uintptr_t{1} << 55U;

// Every third byte of memory, as bytes side by side at imaginary addresses.
class EveryThird : public ScatteredBytes {
public:
    explicit EveryThird(std::size_t bytes) : memory_(3 * bytes + 1, untouched) {}
    [[nodiscard]] std::byte* address() const { return reinterpret_cast<std::byte*>(imaginary); }

    void read(const std::byte* source, std::uint64_t bytes, std::byte* target) const override {
        for (std::size_t i = 0; i < bytes; ++i) target[i] = memory_[place_of(source + i)];
    }
    void write(const std::byte* source, std::uint64_t bytes, std::byte* target) const override {
        for (std::size_t i = 0; i < bytes; ++i) memory_[place_of(target + i)] = source[i];
    }
    [[nodiscard]] bool is_untouched_between() const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (i % 3 != 0 && memory_[i] != untouched) return false;
        return true;
    }

private:
    std::size_t place_of(const std::byte* address) const {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - imaginary;
        EXPECT_LE(3 * offset, memory_.size());
        return std::min<std::size_t>(3 * offset, memory_.size() - 1);
    }
    mutable std::vector<std::byte> memory_;
};

}  // namespace hcoll::test
