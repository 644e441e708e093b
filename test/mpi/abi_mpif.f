C     SPDX-License-Identifier: BSD-3-Clause
C     Collectives from Fortran 77 by way of mpif.h: in-place, MPI_BOTTOM
C     with an absolute address, all values checked.
      program abi_mpif
      implicit none
      include 'mpif.h'
      integer n, rounds
      parameter (n = 1000, rounds = 25)
      integer rank, ranks, round, root, i, code, absolute
      integer values(n), sums(n), lengths(1)
      double precision reals(n)
      integer(kind=MPI_ADDRESS_KIND) address(1)

      call MPI_INIT(code)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
      do round = 1, rounds
         root = mod(round, ranks)

         do i = 1, n
            values(i) = -1
            if (rank .eq. root) values(i) = round * 10000 + i
         end do
         call MPI_BCAST(values, n, MPI_INTEGER, root,
     &                  MPI_COMM_WORLD, code)
         do i = 1, n
            call expect(values(i), round * 10000 + i, 'MPI_BCAST')
            values(i) = rank + round + i
         end do

         call MPI_ALLREDUCE(values, sums, n, MPI_INTEGER, MPI_SUM,
     &                      MPI_COMM_WORLD, code)
         call MPI_ALLREDUCE(MPI_IN_PLACE, values, n, MPI_INTEGER,
     &                      MPI_SUM, MPI_COMM_WORLD, code)
         do i = 1, n
            call expect(sums(i), ranks * (ranks - 1) / 2
     &                  + ranks * (round + i), 'MPI_ALLREDUCE')
            call expect(values(i), sums(i), 'MPI_ALLREDUCE in place')
            reals(i) = rank + 1
         end do

         if (rank .eq. 0) then
            call MPI_REDUCE(MPI_IN_PLACE, reals, n,
     &                      MPI_DOUBLE_PRECISION, MPI_MAX, 0,
     &                      MPI_COMM_WORLD, code)
         else
            call MPI_REDUCE(reals, reals, n,
     &                      MPI_DOUBLE_PRECISION, MPI_MAX, 0,
     &                      MPI_COMM_WORLD, code)
         end if
         do i = 1, n
            if (rank .eq. 0) call expect(int(reals(i)), ranks,
     &                                   'MPI_REDUCE in place')
            if (rank .ne. 0) call expect(int(reals(i)), rank + 1,
     &                                   'MPI_REDUCE (send buffer)')
         end do

         call MPI_BARRIER(MPI_COMM_WORLD, code)
         call expect(code, MPI_SUCCESS, 'MPI_BARRIER')

C        The buffer is named by its absolute address in a datatype.
         call MPI_GET_ADDRESS(values, address(1), code)
         lengths(1) = n
         call MPI_TYPE_CREATE_HINDEXED(1, lengths, address, MPI_INTEGER,
     &                                 absolute, code)
         call MPI_TYPE_COMMIT(absolute, code)
         do i = 1, n
            values(i) = -1
            if (rank .eq. root) values(i) = round + i
         end do
         call touch(values)
         call MPI_BCAST(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD,
     &                  code)
         call touch(values)
         do i = 1, n
            call expect(values(i), round + i, 'MPI_BCAST at MPI_BOTTOM')
         end do
         call MPI_TYPE_FREE(absolute, code)
      end do
      call MPI_FINALIZE(code)
      if (rank .eq. 0) print '(a)', 'ok abi_mpif'
      end

C     Keeps the compiler from holding the buffer in registers.
      subroutine touch(buffer)
      implicit none
      integer buffer(*)
      if (buffer(1) .eq. -huge(1)) print *, buffer(1)
      end

      subroutine expect(found, expected, what)
      implicit none
      include 'mpif.h'
      integer found, expected, rank, code
      character*(*) what
      if (found .eq. expected) return
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
      print '(a,i0,4a,i0,a,i0)', 'FAIL abi_mpif: rank ', rank, ': ',
     &      what, ': ', 'expected ', expected, ', found ', found
      call MPI_ABORT(MPI_COMM_WORLD, 1, code)
      end
