// SPDX-License-Identifier: BSD-3-Clause
// A simulated MPI job: every rank runs the same function; times are simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "machine.hpp"

namespace hcoll::simulation {

struct JobOptions {
    Machine machine;
    int ranks = 0;  // they fill node after node
    // The library's settings, by name; nothing else of LIBHCOLL_* holds.
    std::vector<std::pair<std::string, std::string>> settings;
    std::string selector;  // whose choice among SimGrid's own collectives; empty: what costs little time to simulate
    bool has_data = false;
    std::uint64_t most_bytes = 8;  // of a message
    double noise = 0;              // share of a rank's time that is taken from it
    bool noise_together = false;   // from all ranks at the same time
    unsigned int seed = 1;         // of the noise

    unsigned long nodes() const;  // the last one may have fewer ranks
    std::string layout() const;   // as LIBHCOLL_TOPOLOGY takes it
};

// Runs `body(rank)` on every rank, which take turns in one thread. To be called once. False where ranks wait for ever.
bool run_job(const JobOptions& options, const std::function<void(int rank)>& body);

// ---- for ranks ----

// MPI_Init of the library, or of SimGrid alone.
void init_own();
void init_selected();
// Waits for all ranks; takes no time.
void meet();
// Seconds since the job began.
double now();
// The rank computes for so long.
void busy(double seconds);
// Of all ranks, where there are no data.
std::byte* send_region();
std::byte* receive_region();

}  // namespace hcoll::simulation
