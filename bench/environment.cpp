// SPDX-License-Identifier: BSD-3-Clause
#include "environment.hpp"

#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace hcoll::bench {

namespace {

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length));
    std::string version(text.data());
    version = version.substr(0, version.find('\n'));  // MPICH tells all of its configuration
    for (char& character : version) {
        if (character == '\t') character = ' ';
    }
    return version;
}

std::string standard_version() {
    int major = 0;
    int minor = 0;
    check(MPI_Get_version(&major, &minor));
    return fmt::format("{}.{}", major, minor);
}

std::map<std::string, int> count_hosts(const World& world) {
    constexpr int length = MPI_MAX_PROCESSOR_NAME;
    std::array<char, length> mine{};
    int used = 0;
    check(MPI_Get_processor_name(mine.data(), &used));
    mine.back() = '\0';
    std::vector<char> all(world.rank == 0 ? static_cast<std::size_t>(world.ranks) * length : 0);
    check(PMPI_Gather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD));
    std::map<std::string, int> hosts;
    for (std::size_t at = 0; at < all.size(); at += length) ++hosts[std::string(all.data() + at)];
    return hosts;
}

std::map<std::string, std::string> library_settings() {
    std::map<std::string, std::string> settings;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        if (!text.starts_with("LIBHCOLL_")) continue;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        settings.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return settings;
}

}  // namespace

std::string find_libhcoll() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&MPI_Bcast), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string path{info.dli_fname};
    // Only the name of the file counts: the MPI library itself may be installed in a folder of that name.
    const std::size_t slash = path.rfind('/');
    const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
    return file.find("libhcoll") == std::string::npos ? std::string{} : path;
}

Environment gather_environment(const World& world, int argc, char** argv) {
    return {.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()))),
            .mpi_library = library_version(),
            .mpi_standard = standard_version(),
            .libhcoll = find_libhcoll(),
            .hosts = count_hosts(world),
            .settings = library_settings(),
            .command_line = std::vector<std::string>(argv, argv + argc),
            .ranks = world.ranks};
}

}  // namespace hcoll::bench
