// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/mpi_job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>

#include "hcoll/hcoll.h"
#include "topology/place.hpp"
#include "topology/seats_of_places.hpp"
#include "topology/virtual_layout.hpp"
#include "tuner/mpi.hpp"

namespace hcoll {

VendorKind vendor_of_job() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    require_mpi(PMPI_Get_library_version(text.data(), &length));
    const bool is_openmpi = std::string_view(text.data()).find("Open MPI") != std::string_view::npos;
    return is_openmpi ? VendorKind::openmpi : VendorKind::mpich;
}

Job this_job() {
    Job job;
    require_mpi(PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank));
    require_mpi(PMPI_Comm_size(MPI_COMM_WORLD, &job.ranks));
    return job;
}

std::string preloaded_library() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&MPI_Bcast), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::filesystem::path path = info.dli_fname;
    return path.filename().string().find("libhcoll") == std::string::npos ? std::string() : path.string();
}

std::string_view what_chooses_already(const Settings& settings) {
    if (!settings.enable) return "LIBHCOLL_ENABLE=0 leaves every call to the MPI library";
    if (settings.communicators == 0) return "LIBHCOLL_COMMUNICATORS=0 leaves every communicator to the MPI library";
    if (settings.sparse) return "LIBHCOLL_SPARSE=1 runs what keeps to neighbors";
    return {};
}

std::string why_no_background(const Settings& settings) {
    int level = MPI_THREAD_SINGLE;
    require_mpi(MPI_Query_thread(&level));
    const bool moves_in_calls =
        settings.progress == ProgressMode::calls ||
        (settings.progress == ProgressMode::automatic && vendor_of_job() == VendorKind::openmpi);
    // With a setting of its own the library asks for the level, and tells the program of no more than that asked for.
    const bool has_thread = settings.progress == ProgressMode::thread ||
                            (settings.progress == ProgressMode::automatic && level == MPI_THREAD_MULTIPLE);
    if (moves_in_calls || has_thread) return {};
    return fmt::format(
        "nothing would move non-blocking calls in the background (LIBHCOLL_PROGRESS={}; thread or calls would): "
        "the MPI library has them all",
        progress_mode_names[static_cast<std::size_t>(settings.progress)]);
}

std::string shared_text(std::string text, int root) {
    std::uint64_t length = text.size();
    require_mpi(PMPI_Bcast(&length, 1, MPI_UINT64_T, root, MPI_COMM_WORLD));
    text.resize(length);
    require_mpi(PMPI_Bcast(text.data(), static_cast<int>(length), MPI_BYTE, root, MPI_COMM_WORLD));
    return text;
}

Settings agreed_settings() {
    std::vector<std::string> warnings;
    Settings settings = parse_settings(hcoll_environment(), warnings);
    adopt_agreed_text(shared_text(agreed_text(settings)), settings);
    return settings;
}

Placement find_allocation(const Job& job, const Settings& settings) {
    std::vector<Seat> seats;
    if (!settings.topology.is_automatic() && !settings.topology.seats(job.ranks, seats)) return Placement(seats);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Info as_the_library = MPI_INFO_NULL;
    require_mpi(PMPI_Info_create(&as_the_library));
    require_mpi(PMPI_Info_set(as_the_library, HCOLL_INFO_NODES, "1"));
    require_mpi(PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, as_the_library, &node));
    require_mpi(PMPI_Info_free(&as_the_library));
    int leader = job.rank;
    require_mpi(PMPI_Bcast(&leader, 1, MPI_INT, 0, node));
    require_mpi(PMPI_Comm_free(&node));
    const RankPlace mine = rank_place(leader, local_place());
    constexpr int numbers = sizeof mine / sizeof(int);
    std::vector<RankPlace> all(static_cast<std::size_t>(job.ranks));
    require_mpi(PMPI_Allgather(&mine, numbers, MPI_INT, all.data(), numbers, MPI_INT, MPI_COMM_WORLD));
    return Placement(seats_of_places(all));
}

void wait_for_all() {
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(PMPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (int is_over = 0; is_over == 0;) {
        require_mpi(PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE));
        constexpr timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
        if (is_over == 0) nanosleep(&pause, nullptr);
    }
}

}  // namespace hcoll
