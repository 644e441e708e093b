// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/verified_request.hpp"

#include <algorithm>

#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "intercept/types/datatype.hpp"
#include "intercept/types/reduction_kernel.hpp"

namespace hcoll {

VerifiedRequest::VerifiedRequest(Communicator& communicator, const ObservedArguments& arguments,
                                 const CallDescription& call, std::uint64_t number, std::string_view what)
    : own_algorithms_(communicator.own()),
      arguments_(arguments),
      call_(call),
      what_(what),
      text_(verified_text(communicator, call, number, what)),
      rank_(communicator.rank()) {
    if (is_reduction(call.collective))
        comparison_ = ResultComparison::of_reduction(find_operation(arguments.op),
                                                     find_element(arguments.received.type), communicator.size());
    if (has_result()) {
        own_.resize(call.bytes);
        other_.resize(call.bytes);
    }
    if (comparison_.wants_magnitudes()) {
        magnitudes_.resize(call.bytes / comparison_.element_bytes() * comparison_.magnitudes_of_element());
        sums_.resize(magnitudes_.size());
    }
    const bool is_in_place =
        arguments.sent.buffer == MPI_IN_PLACE || (has_result() && arguments.sent.buffer == arguments.received.buffer);
    if (is_reduction(call.collective) && is_in_place) operand_.resize(call.bytes);
    const int count = static_cast<int>(arguments.received.count);
    made_ = mpi.Type_contiguous(count, arguments.received.type, &type_);
    if (made_ == MPI_SUCCESS) made_ = mpi.Type_commit(&type_);
    if (made_ == MPI_SUCCESS && call.form == CallForm::persistent) made_ = init();
}

VerifiedRequest::~VerifiedRequest() {
    if (call_.form == CallForm::persistent)
        for (Shadow& shadow : shadows_)
            if (shadow.request != MPI_REQUEST_NULL) mpi.Request_free(&shadow.request);
    if (type_ != MPI_DATATYPE_NULL) mpi.Type_free(&type_);
}

const void* VerifiedRequest::operand() const { return operand_.empty() ? arguments_.sent.buffer : operand_.data(); }

int VerifiedRequest::init() {
    MPI_Comm comm = own_algorithms_.duplicate;
    MPI_Request* request = &shadows_[0].request;
    const int count = static_cast<int>(arguments_.received.count);
    MPI_Datatype type = arguments_.received.type;
    int status = MPI_SUCCESS;
    if (call_.collective == Collective::bcast)
        status = mpi.Bcast_init(other_.data(), static_cast<int>(call_.bytes), MPI_BYTE, call_.root, comm, MPI_INFO_NULL,
                                request);
    else if (call_.collective == Collective::reduce)
        status = mpi.Reduce_init(operand(), other_.data(), count, type, arguments_.op, call_.root, comm, MPI_INFO_NULL,
                                 request);
    else
        status = mpi.Allreduce_init(operand(), other_.data(), count, type, arguments_.op, comm, MPI_INFO_NULL, request);
    if (status != MPI_SUCCESS || !comparison_.wants_magnitudes()) return status;
    return mpi.Allreduce_init(magnitudes_.data(), sums_.data(), static_cast<int>(sums_.size()), MPI_DOUBLE, MPI_SUM,
                              comm, MPI_INFO_NULL, &shadows_[1].request);
}

// Elements of reductions that run in the background have no gaps.
int VerifiedRequest::begin() {
    if (made_ != MPI_SUCCESS) return made_;
    if (!operand_.empty()) {
        const auto* first = static_cast<const std::byte*>(arguments_.received.buffer);
        std::copy(first, first + call_.bytes, operand_.begin());
    }
    if (comparison_.wants_magnitudes())
        comparison_.magnitudes(static_cast<const std::byte*>(operand()), call_.bytes / comparison_.element_bytes(),
                               magnitudes_.data());
    if (call_.collective == Collective::bcast && call_.root == rank_)
        if (const int status = pack(arguments_.received.buffer, 1, type_, other_.data(), own_algorithms_.duplicate);
            status != MPI_SUCCESS)
            return status;
    return call_.form == CallForm::persistent ? start() : begin_shadows();
}

int VerifiedRequest::start() {
    for (Shadow& shadow : shadows_) {
        if (shadow.request == MPI_REQUEST_NULL) continue;
        if (const int status = mpi.Start(&shadow.request); status != MPI_SUCCESS) return status;
        shadow.is_under_way = true;
    }
    return MPI_SUCCESS;
}

int VerifiedRequest::begin_shadows() {
    MPI_Comm comm = own_algorithms_.duplicate;
    Shadow& result = shadows_[0];
    Shadow& sums = shadows_[1];
    const int count = static_cast<int>(arguments_.received.count);
    MPI_Datatype type = arguments_.received.type;
    int status = MPI_SUCCESS;
    if (call_.collective == Collective::bcast)
        status = mpi.Ibcast(other_.data(), static_cast<int>(call_.bytes), MPI_BYTE, call_.root, comm, &result.request);
    else if (call_.collective == Collective::reduce)
        status = mpi.Ireduce(operand(), other_.data(), count, type, arguments_.op, call_.root, comm, &result.request);
    else
        status = mpi.Iallreduce(operand(), other_.data(), count, type, arguments_.op, comm, &result.request);
    result.is_under_way = status == MPI_SUCCESS;
    if (status != MPI_SUCCESS || !comparison_.wants_magnitudes()) return status;
    status = mpi.Iallreduce(magnitudes_.data(), sums_.data(), static_cast<int>(sums_.size()), MPI_DOUBLE, MPI_SUM, comm,
                            &sums.request);
    sums.is_under_way = status == MPI_SUCCESS;
    return status;
}

bool VerifiedRequest::is_over(int& status) noexcept {
    for (Shadow& shadow : shadows_) {
        if (!shadow.is_under_way) continue;
        int is_done = 0;
        const int ended = mpi.Test(&shadow.request, &is_done, MPI_STATUS_IGNORE);
        if (ended == MPI_SUCCESS && is_done == 0) return false;
        shadow.is_under_way = false;
        if (status == MPI_SUCCESS) status = ended;
    }
    if (status == MPI_SUCCESS && has_result()) status = compare();
    return true;
}

int VerifiedRequest::compare() {
    void* result = const_cast<void*>(arguments_.received.buffer);
    if (const int status = pack(result, 1, type_, own_.data(), own_algorithms_.duplicate); status != MPI_SUCCESS)
        return status;
    const std::optional<std::size_t> wrong = comparison_.first_wrong(own_, other_, sums_);
    if (!wrong) return MPI_SUCCESS;
    (void)has_memory_for([&] {
        log_line(LogLevel::error,
                 wrong_result_text(text_, what_,
                                   wrong_element_text(comparison_, call_.collective, rank_, *wrong, own_, other_)));
    });
    own_algorithms_.nonblocking_is_wrong[static_cast<std::size_t>(call_.collective)] = true;
    return unpack(other_.data(), result, 1, type_, own_algorithms_.duplicate);
}

}  // namespace hcoll
