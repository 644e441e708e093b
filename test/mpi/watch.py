#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that hang, and the text that LIBHCOLL_WATCHDOG has for them; then they are let go, and end as if nothing had been.

  watch.py FLAVOUR --build DIR
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKS = 4
failures = []


def expect(is_so, what, output):
    if not is_so:
        failures.append(what)
        print(f"FAIL: {what}\n{output}", file=sys.stderr)


class Hang:
    """A job that hangs. Its output is read line by line, to know how far it is."""

    def __init__(self, flavour, build, folder, case, settings, limit="300ms"):
        self.file = os.path.join(folder, "go-on")
        if os.path.exists(self.file):
            os.remove(self.file)
        command = [os.path.join(SOURCE, "scripts", "mpirun-test"), flavour, str(RANKS)]
        for setting in [f"LD_PRELOAD={os.path.join(build, 'lib', 'libhcoll.so')}", f"LIBHCOLL_WATCHDOG={limit}",
                        "LIBHCOLL_SETUP_CALLS=1", *settings]:
            command += ["-e", setting]
        command += ["--", os.path.join(build, "test", "bin", f"hanging.{flavour}"), "--case", case, "--until", self.file]
        self.past = ""
        self.output = ""
        self.job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    errors="replace", env=dict(os.environ, HCOLL_TEST_TIMEOUT="60"))

    def read_until(self, pattern):
        """All that was written up to a line with that, or to the end."""
        while True:
            line = self.job.stdout.readline()
            if not line:
                return False
            self.output += line
            if re.search(pattern, line):
                return True

    def processes(self):
        """Of all ranks."""
        found = {}
        while len(found) < RANKS and self.read_until(r"rank \d+ is process \d+"):
            found = {int(rank): int(process) for rank, process in re.findall(r"rank (\d+) is process (\d+)", self.output)}
        return found

    def kill(self):
        for process in re.findall(r"is process (\d+)", self.past + self.output):
            try:
                os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                pass  # the launcher was faster
        self.job.wait()

    def go_on(self):
        with open(self.file, "w", encoding="utf-8"):
            pass
        self.read_until("nothing more comes")
        return self.job.wait()


