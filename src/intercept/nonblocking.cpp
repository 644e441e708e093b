#include "intercept/nonblocking.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <unordered_map>

#include "intercept/background.hpp"
#include "intercept/datatype.hpp"
#include "intercept/element_operations.hpp"

namespace hcoll {

namespace {

// What the request knows, in the application's hands for as long as it likes.
struct Outcome {
    int status = MPI_SUCCESS;
    std::atomic<int> holders{2};  // the operation and the request

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
    return static_cast<Outcome*>(outcome)->status;
}

int free_request(void* outcome) {
    static_cast<Outcome*>(outcome)->release();
    return MPI_SUCCESS;
}

int cancel_request(void*, int) { return MPI_SUCCESS; }  // a collective cannot be (MPI 4.0, section 6.12)

// What a Bcast of elements with gaps is made of: the message, and the type until it is unpacked. The application may free its
// own meanwhile.
class PackedMessage {
public:
    PackedMessage() = default;
    PackedMessage(const PackedMessage&) = delete;
    PackedMessage& operator=(const PackedMessage&) = delete;
    ~PackedMessage() {
        if (type_ != MPI_DATATYPE_NULL) mpi.Type_free(&type_);
    }

    int hold(void* elements, std::uint64_t count, MPI_Datatype type) {
        elements_ = elements;
        count_ = count;
        bytes_ = memory_.get(count * type_size(type));
        const int status = mpi.Type_contiguous(1, type, &type_);
        return status != MPI_SUCCESS ? status : mpi.Type_commit(&type_);
    }
    int pack(MPI_Comm communicator) { return hcoll::pack(elements_, count_, type_, bytes_, communicator); }
    int unpack(MPI_Comm communicator) { return hcoll::unpack(bytes_, elements_, count_, type_, communicator); }
    std::byte* bytes() const { return bytes_; }
    void abandon() { memory_.abandon(); }

private:
    void* elements_ = nullptr;
    std::uint64_t count_ = 0;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    std::byte* bytes_ = nullptr;
    ScratchMemory memory_;
};

// A plan with what it runs on, again and again where it is to.
class PlanRun {
public:
    PlanRun(OwnAlgorithms& own, std::shared_ptr<const Plan> plan, MPI_Datatype type, std::size_t unit_bytes, MPI_Op op)
        : own_(own),
          plan_(std::move(plan)),
          network_(own.duplicate, own.nonblocking.flow, own.tag_upper_bound, MPI_COMM_NULL),
          operations_(type, op, own.duplicate, own.rank, unit_bytes),
          type_(type),
          unit_bytes_(unit_bytes),
          op_(op) {
        buffers_.stride = static_cast<std::ptrdiff_t>(unit_bytes);
        if (plan_->scratch_units() != 0) buffers_.scratch = scratch_.get(plan_->scratch_units() * unit_bytes);
    }

    OwnAlgorithms& own() { return own_; }
    RunBuffers& buffers() { return buffers_; }
    // Of a Bcast whose elements have gaps: the message is packed by the root before a run, and unpacked by the others after it.
    int hold_elements(void* elements, std::uint64_t count, MPI_Datatype type, bool is_root) {
        packs_ = is_root;
        unpacks_ = !is_root;
        const int status = message_.hold(elements, count, type);
        buffers_.output = message_.bytes();
        return status;
    }
    // Before each run, by who begins it.
    int prepare() {
        is_started_ = false;
        return packs_ ? message_.pack(own_.duplicate) : MPI_SUCCESS;
    }
    // Moves it; `begin(network, type, unit_bytes, op)` says which collective it is. True when it is complete, as `status` says.
    template <typename Begin>
    bool advance(Begin&& begin, bool& has_moved, int& status) noexcept {
        const std::uint64_t events = engine_.events();
        try {
            if (is_started_) {
                status = engine_.advance();
            } else {
                is_started_ = true;
                begin(network_, type_, unit_bytes_, op_);
                status = engine_.start(*plan_, buffers_, network_, operations_);
            }
            if (engine_.events() != events) has_moved = true;
            if (status == MPI_SUCCESS && !engine_.done()) return false;
            if (status == MPI_SUCCESS && unpacks_) status = message_.unpack(own_.duplicate);
        } catch (const std::bad_alloc&) {
            status = MPI_ERR_NO_MEM;
        } catch (...) {
            status = MPI_ERR_INTERN;
        }
        if (status != MPI_SUCCESS) abandon();
        return true;
    }

private:
    // Messages may still be written to its memory.
    void abandon() {
        network_.abandon();
        engine_.abandon();
        scratch_.abandon();
        message_.abandon();
    }

