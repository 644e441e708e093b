#include "algorithms/kernels/kernels.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

#if defined(__SSE2__)
constexpr std::size_t line = 64;

// Both are aligned to a line, and `bytes` are whole lines.
void copy_past_caches(std::byte* target, const std::byte* source, std::size_t bytes) {
    const auto* from = reinterpret_cast<const __m128i*>(source);
    auto* to = reinterpret_cast<__m128i*>(target);
    for (std::size_t i = 0; i < bytes / sizeof(__m128i); ++i) _mm_stream_si128(to + i, _mm_load_si128(from + i));
}
#endif

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

// A block is made in the first-level cache and copied from there, so that one function serves all kernels, and vectors of
// any width fill whole lines.
void stream_blocks(Kernel plain, std::size_t bytes, const std::byte* left, const std::byte* right, std::byte* result,
                   std::size_t elements) {
#if defined(__SSE2__)
    constexpr std::size_t block_bytes = 4096;
    const auto address = reinterpret_cast<std::uintptr_t>(result);
    if (address % bytes != 0 || elements * bytes < block_bytes) return plain(left, right, result, elements);
    alignas(line) std::byte block[block_bytes];
    const auto advance = [&](std::size_t count) {
        left += count * bytes;
        right += count * bytes;
        result += count * bytes;
        elements -= count;
    };
    const std::size_t head = (line - address % line) % line / bytes;
    plain(left, right, result, head);
    advance(head);
    while (elements * bytes >= line) {
        const std::size_t count = std::min(elements * bytes, block_bytes) / line * line / bytes;
        plain(left, right, block, count);
        copy_past_caches(result, block, count * bytes);
        advance(count);
    }
    _mm_sfence();  // before anything that tells others that the result is there
#endif
    plain(left, right, result, elements);
}

}  // namespace hcoll
