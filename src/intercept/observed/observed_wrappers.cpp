// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/observed_wrappers.hpp"

#include "intercept/observed/observed_call.hpp"

namespace hcoll {

namespace {

using Side = ObservedArguments::Side;

template <typename Call>
int observed(const ObservedArguments& arguments, Call&& call, const MPI_Request* request = nullptr) {
    ObservedCall seen(arguments);
    if (const int status = seen.begin(); status != MPI_SUCCESS) return status;
    return seen.end(call(), request);
}

// That of a call that does not block, which is its last argument.
template <CallForm form, typename... More>
const MPI_Request* request_of(More... more) {
    if constexpr (form == CallForm::nonblocking)
        return (more, ...);
    else
        return nullptr;
}

ObservedArguments of_bcast(CallForm form, const void* buffer, std::int64_t count, MPI_Datatype type, int root,
                           MPI_Comm comm) {
    return {
        .collective = Collective::bcast, .form = form, .comm = comm, .root = root, .received = {buffer, count, type}};
}

ObservedArguments of_reduction(Collective collective, CallForm form, const void* send, const void* receive,
                               std::int64_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    return {.collective = collective,
            .form = form,
            .comm = comm,
            .root = root,
            .op = op,
            .sent = {send, count, type},
            .received = {receive, count, type}};
}

ObservedArguments of_blocks(Collective collective, const Side& sent, const Side& received, int root, MPI_Comm comm) {
    return {.collective = collective,
            .form = CallForm::blocking,
            .comm = comm,
            .root = root,
            .sent = sent,
            .received = received};
}

// One for each number of arguments that a function has; what it is called with goes on as it is.

template <CallForm form, auto wrapper, typename Count, typename... More>
int see_bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, More... more) {
    return observed(
        of_bcast(form, buffer, count, type, root, comm),
        [&] { return wrapper(buffer, count, type, root, comm, more...); }, request_of<form>(more...));
}

template <CallForm form, auto wrapper, typename Count, typename... More>
int see_reduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
               More... more) {
    return observed(
        of_reduction(Collective::reduce, form, send, receive, count, type, op, root, comm),
        [&] { return wrapper(send, receive, count, type, op, root, comm, more...); }, request_of<form>(more...));
}

template <CallForm form, auto wrapper, typename Count, typename... More>
int see_allreduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  More... more) {
    return observed(
        of_reduction(Collective::allreduce, form, send, receive, count, type, op, CallDescription::no_root, comm),
        [&] { return wrapper(send, receive, count, type, op, comm, more...); }, request_of<form>(more...));
}

int see_barrier(MPI_Comm comm) {
    return observed({.collective = Collective::barrier, .form = CallForm::blocking, .comm = comm},
                    [&] { return wrap_Barrier(comm); });
}

template <Collective collective, auto wrapper, typename Count>
int see_rooted(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return observed(
        of_blocks(collective, {send, send_count, send_type}, {receive, receive_count, receive_type}, root, comm),
        [&] { return wrapper(send, send_count, send_type, receive, receive_count, receive_type, root, comm); });
}

template <auto wrapper, typename Count>
int see_allgather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return observed(of_blocks(Collective::allgather, {send, send_count, send_type},
                              {receive, receive_count, receive_type}, CallDescription::no_root, comm),
                    [&] { return wrapper(send, send_count, send_type, receive, receive_count, receive_type, comm); });
}

}  // namespace

#define HCOLL_SEEN(name, ...) decltype(wrap_##name)* const observed_##name = __VA_ARGS__
HCOLL_SEEN(Bcast, see_bcast<CallForm::blocking, wrap_Bcast>);
HCOLL_SEEN(Bcast_c, see_bcast<CallForm::blocking, wrap_Bcast_c>);
HCOLL_SEEN(Reduce, see_reduce<CallForm::blocking, wrap_Reduce>);
HCOLL_SEEN(Reduce_c, see_reduce<CallForm::blocking, wrap_Reduce_c>);
HCOLL_SEEN(Allreduce, see_allreduce<CallForm::blocking, wrap_Allreduce>);
HCOLL_SEEN(Allreduce_c, see_allreduce<CallForm::blocking, wrap_Allreduce_c>);
HCOLL_SEEN(Barrier, see_barrier);
HCOLL_SEEN(Gather, see_rooted<Collective::gather, wrap_Gather>);
HCOLL_SEEN(Gather_c, see_rooted<Collective::gather, wrap_Gather_c>);
HCOLL_SEEN(Scatter, see_rooted<Collective::scatter, wrap_Scatter>);
HCOLL_SEEN(Scatter_c, see_rooted<Collective::scatter, wrap_Scatter_c>);
HCOLL_SEEN(Allgather, see_allgather<wrap_Allgather>);
HCOLL_SEEN(Allgather_c, see_allgather<wrap_Allgather_c>);
HCOLL_SEEN(Ibcast, see_bcast<CallForm::nonblocking, wrap_Ibcast>);
HCOLL_SEEN(Ibcast_c, see_bcast<CallForm::nonblocking, wrap_Ibcast_c>);
HCOLL_SEEN(Ireduce, see_reduce<CallForm::nonblocking, wrap_Ireduce>);
HCOLL_SEEN(Ireduce_c, see_reduce<CallForm::nonblocking, wrap_Ireduce_c>);
HCOLL_SEEN(Iallreduce, see_allreduce<CallForm::nonblocking, wrap_Iallreduce>);
HCOLL_SEEN(Iallreduce_c, see_allreduce<CallForm::nonblocking, wrap_Iallreduce_c>);
HCOLL_SEEN(Bcast_init, see_bcast<CallForm::persistent, wrap_Bcast_init>);
HCOLL_SEEN(Reduce_init, see_reduce<CallForm::persistent, wrap_Reduce_init>);
HCOLL_SEEN(Allreduce_init, see_allreduce<CallForm::persistent, wrap_Allreduce_init>);
HCOLL_SEEN(Bcast_init_c, see_bcast<CallForm::persistent, wrap_Bcast_init_c>);
HCOLL_SEEN(Reduce_init_c, see_reduce<CallForm::persistent, wrap_Reduce_init_c>);
HCOLL_SEEN(Allreduce_init_c, see_allreduce<CallForm::persistent, wrap_Allreduce_init_c>);
#undef HCOLL_SEEN

}  // namespace hcoll
