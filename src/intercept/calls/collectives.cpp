// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of MPI_Bcast, MPI_Reduce, MPI_Allreduce and MPI_Barrier: what is valid, and what runs it.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "intercept/calls/arguments.hpp"
#include "intercept/calls/collective_apart.hpp"
#include "intercept/calls/dispatch.hpp"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/own_run.hpp"
#include "intercept/calls/staged_buffer.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/process/scratch_memory.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

namespace {

// The next Bcast like this one, which was over shared memory, may be looked at less (repeat_line_of_node).
OwnAlgorithms::RepeatedLine line_of(const OwnAlgorithms& own, const BcastOfNode& call, std::uint64_t elements,
                                    MPI_Datatype type) {
    const bool goes_by =
        call.goes_by || !own.learning.is_on() || (call.turn.decision != nullptr && call.turn.may_be_repeated);
    const bool is_line = call.length == elements * type_size(type) && own.node->is_line(call.length);
    if (!goes_by || !is_line || type != own.contiguous_type || Process::get().notes_calls()) return {};
    return {.count = elements, .type = type, .bytes = call.length};
}

// A Bcast that is the MPI library's, whose root has `length` bytes, which are not as many as this rank says: it takes them all, so that the others get theirs,
// and keeps what there is room for.
template <typename PassOn, typename PassOnBytes>
int take_other_length(Communicator& communicator, void* buffer, std::uint64_t elements, MPI_Datatype type,
                      std::uint64_t length, PassOn&& pass_on, PassOnBytes&& pass_on_bytes) {
    ScratchLease scratch;
    std::byte* bytes = nullptr;
    try {
        bytes = scratch.get(length);
    } catch (const std::bad_alloc&) {
        return pass_on();
    }
    if (const int status = pass_on_bytes(bytes); status != MPI_SUCCESS) return status;
    return guarded(communicator, [&]() -> int {
        const std::uint64_t size = type_size(type);
        const std::uint64_t fitting = size == 0 ? 0 : std::min(elements, length / size);
        const int status =
            fitting == 0 ? MPI_SUCCESS : unpack(bytes, buffer, fitting, type, communicator.own().duplicate);
        return status == MPI_SUCCESS && length > elements * size ? MPI_ERR_TRUNCATE : status;
    });
}

// A Bcast whose arguments are valid, of ranks that are all on one node: the root's length decides, on all of them.
template <typename Count, typename PassOn>
inline int bcast_of_node(Communicator& communicator, void* buffer, Count count, MPI_Datatype type, int root,
                         PassOn&& pass_on_as, BcastOfNode call) {
    const auto elements = static_cast<std::uint64_t>(count);
    Report* report = Process::get().report();
    const auto begin = report == nullptr ? std::chrono::steady_clock::time_point() : std::chrono::steady_clock::now();
    std::optional<StagedBcast> staged;
    if (DeviceMemory::may_be_any()) [[unlikely]]
        call.staging = &staged.emplace(elements, type, communicator.rank() == root);
    const auto ended = [&](int status) {
        if (!staged.has_value()) [[likely]]
            return status;
        return staged->end(communicator, status);
    };
    OwnAlgorithms& own = communicator.own();
    own.repeated_line = {};
    const bool may_time = !call.is_announced && own.learning.may_time();
    if (!call.is_announced) {
        call.goes_by = !may_time && own.learning.may_go_by(Collective::bcast);
        if (!call.goes_by && own.learning.is_on()) count_learned_call(communicator, Collective::bcast, 0);
    }
    if (may_time && own.rank == root) own.node->touch_places(elements * type_size(type));
    // Where it lies is told with the message: whoever waits for that is in the call.
    const std::uint64_t arrival = may_time ? own.clock.now() : 0;
    const auto note = [&](int ended_as) {
        if (call.turn.decision == nullptr) [[likely]]
            return ended_as;
        if (call.turn.place >= 0 && may_time && ended_as == MPI_SUCCESS && own.learning.is_on())
            own.learning.note(call.turn, communicator.rank() == root, arrival, own.clock.now());
        if (!call.turn.may_be_repeated) own.forget_repeated(Collective::bcast);
        return ended_as;
    };
    const int status = run_bcast_of_node(communicator, buffer, elements, type, root, call);
    if (call.decision == nullptr) [[unlikely]]
        return ended(status);
    const std::string_view name = name_of(Collective::bcast);
    const char* why = call.turn.why != nullptr ? call.turn.why : call.decision->why.c_str();
    if (call.is_over) [[likely]] {
        if (status == MPI_SUCCESS) own.repeated_line = line_of(own, call, elements, type);
        if (CallObserver* observer = CallObserver::current(); observer != nullptr) [[unlikely]]
            observer->note_decision(call.decision->what);
        if (report != nullptr)
            add_to_report(*report, name, elements * type_size(type), call.decision->what, why,
                          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        return note(ended(status));
    }
    if (status != MPI_SUCCESS) return status;
    if (call.length != 0 && call.decision->is_own())
        return note(ended(noted(name, count, type, call.decision->what, why, [&] {
            void* message = buffer;
            if (staged.has_value() && !staged->begin(message, call.length)) {
                mpi.Comm_call_errhandler(communicator.handle(), MPI_ERR_NO_MEM);
                return int{MPI_ERR_NO_MEM};
            }
            return run_bcast(communicator, *call.decision, message, elements, type, root, call.length);
        })));
    // There the MPI library could wait for what the root never sends, or send what nobody waits for.
    if (call.length == 0) return noted(name, count, type, "vendor", reason::no_bytes, [] { return MPI_SUCCESS; });
    const auto pass_on = [&] { return pass_on_as(buffer, count, type); };
    const bool is_right =
        call.length == elements * type_size(type) || !std::in_range<Count>(call.length) || DeviceMemory::may_be_any();
    return note(noted(name, count, type, "vendor", why, [&] {
        if (is_right) [[likely]]
            return pass_on();
        return take_other_length(communicator, buffer, elements, type, call.length, pass_on, [&](std::byte* bytes) {
            return pass_on_as(bytes, static_cast<Count>(call.length), MPI_BYTE);
        });
    }));
}

// Where the instructions that find out again that a call is the vendor's do not count.
constexpr auto keep_nothing = [](Communicator&, const Decision&) {};

// Of the communicator, where its calls run here now.
OwnAlgorithms* own_of(const Communicator* communicator, Collective collective) {
    return communicator == nullptr ? nullptr : communicator->own_for(collective);
}

// The same Bcast as the one before, which runs in order: all that is left to look at is the buffer. Runs it and returns true if
// it is that.
template <typename Count>
inline bool repeat_bcast(Communicator* communicator, OwnAlgorithms* own, void* buffer, Count count, MPI_Datatype type,
                         int root, int& status) {
    if (own == nullptr) return false;
    const auto& last = own->repeated_bcast;
    if (!last.is_for(static_cast<std::uint64_t>(count), type, root)) return false;
    if (buffer == nullptr || buffer == MPI_IN_PLACE || DeviceMemory::holds(buffer)) return false;
    if (!own->learning.may_go_by(Collective::bcast)) return false;
    status = noted(name_of(Collective::bcast), count, type, last.decision->what, last.decision->why,
                   [&] { return repeat_bcast(*communicator, last, buffer); });
    return true;
}

// The Bcast that programs make again and again: of a few bytes, of ranks that are all on one node. Runs it and returns true if it is the same as the one
// before, and so it is on the root; where that has another length, `call` says so.
template <typename Count>
inline bool repeat_line_of_node(Communicator* communicator, OwnAlgorithms* own, void* buffer, Count count,
                                MPI_Datatype type, int root, BcastOfNode& call, int& status) {
    if (own == nullptr || !own->repeated_line.is_for(static_cast<std::uint64_t>(count), type)) return false;
    if (buffer == nullptr || buffer == MPI_IN_PLACE || root < 0 || root >= communicator->size()) return false;
    if (DeviceMemory::holds(buffer)) [[unlikely]]
        return false;
    // What is timed begins before its length is known.
    if (own->learning.may_time() || !own->learning.may_go_by(Collective::bcast)) [[unlikely]]
        return false;
    status = repeat_bcast_line(*communicator, buffer, root, call);
    return !call.is_announced;
}

// Not a part of its callers, whose first lines are for what repeat_bcast and repeat_line_of_node do.
template <typename Count>
__attribute__((noinline)) int bcast(Communicator* known, const OwnAlgorithms* own, const BcastOfNode& begun,
                                    void* buffer, Count count, MPI_Datatype given_type, int root, MPI_Comm comm,
                                    int (*next)(void*, Count, MPI_Datatype, int, MPI_Comm),
                                    int (*begin)(void*, Count, MPI_Datatype, int, MPI_Comm, MPI_Request*)) {
    const auto elements = static_cast<std::uint64_t>(count);
    const MPI_Datatype type = type_of_bcast(count, given_type);
    const auto pass_on_as = [&](void* message, Count length, MPI_Datatype of_type) {
        return collective_apart(
            comm, [&](MPI_Request* request) { return begin(message, length, of_type, root, comm, request); },
            [&] { return next(message, length, of_type, root, comm); });
    };
    const auto pass_on = [&] { return pass_on_as(buffer, count, given_type); };
    if (begun.is_announced) [[unlikely]]
        return bcast_of_node(*known, buffer, count, type, root, pass_on_as, begun);
    if (own != nullptr && own->node != nullptr && screen_bcast(*known, buffer, count, type, root).is_fine())
        [[likely]] {
        if (!own->learning.rests_bcast()) [[likely]]
            return bcast_of_node(*known, buffer, count, type, root, pass_on_as, begun);
        ++known->own().uses;
        if (!known->own().learning.may_go_by(Collective::bcast)) count_learned_call(*known, Collective::bcast, 0);
        return noted(name_of(Collective::bcast), count, type, "vendor", why_of_trials, pass_on);
    }
    return dispatch<Collective::bcast>(
        comm, root, count, type, pass_on,
        [&](Communicator& communicator) { return screen_bcast(communicator, buffer, count, type, root); },
        [](Communicator&) { return true; }, [](Communicator&) { return true; }, [] { return true; },
        [&](Communicator& communicator, const Decision& decision) {
            void* message = buffer;
            return run_staged(
                communicator,
                [&](StagedBuffers& staged) {
                    return staged.take(message, elements, type, communicator.rank() == root);
                },
                [&] {
                    return run_bcast(communicator, decision, message, elements, type, root, elements * type_size(type));
                });
        },
        keep_nothing);
}

// A predefined operation on a type that it is not for is wrong. What the vendor cannot be asked about is its business, on all ranks alike.
Screening screen_operation(Communicator& communicator, MPI_Op op, MPI_Datatype type) {
    const OwnAlgorithms::KnownReduction* known = find_known_reduction(communicator, op, type);
    if (known == nullptr ? !is_predefined_op(op) : known->is_taken) [[likely]]
        return Screening::fine();
    return communicator.reach() == Reach::world ? Screening::wrong(MPI_ERR_OP) : Screening::vendors(reason::not_known);
}

bool commutes(MPI_Op op) {
    int result = 0;
    return is_predefined_op(op) || (mpi.Op_commutative(op, &result) == MPI_SUCCESS && result != 0);
}

// The same call as the one before, over shared memory or passed on: all that is left to look at is the buffers and the root.
template <Collective collective>
inline const OwnAlgorithms::RepeatedReduction* find_repeated(const Communicator* communicator,
                                                             const Reduction& reduction) {
    OwnAlgorithms* own = own_of(communicator, collective);
    if (own == nullptr) return nullptr;
    const auto& last = own->repeated_reductions[static_cast<std::size_t>(collective)];
    if (!last.is_for(reduction.count, reduction.type, reduction.op)) return nullptr;
    if (last.plan != nullptr) {
        const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
        if (last.root != reduction.root || last.in_place != in_place) return nullptr;
    }
    if (reduction.root < 0 || reduction.root >= communicator->size()) return nullptr;
    const bool is_root = collective == Collective::allreduce || communicator->rank() == reduction.root;
    if (!has_valid_buffers(reduction, is_root, is_root)) return nullptr;
    if (DeviceMemory::holds(reduction.send_buffer, reduction.receive_buffer)) [[unlikely]]
        return nullptr;
    return own->learning.may_go_by(collective) ? &last : nullptr;
}

// Not 0 where an Allreduce is so short that its instructions count.
std::size_t line_bytes_of(OwnAlgorithms& own, Collective collective, std::uint64_t count,
                          const OwnAlgorithms::KnownReduction& known) {
    const std::size_t bytes = count * known.element_bytes;
    const bool is_line = collective == Collective::allreduce && known.kernel != nullptr && own.node->is_line(bytes);
    return is_line && !Process::get().notes_calls() ? bytes : 0;
}

// The call that programs make most, and make again and again: a few elements, over shared memory. Runs it and returns
// true if it is that, of the same kind as the one before, and nothing about its buffers needs a second look.
inline bool repeat_line(const void* send, void* receive, std::uint64_t count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, int& status) {
    Communicator* communicator = Communicator::find(comm);
    OwnAlgorithms* own = own_of(communicator, Collective::allreduce);
    if (own == nullptr) return false;
    const auto& last = own->repeated_reductions[static_cast<std::size_t>(Collective::allreduce)];
    if (last.line_bytes == 0 || !last.is_for(count, type, op)) return false;
    if (send == nullptr || receive == nullptr || receive == MPI_IN_PLACE || send == receive) return false;
    const void* operand = send == MPI_IN_PLACE ? receive : send;
    if (DeviceMemory::holds(operand, receive)) [[unlikely]]
        return false;
    if (!own->learning.may_go_by(Collective::allreduce)) [[unlikely]]
        return false;
    ++own->uses;
    try {
        own->node->allreduce_line(static_cast<const std::byte*>(operand), static_cast<std::byte*>(receive),
                                  last.line_bytes, count, last.known.kernel);
    } catch (const NodeFailure& failure) {
        status = report_failure(*communicator, failure);
    } catch (...) {
        // The application's own, or a thread that is cancelled: as in guarded(), which costs a little where nothing is thrown.
        communicator->give_to_vendor_after_unwinding();
        throw;
    }
    return true;
}

// `call` gives the call to the vendor.
template <Collective collective, typename Count, typename Call>
inline int reduce_any(Count count, Reduction reduction, MPI_Comm comm, Call&& call) {
    Communicator* repeating = Communicator::find(comm);
    if (const auto* last = find_repeated<collective>(repeating, reduction)) [[likely]]
        return noted(name_of(collective), count, reduction.type, last->decision->what, last->decision->why, [&] {
            if (!last->decision->is_own()) {
                repeating->own().uses += last->is_use_by_vendor ? 1 : 0;
                return call();
            }
            if (last->plan != nullptr) return repeat_reduction(*repeating, *last, reduction);
            return run_shared_reduction(*repeating, *last->decision, collective, reduction, last->known);
        });
    const auto may_be_tried = [&](Communicator& communicator) {
        const auto* known = find_known_reduction(communicator, reduction.op, reduction.type);
        const bool takes_any_bits = communicator.own().learning.takes_any_bits();
        // A simulated program's own operation stands for a predefined one.
        if (is_simulated && known == nullptr) return takes_any_bits && commutes(reduction.op);
        return known != nullptr && known->kernel != nullptr && known->element_bytes != 0 &&
               (known->is_exact || takes_any_bits);
    };
    return dispatch<collective>(
        comm, reduction.root, count, reduction.type, call,
        [&](Communicator& communicator) {
            const Screening screening = screen_reduction(communicator, collective, count, reduction);
            return screening.is_fine() ? screen_operation(communicator, reduction.op, reduction.type) : screening;
        },
        [&](Communicator& communicator) {
            const auto* known = find_known_reduction(communicator, reduction.op, reduction.type);
            return known != nullptr && known->element_bytes != 0;
        },
        may_be_tried, [&] { return commutes(reduction.op); },
        [&](Communicator& communicator, const Decision& decision) {
            const bool has_output = collective == Collective::allreduce || communicator.rank() == reduction.root;
            return run_staged(
                communicator, [&](StagedBuffers& staged) { return staged.take(reduction, has_output); },
                [&] {
                    if (!decision.shared) return run_reduction(communicator, decision, collective, reduction);
                    const OwnAlgorithms::KnownReduction& known = communicator.own().known_reductions.front();
                    communicator.own().repeated_reductions[static_cast<std::size_t>(collective)] = {
                        .count = reduction.count,
                        .decision = &decision,
                        .known = known,
                        .line_bytes = line_bytes_of(communicator.own(), collective, reduction.count, known)};
                    return run_shared_reduction(communicator, decision, collective, reduction, known);
                });
        },
        [&](Communicator& communicator, const Decision& decision) {
            OwnAlgorithms& own = communicator.own();
            const OwnAlgorithms::KnownReduction* known =
                find_known_reduction(communicator, reduction.op, reduction.type);
            if (known == nullptr) return;
            own.repeated_reductions[static_cast<std::size_t>(collective)] = {
                .count = reduction.count,
                .decision = &decision,
                .known = *known,
                .is_use_by_vendor = own.tries(collective) && may_be_tried(communicator)};
        });
}

template <typename Count>
inline int reduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                  int (*next)(const void*, void*, Count, MPI_Datatype, MPI_Op, int, MPI_Comm),
                  int (*begin)(const void*, void*, Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*)) {
    return reduce_any<Collective::reduce>(
        count, {send, receive, static_cast<std::uint64_t>(count), type, op, root}, comm, [&] {
            return collective_apart(
                comm, [&](MPI_Request* request) { return begin(send, receive, count, type, op, root, comm, request); },
                [&] { return next(send, receive, count, type, op, root, comm); });
        });
}

// Not a part of its callers, whose first lines are for what repeat_line does.
template <typename Count>
__attribute__((noinline)) int allreduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op,
                                        MPI_Comm comm,
                                        int (*next)(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm),
                                        int (*begin)(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm,
                                                     MPI_Request*)) {
    return reduce_any<Collective::allreduce>(
        count, {allreduce_operand(send, receive), receive, static_cast<std::uint64_t>(count), type, op, 0}, comm, [&] {
            return collective_apart(
                comm, [&](MPI_Request* request) { return begin(send, receive, count, type, op, comm, request); },
                [&] { return next(send, receive, count, type, op, comm); });
        });
}

