// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/learned_call.hpp"

#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

namespace {

// All ranks are in the same call on it. Nothing but messages of two ranks may travel on a duplicate that several communicators share; what fails on the
// application's communicator its error handler hears of, as it would of the call.
int agree_now(const Communicator& communicator, const OwnAlgorithms& own, const Learning::Words& mine,
              Learning::Words& all) {
    const MPI_Comm on = own.is_duplicate_shared() ? communicator.handle() : own.duplicate;
    return find_largest(mine, all.data(), on);
}

std::string place_text(const Learning::Place& place) {
    const std::string_view name = name_of(place.key.collective);
    if (!has_message(place.key.collective)) return std::string(name);
    return fmt::format("{} of up to {} bytes", name, place.key.most_bytes());
}

void log_decisions(const Learning& learning, int ranks) {
    for (const Learning::Place& place : learning.places()) {
        const PlaceLearning& learned = place.learning;
        if (!place.has_news) continue;
        log_line(LogLevel::info, "{} ranks: {} runs {} ({:.2f} us a call; the MPI library's {:.2f} us)", ranks,
                 place_text(place), place.decision(learned.chosen()).what, 1e6 * learned.cost(),
                 1e6 * learned.costs_of(learned.vendor()).mean());
    }
}

}  // namespace

void agree_on_learning(Communicator& communicator) {
    OwnAlgorithms& own = communicator.own();
    // Ranks that know of one another that they are broken agree on nothing; what this one alone knows it tells the others.
    if (own.peers != nullptr && own.peers->why_broken() != NodeBreak::none) return own.learn_no_more();
    if (own.is_broken) own.learning.end_at_agreement();
    Learning::Words mine{};
    Learning::Words all{};
    own.learning.tell(mine, own.agreement_nanoseconds, own.clock.is_old());
    const std::uint64_t begin = CommonClock::raw_now();
    if (agree_now(communicator, own, mine, all) != MPI_SUCCESS) return own.learn_no_more();
    own.agreement_nanoseconds = CommonClock::raw_now() - begin;
    const Learning::Outcome outcome = own.learning.learn(all);
    // What calls like the last ones run is looked up anew, on all ranks: some of them may keep such a call, and others not.
    for (std::size_t i = 0; i < collective_count; ++i) own.forget_repeated(static_cast<Collective>(i));
    if (outcome.has_changed) {
        if (communicator.rank() == 0 && log_enabled(LogLevel::info) && own.learning.is_on())
            (void)has_memory_for([&] { log_decisions(own.learning, communicator.size()); });
        own.learning.forget_news();
    }
    if (outcome.is_over && communicator.rank() == 0)
        log_line(LogLevel::info, "{} ranks have counted their calls differently; nothing more is learned there",
                 communicator.size());
    // Whoever fails here has a worse clock than the others, and nothing else.
    if (outcome.wants_clock) (void)own.clock.compare(own.duplicate, own.tags.first, *own.placement, own.rank);
}

void touch_memory_of_trial(OwnAlgorithms& own, Collective collective, int root, const Decision& decision,
                           std::uint64_t bytes) {
    const bool is_from_root = collective == Collective::bcast || collective == Collective::scatter;
    if (is_from_root && own.rank != root) return;
    if (decision.algorithm != nullptr) own.transport.touch_memory(bytes);
    const bool is_whole = collective == Collective::scatter;
    if (decision.shared)
        own.node->touch_places(is_whole ? bytes * static_cast<std::uint64_t>(own.placement->ranks()) : bytes);
}

}  // namespace hcoll
