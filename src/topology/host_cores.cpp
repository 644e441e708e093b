// SPDX-License-Identifier: BSD-3-Clause
#include "topology/host_cores.hpp"

namespace hcoll {

HostCores cores_of_ranks(const Machine& machine, const CpuSet& any, bool is_same, std::span<const CpuLimit> limits) {
    const CpuSet threads = is_same ? any : machine.allowed();
    return {.ranks_at_once = limited_cores(machine.usable(any), limits),
            .of_threads = limited_cores(machine.cores(threads), limits),
            .units = machine.numbers_of(threads)};
}

const HostCores& local_cores() {
    static const auto* cores = [] {
        const Machine& machine = local_machine();
        const CpuLimit limit = cpu_limit();
        return new HostCores(cores_of_ranks(machine, machine.allowed(), true, std::span(&limit, 1)));
    }();
    return *cores;
}

}  // namespace hcoll
