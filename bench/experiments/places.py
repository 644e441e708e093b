# SPDX-License-Identifier: BSD-3-Clause
"""Where experiments measure: this machine, or a cluster of namespaces on it; and what several jobs have measured, put together."""

import json
import math
import os
import subprocess
import sys

import experiment
from hcoll_simulation.output import size_text

CLUSTER = os.path.join(experiment.SOURCE, "scripts", "cluster")
COLLECTIVES = "bcast,reduce,allreduce,barrier"


def place_text(nodes, ranks, megabits):
    return f"{nodes * ranks} ranks" if megabits is None else f"{nodes} x {ranks} at {megabits} Mbit/s"


class Place:
    """Where jobs run: on the machine, or on a cluster that is there as long as this is."""

    def __init__(self, options, nodes, ranks, megabits):
        self.options, self.nodes, self.ranks, self.megabits = options, nodes, ranks, megabits
        self.name = f"places-{os.getpid()}"

    def __enter__(self):
        if self.megabits is not None:
            subprocess.run([CLUSTER, "up", "--nodes", str(self.nodes), "--ppn", str(self.ranks), "--rate", f"{self.megabits}mbit",
                            "--name", self.name, "--build", self.options.build], check=True, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        if self.megabits is not None:
            subprocess.run([CLUSTER, "down", self.name], check=True, stdout=subprocess.DEVNULL)

    def line(self, mpi, program, *words, **settings):
        """The command line of a job here, and its environment."""
        environment = dict(os.environ)
        if self.megabits is None:
            line = [os.path.join(experiment.SOURCE, "scripts", "mpirun-test"), mpi, str(self.ranks), "-e",
                    "LD_PRELOAD=" + os.path.join(self.options.build, "lib", "libhcoll.so")]
            for name, value in settings.items():
                line += ["-e", f"{name}={value}"]
            environment["HCOLL_TEST_IDLE_YIELD"] = os.path.join(self.options.build, "cluster", "libidle_yield.so")
            environment["HCOLL_TEST_TIMEOUT"] = str(int(self.options.timeout))
        else:
            line = [CLUSTER, "run", "--on", self.name, "--ppn", str(self.ranks), "--mpi", mpi, "--quiet", "--build", self.options.build]
            for name, value in settings.items():
                line += ["--env", f"{name}={value}"]
        return [*line, "--", os.path.join(self.options.build, "bin", f"{program}.{mpi}"), *words], environment

    def run(self, mpi, program, *words, **settings):
        line, environment = self.line(mpi, program, *words, **settings)
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=self.options.timeout)
        if done.returncode != 0:
            sys.exit(f"{program} ended with status {done.returncode}\n{done.stdout}{done.stderr}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def short(number):
    return float(f"{number:.4g}")


def over_turns(measurements):
    """Medians of what several jobs have measured, point by point: where the system puts ranks differs from job to job."""
    found = []
    for of_point in zip(*measurements):
        middle = sorted(of_point, key=lambda each: each["vendor_over_own"])[len(of_point) // 2]
        found.append({**middle, "of_jobs": [each["vendor_over_own"] for each in of_point]})
    return found


def summary(measurements):
    """Geometric mean, and the smallest with where it is."""
    logarithms = [math.log(each["vendor_over_own"]) for each in measurements]
    worst = min(measurements, key=lambda each: each["vendor_over_own"])
    where = worst["collective"] + ("" if worst["collective"] == "barrier" else " " + size_text(worst["bytes"]))
    return math.exp(sum(logarithms) / len(logarithms)), worst["vendor_over_own"], where
