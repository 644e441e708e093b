# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces, switch, rate and TCP's settings, as input of `ip -batch` and `tc -batch`.

Node i has eth0, whose other end is port<i> in the switch's network namespace. The rate holds on both ends, so that a
node neither sends nor receives faster. The switch is a bridge of the kernel, or, where messages are to be delayed, a
program (delaying_switch.c) between the ports.
"""

import subprocess
import time

from .description import address_of, hardware_address_of
from .system import Lacking, tool

# Frames of this size at most, where the rate is limited: larger ones would make one peer wait for another.
_FRAME = 16384
_BURST = 24576

# Fixed, since a new network namespace inherits what the machine prefers: bbr paces itself and measures, and what a
# connection has learnt would be thrown away between two collectives.
_SETTINGS = {
    "net/ipv4/tcp_congestion_control": "reno",
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
}


def run_batch(name, package, lines, purpose):
    result = subprocess.run([tool(name, package), "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                            capture_output=True, check=False)
    if result.returncode != 0:
        words = (result.stderr.strip().splitlines() or ["no reason given"])[0]
        raise Lacking(f"{purpose} failed: {words}")


def port_of(node):
    return f"port{node}"


def cable(cluster, process_ids):
    """In the switch's namespace: a cable to each node, which one of its processes stands for."""
    size = f" gso_max_size {_FRAME} gso_max_segs 64" if cluster.rate else ""
    lines = []
    for node, process_id in enumerate(process_ids):
        lines.append(f"link add {port_of(node)} type veth peer name eth0 netns {process_id}")
        lines.append(f"link set {port_of(node)}{size} up")
    run_batch("ip", "iproute2", lines, "making the nodes' network interfaces")


def bridge(cluster):
    lines = ["link add switch type bridge stp_state 0 forward_delay 0 mcast_snooping 0", "link set switch up"]
    lines += [f"link set {port_of(node)} master switch" for node in range(cluster.nodes)]
    run_batch("ip", "iproute2", lines, "making a bridge between the nodes")


def configure_node(cluster, node):
    """In the node's namespace: its address, and those of all others, so that nobody has to ask for them."""
    for name, value in _SETTINGS.items():
        try:
            with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
                file.write(value)
        except OSError:
            pass  # a kernel without it has nothing to be set
    size = f" gso_max_size {_FRAME} gso_max_segs 64" if cluster.rate else ""
    lines = ["link set lo up", f"link set eth0 address {hardware_address_of(node)}{size}",
             f"addr add {address_of(node)}/24 dev eth0", "link set eth0 up"]
    lines += [f"neigh replace {address_of(peer)} lladdr {hardware_address_of(peer)} dev eth0 nud permanent"
              for peer in range(cluster.nodes) if peer != node]
    run_batch("ip", "iproute2", lines, "configuring a node's network interface")
    if cluster.rate:
        limit_rate(cluster, "eth0", node, "dst")
    _wait_for_carrier()


def _wait_for_carrier():
    """The kernel notices only after a while that a cable's other end is up, and UCX takes no interface that is down."""
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        with open("/sys/class/net/eth0/operstate", encoding="ascii") as file:
            if file.read().strip() == "up":
                return
        time.sleep(0.005)
    raise Lacking("a node's network interface did not come up in 10 s")


def limit_rate(cluster, interface, node, peer_is):
    """The rate on what leaves the interface: packets of up to 255 bytes first, then all peers in turn.

    At the node, the peer is whom a packet goes to; at the switch's port, whom it comes from.
    """
    rate, burst = cluster.rate, f"burst {_BURST} cburst {_BURST}"
    peers = [peer for peer in range(cluster.nodes) if peer != node]
    share = rate * 3 // 4 // max(1, len(peers))
    lines = [
        f"qdisc replace dev {interface} root handle 1: htb default 2",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit {burst}",
        f"class add dev {interface} parent 1:1 classid 1:2 htb rate {rate // 4}bit ceil {rate}bit {burst} prio 0 quantum 18000",
        f"filter add dev {interface} parent 1: protocol ip prio 1 u32 match u16 0x0000 0xff00 at 2 flowid 1:2",
    ]
    for peer in peers:
        leaf = f"1:{0x10 + peer:x}"
        lines.append(f"class add dev {interface} parent 1:1 classid {leaf} htb rate {share}bit ceil {rate}bit {burst} "
                     "prio 1 quantum 18000")
        lines.append(f"filter add dev {interface} parent 1: protocol ip prio 2 u32 match ip {peer_is} "
                     f"{address_of(peer)}/32 flowid {leaf}")
    run_batch("tc", "iproute2", lines, "limiting the rate (htb, with u32 filters)")


def limit_ports(cluster):
    for node in range(cluster.nodes):
        limit_rate(cluster, port_of(node), node, "src")


def change_rate(cluster):
    """In the switch's namespace: another rate for what nodes receive. What waited at a port is lost, and sent again."""
    run_batch("tc", "iproute2", [f"qdisc del dev {port_of(node)} root" for node in range(cluster.nodes)], "taking the rate away")
    limit_ports(cluster)


def counters():
    """Bytes and packets that eth0 of this namespace has received and sent."""
    with open("/proc/self/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == "eth0":
                fields = [int(number) for number in numbers.split()]
                return {"received_bytes": fields[0], "received_packets": fields[1], "sent_bytes": fields[8],
                        "sent_packets": fields[9]}
    raise OSError("there is no eth0")
