# SPDX-License-Identifier: BSD-3-Clause
"""The bytes on each node's interface are those of the plan.

usage: test_bytes.py FLAVOUR

A program makes the same call few times and many times; the difference of what the interfaces counted is what the further
calls have sent, without the start of the job, its connections and the first calls, which are the MPI library's. What it
should be, hcoll-info adds up from the plans of all ranks.
"""

import json
import subprocess
import sys
import unittest

import cluster
from cluster import INFO, Up, bytes_of_nodes, nodes_in_order, places_of, program

FLAVOUR = sys.argv[1]
BYTES = 1 << 20
FEW, MANY = 2, 12

# Collective, algorithm, ranks of each node, order. HAN's trees over the network in all three; NAP, whose ranks each talk
# to a node of their own; and algorithms that know of no nodes, whose bytes depend on where ranks sit.
CASES = (
    ("bcast", "han", [2, 2, 2, 2], "block"),
    ("bcast", "han", [3, 1, 2], "cyclic"),
    ("bcast", "binomial", [2, 2, 2, 2], "cyclic"),
    ("reduce", "han", [2, 2, 2, 2], "cyclic"),
    ("allreduce", "han", [2, 2, 2, 2], "block"),
    ("allreduce", "nap", [2, 2, 2, 2], "block"),
    ("allreduce", "multi_leader:leaders=2", [2, 2, 2, 2], "reversed"),
    ("allreduce", "ring", [2, 2, 2, 2], "block"),
    ("allreduce", "ring", [2, 2, 2, 2], "cyclic"),
)

# Headers of Ethernet, IP, TCP and the MPI library, a part of what is received; acknowledgements, a part of what is sent
# the other way; and what differs from run to run: a job's start, 57 KB once on a loaded machine. A loaded machine can send
# more than that once again, since acknowledgements come late; it never sends less than it has to. So what does not fit is
# counted again, and the least of each count is taken: a plan that tells other bytes fails however often it is counted.
HEADERS, ANSWERS, NOISE = 0.02, 0.01, 90_000
COUNTS = 4
KEYS = ("received_bytes", "sent_bytes")


def planned(collective, algorithm, places):
    """(received, sent) of each node, in the order of the nodes' first ranks."""
    line = [INFO, "--plan", collective, "--algorithm", algorithm, "--layout", ",".join(map(str, places)), "--bytes",
            str(BYTES), "--json"]
    document = json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=60,
                                         env=cluster.environment()).stdout)
    return [(node["received"]["bytes"], node["sent"]["bytes"]) for node in document["nodes"]]


class Bytes(unittest.TestCase):
    def test_interfaces_carry_what_the_plan_says(self):
        for counts in ([2, 2, 2, 2], [3, 1, 2]):
            with Up("--nodes", str(len(counts))) as up:
                for collective, algorithm, of_nodes, order in CASES:
                    if of_nodes == counts:
                        with self.subTest(f"{collective} {algorithm} {counts} {order}"):
                            self.check(up, collective, algorithm, counts, order)

    def check(self, up, collective, algorithm, counts, order):
        options = ["--on", up.name, "--ppn", ",".join(map(str, counts)), "--layout", order, "--quiet"]

        def counted(calls):
            command = [program("repeat", FLAVOUR), "--collective", collective, "--bytes", str(BYTES), "--calls", str(calls)]
            return bytes_of_nodes(FLAVOUR, options, command, {f"LIBHCOLL_{collective.upper()}": algorithm})

        places = places_of(counts, order)
        plan = planned(collective, algorithm, places)
        number_of = dict(zip(places, nodes_in_order(places)))
        plan = [plan[number_of[node]] for node in range(len(counts))]
        few = many = None
        for time in range(COUNTS):
            few, many = least(few, counted(FEW)), least(many, counted(MANY))
            per_call = [tuple((many[node][key] - few[node][key]) / (MANY - FEW) for key in KEYS) for node in range(len(counts))]
            again = f", counted {time + 1} times" if time else ""
            print(f"\n{collective} {algorithm}, {counts} ranks, {order}: bytes of {BYTES} per call{again}")
            for node, ((received, sent), (to_receive, to_send)) in enumerate(zip(per_call, plan)):
                print(f"  node {node}: received {received:12,.0f}, plan {to_receive:12,}; sent {sent:12,.0f}, plan {to_send:12,}")
            wrong = [text for node in range(len(counts)) for text in misfits(node, per_call[node], plan[node])]
            if not wrong:
                return
        self.fail("; ".join(wrong))


def least(before, now):
    """For each node and direction the smaller count of two jobs; before is None for the first one."""
    return now if before is None else [{key: min(node[key], other[key]) for key in KEYS} for node, other in zip(before, now)]


def misfits(node, counted, planned_bytes):
    """What of a node's (received, sent) bytes per call cannot be the plan's."""
    noise = NOISE / (MANY - FEW)
    for what, actual, wanted, back in zip(("received", "sent"), counted, planned_bytes, planned_bytes[::-1]):
        if actual < wanted - noise:
            yield f"node {node} {what} too little: {actual:,.0f} bytes, plan {wanted:,}"
        if actual > wanted * (1 + HEADERS) + back * ANSWERS + noise:
            yield f"node {node} {what} too much: {actual:,.0f} bytes, plan {wanted:,}"


if __name__ == "__main__":
    cluster.main()
