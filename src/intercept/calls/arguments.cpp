// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/arguments.hpp"

#include <atomic>

#include "intercept/process/errors_return.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

namespace {

// What the vendors' checks leave out (test/mpi/arguments.cpp): Open MPI looks at no buffer's address, MPICH at no MPI_IN_PLACE of a
// rank that is not the root, nor of a Bcast.
bool rejects_null_buffers() { return Process::vendor_kind() == VendorKind::mpich; }
bool rejects_foreign_in_place() { return Process::vendor_kind() != VendorKind::mpich; }

// What the MPI library is asked once; from any thread.
class AskedOnce {
public:
    template <typename Ask>
    bool get(Ask&& ask) {
        if (answer_.load(std::memory_order_relaxed) == unknown)
            answer_.store(ask() ? yes : no, std::memory_order_relaxed);
        return answer_.load(std::memory_order_relaxed) == yes;
    }

private:
    enum : int { unknown, no, yes };
    std::atomic<int> answer_{unknown};
};

// Is a Bcast of no elements of what is no type an error?
bool looks_at_types_of_nothing() {
    static AskedOnce asked;
    return Process::vendor_kind() != VendorKind::mpich || asked.get([] {
        const ErrorsReturn errors_return(MPI_COMM_SELF);
        MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
        if (mpi.Type_contiguous(1, MPI_INT, &uncommitted) != MPI_SUCCESS) return true;
        const bool looks = mpi.Bcast(nullptr, 0, uncommitted, 0, MPI_COMM_SELF) != MPI_SUCCESS;
        mpi.Type_free(&uncommitted);
        return looks;
    });
}

}  // namespace

bool vendor_checks_arguments(MPI_Comm communicator) {
    static AskedOnce asked;
    return asked.get([&] {
        // To nobody: where nobody looks at the count, nothing happens.
        const ErrorsReturn errors_return(communicator);
        return mpi.Send(nullptr, -1, MPI_BYTE, MPI_PROC_NULL, 0, communicator) != MPI_SUCCESS;
    });
}

Screening screen_elements(Communicator& communicator, std::int64_t count, MPI_Datatype type) {
    if (count < 0) return Screening::wrong(MPI_ERR_COUNT);
    if (type == MPI_DATATYPE_NULL) return Screening::wrong(MPI_ERR_TYPE);
    if (const int error_class = communicator.check_type(type); error_class != MPI_SUCCESS)
        return Screening::wrong(error_class, error_class == MPI_ERR_TYPE);
    return Screening::fine();
}

Screening screen_buffer(const void* buffer, std::int64_t count, MPI_Datatype type) {
    if (buffer == MPI_IN_PLACE) return Screening::wrong(MPI_ERR_BUFFER);
    if (buffer == nullptr && count != 0 && !may_have_null_buffer(type))
        return Screening::wrong(MPI_ERR_BUFFER, rejects_null_buffers());
    return Screening::fine();
}

MPI_Datatype type_of_bcast(std::int64_t count, MPI_Datatype type) {
    return count == 0 && !looks_at_types_of_nothing() ? MPI_BYTE : type;
}

Screening screen_bcast(Communicator& communicator, const void* buffer, std::int64_t count, MPI_Datatype type,
                       int root) {
    if (root < 0 || root >= communicator.size()) return Screening::wrong(MPI_ERR_ROOT);
    if (const Screening elements = screen_elements(communicator, count, type); !elements.is_fine()) return elements;
    if (buffer == MPI_IN_PLACE) return Screening::wrong(MPI_ERR_BUFFER, rejects_foreign_in_place());
    return screen_buffer(buffer, count, type);
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

Screening screen_reduction(Communicator& communicator, Collective collective, std::int64_t count,
                           Reduction& reduction) {
    if (reduction.op == MPI_OP_NULL) return Screening::wrong(MPI_ERR_OP);
    if (reduction.root < 0 || reduction.root >= communicator.size()) return Screening::wrong(MPI_ERR_ROOT);
    if (const Screening elements = screen_elements(communicator, count, reduction.type); !elements.is_fine())
        return elements;
    const bool has_output = collective == Collective::allreduce || communicator.rank() == reduction.root;
    if (count != 0) {
        if (has_output) {
            if (const Screening output = screen_buffer(reduction.receive_buffer, count, reduction.type);
                !output.is_fine())
                return output;
            if (reduction.send_buffer == reduction.receive_buffer) {
                if (vendor_checks_arguments(communicator.own().duplicate)) return Screening::wrong(MPI_ERR_BUFFER);
                reduction.send_buffer = MPI_IN_PLACE;
            }
        } else if (reduction.send_buffer == MPI_IN_PLACE) {
            return Screening::wrong(MPI_ERR_BUFFER, rejects_foreign_in_place());
        }
        if (reduction.send_buffer != MPI_IN_PLACE)
            if (const Screening input = screen_buffer(reduction.send_buffer, count, reduction.type); !input.is_fine())
                return input;
    }
    if (communicator.is_known_type(reduction.type)) return Screening::fine();
    // All ranks of a reduction give the same type (MPI 4.0, section 6.9.1).
    // What is combined lies in memory of the library's, element behind element: they must not lie inside one another.
    Extent extent;
    const bool is_laid_out =
        get_extent(reduction.type, extent) == MPI_SUCCESS && extent.extent > 0 && extent.true_extent <= extent.extent;
    return is_laid_out ? Screening::fine() : Screening::vendors(reason::extent);
}

const void* allreduce_operand(const void* send, const void* receive) {
    return Process::vendor_kind() == VendorKind::openmpi && send == receive ? MPI_IN_PLACE : send;
}

}  // namespace hcoll
