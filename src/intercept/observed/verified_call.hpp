// SPDX-License-Identifier: BSD-3-Clause
// A blocking collective whose result is compared with the MPI library's for the same operands (LIBHCOLL_VERIFY).
//
//   before   what the call overwrites and the MPI library needs is kept
//   run      the call as it is
//   after    the ranks agree that all went well; the MPI library's collective, into other memory; each rank compares; the ranks agree again
//
// All of that are collectives of the MPI library on the application's communicator, on all its ranks alike. Where a result is wrong, or ranks hold different bits of one
// that is to be alike, the lowest rank that sees it reports; all get the MPI library's result, and none runs that algorithm on this communicator again.
//
// What is only moved is compared as bytes; what is combined as result_comparison.hpp says. The application's operations are called once more.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "intercept/observed/observed_call.hpp"
#include "intercept/observed/result_comparison.hpp"

namespace hcoll {

class VerifiedCall {
public:
    VerifiedCall(Communicator& communicator, const ObservedArguments& arguments, const CallDescription& call,
                 std::uint64_t number);
    VerifiedCall(const VerifiedCall&) = delete;
    VerifiedCall& operator=(const VerifiedCall&) = delete;

    // Before the call. What cannot be kept on this rank is told to the others in end().
    void begin();
    // After it, where it ran `what` of the library's own on all ranks, and ended with `status` on this one. Returns an MPI error code.
    int end(std::string_view what, int status);

private:
    using Side = ObservedArguments::Side;
    // Elements of the application's type, in memory of this library's.
    struct Elements {
        std::unique_ptr<std::byte[]> memory;
        std::byte* first = nullptr;
    };

    void keep();
    void keep_operand();
    std::vector<std::byte> packed(const void* elements, std::uint64_t count, MPI_Datatype type) const;
    void make(Elements& elements, const Side& side) const;
    int run_vendor();
    int run_vendor_bcast();
    int run_vendor_reduction();
    int run_vendor_blocks();
    int add_magnitudes(std::vector<double>& sums);
    // The largest that any rank has of each.
    template <std::size_t count>
    int agree(std::array<std::uint64_t, count>& words);
    int leave_nonblocking_to_vendor(Collective collective);
    int judge(std::string_view what, bool is_different, std::span<const double> magnitudes);
    std::string text(std::string_view what, std::optional<std::size_t> wrong, const std::vector<int>& flags) const;
    bool has_result() const;
    bool is_root() const { return call_.root == CallDescription::no_root || call_.root == communicator_.rank(); }
    bool is_in_place() const;
    std::uint64_t ranks() const { return static_cast<std::uint64_t>(communicator_.size()); }

    Communicator& communicator_;
    const ObservedArguments& arguments_;
    const CallDescription& call_;
    std::uint64_t number_;
    ResultComparison comparison_;
    bool is_kept_ = false;
    std::vector<std::byte> kept_;  // what this rank gives, packed
    Elements operand_;             // the same of a reduction in place
    Elements combined_;            // the MPI library's result of a reduction
    std::vector<std::byte> own_;   // results, packed, where this rank has one
    std::vector<std::byte> other_;
};

}  // namespace hcoll
