// SPDX-License-Identifier: BSD-3-Clause
// What pictures have in common.
#pragma once

#include <string>
#include <string_view>

namespace hcoll::info {

// Both in DOT's quotes and in XML, which has no control characters.
inline std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        switch (letter) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
        }
    }
    return result;
}

}  // namespace hcoll::info
