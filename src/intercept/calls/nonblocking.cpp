// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/nonblocking.hpp"

#include <atomic>
#include <memory>

#include "intercept/calls/guarded.hpp"
#include "intercept/calls/plan_run.hpp"
#include "intercept/process/call_observer.hpp"

namespace hcoll {

namespace {

// What the request knows, in the application's hands for as long as it likes.
struct Outcome {
    std::atomic<int> status{MPI_SUCCESS};  // told when it is over, which the vendor tells
    std::atomic<int> holders{2};           // the operation and the request

    void release() {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
};

int query_request(void* outcome, MPI_Status* status) {
    // Nothing that means anything, as the vendor's own.
    mpi.Status_set_elements(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return static_cast<Outcome*>(outcome)->status.load(std::memory_order_acquire);
}

int free_request(void* outcome) {
    static_cast<Outcome*>(outcome)->release();
    return MPI_SUCCESS;
}

int cancel_request(void*, int) { return MPI_SUCCESS; }  // a collective cannot be (MPI 4.0, section 6.12)

// A non-blocking collective: one run.
class CollectiveOperation : public BackgroundOperation {
public:
    explicit CollectiveOperation(std::unique_ptr<PlanRun> run)
        : BackgroundOperation(run->has_callers_part()), own_(run->own()), run_(std::move(run)) {}
    ~CollectiveOperation() override {
        if (outcome_ == nullptr) {
            (void)after_.release();  // what it has begun may yet use its memory
            return;
        }
        outcome_->release();
        own_.nonblocking.end(number_);
    }

    // Makes the request, and counts it among those of the communicator: from here on it has to be added.
    int begin(MPI_Request* request) {
        auto outcome = std::make_unique<Outcome>();
        int status = run_->prepare();
        if (status == MPI_SUCCESS)
            status = mpi.Grequest_start(query_request, free_request, cancel_request, outcome.get(), &request_);
        if (status != MPI_SUCCESS) return status;
        outcome_ = outcome.release();
        number_ = own_.nonblocking.begin();
        *request = request_;
        return MPI_SUCCESS;
    }

    // `after` has begun.
    void complete_after(std::unique_ptr<AfterResult> after) { after_ = std::move(after); }

    bool advance(Part part, bool& has_moved) noexcept override {
        if (has_run_) return complete_if_over(has_moved);
        if (!has_begun_ && !own_.nonblocking.may_start(number_)) return false;
        has_begun_ = true;
        const auto begin = [&](PointToPoint& network, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
            network.begin_nonblocking(number_, type, unit_bytes, op);
        };
        if (!run_->advance(begin, part, has_moved, status_)) return false;
        has_run_ = true;
        own_.served.end_job_if_fatal(status_);
        return complete_if_over(has_moved);
    }

    bool is_callers_turn() const noexcept override { return run_->is_callers_turn(); }

private:
    bool complete_if_over(bool& has_moved) noexcept {
        if (after_ != nullptr) {
            if (!after_->is_over(status_)) return false;
            own_.served.end_job_if_fatal(status_);
        }
        has_moved = true;
        outcome_->status.store(status_, std::memory_order_release);
        // The application may free the communicator from here on, but that waits for end().
        note_completion(mpi.Grequest_complete(request_));
        return true;
    }

    OwnAlgorithms& own_;
    std::unique_ptr<PlanRun> run_;
    std::unique_ptr<AfterResult> after_;
    bool has_begun_ = false;
    bool has_run_ = false;
    int status_ = MPI_SUCCESS;
    std::uint64_t number_ = 0;
    MPI_Request request_ = MPI_REQUEST_NULL;
    Outcome* outcome_ = nullptr;
};

int begin(std::unique_ptr<PlanRun> run, MPI_Request* request) {
    const auto patience = run->patience();
    auto operation = std::make_unique<CollectiveOperation>(std::move(run));
    std::unique_ptr<AfterResult> after;
    if (CallObserver* observer = CallObserver::current(); observer != nullptr) [[unlikely]]
        after = observer->after_result();
    if (after != nullptr) {
        if (const int status = after->begin(); status != MPI_SUCCESS) {
            (void)after.release();  // the same
            return status;
        }
        operation->complete_after(std::move(after));
    }
    const int status = operation->begin(request);
    if (status == MPI_SUCCESS) send_on_its_way(std::move(operation), patience);
    return status;
}

}  // namespace

int begin_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
                MPI_Datatype type, int root, MPI_Request* request) {
    return guarded(communicator, [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_bcast(communicator, decision, buffer, count, type, root, run);
        return status != MPI_SUCCESS ? status : begin(std::move(run), request);
    });
}

int begin_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                    const Reduction& reduction, MPI_Request* request) {
    return guarded(communicator, [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_reduction(communicator, decision, collective, reduction, run);
        return status != MPI_SUCCESS ? status : begin(std::move(run), request);
    });
}

}  // namespace hcoll
