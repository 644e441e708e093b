#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What memcheck says of libhcoll, of what it says of a process.

usage: valgrind_errors.py FOLDER    prints the errors in valgrind's XML files there that have a frame of libhcoll; exit status 1 if there are any

The MPI libraries have errors of their own under valgrind, which do not count, nor does what hwloc leaves behind there.
"""

import os
import sys
import xml.etree.ElementTree as xml


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


def errors_in(file):
    """All that are in it, also where the process was killed before its end."""
    try:
        for _, element in xml.iterparse(file):
            if element.tag == "error":
                yield element
    except xml.ParseError:
        pass


def own_errors(folder):
    """As (file, text), the same place once."""
    seen = set()
    for name in sorted(os.listdir(folder)):
        for error in errors_in(os.path.join(folder, name)):
            if not is_own(error):
                continue
            frames = [f"  {frame.findtext('fn')} ({frame.findtext('file')}:{frame.findtext('line')})" for frame in error.iter("frame")]
            text = "\n".join([error.findtext("kind"), str(error.findtext("what") or error.findtext("xwhat/text")), *frames])
            if text not in seen:
                seen.add(text)
                yield name, text


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    own = list(own_errors(sys.argv[1]))
    for name, text in own:
        print(f"{name}: {text}")
    processes = len(os.listdir(sys.argv[1]))
    print(f"{processes} processes, {len(own)} errors in libhcoll")
    return 1 if own or processes == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
