// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of MPI_Ibcast, MPI_Ireduce and MPI_Iallreduce, and of their persistent relatives: what is valid, and what runs it.
//
// A communicator is never set up in a non-blocking call (rule 3): until blocking ones have done that, all are the vendor's.
#include "intercept/calls/arguments.hpp"
#include "intercept/calls/dispatch.hpp"
#include "intercept/calls/nonblocking.hpp"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/persistent.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/process/background.hpp"

namespace hcoll {

namespace {

// `pass_on` gives the call to the vendor; `screen(communicator)` looks at its arguments; `admit(communicator)` is asked last, of a call
// that is to run here, and alike on all ranks: nullptr where it may; `begin` begins it here.
template <Collective collective, typename Count, typename PassOn, typename Screen, typename Admit, typename Begin>
int nonblocking(std::string_view name, MPI_Comm comm, Count count, MPI_Datatype type, const MPI_Request* request,
                PassOn&& pass_on, Screen&& screen, Admit&& admit, Begin&& begin) {
    constexpr auto index = static_cast<std::size_t>(collective);
    Communicator* communicator = Communicator::find(comm);
    const char* why = communicator == nullptr || communicator->is_counting()
                          ? reason::first_calls
                          : communicator->why_vendor_nonblocking(collective);
    const Decision* decision = nullptr;
    if (why == nullptr && !Background::get().is_possible_now()) why = reason::no_progress;  // all are in MPI_Finalize
    if (why == nullptr) {
        Screening screening = screen(*communicator);
        // MPICH looks at it, Open MPI writes to it.
        if (request == nullptr) screening = Screening::wrong(MPI_ERR_ARG, Process::vendor_kind() == VendorKind::mpich);
        if (screening.error_class != MPI_SUCCESS)
            return noted(name, count, type, "vendor", reason::arguments,
                         [&] { return reject(*communicator, screening, pass_on); });
        why = screening.why_vendor;
    }
    if (why == nullptr) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(count) * type_size(type);
        decision = &decide(communicator->own().decisions->nonblocking[index], bytes);
        if (bytes == 0)
            why = reason::no_bytes;
        else if (!decision->is_own())
            why = decision->why.c_str();
        else
            why = admit(*communicator);
    }
    if (why != nullptr) return noted(name, count, type, "vendor", why, pass_on);
    return noted(name, count, type, decision->what, decision->why, [&] { return begin(*communicator, *decision); });
}

constexpr auto admit_any = [](Communicator&) -> const char* { return nullptr; };

template <typename Count>
int ibcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request, auto&& next) {
    return nonblocking<Collective::bcast>(
        nonblocking_names[0], comm, count, type, request,
        [&] { return next(buffer, count, type, root, comm, request); },
        [&](Communicator& communicator) {
            return screen_bcast(communicator, buffer, count, type_of_bcast(count, type), root);
        },
        admit_any,
        [&](Communicator& communicator, const Decision& decision) {
            return begin_bcast(communicator, decision, buffer, static_cast<std::uint64_t>(count), type, root, request);
        });
}

// Operations of the application would be called by any thread, at any time. All ranks have the same operation and type.
Screening screen_background_reduction(Communicator& communicator, Collective collective, std::int64_t count,
                                      Reduction& reduction) {
    const Screening screening = screen_reduction(communicator, collective, count, reduction);
    if (!screening.is_fine()) return screening;
    const auto* known = find_known_reduction(communicator, reduction.op, reduction.type);
    const bool runs = known != nullptr && known->is_taken && known->element_bytes != 0;
    return runs ? Screening::fine() : Screening::vendors(reason::not_in_background);
}

template <Collective collective, typename Count, typename PassOn>
int ireduce_any(Count count, Reduction reduction, MPI_Comm comm, MPI_Request* request, PassOn&& pass_on) {
    return nonblocking<collective>(
        nonblocking_names[static_cast<std::size_t>(collective)], comm, count, reduction.type, request, pass_on,
        [&](Communicator& communicator) {
            return screen_background_reduction(communicator, collective, count, reduction);
        },
        admit_any,
        [&](Communicator& communicator, const Decision& decision) {
            return begin_reduction(communicator, decision, collective, reduction, request);
        });
}

template <typename Count>
int ireduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
            MPI_Request* request, auto&& next) {
    return ireduce_any<Collective::reduce>(count, {send, receive, static_cast<std::uint64_t>(count), type, op, root},
                                           comm, request,
                                           [&] { return next(send, receive, count, type, op, root, comm, request); });
}

template <typename Count>
int iallreduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request* request, auto&& next) {
    return ireduce_any<Collective::allreduce>(
        count, {allreduce_operand(send, receive), receive, static_cast<std::uint64_t>(count), type, op, 0}, comm,
        request, [&] { return next(send, receive, count, type, op, comm, request); });
}

constexpr std::string_view persistent_names[nonblocking_count] = {"bcast_init", "reduce_init", "allreduce_init"};

