// SPDX-License-Identifier: BSD-3-Clause
// The MPI underneath, as far as rules and tables differ between them.
#pragma once

#include <cstdint>

namespace hcoll {

enum class VendorKind : std::uint8_t { mpich, openmpi };

}  // namespace hcoll
