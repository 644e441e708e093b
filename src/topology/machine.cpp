// SPDX-License-Identifier: BSD-3-Clause
#include "topology/machine.hpp"

#include <dirent.h>
#include <hwloc.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

namespace hcoll {

namespace {

constexpr std::size_t bits = 64;

bool is_in(const CpuSet& units, std::size_t unit) {
    return unit / bits < units.size() && (units[unit / bits] >> (unit % bits) & 1U) != 0;
}

void put_in(CpuSet& units, std::size_t unit) { units[unit / bits] |= std::uint64_t{1} << (unit % bits); }

constexpr hwloc_obj_type_t caches[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};

// Loading costs what is looked for: no first-level caches, no devices. Cores that this process may not use are counted too, so that
// processes of one host have the same numbers for the same things; and discovery that would move this thread from core
// to core is left out.
bool load(hwloc_topology_t topology) {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE})
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    for (const hwloc_obj_type_t type : caches)
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    // Where a NUMA node is no package and no cache, a group says of what it is the memory.
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020500
    flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    // An hwloc that is older than the one that this was compiled with may not know all flags.
    if (hwloc_topology_set_flags(topology, flags) != 0)
        hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    return hwloc_topology_load(topology) == 0;
}

// The first object of `type` that has this unit; -1 where there is none.
int number_of(hwloc_topology_t topology, hwloc_obj_type_t type, unsigned unit) {
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr)
        if (object->cpuset != nullptr && hwloc_bitmap_isset(object->cpuset, unit) != 0)
            return static_cast<int>(object->logical_index);
    return -1;
}

// The last level that some cores share; none where each has its own.
std::optional<hwloc_obj_type_t> last_shared_cache(hwloc_topology_t topology) {
    for (const hwloc_obj_type_t type : caches)
        for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;)
            if (hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_CORE) > 1) return type;
    return std::nullopt;
}

struct DirectoryClose {
    void operator()(DIR* directory) const { closedir(directory); }
};

// False where it cannot be told. The system knows how many units there may be: a set that is too small is refused.
bool add_binding(pid_t thread, CpuSet& units) {
    constexpr std::size_t most = 1U << 20U;
    for (std::size_t count = CPU_SETSIZE; count <= most; count *= 2) {
        std::vector<cpu_set_t> set(count / CPU_SETSIZE);
        const std::size_t bytes = set.size() * sizeof(cpu_set_t);
        if (sched_getaffinity(thread, bytes, set.data()) == 0) {
            for (std::size_t unit = 0; unit < units.size() * bits && unit < count; ++unit)
                if (CPU_ISSET_S(unit, bytes, set.data())) put_in(units, unit);
            return true;
        }
        if (errno != EINVAL) return false;
    }
    return false;
}

}  // namespace

Machine Machine::read() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return {};
    std::vector<int> numbers;
    if (load(topology)) {
        numbers.push_back(hwloc_topology_is_thissystem(topology));
        const bool has_packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) > 0;
        const std::optional<hwloc_obj_type_t> cache = last_shared_cache(topology);
        const hwloc_const_bitmap_t units = hwloc_topology_get_topology_cpuset(topology);
        for (int unit = 0; unit <= hwloc_bitmap_last(units); ++unit) {
            const auto number = static_cast<unsigned>(unit);
            const bool is_there = hwloc_bitmap_isset(units, number) != 0;
            const bool may_be_used = hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(topology), number) != 0;
            numbers.push_back(has_packages || !is_there ? number_of(topology, HWLOC_OBJ_PACKAGE, number) : 0);
            numbers.push_back(number_of(topology, HWLOC_OBJ_NUMANODE, number));
            numbers.push_back(cache ? number_of(topology, *cache, number) : -1);
            numbers.push_back(number_of(topology, HWLOC_OBJ_CORE, number));
            numbers.push_back(is_there && may_be_used ? 1 : 0);
        }
    }
    hwloc_topology_destroy(topology);
    return Machine(std::move(numbers));
}

std::size_t Machine::words() const { return (units() + bits - 1) / bits; }

// A unit without a package is none: there may be gaps in the system's numbers.
CpuSet Machine::all() const {
    CpuSet set(words(), 0);
    for (std::size_t unit = 0; unit < units(); ++unit)
        if (number(unit, of_package) >= 0) put_in(set, unit);
    return set;
}

CpuSet Machine::allowed() const {
    CpuSet set(words(), 0);
    for (std::size_t unit = 0; unit < units(); ++unit)
        if (number(unit, is_allowed) != 0) put_in(set, unit);
    return set;
}

std::vector<int> Machine::numbers_of(const CpuSet& set) const {
    std::vector<int> numbers;
    for (std::size_t unit = 0; unit < units(); ++unit)
        if (is_in(set, unit)) numbers.push_back(static_cast<int>(unit));
    return numbers;
}

int Machine::usable(const CpuSet& set) const {
    int number_of = 0;
    for (std::size_t unit = 0; unit < units(); ++unit)
        if (is_in(set, unit) && number(unit, of_package) >= 0) ++number_of;
    return number_of;
}

int Machine::cores(const CpuSet& set) const {
    std::set<int> cores;
    int without = 0;
    for (std::size_t unit = 0; unit < units(); ++unit) {
        if (!is_in(set, unit) || number(unit, of_package) < 0) continue;
        const int core = number(unit, of_core);
        if (core < 0)
            ++without;
        else
            cores.insert(core);
    }
    return static_cast<int>(cores.size()) + without;
}

int Machine::common(const CpuSet& set, Field field) const {
    int found = -1;
    bool is_first = true;
    for (std::size_t unit = 0; unit < units(); ++unit) {
        if (!is_in(set, unit)) continue;
        const int here = number(unit, field);
        if (!is_first && here != found) return -1;
        found = here;
        is_first = false;
    }
    return found;
}

const Machine& local_machine() {
    static const auto* machine = new Machine(Machine::read());
    return *machine;
}

CpuSet binding_of_process(const Machine& machine) {
    if (!machine.tells_bindings()) return machine.all();
    CpuSet units(machine.words(), 0);
    const std::unique_ptr<DIR, DirectoryClose> threads(opendir("/proc/self/task"));
    bool is_told = false;
    if (threads != nullptr)
        while (const dirent* entry = readdir(threads.get()))  // NOLINT(concurrency-mt-unsafe): this directory is ours
            if (const int thread = std::atoi(entry->d_name); thread > 0)
                is_told = add_binding(thread, units) || is_told;
    if (!is_told) is_told = add_binding(0, units);
    return is_told ? units : CpuSet{};
}

}  // namespace hcoll
