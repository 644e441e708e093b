// The built-in rules: where, and only where, an algorithm was measured to be faster than the vendor's.
#pragma once

#include <span>

#include "tuning/selection.hpp"

namespace hcoll {

// Rules are looked through in order of size; what no rule covers stays with the vendor (rule 9 of docs/architecture.md).
struct Rule {
    VendorKind vendor;
    Collective collective;
    int fewest_ranks;
    int most_ranks;
    std::uint64_t largest_bytes;  // of the message; ranges of equal ranks stand in ascending order
    std::string_view choice;      // as a setting would give it
};

std::span<const Rule> built_in_rules();

}  // namespace hcoll