    OwnAlgorithms& own_;
    std::shared_ptr<const Plan> plan_;
    Engine engine_;
    PointToPoint network_;
    ElementOperations operations_;
    MPI_Datatype type_;
    std::uint64_t unit_bytes_;
    MPI_Op op_;
    RunBuffers buffers_;
    ScratchMemory scratch_;
    PackedMessage message_;
    bool packs_ = false;
    bool unpacks_ = false;
    bool is_started_ = false;
};

// A non-blocking collective: one run.
class CollectiveOperation : public BackgroundOperation {
public:
    explicit CollectiveOperation(std::unique_ptr<PlanRun> run) : own_(run->own()), run_(std::move(run)) {}
    ~CollectiveOperation() override {
        if (outcome_ == nullptr) return;
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

    bool advance(bool& has_moved) noexcept override {
        if (!has_begun_ && !own_.nonblocking.may_start(number_)) return false;
        has_begun_ = true;
        const auto begin = [&](PointToPoint& network, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
            network.begin_nonblocking(number_, type, unit_bytes, op);
        };
        if (!run_->advance(begin, has_moved, outcome_->status)) return false;
        // The application may free the communicator from here on, but that waits for end().
        mpi.Grequest_complete(request_);
        return true;
    }

private:
    OwnAlgorithms& own_;
    std::unique_ptr<PlanRun> run_;
    bool has_begun_ = false;
    std::uint64_t number_ = 0;
    MPI_Request request_ = MPI_REQUEST_NULL;
    Outcome* outcome_ = nullptr;
};

int make_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, std::unique_ptr<PlanRun>& run) {
    OwnAlgorithms& own = communicator.own();
    auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                          {.collective = Collective::bcast, .root = root, .units = count * type_size(type)});
    run = std::make_unique<PlanRun>(own, std::move(plan), MPI_BYTE, 1, MPI_OP_NULL);
    run->buffers().output = static_cast<std::byte*>(buffer);
    return is_contiguous(type) ? MPI_SUCCESS : run->hold_elements(buffer, count, type, communicator.rank() == root);
}

int make_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                   const Reduction& reduction, std::unique_ptr<PlanRun>& run) {
    OwnAlgorithms& own = communicator.own();
    const std::uint64_t unit_bytes = type_size(reduction.type);
    const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
    auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                          {.collective = collective,
                           .in_place = in_place,
                           .root = reduction.root,
                           .unit_bytes = unit_bytes,
                           .units = reduction.count});
    run = std::make_unique<PlanRun>(own, std::move(plan), reduction.type, unit_bytes, reduction.op);
    if (!in_place) run->buffers().input = static_cast<const std::byte*>(reduction.send_buffer);
    run->buffers().output = static_cast<std::byte*>(reduction.receive_buffer);
    return MPI_SUCCESS;
}

// What throws in `call` becomes an error code; errors reach the application's handler on its communicator.
template <typename Call>
int guarded(MPI_Comm comm, Call&& call) {
    int status = MPI_ERR_INTERN;
    try {
        status = call();
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
    } catch (...) {
        status = MPI_ERR_INTERN;
    }
    if (status != MPI_SUCCESS) mpi.Comm_call_errhandler(comm, status);
    return status;
}

void send_on_its_way(std::unique_ptr<BackgroundOperation> operation) {
    InFlight& in_flight = Background::get().in_flight();
    in_flight.add(std::move(operation));
    in_flight.drive();
}

int begin(std::unique_ptr<PlanRun> run, MPI_Request* request) {
    auto operation = std::make_unique<CollectiveOperation>(std::move(run));
    const int status = operation->begin(request);
    if (status == MPI_SUCCESS) send_on_its_way(std::move(operation));
    return status;
}

}  // namespace

int begin_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
                MPI_Datatype type, int root, MPI_Request* request) {
    return guarded(communicator.handle(), [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_bcast(communicator, decision, buffer, count, type, root, run);
        return status != MPI_SUCCESS ? status : begin(std::move(run), request);
    });
}

