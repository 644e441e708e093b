// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of MPI_Gather, MPI_Scatter and MPI_Allgather, in which every rank has a block of its own among those of all ranks.
//
// Rules and plans go by the bytes of one block.
#include "intercept/calls/collective_apart.hpp"
#include "intercept/calls/dispatch.hpp"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/own_run.hpp"
#include "intercept/calls/staged_buffer.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

namespace {

// All blocks together may travel in one message, whose length the MPI library takes as an int.
constexpr std::uint64_t most_bytes_of_all = 1U << 30U;

// One of the two sides, as the application gave it.
template <typename Count>
struct Side {
    const void* buffer;
    Count count;
    MPI_Datatype type;

    std::uint64_t bytes() const { return static_cast<std::uint64_t>(count) * type_size(type); }
};

// `is_typed`: Open MPI looks at the type, and at more than its handle, of what Gather and Allgather send only.
template <typename Count>
Screening screen_side(Communicator& communicator, const Side<Count>& side, bool is_typed) {
    Screening screening = screen_elements(communicator, side.count, side.type);
    if (screening.error_class == MPI_ERR_TYPE && Process::vendor_kind() == VendorKind::openmpi)
        screening.vendor_rejects = is_typed || side.type == MPI_DATATYPE_NULL;
    return screening.is_fine() ? screen_buffer(side.buffer, side.count, side.type) : screening;
}

// MPICH refuses a block that lies where it is to go; where types or counts differ it does not look, and the bytes may well be
// others. Open MPI never looks, and programs rely on it.
template <typename Count>
bool is_refused_as_alias(Communicator& communicator, const Side<Count>& own, const Side<Count>& all) {
    if (Process::vendor_kind() != VendorKind::mpich || own.type != all.type || own.count != all.count) return false;
    const auto* place =
        static_cast<const std::byte*>(all.buffer) + own.bytes() * static_cast<std::uint64_t>(communicator.rank());
    return own.bytes() != 0 && own.buffer == place && vendor_checks_arguments(communicator.own().duplicate);
}

// In the words of a gather: a scatter's sides have changed places. What is not significant on this rank is not looked at.
template <typename Count>
Screening screen_blocks(Communicator& communicator, Collective collective, const Side<Count>& own,
                        const Side<Count>& all, int root) {
    if (root < 0 || root >= communicator.size()) return Screening::wrong(MPI_ERR_ROOT);
    const bool has_all = collective == Collective::allgather || communicator.rank() == root;
    const bool in_place = own.buffer == MPI_IN_PLACE;
    if (in_place && !has_all)
        return Screening::wrong(MPI_ERR_BUFFER, Process::vendor_kind() != VendorKind::mpich);  // who crashes, or waits
    if (!in_place)
        if (const Screening side = screen_side(communicator, own, collective != Collective::scatter); !side.is_fine())
            return side;
    if (has_all)
        if (const Screening side = screen_side(communicator, all, false); !side.is_fine()) return side;
    if (has_all && !in_place && is_refused_as_alias(communicator, own, all)) return Screening::wrong(MPI_ERR_BUFFER);
    // Both sides' signatures of a block have the same bytes, so this is the same on all ranks.
    const Side<Count>& block = in_place ? all : own;
    const std::uint64_t most_of_block = most_bytes_of_all / static_cast<std::uint64_t>(communicator.size());
    const std::uint64_t element_bytes = type_size(block.type);
    const bool is_too_long =
        element_bytes != 0 && static_cast<std::uint64_t>(block.count) > most_of_block / element_bytes;
    return is_too_long ? Screening::vendors(reason::too_long) : Screening::fine();
}

// As the call before, over shared memory or passed on: all that is left to look at is the buffers.
template <Collective collective, typename Count>
const OwnAlgorithms::RepeatedBlocks* find_repeated(const Communicator* communicator, const Side<Count>& own_side,
                                                   const Side<Count>& all_side, int root) {
    OwnAlgorithms* own = communicator == nullptr ? nullptr : communicator->own_for(collective);
    if (own == nullptr) return nullptr;
    const auto& last = own->repeated_blocks[static_cast<std::size_t>(collective)];
    const auto is_buffer = [](const void* buffer) { return buffer != nullptr && buffer != MPI_IN_PLACE; };
    if (last.decision == nullptr || last.root != root || static_cast<std::uint64_t>(own_side.count) != last.own_count ||
        own_side.type != last.own_type || !is_buffer(own_side.buffer))
        return nullptr;
    if (last.has_all) {
        const auto* place = static_cast<const std::byte*>(all_side.buffer) +
                            last.bytes * static_cast<std::uint64_t>(communicator->rank());
        if (static_cast<std::uint64_t>(all_side.count) != last.all_count || all_side.type != last.all_type ||
            !is_buffer(all_side.buffer) || own_side.buffer == place || DeviceMemory::holds(all_side.buffer))
            return nullptr;
    }
    if (DeviceMemory::holds(own_side.buffer)) [[unlikely]]
        return nullptr;
    return own->learning.may_go_by(collective) ? &last : nullptr;
}

// Of a call whose arguments are right.
template <typename Count>
void remember(Communicator& communicator, Collective collective, const Decision& decision, const Side<Count>& own,
              const Side<Count>& all, int root) {
    const bool has_all = collective == Collective::allgather || communicator.rank() == root;
    const auto is_dense = [](MPI_Datatype type) { return is_predefined_type(type) && is_contiguous(type); };
    if (own.buffer == MPI_IN_PLACE || !is_dense(own.type)) return;
    if (has_all && (!is_dense(all.type) || own.bytes() != all.bytes())) return;
    communicator.own().repeated_blocks[static_cast<std::size_t>(collective)] = {
        .decision = &decision,
        .is_use_by_vendor = !decision.is_own() && communicator.own().tries(collective),
        .bytes = own.bytes(),
        .root = root,
        .has_all = has_all,
        .own_count = static_cast<std::uint64_t>(own.count),
        .all_count = static_cast<std::uint64_t>(has_all ? all.count : 0),
        .own_type = own.type,
        .all_type = all.type};
}

template <Collective collective, typename Count>
inline int dispatch_blocks(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                           Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, auto&& pass_on) {
    BlockArguments blocks{send,    static_cast<std::uint64_t>(send_count),    send_type,
                          receive, static_cast<std::uint64_t>(receive_count), receive_type,
                          root};
    const Side<Count> sent{send, send_count, send_type};
    const Side<Count> received{receive, receive_count, receive_type};
    const Side<Count>& own = collective == Collective::scatter ? received : sent;
    const Side<Count>& all = collective == Collective::scatter ? sent : received;
    // The side that says how long a block is, on every rank.
    const Side<Count>& block = own.buffer == MPI_IN_PLACE ? all : own;
    Communicator* repeating = Communicator::find(comm);
    if (const auto* last = find_repeated<collective>(repeating, own, all, root))
        return noted(name_of(collective), own.count, own.type, last->decision->what, last->decision->why, [&] {
            if (last->decision->is_own()) return repeat_shared_blocks(*repeating, collective, *last, send, receive);
            repeating->own().uses += last->is_use_by_vendor ? 1 : 0;
            return pass_on();
        });
    return dispatch<collective>(
        comm, root, block.count, block.type, pass_on,
        [&](Communicator& communicator) { return screen_blocks(communicator, collective, own, all, root); },
        [](Communicator&) { return true; }, [](Communicator&) { return true; }, [] { return true; },
        [&](Communicator& communicator, const Decision& decision) {
            return run_staged(
                communicator,
                [&](StagedBuffers& staged) {
                    return staged.take(blocks, collective, communicator.rank(), communicator.size());
                },
                [&] {
                    if (!decision.shared) return run_blocks(communicator, decision, collective, blocks);
                    remember(communicator, collective, decision, own, all, root);
                    return run_shared_blocks(communicator, decision, collective, blocks);
                });
        },
        [&](Communicator& communicator, const Decision& decision) {
            remember(communicator, collective, decision, own, all, root);
        });
}

// Gather or Scatter.
template <Collective collective, typename Count>
int rooted(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm,
           int (*next)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm),
           int (*begin)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm, MPI_Request*)) {
    return dispatch_blocks<collective>(
        send, send_count, send_type, receive, receive_count, receive_type, root, comm, [&] {
            return collective_apart(
                comm,
                [&](MPI_Request* request) {
                    return begin(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                 request);
                },
                [&] { return next(send, send_count, send_type, receive, receive_count, receive_type, root, comm); });
        });
}

