// SPDX-License-Identifier: BSD-3-Clause
// The MPI library underneath, as a table of its PMPI_ functions.
//
// Every call that libhcoll makes goes through this table, which is filled by name from the vendor's handle. So a backend
// is compiled against the vendor's mpi.h but linked to no MPI, and its own calls never come back through the symbols
// that libhcoll exports. Predefined handles that are addresses (Open MPI) are looked up in the same way.
#pragma once

#if !defined(HCOLL_FLAVOUR_OPENMPI) && !defined(HCOLL_FLAVOUR_MPICH) && !defined(HCOLL_FLAVOUR_MPI_ABI) && \
    !defined(HCOLL_FLAVOUR_SIMGRID)
#error "a backend is compiled for one flavour of MPI"
#endif

#include <mpi.h>

#include <cstdint>
#include <string>

#if defined(HCOLL_FLAVOUR_SIMGRID)
// Its header (3.32) names objects for these that do not exist: types of the same elements take their place.
#undef MPI_CXX_FLOAT_COMPLEX
#undef MPI_CXX_DOUBLE_COMPLEX
#undef MPI_CXX_LONG_DOUBLE_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX MPI_COMPLEX8
#define MPI_CXX_DOUBLE_COMPLEX MPI_COMPLEX16
#define MPI_CXX_LONG_DOUBLE_COMPLEX MPI_COMPLEX32
#endif

namespace hcoll {

// MPI_Session, which headers have from MPI-4 on.
#if MPI_VERSION >= 4
using Session = MPI_Session;
#elif defined(HCOLL_FLAVOUR_MPICH)
using Session = int;
#else
using Session = void*;
#endif

// MPI 4 deprecates some that older libraries have instead of what it puts in their place.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct Vendor {
#define HCOLL_VENDOR_FUNCTION(name) decltype(&MPI_##name) name = nullptr;
#define HCOLL_VENDOR_FUNCTION_NOT_SIMULATED(name) HCOLL_VENDOR_FUNCTION(name)
#include "progress/network/vendor_functions.def"
#undef HCOLL_VENDOR_FUNCTION
#undef HCOLL_VENDOR_FUNCTION_NOT_SIMULATED
#pragma GCC diagnostic pop
    // Large counts, of MPI-4: nullptr where the vendor has none.
    int (*Bcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm) = nullptr;
    int (*Reduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm) = nullptr;
    int (*Allreduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
    int (*Gather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm) = nullptr;
    int (*Scatter_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm) = nullptr;
    int (*Allgather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm) = nullptr;
    int (*Send_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = nullptr;
    int (*Ssend_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = nullptr;
    int (*Rsend_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = nullptr;
    int (*Recv_c)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) = nullptr;
    int (*Sendrecv_c)(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, int,
                      MPI_Comm, MPI_Status*) = nullptr;
    int (*Sendrecv_replace_c)(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*) = nullptr;
    int (*Mrecv_c)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*) = nullptr;
    int (*Isend_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Issend_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Irsend_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Irecv_c)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Imrecv_c)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*) = nullptr;
    // Of MPI-4.0 and 4.1: nullptr where the vendor has none.
    int (*Comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*) = nullptr;
    int (*Comm_create_from_group)(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*) = nullptr;
    int (*Intercomm_create_from_groups)(MPI_Group, int, MPI_Group, int, const char*, MPI_Info, MPI_Errhandler,
                                        MPI_Comm*) = nullptr;
    int (*Parrived)(MPI_Request, int, int*) = nullptr;
    int (*Buffer_attach)(void*, int) = nullptr;
    int (*Buffer_attach_c)(void*, MPI_Count) = nullptr;
    int (*Comm_attach_buffer)(MPI_Comm, void*, int) = nullptr;
    int (*Comm_attach_buffer_c)(MPI_Comm, void*, MPI_Count) = nullptr;
    int (*Session_attach_buffer)(Session, void*, int) = nullptr;
    int (*Session_attach_buffer_c)(Session, void*, MPI_Count) = nullptr;
    int (*Buffer_detach)(void*, int*) = nullptr;
    int (*Buffer_detach_c)(void*, MPI_Count*) = nullptr;
    int (*Buffer_flush)() = nullptr;
    int (*Buffer_iflush)(MPI_Request*) = nullptr;
    int (*Comm_detach_buffer)(MPI_Comm, void*, int*) = nullptr;
    int (*Comm_detach_buffer_c)(MPI_Comm, void*, MPI_Count*) = nullptr;
    int (*Comm_flush_buffer)(MPI_Comm) = nullptr;
    int (*Comm_iflush_buffer)(MPI_Comm, MPI_Request*) = nullptr;
    int (*Session_detach_buffer)(Session, void*, int*) = nullptr;
    int (*Session_detach_buffer_c)(Session, void*, MPI_Count*) = nullptr;
    int (*Session_flush_buffer)(Session) = nullptr;
    int (*Session_iflush_buffer)(Session, MPI_Request*) = nullptr;
    int (*Request_get_status_all)(int, const MPI_Request*, int*, MPI_Status*) = nullptr;
    int (*Request_get_status_any)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
    int (*Request_get_status_some)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
    // Of fault tolerance, an extension: nullptr where the vendor has none.
    int (*Comm_revoke)(MPI_Comm) = nullptr;
    // Sessions, of MPI-4: nullptr where the vendor has none.
    int (*Session_init)(MPI_Info, MPI_Errhandler, Session*) = nullptr;
    int (*Session_finalize)(Session*) = nullptr;
    int (*Session_get_info)(Session, MPI_Info*) = nullptr;
    int (*Group_from_session_pset)(Session, const char*, MPI_Group*) = nullptr;
    // Persistent ones, of MPI-4 or as an extension: nullptr where the vendor has none.
    int (*Bcast_init)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*) = nullptr;
    int (*Reduce_init)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info, MPI_Request*) = nullptr;
    int (*Allreduce_init)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*) = nullptr;
    int (*Bcast_init_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*) = nullptr;
    int (*Reduce_init_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info,
                         MPI_Request*) = nullptr;
    int (*Allreduce_init_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                            MPI_Request*) = nullptr;
    int (*Igather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm,
                     MPI_Request*) = nullptr;
    int (*Iscatter_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm,
                      MPI_Request*) = nullptr;
    int (*Iallgather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm,
                        MPI_Request*) = nullptr;
    int (*Ireduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Iallreduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*) = nullptr;
    // Not of MPI: what Open MPI's non-blocking collectives are moved by. nullptr in other libraries.
    int (*opal_progress_register)(int (*)()) = nullptr;
    int (*opal_progress_unregister)(int (*)()) = nullptr;
    // Has its launcher been told to survive faults? nullptr where it cannot.
    const bool* ompi_ftmpi_enabled = nullptr;
    bool is_ch3 = false;  // MPICH's older device and its relatives, which revoke without being told so
    int (*Ibcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request*) = nullptr;
    int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*) = nullptr;
    int (*Type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[], MPI_Aint[], MPI_Count[],
                               MPI_Datatype[]) = nullptr;
