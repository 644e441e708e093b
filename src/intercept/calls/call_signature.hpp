// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of a call's message lie.
#pragma once

#include <cstdint>
#include <optional>

#include "intercept/communicator/own_algorithms.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

// Cheap for the predefined type that was used last. May throw std::bad_alloc.
inline bool has_no_gaps(OwnAlgorithms& own, MPI_Datatype type) {
    if (type == own.contiguous_type) return true;
    if (!is_contiguous(type)) return false;
    if (is_predefined_type(type)) own.contiguous_type = type;
    return true;
}

// As find_signature has it (datatype.hpp).
inline std::optional<std::byte*> find_signature(OwnAlgorithms& own, const void* elements, std::uint64_t count,
                                                MPI_Datatype type, SignatureBytes::Side side,
                                                SignatureBytes& signature) {
    if (has_no_gaps(own, type)) return static_cast<std::byte*>(const_cast<void*>(elements));
    return hcoll::find_signature(elements, count, type, side, signature);
}

}  // namespace hcoll
