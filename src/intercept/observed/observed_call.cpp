// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/observed_call.hpp"

#include "intercept/calls/dispatch.hpp"
#include "intercept/observed/common_time.hpp"
#include "intercept/observed/late_report.hpp"
#include "intercept/observed/same_call.hpp"
#include "intercept/observed/verified_call.hpp"
#include "intercept/observed/verified_request.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/together.hpp"
#include "intercept/types/datatype.hpp"
#include "intercept/types/reduction_kernel.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_of_name = 400;

// Valid, and committed where it is the program's own? Handlers of other communicators are told of no type that is none.
bool is_type(MPI_Datatype type, MPI_Comm communicator) {
    if (type == MPI_DATATYPE_NULL) return false;
    if (find_element(type)) return true;
    const ErrorsReturn errors_return(communicator);
    return check_type(type, communicator) != MPI_ERR_TYPE;
}

bool is_refused(const ObservedArguments::Side& side, Communicator& communicator) {
    if (side.buffer == MPI_IN_PLACE) return false;
    if (side.count < 0 || !is_type(side.type, communicator.handle())) return true;
    return side.buffer == nullptr && side.count > 0 && is_predefined_type(side.type);
}

// Where it may not be. MPICH takes it where there is nothing.
bool is_in_place(const ObservedArguments::Side& side) { return side.buffer == MPI_IN_PLACE && side.count > 0; }

// Does this rank see that the MPI library refuses the call? Only by what is cheap and safe to look at.
bool is_refused(const ObservedArguments& arguments, Communicator& communicator) {
    if (!has_message(arguments.collective)) return false;
    if (has_root(arguments.collective) && (arguments.root < 0 || arguments.root >= communicator.size())) return true;
    const bool is_root = !has_root(arguments.collective) || arguments.root == communicator.rank();
    switch (arguments.collective) {
        case Collective::bcast:
            return arguments.received.buffer == MPI_IN_PLACE ||
                   is_refused({.buffer = arguments.received.buffer,
                               .count = arguments.received.count,
                               .type = type_of_bcast(arguments.received.count, arguments.received.type)},
                              communicator);
        case Collective::reduce:
        case Collective::allreduce:
            if (find_operation(arguments.op) && find_element(arguments.received.type) &&
                find_kernel(arguments.op, arguments.received.type) == nullptr)
                return true;
            return arguments.op == MPI_OP_NULL || is_refused(arguments.sent, communicator) ||
                   (arguments.sent.buffer == MPI_IN_PLACE && !is_root) ||
                   (is_root &&
                    (arguments.received.buffer == MPI_IN_PLACE || is_refused(arguments.received, communicator)));
        case Collective::scatter:
            return (is_in_place(arguments.received) && !is_root) || is_refused(arguments.received, communicator) ||
                   (is_root && (is_in_place(arguments.sent) || is_refused(arguments.sent, communicator)));
        default:
            return (is_in_place(arguments.sent) && !is_root) || is_refused(arguments.sent, communicator) ||
                   (is_root && (is_in_place(arguments.received) || is_refused(arguments.received, communicator)));
    }
}

std::uint64_t bytes_of(const ObservedArguments::Side& side) {
    return side.count == 0 ? 0 : static_cast<std::uint64_t>(side.count) * type_size(side.type);
}

// Of the message, or of one block: on each rank by the side that says it for all.
std::uint64_t bytes_of(const ObservedArguments& arguments, bool is_root) {
    switch (arguments.collective) {
        case Collective::barrier: return 0;
        case Collective::gather: return bytes_of(is_root ? arguments.received : arguments.sent);
        case Collective::scatter: return bytes_of(is_root ? arguments.sent : arguments.received);
        default: return bytes_of(arguments.received);
    }
}

// By the other side of a rank that has two, where that says something else.
std::optional<std::uint64_t> other_bytes_of(const ObservedArguments& arguments, bool is_root) {
    const bool has_two = has_blocks(arguments.collective) && is_root && arguments.sent.buffer != MPI_IN_PLACE &&
                         arguments.received.buffer != MPI_IN_PLACE;
    if (!has_two) return std::nullopt;
    const std::uint64_t other =
        bytes_of(arguments.collective == Collective::scatter ? arguments.received : arguments.sent);
    if (other == bytes_of(arguments, is_root)) return std::nullopt;
    return other;
}

constexpr std::string_view operation_names[] = {"MPI_SUM",  "MPI_PROD", "MPI_MIN",    "MPI_MAX",
                                                "MPI_LAND", "MPI_LOR",  "MPI_LXOR",   "MPI_BAND",
                                                "MPI_BOR",  "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC"};

// By what it is rather than by its handle: those of languages and of ranks differ.
std::string_view name_of_operation(MPI_Op op) {
    if (const auto known = find_operation(op)) return operation_names[static_cast<std::size_t>(*known)];
    if (is_predefined_op(op)) return "a predefined operation";
    int commutes = 0;
    if (mpi.Op_commutative(op, &commutes) != MPI_SUCCESS) return "an operation";
    return commutes != 0 ? "a commutative operation" : "an operation in order";
}

// Those that the program has made are told by their bytes alone.
std::string_view name_of_type(MPI_Datatype type) {
    const auto element = find_element(type);
    return element ? element_names[static_cast<std::size_t>(*element)] : std::string_view();
}