// Not a part of its caller, whose first lines are for the Barrier that goes as the one before.
__attribute__((noinline)) int barrier(MPI_Comm comm) {
    return dispatch<Collective::barrier>(
        comm, 0, 0, MPI_BYTE,
        [&] {
            return collective_apart(
                comm, [&](MPI_Request* request) { return mpi.Ibarrier(comm, request); },
                [&] { return onward.Barrier(comm); });
        },
        [](Communicator&) { return Screening::fine(); }, [](Communicator&) { return true; },
        [](Communicator&) { return true; }, [] { return true; },
        [](Communicator& communicator, const Decision& decision) {
            return decision.shared ? run_shared_barrier(communicator) : run_barrier(communicator, decision);
        },
        keep_nothing);
}

}  // namespace

int wrap_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    Communicator* known = Communicator::find(comm);
    OwnAlgorithms* own = own_of(known, Collective::bcast);
    int status = MPI_SUCCESS;
    BcastOfNode call;
    if (repeat_line_of_node(known, own, buffer, count, type, root, call, status)) [[likely]]
        return status;
    if (!call.is_announced && repeat_bcast(known, own, buffer, count, type, root, status)) return status;
    return bcast(known, own, call, buffer, count, type, root, comm, onward.Bcast, mpi.Ibcast);
}

