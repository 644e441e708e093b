#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are killed, or stopped for a while, at random moments of random jobs (random_settings.py): of any algorithm, over shared memory, messages
or single copies, with a progress thread or without.

A job of which a rank was killed ends, as it does without the library; no process stays, and nothing new is left in /dev/shm but what MPI libraries call their own. A job of
which a rank was stopped goes on to the right results.

  faults.py FLAVOUR --build DIR [--first NUMBER] [--faults N] [--stop SECONDS]

For hours: faults.py openmpi --build build --faults 1000 --stop 5 (SIGTERM or Ctrl-C: it tells of those that were, after the one that is)
"""

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

import random_settings

MARK = "HCOLL_FAULTS_JOB"
# Those of jobs beside this one, and what a killed one leaves of its MPI library's, with this library or without.
OF_MPI_LIBRARIES = ("mpich_", "ucx_shm_posix", "vader_segment", "sm_segment", "open_mpi.", "sem.")
# A job that takes longer hangs. Beside other programs on its cores one takes a minute.
PATIENCE = 240


def processes_of(name, mark, program):
    """Of the job, by what is in their environment: those that run `program`, or any."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"{name}={mark}\0".encode() not in file.read():
                    continue
            if program is None or os.path.basename(os.readlink(f"/proc/{entry}/exe")).startswith(program):
                found.append(int(entry))
        except OSError:
            continue  # it is gone
    return found


def send(process, which):
    try:
        os.kill(process, which)
        return True
    except ProcessLookupError:
        return False


def shared_files():
    return set(os.listdir("/dev/shm"))


def end_of_all(name, mark, before):
    """What a job has left, when its processes have had time to end: "" where there is nothing. They are killed."""
    end = time.monotonic() + 10
    while (left := processes_of(name, mark, None)) and time.monotonic() < end:
        time.sleep(0.05)
    for process in left:
        send(process, signal.SIGKILL)
    if left:
        return f"processes stay: {left}"
    new = [file for file in shared_files() - before if not file.startswith(OF_MPI_LIBRARIES)]
    return f"files stay in /dev/shm: {new}" if new else ""


class Fault:
    """One job, and what happens to one of its ranks."""

    def __init__(self, number, algorithms, stop_seconds):
        draw = random.Random(f"fault {number}")
        self.job = random_settings.Job(number, algorithms)
        self.job.ranks = max(2, self.job.ranks)
        self.is_kill = draw.random() < 0.5
        self.victim = draw.random()
        self.after = draw.uniform(0.0, 0.5)
        self.stop_seconds = stop_seconds
        self.mark = f"{os.getpid()}-{number}"

    def run(self, flavour, build, environment):
        """What is wrong, "" where nothing is; None where the job was over before anything could happen."""
        before = shared_files()
        folder = tempfile.TemporaryDirectory()
        command = self.job.command(flavour, build, os.path.join(folder.name, "trace"))
        self.command = shlex.join(command)
        with tempfile.NamedTemporaryFile("r", errors="replace") as output, open(output.name, "wb") as write_end:
            job = subprocess.Popen(command, env={**environment, MARK: self.mark}, stdout=write_end, stderr=subprocess.STDOUT)
            victim = self.find_victim(job, output)
            if victim is not None:
                time.sleep(self.after)
            hit = victim is not None and send(victim, signal.SIGKILL if self.is_kill else signal.SIGSTOP)
            if hit and not self.is_kill:
                time.sleep(self.stop_seconds)
                send(victim, signal.SIGCONT)
            problem = ""
            try:
                status = job.wait(timeout=PATIENCE + 30)
            except subprocess.TimeoutExpired:
                status = None
                problem = "the job does not end"
            output.seek(0)
            self.output = output.read()
        if not problem and "HANG" in self.output:
            problem = "the job hangs"
        if not problem and "FAIL " in self.output:
            problem = "a result is wrong"
        if not problem and hit and not self.is_kill and status != 0:
            problem = f"the job of which a rank was stopped ends with {status}"
        left = end_of_all(MARK, self.mark, before)
        folder.cleanup()
        problem = problem or left
        return problem if hit or problem else None

    def find_victim(self, job, output):
        """One of the ranks, as soon as MPI_Init is over; None where the job ends before. (Open MPI's launcher may hang where a rank is killed in it.)"""
        while job.poll() is None:
            ranks = processes_of(MARK, self.mark, self.job.program)
            output.seek(0)
            if len(ranks) >= self.job.ranks and "HCOLL_TEST_SEED=" in output.read():
                return sorted(ranks)[int(self.victim * self.job.ranks)]
            time.sleep(0.01)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    parser.add_argument("--first", type=int, default=None, help="the first job (default: any)")
    parser.add_argument("--faults", type=int, default=6)
    parser.add_argument("--stop", type=float, default=0.5, metavar="SECONDS")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    algorithms = random_settings.known_algorithms(build)
    first = arguments.first if arguments.first is not None else int(time.time()) % 1_000_000 * 100
    environment = random_settings.environment_of_jobs(build, PATIENCE)
    done = {"killed": 0, "stopped": 0}
    failed = []
    number = first
    is_over = threading.Event()
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, lambda *_: is_over.set())
    while sum(done.values()) < arguments.faults and number < first + 20 * arguments.faults and not is_over.is_set():
        fault = Fault(number, algorithms, arguments.stop)
        problem = fault.run(arguments.flavour, build, environment)
        if problem is not None:
            done["killed" if fault.is_kill else "stopped"] += 1
        if problem:
            failed.append(number)
            print(f"fault {number} ({'kill' if fault.is_kill else 'stop'} after {fault.after:.3f} s): {problem}; again: "
                  f"{os.path.relpath(__file__)} {arguments.flavour} --build {arguments.build} --first {number} --faults 1\n"
                  f"{fault.command}\n{fault.output}", flush=True)
        number += 1
    print(f"{done['killed']} ranks killed, {done['stopped']} stopped, in jobs from {first} on, {len(failed)} failed"
          f"{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed or sum(done.values()) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
