// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/common_time.hpp"

#include "intercept/process/errors_return.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

CommonTime* CommonTime::instance_ = nullptr;

CommonTime* CommonTime::start(const Settings& settings) {
    int size = 1;
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    const ErrorsReturn errors_return(MPI_COMM_WORLD);
    const WorldRanks whole_world{.ranks = size, .table = {}};
    std::unique_ptr<CommonTime> made;
    bool is_well = has_memory_for([&] {
        made.reset(new CommonTime);
        made->placement_ = Process::get().placements().find({.communicator = MPI_COMM_WORLD,
                                                             .rank = Process::get().world_rank(),
                                                             .size = size,
                                                             .world_ranks = &whole_world,
                                                             .layout = settings.topology});
    });
    // In MPI_Finalize all of them will have to come.
    is_well = is_well && made->placement_ != nullptr && Process::get().sees_finalize();
    if (is_true_anywhere(!is_well, MPI_COMM_WORLD)) return nullptr;
    is_well = mpi.Comm_dup(MPI_COMM_WORLD, &made->communicator_) == MPI_SUCCESS;
    if (is_true_anywhere(!is_well, MPI_COMM_WORLD)) return nullptr;
    mpi.Comm_set_errhandler(made->communicator_, MPI_ERRORS_RETURN);
    if (is_true_anywhere(!made->compare(), MPI_COMM_WORLD)) return nullptr;
    instance_ = made.release();
    return instance_;
}

bool CommonTime::compare() {
    if (clock_.compare(communicator_, 0, *placement_, Process::get().world_rank()) != MPI_SUCCESS) return false;
    clocks_.add({.process = CommonClock::raw_now(), .common = clock_.now()});
    return true;
}

void CommonTime::end() {
    if (communicator_ != MPI_COMM_NULL) mpi.Comm_free(&communicator_);
}

}  // namespace hcoll
