# SPDX-License-Identifier: BSD-3-Clause
"""A random program under valgrind's memcheck: no error may have a frame of libhcoll in it, and none of its memory is lost.

usage: test_valgrind.py messages|shared_memory

The MPI libraries have errors of their own under valgrind, which do not count, nor does what hwloc leaves behind there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

FLAVOUR, BUILD, SOURCE = (os.environ[f"HCOLL_TEST_{name}"] for name in ("FLAVOUR", "BUILD", "SOURCE"))
COMMON = {"LIBHCOLL_SETUP_CALLS": "1", "LIBHCOLL_REPORT": "1", "LIBHCOLL_PLAN_CACHE": "4k"}
ALGORITHMS = {"messages": {"LIBHCOLL_BCAST": "chain:segment=1k", "LIBHCOLL_REDUCE": "binomial:segment=1k",
                           "LIBHCOLL_ALLREDUCE": "recursive_doubling:segment=2k"},
              "shared_memory": {"LIBHCOLL_BCAST": "shared", "LIBHCOLL_REDUCE": "shared", "LIBHCOLL_ALLREDUCE": "shared",
                                "LIBHCOLL_SHARED_BUFFER": "64k"}}


def is_own(error):
    """Memory is lost by whoever allocated it; anything else concerns whoever took part, but for what the MPI library does to start."""
    frames = list(error.iter("frame"))
    functions = [frame.findtext("fn") or "" for frame in frames]
    starts = [number for number, name in enumerate(functions) if name in ("PMPI_Init", "PMPI_Init_thread")]
    objects = [frame.findtext("obj") or "" for frame in (frames[:starts[0]] if starts else frames)]
    # A part of hwloc 2.12 that finds out that it runs under valgrind.
    if "hwloc_x86_component_instantiate" in functions:
        return False
    if error.findtext("kind").startswith("Leak_"):
        runtime = ("vgpreload", "libc.so", "libstdc++", "ld-linux")
        objects = [name for name in objects if not any(word in name for word in runtime)][:1]
    return any("libhcoll" in name for name in objects)


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
        own = [error for name in os.listdir(folder) for error in xml.parse(f"{folder}/{name}").iter("error")
               if is_own(error)]
        ranks = len(os.listdir(folder))
    for error in own:
        frames = [f"  {frame.findtext('fn')} ({frame.findtext('file')}:{frame.findtext('line')})" for frame in error.iter("frame")]
        print(error.findtext("kind"), error.findtext("what") or error.findtext("xwhat/text"), *frames, sep="\n")
    print(f"{ranks} ranks, {len(own)} errors in libhcoll")
    return 0 if result.returncode == 0 and ranks >= 2 and not own else 1


if __name__ == "__main__":
    sys.exit(main())
