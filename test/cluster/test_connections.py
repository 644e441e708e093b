# SPDX-License-Identifier: BSD-3-Clause
"""With LIBHCOLL_SPARSE=1 ranks keep to their neighbors: n ranks hold 2 n connections, not n (n - 1).

usage: test_connections.py FLAVOUR

Counted are the TCP connections of each rank's process, one rank to a node. Open MPI opens one when two ranks first talk. MPICH on
UCX connects all ranks in MPI_Init: there the library must open none besides.
"""

import re
import sys
import unittest

import cluster
from cluster import Up, program, run

FLAVOUR = sys.argv[1]
NODES = 6
LINE = re.compile(r"rank (\d+): (\d+) connections to (\d+) nodes")


class Connections(unittest.TestCase):
    def counts(self, up, *arguments, options=(), settings=None):
        """(connections, nodes) of each rank."""
        result = run(FLAVOUR, ["--on", up.name, "--ppn", "1", "--quiet", *options], [program("neighbors", FLAVOUR), *arguments],
                     settings=settings)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        found = {int(rank): (int(connections), int(nodes)) for rank, connections, nodes in LINE.findall(result.stdout)}
        self.assertEqual(sorted(found), list(range(NODES)), result.stdout + result.stderr)
        return [found[rank] for rank in range(NODES)]

    def test_ranks_talk_to_their_neighbors_only(self):
        with Up("--nodes", str(NODES)) as up:
            at_start = self.counts(up, "--only-init", options=["--no-preload"])
            print(f"\nMPI_Init alone: {at_start}")
            for progress in ("off", "calls", "thread"):
                with self.subTest(progress):
                    settings = {"LIBHCOLL_SPARSE": "1", "LIBHCOLL_PROGRESS": progress}
                    # Where nothing moves non-blocking ones they are the MPI library's, which talks to whom it likes.
                    sparse = self.counts(up, *(["--blocking"] if progress == "off" else []), settings=settings)
                    print(f"sparse, {progress}: {sparse}")
                    if any(nodes for _, nodes in at_start):
                        self.assertEqual([nodes for _, nodes in sparse], [nodes for _, nodes in at_start])
                    else:
                        self.assertEqual(sparse, [(2, 2)] * NODES)
            dense = self.counts(up)
            print(f"otherwise: {dense}")
            self.assertGreater(sum(nodes for _, nodes in dense), 2 * NODES, "nothing to be kept from")


if __name__ == "__main__":
    cluster.main()
