// SPDX-License-Identifier: BSD-3-Clause
// The kernels for x86-64 CPUs with AVX-512 F, BW, DQ and VL.
#define HCOLL_KERNEL_VARIANT kernels_avx512
#include "algorithms/kernels/kernel_loops.hpp"

constinit const hcoll::KernelTable hcoll::kernels_avx512::table = make_table();
