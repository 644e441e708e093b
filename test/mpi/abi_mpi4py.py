# SPDX-License-Identifier: BSD-3-Clause
"""Collectives from Python: mpi4py with NumPy arrays and pickled objects, user operations, communicators.

Exits with 77 where mpi4py or NumPy is missing. mpi4py loads the MPI library privately (RTLD_LOCAL), which is what makes
this program a test of its own.
"""

import sys

try:
    import numpy
    from mpi4py import MPI
except ImportError as error:
    print(f"SKIP abi_mpi4py: {error}")
    sys.exit(77)

ROUNDS = 25
COUNT = 1000


def expect(holds, what):
    if not holds:
        print(f"FAIL abi_mpi4py: rank {MPI.COMM_WORLD.rank}: wrong result of {what}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


def add_bytes(left, right, datatype):
    right_values = numpy.frombuffer(right, dtype="i8")
    right_values += numpy.frombuffer(left, dtype="i8")


def use_arrays(comm, number):
    root = number % comm.size
    pattern = numpy.arange(COUNT, dtype="f8") + number
    values = pattern.copy() if comm.rank == root else numpy.full(COUNT, -1.0)
    comm.Bcast(values, root=root)
    expect((values == pattern).all(), "Bcast")

    own = numpy.arange(COUNT, dtype="i8") * (comm.rank + 1) + number
    total = numpy.arange(COUNT, dtype="i8") * (comm.size * (comm.size + 1) // 2) + number * comm.size
    result = numpy.full(COUNT, -1, dtype="i8")
    comm.Allreduce(own, result, op=MPI.SUM)
    expect((result == total).all(), "Allreduce")
    result = own.copy()
    comm.Allreduce(MPI.IN_PLACE, result, op=MPI.SUM)
    expect((result == total).all(), "Allreduce in place")
    result = numpy.full(COUNT, -1, dtype="i8")
    comm.Reduce(own, result, op=MPI.SUM, root=root)
    expect((result == (total if comm.rank == root else -1)).all(), "Reduce")

    comm.Barrier()
    operation = MPI.Op.Create(add_bytes, commute=True)
    result = numpy.full(COUNT, -1, dtype="i8")
    comm.Allreduce(own, result, op=operation)
    operation.Free()
    expect((result == total).all(), "Allreduce with a user operation")


def use_objects(comm, number):
    root = number % comm.size
    thing = {"round": number, "list": list(range(number))}
    received = comm.bcast(thing if comm.rank == root else None, root=root)
    expect(received == thing, "bcast")
    expect(comm.allreduce([comm.rank], op=MPI.SUM) == list(range(comm.size)), "allreduce of lists (in rank order)")
    collected = comm.reduce(str(comm.rank), op=MPI.SUM, root=root)
    if comm.rank == root:
        expect(collected == "".join(map(str, range(comm.size))), "reduce of strings (in rank order)")


def main():
    for number in range(ROUNDS):
        use_arrays(MPI.COMM_WORLD, number)
        use_objects(MPI.COMM_WORLD, number)
        duplicate = MPI.COMM_WORLD.Dup()
        reverse = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.rank)
        use_arrays(duplicate, number)
        use_objects(reverse, number)
        duplicate.Free()
        reverse.Free()
    if MPI.COMM_WORLD.rank == 0:
        print("ok abi_mpi4py")


main()
