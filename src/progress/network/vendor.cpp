// SPDX-License-Identifier: BSD-3-Clause
#include "progress/network/vendor.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "progress/engine/simulation.hpp"

namespace hcoll {

Vendor mpi;

namespace {

#if defined(HCOLL_FLAVOUR_MPI_ABI)
// Of the object that has this function.
const void* base_of(const void* function) {
    Dl_info found{};
    return function != nullptr && dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}
#endif

// A library of the standard ABI may lie above the implementation's own, which has functions of the same names for other handles: of
// those that the upper one lacks the lower one's must not be taken.
bool is_of_vendor([[maybe_unused]] void* handle, [[maybe_unused]] const void* function) {
#if defined(HCOLL_FLAVOUR_MPI_ABI)
    static const void* const base = base_of(dlsym(handle, "PMPI_Get_library_version"));
    return base != nullptr && base == base_of(function);
#else
    return true;
#endif
}

template <typename Function>
bool load(void* handle, const char* name, Function& function) {
    void* symbol = dlsym(handle, name);
    function = symbol != nullptr && is_of_vendor(handle, symbol) ? reinterpret_cast<Function>(symbol) : nullptr;
    return function != nullptr;
}

// Of the library itself, in its own words.
std::string version_text(void* handle) {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    decltype(&MPI_Get_library_version) get_library_version = nullptr;
    if (!load(handle, "PMPI_Get_library_version", get_library_version) ||
        get_library_version(text.data(), &length) != MPI_SUCCESS)
        length = 0;
    text.resize(static_cast<std::size_t>(std::max(length, 0)));
    return text;
}

}  // namespace

bool vendor_may_revoke() {
    // What `mpiexec --with-ft` sets, and a variable of MPICH's with its older names.
    constexpr std::array names = {"OMPI_MCA_mpi_ft_enable", "MPIR_CVAR_ENABLE_FT", "MPIR_PARAM_ENABLE_FT",
                                  "MPICH_ENABLE_FT"};
    constexpr std::array<std::string_view, 5> off = {"", "0", "no", "false", "off"};
    if (mpi.Comm_revoke == nullptr) return false;
    return mpi.is_ch3 || (mpi.ompi_ftmpi_enabled != nullptr && *mpi.ompi_ftmpi_enabled) ||
           std::any_of(names.begin(), names.end(), [&](const char* name) {
               const char* value = std::getenv(name);
               return value != nullptr && std::find(off.begin(), off.end(), std::string_view(value)) == off.end();
           });
}

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

#if defined(HCOLL_FLAVOUR_MPI_ABI)
namespace {

constexpr std::size_t first_type = 0x200;
constexpr std::size_t type_count = 0x100;

std::uint64_t number_of(MPI_Datatype type) { return reinterpret_cast<std::uintptr_t>(type); }

std::array<std::uint8_t, type_count> make_type_sizes() {
    std::array<std::uint8_t, type_count> sizes{};
    const auto put = [&](MPI_Datatype type, std::size_t size) {
        sizes.at(number_of(type) - first_type) = static_cast<std::uint8_t>(size);
    };
    // Those of a fixed size say it (MPI 5.0, 20.3.4).
    for (MPI_Datatype type :
         {MPI_INT8_T,   MPI_UINT8_T,  MPI_CHAR,     MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE,
          MPI_INT16_T,  MPI_UINT16_T, MPI_INT32_T,  MPI_UINT32_T,    MPI_INT64_T,       MPI_UINT64_T,
          MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8,    MPI_LOGICAL16,     MPI_INTEGER1,
          MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16,   MPI_REAL2,         MPI_REAL4,
          MPI_REAL8,    MPI_REAL16,   MPI_COMPLEX4, MPI_COMPLEX8,    MPI_COMPLEX16,     MPI_COMPLEX32})
        put(type, std::size_t{1} << ((number_of(type) >> 3U) & 7U));
    put(MPI_AINT, sizeof(MPI_Aint));
    put(MPI_COUNT, sizeof(MPI_Count));
    put(MPI_OFFSET, sizeof(MPI_Offset));
    put(MPI_PACKED, 1);
    put(MPI_SHORT, sizeof(short));
    put(MPI_INT, sizeof(int));
    put(MPI_LONG, sizeof(long));
    put(MPI_LONG_LONG, sizeof(long long));
    put(MPI_UNSIGNED_SHORT, sizeof(unsigned short));
    put(MPI_UNSIGNED, sizeof(unsigned));
    put(MPI_UNSIGNED_LONG, sizeof(unsigned long));
    put(MPI_UNSIGNED_LONG_LONG, sizeof(unsigned long long));
    put(MPI_FLOAT, sizeof(float));
    put(MPI_DOUBLE, sizeof(double));
    put(MPI_LONG_DOUBLE, sizeof(long double));
    for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX}) put(type, 2 * sizeof(float));
    for (MPI_Datatype type : {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX}) put(type, 2 * sizeof(double));
    for (MPI_Datatype type : {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})
        put(type, 2 * sizeof(long double));
    // Of pairs with gaps the elements alone.
    put(MPI_FLOAT_INT, sizeof(float) + sizeof(int));
    put(MPI_DOUBLE_INT, sizeof(double) + sizeof(int));
    put(MPI_LONG_INT, sizeof(long) + sizeof(int));
    put(MPI_2INT, 2 * sizeof(int));
    put(MPI_SHORT_INT, sizeof(short) + sizeof(int));
    put(MPI_LONG_DOUBLE_INT, sizeof(long double) + sizeof(int));
    put(MPI_C_BOOL, sizeof(bool));
    put(MPI_CXX_BOOL, sizeof(bool));
    put(MPI_WCHAR, sizeof(wchar_t));
    return sizes;
}

}  // namespace

