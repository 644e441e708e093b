// SPDX-License-Identifier: BSD-3-Clause
// A simulated job in which a tuner measures. One rank drives, all others do what it says.
//
// A simulation is deterministic: what was simulated once is not simulated again, but its time is counted again, as often as a tuner on the
// machine itself would have spent it (warm-up, rows of calls, repetitions).
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calls.hpp"
#include "job.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/measuring_options.hpp"

namespace hcoll::simulation {

// Where ranks sit: node after node, and on each of them socket after socket.
Placement placement_of_job(const JobOptions& options);

class SimulatedLaboratory : public Laboratory {
public:
    // `known`: a file with what was simulated before; what is simulated is added. Empty: none. `subject`: a line that says of what; a file of
    // another subject is none. Throws std::runtime_error with a sentence where it is that, or cannot be written.
    SimulatedLaboratory(const JobOptions& options, const std::string& known, const std::string& subject);

    // On every rank: the first one runs `drive`, the others what that wants, until it is over.
    void run(int rank, const std::function<void(Laboratory&)>& drive);

    const Placement& placement() const override { return placement_; }
    bool has_shared_memory() const override { return false; }
    double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    double sample_level(Level level, const TableCall& call, const std::string& choice, std::uint64_t bytes) override;
    double exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) override;
    bool is_sent_at_once(RankPair pair, std::uint64_t bytes) override;
    double copy(std::uint64_t bytes) override;
    double reduce(std::uint64_t bytes) override;
    // Takes as long as here, shared by all ranks.
    std::vector<double> shared_work(std::size_t items, const std::function<double(std::size_t)>& work) override;
    // What measuring and pricing would have taken on the machine.
    double now() override { return spent_; }

private:
    // A communicator of this rank, and what was chosen for it.
    struct Bench {
        MPI_Comm communicator = MPI_COMM_NULL;
        std::string chosen = {};
    };
    // One rank's.
    struct Rank {
        std::unique_ptr<Calls> calls;
        Bench all;
        std::map<Level, Bench> levels;
    };

    // Work for all ranks, driven by the first.
    void on_all(const std::function<void(int rank)>& work);
    void choose(Bench& bench, const TableCall& call, const std::string& choice);
    Bench& bench_of(int rank, Level level);
    // Seconds on each rank, of one call that all begin at the same time.
    std::vector<double> simulate(const std::function<Bench&(int rank)>& bench, const TableCall& call,
                                 const std::string& choice, std::uint64_t bytes);
    void read_known(const std::string& file, const std::string& subject);
    const std::vector<double>& of_all(const TableCall& call, const std::string& choice, std::uint64_t bytes);

    Placement placement_;
    MeasuringOptions measuring_;
    std::vector<Rank> ranks_;
    const std::function<void(int)>* work_ = nullptr;  // nullptr: it is over
    double spent_ = 0;
    std::map<std::string, std::vector<double>> known_;
    std::ofstream known_file_;
    std::map<std::string, bool> is_warm_;  // what was sampled before
};

}  // namespace hcoll::simulation
