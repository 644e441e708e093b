#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program that opens the MPI library itself, through a library that has libhcoll.so first (docs/installation.md).

  opened.py FLAVOUR LIBRARY

On each rank: opens LIBRARY, and makes an MPI program of it.
"""

import ctypes
import sys

CALLS = 20


def main(flavour, library):
    mpi = ctypes.CDLL(library)
    if flavour == "mpich":
        world, type_int, sum_of = ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405), ctypes.c_int(0x58000003)
    else:
        world, type_int, sum_of = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
                                   for name in ("ompi_mpi_comm_world", "ompi_mpi_int", "ompi_mpi_op_sum"))
    assert mpi.MPI_Init(None, None) == 0
    rank, size = ctypes.c_int(), ctypes.c_int()
    assert mpi.MPI_Comm_rank(world, ctypes.byref(rank)) == 0
    assert mpi.MPI_Comm_size(world, ctypes.byref(size)) == 0
    for call in range(CALLS):
        own, all_of_them = ctypes.c_int(rank.value + call), ctypes.c_int()
        assert mpi.MPI_Allreduce(ctypes.byref(own), ctypes.byref(all_of_them), 1, type_int, sum_of, world) == 0
        assert all_of_them.value == sum(range(size.value)) + call * size.value
        told = ctypes.c_int(call if rank.value == 0 else -1)
        assert mpi.MPI_Bcast(ctypes.byref(told), 1, type_int, 0, world) == 0
        assert told.value == call
    assert mpi.MPI_Finalize() == 0
    if rank.value == 0:
        print("ok opened")


if __name__ == "__main__":
    main(*sys.argv[1:])
