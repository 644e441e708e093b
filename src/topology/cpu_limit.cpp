// SPDX-License-Identifier: BSD-3-Clause
#include "topology/cpu_limit.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <set>
#include <string_view>
#include <utility>

namespace hcoll {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t whole = 1000;

// Of `quota` in each `period`; none where either is no number ("max", -1) or is missing.
std::uint64_t thousandths_of(std::istream& quota, std::istream& period) {
    std::int64_t used = 0;
    std::int64_t of = 0;
    if (!(quota >> used) || !(period >> of) || used < 0 || of <= 0) return CpuLimit::none;
    return static_cast<std::uint64_t>(static_cast<double>(used) / static_cast<double>(of) * whole);
}

// Of one group, without what is above it.
std::uint64_t limit_of(const fs::path& group) {
    if (std::ifstream both(group / "cpu.max"); both) return thousandths_of(both, both);
    std::ifstream quota(group / "cpu.cfs_quota_us");
    std::ifstream period(group / "cpu.cfs_period_us");
    return thousandths_of(quota, period);
}

std::uint64_t number_of(const fs::path& group) {
    struct stat status {};
    return stat(group.c_str(), &status) == 0 ? status.st_ino ^ (std::uint64_t{status.st_dev} << 32U) : 0;
}

// In a container the path may be the host's, of which nothing is to be seen here: then the container's own group is the top.
void lower(CpuLimit& limit, const fs::path& top, const fs::path& path) {
    for (fs::path below = path.relative_path();; below = below.parent_path()) {
        if (const std::uint64_t here = limit_of(top / below); here < limit.thousandths)
            limit = {.group = number_of(top / below), .thousandths = here};
        if (below.empty()) return;
    }
}

bool has_cpu(std::string_view controllers) {
    for (std::string_view rest = controllers; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        if (rest.substr(0, end) == "cpu") return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

}  // namespace

// A line of /proc/self/cgroup is number:controllers:path; version 2 has one without controllers.
CpuLimit cpu_limit(const std::string& root) {
    CpuLimit limit;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path top = root + "/sys/fs/cgroup";
        if (controllers.empty()) lower(limit, top, line.substr(second + 1));
        if (has_cpu(controllers)) lower(limit, top / controllers, line.substr(second + 1));
        if (has_cpu(controllers)) lower(limit, top / "cpu", line.substr(second + 1));
    }
    return limit;
}

int limited_cores(int cores, std::span<const CpuLimit> limits) {
    std::set<std::uint64_t> groups;
    std::uint64_t thousandths = 0;
    for (const CpuLimit& limit : limits) {
        if (limit.thousandths == CpuLimit::none) return cores;
        if (groups.insert(limit.group).second) thousandths += limit.thousandths;
    }
    if (limits.empty()) return cores;
    const std::uint64_t most = std::max<std::uint64_t>(thousandths / whole, 1);
    return std::cmp_less(most, cores) ? static_cast<int>(most) : cores;
}

}  // namespace hcoll
