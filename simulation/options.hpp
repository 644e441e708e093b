// The command line of hcoll-simulate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"
#include "tuning/settings.hpp"

namespace hcoll::simulation {

struct Options {
    Machine machine;
    int ranks = 0;
    Collective collective = Collective::bcast;
    std::vector<std::uint64_t> bytes;
    std::string algorithm;  // as LIBHCOLL_<COLLECTIVE> takes it; empty where SimGrid's own runs
    std::string selector;   // whose choice among SimGrid's own
    int root = 0;
    int warmup = 1;
    int repetitions = 1;
    bool check = false;           // with real data, every rank's result compared with what it has to be
    bool predefined_op = false;   // MPI_SUM, in place of an operation of the program
    bool back_to_back = false;    // ranks do not wait for each other between the calls that are timed
    double noise = 0;             // share of a rank's time that is taken from it
    bool noise_together = false;  // from all ranks at the same time
    unsigned int seed = 1;        // of the noise

    bool is_own() const { return selector.empty(); }
    unsigned long nodes() const;  // ranks fill node after node; the last one may have fewer
    std::string layout() const;   // as LIBHCOLL_TOPOLOGY takes it
};

// Returns whether to go on; `status` is the exit status otherwise. Every mistake is one sentence on standard error.
bool read_options(int argc, char** argv, Options& options, int& status);

}  // namespace hcoll::simulation
