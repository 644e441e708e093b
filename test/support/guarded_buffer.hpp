// SPDX-License-Identifier: BSD-3-Clause
// A message buffer between guard bytes. Everything that is not part of the message (guards, gaps inside derived types)
// holds a pattern, and a test compares the whole memory with what it should be.
#pragma once

#include "test_type.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hcoll::test {

class GuardedBuffer {
public:
    GuardedBuffer(const TestType& type, std::int64_t count, std::uint64_t salt)
        : type_(&type), count_(count), memory_(2 * guard_bytes + type.span(count)) {
        for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>((salt + i * 37) | 0x81U);
    }

    // The address to hand to MPI.
    [[nodiscard]] std::byte* data() { return memory_.data() + guard_bytes - type_->true_lower; }
    [[nodiscard]] const std::byte* data() const { return memory_.data() + guard_bytes - type_->true_lower; }

    [[nodiscard]] std::byte* item(std::int64_t i) { return data() + i * type_->extent; }
    [[nodiscard]] const std::byte* item(std::int64_t i) const { return data() + i * type_->extent; }

    [[nodiscard]] std::int64_t count() const { return count_; }

    // What differs from 'expected', if anything does.
    [[nodiscard]] std::optional<std::string> difference(const GuardedBuffer& expected) const {
        if (memory_ == expected.memory_) return std::nullopt;
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (memory_[i] != expected.memory_[i] && !is_padding(i)) return describe(i, expected);
        return std::nullopt;
    }

private:
    static constexpr std::size_t guard_bytes = 64;

    [[nodiscard]] bool is_padding(std::size_t i) const {
        if (type_->padding.empty() || i < guard_bytes || i >= memory_.size() - guard_bytes) return false;
        return type_->padding[(i - guard_bytes) % static_cast<std::size_t>(type_->extent)];
    }

    [[nodiscard]] std::string hex(std::size_t from, std::size_t bytes) const {
        std::string text = "0x";
        for (std::size_t i = from; i < from + bytes && i < memory_.size(); ++i) {
            constexpr const char* digits = "0123456789abcdef";
            const auto byte = static_cast<unsigned>(memory_[i]);
            text += digits[byte >> 4U];
            text += digits[byte & 15U];
        }
        return text;
    }

    [[nodiscard]] std::string describe(std::size_t i, const GuardedBuffer& expected) const {
        if (i < guard_bytes) return "a byte " + std::to_string(guard_bytes - i) + " before the message was overwritten";
        if (i >= memory_.size() - guard_bytes)
            return "byte " + std::to_string(i - (memory_.size() - guard_bytes)) + " behind the message was overwritten";
        // An element is found by its parts, since items of a derived type may lie inside one another.
        const auto message = static_cast<std::ptrdiff_t>(i - guard_bytes) + type_->true_lower;
        for (std::int64_t k = 0; k < count_; ++k) {
            for (const Part& part : type_->parts) {
                const std::ptrdiff_t begin = k * type_->extent + part.offset;
                if (message < begin || message >= begin + static_cast<std::ptrdiff_t>(part.size)) continue;
                const std::size_t at = i - static_cast<std::size_t>(message - begin);
                return "element " + std::to_string(k) + " of " + std::to_string(count_) + " (byte offset " +
                       std::to_string(part.offset) + " in it): expected " + expected.hex(at, part.size) + ", found " +
                       hex(at, part.size) + " (bytes in memory order)";
            }
        }
        return "a gap byte at offset " + std::to_string(message) + " was overwritten";
    }

    const TestType* type_;
    std::int64_t count_;
    std::vector<std::byte> memory_;
};

}  // namespace hcoll::test
