// SPDX-License-Identifier: BSD-3-Clause
// How MPI_COMM_WORLD is set up where its ranks keep to their neighbors (LIBHCOLL_SPARSE). Other communicators, whose making has
// had the MPI library talk to more than neighbors, are set up as ever, and run the same algorithms.
#include "intercept/communicator/communicator.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/device_memory.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

// In MPI_Init. Where ranks sit does not matter.
SetUp::Result SetUp::make_among_neighbors() {
    static_assert(fields <= Neighbors::most_values);
    const ErrorsReturn errors_return(of_.handle);
    agreed_ = Process::get().agreed();
    if (!settings().enable) return {.why_vendor = agreed_->why_disabled};
    if (settings().leave_all_to_vendor()) return {.why_vendor = reason::settings};
    ProcessGroups& groups = ProcessGroups::get();
    Neighbors neighbors = Neighbors::make(of_.handle, of_.rank, of_.size);
    neighbors_ = &neighbors;
    all_[no_room] = groups.parts() < settings().communicators ? 0 : 1;
    all_[not_watched] = of_.is_watched ? 0 : 1;
    all_[device] = DeviceMemory::is_any_unknown() ? 1 : 0;
    all_[no_progress] = Background::get().is_possible_on(of_.reach == Reach::world) ? 0 : 1;
    all_[fewest_tags] = ~static_cast<std::uint64_t>(tag_upper_bound(of_.handle));
    all_[serial] = groups.draw_serial();
    const bool is_made = agree(all_);
    const char* why = !is_made                 ? reason::no_context
                      : all_[device] != 0      ? reason::device
                      : all_[not_watched] != 0 ? reason::not_watched
                      : all_[no_room] != 0     ? reason::limit
                                               : nullptr;
    if (why == nullptr) {
        groups.note_serial(all_[serial]);
        why = make_with(neighbors);
    }
    neighbors_ = nullptr;
    if (why == nullptr) {
        groups.hand_over(*group_, *kept_, of_.user);
        return {.own = kept_, .group = group_.get()};
    }
    own_.reset();
    neighbors.free();
    if (of_.rank == 0)
        log_line(LogLevel::warn, "MPI_COMM_WORLD of {} ranks stays with the vendor, in spite of LIBHCOLL_SPARSE=1: {}",
                 of_.size, why);
    return {.why_vendor = why};
}

// Returns why it cannot be made, nullptr where it is kept by the group.
const char* SetUp::make_with(const Neighbors& neighbors) {
    has_failed_ = !has_memory_for(
        [&] { group_ = ProcessGroups::get().find_or_add(WorldRanks{.ranks = of_.size, .offset = 0, .table = {}}); });
    if (const char* why = find_facts(); why != nullptr) return why;
    const bool has_memory = has_memory_for([&] {
        const int largest_tag = static_cast<int>(~all_[fewest_tags]);
        const MessageRoute route{.duplicate = neighbors.with_next(),
                                 .rank = 0,
                                 .carriers = neighbors.carriers(),
                                 .tags = {.first = 0, .count = largest_tag},
                                 .largest_tag = largest_tag};
        own_ = std::make_unique<OwnAlgorithms>(route, settings(), facts_.placement);
        own_->serial = all_[serial];
        own_->neighbors = neighbors;
    });
    if (is_true_anywhere(!has_memory)) return reason::no_memory;
    return keep() ? nullptr : reason::no_memory;
}

}  // namespace hcoll
