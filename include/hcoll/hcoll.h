/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program may know about libhcoll.
 *
 * Nothing here is needed to use the library: it is preloaded, and programs stay as they are. The two levels below let
 * a program switch, inside one run, between the library's own algorithms and those of the MPI library underneath; that
 * is how hcoll-bench compares both in the same seconds on the same machine.
 *
 *   MPI_Pcontrol(HCOLL_PCONTROL_VENDOR);   // collectives called from here on go to the MPI library
 *   MPI_Pcontrol(HCOLL_PCONTROL_OWN);      // and from here on to libhcoll again, as its settings and rules say
 *
 * Every process must make the call at the same place in its sequence of collective calls (all ranks must decide alike),
 * and while no other thread of the process is inside a collective call. These two levels are consumed by libhcoll; any
 * other level is passed on, with its further arguments, to profiling tools and the MPI library. Without libhcoll the MPI
 * library ignores both levels.
 *
 * MPI_Comm_split_type by MPI_COMM_TYPE_SHARED with the key HCOLL_INFO_NODES in its MPI_Info, set to anything on all ranks, gives
 * the ranks of each node as libhcoll sees it, in the order of the communicator; so does hcoll-tune ask. These may be more
 * than the MPI library says are on a node, and then have no memory of MPI_Win_allocate_shared in common. Without libhcoll the MPI library
 * ignores the key.
 *
 * MPI_Comm_set_info with keys that ask for algorithms (docs/tuning.md) and the key HCOLL_INFO_ANSWER, set to anything, has libhcoll set that key of the
 * MPI_Info to HCOLL_ANSWER_TAKEN if all that it asks for is run from then on, and otherwise to the reason why not, on each rank for what that one asks for. Without libhcoll it stays as it is.
 */
#ifndef HCOLL_HCOLL_H
#define HCOLL_HCOLL_H

#define HCOLL_PCONTROL_VENDOR 484800
#define HCOLL_PCONTROL_OWN 484801

#define HCOLL_INFO_NODES "libhcoll_nodes"
#define HCOLL_INFO_ANSWER "libhcoll_answer"
#define HCOLL_ANSWER_TAKEN "taken"

#endif
