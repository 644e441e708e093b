// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective whose results every rank knows beforehand; nothing where HCOLL_TEST_PERSISTENT (mpi_features.hpp) is not defined.
#pragma once

#include "mpi_features.hpp"
#include "nonblocking_call.hpp"

#if defined(HCOLL_TEST_PERSISTENT)

namespace hcoll::test {

class Persistent {
public:
    Persistent(Kind kind, const NamedCommunicator& on, int root, std::size_t count, bool in_place)
        : kind_(kind), on_(on), root_(root), count_(count), input_(count), output_(count + 1, untouched) {
        in_place_ = kind == Kind::allreduce && in_place;
        const auto n = static_cast<int>(count);
        const void* send = in_place_ ? MPI_IN_PLACE : input_.data();
        void* receive = kind != Kind::reduce || on.rank == root ? output_.data() : nullptr;
#if MPI_VERSION >= 4
        // Both forms are of one collective.
        if (on.rank % 2 == 1) {
            make_by_large_count(send, receive);
            return;
        }
#endif
        if (kind == Kind::bcast)
            check(HCOLL_TEST_PERSISTENT(Bcast_init)(output_.data(), n, MPI_INT64_T, root, on.comm, MPI_INFO_NULL,
                                                    &request));
        else if (kind == Kind::reduce)
            check(HCOLL_TEST_PERSISTENT(Reduce_init)(send, receive, n, MPI_INT64_T, MPI_SUM, root, on.comm,
                                                     MPI_INFO_NULL, &request));
        else
            check(HCOLL_TEST_PERSISTENT(Allreduce_init)(send, output_.data(), n, MPI_INT64_T, MPI_SUM, on.comm,
                                                        MPI_INFO_NULL, &request));
    }
    Persistent(const Persistent&) = delete;
    Persistent& operator=(const Persistent&) = delete;
    ~Persistent() {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }

    void fill(std::uint64_t seed) {
        seed_ = seed;
        std::fill(output_.begin(), output_.end(), untouched);
        for (std::size_t i = 0; i < count_; ++i) input_[i] = item(seed, on_.rank, i);
        if (in_place_ || (kind_ == Kind::bcast && on_.rank == root_))
            std::copy(input_.begin(), input_.end(), output_.begin());
    }
    void look() const {
        for (std::size_t i = 0; i <= count_; ++i) {
            const bool gets_result = kind_ != Kind::reduce || on_.rank == root_;
            std::int64_t right = untouched;
            if (i < count_ && gets_result && kind_ == Kind::bcast) right = item(seed_, root_, i);
            if (i < count_ && gets_result && kind_ != Kind::bcast) {
                right = 0;
                for (int rank = 0; rank < on_.size; ++rank) right += item(seed_, rank, i);
            }
            if (output_[i] != right)
                fail("item " + std::to_string(i) + " of " + std::to_string(count_) + " on " + on_.name + " is " +
                     std::to_string(output_[i]) + ", not " + std::to_string(right));
        }
    }

    MPI_Request request = MPI_REQUEST_NULL;

private:
#if MPI_VERSION >= 4
    void make_by_large_count(const void* send, void* receive) {
        const auto n = static_cast<MPI_Count>(count_);
        if (kind_ == Kind::bcast)
            check(MPI_Bcast_init_c(output_.data(), n, MPI_INT64_T, root_, on_.comm, MPI_INFO_NULL, &request));
        else if (kind_ == Kind::reduce)
            check(MPI_Reduce_init_c(send, receive, n, MPI_INT64_T, MPI_SUM, root_, on_.comm, MPI_INFO_NULL, &request));
        else
            check(
                MPI_Allreduce_init_c(send, output_.data(), n, MPI_INT64_T, MPI_SUM, on_.comm, MPI_INFO_NULL, &request));
    }
#endif

    Kind kind_;
    NamedCommunicator on_;
    int root_;
    std::size_t count_;
    bool in_place_ = false;
    std::uint64_t seed_ = 0;
    std::vector<std::int64_t> input_;
    std::vector<std::int64_t> output_;
};

}  // namespace hcoll::test

#endif
