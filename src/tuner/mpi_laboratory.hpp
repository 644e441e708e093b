// A communicator of some of the job's ranks, on which choices are measured under the library that is preloaded.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tuner/laboratory.hpp"
#include "tuner/mpi.hpp"

namespace hcoll {

// For the longest message, touched once, so that no measurement pays for page faults.
class MessageMemory {
public:
    explicit MessageMemory(std::size_t bytes);
    void* input() { return input_.data(); }
    void* output() { return output_.data(); }

private:
    std::vector<std::byte> input_;
    std::vector<std::byte> output_;
};

struct MeasuringOptions {
    double seconds_of_a_row = 2e-3;  // a sample takes at least so long, if the call is short
    int most_calls = 2000;           // of a row
    int single_calls = 5;            // of which the median counts
};

class MpiLaboratory : public Laboratory {
public:
    // By all ranks of `communicator`, which sit as `placement` says; owns the communicator.
    MpiLaboratory(MPI_Comm communicator, Placement placement, MessageMemory& memory, const MeasuringOptions& options);
    ~MpiLaboratory() override;

    const Placement& placement() const override { return placement_; }
    bool has_shared_memory() const override { return placement_.nodes() == 1; }
    double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    double now() override;

    MPI_Comm communicator() const { return communicator_; }

private:
    void choose(const TableCall& call, const std::string& choice);
    void run(const TableCall& call, std::uint64_t bytes);
    double row(const TableCall& call, std::uint64_t bytes, int calls);
    double longest(double mine) const;

    MPI_Comm communicator_;
    MPI_Comm meeting_;  // the same ranks, for all that is not measured
    Placement placement_;
    MessageMemory& memory_;
    MeasuringOptions options_;
    int rank_ = 0;
    std::string chosen_;
    std::map<std::string, int> calls_of_rows_;  // by what was measured before
};

}  // namespace hcoll
