// SPDX-License-Identifier: BSD-3-Clause
// Is a reduction's result one that the MPI library might as well have given? Without MPI.
//
// Integers (of 32 and 64 bits), bits and truth values are the same to the bit, minima and maxima the same by value. A floating-point sum depends on the order: each of the
// n operands goes through at most n - 1 additions, whatever the order is, each of which is off by a factor of at most 1 + u (u: half the distance from 1 to
// the next number). So a sum differs from the exact one by at most g S, where S is the sum of the operands' absolute values and
// g = (n - 1) u / (1 - (n - 1) u), and two sums differ from one another by at most 2 g S (Higham, Accuracy and Stability of Numerical Algorithms, chapter 4);
// where operands and sums below the least normal number m are taken for 0, by 4 n m more.
// For products the same holds with the product in place of S; a complex one is off by at most 3 u in each step (Brent, Percival, Zimmermann, 2007: sqrt 5 u).
// Where numbers on the way may leave the range of their type, in one order and not in another, anything goes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "algorithms/kernels/kernel_table.hpp"

namespace hcoll {

class ResultComparison {
public:
    enum class Rule : std::uint8_t {
        bytes,     // the same to the bit
        values,    // equal numbers, where no operand is a NaN: with one it depends on the order which number is left
        pairs,     // the same of a floating-point value and its index
        sums,      // within the bound
        products,  // the same
        none,      // MPI libraries differ themselves
    };
    // Of data that was only moved: byte by byte.
    ResultComparison() = default;
    // `operation`, `element`: nothing where they are the program's own, or not known.
    static ResultComparison of_reduction(std::optional<Operation> operation, std::optional<Element> element, int ranks);

    Rule rule() const { return rule_; }
    // Does it take the sum of this over all ranks' operands? Of each number that an element has, or for products of each element.
    bool wants_magnitudes() const { return rule_ != Rule::bytes && rule_ != Rule::none; }
    std::size_t magnitudes_of_element() const { return rule_ == Rule::sums ? numbers_ : 1; }
    std::size_t element_bytes() const { return bytes_; }
    // Of `elements` at `operand`, packed: |x| for sums, |log2 |x|| for products, else 0, or a NaN for a NaN.
    void magnitudes(const std::byte* operand, std::size_t elements, double* result) const;

    // The number of the first element that is not as it may be; `own` and `other` are packed. `magnitudes`: sums over all ranks, where wanted.
    std::optional<std::size_t> first_wrong(std::span<const std::byte> own, std::span<const std::byte> other,
                                           std::span<const double> magnitudes) const;
    // Of a packed result that all ranks have: alike where it is as it may be on all of them. 0 where types have bytes that nobody sets.
    // With `magnitudes` of elements whose operands were finite alone.
    std::uint64_t hash(std::span<const std::byte> own, std::span<const double> magnitudes) const;
    // An element, for people.
    std::string element_text(const std::byte* element) const;

private:
    enum class Number : std::uint8_t { none, single, twofold, extended };

    Rule rule_ = Rule::bytes;
    Number number_ = Number::none;
    std::size_t numbers_ = 1;  // of an element: two of a complex one
    std::size_t bytes_ = 1;    // of a packed element
    int ranks_ = 1;
    bool has_all_bytes_ = true;  // no padding
};

}  // namespace hcoll
