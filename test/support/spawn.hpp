// SPDX-License-Identifier: BSD-3-Clause
// More processes of this program, started by MPI_Comm_spawn.
#pragma once

#include "program.hpp"

#include <unistd.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hcoll::test {

// What children need of this process's environment, as NAME=VALUE: the library too, and not every launcher hands it on.
inline std::vector<std::string> environment_for_children() {
    std::vector<std::string> words;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        for (const std::string_view prefix : {"LIBHCOLL_", "LD_PRELOAD=", "OMPI_MCA_btl="})
            if (variable.starts_with(prefix)) words.emplace_back(variable);
    }
    return words;
}

// A call of all ranks of `origin`. `environment`: options and variables for env(1). Returns MPI's status: the launcher of Debian's
// MPICH 4.0.2 starts no processes, of any program.
inline int start_children(int children, std::vector<std::string> environment,
                          std::initializer_list<std::string> options, MPI_Comm& inter,
                          MPI_Comm origin = MPI_COMM_WORLD) {
    std::vector<std::string>& words = environment;
    std::string self(4096, '\0');
    const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
    require(length > 0, "where this program is cannot be read");
    words.push_back(self.substr(0, static_cast<std::size_t>(length)));
    words.insert(words.end(), options);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    check(MPI_Comm_set_errhandler(origin, MPI_ERRORS_RETURN));
    const int status = MPI_Comm_spawn("/usr/bin/env", arguments.data(), children, MPI_INFO_NULL, 0, origin, &inter,
                                      MPI_ERRCODES_IGNORE);
    check(MPI_Comm_set_errhandler(origin, MPI_ERRORS_ARE_FATAL));
    return status;
}

}  // namespace hcoll::test
