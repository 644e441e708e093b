// SPDX-License-Identifier: BSD-3-Clause
// What the mpi.h has that a program is compiled with, where the version of MPI that it says does not tell: Open MPI 5 says MPI 3.1.
//
//   HCOLL_TEST_HAS_SESSIONS       1 or 0
//   HCOLL_TEST_HAS_MPI_4_1       1 or 0: MPI_Request_get_status_all, MPI_Buffer_flush and their relatives (a program of the standard ABI may meet a library that lacks them)
//   HCOLL_TEST_PERSISTENT(name)   the MPI library's name of a function that makes a persistent collective; not defined where there is none
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HCOLL_TEST_HAS_SESSIONS 1
#define HCOLL_TEST_PERSISTENT(name) MPI_##name
#else
#define HCOLL_TEST_HAS_SESSIONS 0
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HCOLL_TEST_PERSISTENT(name) MPIX_##name
#endif
#endif
#endif

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41 && !defined(MPI_ABI_VERSION)
#define HCOLL_TEST_HAS_MPI_4_1 1
#else
#define HCOLL_TEST_HAS_MPI_4_1 0
#endif
