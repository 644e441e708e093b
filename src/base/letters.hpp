// SPDX-License-Identifier: BSD-3-Clause
// Letters and digits of settings and names. The C library's tolower, isalnum and their like go by the locale that the application has set, in which i and I
// may be no pair (Turkish), or other bytes letters.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace hcoll {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
constexpr bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }
constexpr char lower_of(char letter) { return is_upper(letter) ? static_cast<char>(letter - 'A' + 'a') : letter; }
constexpr char upper_of(char letter) { return is_lower(letter) ? static_cast<char>(letter - 'a' + 'A') : letter; }

inline std::string to_lower(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), lower_of);
    return lower;
}
inline std::string to_upper(std::string_view text) {
    std::string upper(text);
    std::transform(upper.begin(), upper.end(), upper.begin(), upper_of);
    return upper;
}

}  // namespace hcoll
