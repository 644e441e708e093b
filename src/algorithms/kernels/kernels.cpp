// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/kernels/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <iterator>

namespace hcoll {

namespace {

// What the compiler was told in CMakeLists.txt that it may use for each. Whether the operating system does its part is
// looked at, too.
bool runs_everywhere() { return true; }

#if defined(__x86_64__)
bool runs_avx2() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    // Not every compiler's __builtin_cpu_supports knows F16C.
    const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
    return has_f16c && __builtin_cpu_supports("avx2") != 0;
}
bool runs_avx512() {
    return runs_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
#endif

constexpr KernelVariant variants[] = {
    {"baseline", &kernels_baseline::table, runs_everywhere},
#if defined(__x86_64__)
    {"avx2", &kernels_avx2::table, runs_avx2},
    {"avx512", &kernels_avx512::table, runs_avx512},
#endif
};

const KernelRow& row_of(Element element) {
    return chosen_kernel_variant().table->rows[static_cast<std::size_t>(element)];
}

}  // namespace

std::span<const KernelVariant> kernel_variants() { return variants; }

const KernelVariant& chosen_kernel_variant() {
    static const KernelVariant& chosen = *std::find_if(
        std::rbegin(variants), std::rend(variants), [](const KernelVariant& variant) { return variant.runs_here(); });
    return chosen;
}

Kernel find_kernel(Operation operation, Element element) {
    return row_of(element).plain[static_cast<std::size_t>(operation)];
}

std::size_t element_bytes(Element element) { return row_of(element).bytes; }

}  // namespace hcoll
