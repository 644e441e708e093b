// Where a tuner measures: a part of the job with so many nodes and ranks on each. All its ranks make the same calls of it in the same
// order, and what it returns is the same on all of them, so that all decide alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/placement.hpp"
#include "tuning/table.hpp"

namespace hcoll {

class Laboratory {
public:
    Laboratory() = default;
    Laboratory(const Laboratory&) = delete;
    Laboratory& operator=(const Laboratory&) = delete;
    virtual ~Laboratory() = default;

    virtual const Placement& placement() const = 0;
    virtual bool has_shared_memory() const = 0;
    // Seconds per call of a row of calls of a message of so many bytes, by `choice`, which is one of find_candidates().
    virtual double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) = 0;
    // Seconds on each rank, of single calls that all begin at the same time: the median of some.
    virtual std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) = 0;
    // Seconds since some beginning.
    virtual double now() = 0;
};

}  // namespace hcoll