int begin_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                    const Reduction& reduction, MPI_Request* request) {
    return guarded(communicator.handle(), [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_reduction(communicator, decision, collective, reduction, run);
        return status != MPI_SUCCESS ? status : begin(std::move(run), request);
    });
}

// ---- persistent ----

// The request is one of the vendor's that can be started: a message of no bytes that this rank receives from itself. It is sent
// when the plan has run, so that every call that waits or asks knows. Where the plan has failed, the message is too long.
class PersistentCollective {
public:
    PersistentCollective(MPI_Comm comm, int number, std::unique_ptr<PlanRun> run)
        : comm_(comm), number_(number), run_(std::move(run)) {}

    int make_request(MPI_Request* request) {
        const OwnAlgorithms& own = run_->own();
        return mpi.Recv_init(nullptr, 0, MPI_BYTE, own.rank, tag(), own.duplicate, request);
    }
    // Its vendor's request has been started.
    int start();
    bool is_free() { return holders_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    class Run;
    // Completes the request.
    void tell(int status) {
        const OwnAlgorithms& own = run_->own();
        const char failed = 0;
        mpi.Send(&failed, status == MPI_SUCCESS ? 0 : 1, MPI_BYTE, own.rank, tag(), own.duplicate);
    }
    int tag() const { return PointToPoint::persistent_tag(number_, run_->own().tag_upper_bound); }

    MPI_Comm comm_;
    int number_;
    std::unique_ptr<PlanRun> run_;
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
    auto collective = std::make_unique<PersistentCollective>(communicator.handle(), number, std::move(run));
    PersistentRequests& known = known_requests();
    const std::lock_guard lock(known.mutex);
    known.by_request.reserve(known.by_request.size() + 1);
    const int status = collective->make_request(request);
    if (status != MPI_SUCCESS) return status;
    known.by_request[key_of(*request)] = collective.release();
    persistent_requests.fetch_add(1, std::memory_order_release);
    return MPI_SUCCESS;
}

}  // namespace

class PersistentCollective::Run : public BackgroundOperation {
public:
    explicit Run(PersistentCollective& collective) : collective_(collective) {}
    ~Run() override {
        OwnAlgorithms& own = collective_.run_->own();
        if (collective_.is_free()) delete &collective_;
        own.nonblocking.end_persistent();
    }
    bool advance(bool& has_moved) noexcept override {
        const auto begin = [&](PointToPoint& network, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
            network.begin_persistent(collective_.number_, type, unit_bytes, op);
        };
        int status = MPI_SUCCESS;
        if (!collective_.run_->advance(begin, has_moved, status)) return false;
        collective_.tell(status);
        return true;
    }

private:
    PersistentCollective& collective_;
};

int PersistentCollective::start() {
    return guarded(comm_, [&] {
        auto run = std::make_unique<Run>(*this);
        holders_.fetch_add(1, std::memory_order_relaxed);
        run_->own().nonblocking.start_persistent();
        const int status = run_->prepare();
        if (status == MPI_SUCCESS)
            send_on_its_way(std::move(run));
        else
            tell(status);
        return status;
    });
}

int init_bcast(Communicator& communicator, const Decision& decision, int number, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, MPI_Request* request) {
    return guarded(communicator.handle(), [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_bcast(communicator, decision, buffer, count, type, root, run);
        return status != MPI_SUCCESS ? status : init(communicator, number, std::move(run), request);
    });
}

int init_reduction(Communicator& communicator, const Decision& decision, int number, Collective collective,
                   const Reduction& reduction, MPI_Request* request) {
    return guarded(communicator.handle(), [&] {
        std::unique_ptr<PlanRun> run;
        const int status = make_reduction(communicator, decision, collective, reduction, run);
        return status != MPI_SUCCESS ? status : init(communicator, number, std::move(run), request);
    });
}

int start_persistent(MPI_Request* request) {
    PersistentCollective* collective = request == nullptr ? nullptr : find_persistent(*request, false);
    const int status = mpi.Start(request);
    return status != MPI_SUCCESS || collective == nullptr ? status : collective->start();
}

int free_persistent(MPI_Request* request) {
    PersistentCollective* collective = request == nullptr ? nullptr : find_persistent(*request, true);
    const int status = mpi.Request_free(request);
    if (collective != nullptr && collective->is_free()) delete collective;
    return status;
}

bool any_persistent() { return persistent_requests.load(std::memory_order_acquire) != 0; }

}  // namespace hcoll
