#include "progress/point_to_point.hpp"

#include <sched.h>

#include <algorithm>
#include <functional>

namespace hcoll {

namespace {

// A message between two cores is there within a microsecond or so. Whoever has polled this often without result shares
// his core with somebody who should run.
constexpr int polls_before_yield = 200;

}  // namespace

PointToPoint::PointToPoint(MPI_Comm communicator, int tag_upper_bound)
    : communicator_(communicator),
      sequences_(std::clamp(tag_upper_bound / static_cast<int>(tags_per_collective), 1, 1024)) {}

void PointToPoint::begin(MPI_Datatype type) {
    type_ = type;
    sequence_ = (sequence_ + 1) % sequences_;
}

Status PointToPoint::send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) {
    MPI_Request request = MPI_REQUEST_NULL;
    const Status status = mpi.Isend(data, static_cast<int>(units), type_, peer, tag_of(tag), communicator_, &request);
    if (status != MPI_SUCCESS) return status;
    requests_.push_back(request);
    tokens_.push_back(token);
    return MPI_SUCCESS;
}

Status PointToPoint::recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) {
    MPI_Request request = MPI_REQUEST_NULL;
    const Status status = mpi.Irecv(data, static_cast<int>(units), type_, peer, tag_of(tag), communicator_, &request);
    if (status != MPI_SUCCESS) return status;
    requests_.push_back(request);
    tokens_.push_back(token);
    return MPI_SUCCESS;
}

Status PointToPoint::progress(std::vector<Token>& completed) {
    if (requests_.size() == 1) return progress_one(completed);
    const int count = static_cast<int>(requests_.size());
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int done = 0;
    const Status status = mpi.Testsome(count, requests_.data(), &done, indices_.data(), statuses_.data());
    if (status == MPI_ERR_IN_STATUS)
        for (int i = 0; i < done; ++i)
            if (const int error = statuses_[static_cast<std::size_t>(i)].MPI_ERROR; error != MPI_SUCCESS) return error;
    if (status != MPI_SUCCESS) return status;
    if (done == MPI_UNDEFINED || done == 0) {
        wait_a_little();
        return MPI_SUCCESS;
    }
    idle_polls_ = 0;
    for (int i = 0; i < done; ++i)
        completed.push_back(tokens_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])]);
    // From the back, so that the indices in front stay true.
    std::sort(indices_.begin(), indices_.begin() + done, std::greater<>());
    for (int i = 0; i < done; ++i) remove(static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]));
    return MPI_SUCCESS;
}

Status PointToPoint::progress_one(std::vector<Token>& completed) {
    int done = 0;
    const Status status = mpi.Test(&requests_[0], &done, MPI_STATUS_IGNORE);
    if (status != MPI_SUCCESS) return status;
    if (done == 0) {
        wait_a_little();
        return MPI_SUCCESS;
    }
    idle_polls_ = 0;
    completed.push_back(tokens_[0]);
    remove(0);
    return MPI_SUCCESS;
}

void PointToPoint::wait_a_little() {
    if (idle_polls_ < polls_before_yield) {
        ++idle_polls_;
        return;
    }
    sched_yield();
}

void PointToPoint::remove(std::size_t index) {
    requests_[index] = requests_.back();
    tokens_[index] = tokens_.back();
    requests_.pop_back();
    tokens_.pop_back();
}

void PointToPoint::abandon() {
    for (MPI_Request& request : requests_)
        if (request != MPI_REQUEST_NULL) mpi.Request_free(&request);
    requests_.clear();
    tokens_.clear();
}

}  // namespace hcoll
