// How MPI_COMM_WORLD is set up where its ranks keep to their neighbors (LIBHCOLL_SPARSE). Other communicators, whose making has
// had the MPI library talk to more than neighbors, get a duplicate as ever, and run the same algorithms.
#include <fmt/format.h>

#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"

namespace hcoll {

// In MPI_Init. Where ranks sit does not matter.
void Communicator::set_up_among_neighbors() {
    const ErrorsReturn errors_return(handle_);
    const std::shared_ptr<const AgreedSettings> agreed = Process::get().agreed();
    const Settings& settings = agreed->settings;
    if (!settings.enable) return give_to_vendor(reason::disabled);
    if (settings.leave_all_to_vendor()) return give_to_vendor(reason::settings);
    const auto placement = std::make_shared<const Placement>(Placement::one_node(size_));
    DecisionTables decisions = make_decisions(settings, *placement, false);

    Neighbors neighbors = Neighbors::make(handle_, rank_, size_);
    enum { no_room, not_watched, device, no_progress, fewest_tags, fields };
    std::array<std::uint64_t, fields> all = {has_room_for_duplicate(settings) ? 0U : 1U, is_watched_ ? 0U : 1U,
                                             has_gpu_runtime() ? 1U : 0U,
                                             Background::get().is_possible_on(is_within_world_) ? 0U : 1U,
                                             ~static_cast<std::uint64_t>(tag_upper_bound(handle_))};
    const bool is_made = neighbors.find_largest(all);
    const char* why = !is_made                ? reason::no_context
                      : all[device] != 0      ? reason::device
                      : all[not_watched] != 0 ? reason::not_watched
                      : all[no_room] != 0     ? reason::limit
                                              : nullptr;
    if (why != nullptr) {
        neighbors.free();
        if (rank_ == 0)
            log_line(LogLevel::warn, fmt::format("MPI_COMM_WORLD of {} ranks stays with the vendor, in spite of "
                                                 "LIBHCOLL_SPARSE=1: {}",
                                                 size_, why));
        return give_to_vendor(why);
    }
    NonblockingTables nonblocking = make_nonblocking_decisions(
        settings, *placement, all[no_progress] == 0 && settings.progress != ProgressMode::off, [&](bool here) {
            std::array<std::uint64_t, 1> anywhere = {here ? 1U : 0U};
            return !neighbors.find_largest(anywhere) || anywhere[0] != 0;
        });
    own_ = std::make_unique<OwnAlgorithms>(neighbors.with_next(), 0, neighbors.carriers(),
                                           static_cast<int>(~all[fewest_tags]), settings, placement, MPI_COMM_NULL);
    own_->neighbors = neighbors;
    begin_own(std::move(decisions), std::move(nonblocking));
}

}  // namespace hcoll
