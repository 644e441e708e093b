// SPDX-License-Identifier: BSD-3-Clause
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
    std::string table;      // that `auto` goes by; empty: none
    std::string rules;      // as LIBHCOLL_RULES
    std::string vendor;     // selector of what `auto` leaves to the MPI library
    int root = 0;
    int warmup = 1;
    int repetitions = 1;
    int learn = 0;                // calls of each size before, on which candidates are tried
    bool check = false;           // with real data, every rank's result compared with what it has to be
    bool predefined_op = false;   // MPI_SUM, in place of an operation of the program
    bool rotate_root = false;     // each call has another root, evenly over all ranks
    double compute = 0;           // seconds that each rank computes before each call; not counted as the call's
    bool back_to_back = false;    // ranks do not wait for each other between the calls that are timed
    double noise = 0;             // share of a rank's time that is taken from it
    bool noise_together = false;  // from all ranks at the same time
    unsigned int seed = 1;        // of the noise

    bool is_own() const { return selector.empty(); }
};

// The machine of a file with so many ranks on a node (0: as the file has it). Throws std::runtime_error with one sentence.
Machine machine_with(const std::string& file, int ranks_per_node);
// Is it one? Throws std::runtime_error with one sentence if not; an empty one is.
void check_selector(const std::string& selector);

// Returns whether to go on; `status` is the exit status otherwise. Every mistake is one sentence on standard error.
bool read_options(int argc, char** argv, Options& options, int& status);

}  // namespace hcoll::simulation
