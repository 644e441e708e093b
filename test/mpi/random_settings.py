#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of random_traffic and random_nonblocking with random settings: any algorithm with any parameters, layout, size of the shared buffer, number of
ranks and length of messages. Each job is a number, from which all of it is drawn; a job that fails says which one it was.

  random_settings.py FLAVOUR --build DIR [--first NUMBER] [--jobs N | --seconds S]

For hours: random_settings.py openmpi --build build --seconds 36000
"""

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEGMENTS = ["0", "1k", "3k", "64k", "512k"]
WINDOWS = ["1", "2", "4", "64"]
SPLITS = ["0", "1", "2", "9", "auto"]
SHAPES = ["tree", "network", "node", "socket", "in_turn", "exchange"]
# Each seats eight ranks or more.
LAYOUTS = ["auto", "auto", "4x2", "2x4", "2x2x2", "4x2:cyclic", "3x4:reverse", "1x12", "2x8:cyclic", "8x1"]
BUFFERS = ["auto", "64k", "128k", "512k", "8M"]
SINGLE_COPIES = ["1", "20k", "100k"]
PROGRESS = ["thread", "calls", "auto", "off"]
# The same algorithms but what cannot run in the background.
NONBLOCKING = {"bcast": "LIBHCOLL_IBCAST", "reduce": "LIBHCOLL_IREDUCE", "allreduce": "LIBHCOLL_IALLREDUCE"}
SETTINGS = {"bcast": "LIBHCOLL_BCAST", "reduce": "LIBHCOLL_REDUCE", "allreduce": "LIBHCOLL_ALLREDUCE",
            "barrier": "LIBHCOLL_BARRIER"}
# What the library says where something is wrong.
SAID = re.compile(r"LIBHCOLL_(CHECK: |VERIFY: |TRACE: |WATCHDOG: rank)")


def environment_of_jobs(build, patience):
    """No settings of the caller's; a job that takes longer than `patience` seconds hangs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBHCOLL_") and name != "HCOLL_TEST_SEED"}
    environment.setdefault("HCOLL_TEST_IDLE_YIELD", os.path.join(build, "cluster", "libidle_yield.so"))
    return {**environment, "HCOLL_TEST_TIMEOUT": str(patience)}


def known_algorithms(build, collectives=SETTINGS):
    """What hcoll-info lists for each of them: name and parameters."""
    output = subprocess.run([os.path.join(build, "bin", "hcoll-info"), "--json"], capture_output=True, text=True, check=True)
    algorithms = {collective: [] for collective in collectives}
    for entry in json.loads(output.stdout)["algorithms"]:
        if entry["collective"] in algorithms:
            algorithms[entry["collective"]].append((entry["name"], {each["name"]: each["range"] for each in entry["parameters"]}))
    return algorithms


def draw_algorithm(draw, algorithms, has_message, in_background=False):
    over_shared_memory = [] if in_background else [("shared", {}), ("shared", {"single_copy": ""})]
    name, parameters = draw.choice([*algorithms, *over_shared_memory, ("auto", {})])
    chosen = []
    if has_message and "single_copy" in parameters:
        chosen.append("single_copy=" + draw.choice(SINGLE_COPIES))
    for parameter, values in (("s", SPLITS), ("segment", SEGMENTS), ("sends", WINDOWS), ("receives", WINDOWS), ("window", WINDOWS)):
        if parameter in parameters:
            chosen.append(parameter + "=" + draw.choice(values))
    # What cannot be: two trees with a cut through them, and the MPI library's collectives in the background.
    without = ({"two_tree"} if "s" in parameters else set()) | ({"vendor"} if in_background else set())
    for parameter in SHAPES:
        if parameter in parameters and draw.random() < 0.5:
            shapes = parameters[parameter].replace(" or ", ", ").split(", ")
            chosen.append(parameter + "=" + draw.choice([shape for shape in shapes if shape not in without]))
    return name + (":" + ",".join(chosen) if chosen else "")