template <typename Count>
int allgather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
              MPI_Datatype receive_type, MPI_Comm comm,
              int (*next)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm),
              int (*begin)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm, MPI_Request*)) {
    return dispatch_blocks<Collective::allgather>(
        send, send_count, send_type, receive, receive_count, receive_type, 0, comm, [&] {
            return collective_apart(
                comm,
                [&](MPI_Request* request) {
                    return begin(send, send_count, send_type, receive, receive_count, receive_type, comm, request);
                },
                [&] { return next(send, send_count, send_type, receive, receive_count, receive_type, comm); });
        });
}

}  // namespace

int wrap_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return rooted<Collective::gather>(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                      onward.Gather, mpi.Igather);
}

int wrap_Gather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return rooted<Collective::gather>(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                      onward.Gather_c, mpi.Igather_c);
}

int wrap_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return rooted<Collective::scatter>(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                       onward.Scatter, mpi.Iscatter);
}

int wrap_Scatter_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                   MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return rooted<Collective::scatter>(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                       onward.Scatter_c, mpi.Iscatter_c);
}

int wrap_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm) {
    return allgather(send, send_count, send_type, receive, receive_count, receive_type, comm, onward.Allgather,
                     mpi.Iallgather);
}

int wrap_Allgather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
    return allgather(send, send_count, send_type, receive, receive_count, receive_type, comm, onward.Allgather_c,
                     mpi.Iallgather_c);
}

}  // namespace hcoll