// What the MPI library's own calls fail with, its handler was told.
template <typename Call>
int with_memory(MPI_Comm comm, Call&& call) {
    int status = MPI_SUCCESS;
    if (has_memory_for([&] { status = call(); })) return status;
    mpi.Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

}  // namespace

ObservedCall::ObservedCall(const ObservedArguments& arguments) : arguments_(arguments) {
    Communicator* communicator = Communicator::know(arguments.comm);
    if (communicator == nullptr || is_refused(arguments, *communicator)) return;
    communicator_ = communicator;
    number_ = communicator->count_observed();
    is_checked_ = Process::get().agreed()->settings.check != CheckMode::off;
    call_.collective = arguments.collective;
    call_.form = arguments.form;
    if (has_root(arguments.collective)) call_.root = arguments.root;
    const bool is_root = !has_root(arguments.collective) || arguments.root == communicator->rank();
    call_.bytes = bytes_of(arguments, is_root);
    call_.other_bytes = other_bytes_of(arguments, is_root);
    if (arguments.collective == Collective::allreduce || arguments.collective == Collective::allgather)
        call_.in_place = arguments.sent.buffer == MPI_IN_PLACE;
    if (is_reduction(arguments.collective)) {
        call_.set_operation(name_of_operation(arguments.op));
        call_.set_type(name_of_type(arguments.received.type));
    }
    if (const WatchRecord* record = WatchRecord::get(); record != nullptr && record->notes_calls())
        watched_.emplace(*communicator, call_, number_);
    if (arrivals() != nullptr && arguments.form == CallForm::blocking) came_ = CommonClock::raw_now();
    if (Tracer::get() != nullptr)
        traced_.emplace(*communicator, call_, number_,
                        is_reduction(arguments.collective) ? type_size(arguments.received.type) : 1);
}

ObservedCall::~ObservedCall() = default;

int ObservedCall::begin() {
    if (is_checked_) {
        const int status = with_memory(arguments_.comm, [&] { return compare_calls(*communicator_, call_, number_); });
        if (status != MPI_SUCCESS) return status;
    }
    if (communicator_ == nullptr) return MPI_SUCCESS;
    const std::uint64_t every = Process::get().agreed()->settings.verify;
    // What is in a GPU's memory would have to be copied here, and whether there may be such is agreed.
    // Of blocks one rank of a wrong program may have none.
    is_to_be_verified_ = every != 0 && number_ % every == 0 && (call_.bytes != 0 || has_blocks(call_.collective)) &&
                         !Process::get().has_devices_anywhere();
    if (!is_to_be_verified_) return MPI_SUCCESS;
    return with_memory(arguments_.comm, [&] {
        ran_.reserve(most_of_name);
        if (call_.form != CallForm::blocking) return MPI_SUCCESS;
        verified_ = std::make_unique<VerifiedCall>(*communicator_, arguments_, call_, number_);
        verified_->begin();
        return MPI_SUCCESS;
    });
}

int ObservedCall::end(int status, const MPI_Request* request) {
    const std::uint64_t went = came_ == 0 ? 0 : CommonClock::raw_now();
    if (watched_ && request != nullptr && status == MPI_SUCCESS) watched_->add_request(*request);
    // This rank alone may have made a call that is wrong, and goes on.
    if (communicator_ != nullptr && is_error_of_arguments(status)) {
        communicator_->uncount_observed();
        if (watched_) watched_->make_void();
        if (traced_) traced_->make_void();
        return status;
    }
    if (came_ != 0) note_arrival(went);
    if (verified_ == nullptr || ran_.empty() || ran_ == "vendor") return status;
    return verified_->end(ran_, status);
}

int ObservedCall::decide(std::string_view what, std::string_view why) {
    if (why == reason::arguments) return MPI_SUCCESS;
    note_decision(what);
    if (!is_checked_) return MPI_SUCCESS;
    return with_memory(arguments_.comm,
                       [&] { return compare_decisions(*communicator_, call_, number_, without_split(what)); });
}

// A name that is too long for it is a decision all the same.
void ObservedCall::note_decision(std::string_view what) {
    if (watched_) watched_->decide(what);
    if (traced_) traced_->decide(what);
    if (is_to_be_verified_) ran_.assign(what.substr(0, most_of_name));
}

void ObservedCall::note_arrival(std::uint64_t went) const {
    if (communicator_ == nullptr) return;
    Arrival arrival{.number = number_,
                    .begin = came_,
                    .end = went,
                    .row = row_,
                    .size = communicator_->size(),
                    .collective = call_.collective,
                    .has_bytes = call_.bytes != 0,
                    .is_root = call_.root == communicator_->rank()};
    // Without it nobody learns of this call.
    if (!has_memory_for([&] { (void)known_to_record(*communicator_); })) return;
    arrival.key = communicator_->record_key();
    arrivals()->add(arrival);
}

std::unique_ptr<AfterResult> ObservedCall::after_result() {
    constexpr std::uint64_t most_bytes = 1U << 30U;
    if (!is_to_be_verified_ || call_.bytes > most_bytes) return nullptr;
    if (call_.form == CallForm::persistent && mpi.Allreduce_init == nullptr) return nullptr;
    // Among neighbors there is no duplicate of all ranks.
    if (communicator_->own().neighbors.is_complete()) return nullptr;
    return std::make_unique<VerifiedRequest>(*communicator_, arguments_, call_, number_, ran_);
}

std::unique_ptr<TracedRun> ObservedCall::trace_of_run() {
    if (!traced_) return nullptr;
    return traced_->run();
}

}  // namespace hcoll
