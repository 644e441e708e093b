// SPDX-License-Identifier: BSD-3-Clause
// A setting that the ranks of a job are told differently.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace hcoll::test {

// `list`: NAME=a,b,c, a value for each rank; nothing where it is empty. Before MPI_Init, so that a rank knows its number only
// from its launcher.
inline void set_setting_of_rank(std::string_view list) {
    const char* number = std::getenv("PMI_RANK");
    if (number == nullptr) number = std::getenv("OMPI_COMM_WORLD_RANK");
    if (list.empty() || number == nullptr) return;
    const std::size_t equals = list.find('=');
    std::string_view rest = list.substr(equals + 1);
    for (int before = std::atoi(number); before > 0; --before) rest.remove_prefix(rest.find(',') + 1);
    setenv(std::string(list.substr(0, equals)).c_str(), std::string(rest.substr(0, rest.find(','))).c_str(), 1);
}

}  // namespace hcoll::test
