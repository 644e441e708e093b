# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks of a job are that does not end."""

import os
import shutil
import subprocess
import sys


def _ranks(job):
    """The processes of the job that have loaded an MPI library, as they are numbered outside the nodes."""
    mark = f"HCOLL_CLUSTER_JOB={job}".encode()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as environment, open(f"/proc/{entry}/maps", "rb") as maps:
                if mark in environment.read().split(b"\0") and b"/libmpi" in maps.read():
                    yield entry
        except OSError:
            pass


def print_stacks(job):
    if shutil.which("gdb") is None:
        print("(no gdb: no stacks)", file=sys.stderr)
        return
    for process in _ranks(job):
        print(f"--- process {process}", file=sys.stderr)
        try:
            result = subprocess.run(["gdb", "-batch", "-nx", "-p", process, "-ex", "thread apply all bt 30"], text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20)
        except subprocess.TimeoutExpired:
            continue
        print("\n".join(line for line in result.stdout.splitlines() if line.startswith(("Thread", "#"))), file=sys.stderr)
