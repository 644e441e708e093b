// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of MPI_COMM_WORLD have in common from MPI_Init to MPI_Finalize, where a setting wants their times compared (LIBHCOLL_TRACE, LIBHCOLL_REPORT): a duplicate, where
// they sit, and a clock, which they compare at both ends.
#pragma once

#include <cstdint>
#include <memory>

#include "intercept/communicator/common_clock.hpp"
#include "intercept/process/process.hpp"
#include "topology/placement.hpp"
#include "trace/trace_record.hpp"

namespace hcoll {

class CommonTime {
public:
    // On all ranks; the same answer on all: nullptr where one of them has no memory for it. There is one of a process.
    static CommonTime* start(const Settings& settings);
    static CommonTime* get() { return instance_; }

    // On all ranks, once more; false where it failed.
    bool compare();
    MPI_Comm communicator() const { return communicator_; }
    const Placement& placement() const { return *placement_; }
    std::uint64_t now() const { return clock_.now(); }
    // Of this process's clock, what the common one showed: at the first comparison, and at the last one.
    const TraceClocks& clocks() const { return clocks_; }
    // On all ranks, in MPI_Finalize.
    void end();

private:
    CommonTime() = default;

    static CommonTime* instance_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::shared_ptr<const Placement> placement_;
    CommonClock clock_;
    TraceClocks clocks_;
};

}  // namespace hcoll
