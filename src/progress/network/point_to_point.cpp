// SPDX-License-Identifier: BSD-3-Clause
#include "progress/network/point_to_point.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

constexpr std::uint64_t most_count = std::uint64_t{1} << 30;

// `units` elements of `type`, one after another.
Status make_run_type(MPI_Datatype type, std::uint64_t units, MPI_Datatype& run) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    Status status = mpi.Type_get_extent(type, &lower_bound, &extent);
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    for (std::uint64_t done = 0; done < units; done += most_count) {
        lengths.push_back(static_cast<int>(std::min(most_count, units - done)));
        displacements.push_back(static_cast<MPI_Aint>(done) * extent);
    }
    if (status == MPI_SUCCESS)
        status = mpi.Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), type,
                                          &run);
    return status == MPI_SUCCESS ? mpi.Type_commit(&run) : status;
}

// Collectives that follow one another closely have different tags.
int sequences_of(const TagRange& tags) {
    constexpr int tags_of_one = static_cast<int>(tags_per_collective);
    return std::clamp(tags.count / tags_of_one, 2, PointToPoint::most_tags / tags_of_one);
}

int blocking_sequences_of(const TagRange& tags) { return (sequences_of(tags) + 1) / 2; }

}  // namespace

PointToPoint::PointToPoint(const Carriers& carriers, FlowControl& flow, const TagRange& tags, MPI_Comm leaders)
    : carriers_(carriers),
      leaders_(leaders),
      flow_(flow),
      first_tag_(tags.first),
      blocking_sequences_(blocking_sequences_of(tags)),
      nonblocking_sequences_(nonblocking_sequences(tags)) {
    if (leaders_ != MPI_COMM_NULL && mpi.Comm_rank(leaders_, &leader_) != MPI_SUCCESS) leader_ = -1;
}

void PointToPoint::begin_nonblocking(std::uint64_t number, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
    begin_as(blocking_sequences_ + static_cast<int>(number % static_cast<std::uint64_t>(nonblocking_sequences_)), type,
             unit_bytes, op);
}

void PointToPoint::begin_persistent(int number, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
    begin_as(blocking_sequences_ + nonblocking_sequences_ + number, type, unit_bytes, op);
}

int PointToPoint::nonblocking_sequences(const TagRange& tags) {
    return (sequences_of(tags) - blocking_sequences_of(tags) + 1) / 2;
}

int PointToPoint::persistent_sequences(const TagRange& tags) {
    return sequences_of(tags) - blocking_sequences_of(tags) - nonblocking_sequences(tags);
}

int PointToPoint::persistent_tag(int number, const TagRange& tags) {
    return tags.first +
           (blocking_sequences_of(tags) + nonblocking_sequences(tags) + number) * static_cast<int>(tags_per_collective);
}

int PointToPoint::tag_to_self() {
    // Those of persistent collectives begin behind at least one sequence.
    static std::atomic<std::uint32_t> next{0};
    return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % tags_per_collective);
}

void FlowControl::add_page(std::unique_ptr<Page>& page) { page = std::make_unique<Page>(); }

void PointToPoint::keep(MPI_Request request, Token token, Kind kind) {
    requests_.push_back(request);
    tokens_.push_back(token);
    kinds_.push_back(kind);
}

// post(count, type, request): with a type of many units where they are too many for an `int`.
template <typename Post>
Status PointToPoint::post(std::uint64_t units, Token token, Kind kind, Post&& post) {
    MPI_Request request = MPI_REQUEST_NULL;
    Status status = MPI_SUCCESS;
    if (units <= most_count) [[likely]] {
        status = post(static_cast<int>(units), type_, &request);
    } else {
        MPI_Datatype whole = MPI_DATATYPE_NULL;
        status = make_run_type(type_, units, whole);
        if (status == MPI_SUCCESS) {
            status = post(1, whole, &request);
            const Status freed = mpi.Type_free(&whole);
            if (status == MPI_SUCCESS) status = freed;
        }
    }
    if (status == MPI_SUCCESS) keep(request, token, kind);
    return status;
}

Status PointToPoint::send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) {
    bool is_over = false;
    const Status status = begin_send(peer, tag, data, units, token, is_over);
    if (is_over) [[unlikely]]
        over_at_once_.push_back(token);
    return status;
}

Status PointToPoint::begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token,
                                bool& is_over) {
    const bool must_synchronize = flow_.must_synchronize(peer, units * unit_bytes_);
    if (Status status = MPI_SUCCESS; must_synchronize && send_copy(peer, tag, data, units, status)) [[unlikely]] {
        is_over = status == MPI_SUCCESS;
        return status;
    }
    const auto isend = must_synchronize ? mpi.Issend : mpi.Isend;
    const Carriers::Carrier to = carriers_.to(peer);
    return post(units, token, Kind::send, [&](int count, MPI_Datatype type, MPI_Request* request) {
        return isend(data, count, type, to.peer, tag_of(tag), to.communicator, request);
    });
}

