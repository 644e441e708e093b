// SPDX-License-Identifier: BSD-3-Clause
// Reduction kernels: result = left op right for every operation and type that MPI defines, in vectors, without MPI.
//
// The loops (kernel_loops.hpp) are written once and compiled several times, for CPUs of different age; the best variant
// that this CPU runs is chosen at the first call. All variants give the same bits.
#pragma once

#include <span>

#include "algorithms/kernels/kernel_table.hpp"

namespace hcoll {

// nullptr where MPI does not define the operation for the element, or this CPU has no kernel (float16).
Kernel find_kernel(Operation operation, Element element);

// From one element to the next.
std::size_t element_bytes(Element element);

struct KernelVariant {
    const char* name;
    const KernelTable* table;
    bool (*runs_here)();
};

// The oldest CPUs first.
std::span<const KernelVariant> kernel_variants();

// That find_kernel takes from.
const KernelVariant& chosen_kernel_variant();

}  // namespace hcoll
