#include "intercept/nonblocking.hpp"

#include <memory>
#include <new>

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

class CollectiveOperation : public BackgroundOperation {
public:
    CollectiveOperation(OwnAlgorithms& own, std::shared_ptr<const Plan> plan, MPI_Datatype type, std::size_t unit_bytes,
                        MPI_Op op)
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
    ~CollectiveOperation() override {
        if (outcome_ == nullptr) return;
        outcome_->release();
        own_.nonblocking.end(number_);
    }

    RunBuffers& buffers() { return buffers_; }
    PackedMessage& message() { return message_; }
    void unpack_at_end() { unpacks_ = true; }

    // Makes the request, and counts it among those of the communicator: from here on it has to be added.
    int begin(MPI_Request* request) {
        auto outcome = std::make_unique<Outcome>();
        const int status = mpi.Grequest_start(query_request, free_request, cancel_request, outcome.get(), &request_);
        if (status != MPI_SUCCESS) return status;
        outcome_ = outcome.release();
        number_ = own_.nonblocking.begin();
        *request = request_;
        return MPI_SUCCESS;
    }

    bool advance(bool& has_moved) noexcept override {
        int status = MPI_ERR_INTERN;
        try {
            if (!is_started_ && !own_.nonblocking.may_start(number_)) return false;
            const std::uint64_t events = engine_.events();
            status = move();
            if (engine_.events() != events) has_moved = true;
            if (status == MPI_SUCCESS && !engine_.done()) return false;
            if (status == MPI_SUCCESS && unpacks_) status = message_.unpack(own_.duplicate);
        } catch (const std::bad_alloc&) {
            status = MPI_ERR_NO_MEM;
        } catch (...) {
            status = MPI_ERR_INTERN;
        }
        if (status != MPI_SUCCESS) abandon();
        outcome_->status = status;
        // The application may free the communicator from here on, but that waits for end().
        mpi.Grequest_complete(request_);
        return true;
    }

private:
    int move() {
        if (is_started_) return engine_.advance();
        is_started_ = true;
        network_.begin_nonblocking(number_, type_, unit_bytes_, op_);
        return engine_.start(*plan_, buffers_, network_, operations_);
    }
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
    bool unpacks_ = false;
    bool is_started_ = false;
    std::uint64_t number_ = 0;
    MPI_Request request_ = MPI_REQUEST_NULL;
    Outcome* outcome_ = nullptr;
};

// Makes the operation by `make`, and sends it on its way.
template <typename Make>
int begin(const Communicator& communicator, MPI_Request* request, Make&& make) {
    int status = MPI_ERR_INTERN;
    try {
        std::unique_ptr<CollectiveOperation> operation;
        status = make(operation);
        if (status == MPI_SUCCESS) status = operation->begin(request);
        if (status == MPI_SUCCESS) {
            Background& background = Background::get();
            background.in_flight().add(std::move(operation));
            background.in_flight().drive();
        }
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
    } catch (...) {
        status = MPI_ERR_INTERN;
    }
    if (status != MPI_SUCCESS) mpi.Comm_call_errhandler(communicator.handle(), status);
    return status;
}

}  // namespace

int begin_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
                MPI_Datatype type, int root, MPI_Request* request) {
    return begin(communicator, request, [&](std::unique_ptr<CollectiveOperation>& operation) -> int {
        OwnAlgorithms& own = communicator.own();
        const std::uint64_t bytes = count * type_size(type);
        auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                              {.collective = Collective::bcast, .root = root, .units = bytes});
        operation = std::make_unique<CollectiveOperation>(own, std::move(plan), MPI_BYTE, 1, MPI_OP_NULL);
        operation->buffers().output = static_cast<std::byte*>(buffer);
        if (is_contiguous(type)) return MPI_SUCCESS;
        if (const int status = operation->message().hold(buffer, count, type); status != MPI_SUCCESS) return status;
        operation->buffers().output = operation->message().bytes();
        if (communicator.rank() == root) return operation->message().pack(own.duplicate);
        operation->unpack_at_end();
        return MPI_SUCCESS;
    });
}

int begin_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                    const Reduction& reduction, MPI_Request* request) {
    return begin(communicator, request, [&](std::unique_ptr<CollectiveOperation>& operation) -> int {
        OwnAlgorithms& own = communicator.own();
        const std::uint64_t unit_bytes = type_size(reduction.type);
        const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
        auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                              {.collective = collective,
                               .in_place = in_place,
                               .root = reduction.root,
                               .unit_bytes = unit_bytes,
                               .units = reduction.count});
        operation =
            std::make_unique<CollectiveOperation>(own, std::move(plan), reduction.type, unit_bytes, reduction.op);
        if (!in_place) operation->buffers().input = static_cast<const std::byte*>(reduction.send_buffer);
        operation->buffers().output = static_cast<std::byte*>(reduction.receive_buffer);
        return MPI_SUCCESS;
    });
}

}  // namespace hcoll
