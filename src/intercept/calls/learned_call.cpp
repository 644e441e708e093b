#include "intercept/calls/learned_call.hpp"

#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/together.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

// Used so many calls later, where no call comes in which all ranks wait for all.
constexpr std::uint64_t used_later = 64;

int begin_to_agree(OwnAlgorithms& own, MPI_Request* request) {
    return mpi.Iallreduce(own.agreement->mine.data(), own.agreement->all.data(),
                          static_cast<int>(own.agreement->mine.size()), MPI_UINT64_T, MPI_MAX, own.duplicate, request);
}

// All ranks are in the same call, or have been.
int agree_now(OwnAlgorithms& own) {
    LearningAgreement& agreement = *own.agreement;
    if (Background::takes_collectives_apart())
        return begin_and_finish(MPI_STATUS_IGNORE, [&](MPI_Request* request) { return begin_to_agree(own, request); });
    return mpi.Allreduce(agreement.mine.data(), agreement.all.data(), static_cast<int>(agreement.mine.size()),
                         MPI_UINT64_T, MPI_MAX, own.duplicate);
}

std::string place_text(const Learning::Place& place) {
    const std::string_view name = name_of(place.key.collective);
    if (!has_message(place.key.collective)) return std::string(name);
    return fmt::format("{} of {} bytes or more", name, place.key.fewest_bytes());
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

void use(Communicator& communicator, bool all_wait) {
    OwnAlgorithms& own = communicator.own();
    const Learning::Outcome outcome = own.learning.learn(own.agreement->all);
    if (outcome.has_changed) {
        if (communicator.rank() == 0 && log_enabled(LogLevel::info) && own.learning.is_on())
            (void)has_memory_for([&] { log_decisions(own.learning, communicator.size()); });
        own.learning.forget_news();
        for (std::size_t i = 0; i < collective_count; ++i) own.forget_repeated(static_cast<Collective>(i));
    }
    if (outcome.is_over && communicator.rank() == 0)
        log_line(LogLevel::info, "{} ranks have counted their calls differently; nothing more is learned there",
                 communicator.size());
    // Whoever fails here has a worse clock than the others, and nothing else.
    if (outcome.wants_clock && all_wait) (void)own.clock.compare(own.duplicate, *own.placement, own.rank);
}

}  // namespace

void agree_on_learning(Communicator& communicator, bool all_wait) {
    OwnAlgorithms& own = communicator.own();
    LearningAgreement& agreement = *own.agreement;
    // Ranks that are broken, or know that others are, agree on nothing.
    if (own.is_broken || (own.peers != nullptr && own.peers->why_broken() != NodeBreak::none))
        return own.learn_no_more();
    if (agreement.request != MPI_REQUEST_NULL) {
        if (!all_wait && own.learning.calls() < agreement.use_at) return;
        if (finish_one(agreement.request, MPI_STATUS_IGNORE) != MPI_SUCCESS) return own.learn_no_more();
        return use(communicator, false);
    }
    if (!all_wait && is_simulated) return;
    own.learning.tell(agreement.mine, agreement.nanoseconds, own.clock.is_old());
    const std::uint64_t begin = CommonClock::raw_now();
    if (all_wait) {
        if (agree_now(own) != MPI_SUCCESS) return own.learn_no_more();
        agreement.nanoseconds = CommonClock::raw_now() - begin;
        return use(communicator, true);
    }
    agreement.use_at = own.learning.calls() + used_later;
    if (begin_to_agree(own, &agreement.request) != MPI_SUCCESS) own.learn_no_more();
}

}  // namespace hcoll
