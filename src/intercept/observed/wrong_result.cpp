// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/wrong_result.hpp"

#include <fmt/format.h>

#include "base/letters.hpp"
#include "intercept/observed/same_call.hpp"
#include "topology/draw_placement.hpp"

namespace hcoll {

namespace {

// That has such calls run the same.
std::string setting_text(const CallDescription& call, std::string_view what) {
    std::string text = call.form == CallForm::blocking ? "LIBHCOLL_" : "LIBHCOLL_I";
    text += to_upper(name_of(call.collective));
    return text + "=" + std::string(what);
}

}  // namespace

VerifiedText verified_text(Communicator& communicator, const CallDescription& call, std::uint64_t number,
                           std::string_view what) {
    return {.call = fmt::format("the {} collective on {}, {}", ordinal_text(number),
                                communicator_text(communicator.handle()), call_text(call)),
            .again = fmt::format("LIBHCOLL_VERIFY=1 {}, {} ranks, {}", setting_text(call, what), communicator.size(),
                                 placement_summary(*communicator.own().placement))};
}

std::string wrong_element_text(const ResultComparison& comparison, Collective collective, int rank, std::size_t wrong,
                               std::span<const std::byte> own, std::span<const std::byte> other) {
    const std::size_t at = wrong * comparison.element_bytes();
    return fmt::format("{} {} of rank {} is {} instead of {}", is_reduction(collective) ? "element" : "byte", wrong,
                       rank, comparison.element_text(&own[at]), comparison.element_text(&other[at]));
}

std::string wrong_result_text(const VerifiedText& text, std::string_view what, std::string_view found) {
    return fmt::format(
        "LIBHCOLL_VERIFY: wrong result in {}: {} gives another one than the MPI library: {}. The program gets the MPI "
        "library's, and {} runs there no more. To see it again: {}",
        text.call, what, found, what, text.again);
}

}  // namespace hcoll