bool PointToPoint::send_copy(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Status& status) {
    if (is_simulated || units * unit_bytes_ > longest_copy_) return false;
    const Carriers::Carrier to = carriers_.to(peer);
    const int count = static_cast<int>(units);
    int bytes = 0;
    int packed = 0;
    try {
        over_at_once_.reserve(over_at_once_.size() + 1);
        if (mpi.Pack_size(count, type_, to.communicator, &bytes) != MPI_SUCCESS || bytes < 0) return false;
        Copy& copy = copies_.emplace_back(
            Copy{MPI_REQUEST_NULL, std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes) + 1)});
        const bool is_packed =
            mpi.Pack(data, count, type_, copy.bytes.get(), bytes, &packed, to.communicator) == MPI_SUCCESS;
        if (is_packed)
            status =
                mpi.Issend(copy.bytes.get(), packed, MPI_PACKED, to.peer, tag_of(tag), to.communicator, &copy.request);
        if (!is_packed || status != MPI_SUCCESS) copies_.pop_back();
        return is_packed;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

Status PointToPoint::synchronize_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) {
    Status status = MPI_SUCCESS;
    if (send_copy(peer, tag, data, units, status)) return status;
    const Carriers::Carrier to = carriers_.to(peer);
    return mpi.Ssend(data, static_cast<int>(units), type_, to.peer, tag_of(tag), to.communicator);
}

Status PointToPoint::finish_copies() {
    for (; !copies_.empty(); copies_.pop_back())
        if (const Status status = mpi.Wait(&copies_.back().request, MPI_STATUS_IGNORE); status != MPI_SUCCESS)
            return status;
    return MPI_SUCCESS;
}

Status PointToPoint::ask_for_copies(bool& are_over) {
    while (!copies_.empty()) {
        int done = 0;
        const Status status = mpi.Test(&copies_.back().request, &done, MPI_STATUS_IGNORE);
        if (status != MPI_SUCCESS || done == 0) return status;
        copies_.pop_back();
    }
    are_over = true;
    return MPI_SUCCESS;
}

Status PointToPoint::recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) {
    const Carriers::Carrier from = carriers_.from(peer);
    return post(units, token, Kind::receive, [&](int count, MPI_Datatype type, MPI_Request* request) {
        return mpi.Irecv(data, count, type, from.peer, tag_of(tag), from.communicator, request);
    });
}

Status PointToPoint::collective(Collective which, int root, std::uint64_t order, const std::byte* source,
                                std::byte* target, std::uint64_t units, Token token) {
    early_calls_.emplace(order, LeadersCall{which, root, source, target, static_cast<int>(units), token});
    // MPI matches collectives by their order alone.
    while (!early_calls_.empty() && early_calls_.begin()->first == next_call_) {
        const LeadersCall call = early_calls_.begin()->second;
        early_calls_.erase(early_calls_.begin());
        ++next_call_;
        if (const Status status = start(call); status != MPI_SUCCESS) return status;
    }
    return MPI_SUCCESS;
}

Status PointToPoint::start(const LeadersCall& call) {
    MPI_Request request = MPI_REQUEST_NULL;
    Status status = MPI_ERR_INTERN;
    const bool combines_for_all = call.which == Collective::allreduce || avoids_ireduce_;
    if (call.which == Collective::bcast) {
        // The root's buffer is only read.
        void* buffer = call.target != nullptr ? call.target : const_cast<std::byte*>(call.source);
        status = mpi.Ibcast(buffer, call.units, type_, call.root, leaders_, &request);
    } else if (combines_for_all) {
        status = mpi.Iallreduce(call.source, call.target, call.units, type_, op_, leaders_, &request);
    } else {
        void* target = call.root == leader_ ? call.target : nullptr;
        status = mpi.Ireduce(call.source, target, call.units, type_, op_, call.root, leaders_, &request);
    }
    if (status == MPI_SUCCESS) keep(request, call.token, Kind::collective);
    return status;
}