#if defined(HCOLL_FLAVOUR_MPI_ABI)
    bool is_openmpi = false;
#endif
};

extern Vendor mpi;

// Is it Open MPI's? Where the ABI is the standard's, its name tells.
inline bool vendor_is_openmpi() {
#if defined(HCOLL_FLAVOUR_OPENMPI)
    return true;
#elif defined(HCOLL_FLAVOUR_MPI_ABI)
    return mpi.is_openmpi;
#else
    return false;
#endif
}

#if defined(HCOLL_FLAVOUR_OPENMPI)
// The addresses of Open MPI's predefined objects, which its handles are.
struct OpenmpiObjects {
#define HCOLL_OPENMPI_OBJECT(name) void* name = nullptr;
#define HCOLL_OPENMPI_OPTIONAL_OBJECT(name) HCOLL_OPENMPI_OBJECT(name)
#include "progress/network/openmpi_objects.def"
#undef HCOLL_OPENMPI_OBJECT
#undef HCOLL_OPENMPI_OPTIONAL_OBJECT
};
extern OpenmpiObjects openmpi_objects;

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::hcoll::openmpi_objects.global))
#endif

// May the application revoke communicators? MPI libraries that can have to be told so when they are started.
bool vendor_may_revoke();

// Fills the tables from the vendor's handle (of dlopen). Returns the name of what is missing; empty where all is there.
std::string load_vendor(void* handle);

#if defined(HCOLL_FLAVOUR_MPI_ABI)
// Bytes of a predefined type of the standard ABI, without a call; 0 of other types and of those of Fortran, whose sizes its compiler decides.
std::uint64_t size_of_standard_type(MPI_Datatype type);
#endif

// Bytes of the type's signature. The vendor's own `int` cannot tell those of 2 GiB and more.
inline std::uint64_t type_size(MPI_Datatype type) {
#if defined(HCOLL_FLAVOUR_MPI_ABI)
    if (const std::uint64_t size = size_of_standard_type(type); size > 0) return size;
#elif defined(HCOLL_FLAVOUR_MPICH)
    // A predefined type's handle holds its size; part of the MPICH ABI since 2014, and far cheaper than a call.
    constexpr std::uint32_t kind_mask = 0xfc000000U;
    constexpr std::uint32_t predefined_type = 0x4c000000U;
    const auto handle = static_cast<std::uint32_t>(type);
    if ((handle & kind_mask) == predefined_type) return (handle >> 8U) & 0xffU;
#endif
    int size = 0;
    if (mpi.Type_size(type, &size) == MPI_SUCCESS && size != MPI_UNDEFINED) return static_cast<std::uint64_t>(size);
    MPI_Count large_size = 0;
    return mpi.Type_size_x(type, &large_size) == MPI_SUCCESS ? static_cast<std::uint64_t>(large_size) : 0;
}

}  // namespace hcoll
