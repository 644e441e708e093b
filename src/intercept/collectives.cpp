// The wrappers of the collectives: which call runs here, which is passed on, untouched, and why.
//
// Every decision is a function of what MPI makes equal on all ranks: the collective, the bytes of the type signature,
// root, operation, the communicator and how many calls it has seen. Screening for arguments that only the vendor may
// judge comes to the same result on all ranks wherever the program is right.
#include <algorithm>
#include <chrono>

#include "intercept/datatype.hpp"
#include "intercept/own_run.hpp"
#include "intercept/wrappers.hpp"

namespace hcoll {

namespace {

// Runs `call`, which answers a collective, and where a report was asked for, notes it.
template <typename Count, typename Call>
inline int noted(std::string_view name, Count count, MPI_Datatype type, std::string_view what, std::string_view why,
                 Call&& call) {
    Report* report = Process::get().report();
    if (report == nullptr) [[likely]]
        return call();
    const bool has_bytes = count > 0 && type != MPI_DATATYPE_NULL;
    const std::uint64_t bytes = has_bytes ? static_cast<std::uint64_t>(count) * type_size(type) : 0;
    const auto begin = std::chrono::steady_clock::now();
    const int status = call();
    report->add(name, bytes, what, why,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return status;
}

// One collective call: `pass_on` gives it to the vendor, `judge` says what is to be done with it here.
//   judge(communicator, decision) -> why the call is passed on, or nullptr with the decision set
template <Collective collective, typename Count, typename PassOn, typename Judge, typename Run>
inline int dispatch(MPI_Comm comm, Count count, MPI_Datatype type, PassOn&& pass_on, Judge&& judge, Run&& run) {
    const std::string_view name = name_of(collective);
    Communicator* communicator = Communicator::find(comm);
    if (communicator == nullptr) [[unlikely]] {
        const int status = noted(name, count, type, "vendor", reason::first_calls, pass_on);
        if (comm != MPI_COMM_NULL) Communicator::attach(comm, status);
        return status;
    }
    const Decision* decision = nullptr;
    const char* why = communicator->count_call(collective);
    if (why == nullptr) why = judge(*communicator, decision);
    if (why != nullptr) return noted(name, count, type, "vendor", why, pass_on);
    return noted(name, count, type, decision->what, decision->why, [&] { return run(*communicator, *decision); });
}

const char* decide_by_bytes(Communicator& communicator, Collective collective, std::uint64_t bytes,
                            const Decision*& decision) {
    if (bytes == 0) return reason::no_bytes;
    decision = &decide(communicator.own().decisions[static_cast<std::size_t>(collective)], bytes);
    return decision->algorithm == nullptr ? decision->why.c_str() : nullptr;
}

template <typename Count>
inline int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm,
                 int (*next)(void*, Count, MPI_Datatype, int, MPI_Comm)) {
    return dispatch<Collective::bcast>(
        comm, count, type, [&] { return next(buffer, count, type, root, comm); },
        [&](Communicator& communicator, const Decision*& decision) -> const char* {
            if (count < 0 || type == MPI_DATATYPE_NULL || root < 0 || root >= communicator.size() ||
                buffer == MPI_IN_PLACE)
                return reason::arguments;
            const char* why = decide_by_bytes(communicator, Collective::bcast,
                                              static_cast<std::uint64_t>(count) * type_size(type), decision);
            if (why == nullptr && buffer == nullptr && is_predefined_type(type)) why = reason::arguments;
            return why;
        },
        [&](Communicator& communicator, const Decision& decision) {
            return run_bcast(communicator, decision, buffer, static_cast<std::uint64_t>(count), type, root);
        });
}

// Are the buffers ones that the vendor would take? Those that only the root has are looked at on the root alone.
bool has_valid_buffers(const Reduction& reduction, bool has_output, bool may_be_in_place) {
    const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
    if (in_place && !may_be_in_place) return false;
    if (has_output && (reduction.receive_buffer == MPI_IN_PLACE || reduction.receive_buffer == reduction.send_buffer))
        return false;
    const bool has_null =
        (!in_place && reduction.send_buffer == nullptr) || (has_output && reduction.receive_buffer == nullptr);
    return !has_null || !is_predefined_type(reduction.type);  // MPI_BOTTOM, with absolute addresses in the type
}

// Not every predefined operation takes every type, and which do is the vendor's business. The first time that a pair is
// used on a communicator, on all ranks alike, the vendor is asked with no elements: a wrong pair gets its own error.
template <typename Ask>
int prove_operation(OwnAlgorithms& own, MPI_Op op, MPI_Datatype type, Ask&& ask) {
    if (!is_predefined_op(op)) return MPI_SUCCESS;
    const std::pair pair(op, type);
    if (std::find(own.proven.begin(), own.proven.end(), pair) != own.proven.end()) return MPI_SUCCESS;
    const int status = ask();
    if (status == MPI_SUCCESS) own.proven.push_back(pair);
    return status;
}

const char* judge_reduction(Communicator& communicator, Collective collective, const Reduction& reduction,
                            const Decision*& decision) {
    if (reduction.type == MPI_DATATYPE_NULL || reduction.op == MPI_OP_NULL) return reason::arguments;
    if (reduction.root < 0 || reduction.root >= communicator.size()) return reason::arguments;
    const bool is_root = collective == Collective::allreduce || communicator.rank() == reduction.root;
    if (!has_valid_buffers(reduction, is_root, is_root)) return reason::arguments;
    const char* why = decide_by_bytes(communicator, collective, reduction.count * type_size(reduction.type), decision);
    if (why != nullptr) return why;
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    if (mpi.Type_get_extent(reduction.type, &lower_bound, &extent) != MPI_SUCCESS || extent <= 0)
        return reason::arguments;
    return nullptr;
}

// `call` gives the call to the vendor, with a count of its own.
template <Collective collective, typename Count, typename Call>
inline int reduce_any(Count count, const Reduction& reduction, MPI_Comm comm, Call&& call) {
    return dispatch<collective>(
        comm, count, reduction.type, [&] { return call(count); },
        [&](Communicator& communicator, const Decision*& decision) -> const char* {
            return count < 0 ? reason::arguments : judge_reduction(communicator, collective, reduction, decision);
        },
        [&](Communicator& communicator, const Decision& decision) {
            const int status =
                prove_operation(communicator.own(), reduction.op, reduction.type, [&] { return call(0); });
            return status != MPI_SUCCESS ? status : run_reduction(communicator, decision, collective, reduction);
        });
}

template <typename Count>
inline int ibcast(Count count, MPI_Datatype type, auto&& pass_on) {
    return noted("ibcast", count, type, "vendor", reason::non_blocking, pass_on);
}

}  // namespace

int wrap_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return bcast(buffer, count, type, root, comm, mpi.Bcast);
}

int wrap_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    return bcast(buffer, count, type, root, comm, mpi.Bcast_c);
}

int wrap_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    return reduce_any<Collective::reduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, root}, comm,
        [&](int elements) { return mpi.Reduce(send, receive, elements, type, op, root, comm); });
}

int wrap_Reduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm) {
    return reduce_any<Collective::reduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, root}, comm,
        [&](MPI_Count elements) { return mpi.Reduce_c(send, receive, elements, type, op, root, comm); });
}

int wrap_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return reduce_any<Collective::allreduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, 0}, comm,
        [&](int elements) { return mpi.Allreduce(send, receive, elements, type, op, comm); });
}

int wrap_Allreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return reduce_any<Collective::allreduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, 0}, comm,
        [&](MPI_Count elements) { return mpi.Allreduce_c(send, receive, elements, type, op, comm); });
}

int wrap_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return ibcast(count, type, [&] { return mpi.Ibcast(buffer, count, type, root, comm, request); });
}

int wrap_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return ibcast(count, type, [&] { return mpi.Ibcast_c(buffer, count, type, root, comm, request); });
}

}  // namespace hcoll
