// SPDX-License-Identifier: BSD-3-Clause
// A collective of any kind and form, as the program makes it and as the MPI library alone does it: blocking, with counts of MPI_Count,
// non-blocking, persistent, or by Fortran's interface; among the ranks of a communicator, or between the groups of an
// inter-communicator.
#pragma once

#include "guarded_buffer.hpp"
#include "mpi_library.hpp"
#include "persistent_call.hpp"
#include "user_operation.hpp"

#include <dlfcn.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>

// Fortran's bindings, where a library of theirs is linked. The standard ABI has none.
#if !defined(MPI_ABI_VERSION)
extern "C" {
[[gnu::weak]] void mpi_bcast_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
[[gnu::weak]] void mpi_reduce_(const void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
[[gnu::weak]] void mpi_allreduce_(const void*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
[[gnu::weak]] void mpi_barrier_(MPI_Fint*, MPI_Fint*);
[[gnu::weak]] void mpi_gather_(const void*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*,
                               MPI_Fint*);
[[gnu::weak]] void mpi_scatter_(const void*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*,
                                MPI_Fint*);
[[gnu::weak]] void mpi_allgather_(const void*, MPI_Fint*, MPI_Fint*, void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
}
#endif

namespace hcoll::test::any {

enum class What { bcast, reduce, allreduce, barrier, gather, scatter, allgather };
inline constexpr const char* what_names[] = {"Bcast",  "Reduce",  "Allreduce", "Barrier",
                                             "Gather", "Scatter", "Allgather"};
enum class Form { blocking, large, fortran, nonblocking, persistent };
inline constexpr const char* form_names[] = {"blocking", "MPI_Count", "Fortran", "non-blocking", "persistent"};

inline bool is_reduction(What what) { return what == What::reduce || what == What::allreduce; }
inline bool has_root(What what) {
    return what == What::bcast || what == What::reduce || what == What::gather || what == What::scatter;
}
#if defined(MPI_ABI_VERSION)
inline constexpr bool has_fortran() { return false; }
#else
inline bool has_fortran() { return mpi_bcast_ != nullptr && mpi_allgather_ != nullptr; }
#endif

// A communicator; of an inter-communicator this rank's group, and the other one's size.
struct Place {
    std::string name;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    int remote = 0;  // 0: there is one group
    int group = 0;   // this rank's, of the two

    [[nodiscard]] bool is_inter() const { return remote != 0; }
    [[nodiscard]] int size_of(int of_group) const { return of_group == group ? size : remote; }
};

inline Place place_of(std::string name, MPI_Comm comm, int group = 0) {
    Place place{.name = std::move(name), .comm = comm, .group = group};
    int is_inter = 0;
    check(MPI_Comm_rank(comm, &place.rank));
    check(MPI_Comm_size(comm, &place.size));
    check(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter != 0) check(MPI_Comm_remote_size(comm, &place.remote));
    return place;
}

// User operations may run on any thread, and know a type by its handle.
inline std::map<MPI_Datatype, const TestType*>& types_by_handle() {
    static std::map<MPI_Datatype, const TestType*> types;  // filled before any collective
    return types;
}

template <Op op>
void combine_by_handle(void* left, void* right, int* count, MPI_Datatype* handle) {
    const auto found = types_by_handle().find(*handle);
    if (found == types_by_handle().end()) fail("a user operation was called with a datatype of no call");
    const TestType& type = *found->second;
    for (std::int64_t i = 0; i < *count; ++i)
        type.combine(op, static_cast<std::byte*>(left) + i * type.extent,
                     static_cast<std::byte*>(right) + i * type.extent);
}

struct Call {
    What what = What::bcast;
    Form form = Form::blocking;
    const Place* on = nullptr;
    const TestType* type = nullptr;
    std::int64_t count = 0;  // of the message, or of one block
    Operation operation;
    int root_group = 0;
    int root = 0;
    bool in_place = false;
    std::uint64_t seed = 0;

    [[nodiscard]] bool is_root() const { return has_root(what) && on->group == root_group && on->rank == root; }
    // In an inter-communicator: of the group that the root is in, and not the root.
    [[nodiscard]] bool is_outside() const {
        return on->is_inter() && has_root(what) && on->group == root_group && !is_root();
    }
    [[nodiscard]] bool is_in_place() const {
        if (!in_place || on->is_inter() || what == What::bcast || what == What::barrier) return false;
        return !has_root(what) || is_root();
    }
    [[nodiscard]] int peers() const { return on->is_inter() ? on->remote : on->size; }
    // Blocks in each buffer of this rank.
    [[nodiscard]] std::int64_t sent_blocks() const {
        if (what == What::barrier || what == What::bcast || is_outside()) return 0;
        if (what == What::scatter) return is_root() ? peers() : 0;
        if (on->is_inter() && is_root()) return 0;
        return is_in_place() ? 0 : 1;
    }
    [[nodiscard]] std::int64_t received_blocks() const {
        if (what == What::barrier || is_outside()) return 0;
        if (what == What::gather) return is_root() ? peers() : 0;
        if (what == What::reduce) return is_root() ? 1 : 0;
        if (what == What::allgather) return peers();
        if (what == What::scatter) return is_in_place() || (on->is_inter() && is_root()) ? 0 : 1;
        return 1;
    }
    // Of those that this rank receives, the one that it has filled; -1: none.
    [[nodiscard]] int own_block_received() const {
        if (what == What::bcast) return is_root() ? 0 : -1;
        if (!is_in_place() || what == What::scatter) return -1;
        return is_reduction(what) ? 0 : on->rank;
    }
    [[nodiscard]] int root_argument() const {
        if (!on->is_inter() || on->group != root_group) return root;
        return is_root() ? MPI_ROOT : MPI_PROC_NULL;
    }
};

inline std::string describe(const Call& call) {
    std::string text = std::string(form_names[static_cast<int>(call.form)]) + " " +
                       what_names[static_cast<int>(call.what)] + " on " + call.on->name + " (rank " +
                       std::to_string(call.on->rank) + " of " + std::to_string(call.on->size) + ")";
    if (call.what == What::barrier) return text;
    text += ", " + std::to_string(call.count) + " x " + call.type->name;
    if (is_reduction(call.what)) text += ", " + call.operation.name;
    if (has_root(call.what)) text += ", root " + std::to_string(call.root);
    if (has_root(call.what) && call.on->is_inter()) text += " of group " + std::to_string(call.root_group);
    return text + (call.is_in_place() ? ", in place" : "");
}

// Both buffers of this rank, filled with what it contributes.
struct Buffers {
    explicit Buffers(const Call& call)
        : send(*call.type, call.sent_blocks() * call.count, call.seed),
          receive(*call.type, call.received_blocks() * call.count, call.seed + 1) {
        Random random(
            mix({call.seed, static_cast<std::uint64_t>(call.on->group), static_cast<std::uint64_t>(call.on->rank)}));
        const Draw how = call.type->draws(call.operation.op, call.on->rank);
        for (std::int64_t i = 0; i < send.count(); ++i) call.type->fill(send.item(i), how, random);
        if (const int block = call.own_block_received(); block >= 0)
            for (std::int64_t i = 0; i < call.count; ++i)
                call.type->fill(receive.item(block * call.count + i), how, random);
    }
    GuardedBuffer send;
    GuardedBuffer receive;
};

// What MPI is handed.
class Arguments {
public:
    Arguments(const Call& call, Buffers& buffers)
        : send(call.is_in_place() && call.what != What::scatter ? MPI_IN_PLACE : buffers.send.data()),
          receive(call.is_in_place() && call.what == What::scatter ? MPI_IN_PLACE : buffers.receive.data()),
          count(static_cast<int>(call.count)),
          type(call.type->handle),
          op(call.operation.handle),
          root(call.root_argument()),
          comm(call.on->comm) {}
    const void* send;
    void* receive;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

enum class By { program, vendor };

// Of the MPI library itself: libhcoll has functions by PMPI's names, too, but for this one.
inline void* symbol_of_vendor(const char* name) {
    static void* const library = [] {
        Dl_info where;
        void* known = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
        require(known != nullptr && dladdr(known, &where) != 0, "the MPI library is nowhere");
        return dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }();
    void* symbol = library == nullptr ? nullptr : dlsym(library, name);
    require(symbol != nullptr, std::string("the MPI library has no ") + name);
    return symbol;
}
#define HCOLL_TEST_EITHER(name)                                                                                 \
    (by == By::program ? MPI_##name : [] {                                                                      \
        static const auto of_vendor = reinterpret_cast<decltype(&MPI_##name)>(symbol_of_vendor("PMPI_" #name)); \
        return of_vendor;                                                                                       \
    }())

inline int run_blocking(const Call& call, Buffers& buffers, By by) {
    const Arguments a(call, buffers);
    switch (call.what) {
        case What::bcast: return HCOLL_TEST_EITHER(Bcast)(a.receive, a.count, a.type, a.root, a.comm);
        case What::reduce: return HCOLL_TEST_EITHER(Reduce)(a.send, a.receive, a.count, a.type, a.op, a.root, a.comm);
        case What::allreduce: return HCOLL_TEST_EITHER(Allreduce)(a.send, a.receive, a.count, a.type, a.op, a.comm);
        case What::barrier: return HCOLL_TEST_EITHER(Barrier)(a.comm);
        case What::gather:
            return HCOLL_TEST_EITHER(Gather)(a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm);
        case What::scatter:
            return HCOLL_TEST_EITHER(Scatter)(a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm);
        default: return HCOLL_TEST_EITHER(Allgather)(a.send, a.count, a.type, a.receive, a.count, a.type, a.comm);
    }
}

#undef HCOLL_TEST_EITHER

inline int run_large([[maybe_unused]] const Call& call, [[maybe_unused]] Buffers& buffers) {
#if MPI_VERSION >= 4
    const Arguments a(call, buffers);
    switch (call.what) {
        case What::bcast: return MPI_Bcast_c(a.receive, call.count, a.type, a.root, a.comm);
        case What::reduce: return MPI_Reduce_c(a.send, a.receive, call.count, a.type, a.op, a.root, a.comm);
        case What::allreduce: return MPI_Allreduce_c(a.send, a.receive, call.count, a.type, a.op, a.comm);
        case What::barrier: return MPI_Barrier(a.comm);
        case What::gather:
            return MPI_Gather_c(a.send, call.count, a.type, a.receive, call.count, a.type, a.root, a.comm);
        case What::scatter:
            return MPI_Scatter_c(a.send, call.count, a.type, a.receive, call.count, a.type, a.root, a.comm);
        default: return MPI_Allgather_c(a.send, call.count, a.type, a.receive, call.count, a.type, a.comm);
    }
#else
    return run_blocking(call, buffers, By::program);
#endif
}

#if defined(MPI_ABI_VERSION)
inline int run_fortran(const Call&, Buffers&) { return MPI_ERR_UNSUPPORTED_OPERATION; }
#else
inline int run_fortran(const Call& call, Buffers& buffers) {
    const Arguments a(call, buffers);
    MPI_Fint count = a.count;
    MPI_Fint type = MPI_Type_c2f(a.type);
    MPI_Fint op = a.op == MPI_OP_NULL ? 0 : MPI_Op_c2f(a.op);
    MPI_Fint root = a.root;
    MPI_Fint comm = MPI_Comm_c2f(a.comm);
    MPI_Fint status = MPI_SUCCESS;
    switch (call.what) {
        case What::bcast: mpi_bcast_(a.receive, &count, &type, &root, &comm, &status); break;
        case What::reduce: mpi_reduce_(a.send, a.receive, &count, &type, &op, &root, &comm, &status); break;
        case What::allreduce: mpi_allreduce_(a.send, a.receive, &count, &type, &op, &comm, &status); break;
        case What::barrier: mpi_barrier_(&comm, &status); break;
        case What::gather: mpi_gather_(a.send, &count, &type, a.receive, &count, &type, &root, &comm, &status); break;
        case What::scatter: mpi_scatter_(a.send, &count, &type, a.receive, &count, &type, &root, &comm, &status); break;
        case What::allgather: mpi_allgather_(a.send, &count, &type, a.receive, &count, &type, &comm, &status); break;
    }
    return status;
}
#endif

// Those that the library has in the background.
inline bool may_be_in_background(What what) {
    return what == What::bcast || is_reduction(what) || what == What::barrier;
}

inline int begin(const Call& call, Buffers& buffers, MPI_Request* request) {
    const Arguments a(call, buffers);
    switch (call.what) {
        case What::bcast: return MPI_Ibcast(a.receive, a.count, a.type, a.root, a.comm, request);
        case What::reduce: return MPI_Ireduce(a.send, a.receive, a.count, a.type, a.op, a.root, a.comm, request);
        case What::allreduce: return MPI_Iallreduce(a.send, a.receive, a.count, a.type, a.op, a.comm, request);
        default: return MPI_Ibarrier(a.comm, request);
    }
}

// MPICH 4.0's own never end, now and then, on three or five ranks beside other collectives; random_nonblocking has those that run here.
inline bool has_persistent() {
#if defined(HCOLL_TEST_PERSISTENT)
    return !is_mpich_of("4.0");
#else
    return false;
#endif
}

inline int make_persistent([[maybe_unused]] const Call& call, [[maybe_unused]] Buffers& buffers,
                           [[maybe_unused]] MPI_Request* request) {
#if defined(HCOLL_TEST_PERSISTENT)
    const Arguments a(call, buffers);
    switch (call.what) {
        case What::bcast:
            return HCOLL_TEST_PERSISTENT(Bcast_init)(a.receive, a.count, a.type, a.root, a.comm, MPI_INFO_NULL,
                                                     request);
        case What::reduce:
            return HCOLL_TEST_PERSISTENT(Reduce_init)(a.send, a.receive, a.count, a.type, a.op, a.root, a.comm,
                                                      MPI_INFO_NULL, request);
        case What::allreduce:
            return HCOLL_TEST_PERSISTENT(Allreduce_init)(a.send, a.receive, a.count, a.type, a.op, a.comm,
                                                         MPI_INFO_NULL, request);
        default: return HCOLL_TEST_PERSISTENT(Barrier_init)(a.comm, MPI_INFO_NULL, request);
    }
#else
    return MPI_ERR_OTHER;
#endif
}

// What the MPI libraries under test are known to do wrong by themselves (as vendor_defects.hpp). `campaign.py --alone` finds them.
inline bool vendor_fails(const Call& call) {
    const std::int64_t bytes = call.count * call.type->extent;
    const bool is_rooted_elsewhere = has_root(call.what) && call.root != 0;
    const bool is_in_background = call.form == Form::nonblocking || call.form == Form::persistent;
    if (is_mpich_of("4.0")) {
        if (call.what == What::reduce && call.in_place && is_rooted_elsewhere && !call.on->is_inter() && bytes > 2048)
            return true;
        // MPI_Ibcast between groups gives nothing; of others some never end.
        if (is_in_background && call.on->is_inter()) return true;
        // Blocks of types with gaps end in MPI_ERR_TRUNCATE.
        const bool has_blocks = call.what == What::gather || call.what == What::scatter || call.what == What::allgather;
        if (has_blocks && bytes > 512 && !call.type->is_dense()) return true;
    }
    // 4.1: scratch memory is written outside of its bounds.
    return is_openmpi() && is_reduction(call.what) && call.type->true_lower < 0 && (is_in_background || bytes > 4096);
}

}  // namespace hcoll::test::any
