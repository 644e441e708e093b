// SPDX-License-Identifier: BSD-3-Clause
// The functions of the stand-in that take functions of the application, or that translate more than one value at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <utility>

FUNCTION(int, Abi_get_version, (int* major, int* minor)) {
    *major = 1;
    *minor = 0;
    return 0;
}

FUNCTION(int, Abi_get_info, (abi::Info * info)) {
    MPI_Info own = MPI_INFO_NULL;
    const int result = VENDOR(MPI_Info_create)(&own);
    *info = out<abi::Info>(own);
    return out_error(result);
}

FUNCTION(int, Pcontrol, (int level, ...)) { return out_error(VENDOR(MPI_Pcontrol)(level)); }

FUNCTION(int, Comm_toint, (abi::Comm comm)) { return static_cast<int>(bits(comm)); }
FUNCTION(int, Type_toint, (abi::Datatype type)) { return static_cast<int>(bits(type)); }
FUNCTION(int, Op_toint, (abi::Op op)) { return static_cast<int>(bits(op)); }

// ---- operations and error handlers: nothing tells such a function whose it is, so there is one for each -------------------

using StandardOperation = void (*)(void*, void*, int*, abi::Datatype*);
using StandardErrorHandler = void (*)(abi::Comm*, int*, ...);
constexpr std::size_t most = 512;

template <typename Function>
struct Known {
    static inline std::array<Function, most> functions{};
    static inline std::atomic<std::size_t> count{0};
    static std::size_t add(Function function) {
        const std::size_t place = count.fetch_add(1);
        functions.at(place) = function;
        return place;
    }
};

template <std::size_t place>
void call_operation(void* operands, void* results, int* count, MPI_Datatype* type) {
    abi::Datatype standard = out<abi::Datatype>(*type);
    Known<StandardOperation>::functions[place](operands, results, count, &standard);
}

template <std::size_t place>
void call_error_handler(MPI_Comm* comm, int* code, ...) {
    abi::Comm standard = out<abi::Comm>(*comm);
    int standard_code = out_error(*code);
    Known<StandardErrorHandler>::functions[place](&standard, &standard_code);
}

template <std::size_t... places>
constexpr auto operations_of(std::index_sequence<places...>) {
    return std::array<MPI_User_function*, sizeof...(places)>{call_operation<places>...};
}
template <std::size_t... places>
constexpr auto error_handlers_of(std::index_sequence<places...>) {
    return std::array<MPI_Comm_errhandler_function*, sizeof...(places)>{call_error_handler<places>...};
}

FUNCTION(int, Op_create, (StandardOperation function, int commute, abi::Op* op)) {
    static constexpr auto own_functions = operations_of(std::make_index_sequence<most>());
    MPI_Op own = MPI_OP_NULL;
    const int result = VENDOR(MPI_Op_create)(own_functions.at(Known<StandardOperation>::add(function)), commute, &own);
    *op = out<abi::Op>(own);
    return out_error(result);
}

FUNCTION(int, Comm_create_errhandler, (StandardErrorHandler function, abi::Errhandler* handler)) {
    static constexpr auto own_functions = error_handlers_of(std::make_index_sequence<most>());
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    const int result =
        VENDOR(MPI_Comm_create_errhandler)(own_functions.at(Known<StandardErrorHandler>::add(function)), &own);
    *handler = out<abi::Errhandler>(own);
    return out_error(result);
}

// ---- attributes: their extra state is one of ours, which is never freed ---------------------------------------------------

template <typename Handle>
struct Attribute {
    using Own = typename VendorOf<Handle>::Type;
    using Copy = int (*)(Handle, int, void*, void*, void*, int*);
    using Delete = int (*)(Handle, int, void*, void*);
    Copy copy;
    Delete remove;
    void* extra;

    static int call_copy(Own handle, int key, void* extra, void* value, void* copied, int* flag) {
        const auto* attribute = static_cast<const Attribute*>(extra);
        const auto kind = reinterpret_cast<std::uintptr_t>(attribute->copy);
        *flag = kind == 1 ? 1 : 0;
        if (kind == 1) std::memcpy(copied, &value, sizeof value);
        if (kind <= 1) return MPI_SUCCESS;
        return in<Errors>(attribute->copy(out<Handle>(handle), key, attribute->extra, value, copied, flag));
    }
    static int call_delete(Own handle, int key, void* value, void* extra) {
        const auto* attribute = static_cast<const Attribute*>(extra);
        if (attribute->remove == nullptr) return MPI_SUCCESS;
        return in<Errors>(attribute->remove(out<Handle>(handle), key, value, attribute->extra));
    }
};

FUNCTION(int, Comm_create_keyval,
         (Attribute<abi::Comm>::Copy copy, Attribute<abi::Comm>::Delete remove, int* key, void* extra)) {
    auto* attribute = new Attribute<abi::Comm>{copy, remove, extra};
    return out_error(VENDOR(MPI_Comm_create_keyval)(Attribute<abi::Comm>::call_copy, Attribute<abi::Comm>::call_delete,
                                                    key, attribute));
}

