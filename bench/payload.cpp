// SPDX-License-Identifier: BSD-3-Clause
#include "payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hcoll::bench {

namespace {

std::size_t class_of(std::size_t element, std::uint32_t key) {
    std::uint32_t hash = (static_cast<std::uint32_t>(element) ^ key) * 0x9E3779B1u;
    hash ^= hash >> 15;
    hash *= 0x85EBCA77u;
    return static_cast<std::size_t>((std::uint64_t{hash} * pattern_classes) >> 32);
}

std::uint64_t word_at(std::size_t word, std::uint32_t key) {
    std::uint64_t hash =
        (static_cast<std::uint64_t>(word) + 1) * 0x9E3779B97F4A7C15u ^ (std::uint64_t{key} << 32 | key);
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
    return hash ^ hash >> 27;
}

double combine(Operator op, double left, double right) {
    switch (op) {
        case Operator::sum: return left + right;
        case Operator::max: return std::max(left, right);
        case Operator::min: return std::min(left, right);
        case Operator::prod: break;
    }
    return left * right;
}

template <class T>
std::array<T, pattern_classes> converted(const ClassValues& values) {
    std::array<T, pattern_classes> table;
    std::transform(values.begin(), values.end(), table.begin(), [](double value) { return static_cast<T>(value); });
    return table;
}

template <class T>
void fill_elements(void* buffer, std::size_t elements, const ClassValues& values, std::uint32_t key) {
    const auto table = converted<T>(values);
    T* const data = static_cast<T*>(buffer);
    for (std::size_t i = 0; i < elements; ++i) data[i] = table[class_of(i, key)];
}

template <class T>
std::optional<Mismatch> find_element_mismatch(const void* buffer, std::size_t elements, const ClassValues& values,
                                              std::uint32_t key) {
    const auto table = converted<T>(values);
    const T* const data = static_cast<const T*>(buffer);
    for (std::size_t i = 0; i < elements; ++i) {
        const T expected = table[class_of(i, key)];
        if (data[i] == expected) continue;
        return Mismatch{.element = i,
                        .found = fmt::format("{}", static_cast<double>(data[i])),
                        .expected = fmt::format("{}", static_cast<double>(expected))};
    }
    return std::nullopt;
}

}  // namespace

ClassValues contribution(Operator op, int rank) {
    ClassValues values;
    const auto shift = static_cast<std::size_t>(rank) % pattern_classes;
    for (std::size_t k = 0; k < pattern_classes; ++k) {
        const double value = static_cast<double>((k + shift) % pattern_classes) - 15;
        if (op != Operator::prod) {
            values[k] = value;
        } else if (value == 15 && static_cast<std::size_t>(rank) < pattern_classes) {
            values[k] = 2;
        } else {
            values[k] = value < 0 ? -1 : 1;
        }
    }
    return values;
}

ClassValues combination(Operator op, int ranks) {
    ClassValues result = contribution(op, 0);
    for (int rank = 1; rank < ranks; ++rank) {
        const ClassValues values = contribution(op, rank);
        for (std::size_t k = 0; k < pattern_classes; ++k) result[k] = combine(op, result[k], values[k]);
    }
    return result;
}

ClassValues neutral_values(Operator op) {
    ClassValues values;
    values.fill(op == Operator::prod ? 1 : 0);
    return values;
}

void fill(void* buffer, ElementType type, std::size_t elements, const ClassValues& values, std::uint32_t key) {
    switch (type) {
        case ElementType::float32: return fill_elements<float>(buffer, elements, values, key);
        case ElementType::float64: return fill_elements<double>(buffer, elements, values, key);
        case ElementType::integer: return fill_elements<std::int32_t>(buffer, elements, values, key);
        case ElementType::character: return fill_elements<signed char>(buffer, elements, values, key);
    }
}

std::optional<Mismatch> find_mismatch(const void* buffer, ElementType type, std::size_t elements,
                                      const ClassValues& values, std::uint32_t key) {
    switch (type) {
        case ElementType::float32: return find_element_mismatch<float>(buffer, elements, values, key);
        case ElementType::float64: return find_element_mismatch<double>(buffer, elements, values, key);
        case ElementType::integer: return find_element_mismatch<std::int32_t>(buffer, elements, values, key);
        case ElementType::character: break;
    }
    return find_element_mismatch<signed char>(buffer, elements, values, key);
}

void fill_bytes(void* buffer, std::size_t bytes, std::uint32_t key) {
    auto* const data = static_cast<unsigned char*>(buffer);
    for (std::size_t at = 0; at < bytes; at += 8) {
        const std::uint64_t word = word_at(at / 8, key);
        std::memcpy(data + at, &word, std::min<std::size_t>(8, bytes - at));
    }
}

std::optional<Mismatch> find_byte_mismatch(const void* buffer, std::size_t bytes, std::uint32_t key) {
    const auto* const data = static_cast<const unsigned char*>(buffer);
    for (std::size_t at = 0; at < bytes; at += 8) {
        const std::size_t length = std::min<std::size_t>(8, bytes - at);
        const std::uint64_t word = word_at(at / 8, key);
        if (std::memcmp(data + at, &word, length) == 0) continue;
        unsigned char expected[8];
        std::memcpy(expected, &word, sizeof word);
        std::size_t i = 0;
        while (data[at + i] == expected[i]) ++i;
        return Mismatch{.element = at + i,
                        .found = fmt::format("{:#04x}", data[at + i]),
                        .expected = fmt::format("{:#04x}", expected[i])};
    }
    return std::nullopt;
}

void poison(void* buffer, std::size_t bytes) {
    // 127 as char, which is above every result; huge in the other types.
    std::memset(buffer, 0x7F, bytes);
}

}  // namespace hcoll::bench
