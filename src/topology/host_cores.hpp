// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a host have to run on: by that they are more than can run at the same time, and cores are to spare.
#pragma once

#include <span>
#include <vector>

#include "topology/cpu_limit.hpp"
#include "topology/machine.hpp"

namespace hcoll {

struct HostCores {
    int ranks_at_once = 0;   // processing units that ranks may run on; 0 where that is not known
    int of_threads = 0;      // cores that they and threads which leave their process's binding may run on
    std::vector<int> units;  // the processing units that such threads may move to, by the system's numbers
};

// `any`: where any of the ranks may run; `is_same`: that holds for each of them. Cores that the launcher dealt out among them say
// where ranks are to run, and bind no thread; where all have the same, the job is to use no others.
HostCores cores_of_ranks(const Machine& machine, const CpuSet& any, bool is_same, std::span<const CpuLimit> limits);

// As far as this process can tell alone: what the system would let it use, at the first call; later calls give the same. From any
// thread.
const HostCores& local_cores();

}  // namespace hcoll
