#include "topology/place.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace hcoll {

namespace {

// The one object of `type` that holds the whole set; -1 where there is none.
int number_of(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t set) {
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr)
        if (object->cpuset != nullptr && hwloc_bitmap_isincluded(set, object->cpuset) != 0)
            return static_cast<int>(object->logical_index);
    return -1;
}

struct BitmapFree {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};

// Loading costs what is looked for: no caches, no devices. Cores that this process may not use are counted too, so that
// processes of one host have the same numbers for the same things; and discovery that would move this thread from core
// to core is left out.
bool load(hwloc_topology_t topology) {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE})
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
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

Place find_place() {
    Place place;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) place.host = name.data();

    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return place;
    const std::unique_ptr<hwloc_bitmap_s, BitmapFree> set(hwloc_bitmap_alloc());
    if (set && load(topology)) {
        place.cores_of_host = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) == 0) {
            place.cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set.get(), HWLOC_OBJ_CORE);
            place.socket = number_of(topology, HWLOC_OBJ_PACKAGE, set.get());
            // A machine that tells of no packages is one.
            if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) == 0) place.socket = 0;
            place.numa = number_of(topology, HWLOC_OBJ_NUMANODE, set.get());
            place.core = number_of(topology, HWLOC_OBJ_CORE, set.get());
        }
    }
    hwloc_topology_destroy(topology);
    return place;
}

}  // namespace

const Place& local_place() {
    static const auto* place = new Place(find_place());
    return *place;
}

}  // namespace hcoll
