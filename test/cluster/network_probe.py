# SPDX-License-Identifier: BSD-3-Clause
"""Two processes on two nodes: prints how long a byte takes to go there and back, and how fast many bytes are.

usage: network_probe.py BYTES       on node0 and node1, started by a launcher
"""

import socket
import sys
import time

PORT, ROUNDS = 7777, 21


def receive(channel, count):
    while count > 0:
        got = len(channel.recv(min(count, 1 << 20)))
        if got == 0:
            raise EOFError("the other end is gone")
        count -= got


def answer(count):
    with socket.create_server(("0.0.0.0", PORT)) as server:
        channel, _ = server.accept()
        with channel:
            for _ in range(ROUNDS):
                receive(channel, 1)
                channel.sendall(b"x")
            receive(channel, count)
            channel.sendall(b"x")


def connect():
    limit = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("node0", PORT), timeout=20)
        except OSError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)


def measure(count):
    with connect() as channel:
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            channel.sendall(b"x")
            receive(channel, 1)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        channel.sendall(bytes(count))
        receive(channel, 1)
        print(f"round_trip_us {1e6 * sorted(times)[ROUNDS // 2]:.0f}")
        print(f"shortest_round_trip_us {1e6 * min(times):.0f}")
        print(f"mbit_per_s {8e-6 * count / (time.perf_counter() - start):.1f}", flush=True)


if socket.gethostname() == "node0":
    answer(int(sys.argv[1]))
else:
    measure(int(sys.argv[1]))
