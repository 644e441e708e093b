// SPDX-License-Identifier: BSD-3-Clause
// The memory that the ranks of a node share: how a communicator gets it when it is set up, and what it may do with it.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "intercept/communicator/segment_use.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/abort_job.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/scratch_memory.hpp"
#include "intercept/process/together.hpp"
#include "progress/node/handed_segment.hpp"

namespace hcoll {

namespace {

// Added to the error of a rank that could not open the segment, which may be handed over: more than any other.
constexpr int not_opened = 1 << 20;

}  // namespace

// The memory that the ranks of a node share. False, on all ranks alike, where one of them cannot have it.
bool SetUp::make_segment(const SegmentUse& use) {
    int problem = try_segment(use, may_share_rooms() ? SharedRooms::most : 1);
    // The rank that has few addresses need not be the one that makes it. (What ranks know of others' threads may differ: all try again, or none.)
    if (problem == ENOMEM) problem = try_segment(use, 1);
    if (problem == 0) return true;
    static std::atomic<bool> has_warned{false};
    if (of_.rank == 0 && !has_warned.exchange(true))
        log_line(LogLevel::warn, "{} ranks of one node cannot share memory ({}); they send messages instead",
                 own_->placement->most_ranks_of_a_node(), std::strerror(problem));
    return false;
}

// With so many rooms at most, where the addresses for them are there. Returns 0 or an errno, the same on all ranks; then nothing is left of it.
int SetUp::try_segment(const SegmentUse& use, int most_rooms) {
    OwnAlgorithms& own = *own_;
    const auto ranks = own.placement->ranks_of_node(own.placement->node_of(of_.rank));
    const bool leads = ranks.front() == of_.rank;
    // What processes know of one another may differ (spawned ones); the leader's view holds for all.
    struct {
        SegmentAddress segment;
        std::uint64_t oversubscribed;
    } told{};
    const auto shape = [&](std::uint64_t oversubscribed) {
        return use.shape(static_cast<int>(ranks.size()), oversubscribed != 0, settings().shared_buffer);
    };
    int problem = 0;
    SharedSegment made;
    if (leads && ranks.size() > 1) {
        const int at_once = Process::get().placements().cores_here().ranks_at_once;
        const int here = std::max(static_cast<int>(ranks.size()), Process::get().placements().ranks_here());
        told.oversubscribed = at_once > 0 && here > at_once ? 1 : 0;
        // Other communicators of the same processes will want some. What nobody touches takes no memory, but addresses.
        const bool has_addresses = !SharedSegment::is_much_of_address_space(
            SharedRooms::segment_bytes(shape(told.oversubscribed), most_rooms));
        const int wanted = has_addresses ? most_rooms : 1;
        problem = made.create(SharedRooms::segment_bytes(shape(told.oversubscribed), wanted));
        if (problem != 0 && wanted != 1)
            problem = made.create(SharedRooms::segment_bytes(shape(told.oversubscribed), 1));
        told.segment = made.address();
    }
    constexpr int numbers = sizeof told / sizeof(std::uint64_t);
    if (tell_node(&told, numbers) != MPI_SUCCESS) problem = EIO;
    if (ranks.size() == 1) {
        problem = has_memory_for([&] { make_empty_rooms(); }) ? 0 : ENOMEM;
    } else if (problem == 0 && told.segment.bytes != 0) {
        try {
            own.rooms =
                std::make_shared<SharedRooms>(own.serial, use, shape(told.oversubscribed), told.oversubscribed != 0);
            own.rooms->segment() = std::move(made);
            problem = join_segment(told.segment);
        } catch (const std::bad_alloc&) {
            problem = ENOMEM;
        }
    }
    int worst_problem = worst_of_all(problem);
    if (worst_problem > not_opened) worst_problem = worst_of_all(hand_segment_over(told.segment, problem));
    if (own.rooms != nullptr) own.rooms->segment().close_descriptor();
    if (worst_problem == 0) {
        if (of_.rank == 0 && log_enabled(LogLevel::debug))
            log_line(LogLevel::debug, "the ranks of a node share {} KB for {}{}",
                     own.rooms->has_memory() ? own.rooms->shape().bytes >> 10U : 0,
                     !use.messages      ? "collectives"
                     : !use.collectives ? "messages"
                                        : "collectives and messages",
                     told.oversubscribed != 0 ? "; there are more of them than can run at the same time" : "");
        return 0;
    }
    own.node.reset();
    own.transport.leave_node();
    own.peers.reset();
    own.rooms = nullptr;
    return worst_problem;
}

int SetUp::worst_of_all(int problem) const {
    int worst = EIO;
    return mpi.Allreduce(&problem, &worst, 1, MPI_INT, MPI_MAX, of_.handle) == MPI_SUCCESS ? worst : EIO;
}

// Once more, for the ranks that could not open it: each is handed it by its node's leader, in turn, so that none waits for another.
// `problem` is what this rank had so far; returns what it has now, 0 or an errno.
int SetUp::hand_segment_over(const SegmentAddress& address, int problem) {
    constexpr const char* when = "a communicator is set up";
    const auto ranks = own_->placement->ranks_of_node(own_->placement->node_of(of_.rank));
    const int leader = ranks.front();
    if (ranks.size() == 1) return problem;
    const auto tell = [&](int number, int to) {
        end_job_unless(mpi.Send(&number, 1, MPI_INT, to, own_->tags.first, own_->duplicate), when);
    };
    const auto hear = [&](int from) {
        int number = EIO;
        end_job_unless(mpi.Recv(&number, 1, MPI_INT, from, own_->tags.first, own_->duplicate, MPI_STATUS_IGNORE), when);
        return number;
    };
    if (of_.rank == leader) {
        SegmentOffer offer;
        if (problem == 0 && own_->rooms != nullptr) problem = offer.open(own_->rooms->segment());
        const int offered = problem;
        for (const int each : ranks.subspan(1)) {
            if (hear(each) <= not_opened) continue;
            tell(offered, each);
            if (offered != 0 || hear(each) != 0) continue;
            const int handed = offer.hand_over();
            tell(handed, each);
            if (handed != 0) problem = handed;
        }
        return problem;
    }
    tell(problem, leader);
    if (problem <= not_opened) return problem;
    const int why_not_opened = problem - not_opened;
    if (hear(leader) != 0) return why_not_opened;
    HandedSegment handed;
    problem = handed.connect(address);
    tell(problem, leader);
    if (problem != 0 || hear(leader) != 0) return why_not_opened;
    return handed.take(own_->rooms->segment()) == 0 ? enter_segment() : why_not_opened;
}

// The leader's numbers to all ranks of its node, over the duplicate. Returns an MPI error code.
int SetUp::tell_node(void* told, int numbers) const {
    const auto ranks = own_->placement->ranks_of_node(own_->placement->node_of(of_.rank));
    if (ranks.front() != of_.rank)
        return mpi.Recv(told, numbers, MPI_UINT64_T, ranks.front(), own_->tags.first, own_->duplicate,
                        MPI_STATUS_IGNORE);
    for (const int each : ranks.subspan(1))
        end_job_unless(mpi.Send(told, numbers, MPI_UINT64_T, each, own_->tags.first, own_->duplicate),
                       "a communicator is set up");
    return MPI_SUCCESS;
}

// How the ranks, which share a segment, may copy from one another's memory: the same on all of them. What the system refuses
// costs speed only, so it is worth no warning. False where they may not.
bool SetUp::find_single_copy(SingleCopyWay way) {
    struct Candidate {
        SingleCopyWay way;
        std::unique_ptr<PeerMemory> (*make)(int);
    };
    for (const auto& [candidate, make] :
         {Candidate{SingleCopyWay::xpmem, make_xpmem_memory}, Candidate{SingleCopyWay::cma, make_cma_memory}}) {
        if (way != candidate && way != SingleCopyWay::automatic) continue;
        std::shared_ptr<PeerMemory> memory;
        try {
            memory = make(of_.size);
        } catch (const std::bad_alloc&) {
            memory = nullptr;
        }
        const bool is_proven = own_->node->use_single_copy(std::move(memory));
        const bool is_last = candidate == SingleCopyWay::cma || way == candidate;
        static std::array<std::atomic<bool>, 2> has_said{};  // by outcome
        if (of_.rank == 0 && (is_proven || is_last) && !has_said[is_proven ? 1 : 0].exchange(true))
            log_line(LogLevel::info, "{} ranks of one node {} copy from one another's memory ({})", of_.size,
                     is_proven ? "may" : "may not", single_copy_names[static_cast<std::size_t>(candidate)]);
        if (!is_proven) continue;
        // What maps others' memory serves one communicator: the next one proves it anew, and has a segment of its own.
        if (candidate == SingleCopyWay::cma)
            facts_.copies = own_->node->single_copy_memory();
        else
            facts_.rooms = nullptr;
        return true;
    }
    return false;
}

// Some broadcasts, of a fraction of a millisecond in all.
bool SetUp::is_single_copy_faster() {
    constexpr std::size_t bytes = 256 << 10;
    ScratchLease scratch;
    std::byte* message = nullptr;
    try {
        message = scratch.get(bytes);
    } catch (const std::bad_alloc&) {
        // It takes part without.
    }
    if (message != nullptr) std::memset(message, 1, bytes);
    const bool is_faster = own_->node->is_single_copy_faster(message, bytes);
    if (of_.rank == 0)
        log_line(LogLevel::debug, "between {} ranks of one node a single copy is {} than two", of_.size,
                 is_faster ? "faster" : "slower");
    return is_faster;
}

// Would other communicators of the same processes find the rooms? Where memory is reserved, each reserves its own; and where threads may
// set communicators up at the same time, each has a segment of its own.
bool SetUp::may_share_rooms() const {
    return !may_have_threads() && of_.reach == Reach::world && group_ != nullptr && !SharedSegment::must_reserve();
}

// For a rank that shares no memory with others. May throw std::bad_alloc.
void SetUp::make_empty_rooms() {
    own_->rooms = std::make_shared<SharedRooms>(own_->serial, SegmentUse{}, SegmentUse::Shape{}, false);
    (void)own_->rooms->take();  // the first one, as the others do
}

// Returns 0 or an errno, which not_opened is added to where the segment could not be opened.
int SetUp::join_segment(const SegmentAddress& address) {
    const int index = own_->placement->index_on_node(of_.rank);
    const int problem = index == 0 ? 0 : own_->rooms->segment().open(address);
    return problem != 0 ? not_opened + problem : enter_segment();
}

// Returns 0 or an errno.
int SetUp::enter_segment() {
    SharedRooms& rooms = *own_->rooms;
    rooms.touch(own_->placement->index_on_node(of_.rank));
    return enter(rooms.take());
}

// This rank's part of that room. Returns 0 or an errno.
int SetUp::enter(int number) {
    OwnAlgorithms& own = *own_;
    SharedRooms& rooms = *own.rooms;
    if (!rooms.has_memory()) return 0;
    const SegmentUse& use = rooms.use();
    const SegmentUse::Shape& shape = rooms.shape();
    const Placement& placement = *own.placement;
    const int index = placement.index_on_node(of_.rank);
    const int ranks = static_cast<int>(placement.ranks_of_node(placement.node_of(of_.rank)).size());
    int problem = 0;
    if (use.collectives) {
        const NodeCollectives::Part part = NodeCollectives::own_part(index, shape.collectives_buffer);
        problem = rooms.reserve(number, part.offset, part.bytes);
    }
    if (problem == 0 && use.messages) {
        const NodeMessages::Part part = NodeMessages::own_part(ranks, index, shape.messages_buffer);
        problem = rooms.reserve(number, shape.messages_offset + part.offset, part.bytes);
    }
    if (problem == 0) problem = rooms.reserve_peers();
    if (problem != 0) return problem;
    std::byte* data = rooms.data(number);
    try {
        own.peers = std::make_unique<NodePeers>(rooms.peers(number), ranks, index);
        if (use.collectives)
            own.node = std::make_unique<NodeCollectives>(
                data, shape.collectives_buffer, placement, index,
                Waiting(rooms.oversubscribed(), OwnAlgorithms::drive_vendor, &own, own.peers.get()),
                rooms.accumulator());
        if (use.messages)
            own.transport.use_node(std::make_unique<NodeMessages>(data + shape.messages_offset, shape.messages_buffer,
                                                                  ranks, index, own.peers.get()),
                                   placement, of_.rank, rooms.oversubscribed());
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
    return 0;
}

}  // namespace hcoll
