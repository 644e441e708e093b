// SPDX-License-Identifier: BSD-3-Clause
#include "progress/network/vendor.hpp"

#include <dlfcn.h>

#include "progress/engine/simulation.hpp"

namespace hcoll {

Vendor mpi;

namespace {

template <typename Function>
bool load(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
}

}  // namespace

#if defined(HCOLL_FLAVOUR_OPENMPI)
OpenmpiObjects openmpi_objects;

namespace {

// The executable may hold a copy of the object (a COPY relocation), and then that copy is the one that everybody means.
std::string load_objects(void* handle) {
    std::string missing;
    const auto find = [&](const char* name, void*& object) {
        object = dlsym(RTLD_DEFAULT, name);
        if (object == nullptr) object = dlsym(handle, name);
        return object != nullptr;
    };
#define HCOLL_OPENMPI_OBJECT(name) \
    if (!find(#name, openmpi_objects.name)) missing = #name;
#define HCOLL_OPENMPI_OPTIONAL_OBJECT(name) find(#name, openmpi_objects.name);
#include "progress/network/openmpi_objects.def"
#undef HCOLL_OPENMPI_OBJECT
#undef HCOLL_OPENMPI_OPTIONAL_OBJECT
    return missing;
}

}  // namespace
#endif

std::string load_vendor(void* handle) {
    std::string missing;
#define HCOLL_VENDOR_FUNCTION(name) \
    if (!load(handle, "PMPI_" #name, mpi.name)) missing = "PMPI_" #name;
#define HCOLL_VENDOR_FUNCTION_NOT_SIMULATED(name) \
    if (!load(handle, "PMPI_" #name, mpi.name) && !is_simulated) missing = "PMPI_" #name;
#include "progress/network/vendor_functions.def"
#undef HCOLL_VENDOR_FUNCTION
#undef HCOLL_VENDOR_FUNCTION_NOT_SIMULATED
    load(handle, "PMPI_Bcast_c", mpi.Bcast_c);
    load(handle, "PMPI_Reduce_c", mpi.Reduce_c);
    load(handle, "PMPI_Allreduce_c", mpi.Allreduce_c);
    load(handle, "PMPI_Gather_c", mpi.Gather_c);
    load(handle, "PMPI_Scatter_c", mpi.Scatter_c);
    load(handle, "PMPI_Allgather_c", mpi.Allgather_c);
    load(handle, "PMPI_Ibcast_c", mpi.Ibcast_c);
    load(handle, "PMPI_Send_c", mpi.Send_c);
    load(handle, "PMPI_Ssend_c", mpi.Ssend_c);
    load(handle, "PMPI_Rsend_c", mpi.Rsend_c);
    load(handle, "PMPI_Recv_c", mpi.Recv_c);
    load(handle, "PMPI_Sendrecv_c", mpi.Sendrecv_c);
    load(handle, "PMPI_Sendrecv_replace_c", mpi.Sendrecv_replace_c);
    load(handle, "PMPI_Mrecv_c", mpi.Mrecv_c);
    load(handle, "PMPI_Isend_c", mpi.Isend_c);
    load(handle, "PMPI_Issend_c", mpi.Issend_c);
    load(handle, "PMPI_Irsend_c", mpi.Irsend_c);
    load(handle, "PMPI_Irecv_c", mpi.Irecv_c);
    load(handle, "PMPI_Imrecv_c", mpi.Imrecv_c);
    load(handle, "PMPI_Comm_idup_with_info", mpi.Comm_idup_with_info);
    load(handle, "PMPI_Request_get_status_all", mpi.Request_get_status_all);
    load(handle, "PMPI_Request_get_status_any", mpi.Request_get_status_any);
    load(handle, "PMPI_Request_get_status_some", mpi.Request_get_status_some);
    load(handle, "PMPIX_Comm_revoke", mpi.Comm_revoke);
    load(handle, "PMPI_Session_init", mpi.Session_init);
    load(handle, "PMPI_Session_finalize", mpi.Session_finalize);
    load(handle, "PMPI_Session_get_info", mpi.Session_get_info);
    load(handle, "PMPI_Group_from_session_pset", mpi.Group_from_session_pset);
    if (!load(handle, "PMPI_Bcast_init", mpi.Bcast_init)) load(handle, "PMPIX_Bcast_init", mpi.Bcast_init);
    if (!load(handle, "PMPI_Reduce_init", mpi.Reduce_init)) load(handle, "PMPIX_Reduce_init", mpi.Reduce_init);
    if (!load(handle, "PMPI_Allreduce_init", mpi.Allreduce_init))
        load(handle, "PMPIX_Allreduce_init", mpi.Allreduce_init);
    load(handle, "PMPI_Igather_c", mpi.Igather_c);
    load(handle, "PMPI_Iscatter_c", mpi.Iscatter_c);
    load(handle, "PMPI_Iallgather_c", mpi.Iallgather_c);
    load(handle, "PMPI_Ireduce_c", mpi.Ireduce_c);
    load(handle, "PMPI_Iallreduce_c", mpi.Iallreduce_c);
#if defined(HCOLL_FLAVOUR_OPENMPI)
    load(handle, "opal_progress_register", mpi.opal_progress_register);
    load(handle, "opal_progress_unregister", mpi.opal_progress_unregister);
#endif
    load(handle, "PMPI_Type_get_envelope_c", mpi.Type_get_envelope_c);
    load(handle, "PMPI_Type_get_contents_c", mpi.Type_get_contents_c);
#if defined(HCOLL_FLAVOUR_OPENMPI)
    if (missing.empty()) missing = load_objects(handle);
#endif
    return missing;
}

}  // namespace hcoll
