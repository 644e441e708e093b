// The MPI library underneath, as a table of its PMPI_ functions.
//
// Every call that libhcoll makes goes through this table, which is filled by name from the vendor's handle. So a backend
// is compiled against the vendor's mpi.h but linked to no MPI, and its own calls never come back through the symbols
// that libhcoll exports. Predefined handles that are addresses (Open MPI) are looked up in the same way.
#pragma once

#if !defined(HCOLL_FLAVOUR_OPENMPI) && !defined(HCOLL_FLAVOUR_MPICH)
#error "a backend is compiled for one flavour of MPI"
#endif

#include <mpi.h>

#include <cstdint>
#include <string>

namespace hcoll {

// Functions that every MPI-3 library has.
#define HCOLL_VENDOR_FUNCTIONS(X)                                                                                     \
    X(Init)                                                                                                           \
    X(Init_thread)                                                                                                    \
    X(Initialized)                                                                                                    \
    X(Finalized) X(Finalize) X(Query_thread) X(Comm_size) X(Comm_rank) X(Comm_test_inter) X(Comm_group) X(Group_free) \
        X(Comm_create) X(Comm_free) X(Comm_disconnect) X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_set_attr)     \
            X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_set_errhandler) X(Comm_call_errhandler) X(Errhandler_free) \
                X(Error_class) X(Bcast) X(Reduce) X(Allreduce) X(Ibcast) X(Gather) X(Gatherv) X(Isend) X(Irecv)       \
                    X(Test) X(Testsome) X(Sendrecv) X(Request_free) X(Reduce_local) X(Op_commutative) X(Type_size)    \
                        X(Type_size_x) X(Type_get_extent) X(Type_get_true_extent) X(Type_get_envelope)                \
                            X(Type_get_contents) X(Type_free) X(Type_create_hindexed) X(Type_commit) X(Pack) X(Unpack)

struct Vendor {
#define HCOLL_MEMBER(name) decltype(&MPI_##name) name = nullptr;
    HCOLL_VENDOR_FUNCTIONS(HCOLL_MEMBER)
#undef HCOLL_MEMBER
    // Large counts, of MPI-4: nullptr where the vendor has none.
    int (*Bcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm) = nullptr;
    int (*Reduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm) = nullptr;
    int (*Allreduce_c)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
    int (*Ibcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request*) = nullptr;
};

extern Vendor mpi;

#if defined(HCOLL_FLAVOUR_OPENMPI)
#define HCOLL_OPENMPI_OBJECTS(X)                                                                                  \
    X(ompi_mpi_comm_world)                                                                                        \
    X(ompi_mpi_comm_self)                                                                                         \
    X(ompi_mpi_comm_null)                                                                                         \
    X(ompi_mpi_errors_return) X(ompi_mpi_datatype_null) X(ompi_mpi_op_null) X(ompi_request_null)                  \
        X(ompi_mpi_group_null) X(ompi_mpi_byte) X(ompi_mpi_char) X(ompi_mpi_int) X(ompi_mpi_uint64_t)             \
            X(ompi_mpi_op_max) X(ompi_mpi_op_min) X(ompi_mpi_op_sum) X(ompi_mpi_op_prod) X(ompi_mpi_op_land)      \
                X(ompi_mpi_op_band) X(ompi_mpi_op_lor) X(ompi_mpi_op_bor) X(ompi_mpi_op_lxor) X(ompi_mpi_op_bxor) \
                    X(ompi_mpi_op_maxloc) X(ompi_mpi_op_minloc) X(ompi_mpi_op_replace) X(ompi_mpi_op_no_op)

// The addresses of Open MPI's predefined objects, which its handles are.
struct OpenmpiObjects {
#define HCOLL_MEMBER(name) void* name = nullptr;
    HCOLL_OPENMPI_OBJECTS(HCOLL_MEMBER)
#undef HCOLL_MEMBER
};
extern OpenmpiObjects openmpi_objects;

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::hcoll::openmpi_objects.global))
#endif

// Fills the tables from the vendor's handle (of dlopen). Returns the name of what is missing; empty where all is there.
std::string load_vendor(void* handle);

// Bytes of the type's signature. The vendor's own `int` cannot tell those of 2 GiB and more.
inline std::uint64_t type_size(MPI_Datatype type) {
#if defined(HCOLL_FLAVOUR_MPICH)
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
