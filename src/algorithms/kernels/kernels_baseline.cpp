// SPDX-License-Identifier: BSD-3-Clause
// The kernels for every CPU of the architecture.
#define HCOLL_KERNEL_VARIANT kernels_baseline
#include "algorithms/kernels/kernel_loops.hpp"

constinit const hcoll::KernelTable hcoll::kernels_baseline::table = make_table();
