// SPDX-License-Identifier: BSD-3-Clause
// The kernels for x86-64 CPUs with AVX2 and F16C.
#define HCOLL_KERNEL_VARIANT kernels_avx2
#include "algorithms/kernels/kernel_loops.hpp"

constinit const hcoll::KernelTable hcoll::kernels_avx2::table = make_table();
