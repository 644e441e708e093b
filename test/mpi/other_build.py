#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of which one rank has a libhcoll of another build, as in nodes that were not all updated: all leave collectives to the MPI library, and one line says so.

  other_build.py FLAVOUR --build DIR
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RANKS = 4
ON_ONE_RANK = 'if [ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$PMIX_RANK}}" = "$0" ]; then export LD_PRELOAD="$1"; fi; shift; exec "$@"'
SAID = "the libhcoll of rank {} is of another build than that of rank 0"
OWN = re.compile(r"(\d+) collectives on own algorithms")


def make_other(build, folder):
    """A copy of the library that says that it is of another build."""
    name = re.search(r'HCOLL_BUILD "([^"]+)"', (build / "generated" / "hcoll" / "build.h").read_text(encoding="utf-8")).group(1).encode()
    for library in (build / "lib").glob("libhcoll*.so"):
        copy = folder / library.name
        shutil.copy(library, copy)
        copy.write_bytes(copy.read_bytes().replace(name, name[:-4] + b"0ld0"))
    return folder / "libhcoll.so"


def run(arguments, preload, rank, other):
    job = subprocess.run([SOURCE / "scripts" / "mpirun-test", arguments.flavour, str(RANKS), "-e", f"LD_PRELOAD={preload}", "-e", "LIBHCOLL_REPORT=1",
                          "-e", "LIBHCOLL_ALLREDUCE=recursive_doubling", "-e", "LIBHCOLL_SETUP_CALLS=1", "--", "sh", "-c", ON_ONE_RANK, str(rank), other,
                          arguments.build / "test" / "bin" / f"finalize.{arguments.flavour}", "--case", "unfreed"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return job.returncode, job.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    own = arguments.build / "lib" / "libhcoll.so"
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        other = make_other(arguments.build, pathlib.Path(folder))
        # Settings are told from 0 to 1 and 2, and from 2 to 3. Where rank 0 is the odd one, the last of all is named.
        for preload, odd, named in ((own, 0, 3), (own, 2, 2), (own, 3, 3), (other, 4, None)):
            status, output = run(arguments, preload, odd, other)
            said = [rank for rank in range(RANKS) for _ in range(output.count(SAID.format(rank)))]
            runs_own = any(int(number) > 0 for number in OWN.findall(output))
            if status != 0 or said != ([] if named is None else [named]) or runs_own != (named is None):
                failed = True
                print(f"FAIL: rank {odd} of another build: status {status}, said of {said}\n{output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
