// SPDX-License-Identifier: BSD-3-Clause
// What a rank sees of its own arguments of a collective, and what becomes of a call that is wrong.
//
// Whether a call runs here or is the vendor's never depends on what one rank alone may see: the other ranks would be in another
// call. So a call that is wrong ends in an error on the rank that sees it, before it talks to anybody: the vendor's own error, where
// it checks arguments and is sure to reject it, and the library's otherwise.
#pragma once

#include "intercept/calls/own_run.hpp"
#include "intercept/communicator/communicator.hpp"

namespace hcoll {

struct Screening {
    const char* why_vendor = nullptr;  // not nullptr: by what all ranks see alike, the call is the vendor's
    int error_class = MPI_SUCCESS;     // not MPI_SUCCESS: the call is wrong
    bool vendor_rejects = false;       // it does, where it checks arguments

    static Screening fine() { return {}; }
    static Screening vendors(const char* why) { return {.why_vendor = why}; }
    static Screening wrong(int error_class, bool vendor_rejects = true) {
        return {.error_class = error_class, .vendor_rejects = vendor_rejects};
    }
    bool is_fine() const { return why_vendor == nullptr && error_class == MPI_SUCCESS; }
};

// Does the vendor check arguments? Asks it once, on `communicator`, without a message.
bool vendor_checks_arguments(MPI_Comm communicator);

// Gives a wrong call to the vendor (`pass_on`) or ends it in an error of the library's, through the application's handler.
template <typename PassOn>
int reject(Communicator& communicator, const Screening& screening, PassOn&& pass_on) {
    if (screening.vendor_rejects && vendor_checks_arguments(communicator.own().duplicate)) return pass_on();
    mpi.Comm_call_errhandler(communicator.handle(), screening.error_class);
    return screening.error_class;
}

// A count, as MPI's interfaces have it, and the type of a message; where own algorithms may run only.
Screening screen_elements(Communicator& communicator, std::int64_t count, MPI_Datatype type);
// A buffer that is significant on this rank, where MPI_IN_PLACE has no place; its count and type are fine.
Screening screen_buffer(const void* buffer, std::int64_t count, MPI_Datatype type);

// The type of a Bcast as far as it may be looked at: MPICH (from 4.0 on) looks at none where there are no elements, and programs pass what is none.
MPI_Datatype type_of_bcast(std::int64_t count, MPI_Datatype type);

Screening screen_bcast(Communicator& communicator, const void* buffer, std::int64_t count, MPI_Datatype type, int root);

// Are the buffers ones that need no second look? Those that only the root has are looked at on the root alone.
bool has_valid_buffers(const Reduction& reduction, bool has_output, bool may_be_in_place);

// `count`: as MPI's interfaces have it. One buffer for both becomes MPI_IN_PLACE, where the vendor would not reject it.
Screening screen_reduction(Communicator& communicator, Collective collective, std::int64_t count, Reduction& reduction);

// What is combined with what. Open MPI takes one buffer for both of Allreduce's, as if it had been told in place, and
// programs that never met another MPI library rely on it, on some ranks or all.
const void* allreduce_operand(const void* send, const void* receive);

}  // namespace hcoll
