// The wrappers of MPI_Gather, MPI_Scatter and MPI_Allgather, in which every rank has a block of its own among those of all ranks.
//
// Rules and plans go by the bytes of one block.
#include "intercept/datatype.hpp"
#include "intercept/dispatch.hpp"
#include "intercept/own_run.hpp"
#include "intercept/wrappers.hpp"

namespace hcoll {

namespace {

// All blocks together may travel in one message, whose length the MPI library takes as an int.
constexpr std::uint64_t most_bytes_of_all = 1U << 30U;

bool is_valid_side(Communicator& communicator, const void* buffer, std::uint64_t count, MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL || !communicator.is_valid_type(type) || buffer == MPI_IN_PLACE) return false;
    return buffer != nullptr || count == 0 || may_have_null_buffer(type);
}

// Where this rank's block is among those of all ranks.
const std::byte* own_place(const void* all, std::uint64_t count, MPI_Datatype type, int rank) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    if (mpi.Type_get_extent(type, &lower_bound, &extent) != MPI_SUCCESS) return nullptr;
    return static_cast<const std::byte*>(all) + static_cast<MPI_Aint>(count) * extent * rank;
}

bool are_valid(Communicator& communicator, Collective collective, const BlockArguments& blocks) {
    if (blocks.root < 0 || blocks.root >= communicator.size()) return false;
    const bool is_scatter = collective == Collective::scatter;
    const bool has_all = collective == Collective::allgather || communicator.rank() == blocks.root;
    // In the words of a gather: a scatter's sides change places.
    const void* own = is_scatter ? blocks.receive : blocks.send;
    const std::uint64_t own_count = is_scatter ? blocks.receive_count : blocks.send_count;
    const MPI_Datatype own_type = is_scatter ? blocks.receive_type : blocks.send_type;
    const void* all = is_scatter ? blocks.send : blocks.receive;
    const std::uint64_t all_count = is_scatter ? blocks.send_count : blocks.receive_count;
    const MPI_Datatype all_type = is_scatter ? blocks.send_type : blocks.receive_type;
    const bool in_place = has_all && own == MPI_IN_PLACE;
    if (!in_place && !is_valid_side(communicator, own, own_count, own_type)) return false;
    if (has_all && !is_valid_side(communicator, all, all_count, all_type)) return false;
    if (has_all && !in_place && own == own_place(all, all_count, all_type, communicator.rank())) return false;
    const std::uint64_t bytes = in_place ? all_count * type_size(all_type) : own_count * type_size(own_type);
    return bytes <= most_bytes_of_all / static_cast<std::uint64_t>(communicator.size());
}

template <Collective collective, typename Count>
inline int dispatch_blocks(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                           Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, auto&& pass_on) {
    const BlockArguments blocks{send,    static_cast<std::uint64_t>(send_count),    send_type,
                                receive, static_cast<std::uint64_t>(receive_count), receive_type,
                                root};
    // The side that says how long a block is, on every rank.
    const bool by_receive = collective == Collective::scatter ? receive != MPI_IN_PLACE : send == MPI_IN_PLACE;
    return dispatch<collective>(
        comm, by_receive ? receive_count : send_count, by_receive ? receive_type : send_type, pass_on,
        [] { return MPI_SUCCESS; },
        [&](Communicator& communicator) {
            const bool has_all = collective == Collective::allgather || communicator.rank() == root;
            if (has_all && (send_count < 0 || receive_count < 0)) return false;
            return are_valid(communicator, collective, blocks);
        },
        [](Communicator&) { return false; }, [] { return true; },
        [&](Communicator& communicator, const Decision& decision) {
            return run_blocks(communicator, decision, collective, blocks);
        });
}

template <typename Count>
int gather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm,
           int (*next)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm)) {
    return dispatch_blocks<Collective::gather>(
        send, send_count, send_type, receive, receive_count, receive_type, root, comm,
        [&] { return next(send, send_count, send_type, receive, receive_count, receive_type, root, comm); });
}

template <typename Count>
int scatter(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm,
            int (*next)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm)) {
    return dispatch_blocks<Collective::scatter>(
        send, send_count, send_type, receive, receive_count, receive_type, root, comm,
        [&] { return next(send, send_count, send_type, receive, receive_count, receive_type, root, comm); });
}

template <typename Count>
int allgather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
              MPI_Datatype receive_type, MPI_Comm comm,
              int (*next)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm)) {
    return dispatch_blocks<Collective::allgather>(
        send, send_count, send_type, receive, receive_count, receive_type, 0, comm,
        [&] { return next(send, send_count, send_type, receive, receive_count, receive_type, comm); });
}

}  // namespace

int wrap_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept {
    return gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm, mpi.Gather);
}

int wrap_Gather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept {
    return gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm, mpi.Gather_c);
}

int wrap_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept {
    return scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm, mpi.Scatter);
}

int wrap_Scatter_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                   MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept {
    return scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm, mpi.Scatter_c);
}

int wrap_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm) noexcept {
    return allgather(send, send_count, send_type, receive, receive_count, receive_type, comm, mpi.Allgather);
}

int wrap_Allgather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) noexcept {
    return allgather(send, send_count, send_type, receive, receive_count, receive_type, comm, mpi.Allgather_c);
}

}  // namespace hcoll
