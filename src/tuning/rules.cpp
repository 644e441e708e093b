#include "tuning/rules.hpp"

#include <limits>

namespace hcoll {

namespace {

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t mebi = 1024 * kibi;
constexpr int any = std::numeric_limits<int>::max();

// Measured with hcoll-bench (vendor/own in one run, medians of 15 blocks) on 2 ranks on 2 cores of one host, MPICH 4.0.2
// and Open MPI 4.1.4. Other numbers of ranks have no rule until they are measured on machines that have the cores.
constexpr MeasuredRule measured[] = {
    // 1.10 at 2 KB to 7.6 at 512 KB
    {VendorKind::mpich, Collective::reduce, 2, 2, any_size, "binomial"},
    // 0.80 at 8 B, 1.04 to 1.34 between, 0.93 at 512 KB
    {VendorKind::mpich, Collective::allreduce, 2, 2, 8, "vendor"},
    {VendorKind::mpich, Collective::allreduce, 2, 2, 128 * kibi, "recursive_doubling"},
    // 0.83 at 2 KB, 1.15 to 1.41 between, 0.98 at 512 KB
    {VendorKind::openmpi, Collective::allreduce, 2, 2, 8 * kibi - 1, "vendor"},
    {VendorKind::openmpi, Collective::allreduce, 2, 2, 128 * kibi, "recursive_doubling"},
};

// What model_rules.cpp finds for 2 to 64 nodes of 1 to 48 ranks, as far as 512 ranks, and for 8 B to 16 MB, gathered: one
// choice for each class of places that is nowhere far from the best of the candidates (test_rules.cpp says how far). For
// more nodes than were priced, algorithms whose steps grow with the logarithm.
constexpr ModelledRule modelled[] = {
    {Collective::bcast, 2, 2, any_size, "han"},
    {Collective::bcast, 2, any, 96 * kibi, "han"},
    {Collective::bcast, 2, any, any_size, "scatter_ring"},
    {Collective::bcast, 16, 1, 96 * kibi, "han"},
    {Collective::bcast, 16, 1, 6 * mebi, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 16, 1, any_size, "han:network=chain,segment=64k"},
    {Collective::bcast, 16, 2, 96 * kibi, "han"},
    {Collective::bcast, 16, 2, any_size, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 16, 7, 96 * kibi, "han"},
    {Collective::bcast, 16, 7, 6 * mebi, "scatter_ring"},
    {Collective::bcast, 16, 7, any_size, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 16, any, 96 * kibi, "han"},
    {Collective::bcast, 16, any, any_size, "scatter_ring"},
    {Collective::bcast, 64, 1, 12 * kibi, "han"},
    {Collective::bcast, 64, 1, 768 * kibi, "scatter_allgather"},
    {Collective::bcast, 64, 1, any_size, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 64, 2, 96 * kibi, "han"},
    {Collective::bcast, 64, 2, 768 * kibi, "scatter_allgather"},
    {Collective::bcast, 64, 2, any_size, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 64, 7, 96 * kibi, "han"},
    {Collective::bcast, 64, 7, 768 * kibi, "han:network=two_tree,segment=128k"},
    {Collective::bcast, 64, 7, any_size, "scatter_ring"},
    {Collective::bcast, 64, any, 96 * kibi, "han"},
    {Collective::bcast, 64, any, 768 * kibi, "han:network=binary,segment=64k"},
    {Collective::bcast, 64, any, 6 * mebi, "scatter_ring"},
    {Collective::bcast, 64, any, any_size, "han:network=chain,node=chain,socket=chain,segment=128k"},
    {Collective::bcast, any, any, 96 * kibi, "han"},
    {Collective::bcast, any, any, any_size, "han:network=two_tree,segment=128k"},
    {Collective::reduce, 2, 1, 96 * kibi, "han"},
    {Collective::reduce, 2, 1, 6 * mebi, "han:network=chain,segment=64k"},
    {Collective::reduce, 2, 1, any_size, "han"},
    {Collective::reduce, 2, 2, 12 * kibi, "han"},
    {Collective::reduce, 2, 2, 96 * kibi, "rabenseifner"},
    {Collective::reduce, 2, 2, 6 * mebi, "han:network=chain,segment=64k"},
    {Collective::reduce, 2, 2, any_size, "han"},
    {Collective::reduce, 2, 7, 12 * kibi, "han"},
    {Collective::reduce, 2, 7, 96 * kibi, "rabenseifner"},
    {Collective::reduce, 2, 7, any_size, "han:network=chain,node=chain,socket=chain,segment=64k"},
    {Collective::reduce, 2, any, 12 * kibi, "han"},
    {Collective::reduce, 2, any, 768 * kibi, "rabenseifner"},
    {Collective::reduce, 2, any, any_size, "han:network=chain,node=chain,socket=chain,segment=64k"},
    {Collective::reduce, 16, 1, 12 * kibi, "han"},
    {Collective::reduce, 16, 1, 768 * kibi, "rabenseifner"},
    {Collective::reduce, 16, 1, any_size, "han:network=chain,segment=64k"},
    {Collective::reduce, 16, 2, 12 * kibi, "han"},
    {Collective::reduce, 16, 2, 96 * kibi, "rabenseifner"},
    {Collective::reduce, 16, 2, 768 * kibi, "han:network=binary,segment=64k"},
    {Collective::reduce, 16, 2, any_size, "han:network=chain,segment=64k"},
    {Collective::reduce, 16, any, 12 * kibi, "han"},
    {Collective::reduce, 16, any, 768 * kibi, "rabenseifner"},
    {Collective::reduce, 16, any, any_size, "han:network=chain,node=chain,socket=chain,segment=64k"},
    {Collective::reduce, 64, 1, 12 * kibi, "han"},
    {Collective::reduce, 64, 1, 6 * mebi, "rabenseifner"},
    {Collective::reduce, 64, 1, any_size, "han:network=chain,segment=64k"},
    {Collective::reduce, 64, 7, 12 * kibi, "han"},
    {Collective::reduce, 64, 7, 768 * kibi, "rabenseifner"},
    {Collective::reduce, 64, 7, 6 * mebi, "han:network=binary,segment=64k"},
    {Collective::reduce, 64, 7, any_size, "han:network=chain,segment=64k"},
    {Collective::reduce, 64, any, 12 * kibi, "han"},
    {Collective::reduce, 64, any, 6 * mebi, "rabenseifner"},
    {Collective::reduce, 64, any, any_size, "han:network=chain,node=chain,socket=chain,segment=64k"},
    {Collective::reduce, any, any, 12 * kibi, "han"},
    {Collective::reduce, any, any, any_size, "rabenseifner"},
    {Collective::allreduce, 2, 1, 96 * kibi, "recursive_doubling"},
    {Collective::allreduce, 2, 1, any_size, "ring"},
    {Collective::allreduce, 2, 2, 12 * kibi, "recursive_doubling"},
    {Collective::allreduce, 2, 2, 768 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 2, 2, 6 * mebi, "ring"},
    {Collective::allreduce, 2, 2, any_size, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 2, any, 1536, "nap"},
    {Collective::allreduce, 2, any, 96 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 2, any, any_size, "ring"},
    {Collective::allreduce, 16, 1, 1536, "nap"},
    {Collective::allreduce, 16, 1, 96 * kibi, "recursive_doubling"},
    {Collective::allreduce, 16, 1, any_size, "ring"},
    {Collective::allreduce, 16, 2, 12 * kibi, "recursive_doubling"},
    {Collective::allreduce, 16, 2, 96 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 16, 2, any_size, "ring"},
    {Collective::allreduce, 16, 7, 1536, "nap"},
    {Collective::allreduce, 16, 7, 12 * kibi, "smp"},
    {Collective::allreduce, 16, 7, 96 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 16, 7, any_size, "ring"},
    {Collective::allreduce, 16, any, 12 * kibi, "nap"},
    {Collective::allreduce, 16, any, 768 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 16, any, any_size, "ring"},
    {Collective::allreduce, 64, 1, 1536, "nap"},
    {Collective::allreduce, 64, 1, 12 * kibi, "recursive_doubling"},
    {Collective::allreduce, 64, 1, 6 * mebi, "rabenseifner"},
    {Collective::allreduce, 64, 1, any_size, "ring"},
    {Collective::allreduce, 64, 2, 12 * kibi, "recursive_doubling"},
    {Collective::allreduce, 64, 2, 768 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 64, 2, 6 * mebi, "multi_leader:leaders=4,segment=512k"},
    {Collective::allreduce, 64, 2, any_size, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 64, any, 1536, "nap"},
    {Collective::allreduce, 64, any, 12 * kibi, "smp"},
    {Collective::allreduce, 64, any, 768 * kibi, "multi_leader:leaders=16,segment=2M"},
    {Collective::allreduce, 64, any, any_size, "ring"},
    {Collective::allreduce, any, any, 1536, "nap"},
    {Collective::allreduce, any, any, 12 * kibi, "smp"},
    {Collective::allreduce, any, any, any_size, "multi_leader:leaders=16,segment=2M"},
};

}  // namespace

std::span<const MeasuredRule> measured_rules() { return measured; }

std::span<const ModelledRule> modelled_rules() { return modelled; }

}  // namespace hcoll
