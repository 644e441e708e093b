#include "intercept/calls/arguments.hpp"

#include "intercept/types/datatype.hpp"

namespace hcoll {

bool is_valid_bcast(Communicator& communicator, const void* buffer, std::uint64_t count, MPI_Datatype type, int root) {
    if (root < 0 || root >= communicator.size() || buffer == MPI_IN_PLACE) return false;
    if (!communicator.is_valid_type(type)) return false;
    return buffer != nullptr || count == 0 || may_have_null_buffer(type);
}

bool has_valid_buffers(const Reduction& reduction, bool has_output, bool may_be_in_place) {
    const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
    if (in_place && !may_be_in_place) return false;
    if (has_output && (reduction.receive_buffer == MPI_IN_PLACE || reduction.receive_buffer == reduction.send_buffer))
        return false;
    const bool has_null =
        (!in_place && reduction.send_buffer == nullptr) || (has_output && reduction.receive_buffer == nullptr);
    return !has_null || may_have_null_buffer(reduction.type);
}

bool is_valid_reduction(Communicator& communicator, Collective collective, const Reduction& reduction) {
    if (reduction.op == MPI_OP_NULL || reduction.root < 0 || reduction.root >= communicator.size()) return false;
    if (!communicator.is_valid_type(reduction.type)) return false;
    const bool is_root = collective == Collective::allreduce || communicator.rank() == reduction.root;
    if (reduction.count != 0 && !has_valid_buffers(reduction, is_root, is_root)) return false;
    if (communicator.is_known_type(reduction.type)) return true;
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    return mpi.Type_get_extent(reduction.type, &lower_bound, &extent) == MPI_SUCCESS && extent > 0;
}

const void* allreduce_operand(const void* send, const void* receive) {
    return Process::vendor_kind() == VendorKind::openmpi && send == receive ? MPI_IN_PLACE : send;
}

}  // namespace hcoll
