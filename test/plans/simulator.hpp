// All ranks of a collective in one process, driven in random legal orders.
//
// Every rank runs the library's own engine. The network below is as unkind as MPI allows: a send completes only after
// its receive was posted (rendezvous), completions are reported in random order and at random times, and ranks make
// progress in random turns. What a seed does is always the same.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"

namespace hcoll::test {

// An operand that knows where it has been. Combining two that do not belong together poisons the result.
struct Operand {
    std::uint64_t unit = 0;   // which unit of the message
    std::uint32_t ranks = 0;  // how many ranks have contributed
    std::uint32_t first = 0;  // in rank order: the run of ranks that have contributed
    std::uint32_t last = 0;
    std::uint32_t poisoned = 0;
    std::uint64_t sum = 0;  // of a value for each contributing rank, so that no rank counts twice

    friend bool operator==(const Operand&, const Operand&) = default;
};

std::uint64_t contribution(std::uint32_t rank);
Operand operand_of(std::uint32_t rank, std::uint64_t unit);

struct SimulatedRank {
    Plan plan;
    std::vector<Operand> input;
    std::vector<Operand> output;
};

// Runs every rank's plan to its end. Returns what went wrong on the way: nothing, or a deadlock, a message of the wrong
// length, an access outside of a buffer.
std::optional<std::string> simulate(std::vector<SimulatedRank>& ranks, bool ordered, std::mt19937_64& random);

}  // namespace hcoll::test