FUNCTION(int, Type_create_keyval,
         (Attribute<abi::Datatype>::Copy copy, Attribute<abi::Datatype>::Delete remove, int* key, void* extra)) {
    auto* attribute = new Attribute<abi::Datatype>{copy, remove, extra};
    return out_error(VENDOR(MPI_Type_create_keyval)(Attribute<abi::Datatype>::call_copy,
                                                    Attribute<abi::Datatype>::call_delete, key, attribute));
}

// ---- generalized requests --------------------------------------------------------------------------------------------------

struct GeneralizedRequest {
    int (*query)(void*, abi::Status*);
    int (*free)(void*);
    int (*cancel)(void*, int);
    void* extra;

    static int call_query(void* extra, MPI_Status* status) {
        const auto* request = static_cast<const GeneralizedRequest*>(extra);
        MPI_Status unread;
        if (status == MPI_STATUS_IGNORE) status = &unread;
        const int error = status->MPI_ERROR;
        abi::Status standard{};
        out_status(*status, standard);
        const int result = request->query(request->extra, &standard);
        *status = in_status(standard);
        status->MPI_ERROR = error;
        return in<Errors>(result);
    }
    static int call_free(void* extra) {
        auto* request = static_cast<GeneralizedRequest*>(extra);
        const int result = request->free(request->extra);
        delete request;
        return in<Errors>(result);
    }
    static int call_cancel(void* extra, int is_complete) {
        const auto* request = static_cast<const GeneralizedRequest*>(extra);
        return in<Errors>(request->cancel(request->extra, is_complete));
    }
};

FUNCTION(int, Grequest_start,
         (int (*query)(void*, abi::Status*), int (*free)(void*), int (*cancel)(void*, int), void* extra,
          abi::Request* request)) {
    MPI_Request own = MPI_REQUEST_NULL;
    const int result = VENDOR(MPI_Grequest_start)(GeneralizedRequest::call_query, GeneralizedRequest::call_free,
                                                  GeneralizedRequest::call_cancel,
                                                  new GeneralizedRequest{query, free, cancel, extra}, &own);
    *request = out<abi::Request>(own);
    return out_error(result);
}

// ---- what a type was made with: among its numbers there may be orders and distributions of arrays -------------------------

// HCOLL_STAND_IN_FOREIGN_ORDERS=1: orders and distributions stay the MPI library's own numbers; Open MPI 6.0.0rc2 leaves orders so.
FUNCTION(int, Type_get_contents,
         (abi::Datatype type, int integers, int addresses, int types, int integer_list[], MPI_Aint address_list[],
          abi::Datatype type_list[])) {
    int counts[3];
    int combiner = 0;
    VENDOR(MPI_Type_get_envelope)(in(type), &counts[0], &counts[1], &counts[2], &combiner);
    std::vector<MPI_Datatype> own(static_cast<std::size_t>(types));
    const int result =
        VENDOR(MPI_Type_get_contents)(in(type), integers, addresses, types, integer_list, address_list, own.data());
    if (result != MPI_SUCCESS) return out_error(result);
    for (int i = 0; i < counts[2]; ++i) type_list[i] = out<abi::Datatype>(own[static_cast<std::size_t>(i)]);
    if (std::getenv("HCOLL_STAND_IN_FOREIGN_ORDERS") != nullptr) return out_error(result);
    if (combiner == MPI_COMBINER_SUBARRAY) {
        const int dimensions = integer_list[0];
        integer_list[1 + 3 * dimensions] = out<Arrays>(integer_list[1 + 3 * dimensions]);
    } else if (combiner == MPI_COMBINER_DARRAY) {
        const int dimensions = integer_list[2];
        for (int i = 3 + dimensions; i < 3 + 3 * dimensions; ++i) integer_list[i] = out<Arrays>(integer_list[i]);
        integer_list[3 + 4 * dimensions] = out<Arrays>(integer_list[3 + 4 * dimensions]);
    }
    return out_error(result);
}

FUNCTION(int, Comm_spawn_multiple,
         (int count, char* commands[], char** arguments[], const int processes[], const abi::Info infos[], int root,
          abi::Comm comm, abi::Comm* children, int codes[])) {
    const auto own_infos = all_in(infos, count);
    MPI_Comm own = MPI_COMM_NULL;
    const int result = VENDOR(MPI_Comm_spawn_multiple)(
        count, commands, arguments == nullptr ? MPI_ARGVS_NULL : arguments, processes, own_infos.data(), root, in(comm),
        &own, codes == nullptr ? MPI_ERRCODES_IGNORE : codes);
    *children = out<abi::Comm>(own);
    return out_error(result);
}
