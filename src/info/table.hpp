// SPDX-License-Identifier: BSD-3-Clause
// hcoll-info --table: what stands in a table, what is wrong with it, and who is chosen where.
#pragma once

#include <string>

namespace hcoll::info {

struct TableOptions {
    std::string file;  // empty: the one that LIBHCOLL_TABLE or auto means
    bool as_json = false;
};

// Returns the exit status: 1 where there is no table, or one with mistakes.
int print_table(const TableOptions& options, const std::string& folder, const std::string& setting);

}  // namespace hcoll::info