Status PointToPoint::progress(std::vector<Token>& completed) {
    if (!over_at_once_.empty()) [[unlikely]] {
        completed.insert(completed.end(), over_at_once_.begin(), over_at_once_.end());
        over_at_once_.clear();
    }
    if (requests_.empty()) return MPI_SUCCESS;
    if (is_simulated && may_wait_) return wait_for_one(completed);
    if (requests_.size() == 1) return progress_one(completed);
    const int count = static_cast<int>(requests_.size());
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int done = 0;
    const Status status = mpi.Testsome(count, requests_.data(), &done, indices_.data(), statuses_.data());
    if (status != MPI_SUCCESS && status != MPI_ERR_IN_STATUS) return status;
    if (done == MPI_UNDEFINED) return MPI_SUCCESS;
    Status worst = MPI_SUCCESS;
    for (int i = 0; i < done; ++i) {
        const auto number = static_cast<std::size_t>(i);
        const Status own = status == MPI_SUCCESS ? MPI_SUCCESS : statuses_[number].MPI_ERROR;
        const Status left = complete(static_cast<std::size_t>(indices_[number]), own, completed);
        if (worst == MPI_SUCCESS) worst = left;
    }
    // From the back, so that the indices in front stay true.
    std::sort(indices_.begin(), indices_.begin() + done, std::greater<>());
    for (int i = 0; i < done; ++i) remove(static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]));
    return worst;
}

Status PointToPoint::finish_sends(Token first_left) {
    for (std::size_t i = 0; i < requests_.size();) {
        if (tokens_[i] >= first_left) {
            ++i;
            continue;
        }
        if (const Status status = mpi.Wait(&requests_[i], MPI_STATUS_IGNORE); status != MPI_SUCCESS) return status;
        remove(i);
    }
    return MPI_SUCCESS;
}

// Of a receive that failed. A message that was too long has left what fits (with MPICH nothing, often), and ends nothing else: ranks that this one sends to wait
// for it. Returns what stops the run.
Status PointToPoint::note_truncation(Status status) {
    int error_class = MPI_ERR_OTHER;
    if (mpi.Error_class(status, &error_class) != MPI_SUCCESS || error_class != MPI_ERR_TRUNCATE) return status;
    outcome_ = status;
    return MPI_SUCCESS;
}

// Of a request that is complete with that status. Returns what stops the run.
Status PointToPoint::complete(std::size_t index, Status status, std::vector<Token>& completed) {
    if (status != MPI_SUCCESS && kinds_[index] == Kind::receive) status = note_truncation(status);
    if (status == MPI_SUCCESS) completed.push_back(tokens_[index]);
    return status;
}

Status PointToPoint::progress_one(std::vector<Token>& completed) {
    int done = 0;
    const Status status = mpi.Test(&requests_[0], &done, MPI_STATUS_IGNORE);
    if (status == MPI_SUCCESS && done == 0) return MPI_SUCCESS;
    if (const Status left = complete(0, status, completed); left != MPI_SUCCESS) return left;
    remove(0);
    return MPI_SUCCESS;
}

// One at a time: what completes at the same moment of simulated time follows at once.
Status PointToPoint::wait_for_one(std::vector<Token>& completed) {
    int index = MPI_UNDEFINED;
    const Status status = mpi.Waitany(static_cast<int>(requests_.size()), requests_.data(), &index, MPI_STATUS_IGNORE);
    if (status != MPI_SUCCESS || index == MPI_UNDEFINED) return status;
    completed.push_back(tokens_[static_cast<std::size_t>(index)]);
    remove(static_cast<std::size_t>(index));
    return MPI_SUCCESS;
}

void PointToPoint::remove(std::size_t index) {
    requests_[index] = requests_.back();
    tokens_[index] = tokens_.back();
    kinds_[index] = kinds_.back();
    requests_.pop_back();
    tokens_.pop_back();
    kinds_.pop_back();
}

void PointToPoint::abandon() {
    const auto for_each = [&](Kind kind, auto&& end) {
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (kinds_[i] == kind && requests_[i] != MPI_REQUEST_NULL) end(requests_[i]);
    };
    // What has failed is complete, too: nothing is left to be said of it.
    const auto wait = [](MPI_Request& request) { (void)mpi.Wait(&request, MPI_STATUS_IGNORE); };
    if (!is_simulated) for_each(Kind::receive, [](MPI_Request& request) { (void)mpi.Cancel(&request); });
    for_each(Kind::send, [](MPI_Request& request) { (void)mpi.Request_free(&request); });
    for_each(Kind::receive, wait);
    for_each(Kind::collective, wait);
    for (Copy& copy : copies_) {
        if (copy.request != MPI_REQUEST_NULL) (void)mpi.Request_free(&copy.request);
        (void)copy.bytes.release();  // it may yet be read
    }
    copies_.clear();
    forget();
    early_calls_.clear();
}

void PointToPoint::forget() {
    over_at_once_.clear();
    requests_.clear();
    tokens_.clear();
    kinds_.clear();
}

}  // namespace hcoll