// A persistent one: `begin(communicator, decision, number)` makes it here. Numbers are few, and never given back: only one that
// runs here gets one, which is the same on all ranks, since rules go by what all ranks know.
template <Collective collective, typename Count, typename PassOn, typename Screen, typename Begin>
int persistent(MPI_Comm comm, Count count, MPI_Datatype type, const MPI_Request* request, PassOn&& pass_on,
               Screen&& screen, Begin&& begin) {
    int number = -1;
    return nonblocking<collective>(
        persistent_names[static_cast<std::size_t>(collective)], comm, count, type, request, pass_on, screen,
        [&](Communicator& communicator) -> const char* {
            number = communicator.own().nonblocking.begin_persistent();
            return number < 0 ? reason::no_tags : nullptr;
        },
        [&](Communicator& communicator, const Decision& decision) { return begin(communicator, decision, number); });
}

template <Collective collective, typename Count, typename PassOn>
int reduce_init_any(Count count, Reduction reduction, MPI_Comm comm, MPI_Request* request, PassOn&& pass_on) {
    return persistent<collective>(
        comm, count, reduction.type, request, pass_on,
        [&](Communicator& communicator) {
            return screen_background_reduction(communicator, collective, count, reduction);
        },
        [&](Communicator& communicator, const Decision& decision, int number) {
            return init_reduction(communicator, decision, number, collective, reduction, request);
        });
}

template <typename Count>
int bcast_init(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
               MPI_Request* request, auto&& next) {
    return persistent<Collective::bcast>(
        comm, count, type, request, [&] { return next(buffer, count, type, root, comm, info, request); },
        [&](Communicator& communicator) {
            return screen_bcast(communicator, buffer, count, type_of_bcast(count, type), root);
        },
        [&](Communicator& communicator, const Decision& decision, int number) {
            return init_bcast(communicator, decision, number, buffer, static_cast<std::uint64_t>(count), type, root,
                              request);
        });
}

template <typename Count>
int reduce_init(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Info info, MPI_Request* request, auto&& next) {
    return reduce_init_any<Collective::reduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, root}, comm, request,
        [&] { return next(send, receive, count, type, op, root, comm, info, request); });
}

template <typename Count>
int allreduce_init(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request, auto&& next) {
    return reduce_init_any<Collective::allreduce>(
        count, {allreduce_operand(send, receive), receive, static_cast<std::uint64_t>(count), type, op, 0}, comm,
        request, [&] { return next(send, receive, count, type, op, comm, info, request); });
}

}  // namespace

int wrap_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request) {
    return bcast_init(buffer, count, type, root, comm, info, request, onward.Bcast_init);
}

int wrap_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
    return bcast_init(buffer, count, type, root, comm, info, request, onward.Bcast_init_c);
}

int wrap_Reduce_init(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request) {
    return reduce_init(send, receive, count, type, op, root, comm, info, request, onward.Reduce_init);
}

int wrap_Reduce_init_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return reduce_init(send, receive, count, type, op, root, comm, info, request, onward.Reduce_init_c);
}

int wrap_Allreduce_init(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
    return allreduce_init(send, receive, count, type, op, comm, info, request, onward.Allreduce_init);
}

int wrap_Allreduce_init_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Info info, MPI_Request* request) {
    return allreduce_init(send, receive, count, type, op, comm, info, request, onward.Allreduce_init_c);
}

int wrap_Start(MPI_Request* request) { return any_persistent() ? start_persistent(request) : onward.Start(request); }

int wrap_Startall(int count, MPI_Request* requests) {
    if (!any_persistent() || count < 0 || requests == nullptr) return onward.Startall(count, requests);
    for (int i = 0; i < count; ++i)
        if (const int status = start_persistent(&requests[i]); status != MPI_SUCCESS) return status;
    return MPI_SUCCESS;
}

int wrap_Request_free(MPI_Request* request) {
    return any_persistent() ? free_persistent(request) : onward.Request_free(request);
}

int wrap_Cancel(MPI_Request* request) { return any_persistent() ? cancel_persistent(request) : onward.Cancel(request); }

int wrap_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return ibcast(buffer, count, type, root, comm, request, onward.Ibcast);
}

int wrap_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return ibcast(buffer, count, type, root, comm, request, onward.Ibcast_c);
}

int wrap_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request* request) {
    return ireduce(send, receive, count, type, op, root, comm, request, onward.Ireduce);
}

int wrap_Ireduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                   MPI_Comm comm, MPI_Request* request) {
    return ireduce(send, receive, count, type, op, root, comm, request, onward.Ireduce_c);
}

int wrap_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
    return iallreduce(send, receive, count, type, op, comm, request, onward.Iallreduce);
}

int wrap_Iallreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                      MPI_Request* request) {
    return iallreduce(send, receive, count, type, op, comm, request, onward.Iallreduce_c);
}

}  // namespace hcoll
