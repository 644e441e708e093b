#include "intercept/process/placement_finder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "intercept/process/errors_return.hpp"
#include "intercept/process/gather_places.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/world_ranks.hpp"
#include "topology/shared_placements.hpp"

namespace hcoll {

namespace {

void warn_of_layout(const std::string& problem) {
    log_line(LogLevel::warn, fmt::format("LIBHCOLL_TOPOLOGY: {}; they are taken to be where they really are", problem));
}

// In a simulation, of all ranks.
SharedPlacements& shared_placements() {
    static auto* placements = new SharedPlacements;
    return *placements;
}

std::shared_ptr<const std::vector<Seat>> share(std::vector<Seat> seats) {
#if defined(HCOLL_FLAVOUR_SIMGRID)
    static std::shared_ptr<const std::vector<Seat>> last;
    if (last == nullptr || *last != seats) last = std::make_shared<const std::vector<Seat>>(std::move(seats));
    return last;
#else
    return std::make_shared<const std::vector<Seat>>(std::move(seats));
#endif
}

}  // namespace

void PlacementFinder::start_world(int rank, int size, const VirtualLayout& layout) {
    ranks_here_ = size;  // in a virtual layout all of them may be
    if (!layout.is_automatic()) {
        std::vector<Seat> seats;
        const auto problem = layout.seats(size, seats);
        if (!problem) {
            world_ = share(std::move(seats));
            return;
        }
        if (rank == 0) warn_of_layout(*problem);
    }
    if (size == 1) {
        world_ = share({Seat{}});
        return;
    }
    const ErrorsReturn errors_return(MPI_COMM_WORLD);
    world_ = share(gather(MPI_COMM_WORLD, rank, size));
    const int here = (*world_)[static_cast<std::size_t>(rank)].node;
    ranks_here_ = static_cast<int>(
        std::count_if(world_->begin(), world_->end(), [here](const Seat& seat) { return seat.node == here; }));
}

// Where every rank really is.
std::vector<Seat> PlacementFinder::gather(MPI_Comm communicator, int rank, int size) {
    std::vector<RankPlace> places;
    if (gather_places(communicator, local_place(), places)) return seats_of_places(places);
    if (rank == 0)
        log_line(LogLevel::warn,
                 fmt::format("where {} ranks run cannot be found; they are taken to be on one node", size));
    return std::vector<Seat>(static_cast<std::size_t>(size));
}

std::shared_ptr<const Placement> PlacementFinder::find(const Request& request) {
    std::vector<Seat> seats;
    if (request.is_within_world) {
        const std::vector<int> world_ranks = world_ranks_of(request.communicator);
        if (world_ranks.empty()) return nullptr;
        for (const int world_rank : world_ranks) seats.push_back((*world_)[static_cast<std::size_t>(world_rank)]);
        return shared_placements().get(std::move(seats));
    }
    if (!request.layout.is_automatic()) {
        const auto problem = request.layout.seats(request.size, seats);
        if (!problem) return shared_placements().get(std::move(seats));
        if (request.rank == 0 && !has_warned_.exchange(true)) warn_of_layout(*problem);
    }
    return shared_placements().get(gather(request.communicator, request.rank, request.size));
}

}  // namespace hcoll
