// SPDX-License-Identifier: BSD-3-Clause
// The table that holds for this machine: which file, and what of it is in force.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/settings.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// What this machine goes by among tables: letters, digits and dashes. Empty where the system does not say.
struct MachineName {
    std::string cluster;  // of the batch system
    std::string fabric;   // infiniband, omni-path, slingshot, or ethernet where there is none of them
    std::string cpu;
};
MachineName machine_name();

// The names of files under which `auto` looks for a table, the best first.
std::vector<std::string> table_file_names(const MachineName& machine, VendorKind vendor);

// The first of them that is in `folder`; empty where none is.
std::string find_table_file(const std::string& folder, VendorKind vendor);

// As LIBHCOLL_TABLE says: a file, "off", or "auto", which looks into `folder`. nullptr where there is none, or none that applies. At most a
// few of the mistakes in it are named, and that there are more.
std::shared_ptr<const Table> find_table(const std::string& setting, const std::string& folder, VendorKind vendor,
                                        std::vector<std::string>& mistakes);

// Fills in settings.table, and settings.learned with what programs have learned (LIBHCOLL_LEARN); neither with LIBHCOLL_TUNE=off. Files are
// named as seen from the directory `seen_from`, or from the working directory where that is empty. Mistakes begin with the setting that names the file.
void find_tables(Settings& settings, const std::string& seen_from, const std::string& folder, VendorKind vendor,
                 std::vector<std::string>& mistakes);

}  // namespace hcoll