std::uint64_t size_of_standard_type(MPI_Datatype type) {
    static const std::array<std::uint8_t, type_count> sizes = make_type_sizes();
    const std::uint64_t place = number_of(type) - first_type;
    return place < type_count ? sizes[place] : 0;
}
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
    load(handle, "PMPI_Comm_create_from_group", mpi.Comm_create_from_group);
    load(handle, "PMPI_Intercomm_create_from_groups", mpi.Intercomm_create_from_groups);
    load(handle, "PMPI_Parrived", mpi.Parrived);
    load(handle, "PMPI_Buffer_attach", mpi.Buffer_attach);
    load(handle, "PMPI_Buffer_attach_c", mpi.Buffer_attach_c);
    load(handle, "PMPI_Comm_attach_buffer", mpi.Comm_attach_buffer);
    load(handle, "PMPI_Comm_attach_buffer_c", mpi.Comm_attach_buffer_c);
    load(handle, "PMPI_Session_attach_buffer", mpi.Session_attach_buffer);
    load(handle, "PMPI_Session_attach_buffer_c", mpi.Session_attach_buffer_c);
    load(handle, "PMPI_Buffer_detach", mpi.Buffer_detach);
    load(handle, "PMPI_Buffer_detach_c", mpi.Buffer_detach_c);
    load(handle, "PMPI_Buffer_flush", mpi.Buffer_flush);
    load(handle, "PMPI_Comm_detach_buffer", mpi.Comm_detach_buffer);
    load(handle, "PMPI_Comm_detach_buffer_c", mpi.Comm_detach_buffer_c);
    load(handle, "PMPI_Comm_flush_buffer", mpi.Comm_flush_buffer);
    load(handle, "PMPI_Session_detach_buffer", mpi.Session_detach_buffer);
    load(handle, "PMPI_Session_detach_buffer_c", mpi.Session_detach_buffer_c);
    load(handle, "PMPI_Session_flush_buffer", mpi.Session_flush_buffer);
    load(handle, "PMPI_Buffer_iflush", mpi.Buffer_iflush);
    load(handle, "PMPI_Comm_iflush_buffer", mpi.Comm_iflush_buffer);
    load(handle, "PMPI_Session_iflush_buffer", mpi.Session_iflush_buffer);
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
    load(handle, "PMPI_Bcast_init_c", mpi.Bcast_init_c);
    load(handle, "PMPI_Reduce_init_c", mpi.Reduce_init_c);
    load(handle, "PMPI_Allreduce_init_c", mpi.Allreduce_init_c);
    load(handle, "PMPI_Igather_c", mpi.Igather_c);
    load(handle, "PMPI_Iscatter_c", mpi.Iscatter_c);
    load(handle, "PMPI_Iallgather_c", mpi.Iallgather_c);
    load(handle, "PMPI_Ireduce_c", mpi.Ireduce_c);
    load(handle, "PMPI_Iallreduce_c", mpi.Iallreduce_c);
    // Of a library below, in all ABIs.
    mpi.opal_progress_register = reinterpret_cast<int (*)(int (*)())>(dlsym(handle, "opal_progress_register"));
    mpi.opal_progress_unregister = reinterpret_cast<int (*)(int (*)())>(dlsym(handle, "opal_progress_unregister"));
    mpi.ompi_ftmpi_enabled = static_cast<const bool*>(dlsym(handle, "ompi_ftmpi_enabled"));
    load(handle, "PMPI_Type_get_envelope_c", mpi.Type_get_envelope_c);
    load(handle, "PMPI_Type_get_contents_c", mpi.Type_get_contents_c);
    const std::string text = version_text(handle);
    mpi.is_ch3 = text.find("ch3") != std::string::npos;
#if defined(HCOLL_FLAVOUR_OPENMPI)
    if (missing.empty()) missing = load_objects(handle);
#elif defined(HCOLL_FLAVOUR_MPI_ABI)
    mpi.is_openmpi = text.find("Open MPI") != std::string::npos;
#endif
    return missing;
}

}  // namespace hcoll
