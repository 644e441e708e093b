#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of which one rank does not have the library (here by LIBHCOLL_MPI=none): the others wait for it in MPI_Init, and say so, also where settings are so long
(a table) that they leave only when they are received.

  missing_rank.py FLAVOUR --build DIR
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RANKS = 4
ON_ONE_RANK = 'if [ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}" = "$0" ]; then export LIBHCOLL_MPI=none; fi; exec "$@"'
# By the rank that is missing: whom it is that those wait for who may say so.
WAITED_FOR = {0: "rank 0", 1: "rank 1", 3: "ranks 2 to 3"}


def below(process):
    """All processes that it has started."""
    children = pathlib.Path(f"/proc/{process}/task/{process}/children")
    for child in children.read_text(encoding="utf-8").split() if children.exists() else []:
        yield int(child)
        yield from below(int(child))


def end_ranks(job, program):
    for process in list(below(job.pid)):
        try:
            if os.path.samefile(f"/proc/{process}/exe", program):
                os.kill(process, signal.SIGKILL)
        except OSError:
            pass


def write_long_table(path):
    table = json.loads((SOURCE / "docs" / "results" / "table_shaheen2.json").read_text(encoding="utf-8"))
    table["entries"] = [{**entry, "nodes": nodes} for nodes in range(2, 32) for entry in table["entries"]]
    path.write_text(json.dumps(table), encoding="utf-8")


class Job(threading.Thread):
    def __init__(self, arguments, missing, table):
        super().__init__()
        self.missing = missing
        self.output = ""
        self.is_said = False
        self.program = arguments.build / "test" / "bin" / f"regressions.{arguments.flavour}"
        self.command = [SOURCE / "scripts" / "mpirun-test", arguments.flavour, str(RANKS), "-e", f"LD_PRELOAD={arguments.build}/lib/libhcoll.so",
                        "-e", f"LIBHCOLL_TABLE={table}", "--",
                        "sh", "-c", ON_ONE_RANK, str(missing), self.program, "--case", "wrong_calls"]
        self.start()

    def run(self):
        wanted = f"MPI_Init has waited 10 s for {WAITED_FOR[self.missing]}, and goes on waiting: every rank of a job needs the library, or none"
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as job:
            for line in job.stdout:
                self.output += line
                if wanted in line:
                    self.is_said = True
                    end_ranks(job, self.program)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.json"
        write_long_table(table)
        for job in [Job(arguments, missing, "off") for missing in WAITED_FOR] + [Job(arguments, 1, table)]:
            job.join()
            if not job.is_said:
                failed = True
                print(f"FAIL: nobody says that rank {job.missing} is missing\n{job.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
