! SPDX-License-Identifier: BSD-3-Clause
! Collectives from Fortran by way of mpi_f08: in-place, MPI_BOTTOM with an absolute address, all values checked.
program abi_f08
    use mpi_f08
    implicit none
    integer, parameter :: n = 1000, rounds = 25
    integer :: rank, ranks, round, root, i
    integer, target :: values(n), sums(n)
    external :: touch
    double precision :: reals(n)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    do round = 1, rounds
        root = mod(round, ranks)

        values = merge([(round * 10000 + i, i = 1, n)], -1, rank == root)
        call MPI_Bcast(values, n, MPI_INTEGER, root, MPI_COMM_WORLD)
        call expect(all(values == [(round * 10000 + i, i = 1, n)]), 'MPI_Bcast')

        values = [(rank + round + i, i = 1, n)]
        call MPI_Allreduce(values, sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        call expect(all(sums == sum_of_ranks(round)), 'MPI_Allreduce')
        call MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        call expect(all(values == sum_of_ranks(round)), 'MPI_Allreduce in place')

        reals = rank + 1
        if (rank == 0) then
            call MPI_Reduce(MPI_IN_PLACE, reals, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
            call expect(all(reals == ranks), 'MPI_Reduce in place')
        else
            call MPI_Reduce(reals, reals, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
            call expect(all(reals == rank + 1), 'MPI_Reduce changed its send buffer')
        end if

        call MPI_Barrier(MPI_COMM_WORLD)
        call at_bottom(round, root)
    end do
    call MPI_Finalize()
    if (rank == 0) print '(a)', 'ok abi_f08'

contains

    function sum_of_ranks(round) result(sums)
        integer, intent(in) :: round
        integer :: sums(n), i

        sums = [(ranks * (ranks - 1) / 2 + ranks * (round + i), i = 1, n)]
    end function

    ! The buffer is named by its absolute address in a datatype.
    subroutine at_bottom(round, root)
        integer, intent(in) :: round, root
        integer, asynchronous :: buffer(n)
        integer(MPI_ADDRESS_KIND) :: address(1)
        type(MPI_Datatype) :: absolute

        call MPI_Get_address(buffer, address(1))
        call MPI_Type_create_hindexed(1, [n], address, MPI_INTEGER, absolute)
        call MPI_Type_commit(absolute)
        buffer = merge(round, -1, rank == root)
        call MPI_Bcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD)
        call touch(buffer)
        call expect(all(buffer == round), 'MPI_Bcast at MPI_BOTTOM')
        call MPI_Type_free(absolute)
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what

        if (holds) return
        print '(a, i0, a, a)', 'FAIL abi_f08: rank ', rank, ': wrong values by ', what
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program

! Keeps the compiler from holding the buffer in registers (MPICH 5.0 has no MPI_F_sync_reg for mpi_f08 that could be linked to).
subroutine touch(buffer)
    implicit none
    integer :: buffer(*)

    if (buffer(1) == -huge(1)) print *, buffer(1)
end subroutine
