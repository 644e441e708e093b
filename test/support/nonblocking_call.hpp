// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking collectives whose results every rank knows beforehand, and every way to complete them.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "communicator_set.hpp"
#include "mpi_features.hpp"
#include "random.hpp"

namespace hcoll::test {

inline constexpr std::int64_t untouched = -77;

inline std::int64_t item(std::uint64_t seed, int rank, std::size_t index) {
    return static_cast<std::int64_t>(mix({seed, static_cast<std::uint64_t>(rank), index}) % 1'000'003U);
}

enum class Kind { bcast, reduce, allreduce };

// One call, from its beginning to the look at what it gave.
class Call {
public:
    Call(Kind kind, const NamedCommunicator& on, int root, std::size_t count, std::uint64_t seed, bool in_place = false)
        : kind_(kind), on_(on), root_(root), count_(count), seed_(seed), input_(count), output_(count + 1, untouched) {
        for (std::size_t i = 0; i < count; ++i) input_[i] = item(seed, on.rank, i);
        in_place_ = kind == Kind::allreduce && in_place;
        if (in_place_ || (kind == Kind::bcast && on.rank == root))
            std::copy(input_.begin(), input_.end(), output_.begin());
        const auto n = static_cast<int>(count);
        const void* send = in_place_ ? MPI_IN_PLACE : input_.data();
        void* receive = kind != Kind::reduce || on.rank == root ? output_.data() : nullptr;
        if (kind == Kind::bcast)
            check(MPI_Ibcast(output_.data(), n, MPI_INT64_T, root, on.comm, &request));
        else if (kind == Kind::reduce)
            check(MPI_Ireduce(send, receive, n, MPI_INT64_T, MPI_SUM, root, on.comm, &request));
        else
            check(MPI_Iallreduce(send, output_.data(), n, MPI_INT64_T, MPI_SUM, on.comm, &request));
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void wait() {
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        look();
    }
    void look() const {
        require(request == MPI_REQUEST_NULL, "the request is there after it was completed");
        for (std::size_t i = 0; i <= count_; ++i) {
            const std::int64_t right = expected(i);
            if (output_[i] != right)
                fail("item " + std::to_string(i) + " of " + std::to_string(count_) + " on " + on_.name + ", root " +
                     std::to_string(root_) + ", is " + std::to_string(output_[i]) + ", not " + std::to_string(right));
        }
    }
    // Is the result there, whatever became of the request?
    [[nodiscard]] bool has_result() const {
        for (std::size_t i = 0; i < count_; ++i)
            if (static_cast<const volatile std::int64_t&>(output_[i]) != expected(i)) return false;
        return true;
    }

    MPI_Request request = MPI_REQUEST_NULL;

private:
    [[nodiscard]] std::int64_t expected(std::size_t i) const {
        const bool gets_result = kind_ != Kind::reduce || on_.rank == root_;
        if (i == count_ || !gets_result) return untouched;
        if (kind_ == Kind::bcast) return item(seed_, root_, i);
        std::int64_t sum = 0;
        for (int rank = 0; rank < on_.size; ++rank) sum += item(seed_, rank, i);
        return sum;
    }

    Kind kind_;
    NamedCommunicator on_;
    int root_;
    std::size_t count_;
    std::uint64_t seed_;
    bool in_place_ = false;
    std::vector<std::int64_t> input_;
    std::vector<std::int64_t> output_;
};

inline constexpr Kind kinds[] = {Kind::bcast, Kind::reduce, Kind::allreduce};

// Completes all of them in some order, in some way, which may differ between ranks.
inline void complete(std::vector<std::unique_ptr<Call>>& calls, Random& random) {
    std::vector<MPI_Request> requests;
    const auto collect = [&] {
        requests.clear();
        for (const auto& call : calls) requests.push_back(call->request);
    };
    const auto give_back = [&] {
        for (std::size_t i = 0; i < calls.size(); ++i) calls[i]->request = requests[i];
    };
    const auto n = static_cast<int>(calls.size());
    std::vector<int> indices(calls.size());
    std::vector<MPI_Status> statuses(calls.size());
    int number = 0;
    constexpr std::uint64_t ways = HCOLL_TEST_HAS_MPI_4_1 ? 7 : 6;
    switch (random.below(ways)) {
        case 0:
            for (std::size_t i = calls.size(); i > 0; --i) std::swap(calls[i - 1], calls[random.below(i)]);
            for (const auto& call : calls) check(MPI_Wait(&call->request, MPI_STATUS_IGNORE));
            break;
        case 1:
            collect();
            check(MPI_Waitall(n, requests.data(), statuses.data()));
            give_back();
            break;
        case 2:
            collect();
            for (int i = 0; i < n; ++i) {
                check(MPI_Waitany(n, requests.data(), &number, statuses.data()));
                require(number >= 0 && number < n, "MPI_Waitany: the index");
            }
            check(MPI_Waitany(n, requests.data(), &number, statuses.data()));
            require(number == MPI_UNDEFINED, "MPI_Waitany: there is one left");
            give_back();
            break;
        case 3:
            collect();
            for (int left = n; left > 0; left -= number)
                check(MPI_Waitsome(n, requests.data(), &number, indices.data(), statuses.data()));
            give_back();
            break;
        case 4:
            collect();
            for (int done = 0; done == 0;) check(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE));
            give_back();
            break;
#if HCOLL_TEST_HAS_MPI_4_1
        case 6: {
            collect();
            int done = 0;
            while (done == 0) {
                check(MPI_Request_get_status_any(n, requests.data(), &number, &done, statuses.data()));
                check(MPI_Request_get_status_some(n, requests.data(), &number, indices.data(), statuses.data()));
                check(MPI_Request_get_status_all(n, requests.data(), &done, statuses.data()));
            }
            check(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE));
            require(done != 0, "MPI_Testall after MPI_Request_get_status_all");
            give_back();
            break;
        }
#endif
        default:
            for (const auto& call : calls) {
                for (int done = 0; done == 0;) check(MPI_Request_get_status(call->request, &done, MPI_STATUS_IGNORE));
                int done = 0;
                check(MPI_Test(&call->request, &done, MPI_STATUS_IGNORE));
                require(done != 0, "MPI_Test after MPI_Request_get_status");
            }
    }
    for (const auto& call : calls) call->look();
    calls.clear();
}

}  // namespace hcoll::test
