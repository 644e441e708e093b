// SPDX-License-Identifier: BSD-3-Clause
// How a wrong result is told (LIBHCOLL_VERIFY).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "intercept/communicator/communicator.hpp"
#include "intercept/observed/result_comparison.hpp"
#include "watch/call_description.hpp"

namespace hcoll {

// "the 12th collective on MPI_COMM_WORLD, MPI_Bcast, root 0, 8 bytes", and how to see it again; made while the communicator is there.
struct VerifiedText {
    std::string call;
    std::string again;
};
VerifiedText verified_text(Communicator& communicator, const CallDescription& call, std::uint64_t number,
                           std::string_view what);

// "element 7 of rank 3 is 1 instead of 2"; `own` and `other` are packed.
std::string wrong_element_text(const ResultComparison& comparison, Collective collective, int rank, std::size_t wrong,
                               std::span<const std::byte> own, std::span<const std::byte> other);

// One sentence of what was `found`.
std::string wrong_result_text(const VerifiedText& text, std::string_view what, std::string_view found);

}  // namespace hcoll
