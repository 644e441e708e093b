// SPDX-License-Identifier: BSD-3-Clause
// How a stand-in for an MPI library of the standard ABI translates between that ABI (`abi::`, in) and the MPI library that is installed (`MPI_`, out).
// Handles that are not predefined keep their bits: those of both MPI libraries are larger than any predefined one of the standard ABI.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/mpi_features.hpp"

// All classes of handles but sessions, which not all MPI libraries have.
#define HCOLL_HANDLES(HANDLE) \
    HANDLE(Comm)              \
    HANDLE(Datatype)          \
    HANDLE(Errhandler) HANDLE(File) HANDLE(Group) HANDLE(Info) HANDLE(Message) HANDLE(Op) HANDLE(Request) HANDLE(Win)

namespace abi {
#define HCOLL_HANDLE(name) using name = struct name##Object*;
HCOLL_HANDLES(HCOLL_HANDLE)
HCOLL_HANDLE(Session)
#undef HCOLL_HANDLE
struct Status {
    int source;
    int tag;
    int error;
    int internal[5];
};
}  // namespace abi

// ---- functions ----------------------------------------------------------------------------------------------------------

// The MPI library's own, by its address: what is called by name would come back to libhcoll.so.
template <typename Pointer>
Pointer vendor_function(const char* name) {
    static void* const library = dlopen(HCOLL_VENDOR_LIBRARY, RTLD_NOW);
    return reinterpret_cast<Pointer>(dlsym(library, name));
}
#define VENDOR(name) vendor_function<decltype(&name)>("P" #name)

