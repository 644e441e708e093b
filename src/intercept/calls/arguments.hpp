// Which arguments of a collective are ones that the vendor would take: all others are passed on, and it judges them.
#pragma once

#include "intercept/calls/own_run.hpp"
#include "intercept/communicator/communicator.hpp"

namespace hcoll {

bool is_valid_bcast(Communicator& communicator, const void* buffer, std::uint64_t count, MPI_Datatype type, int root);

// Are the buffers ones that the vendor would take? Those that only the root has are looked at on the root alone.
bool has_valid_buffers(const Reduction& reduction, bool has_output, bool may_be_in_place);

bool is_valid_reduction(Communicator& communicator, Collective collective, const Reduction& reduction);

// What is combined with what. Open MPI takes one buffer for both of Allreduce's, as if it had been told in place, and
// programs that never met another MPI library rely on it, on some ranks or all.
const void* allreduce_operand(const void* send, const void* receive);

}  // namespace hcoll
