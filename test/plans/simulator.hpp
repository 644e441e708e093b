// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a collective in one process, driven in random legal orders.
//
// Every rank runs the library's own engine. The network below is as unkind as MPI allows: a send completes only after
// its receive was posted (rendezvous), a collective among leaders only after all have begun it, completions are reported
// in random order and at random times, and ranks make progress in random turns. What a seed does is always the same.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"
#include "progress/engine/engine.hpp"

namespace hcoll::test {

// An operand that knows where it has been. Combining two that do not belong together poisons the result.
struct Operand {
    std::uint64_t unit = 0;   // which unit of the message
    std::uint32_t ranks = 0;  // how many ranks have contributed
    std::uint32_t first = 0;  // in rank order: the run of ranks that have contributed
    std::uint32_t last = 0;
    std::uint32_t poisoned = 0;
    std::uint64_t sum = 0;   // of a value for each contributing rank, so that no rank counts twice
    std::uint64_t bits = 0;  // of an operation that commutes, but is not associative: tells how operands were combined
    // Of one that does not commute in all its bits either, as MPI_MAX of 0 and -0, or a sum of two NaNs: which was left, too.
    std::uint64_t sided_bits = 0;

    // The bits, which depend on the algorithm, are compared where they should be equal.
    friend bool operator==(const Operand& a, const Operand& b) {
        return a.unit == b.unit && a.ranks == b.ranks && a.first == b.first && a.last == b.last &&
               a.poisoned == b.poisoned && a.sum == b.sum;
    }
};

std::uint64_t contribution(std::uint32_t rank);
Operand operand_of(std::uint32_t rank, std::uint64_t unit);

// right = left op right, and copies.
class OperandOperations : public LocalOperations {
public:
    explicit OperandOperations(bool ordered) : ordered_(ordered) {}
    Status reduce(const std::byte* left, std::byte* right, std::uint64_t units) override;
    Status copy(const std::byte* source, std::byte* target, std::uint64_t units) override;

private:
    bool ordered_;
};

struct SimulatedRank {
    Plan plan;
    std::vector<Operand> input;
    std::vector<Operand> output;
};

// Runs every rank's plan to its end. Returns what went wrong on the way: nothing, or a deadlock, a message of the wrong
// length, an access outside of a buffer.
std::optional<std::string> simulate(std::vector<SimulatedRank>& ranks, bool ordered, std::mt19937_64& random);

// Runs all ranks but `absent`, which never enters. True if none of the others finishes: what a barrier owes.
bool nobody_finishes_without(const std::vector<Plan>& plans, std::size_t absent, std::mt19937_64& random);

}  // namespace hcoll::test
