! SPDX-License-Identifier: BSD-3-Clause
! Collectives from Fortran by way of the mpi module: in-place, MPI_BOTTOM with an absolute address, all values checked.
program abi_usempi
    use mpi
    implicit none
    integer, parameter :: n = 1000, rounds = 25
    integer :: rank, ranks, round, root, i, code
    integer :: values(n), sums(n)
    double precision :: reals(n)

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    do round = 1, rounds
        root = mod(round, ranks)

        values = merge([(round * 10000 + i, i = 1, n)], -1, rank == root)
        call MPI_Bcast(values, n, MPI_INTEGER, root, MPI_COMM_WORLD, code)
        call expect(all(values == [(round * 10000 + i, i = 1, n)]), 'MPI_Bcast')

        values = [(rank + round + i, i = 1, n)]
        call MPI_Allreduce(values, sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        call expect(all(sums == sum_of_ranks(round)), 'MPI_Allreduce')
        call MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        call expect(all(values == sum_of_ranks(round)), 'MPI_Allreduce in place')

        reals = rank + 1
        if (rank == 0) then
            call MPI_Reduce(MPI_IN_PLACE, reals, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, code)
            call expect(all(reals == ranks), 'MPI_Reduce in place')
        else
            call MPI_Reduce(reals, reals, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, code)
            call expect(all(reals == rank + 1), 'MPI_Reduce changed its send buffer')
        end if

        call MPI_Barrier(MPI_COMM_WORLD, code)
        call expect(code == MPI_SUCCESS, 'MPI_Barrier')
        call at_bottom(round, root)
    end do
    call MPI_Finalize(code)
    if (rank == 0) print '(a)', 'ok abi_usempi'

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
        integer :: absolute

        call MPI_Get_address(buffer, address(1), code)
        call MPI_Type_create_hindexed(1, [n], address, MPI_INTEGER, absolute, code)
        call MPI_Type_commit(absolute, code)
        buffer = merge(round, -1, rank == root)
        call touch(buffer)
        call MPI_Bcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD, code)
        call touch(buffer)
        call expect(all(buffer == round), 'MPI_Bcast at MPI_BOTTOM')
        call MPI_Type_free(absolute, code)
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what

        if (holds .and. code == MPI_SUCCESS) return
        print '(a, i0, a, a)', 'FAIL abi_usempi: rank ', rank, ': wrong values by ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end subroutine
end program

! Keeps the compiler from holding the buffer in registers (some mpi modules have MPI_F_sync_reg with another interface).
subroutine touch(buffer)
    implicit none
    integer :: buffer(*)

    if (buffer(1) == -huge(1)) print *, buffer(1)
end subroutine
