// SPDX-License-Identifier: BSD-3-Clause
// Test data of which every rank can tell, element by element, what the collective must make of it.
//
// Each element belongs to one of 31 classes, drawn by a hash of its index, the seed of the run and the size, so a
// segment in the wrong place, or left over from an earlier call, does not go unnoticed. For reductions, rank r
// contributes to class k the value ((k + r) mod 31) - 15:
//
//   class       0    1    2   ...   30          the values of 31 consecutive ranks sum to 0, and of fewer to 120 at
//   rank 0    -15  -14  -13   ...   15          most. So sums are exact in every type, char included, with any number
//   rank 1    -14  -13  -12   ...  -15          of ranks and in any order of additions.
//
// For products the same values become signs, and one rank in the first 31 contributes a 2: exact again. The result of
// a class is found once per collective; a check is then one table lookup per element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "subject.hpp"

namespace hcoll::bench {

inline constexpr std::size_t pattern_classes = 31;

// One value per class, in a type that holds the values of all element types exactly.
using ClassValues = std::array<double, pattern_classes>;

// What `rank` contributes to a reduction with `op`.
ClassValues contribution(Operator op, int rank);

// What all ranks' contributions come to.
ClassValues combination(Operator op, int ranks);

// The value that an in-place reduction may be applied to again and again without growing: the same in all classes.
ClassValues neutral_values(Operator op);

struct Mismatch {
    std::size_t element = 0;
    std::string found;
    std::string expected;
};

void fill(void* buffer, ElementType type, std::size_t elements, const ClassValues& values, std::uint32_t key);
std::optional<Mismatch> find_mismatch(const void* buffer, ElementType type, std::size_t elements,
                                      const ClassValues& values, std::uint32_t key);

// The same for a broadcast, where any bytes will do: pseudo-random words.
void fill_bytes(void* buffer, std::size_t bytes, std::uint32_t key);
std::optional<Mismatch> find_byte_mismatch(const void* buffer, std::size_t bytes, std::uint32_t key);

// Overwrites a buffer with what no reduction yields, so that a result that was never written cannot pass.
void poison(void* buffer, std::size_t bytes);

}  // namespace hcoll::bench
