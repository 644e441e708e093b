#include "algorithms/kernels/kernels.hpp"

#include <algorithm>

namespace hcoll {

namespace kernels_baseline {
extern const KernelTable table;
}
#if defined(__x86_64__)
namespace kernels_avx2 {
extern const KernelTable table;
}
namespace kernels_avx512 {
extern const KernelTable table;
}
#endif

namespace {

constexpr KernelVariant variants[] = {
    {"baseline", &kernels_baseline::table, [] { return true; }},
#if defined(__x86_64__)
    // What the compiler was told that it may use for each, in CMakeLists.txt. The operating system's part is looked at, too.
    {"avx2", &kernels_avx2::table,
     [] { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0; }},
    {"avx512", &kernels_avx512::table,
     [] {
         return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0 &&
                __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
     }},
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

Kernel find_streaming_kernel(Operation operation, Element element) {
    return row_of(element).streaming[static_cast<std::size_t>(operation)];
}

std::size_t element_bytes(Element element) { return row_of(element).bytes; }

}  // namespace hcoll
