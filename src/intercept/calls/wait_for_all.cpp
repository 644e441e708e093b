// SPDX-License-Identifier: BSD-3-Clause
// The requests are looked at without completing any, so that the vendor's own call can say what became of all of them: MPI_Testall would do both, but fails
// in MPICH 4.0 for its own persistent collectives.
//
// A look moves no generalized request of MPI-IO (MPIX_Grequest_start), whose messages go on only where it is tested or waited for. Where nothing has
// become complete for a while, that may be what all wait for: then what a look finds pending is tested, too. What such a test completes has its
// status kept, and its error, of which the communicator's handler has been told by the test, as of one that MPI_Test completes.
#include "intercept/calls/wait_for_all.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "intercept/calls/onward.hpp"
#include "intercept/process/taken_apart.hpp"

namespace hcoll {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds patience{10};

// What has failed is complete, too.
bool is_complete(MPI_Request request) {
    int flag = 0;
    return request == MPI_REQUEST_NULL || mpi.Request_get_status(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
           flag != 0;
}

// Returns whether all are complete, or nothing is in flight any more. False where none has become complete for too long.
bool look_until_complete(int count, const MPI_Request* requests) {
    int complete = 0;
    int complete_before = -1;
    Clock::time_point until;
    bool has_stalled = false;
    help_until(
        [&](int& done) {
            while (complete < count && is_complete(requests[complete])) ++complete;
            done = complete == count ? 1 : 0;
            if (done != 0) return MPI_SUCCESS;
            const Clock::time_point now = Clock::now();
            if (std::exchange(complete_before, complete) != complete) until = now + patience;
            has_stalled = now > until;
            done = has_stalled ? 1 : 0;
            return MPI_SUCCESS;
        },
        [] { return MPI_SUCCESS; });
    return !has_stalled;
}

// What a test has completed.
struct Tested {
    int index;
    int error;
    MPI_Status status;
};

int error_class_of(int status) {
    int error_class = status;
    return mpi.Error_class(status, &error_class) == MPI_SUCCESS ? error_class : status;
}

class Testing {
public:
    Testing(int count, MPI_Request* requests)
        : count_(count),
          requests_(requests),
          state_(new (std::nothrow) State[static_cast<std::size_t>(count)]()),
          tested_(new (std::nothrow) Tested[static_cast<std::size_t>(count)]()) {}
    bool has_memory() const { return state_ != nullptr && tested_ != nullptr; }

    // Returns whether all are complete.
    bool look_and_test() {
        bool is_over = true;
        for (int i = 0; i < count_; ++i) {
            State& state = state_[static_cast<std::size_t>(i)];
            if (state != State::pending) continue;
            if (is_complete(requests_[i]))
                state = State::seen;
            else if (test(i))
                state = State::tested;
            else
                is_over = false;
            if (i % tests_between_help == tests_between_help - 1) Background::get().help();
        }
        return is_over;
    }

    // As MPI_Waitall, which waits for what is left.
    int finish(MPI_Status* statuses) {
        const int status = onward.Waitall(count_, requests_, statuses);
        if (status != MPI_SUCCESS && error_class_of(status) != MPI_ERR_IN_STATUS) return status;
        const bool has_failed = std::any_of(tested_.get(), tested_.get() + tested_number_,
                                            [](const Tested& each) { return each.error != MPI_SUCCESS; });
        if (statuses != MPI_STATUSES_IGNORE) {
            if (has_failed && status == MPI_SUCCESS)
                for (int i = 0; i < count_; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
            for (int i = 0; i < tested_number_; ++i) {
                const Tested& each = tested_[static_cast<std::size_t>(i)];
                const int before = statuses[each.index].MPI_ERROR;
                statuses[each.index] = each.status;
                statuses[each.index].MPI_ERROR = has_failed || status != MPI_SUCCESS ? each.error : before;
            }
        }
        return has_failed ? MPI_ERR_IN_STATUS : status;
    }

private:
    enum class State : std::uint8_t { pending, seen, tested };
    static constexpr int tests_between_help = 64;

    bool test(int index) {
        Tested& made = tested_[static_cast<std::size_t>(tested_number_)];
        int flag = 0;
        made.error = mpi.Test(&requests_[index], &flag, &made.status);
        if (made.error == MPI_SUCCESS && flag == 0) return false;
        made.index = index;
        ++tested_number_;
        return true;
    }

    int count_;
    MPI_Request* requests_;
    std::unique_ptr<State[]> state_;
    std::unique_ptr<Tested[]> tested_;
    int tested_number_ = 0;
};

}  // namespace

int wait_for_all(int count, MPI_Request* requests, MPI_Status* statuses) {
    if (look_until_complete(count, requests)) return onward.Waitall(count, requests, statuses);
    Testing testing(count, requests);
    if (!testing.has_memory()) return onward.Waitall(count, requests, statuses);
    while (Background::may_be_in_flight() && !testing.look_and_test()) Background::get().help();
    return testing.finish(statuses);
}

}  // namespace hcoll
