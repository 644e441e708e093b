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

}  // namespace

Place local_place() {
    Place place;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) place.host = name.data();

    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return place;
    const std::unique_ptr<hwloc_bitmap_s, BitmapFree> set(hwloc_bitmap_alloc());
    if (set && hwloc_topology_load(topology) == 0) {
        place.cores_of_host = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) == 0) {
            place.cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set.get(), HWLOC_OBJ_CORE);
            place.socket = number_of(topology, HWLOC_OBJ_PACKAGE, set.get());
            place.numa = number_of(topology, HWLOC_OBJ_NUMANODE, set.get());
            place.core = number_of(topology, HWLOC_OBJ_CORE, set.get());
        }
    }
    hwloc_topology_destroy(topology);
    return place;
}

}  // namespace hcoll
