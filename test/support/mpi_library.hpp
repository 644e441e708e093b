// SPDX-License-Identifier: BSD-3-Clause
// Which MPI library this is, asked of it: a program of the standard ABI meets several.
#pragma once

#include "program.hpp"

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

namespace hcoll::test {

inline const std::string& mpi_library() {
    static const std::string text = [] {
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
        int length = 0;
        check(MPI_Get_library_version(version.data(), &length));
        return std::string(version.data());
    }();
    return text;
}

inline bool is_openmpi() { return mpi_library().find("Open MPI") != std::string::npos; }

inline bool is_mpich() { return mpi_library().find("MPICH") != std::string::npos; }

// Of the series that `series` names, as "4.0"?
inline bool is_mpich_of(std::string_view series) {
    constexpr std::string_view name = "MPICH Version:";
    std::string_view text = mpi_library();
    const std::size_t place = text.find(name);
    if (place == std::string_view::npos) return false;
    text.remove_prefix(place + name.size());
    const std::size_t first = text.find_first_not_of(" \t");
    return first != std::string_view::npos && text.substr(first).starts_with(series);
}

// Does it have this predefined type? The standard ABI has a number for each, so there it is asked, with its errors returned.
inline bool exists(MPI_Datatype type) {
#if defined(MPI_ABI_VERSION)
    MPI_Comm const reported[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler kept[2] = {};
    for (int i = 0; i < 2; ++i) {
        check(MPI_Comm_get_errhandler(reported[i], &kept[i]));
        check(MPI_Comm_set_errhandler(reported[i], MPI_ERRORS_RETURN));
    }
    int size = 0;
    const bool is_there = MPI_Type_size(type, &size) == MPI_SUCCESS && size > 0;
    for (int i = 0; i < 2; ++i) {
        check(MPI_Comm_set_errhandler(reported[i], kept[i]));
        check(MPI_Errhandler_free(&kept[i]));
    }
    return is_there;
#else
    return type != MPI_DATATYPE_NULL;
#endif
}

}  // namespace hcoll::test
