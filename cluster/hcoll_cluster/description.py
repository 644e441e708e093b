# SPDX-License-Identifier: BSD-3-Clause
"""What a cluster is to look like, and on which node each rank sits: numbers and text only."""

import dataclasses
import re

MAX_NODES = 250  # addresses of one /24 network


class Mistake(Exception):
    """Something on the command line that makes no sense; the text says what would."""


def _quantity(text, units, what, example):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text.strip().lower())
    if match is None or match.group(2) not in units:
        raise Mistake(f"'{text}' is no {what}; write it like {example} (units: {', '.join(units)})")
    return float(match.group(1)) * units[match.group(2)]


def parse_rate(text):
    """Bits per second."""
    rate = round(_quantity(text, {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}, "rate", "200mbit"))
    if rate < 1_000_000:
        raise Mistake(f"a rate of '{text}' is too low for TCP to be of use; 1mbit is the least")
    return rate


def parse_delay(text):
    """Microseconds, one way."""
    delay = round(_quantity(text, {"us": 1.0, "ms": 1e3, "s": 1e6}, "delay", "500us"))
    if delay > 10_000_000:
        raise Mistake(f"a delay of '{text}' is more than 10s")
    return delay


@dataclasses.dataclass(frozen=True)
class Cluster:
    nodes: int
    rate: int = 0  # bits per second and node, each way; 0 is as fast as the machine can
    delay: int = 0  # microseconds from node to node; 0 is none
    sockets: int = 0  # of each node; 0 is the machine's own topology
    cores: int = 0  # of each socket

    def __post_init__(self):
        if not 1 <= self.nodes <= MAX_NODES:
            raise Mistake(f"{self.nodes} nodes; there can be 1 to {MAX_NODES}")

    def summary(self):
        parts = [f"{self.nodes} node{'s' if self.nodes > 1 else ''}"]
        if self.sockets:
            parts.append(f"{self.sockets} sockets of {self.cores} cores each")
        if self.rate:
            parts.append(f"{self.rate / 1e6:g} Mbit/s")
        if self.delay:
            parts.append(f"{self.delay} us delay")
        return ", ".join(parts)


def name_of(node):
    return f"node{node}"


def address_of(node):
    return f"10.77.0.{node + 1}"


def hardware_address_of(node):
    return f"02:00:00:00:00:{node + 1:02x}"  # the switch reads the node from its last byte


def _numbers(text, what):
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        raise Mistake(f"'{text}' is no {what}: numbers with commas between them are needed") from None
    if min(values) < 0:
        raise Mistake(f"'{text}' is no {what}: it has a number below 0")
    return values


def ranks_per_node(text, nodes):
    """The numbers of ranks of all nodes, from '4' or '4,1,2'; nodes is 0 where it was not said."""
    counts = _numbers(text, "number of ranks per node")
    if len(counts) == 1:
        counts *= nodes or 1
    elif nodes not in (0, len(counts)):
        raise Mistake(f"--ppn {text} is for {len(counts)} nodes, --nodes says {nodes}")
    if min(counts) < 1:
        raise Mistake(f"--ppn {text}: a node needs at least 1 rank")
    return counts


def node_of_each_rank(layout, counts):
    """block, cyclic (as long as a node has seats left), reversed (block from the last node on) or a list of nodes."""
    nodes = range(len(counts))
    if layout == "block":
        return [node for node in nodes for _ in range(counts[node])]
    if layout == "reversed":
        return [node for node in reversed(nodes) for _ in range(counts[node])]
    if layout == "cyclic":
        return [node for turn in range(max(counts)) for node in nodes if turn < counts[node]]
    places = _numbers(layout, "layout (block, cyclic, reversed or a list of nodes)")
    if max(places) >= len(counts):
        raise Mistake(f"--layout names node {max(places)}; the last of {len(counts)} nodes is {len(counts) - 1}")
    return places


def nodes_in_list(layout):
    """How many nodes a layout needs that is a list; 0 for the others, which have a name."""
    if layout in ("block", "cyclic", "reversed"):
        return 0
    return max(_numbers(layout, "layout (block, cyclic, reversed or a list of nodes)")) + 1
