#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose memory control group has too little memory, and jobs that find /dev/shm full.

Where there is enough memory for the MPI library alone the job may do without shared memory, but ends right. Where there is too little for any, the kernel kills a process of it
or it ends with an error. A page of shared memory that cannot be had (SIGBUS) or a wrong result must not come, and nothing is left behind.

  little_memory.py FLAVOUR --build DIR

Exit status 77 where this process may make no control groups and no mounts of its own.
"""

import argparse
import os
import re
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKS = 4
LIMITS = [600, 300, 150, 100, 70, 50, 35, 20]  # MiB
BUS_ERROR = re.compile(r"signal 7\b|Bus error|SIGBUS")
failures = []


def expect(is_so, what, output):
    if not is_so:
        failures.append(what)
        print(f"FAIL: {what}\n{output}", file=sys.stderr)


class MemoryGroup:
    """A memory control group of this process's own, of version 1 or 2."""

    def __init__(self):
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.strip().split(":", 2) for line in file]
        by_controller = {name: path for _, names, path in lines for name in names.split(",")}
        if os.path.isdir("/sys/fs/cgroup/memory"):
            self.limit, parent = "memory.limit_in_bytes", "/sys/fs/cgroup/memory" + by_controller.get("memory", "/")
        else:
            self.limit, parent = "memory.max", "/sys/fs/cgroup" + by_controller.get("", "/")
        self.path = os.path.join(parent, f"hcoll-test-{os.getpid()}")
        os.mkdir(self.path)
        if not os.path.exists(os.path.join(self.path, self.limit)):
            os.rmdir(self.path)
            raise OSError(f"{self.path} has no {self.limit}")

    def set_limit(self, mebibytes):
        with open(os.path.join(self.path, self.limit), "w", encoding="utf-8") as file:
            file.write(str(mebibytes << 20))

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A process that was killed takes a moment to go.
        for _ in range(100):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.1)


def run(arguments, with_library, before=None, prefix=()):
    command = [*prefix, os.path.join(SOURCE, "scripts", "mpirun-test"), arguments.flavour, str(RANKS)]
    settings = {"LIBHCOLL_SETUP_CALLS": "1", "LIBHCOLL_SHARED_BUFFER": "8M", "LIBHCOLL_BCAST": "shared", "LIBHCOLL_REDUCE": "shared",
                "LIBHCOLL_ALLREDUCE": "shared"}
    if with_library:
        settings["LD_PRELOAD"] = os.path.join(arguments.build, "lib", "libhcoll.so")
    for name, value in settings.items():
        command += ["-e", f"{name}={value}"]
    command += ["--", os.path.join(arguments.build, "test", "bin", f"random_traffic.{arguments.flavour}"), "--seed", "7", "--max-bytes", "4000000",
                "--calls", "40", "--late", "0"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=before,
                          env=dict(os.environ, HCOLL_TEST_TIMEOUT="60"))
    return done.returncode, done.stdout


def own_shared_memory(size=None):
    """What runs a command with a /dev/shm of its own, of that size, and tells of files of the library's that stay there. Those that MPI libraries leave when
    their ranks are killed go with it."""
    option = f"-o size={size} " if size else ""
    script = (f'mount -t tmpfs {option}none /dev/shm || exit 125; "$@"; status=$?; '
              'for name in /dev/shm/*hcoll*; do [ ! -e "$name" ] || echo "LEFT $name"; done; exit $status')
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def judge(what, status, output, goes_without):
    expect("LEFT" not in output, f"{what}: nothing is left in /dev/shm", output)
    expect(not BUS_ERROR.search(output), f"{what}: no SIGBUS", output)
    expect("HANG" not in output, f"{what}: it ends", output)
    expect(not re.search("^FAIL (?!.*an MPI call returned an error)", output, re.MULTILINE), f"{what}: no wrong result", output)
    if goes_without:
        expect(status == 0, f"{what}: it runs, as it does without the library", output)


def check_memory_groups(arguments, prefix):
    # What the ranks' own memory and eight segments of 8 MiB and half as much for results take: twice of that runs in any case.
    enough = 300
    with MemoryGroup() as group:
        for limit in LIMITS:
            group.set_limit(limit)
            status, output = run(arguments, True, group.enter, prefix)
            judge(f"{limit} MiB", status, output, limit >= enough)
            print(f"{limit} MiB: {'runs' if status == 0 else f'ends with {status}'}")


def check_full_shared_memory(arguments):
    for size in ("4k", "1m", "16m"):
        prefix = own_shared_memory(size)
        alone, _ = run(arguments, False, None, prefix)
        status, output = run(arguments, True, None, prefix)
        judge(f"/dev/shm of {size}", status, output, alone == 0)
        print(f"/dev/shm of {size}: {'runs' if status == 0 else f'ends with {status}'}; without the library {'runs' if alone == 0 else f'ends with {alone}'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    skipped = []
    before = set(os.listdir("/dev/shm"))
    has_namespaces = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
    try:
        check_memory_groups(arguments, own_shared_memory() if has_namespaces else ())
    except OSError as reason:
        skipped.append(f"no memory control group can be made: {reason}")
    if has_namespaces:
        check_full_shared_memory(arguments)
    else:
        skipped.append("no mount namespace can be made")
    left = [name for name in set(os.listdir("/dev/shm")) - before if "hcoll" in name]
    expect(not left, "nothing is left in /dev/shm", str(left))
    for reason in skipped:
        print(f"SKIP: {reason}")
    if failures:
        print(f"FAIL: {len(failures)}")
        return 1
    if len(skipped) == 2:
        return 77
    print("PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
