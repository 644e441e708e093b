// SPDX-License-Identifier: BSD-3-Clause
#include "info/job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hcoll/build.h"
#include "intercept/entry/backend.h"
#include "intercept/entry/flavour.h"
#include "topology/place_json.hpp"

namespace hcoll::info {

namespace {

namespace fs = std::filesystem;

struct Candidate {
    const char* name;
    const char* launcher_variable;  // set by the launcher that belongs to it
};
constexpr Candidate candidates[] = {{"libmpi.so.40", "OMPI_COMM_WORLD_RANK"},
                                    {"libmpich.so.12", "PMI_RANK"},
                                    {"libmpi.so.12", "PMI_RANK"},
                                    {"libmpi_abi.so.1", "PMI_RANK"}};

struct Loaded {
    void* handle = nullptr;
    MpiLibrary library;
};

// As libhcoll.so tells it.
std::string flavour_of(void* handle, const std::string& version) {
    auto* abi_version = reinterpret_cast<int (*)(int*, int*)>(dlsym(handle, "PMPI_Abi_get_version"));
    int major = -1;
    int minor = -1;
    const bool has_standard_abi = abi_version != nullptr && abi_version(&major, &minor) == 0 && major >= 1;
    const hcoll_mpi_library library{version.c_str(), has_standard_abi ? major : 0,
                                    dlsym(handle, hcoll_openmpi_object) != nullptr ? 1 : 0};
    const char* flavour = hcoll_flavour_of(&library, std::getenv("LIBHCOLL_MPI")).name;
    return flavour != nullptr ? flavour : "";
}

Loaded load(const std::string& name) {
    Loaded loaded;
    loaded.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (loaded.handle == nullptr) return loaded;
    auto* get_version = reinterpret_cast<int (*)(char*, int*)>(dlsym(loaded.handle, "PMPI_Get_library_version"));
    std::string text(16384, '\0');
    int length = 0;
    if (get_version == nullptr || get_version(text.data(), &length) != 0) {
        loaded.handle = nullptr;
        return loaded;
    }
    text.resize(std::strlen(text.data()));
    const link_map* map = nullptr;
    dlinfo(loaded.handle, RTLD_DI_LINKMAP, &map);
    loaded.library = {map != nullptr ? map->l_name : name, text.substr(0, text.find('\n')),
                      flavour_of(loaded.handle, text)};
    for (char& letter : loaded.library.version)
        if (letter == '\t') letter = ' ';
    return loaded;
}

// Beside this program's folder: in the build tree and where it is installed.
std::string backend_path(const std::string& flavour) {
    const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
    std::string name = fmt::format("libhcoll-{}.so", flavour);
    for (const fs::path& folder : {bin.parent_path() / "lib", bin.parent_path() / HCOLL_LIBRARY_FOLDER, bin})
        if (fs::exists(folder / name)) return folder / name;
    return name;
}

void ask_backend(const Loaded& loaded, Job& job) {
    const std::string path = backend_path(loaded.library.flavour);
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        job.problem = dlerror();
        return;
    }
    const auto* build = static_cast<const char*>(dlsym(handle, HCOLL_BACKEND_BUILD_NAME));
    if (build == nullptr || std::string_view(build) != HCOLL_BUILD) {
        job.problem = fmt::format("{} is of another build ({}) than hcoll-info ({})", path,
                                  build != nullptr ? build : "an older one", HCOLL_BUILD);
        return;
    }
    auto* open = reinterpret_cast<hcoll_backend_open_function*>(dlsym(handle, HCOLL_BACKEND_OPEN_NAME));
    const hcoll_vendor vendor{
        loaded.handle, loaded.library.path.c_str(), loaded.library.version.c_str(), nullptr, nullptr, nullptr, {}};
    const hcoll_backend* backend = open != nullptr ? open(&vendor) : nullptr;
    if (backend == nullptr) {
        job.problem = fmt::format("{} does not work with this MPI library", path);
        return;
    }
    char* text = nullptr;
    if (const int status = backend->describe_job(&text); status != 0) job.problem = fmt::format("MPI error {}", status);
    job.prints = text != nullptr;
    if (text != nullptr) job.ranks = nlohmann::ordered_json::parse(text);
    std::free(text);
}

}  // namespace

bool is_launched() {
    return std::any_of(std::begin(candidates), std::end(candidates),
                       [](const Candidate& candidate) { return std::getenv(candidate.launcher_variable) != nullptr; });
}

Job examine_job(const std::string& wanted) {
    Job job;
    job.is_launched = is_launched();
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates)
        if (!job.is_launched || std::getenv(candidate.launcher_variable) != nullptr) names.emplace_back(candidate.name);
    if (!wanted.empty()) names = {wanted};

    Loaded first;
    for (const std::string& name : names) {
        const Loaded loaded = load(name);
        if (loaded.handle == nullptr) continue;
        job.libraries.push_back(loaded.library);
        if (first.handle == nullptr) first = loaded;
        if (job.is_launched) break;
    }
    if (first.handle == nullptr && !wanted.empty())
        job.problem = fmt::format("{} is no MPI library, or cannot be loaded", wanted);
    if (job.is_launched && first.handle != nullptr && !first.library.flavour.empty()) ask_backend(first, job);
    if (job.ranks.is_null()) {
        nlohmann::ordered_json here = {{"rank", nullptr}};
        here.update(place_json(local_place()));
        here["node"] = 0;
        job.ranks = nlohmann::ordered_json::array({here});
    }
    return job;
}

}  // namespace hcoll::info