def told(hang, what, patterns, ends_well=True, ask_again=lambda: None):
    """The text comes, with all of that, and once; the job then goes on to its end, or is killed.

    Where other programs have the cores, calls before the hang can take as long as the limit: what is told of those comes first, and does not count."""
    while hang.read_until(r"What is waited for|wait for each other|is inside$|No rank |Not all ranks"):
        if not re.search(r"No rank waits: none was in the same call|No rank is in a call", hang.output):
            break
        hang.past += hang.output
        hang.output = ""
        ask_again()
    if not ends_well and what != "a rank that is stopped":
        hang.kill()
    for pattern in patterns:
        expect(re.search(pattern, hang.output), f"{what}: {pattern}", hang.output)
    if ends_well:
        status = hang.go_on()
        expect(status == 0 and "ok hanging" in hang.output, f"{what}: the job goes on (exit status {status})", hang.output)
    expect(hang.output.count("LIBHCOLL_WATCHDOG") == 1, f"{what}: one text", hang.output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hcoll_watch_") as folder:

        def hang(case, *settings, **others):
            return Hang(arguments.flavour, arguments.build, folder, case, settings, **others)

        late = [r"rank \d has been in MPI_Allreduce for \d+\.\d s\. 4 ranks:",
                r"MPI_Allreduce of MPI_SUM, 4000 bytes of int32, the 5th collective on a duplicate of MPI_COMM_WORLD",
                r"rank 3: in no call that is watched, .*its last collective was the 4th, MPI_Allreduce",
                r"process \d+ on \S+; its last collectives: the 4th, MPI_Allreduce.* ago, took 0\.",
                r"What is waited for: rank 3$"]
        told(hang("late", "LIBHCOLL_ALLREDUCE=shared"), "shared memory",
             late + ["running shared", r"waits for rank \d in shared memory"])
        told(hang("late", "LIBHCOLL_ALLREDUCE=vendor"), "the MPI library's",
             late + [r"ranks 0-2: .*inside the MPI library, for .*; rank 3 has not come to it"])
        told(hang("late", "LIBHCOLL_ALLREDUCE=ring", "LIBHCOLL_TOPOLOGY=4x1"), "a plan", 
             late + ["running ring", r"rank 0: waits for a message of rank 3 \(step \d+ of its plan\)"])
        told(hang("late", "LIBHCOLL_ENABLE=0"), "the library is off", late + ["inside the MPI library"])
        told(hang("ahead", "LIBHCOLL_REDUCE=shared", "LIBHCOLL_BCAST=shared"), "a root that has left",
             [r"MPI_Reduce of MPI_SUM, root 0", r"What is waited for: rank 3$"])
        for progress in ["thread", "calls", "off"]:
            told(hang("request", f"LIBHCOLL_PROGRESS={progress}"), f"a request, moved by {progress}",
                 [r"rank \d has been in MPI_Wait ", r"in MPI_Wait", r"What is waited for: rank 3$"])
        told(hang("message"), "a message", [r"rank 3: in MPI_Recv", r"rank 0: in no call", r"What is waited for: ranks 0, 3$"])
        # Of communicators of the same processes, those that were made first are the first ones, whatever is used first.
        told(hang("order"), "two orders", [r"on a duplicate of MPI_COMM_WORLD \(the 2nd made of MPI_COMM_WORLD\)",
                                          r"\(the 3rd made of MPI_COMM_WORLD\)", "Ranks wait for each other: "], ends_well=False)
        told(hang("mismatch", "LIBHCOLL_ENABLE=0"), "different calls",
             [r"Not all ranks make the same call in the 5th collective on a duplicate of MPI_COMM_WORLD.*: ranks 0-2: MPI_Bcast, root 3; rank 3: MPI_Barrier"],
             ends_well=False)
        # The others have left the last collective on a communicator, and freed it.
        told(hang("freed", "LIBHCOLL_BCAST=vendor"), "a communicator that is freed", [r"rank 3: in no call", r"What is waited for: rank 3$"])
        told(hang("split"), "MPI_Comm_split", [r"rank \d has been in MPI_Comm_split for", r"ranks 0-2: in MPI_Comm_split"])
        # Nobody lets these go on.
        told(hang("circle"), "a circle", ["MPI_Barrier, the 5th collective on a duplicate", "MPI_Barrier, the 1st collective on MPI_COMM_WORLD",
                                  "Ranks wait for each other: "], ends_well=False)

        # One that is stopped says nothing: so the others say it.
        stopped = hang("late")
        process = stopped.processes().get(3)
        os.kill(process, signal.SIGSTOP)
        told(stopped, "a rank that is stopped", [r"rank 3: does not answer: stopped, or .* \(process \d+ on ",
                                                 r"What is waited for: rank 3$"], ends_well=False)
        os.kill(process, signal.SIGCONT)
        expect(stopped.go_on() == 0, "a rank that was stopped goes on", stopped.output)

        # On a signal, as often as it comes.
        # The program's child, which has nobody who watches, ends by the signal.
        child = hang("child")
        expect(child.go_on() == 0, "a child", child.output)

        asked = hang("late", limit="signal")
        process = asked.processes().get(2)

        def ask():
            os.kill(process, signal.SIGUSR2)

        ask()
        told(asked, "SIGUSR2", ["SIGUSR2 has come to rank 2", "4 ranks:"], ask_again=ask)

        wrong = hang("late", limit="soon")
        wrong.go_on()
        expect("LIBHCOLL_WATCHDOG" in wrong.output and "neither off nor signal nor a time" in wrong.output, "a wrong limit is named", wrong.output)
        sparse = hang("late", "LIBHCOLL_SPARSE=1")
        sparse.go_on()
        expect("nobody watches" in sparse.output and sparse.output.count("LIBHCOLL_WATCHDOG") == 1, "among neighbors nobody watches", sparse.output)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