int wrap_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    Communicator* known = Communicator::find(comm);
    OwnAlgorithms* own = own_of(known, Collective::bcast);
    int status = MPI_SUCCESS;
    BcastOfNode call;
    if (repeat_line_of_node(known, own, buffer, count, type, root, call, status)) [[likely]]
        return status;
    if (!call.is_announced && repeat_bcast(known, own, buffer, count, type, root, status)) return status;
    return bcast(known, own, call, buffer, count, type, root, comm, onward.Bcast_c, mpi.Ibcast_c);
}

int wrap_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    return reduce(send, receive, count, type, op, root, comm, onward.Reduce, mpi.Ireduce);
}

int wrap_Reduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm) {
    return reduce(send, receive, count, type, op, root, comm, onward.Reduce_c, mpi.Ireduce_c);
}

int wrap_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int status = MPI_SUCCESS;
    if (repeat_line(send, receive, static_cast<std::uint64_t>(count), type, op, comm, status)) [[likely]]
        return status;
    return allreduce(send, receive, count, type, op, comm, onward.Allreduce, mpi.Iallreduce);
}

int wrap_Allreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int status = MPI_SUCCESS;
    if (repeat_line(send, receive, static_cast<std::uint64_t>(count), type, op, comm, status)) [[likely]]
        return status;
    return allreduce(send, receive, count, type, op, comm, onward.Allreduce_c, mpi.Iallreduce_c);
}

int wrap_Barrier(MPI_Comm comm) {
    Communicator* known = Communicator::find(comm);
    OwnAlgorithms* own = own_of(known, Collective::barrier);
    if (own == nullptr || own->repeated_barrier.plan == nullptr || !own->learning.may_go_by(Collective::barrier))
        return barrier(comm);
    const auto& last = own->repeated_barrier;
    return noted(name_of(Collective::barrier), 0, MPI_BYTE, last.decision->what, last.decision->why,
                 [&] { return repeat_barrier(*known, last); });
}

}  // namespace hcoll
