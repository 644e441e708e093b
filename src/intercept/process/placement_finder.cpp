// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/placement_finder.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "intercept/process/world_ranks.hpp"
#include "progress/engine/simulation.hpp"
#include "progress/node/shared_segment.hpp"
#include "topology/shared_placements.hpp"

namespace hcoll {

namespace {

void warn_of_layout(const std::string& problem) {
    log_line(LogLevel::warn, "LIBHCOLL_TOPOLOGY: {}; they are taken to be where they really are", problem);
}

// In a simulation, of all ranks.
SharedPlacements& shared_placements() {
    static auto* placements = new SharedPlacements;
    return *placements;
}

// Nothing where the layout has no place for all.
std::optional<Placement> placement_in(const VirtualLayout& layout, int size, std::string& problem) {
    std::vector<Seat> seats;
    if (auto found = layout.seats(size, seats)) {
        problem = std::move(*found);
        return std::nullopt;
    }
    return Placement(seats);
}

// The same placement in memory that all ranks of `node` share; as it was where they cannot, or where there is no table. Collective;
// each of them has an equal one.
Placement share(Placement placement, MPI_Comm node) {
    const std::span<const std::byte> bytes = placement.bytes();
    int rank = 0;
    int size = 1;
    mpi.Comm_rank(node, &rank);
    mpi.Comm_size(node, &size);
    if (size == 1 || placement.is_regular()) return placement;
    const auto segment = std::make_shared<SharedSegment>();
    const std::size_t whole = SharedSegment::reserved + bytes.size();
    SegmentAddress address;
    int problem = 0;
    if (rank == 0) {
        problem = segment->create(whole);
        if (problem == 0) problem = segment->reserve(0, whole);
        if (problem == 0) {
            std::memcpy(segment->data() + SharedSegment::reserved, bytes.data(), bytes.size());
            address = segment->address();
        }
    }
    constexpr int numbers = sizeof address / sizeof(std::uint64_t);
    if (mpi.Bcast(&address, numbers, MPI_UINT64_T, 0, node) != MPI_SUCCESS || address.bytes == 0) problem = EIO;
    if (rank != 0 && problem == 0) problem = segment->open(address);
    if (problem == 0) problem = segment->make_read_only();
    // The first one's descriptor is there until all have opened it.
    mpi.Barrier(node);
    segment->close_descriptor();
    if (problem != 0) return placement;
    return Placement::in_shared_memory(
        std::shared_ptr<const std::byte>(segment, segment->data() + SharedSegment::reserved));
}

}  // namespace

void PlacementFinder::start_world(int rank, int size, const VirtualLayout& layout) {
    ranks_here_ = size;
    std::optional<Placement> world;
    if (!layout.is_automatic()) {
        std::string problem;
        world = placement_in(layout, size, problem);
        if (!world && rank == 0) warn_of_layout(problem);
    }
    if (!world && size == 1) world = Placement::one_node(1);
    // In a simulation nobody runs on the cores of a node.
    if (const bool is_alone = size == 1 || (is_simulated && world); !is_alone) {
        const ErrorsReturn errors_return(MPI_COMM_WORLD);
        MPI_Comm node = make_node_communicator(MPI_COMM_WORLD);
        if (node != MPI_COMM_NULL) {
            host_ = new Host(meet_on_host(node));
            int ranks_here = size;
            mpi.Comm_size(node, &ranks_here);
            ranks_here_ = ranks_here;
        }
        if (!world) world = gather(MPI_COMM_WORLD, node, rank, size);
        if (node != MPI_COMM_NULL) {
            world = share(std::move(*world), node);
            mpi.Comm_free(&node);
        }
    }
    world_ = shared_placements().get(std::move(*world));
    if (rank == 0 && !world_->is_regular() && log_enabled(LogLevel::debug))
        log_line(LogLevel::debug, "where {} ranks sit takes a table of {} bytes in each {}", size,
                 world_->bytes().size(), world_->is_shared() ? "node" : "process");
}

// Where every rank really is. `node`: the communicator of this rank's node, if there is one.
Placement PlacementFinder::gather(MPI_Comm communicator, MPI_Comm node, int rank, int size) {
    std::vector<RankPlace> places;
    if (node != MPI_COMM_NULL && gather_places(communicator, node, place(), places))
        return Placement(seats_of_places(places));
    if (rank == 0)
        log_line(LogLevel::warn, "where {} ranks run cannot be found; they are taken to be on one node", size);
    return Placement::one_node(size);
}

std::shared_ptr<const Placement> PlacementFinder::find_locally(const Request& request) {
    if (request.world_ranks != nullptr) {
        const WorldRanks& world_ranks = *request.world_ranks;
        if (world_ranks.begin_the_world() && request.size == world_->ranks()) return world_;
        std::vector<Seat> seats;
        seats.reserve(static_cast<std::size_t>(request.size));
        for (int rank = 0; rank < request.size; ++rank) seats.push_back(world_->seat_of(world_ranks[rank]));
        return shared_placements().get(Placement(seats));
    }
    if (!request.layout.is_automatic()) {
        std::string problem;
        if (auto placement = placement_in(request.layout, request.size, problem))
            return shared_placements().get(std::move(*placement));
        if (request.rank == 0 && !has_warned_.exchange(true)) warn_of_layout(problem);
    }
    return nullptr;
}

std::shared_ptr<const Placement> PlacementFinder::find(const Request& request) {
    std::shared_ptr<const Placement> found;
    const bool has_memory = has_memory_for([&] { found = find_locally(request); });
    if (request.world_ranks != nullptr) return found;
    // All ranks go on, or none.
    if (!request.layout.is_automatic() && is_true_anywhere(!has_memory, request.communicator)) return nullptr;
    if (found != nullptr) return found;
    MPI_Comm node = make_node_communicator(request.communicator);
    (void)has_memory_for(
        [&] { found = shared_placements().get(gather(request.communicator, node, request.rank, request.size)); });
    if (node != MPI_COMM_NULL) mpi.Comm_free(&node);
    return found;
}

}  // namespace hcoll
