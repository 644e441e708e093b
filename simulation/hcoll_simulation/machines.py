# SPDX-License-Identifier: BSD-3-Clause
"""Machine files: finding them, and the times that no algorithm can beat on them."""

import json
import os

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(SOURCE, "simulation", "machines")
GIGA = 1e9


class Mistake(Exception):
    """Of whoever wrote the command line; its text is one sentence."""


def machine_names():
    """Those that are there to be compared; machines of tests are not."""
    return sorted(name[:-len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json") and name != "test.json")


def machine_file(name):
    if "/" in name:
        if not os.path.isfile(name):
            raise Mistake(f"there is no machine file {name}")
        return name
    path = os.path.join(FOLDER, name + ".json")
    if not os.path.isfile(path):
        raise Mistake(f"'{name}' is no machine; machines are {', '.join(machine_names())}, or a file (a name with a /)")
    return path


class Machine:
    def __init__(self, path, ranks_per_node=0):
        """`ranks_per_node`: of the job; 0: as many as the machine has."""
        with open(path, encoding="utf-8") as file:
            try:
                figures = json.load(file)
                self.name = figures["name"]
                self.ranks_per_node = ranks_per_node or int(figures["ranks_per_node"]["value"])
                self.node_rate = figures["network"]["node_rate_gb_per_s"]["value"] * GIGA
                self.memory_rate = figures["node"]["memory_rate_gb_per_s"]["value"] * GIGA
                self.pair_rate = figures["node"]["pair_rate_gb_per_s"]["value"] * GIGA
                self.reduce_rate = figures["rank"]["reduce_rate_gb_per_s"]["value"] * GIGA
            except (ValueError, KeyError, TypeError) as problem:
                raise Mistake(f"the machine file {path} is not valid: {problem!r}") from None

    def network_bound(self, collective, ranks, size):
        """Seconds for the bytes that have to pass a node's port in one direction; nothing else counts."""
        nodes = -(-ranks // self.ranks_per_node)
        if nodes == 1:
            return 0.0
        # Patarasuk and Yuan 2009: every node sends and receives 2 (n - 1) / n of the message in an Allreduce.
        share = 2 * (nodes - 1) / nodes if collective == "allreduce" else 1
        return share * size / self.node_rate

    def memory_bound(self, collective, ranks, size):
        """Seconds for the bytes that have to be copied in one node's memory: to or from each rank but one."""
        here = min(ranks, self.ranks_per_node)
        times = 2 if collective == "allreduce" else 1
        return max(times * (here - 1) * size / self.memory_rate, size / self.pair_rate if here > 1 else 0)

    def bound(self, collective, ranks, size):
        """Seconds that bytes and rates alone ask for. The network, memory and reductions may all be busy at a time."""
        reducing = size * (ranks - 1) / ranks / self.reduce_rate if collective in ("reduce", "allreduce") else 0
        return max(self.network_bound(collective, ranks, size), self.memory_bound(collective, ranks, size), reducing)
