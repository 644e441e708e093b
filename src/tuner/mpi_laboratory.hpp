// SPDX-License-Identifier: BSD-3-Clause
// A communicator of some of the job's ranks, on which choices are measured under the library that is preloaded.
#pragma once

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tuner/laboratory.hpp"
#include "tuner/measuring_options.hpp"
#include "tuner/mpi.hpp"

namespace hcoll {

// For the longest message, touched once, so that no measurement pays for page faults.
class MessageMemory {
public:
    explicit MessageMemory(std::size_t bytes);
    std::byte* input() { return input_.data(); }
    std::byte* output() { return output_.data(); }

private:
    std::vector<std::byte> input_;
    std::vector<std::byte> output_;
};

// What was to be measured does not run here, which would be another thing's time. On all ranks of the laboratory.
struct ChoiceNotTaken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class MpiLaboratory : public Laboratory {
public:
    // By all ranks of `communicator`, which sit as `placement` says; owns the communicator.
    // `may_share_memory`: do settings let ranks of one node? Whether they can is tried. Samples may throw ChoiceNotTaken.
    MpiLaboratory(MPI_Comm communicator, Placement placement, MessageMemory& memory, bool may_share_memory,
                  const MeasuringOptions& options);
    ~MpiLaboratory() override;

    const Placement& placement() const override { return placement_; }
    bool has_shared_memory() const override { return may_share_memory_ && placement_.nodes() == 1; }
    double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    double sample_level(Level level, const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    double exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) override;
    bool is_sent_at_once(RankPair pair, std::uint64_t bytes) override;
    double copy(std::uint64_t bytes) override;
    double reduce(std::uint64_t bytes) override;
    std::vector<double> shared_work(std::size_t items, const std::function<double(std::size_t)>& work) override;
    double now() override;

    // What the laboratory's first rank says.
    int of_first_rank(int value) const;

private:
    // A communicator whose calls are measured, and what was chosen for it.
    struct Bench {
        MPI_Comm communicator = MPI_COMM_NULL;
        std::string chosen = {};
        std::string why_not = {};
    };

    // Is it another one than before?
    bool choose(Bench& bench, const TableCall& call, const std::string& choice);
    // What the library says to it; "" where it does so.
    std::string why_not_taken(MPI_Comm communicator, const TableCall& call, const std::string& choice) const;
    bool can_share_memory();
    struct Operands;
    Operands operands_of(std::uint64_t bytes);
    MPI_Request begin(MPI_Comm communicator, const TableCall& call, std::uint64_t bytes);
    void run(MPI_Comm communicator, const TableCall& call, std::uint64_t bytes, std::uint64_t computing = 0);
    std::uint64_t computing_beside(const TableCall& call, std::uint64_t bytes);
    double row(const TableCall& call, std::uint64_t bytes, int calls, std::uint64_t computing);
    double single_call(const Bench& bench, const TableCall& call, std::uint64_t bytes);
    Bench& bench_of(Level level);
    double exchange_once(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, std::uint64_t pause);
    std::uint64_t steps_in(double seconds);
    double longest(double mine) const;

    Bench all_;
    std::map<Level, Bench> levels_;
    MPI_Comm meeting_ = MPI_COMM_NULL;  // the same ranks, for all that is not measured
    Placement placement_;
    MessageMemory& memory_;
    bool may_share_memory_;
    MeasuringOptions options_;
    int rank_ = 0;
    // By what was measured before: calls of a row, and whether one takes so long that making its plan is nothing.
    struct Row {
        int calls = 1;
        bool is_long = false;
    };
    std::map<std::string, Row> rows_;
    std::map<std::string, std::uint64_t> computing_;  // by call and length
    double seconds_of_step_ = 0;                      // of computing; 0: not known yet
};

}  // namespace hcoll
