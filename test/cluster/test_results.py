# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm, compared with a serial reference, on nodes of one shape.

usage: test_results.py FLAVOUR SHAPE        SHAPE: 4x2 (nodes x ranks), or the ranks of each node: 4,1,2

A job tests one algorithm of each collective. Which there are, hcoll-info knows. The order of ranks over the nodes turns
from job to job and from shape to shape, and so do two MPI libraries; with HCOLL_TEST_ALL_ORDERS=1 each job runs in all orders, under both.
"""

import itertools
import json
import subprocess
import sys
import unittest

import cluster
from cluster import INFO, ORDERS, Up, program, run

FLAVOUR, SHAPE = sys.argv[1:3]
SEGMENT = 256
ONE_NODE_ONLY = ("shared",)
MORE = {"bcast": [f"han:network=vendor,segment={SEGMENT}"], "reduce": [f"han:network=vendor,segment={SEGMENT}"],
        "allreduce": [f"han:network=vendor,segment={SEGMENT}", f"multi_leader:leaders=2,exchange=ring,segment={SEGMENT}",
                      f"multi_leader:leaders=4,node=binomial,segment={SEGMENT}",
                      f"nap:exchange=rabenseifner,segment={SEGMENT}"], "barrier": []}


def algorithms():
    """{collective: its algorithms, with a segment that makes several of each message}"""
    found = {}
    listed = json.loads(subprocess.run([INFO, "--json"], capture_output=True, text=True, check=True, timeout=60,
                                       env=cluster.environment()).stdout)
    for algorithm in listed["algorithms"]:
        if algorithm["name"] in ONE_NODE_ONLY:
            continue
        has_segment = any(parameter["name"] == "segment" for parameter in algorithm["parameters"])
        text = algorithm["name"] + (f":segment={SEGMENT}" if has_segment else "")
        found.setdefault(algorithm["collective"], []).append(text)
    return {collective: names + MORE.get(collective, []) for collective, names in found.items()}


def jobs(collectives):
    """The settings of each job, with an algorithm of every collective; a collective with fewer begins again."""
    found = {collective: names for collective, names in algorithms().items() if collective in collectives}
    turns = max(map(len, found.values()))
    return [{f"LIBHCOLL_{collective.upper()}": names[turn % len(names)] for collective, names in found.items()}
            for turn in range(turns)]


# A program, its options, and the collectives that it calls.
PROGRAMS = [("collectives", ["--brief", "--segment", str(SEGMENT)], ("bcast", "reduce", "allreduce", "barrier")),
            ("blocks", ["--brief"], ("gather", "scatter", "allgather"))]


def ranks_of_nodes():
    if "x" in SHAPE:
        nodes, ranks = map(int, SHAPE.split("x"))
        return [ranks] * nodes
    return list(map(int, SHAPE.split(",")))


class Results(unittest.TestCase):
    def test_every_algorithm_gives_the_right_result(self):
        counts = ranks_of_nodes()
        shift = len(counts) + (FLAVOUR == "mpich")
        with Up("--nodes", str(len(counts))) as up:
            for name, words, collectives in PROGRAMS:
                for number, settings in enumerate(jobs(collectives)):
                    if not cluster.ALL_ORDERS and len(cluster.FLAVOURS) > 1 and (number + shift) % 2 != 0:
                        continue
                    orders = ORDERS if cluster.ALL_ORDERS else [ORDERS[(number + len(counts)) % len(ORDERS)]]
                    for order in orders:
                        with self.subTest(order=order, **settings):
                            self.check(up, counts, order, settings, [program(name, FLAVOUR), *words])

    def check(self, up, counts, order, settings, command):
        options = ["--on", up.name, "--ppn", ",".join(map(str, counts)), "--layout", order, "--quiet"]
        result = run(FLAVOUR, options, command, settings={**settings, "LIBHCOLL_REPORT": "1"})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        # A silent fall-back to the vendor would pass every comparison.
        for setting in settings:
            self.assertIn(f"setting {setting}", result.stderr)
        self.assertNotIn("warning", result.stderr)


if __name__ == "__main__":
    cluster.main()
