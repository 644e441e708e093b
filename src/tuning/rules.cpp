#include "tuning/rules.hpp"

#include <limits>

namespace hcoll {

namespace {

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kibi = 1024;

// Measured with hcoll-bench (vendor/own in one run, medians of 15 blocks) on 2 ranks on 2 cores of one host, MPICH 4.0.2
// and Open MPI 4.1.4. Other numbers of ranks have no rule until they are measured on machines that have the cores.
constexpr Rule rules[] = {
    // 1.10 at 2 KB to 7.6 at 512 KB
    {VendorKind::mpich, Collective::reduce, 2, 2, any_size, "binomial"},
    // 0.80 at 8 B, 1.04 to 1.34 between, 0.93 at 512 KB
    {VendorKind::mpich, Collective::allreduce, 2, 2, 8, "vendor"},
    {VendorKind::mpich, Collective::allreduce, 2, 2, 128 * kibi, "recursive_doubling"},
    // 0.83 at 2 KB, 1.15 to 1.41 between, 0.98 at 512 KB
    {VendorKind::openmpi, Collective::allreduce, 2, 2, 8 * kibi - 1, "vendor"},
    {VendorKind::openmpi, Collective::allreduce, 2, 2, 128 * kibi, "recursive_doubling"},
};

}  // namespace

std::span<const Rule> built_in_rules() { return rules; }

}  // namespace hcoll
