# SPDX-License-Identifier: BSD-3-Clause
"""The library's configurations that a search tries, each for a range of sizes: those that some machine and size wants."""

KIBI, MEBI = 1 << 10, 1 << 20
ANY = 1 << 40

# (smallest, largest size, configuration)
CANDIDATES = {
    "bcast": [
        (0, 8 * KIBI, "han:network=k_nomial,node=k_nomial,radix=8,sockets=no"),
        (0, 8 * KIBI, "han:network=k_nomial,node=k_nomial,radix=4,sockets=no"),
        (512, 4 * KIBI, "han:network=k_nomial,node=k_nomial,radix=5,sockets=no"),
        (2 * KIBI, 16 * KIBI, "han:network=two_tree,node=k_nomial,radix=4,sockets=no,segment=2k"),
        (8 * KIBI, 64 * KIBI, "han:network=binomial,node=k_nomial,radix=8,sockets=no,segment=0,in_turn=yes"),
        (8 * KIBI, 32 * KIBI, "han:network=binomial,node=k_nomial,radix=5,sockets=no,segment=8k,in_turn=yes"),
        (32 * KIBI, 512 * KIBI, "han:network=binomial,node=k_nomial,radix=5,sockets=no,segment=16k,in_turn=yes"),
        (8 * KIBI, 64 * KIBI, "han:network=two_tree,node=k_nomial,radix=6,sockets=no,segment=8k"),
        (8 * KIBI, 4 * MEBI, "han:network=binary,node=k_nomial,radix=6,sockets=no,segment=8k"),
        (512 * KIBI, 32 * MEBI, "han:network=binary,node=k_nomial,radix=6,sockets=no,segment=64k"),
        (32 * MEBI, ANY, "han:network=binary,node=k_nomial,radix=6,sockets=no,segment=256k"),
        (128 * KIBI, MEBI, "han:network=two_tree,node=flat,sockets=no,segment=16k"),
        (16 * KIBI, 8 * MEBI, "han:network=two_tree,node=flat,sockets=no,segment=64k"),
        (8 * MEBI, ANY, "han:network=two_tree,node=flat,sockets=no,segment=512k"),
    ],
    "reduce": [
        (0, 32 * KIBI, "han:network=k_nomial,node=k_nomial,radix=4,sockets=no"),
        (0, 32 * KIBI, "han:sockets=no"),
        (8 * KIBI, 512 * KIBI, "han:network=binary,node=binary,sockets=no,segment=8k"),
        (64 * KIBI, ANY, "han:network=binary,node=binary,sockets=no,segment=64k"),
        (128 * KIBI, ANY, "topology_tree:segment=64k"),
        (512 * KIBI, ANY, "rabenseifner"),
    ],
    "allreduce": [
        (0, 2 * KIBI, "nap"),
        (512, 8 * KIBI, "nap:exchange=rabenseifner"),
        (512, 2 * KIBI, "smp"),
        (2 * KIBI, 8 * KIBI, "multi_leader:leaders=8,node=binomial,segment=0"),
        (512, ANY, "multi_leader:leaders=16,node=binomial,segment=0"),
    ],
    "barrier": [
        (0, ANY, "dissemination"),
        (0, ANY, "hierarchical:radix=4,node=k_nomial"),
        (0, ANY, "hierarchical:radix=8,node=flat"),
    ],
}


def candidates(collective, sizes):
    """{configuration: the sizes it is tried for}."""
    tried = {}
    for smallest, largest, configuration in CANDIDATES[collective]:
        here = [size for size in sizes if smallest <= size <= largest]
        if here:
            tried[configuration] = here
    return tried