// Defines PMPI_<name>, and MPI_<name> as another name of it. In C++ they have names of their own, since mpi.h declares others of these.
#define FUNCTION(result, name, parameters)                                                              \
    extern "C" __attribute__((visibility("default"))) result abi_P##name parameters asm("PMPI_" #name); \
    extern "C" __attribute__((visibility("default"), weak, alias("PMPI_" #name)))                       \
    result abi_##name parameters asm("MPI_" #name);                                                     \
    result abi_P##name parameters

// ---- handles ------------------------------------------------------------------------------------------------------------

inline std::uintptr_t bits(int handle) { return static_cast<std::uint32_t>(handle); }
inline std::uintptr_t bits(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

template <typename Handle>
struct VendorOf;
#define HCOLL_HANDLE(name)       \
    template <>                  \
    struct VendorOf<abi::name> { \
        using Type = MPI_##name; \
    };
HCOLL_HANDLES(HCOLL_HANDLE)
#if HCOLL_TEST_HAS_SESSIONS
HCOLL_HANDLE(Session)
#else
template <>
struct VendorOf<abi::Session> {
    using Type = void*;
};
#endif
#undef HCOLL_HANDLE

template <typename Handle>
struct Predefined {
    using List = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;  // in the standard ABI, in the MPI library
    static const List list;
};

template <typename Vendor>
Vendor of_bits(std::uintptr_t value) {
    if constexpr (std::is_pointer_v<Vendor>)
        return reinterpret_cast<Vendor>(value);
    else
        return static_cast<Vendor>(value);
}

template <typename Handle>
typename VendorOf<Handle>::Type in(Handle handle) {
    for (const auto& [standard, own] : Predefined<Handle>::list)
        if (standard == bits(handle)) return of_bits<typename VendorOf<Handle>::Type>(own);
    return of_bits<typename VendorOf<Handle>::Type>(bits(handle));
}

template <typename Handle>
requires std::is_pointer_v<Handle> Handle out(typename VendorOf<Handle>::Type handle) {
    for (const auto& [standard, own] : Predefined<Handle>::list)
        if (own == bits(handle)) return reinterpret_cast<Handle>(standard);
    return reinterpret_cast<Handle>(bits(handle));
}

template <typename Handle>
auto all_in(const Handle* handles, int count) {
    std::vector<typename VendorOf<Handle>::Type> own;
    for (int i = 0; i < count; ++i) own.push_back(in(handles[i]));
    return own;
}

template <typename Handle, typename Own>
void all_out(const std::vector<Own>& own, Handle* handles) {
    for (std::size_t i = 0; i < own.size(); ++i) handles[i] = out<Handle>(own[i]);
}

// ---- numbers ------------------------------------------------------------------------------------------------------------

using NumberTable = std::vector<std::pair<int, int>>;  // in the standard ABI, in the MPI library
#define HCOLL_NUMBERS(name)             \
    struct name {                       \
        static const NumberTable table; \
    };
HCOLL_NUMBERS(Errors)
HCOLL_NUMBERS(Ranks)
HCOLL_NUMBERS(Tags)
HCOLL_NUMBERS(Counts)
HCOLL_NUMBERS(Levels)
HCOLL_NUMBERS(Comparisons)
HCOLL_NUMBERS(Splits)
HCOLL_NUMBERS(Keys)
HCOLL_NUMBERS(Combiners)
HCOLL_NUMBERS(Arrays)
HCOLL_NUMBERS(Modes)
#undef HCOLL_NUMBERS

template <typename Numbers>
requires requires { Numbers::table; }
int in(int number) {
    if constexpr (std::is_same_v<Numbers, Modes>) {
        int own = 0;
        for (const auto& [standard, bit] : Numbers::table)
            if ((number & standard) != 0) own |= bit;
        return own;
    }
    for (const auto& [standard, own] : Numbers::table)
        if (standard == number) return own;
    return number;
}

template <typename Numbers>
requires requires { Numbers::table; }
int out(int number) {
    for (const auto& [standard, own] : Numbers::table)
        if (own == number) return standard;
    return number;
}

template <typename Numbers>
std::vector<int> all_in(const int* numbers, int count) {
    std::vector<int> own;
    for (int i = 0; i < count; ++i) own.push_back(in<Numbers>(numbers[i]));
    return own;
}

template <typename Numbers>
void all_out(const std::vector<int>& own, int* numbers) {
    for (std::size_t i = 0; i < own.size(); ++i) numbers[i] = out<Numbers>(own[i]);
}

// A code of the MPI library is told as its class, which is a code, too; classes of the application's own as they are.
inline int out_error(int code) {
    if (code == MPI_SUCCESS) return 0;
    int error_class = MPI_ERR_UNKNOWN;
    VENDOR(MPI_Error_class)(code, &error_class);
    return out<Errors>(error_class);
}

// ---- addresses ----------------------------------------------------------------------------------------------------------

inline void* in_buffer(const void* buffer) {
    return reinterpret_cast<std::uintptr_t>(buffer) == 1 ? MPI_IN_PLACE : const_cast<void*>(buffer);
}

inline int* in_weights(const int* weights) {
    if (reinterpret_cast<std::uintptr_t>(weights) == 10) return MPI_UNWEIGHTED;
    if (reinterpret_cast<std::uintptr_t>(weights) == 11) return MPI_WEIGHTS_EMPTY;
    return const_cast<int*>(weights);
}

// ---- statuses: what else the MPI library keeps in one lies behind the three fields ---------------------------------------

inline MPI_Status in_status(const abi::Status& status) {
    MPI_Status own;
    std::memset(&own, 0, sizeof own);
#if defined(OPEN_MPI)
    std::memcpy(&own._cancelled, status.internal, sizeof own._cancelled);
    std::memcpy(&own._ucount, status.internal + 1, sizeof own._ucount);
#else
    std::memcpy(&own.count_lo, status.internal, sizeof own.count_lo);
    std::memcpy(&own.count_hi_and_cancelled, status.internal + 1, sizeof own.count_hi_and_cancelled);
#endif
    own.MPI_SOURCE = in<Ranks>(status.source);
    own.MPI_TAG = in<Tags>(status.tag);
    return own;
}

// The field of the error stays what it is, as in calls that complete one request.
inline void out_status(const MPI_Status& own, abi::Status& status) {
    status.source = out<Ranks>(own.MPI_SOURCE);
    status.tag = out<Tags>(own.MPI_TAG);
#if defined(OPEN_MPI)
    std::memcpy(status.internal, &own._cancelled, sizeof own._cancelled);
    std::memcpy(status.internal + 1, &own._ucount, sizeof own._ucount);
#else
    std::memcpy(status.internal, &own.count_lo, sizeof own.count_lo);
    std::memcpy(status.internal + 1, &own.count_hi_and_cancelled, sizeof own.count_hi_and_cancelled);
#endif
}

class OneStatus {
public:
    explicit OneStatus(abi::Status* status) : status_(status) {
        std::memset(&own_, 0, sizeof own_);
        if (status != nullptr) own_ = in_status(*status);
    }
    MPI_Status* address() { return status_ == nullptr ? MPI_STATUS_IGNORE : &own_; }
    void give_back() {
        if (status_ != nullptr) out_status(own_, *status_);
    }

private:
    abi::Status* status_;
    MPI_Status own_;
};

class ManyStatuses {
public:
    ManyStatuses(abi::Status* statuses, int count) : statuses_(statuses) {
        for (int i = 0; statuses != nullptr && i < count; ++i) own_.push_back(in_status(statuses[i]));
    }
    MPI_Status* address() { return statuses_ == nullptr ? MPI_STATUSES_IGNORE : own_.data(); }
    // Errors are told in statuses only where the call says so.
    void give_back(int count, int result) {
        int error_class = result;
        if (result != MPI_SUCCESS) VENDOR(MPI_Error_class)(result, &error_class);
        for (int i = 0; statuses_ != nullptr && i < count; ++i) {
            const MPI_Status& own = own_[static_cast<std::size_t>(i)];
            out_status(own, statuses_[i]);
            if (error_class == MPI_ERR_IN_STATUS) statuses_[i].error = out_error(own.MPI_ERROR);
        }
    }

private:
    abi::Status* statuses_;
    std::vector<MPI_Status> own_;
};
