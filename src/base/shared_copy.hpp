// SPDX-License-Identifier: BSD-3-Clause
// Copies between a rank's own memory and memory that another rank writes or reads at the same time.
#pragma once

#include <cstddef>
#include <cstring>

namespace hcoll {

// memcpy, but always by loads and stores: glibc copies more than some KB by `rep movsb`, which waits for each line that is
// in another core's cache, where loads fetch many of them at a time (measured: 4 to 12 times slower).
inline void copy_shared(std::byte* target, const std::byte* source, std::size_t bytes) {
    using Chunk = unsigned char __attribute__((vector_size(16), aligned(1), may_alias));
    constexpr std::size_t line = 4 * sizeof(Chunk);
    if (bytes >= 2048) {
        for (; bytes >= line; bytes -= line, source += line, target += line) {
            const auto* from = reinterpret_cast<const Chunk*>(source);
            auto* to = reinterpret_cast<Chunk*>(target);
            const Chunk a = from[0];
            const Chunk b = from[1];
            const Chunk c = from[2];
            const Chunk d = from[3];
            to[0] = a;
            to[1] = b;
            to[2] = c;
            to[3] = d;
            // Or the compiler would recognize the loop, and call memcpy.
            asm volatile("" ::: "memory");
        }
    }
    std::memcpy(target, source, bytes);
}

}  // namespace hcoll
