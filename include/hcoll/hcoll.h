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
 */
#ifndef HCOLL_HCOLL_H
#define HCOLL_HCOLL_H

#define HCOLL_PCONTROL_VENDOR 484800
#define HCOLL_PCONTROL_OWN 484801

#endif
