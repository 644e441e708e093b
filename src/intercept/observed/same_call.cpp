// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/same_call.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "intercept/process/abort_job.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/world_ranks.hpp"

namespace hcoll {

namespace {

using Words = ToldCall::Words;

// Of a program whose ranks are out of step every call differs from then on.
constexpr int most_told = 10;
std::atomic<int> told{0};

bool goes_on() { return Process::get().agreed()->settings.check == CheckMode::warn; }

// What all ranks say before one call, and what comes of it.
class Comparison {
public:
    Comparison(Communicator& communicator, const CallDescription& call, std::uint64_t number, bool of_decisions,
               const Words& mine)
        : comm_(communicator.handle()),
          rank_(communicator.rank()),
          call_(call),
          number_(number),
          of_decisions_(of_decisions),
          mine_(mine),
          all_(static_cast<std::size_t>(communicator.size())) {
        // It may be freed before the comparison of a call that does not block is over.
        if (call.form != CallForm::blocking && rank_ == 0) where_ = communicator_text(comm_);
    }

    int begin(MPI_Request* request) {
        constexpr auto words = static_cast<int>(ToldCall::words);
        return mpi.Iallgather(mine_.data(), words, MPI_UINT64_T, all_.data(), words, MPI_UINT64_T, comm_, request);
    }
    // All have said it. Returns whether this call may go on.
    bool judge() {
        if (are_alike(all_) && (of_decisions_ || have_alike_sides(all_))) return true;
        if (rank_ == 0) {
            tell();
            if (!goes_on()) abort_job(1);
        }
        return goes_on();
    }

private:
    void tell() {
        const int before = told.fetch_add(1, std::memory_order_relaxed);
        if (before > most_told) return;
        const LogLevel level = goes_on() ? LogLevel::warn : LogLevel::error;
        if (before == most_told) return log_line(level, "LIBHCOLL_CHECK: more calls differ, which are not told");
        if (where_.empty()) where_ = communicator_text(comm_);
        const std::string text =
            of_decisions_ ? different_decisions_text(all_, fmt::format("the {} collective on {}, {}",
                                                                       ordinal_text(number_), where_, call_text(call_)))
                          : different_calls_text(all_, where_);
        log_line(level, fmt::format("LIBHCOLL_CHECK: {}", text));
    }

    MPI_Comm comm_;
    int rank_;
    CallDescription call_;
    std::uint64_t number_;
    bool of_decisions_;
    Words mine_;
    std::vector<Words> all_;
    std::string where_;
};

// The calls that wait move it, and the progress thread only where they are long in coming: it would move the MPI library's own collectives, too, and
// call the application's operations.
class ComparisonInBackground : public BackgroundOperation {
public:
    explicit ComparisonInBackground(std::unique_ptr<Comparison> comparison)
        : BackgroundOperation(true), comparison_(std::move(comparison)) {}
    int begin() { return comparison_->begin(&request_); }
    bool is_callers_turn() const noexcept override { return true; }
    bool advance(Part, bool& has_moved) noexcept override {
        int is_done = 0;
        const int status = mpi.Test(&request_, &is_done, MPI_STATUS_IGNORE);
        if (status == MPI_SUCCESS && is_done == 0) return false;
        has_moved = true;
        if (status == MPI_SUCCESS)
            (void)comparison_->judge();  // the call has begun: it goes on
        else
            log_line(LogLevel::warn, "LIBHCOLL_CHECK: calls cannot be compared (MPI error {})", status);
        return true;
    }

private:
    std::unique_ptr<Comparison> comparison_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

int compare(Communicator& communicator, const CallDescription& call, std::uint64_t number, bool of_decisions,
            const Words& mine) {
    auto comparison = std::make_unique<Comparison>(communicator, call, number, of_decisions, mine);
    if (call.form != CallForm::blocking) {
        auto operation = std::make_unique<ComparisonInBackground>(std::move(comparison));
        const int status = operation->begin();
        if (status == MPI_SUCCESS) Background::get().in_flight().add(std::move(operation));
        return status;
    }
    const int status = begin_and_finish(MPI_STATUS_IGNORE, communicator.handle(),
                                        [&](MPI_Request* request) { return comparison->begin(request); });
    if (status != MPI_SUCCESS || comparison->judge()) return status;
    // Rank 0 aborts the job.
    return begin_and_finish(MPI_STATUS_IGNORE, communicator.handle(),
                            [&](MPI_Request* request) { return mpi.Ibarrier(communicator.handle(), request); });
}

}  // namespace

std::string communicator_text(MPI_Comm comm) {
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    int size = 0;
    mpi.Comm_size(comm, &size);
    if (mpi.Comm_get_name(comm, name.data(), &length) == MPI_SUCCESS && length > 0) {
        const std::string_view text(name.data(), static_cast<std::size_t>(length));
        return text.starts_with("MPI_COMM_") ? std::string(text) : fmt::format("\"{}\" ({} ranks)", text, size);
    }
    if (comm != MPI_COMM_WORLD && has_ranks_of_world(comm)) return "a duplicate of MPI_COMM_WORLD";
    return fmt::format("a communicator of {} ranks", size);
}

int compare_calls(Communicator& communicator, const CallDescription& call, std::uint64_t number) {
    const ToldCall told{.call = call, .number = number, .world_rank = Process::get().world_rank()};
    return compare(communicator, call, number, false, told.to_words());
}

int compare_decisions(Communicator& communicator, const CallDescription& call, std::uint64_t number, std::string what) {
    const ToldDecision told{.what = std::move(what), .world_rank = Process::get().world_rank()};
    return compare(communicator, call, number, true, told.to_words());
}

}  // namespace hcoll
