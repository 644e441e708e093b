# SPDX-License-Identifier: BSD-3-Clause
"""A random program under valgrind's memcheck: no error may have a frame of libhcoll in it, and none of its memory is lost (valgrind_errors.py).

usage: test_valgrind.py messages|shared_memory
"""

import os
import shutil
import subprocess
import sys
import tempfile

from valgrind_errors import own_errors

FLAVOUR, BUILD, SOURCE = (os.environ[f"HCOLL_TEST_{name}"] for name in ("FLAVOUR", "BUILD", "SOURCE"))
COMMON = {"LIBHCOLL_SETUP_CALLS": "1", "LIBHCOLL_REPORT": "1", "LIBHCOLL_PLAN_CACHE": "4k"}
ALGORITHMS = {"messages": {"LIBHCOLL_BCAST": "chain:segment=1k", "LIBHCOLL_REDUCE": "binomial:segment=1k",
                           "LIBHCOLL_ALLREDUCE": "recursive_doubling:segment=2k"},
              "shared_memory": {"LIBHCOLL_BCAST": "shared", "LIBHCOLL_REDUCE": "shared", "LIBHCOLL_ALLREDUCE": "shared",
                                "LIBHCOLL_SHARED_BUFFER": "64k"}}


def main():
    if shutil.which("valgrind") is None:
        print("SKIP: needs valgrind")
        return 77
    chosen = COMMON | ALGORITHMS[sys.argv[1]]
    settings = [word for name, value in chosen.items() for word in ("-e", f"{name}={value}")]
    settings += ["-e", f"LD_PRELOAD={BUILD}/lib/libhcoll.so"]
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{SOURCE}/scripts/mpirun-test", FLAVOUR, "2", *settings, "--", "valgrind", "--quiet",
                   "--leak-check=full", "--show-leak-kinds=definite", "--xml=yes", f"--xml-file={folder}/%p.xml",
                   f"{BUILD}/test/bin/random_oracle.{FLAVOUR}", "--calls", "150",
                   "--no-long-double"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=280)
        print(result.stdout, result.stderr)
        own = list(own_errors(folder))
        ranks = len(os.listdir(folder))
    for _, text in own:
        print(text)
    print(f"{ranks} ranks, {len(own)} errors in libhcoll")
    return 0 if result.returncode == 0 and ranks >= 2 and not own else 1


if __name__ == "__main__":
    sys.exit(main())
