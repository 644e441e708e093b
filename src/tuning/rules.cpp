// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/rules.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace hcoll {

namespace {

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t mebi = 1024 * kibi;
constexpr int any = std::numeric_limits<int>::max();

// Measured with hcoll-bench (vendor/own in one run, medians of 15 blocks) on one host of 2 cores, MPICH 4.0.2 and Open MPI
// 4.1.4; docs/results/measured.md has the figures. Shared memory: 2 ranks on 2 cores, 4 and 8 ranks on 2 cores, all sizes; more ranks
// have no rule until they are measured. The rules behind it hold where ranks cannot share memory: 2 ranks on 2 cores.
//
// Single copies: between two ranks with a core each, where a test at set-up finds them faster (their cores are far apart).
// Where ranks share cores, blocks that stay in cache are copied faster.
constexpr MeasuredRule measured[] = {
    {VendorKind::mpich, Collective::bcast, 1, 2, 2, any_size, "shared:single_copy=32k"},
    {VendorKind::mpich, Collective::bcast, 1, 3, 8, any_size, "shared"},
    {VendorKind::mpich, Collective::reduce, 1, 2, 2, 2 * mebi, "shared:single_copy=96k"},
    {VendorKind::mpich, Collective::reduce, 1, 2, 2, any_size, "shared"},
    {VendorKind::mpich, Collective::reduce, 1, 3, 8, any_size, "shared"},
    {VendorKind::mpich, Collective::allreduce, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::mpich, Collective::allreduce, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::bcast, 1, 2, 2, any_size, "shared:single_copy=32k"},
    {VendorKind::openmpi, Collective::bcast, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::reduce, 1, 2, 2, 2 * mebi, "shared:single_copy=96k"},
    {VendorKind::openmpi, Collective::reduce, 1, 2, 2, any_size, "shared"},
    {VendorKind::openmpi, Collective::reduce, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::allreduce, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::openmpi, Collective::allreduce, 1, 3, 8, any_size, "shared"},
    // In a row Open MPI's own gathers one number faster (0.7), and scatters it (0.85), which has no rule of its own: ranks may have room for
    // more than the root sends, and all have to find the same rule. Single copies: between cores that are near blocks are faster,
    // and a test finds that out; from where on they pay between others is taken from the collectives above, not measured.
    {VendorKind::mpich, Collective::gather, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::mpich, Collective::gather, 1, 3, 8, any_size, "shared"},
    {VendorKind::mpich, Collective::scatter, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::mpich, Collective::scatter, 1, 3, 8, any_size, "shared"},
    {VendorKind::mpich, Collective::allgather, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::mpich, Collective::allgather, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::gather, 1, 2, 2, 32, "vendor"},
    {VendorKind::openmpi, Collective::gather, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::openmpi, Collective::gather, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::scatter, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::openmpi, Collective::scatter, 1, 3, 8, any_size, "shared"},
    {VendorKind::openmpi, Collective::allgather, 1, 2, 2, any_size, "shared:single_copy=64k"},
    {VendorKind::openmpi, Collective::allgather, 1, 3, 8, any_size, "shared"},
    // 1.10 at 2 KB to 7.6 at 512 KB
    {VendorKind::mpich, Collective::reduce, 1, 2, 2, any_size, "binomial"},
    // 0.80 at 8 B, 1.04 to 1.34 between, 0.93 at 512 KB
    {VendorKind::mpich, Collective::allreduce, 1, 2, 2, 8, "vendor"},
    {VendorKind::mpich, Collective::allreduce, 1, 2, 2, 128 * kibi, "recursive_doubling"},
    // 0.83 at 2 KB, 1.15 to 1.41 between, 0.98 at 512 KB
    {VendorKind::openmpi, Collective::allreduce, 1, 2, 2, 8 * kibi - 1, "vendor"},
    {VendorKind::openmpi, Collective::allreduce, 1, 2, 2, 128 * kibi, "recursive_doubling"},
    // 1.5; Open MPI's own is faster than messages (0.27 to 0.43)
    {VendorKind::mpich, Collective::barrier, 1, 2, 8, any_size, "shared"},
    {VendorKind::mpich, Collective::barrier, 1, 2, 2, any_size, "dissemination"},
    {VendorKind::openmpi, Collective::barrier, 1, 2, 8, any_size, "shared"},
    // docs/results/measured.md, "Over several nodes": 1.05 to 1.46 at 200 Mbit/s, 0.93 to 1.05 at 1 Gbit/s; MPICH 1.29 to 1.96
    {VendorKind::mpich, Collective::allreduce, 4, 4, 4, 128 * kibi, "vendor"},
    {VendorKind::mpich, Collective::allreduce, 4, 4, 4, any_size, "multi_leader:leaders=2,exchange=ring"},
    {VendorKind::openmpi, Collective::allreduce, 4, 4, 4, 128 * kibi, "vendor"},
    {VendorKind::openmpi, Collective::allreduce, 4, 4, 4, any_size, "multi_leader:leaders=2,exchange=ring"},
};

// What model_rules.cpp finds for 2 to 64 nodes and 8 B to 16 MB, gathered: as few rows as choose what is nowhere far from the
// fastest candidate (test_rules.cpp says how far). For more nodes than were priced, algorithms whose steps between nodes grow with
// the logarithm. Long Allreduces on up to 8 nodes of up to 4 ranks take what was the fastest on a cluster (docs/results/measured.md), a ring of
// leaders, even where the model prefers another; with more ranks a node, all of them lead, so that none has to reduce more.
//
// From 64 KB on, those of up to 4 nodes of up to 8 ranks are what non-blocking ones of up to 4 nodes of up to 4 ranks run without any setting (selection.cpp),
// and were measured as that. Simulations of two machines find the order of the others (docs/results/chosen_bcast_stampede2.md and its neighbors).
//
// One more row was measured (docs/results/measured.md, "Communicators, memory, small calls"): calls in a row are as fast as the busiest rank, and
// on few nodes a root that sends to all leaders is that; a binomial tree is 1.3 times as fast there, and takes little longer by itself.
constexpr ModelledRule modelled[] = {
    {Collective::bcast, 4, any, 8 * kibi, "han"},
    {Collective::bcast, any, any, 2 * kibi, "han:network=k_nomial,node=k_nomial,radix=6,sockets=no"},
    {Collective::bcast, any, any, 16 * kibi, "han:network=k_nomial,node=k_nomial,sockets=no"},
    {Collective::bcast, 4, 8, 64 * kibi - 1, "han:network=two_tree,node=k_nomial,sockets=no,segment=16k"},
    {Collective::bcast, 4, 8, any_size, "topology_tree:segment=8k"},
    {Collective::bcast, any, any, 32 * kibi,
     "han:network=binomial,node=k_nomial,radix=6,sockets=no,in_turn=yes,segment=8k"},
    {Collective::bcast, any, any, 2 * mebi, "han:network=two_tree,node=k_nomial,sockets=no,segment=16k"},
    {Collective::bcast, any, any, any_size, "han:network=two_tree,node=flat,sockets=no,segment=64k"},
    {Collective::reduce, any, any, 8 * kibi, "han:network=k_nomial,node=k_nomial,radix=6,sockets=no"},
    {Collective::reduce, 4, 8, 32 * kibi, "han:segment=8k"},
    {Collective::reduce, 4, 8, 512 * kibi, "topology_tree:segment=8k"},
    {Collective::reduce, 4, 8, any_size, "topology_tree:segment=32k"},
    {Collective::reduce, any, any, 256 * kibi, "han:network=two_tree,node=binomial,sockets=no,segment=8k"},
    {Collective::reduce, any, 8, any_size, "han:network=two_tree,node=chain,socket=chain,segment=64k"},
    {Collective::reduce, 64, any, any_size, "topology_tree:segment=8k"},
    {Collective::reduce, any, any, any_size, "han:network=two_tree,node=chain,socket=chain,segment=64k"},
    {Collective::allreduce, 8, 1, 32 * kibi, "smp"},
    {Collective::allreduce, 8, 1, any_size, "ring"},
    {Collective::allreduce, any, 1, 8 * kibi, "smp"},
    {Collective::allreduce, 16, 1, 128 * kibi, "multi_leader:leaders=32"},
    {Collective::allreduce, 16, 1, any_size, "ring"},
    {Collective::allreduce, 64, 1, 2 * mebi, "multi_leader:leaders=32"},
    {Collective::allreduce, 64, 1, any_size, "ring"},
    {Collective::allreduce, any, 2, kibi, "smp"},
    {Collective::allreduce, any, any, kibi, "nap"},
    {Collective::allreduce, any, any, 16 * kibi,
     "multi_leader:leaders=16,node=k_nomial,exchange=recursive_multiplying,radix=3"},
    {Collective::allreduce, 8, any, 128 * kibi, "multi_leader:leaders=32"},
    {Collective::allreduce, 8, 4, any_size, "multi_leader:leaders=2,exchange=ring"},
    {Collective::allreduce, 8, any, any_size, "multi_leader:leaders=32,node=chain,exchange=ring"},
    {Collective::allreduce, 64, 2, any_size, "multi_leader:leaders=32"},
    {Collective::allreduce, 64, any, 8 * mebi, "multi_leader:leaders=32"},
    {Collective::allreduce, 64, any, any_size, "ring"},
    {Collective::allreduce, any, any, any_size, "multi_leader:leaders=32"},
    {Collective::barrier, 8, 16, any_size, "hierarchical:radix=8,node=flat"},
    {Collective::barrier, 8, any, any_size, "hierarchical:radix=8"},
    {Collective::barrier, 16, 16, any_size, "hierarchical:radix=4,node=flat"},
    {Collective::barrier, 16, any, any_size, "hierarchical:radix=4"},
    {Collective::barrier, any, 16, any_size, "hierarchical:radix=8,node=flat"},
    {Collective::barrier, any, any, any_size, "hierarchical:radix=8"},
};

}  // namespace

std::span<const MeasuredRule> measured_rules() { return measured; }

bool may_have_rule_on_a_node(VendorKind vendor, Collective collective, int ranks) {
    return std::any_of(std::begin(measured), std::end(measured), [&](const MeasuredRule& rule) {
        return rule.vendor == vendor && rule.collective == collective && rule.nodes == 1 &&
               rule.fewest_ranks <= ranks && ranks <= rule.most_ranks && rule.choice != "vendor";
    });
}

std::span<const ModelledRule> modelled_rules() { return modelled; }

}  // namespace hcoll
