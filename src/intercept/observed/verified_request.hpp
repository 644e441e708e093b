// SPDX-License-Identifier: BSD-3-Clause
// A collective that does not block, or a persistent one, whose result is compared with the MPI library's for the same operands (LIBHCOLL_VERIFY).
//
// The MPI library's is begun with the call, into other memory, on the library's duplicate of the communicator (a persistent request may outlive the communicator; ranks may start several
// in any order, so that theirs are persistent, too), and the request of the application completes when both are over and each rank has compared. No rank can wait
// for the others there: so each puts right, and reports, what it has found wrong, and the next blocking collective on the communicator that is
// verified agrees that such calls are the MPI library's from then on.
#pragma once

#include <array>
#include <vector>

#include "intercept/observed/observed_call.hpp"
#include "intercept/observed/wrong_result.hpp"

namespace hcoll {

class VerifiedRequest : public AfterResult {
public:
    // `what` is to run. May throw std::bad_alloc.
    VerifiedRequest(Communicator& communicator, const ObservedArguments& arguments, const CallDescription& call,
                    std::uint64_t number, std::string_view what);
    ~VerifiedRequest() override;
    VerifiedRequest(const VerifiedRequest&) = delete;
    VerifiedRequest& operator=(const VerifiedRequest&) = delete;

    int begin() override;
    bool is_over(int& status) noexcept override;

private:
    bool has_result() const { return call_.collective != Collective::reduce || call_.root == rank_; }
    const void* operand() const;
    int init();
    int start();
    int begin_shadows();
    int compare();

    OwnAlgorithms& own_algorithms_;
    ObservedArguments arguments_;
    CallDescription call_;
    std::string what_;
    VerifiedText text_;
    ResultComparison comparison_;
    int rank_;
    int made_ = MPI_SUCCESS;                 // what came of making what follows
    MPI_Datatype type_ = MPI_DATATYPE_NULL;  // of all elements of a message: the application may free its own meanwhile
    std::vector<std::byte> operand_;         // of a reduction in place
    std::vector<std::byte> own_;             // results, packed
    std::vector<std::byte> other_;
    std::vector<double> magnitudes_;
    std::vector<double> sums_;
    // The MPI library's: of the result, and of the sums of magnitudes.
    struct Shadow {
        MPI_Request request = MPI_REQUEST_NULL;
        bool is_under_way = false;
    };
    std::array<Shadow, 2> shadows_{};
};

}  // namespace hcoll
