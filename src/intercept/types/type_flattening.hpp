// SPDX-License-Identifier: BSD-3-Clause
// Takes a datatype apart into what it was made of: the rows of blocks that TypeLayout keeps.
#pragma once

#include <memory>

#include "intercept/types/type_layout.hpp"

namespace hcoll {

// nullptr where it is not known (find_type_layout says of which types). May throw std::bad_alloc. From any thread.
std::shared_ptr<const TypeLayout> flatten_type(MPI_Datatype type);

}  // namespace hcoll