class Job:
    def __init__(self, number, algorithms):
        draw = random.Random(number)
        self.number = number
        self.ranks = draw.randint(1, 8)
        self.settings = {setting: draw_algorithm(draw, algorithms[collective], collective != "barrier")
                         for collective, setting in SETTINGS.items()}
        self.settings["LIBHCOLL_TOPOLOGY"] = draw.choice(LAYOUTS)
        self.settings["LIBHCOLL_SHARED_BUFFER"] = draw.choice(BUFFERS)
        self.settings["LIBHCOLL_SHARED_MEMORY"] = draw.choice(["1", "1", "1", "0"])
        self.settings["LIBHCOLL_SPARSE"] = draw.choice(["0"] * 7 + ["1"])
        self.settings["LIBHCOLL_SETUP_CALLS"] = draw.choice(["1", "3"])
        self.program = draw.choice(["random_traffic", "random_nonblocking"])
        if self.program == "random_nonblocking":
            self.settings["LIBHCOLL_PROGRESS"] = draw.choice(PROGRESS)
            for collective, setting in NONBLOCKING.items():
                self.settings[setting] = draw_algorithm(draw, algorithms[collective], True, True)
        max_bytes = draw.choice([20_000, 300_000, 300_000, 4_000_000])
        length = "60" if max_bytes > 1_000_000 else "400"
        self.options = ["--seed", str(number), "--max-bytes", str(max_bytes), "--late", draw.choice(["0", "300", "2000"])]
        if self.program == "random_traffic":
            self.options += ["--calls", length]
        else:
            self.options += ["--steps", length, "--thread-level", draw.choice(["0", "1", "3"]), "--threads",
                             draw.choice(["1", "1", "2", "3"])]

        # In half of the jobs ranks compare their calls, in half results are compared with the MPI library's.
        self.settings["LIBHCOLL_CHECK"] = draw.choice(["0", "1"])
        self.settings["LIBHCOLL_VERIFY"] = draw.choice(["0", "0", "1", "3"])
        # Calls are noted; nobody is to be accused.
        self.settings["LIBHCOLL_WATCHDOG"] = draw.choice(["off", "24h"])
        self.traces = draw.choice([False, False, True]) and self.settings["LIBHCOLL_SPARSE"] == "0"

    def leave_out_threads(self):
        """What other draws are made stays as it is."""
        if self.program == "random_nonblocking":
            if self.settings["LIBHCOLL_PROGRESS"] == "thread":
                self.settings["LIBHCOLL_PROGRESS"] = "calls"
            for option in ("--thread-level", "--threads"):
                self.options[self.options.index(option) + 1] = "0" if option == "--thread-level" else "1"

    def command(self, flavour, build, trace_folder):
        command = [os.path.join(SOURCE, "scripts", "mpirun-test"), flavour, str(self.ranks)]
        settings = {**self.settings, "LD_PRELOAD": os.path.join(build, "lib", "libhcoll.so")}
        if self.traces:
            settings["LIBHCOLL_TRACE"] = trace_folder
        for name, value in settings.items():
            command += ["-e", f"{name}={value}"]
        return [*command, "--", os.path.join(build, "test", "bin", f"{self.program}.{flavour}"), *self.options]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    parser.add_argument("--first", type=int, default=None, help="the first job (default: any)")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--without-threads", action="store_true", help="no two threads have messages under way")
    arguments = parser.parse_args()
    if arguments.jobs is None and arguments.seconds is None:
        arguments.jobs = 1
    build = os.path.abspath(arguments.build)
    algorithms = known_algorithms(build)
    number = arguments.first if arguments.first is not None else int(time.time()) % 1_000_000 * 100
    environment = environment_of_jobs(build, 60)
    start = time.monotonic()
    done = 0
    failed = []
    while (arguments.jobs is None or done < arguments.jobs) and (
            arguments.seconds is None or time.monotonic() - start < arguments.seconds):
        job = Job(number + done, algorithms)
        if arguments.without_threads:
            job.leave_out_threads()
        with tempfile.TemporaryDirectory() as folder:
            command = job.command(arguments.flavour, build, os.path.join(folder, "trace"))
            result = subprocess.run(command, env=environment, capture_output=True, text=True)
        if result.returncode != 0 or SAID.search(result.stdout + result.stderr):
            failed.append(job.number)
            print(f"job {job.number} ended with {result.returncode}; again: {os.path.relpath(__file__)} {arguments.flavour} "
                  f"--build {arguments.build} --first {job.number}{' --without-threads' if arguments.without_threads else ''}\n{shlex.join(command)}\n{result.stdout}{result.stderr}",
                  flush=True)
        done += 1
    print(f"{done} jobs from {number}, {len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
