# SPDX-License-Identifier: BSD-3-Clause
"""The library sees the cluster's nodes and sockets, in whatever order the ranks sit on them.

usage: test_placement.py FLAVOUR
"""

import json
import sys
import unittest

import cluster
from cluster import INFO, ORDERS, nodes_in_order, places_of, program, run

FLAVOUR = sys.argv[1]


class Placement(unittest.TestCase):
    def ranks_seen(self, *options):
        result = run(FLAVOUR, ["--no-preload", "--quiet", *options], [INFO, "--topology", "--json"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        document = json.loads(result.stdout)
        self.assertFalse(document["virtual"])
        return document["placement"]

    def test_nodes_are_seen_in_any_order(self):
        counts = [3, 1, 2]
        layouts = [(order, places_of(counts, order)) for order in ORDERS] + [("0,1,1,0,2,1", [0, 1, 1, 0, 2, 1])]
        for layout, places in layouts:
            with self.subTest(layout):
                ranks = self.ranks_seen("--ppn", "3,1,2", "--layout", layout)
                self.assertEqual([rank["node"] for rank in ranks], nodes_in_order(places))

    def test_sockets_are_seen(self):
        ranks = self.ranks_seen("--nodes", "2", "--ppn", "4", "--sockets", "2", "--layout", "cyclic")
        self.assertEqual([(rank["node"], rank["socket"], rank["core"]) for rank in ranks],
                         [(rank % 2, rank // 4, rank // 2) for rank in range(8)])

    def test_a_job_sees_what_is_there(self):
        """The communicators of a program: MPI_Comm_split_type in MPI_Init, and parts of the world."""
        result = run(FLAVOUR, ["--nodes", "3", "--ppn", "2", "--quiet"], [program("topology", FLAVOUR), "--case", "split"],
                     settings={"LIBHCOLL_LOG": "debug", "LIBHCOLL_BCAST": "chain"})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stderr, "of 6 ranks is set up after .*: 3 nodes, 1 socket each, 2 ranks per node, in rank order")
        self.assertRegex(result.stderr, "of 3 ranks is set up after .*: 3 nodes, 1 socket each, 1 rank per node, in rank order")


if __name__ == "__main__":
    cluster.main()
