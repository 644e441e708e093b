# SPDX-License-Identifier: BSD-3-Clause
"""What the tests on a cluster share: running scripts/cluster, and being skipped where it cannot be."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = os.environ["HCOLL_TEST_BUILD"], os.environ["HCOLL_TEST_SOURCE"]
LIBRARY = os.environ["HCOLL_TEST_LIBRARY"]
FLAVOURS = os.environ["HCOLL_TEST_FLAVOURS"].split()
ALL_ORDERS = os.environ.get("HCOLL_TEST_ALL_ORDERS") == "1"
CLUSTER = os.path.join(SOURCE, "scripts", "cluster")
INFO = os.path.join(BUILD, "bin", "hcoll-info")
ORDERS = ("block", "cyclic", "reversed")


def program(name, flavour):
    return os.path.join(BUILD, "test", "bin", f"{name}.{flavour}")


def environment():
    # Not what a test before this one has left in the shell; HCOLL_MPIEXEC is of one flavour.
    return {name: value for name, value in os.environ.items()
            if not name.startswith("LIBHCOLL_") and name != "HCOLL_MPIEXEC"}


def launcher(flavour):
    path = os.environ.get(f"HCOLL_MPIEXEC_{flavour}")
    return ["--mpiexec", path] if path else []


def words(subcommand, *options):
    return [sys.executable, CLUSTER, subcommand, "--build", BUILD, *options]


def run(flavour, options, command, seconds=120, settings=None, **arguments):
    """One job; the library takes communicators over after one call unless the settings say otherwise."""
    line = words("run", "--mpi", flavour, *launcher(flavour), "--timeout", str(seconds), "--preload", LIBRARY, *options)
    for name, value in {"LIBHCOLL_SETUP_CALLS": "1", **(settings or {})}.items():
        line += ["--env", f"{name}={value}"]
    return subprocess.run([*line, "--", *command], env=environment(), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=seconds + 60, **arguments)


class Up:
    """A cluster that is up while the block lasts; several jobs share the time that it takes."""

    def __init__(self, *options):
        self.name = f"test-{os.getpid()}"
        self._options = options

    def __enter__(self):
        subprocess.run(words("up", "--name", self.name, *self._options), env=environment(), check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
        return self

    def __exit__(self, *error):
        subprocess.run([sys.executable, CLUSTER, "down", self.name], check=False, timeout=60)


def bytes_of_nodes(flavour, options, command, settings):
    """What each node's interface received and sent in a job."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        result = run(flavour, [*options, "--bytes-json", file.name], command, settings=settings)
        if result.returncode != 0:
            raise AssertionError(result.stdout + result.stderr)
        return json.load(file)["nodes"]


def nodes_in_order(places):
    """The library numbers nodes by their first rank."""
    numbers = {}
    return [numbers.setdefault(node, len(numbers)) for node in places]


def places_of(counts, order):
    """The node of each rank; told anew here, so that the tool is not its own judge."""
    nodes = list(range(len(counts)))
    if order == "cyclic":
        return [node for turn in range(max(counts)) for node in nodes if counts[node] > turn]
    return [node for node in (nodes if order == "block" else nodes[::-1]) for _ in range(counts[node])]


def main():
    probe = subprocess.run(words("run", "--nodes", "1", "--mpi", FLAVOURS[0], "--mpiexec", "/bin/true", "--no-preload",
                                 "--quiet", "--", "true"), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           env=environment(), check=False, timeout=60)
    if probe.returncode == 77:
        print(probe.stderr.strip().splitlines()[-1])
        sys.exit(77)
    unittest.main(verbosity=2, argv=sys.argv[:1])
