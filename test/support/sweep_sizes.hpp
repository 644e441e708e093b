// SPDX-License-Identifier: BSD-3-Clause
// How much tests without MPI do of the same.
#pragma once

#include <cstddef>

namespace hcoll::test {

// Sanitizers make everything several times slower, and look for what does not depend on the number of ranks: under them
// sweeps are shorter.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int small_sweep_ranks = 6;
constexpr int sweep_ranks = 20;
constexpr int many_ranks = 96;
constexpr std::size_t random_calls = 50;
#else
constexpr int small_sweep_ranks = 9;
constexpr int sweep_ranks = 64;
constexpr int many_ranks = 1024;
constexpr std::size_t random_calls = 150;
#endif

}  // namespace hcoll::test
