// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/persistent.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>

#include "intercept/calls/guarded.hpp"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/plan_run.hpp"
#include "intercept/process/call_observer.hpp"

namespace hcoll {

class PersistentCollective {
public:
    PersistentCollective(MPI_Comm comm, int number, std::unique_ptr<PlanRun> run, std::unique_ptr<AfterResult> after)
        : comm_(comm), number_(number), run_(std::move(run)), after_(std::move(after)) {}

    int make_request(MPI_Request* request) {
        const OwnAlgorithms& own = run_->own();
        return mpi.Recv_init(nullptr, 0, MPI_BYTE, own.rank, tag(), own.duplicate, request);
    }
    int start(MPI_Request* request);
    // MPI has no such thing; the request is a receive, and would be over without its collective.
    int refuse_cancelling() {
        const auto refuse = [] { return MPI_ERR_REQUEST; };
        // The program may have freed it meanwhile.
        if (run_->own().served.serves(comm_)) return guarded(comm_, refuse);
        return Process::get().has_world() ? guarded(MPI_COMM_WORLD, refuse) : refuse();
    }
    bool is_free() { return holders_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    class Run;
    // Completes the request.
    void tell(int status) {
        const OwnAlgorithms& own = run_->own();
        const char failed = 0;
        note_completion(mpi.Send(&failed, status == MPI_SUCCESS ? 0 : 1, MPI_BYTE, own.rank, tag(), own.duplicate));
    }
    int tag() const { return PointToPoint::persistent_tag(number_, run_->own().tags); }

    MPI_Comm comm_;
    int number_;
    std::unique_ptr<PlanRun> run_;
    std::unique_ptr<AfterResult> after_;
    std::atomic<int> holders_{1};  // the request, and a run
};

namespace {

struct PersistentRequests {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, PersistentCollective*> by_request;
};
std::atomic<int> persistent_requests{0};

PersistentRequests& known_requests() {
    static auto* requests = new PersistentRequests;
    return *requests;
}

// Open MPI's handles are pointers, MPICH's are int.
template <typename Handle>
std::uintptr_t key_of(Handle request) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<std::uintptr_t>(request);
    else
        return static_cast<std::uintptr_t>(request);
}

// nullptr where it is none of the library's; forgets it where asked.
PersistentCollective* find_persistent(MPI_Request request, bool forget) {
    if (persistent_requests.load(std::memory_order_acquire) == 0) return nullptr;
    PersistentRequests& known = known_requests();
    const std::lock_guard lock(known.mutex);
    const auto found = known.by_request.find(key_of(request));
    if (found == known.by_request.end()) return nullptr;
    PersistentCollective* collective = found->second;
    if (forget) {
        known.by_request.erase(found);
        persistent_requests.fetch_sub(1, std::memory_order_release);
    }
    return collective;
}

int init(Communicator& communicator, int number, std::unique_ptr<PlanRun> run, MPI_Request* request) {
    std::unique_ptr<AfterResult> after;
    if (CallObserver* observer = CallObserver::current(); observer != nullptr) after = observer->after_result();
    auto collective =
        std::make_unique<PersistentCollective>(communicator.handle(), number, std::move(run), std::move(after));
    PersistentRequests& known = known_requests();
    const std::lock_guard lock(known.mutex);
    const int status = collective->make_request(request);
    if (status != MPI_SUCCESS) return status;
    known.by_request[key_of(*request)] = collective.get();
    (void)collective.release();
    persistent_requests.fetch_add(1, std::memory_order_release);
    return MPI_SUCCESS;
}

}  // namespace

class PersistentCollective::Run : public BackgroundOperation {
public:
    explicit Run(PersistentCollective& collective)
        : BackgroundOperation(collective.run_->has_callers_part()), collective_(collective) {
        collective_.holders_.fetch_add(1, std::memory_order_relaxed);
        collective_.run_->own().nonblocking.start_persistent();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() override {
        OwnAlgorithms& own = collective_.run_->own();
        if (collective_.is_free()) delete &collective_;
        own.nonblocking.end_persistent();
    }
    bool advance(Part part, bool& has_moved) noexcept override {
        const auto begin = [&](PointToPoint& network, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
            network.begin_persistent(collective_.number_, type, unit_bytes, op);
        };
        auto& served = collective_.run_->own().served;
        if (!has_run_) {
            if (!collective_.run_->advance(begin, part, has_moved, status_)) return false;
            has_run_ = true;
            served.end_job_if_fatal(status_);
        }
        if (collective_.after_ != nullptr) {
            if (!collective_.after_->is_over(status_)) return false;
            served.end_job_if_fatal(status_);
        }
        has_moved = true;
        collective_.tell(status_);
        return true;
    }
    bool is_callers_turn() const noexcept override { return collective_.run_->is_callers_turn(); }

private:
    PersistentCollective& collective_;
    int status_ = MPI_SUCCESS;
    bool has_run_ = false;
};

// The vendor judges whether it may be started now. What fails after that is for who waits to be told.
int PersistentCollective::start(MPI_Request* request) {
    return guarded(comm_, [&] {
        auto run = std::make_unique<Run>(*this);
        int status = mpi.Start(request);
        if (status != MPI_SUCCESS) return status;
        if (after_ != nullptr) status = after_->begin();
        if (status != MPI_SUCCESS) {
            tell(status);
            return status;
        }
        status = run_->prepare();
        if (status != MPI_SUCCESS)
            tell(status);
        else
            send_on_its_way(std::move(run), run_->patience());
        return status;
    });
}

int init_bcast(Communicator& communicator, const Decision& decision, int number, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, MPI_Request* request) {
    return guarded(communicator, [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_bcast(communicator, decision, buffer, count, type, root, run);
        return status != MPI_SUCCESS ? status : init(communicator, number, std::move(run), request);
    });
}

int init_reduction(Communicator& communicator, const Decision& decision, int number, Collective collective,
                   const Reduction& reduction, MPI_Request* request) {
    return guarded(communicator, [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_reduction(communicator, decision, collective, reduction, run);
        return status != MPI_SUCCESS ? status : init(communicator, number, std::move(run), request);
    });
}

int start_persistent(MPI_Request* request) {
    PersistentCollective* collective = request == nullptr ? nullptr : find_persistent(*request, false);
    return collective == nullptr ? onward.Start(request) : collective->start(request);
}

int free_persistent(MPI_Request* request) {
    PersistentCollective* collective = request == nullptr ? nullptr : find_persistent(*request, true);
    const int status = collective == nullptr ? onward.Request_free(request) : mpi.Request_free(request);
    if (collective != nullptr && collective->is_free()) delete collective;
    return status;
}

int cancel_persistent(MPI_Request* request) {
    PersistentCollective* collective = request == nullptr ? nullptr : find_persistent(*request, false);
    return collective == nullptr ? onward.Cancel(request) : collective->refuse_cancelling();
}

bool any_persistent() { return persistent_requests.load(std::memory_order_acquire) != 0; }

}  // namespace hcoll
