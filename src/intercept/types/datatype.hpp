// SPDX-License-Identifier: BSD-3-Clause
// What libhcoll must know of a datatype, and messages of bytes made of elements that do not lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "intercept/types/signature_bytes.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

bool is_predefined_op(MPI_Op op);
bool is_predefined_type(MPI_Datatype type);

// Do the elements of any number lie side by side, without gaps, in the order of the signature, from the buffer's address on? A
// size that equals the extent is not enough (an indexed type may permute).
bool is_contiguous(MPI_Datatype type);

// May a buffer of this type be a null pointer (MPI_BOTTOM)? If the type has absolute addresses, or no bytes at all.
bool may_have_null_buffer(MPI_Datatype type);

struct Extent {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;  // from one element to the next
    MPI_Aint true_lower_bound = 0;
    MPI_Aint true_extent = 0;
};
int get_extent(MPI_Datatype type, Extent& extent);

// Is this a type that messages can be made of: valid and committed? Asks the vendor on `communicator`, whose handler must
// return errors, before any call is made that reports to another communicator's. Returns an error class: MPI_ERR_TYPE where it is
// none; others where that cannot be known.
int check_type(MPI_Datatype type, MPI_Comm communicator);

// Where a plan over the bytes of a signature finds the elements at `elements`: side by side; or, where they have gaps, at imaginary
// addresses of that side of `signature`. Nothing where they have to be packed whole.
std::optional<std::byte*> find_signature(const void* elements, std::uint64_t count, MPI_Datatype type,
                                         SignatureBytes::Side side, SignatureBytes& signature);

// `count` elements at `elements` to `bytes`, which holds exactly those of their signature, and back. Returns an MPI error
// code.
int pack(const void* elements, std::uint64_t count, MPI_Datatype type, std::byte* bytes, MPI_Comm communicator);
int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type, MPI_Comm communicator);

}  // namespace hcoll
