// SPDX-License-Identifier: BSD-3-Clause
#include "calls.hpp"

#include "intercept/calls/wrappers.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll::simulation {

namespace {

// The sum of doubles, or of floats where a message has half an element, for SimGrid's algorithms and the library's alike:
// its time is charged wherever it runs.
void add(void* left, void* right, int* count, MPI_Datatype* type) {
    const bool is_double = *type == MPI_DOUBLE;
    const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * (is_double ? sizeof(double) : sizeof(float));
    if (!charge_reduction(bytes)) return;
    for (int i = 0; i < *count; ++i)
        if (is_double)
            static_cast<double*>(right)[i] += static_cast<const double*>(left)[i];
        else
            static_cast<float*>(right)[i] += static_cast<const float*>(left)[i];
}

}  // namespace

Calls::Calls(bool is_own, bool predefined_op) : is_own_(is_own) {
    if (!predefined_op) MPI_Op_create(add, 1, &op_);
}

int Calls::run(Collective collective, const std::byte* send, std::byte* receive, std::uint64_t bytes, int root,
               MPI_Comm communicator) const {
    const bool is_double = has_doubles(bytes);
    MPI_Datatype type = is_double ? MPI_DOUBLE : MPI_FLOAT;
    const int count = static_cast<int>(bytes / (is_double ? sizeof(double) : sizeof(float)));
    switch (collective) {
        case Collective::bcast:
            return (is_own_ ? wrap_Bcast : mpi.Bcast)(receive, static_cast<int>(bytes), MPI_BYTE, root, communicator);
        case Collective::reduce:
            return (is_own_ ? wrap_Reduce : mpi.Reduce)(send, receive, count, type, op_, root, communicator);
        case Collective::allreduce:
            return (is_own_ ? wrap_Allreduce : mpi.Allreduce)(send, receive, count, type, op_, communicator);
        default: return (is_own_ ? wrap_Barrier : mpi.Barrier)(communicator);
    }
}

}  // namespace hcoll::simulation
