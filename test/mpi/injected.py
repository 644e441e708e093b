#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random jobs (random_settings.py) in which one call of the library's fails on one rank: of the system (shared memory, mappings, copies between processes, threads, sockets, files),
or of the MPI library (messages, tests, communicators).

A job goes on to the right results, by another way where there is one; or, where the MPI library has failed in a collective or a message, it ends with an MPI error. It must never hang, have
a wrong result or crash, and leaves nothing behind. (docs/results/faults.md: what it has found. It runs by hand; what it has found is a test of its own, mpi.fault_of_*.)

  injected.py FLAVOUR --build DIR [--first NUMBER] [--faults N]

For hours: injected.py openmpi --build build --faults 2000
"""

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

import random_settings
from faults import end_of_all, shared_files

MARK = "HCOLL_INJECTED_JOB"
PATIENCE = 60
# How often a job calls each, about.
SYSTEM = {"memfd_create": 6, "ftruncate": 6, "fallocate": 6, "posix_fallocate": 1, "mmap": 12, "mprotect": 2, "open": 8, "getrandom": 6,
          "process_vm_readv": 60, "process_vm_writev": 60, "pthread_create": 2, "socket": 2, "eventfd": 1}
CALLS = {"Isend": 400, "Issend": 100, "Irecv": 400, "Send": 200, "Recv": 200, "Sendrecv": 100, "Test": 200, "Testsome": 200, "Reduce_local": 100,
         "Grequest_start": 50, "Comm_dup": 3, "Comm_create": 3, "Comm_create_group": 3, "Comm_group": 6, "Comm_split_type": 3}
CRASHES = re.compile(r"signal (4|6|7|8|11)\b|Segmentation fault|Bus error|Aborted|terminate called|invariant|stack smashing|free\(\): |double free")


class Injection:
    """One job, and which call of which rank fails."""

    def __init__(self, number, algorithms):
        draw = random.Random(f"injection {number}")
        self.job = random_settings.Job(number, algorithms)
        self.job.ranks = max(2, self.job.ranks)
        self.is_system = draw.random() < 0.6
        functions = SYSTEM if self.is_system else CALLS
        self.function = draw.choice(list(functions))
        # Small numbers as well as any: what comes first is special.
        most = functions[self.function]
        call = draw.randint(1, most) if draw.random() < 0.6 else min(most, draw.choice([1, 2, 3]))
        suffix = "+" if self.is_system and draw.random() < 0.3 else ""
        self.fault = f"{self.function}:{call}{suffix}:{draw.randrange(self.job.ranks)}"
        # What calls it at all.
        settings = self.job.settings
        if self.function.startswith("process_vm"):
            settings.update({"LIBHCOLL_SHARED_MEMORY": "1", "LIBHCOLL_SPARSE": "0", "LIBHCOLL_TOPOLOGY": "auto"})
            for setting in random_settings.SETTINGS.values():
                if setting != "LIBHCOLL_BARRIER":
                    settings[setting] = "shared:single_copy=1"
        if self.function == "pthread_create":
            settings["LIBHCOLL_WATCHDOG"] = "24h"
            if "LIBHCOLL_PROGRESS" in settings:
                settings["LIBHCOLL_PROGRESS"] = "thread"
        if self.function in ("socket", "eventfd"):
            settings["LIBHCOLL_WATCHDOG"] = "24h"
        if self.function in CALLS and draw.random() < 0.7:
            settings["LIBHCOLL_SHARED_MEMORY"] = "0"
        if self.function == "posix_fallocate":
            self.job.traces = True
            settings["LIBHCOLL_SPARSE"] = "0"
        self.mark = f"{os.getpid()}-{number}"

    def run(self, flavour, build, environment):
        """What is wrong, "" where nothing is; None where the job did not make that call."""
        before = shared_files()
        shim = "libfaulty_system.so" if self.is_system else f"libhcoll_faulty_calls.{flavour}.so"
        with tempfile.TemporaryDirectory() as folder:
            command = self.job.command(flavour, build, os.path.join(folder, "trace"))
            preload = command.index(f"LD_PRELOAD={os.path.join(build, 'lib', 'libhcoll.so')}")
            command[preload] += ":" + os.path.join(build, "test", "lib", shim)
            command[preload + 1:preload + 1] = ["-e", f"HCOLL_TEST_FAULT={self.fault}"]
            self.command = shlex.join(command)
            try:
                done = subprocess.run(command, env={**environment, MARK: self.mark}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      errors="replace", timeout=PATIENCE + 30)
                status, self.output = done.returncode, done.stdout
            except subprocess.TimeoutExpired as late:
                status, self.output = None, str(late.output)
        left = end_of_all(MARK, self.mark, before)
        problem = self.judge(status) or left
        return problem if problem or f"injected: {self.fault}" in self.output else None

    def judge(self, status):
        if status is None or "HANG" in self.output:
            return "the job hangs"
        if CRASHES.search(self.output):
            return "a rank crashes"
        for line in self.output.splitlines():
            if line.startswith("FAIL ") and "an MPI call returned an error" not in line:
                return "a result is wrong"
        if status != 0 and self.is_system:
            return f"the job ends with {status}"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    parser.add_argument("--first", type=int, default=None, help="the first job (default: any)")
    parser.add_argument("--faults", type=int, default=12)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    algorithms = random_settings.known_algorithms(build)
    first = arguments.first if arguments.first is not None else int(time.time()) % 1_000_000 * 100
    environment = random_settings.environment_of_jobs(build, PATIENCE)
    done = {}
    failed = []
    number = first
    while sum(done.values()) < arguments.faults and number < first + 20 * arguments.faults:
        injection = Injection(number, algorithms)
        problem = injection.run(arguments.flavour, build, environment)
        if problem is not None:
            done[injection.function] = done.get(injection.function, 0) + 1
        if problem:
            failed.append(number)
            print(f"fault {number} ({injection.fault}): {problem}; again: {os.path.relpath(__file__)} {arguments.flavour} --build {arguments.build} "
                  f"--first {number} --faults 1\n{injection.command}\n{injection.output}", flush=True)
        number += 1
    print(f"{sum(done.values())} calls failed in {number - first} jobs from {first} on ({', '.join(f'{name} {count}' for name, count in sorted(done.items()))}), "
          f"{len(failed)} jobs failed{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
