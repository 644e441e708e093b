#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Of the functions of an mpi.h, does libhcoll's table have all that wait, ask whether something is done, or make communicators?

usage: known_functions.py FUNCTIONS.def MPI.H...

What it need not have stands here, with the reason. Exit status: 0 if nothing else is missing, 1 if something is.
"""

import pathlib
import re
import sys

# By their names: collectives that run here, what waits or asks, what makes a communicator or ends one.
CONCERNED = re.compile(r"""I?(Bcast|Reduce|Allreduce|Barrier|Gather|Scatter|Allgather)(_init)?(_c)?
    |(Wait|Test)(all|any|some)?|Request_get_status.*|Request_free|Start(all)?|Parrived|Pready.*
    |I?[BSR]?send(_c)?|M?Recv(_c)?|Im?recv(_c)?|I?sendrecv(_replace)?(_c)?|[MI]?m?probe|(Buffer|Comm|Session)_(i?flush|detach)(_buffer)?.*
    |Comm_(i?dup|split|create|accept|connect|join|spawn|free|disconnect|set_info)\w*|Cart_(create|sub)|(Dist_)?[Gg]raph_create\w*|Intercomm_\w+
    |Init(_thread)?|Finalize|Session_(init|finalize)|Query_thread|Pcontrol""", re.VERBOSE | re.IGNORECASE)

NEED_NOT = {
    "begins only, and never waits": r"I[bsr]?send(_c)?|Im?recv(_c)?|Isendrecv(_replace)?(_c)?|Pready\w*|(Buffer|Comm|Session)_iflush(_buffer)?",
    "copies and returns": r"Bsend(_c)?",
    "is the MPI library's, and no collective of others waits for it here": r"I(barrier|gather|scatter|allgather)(_c)?|(Barrier|Gather|Scatter|Allgather)_init(_c)?",
    "makes no communicator": r"COMM_DUP_FN|Comm_create_(errhandler|keyval)|Comm_free_keyval|Comm_(set|get)_\w+|Comm_create_errhandler_\w+",
}


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    known = set(re.findall(r"^HCOLL_\w*FUNCTION\((\w+)\)", pathlib.Path(arguments[0]).read_text(encoding="utf-8"), flags=re.MULTILINE))
    declared = set()
    for path in arguments[1:]:
        declared |= set(re.findall(r"\bMPI_([A-Z]\w+)\s*\(", pathlib.Path(path).read_text(encoding="utf-8")))
    concerned = {name for name in declared if CONCERNED.fullmatch(name)}
    assert {"Send", "Ibcast", "Mrecv", "Probe", "Waitall", "Comm_dup"} <= concerned, "patterns find what they are for"
    excused = {name for name in concerned if any(re.fullmatch(pattern, name) for pattern in NEED_NOT.values())}
    missing = sorted(concerned - known - excused)
    for name in missing:
        print(f"MPI_{name} is not in the table, and there is no reason why it need not be")
    print(f"{len(declared)} functions, of which {len(concerned & known)} are in the table, {len(excused - known)} need not be, {len(missing)} are missing")
    return 1 if missing or len(concerned) < 50 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
