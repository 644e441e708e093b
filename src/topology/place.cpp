// SPDX-License-Identifier: BSD-3-Clause
#include "topology/place.hpp"

#include <unistd.h>

#include <array>

namespace hcoll {

Place place_on(const Machine& machine) {
    Place place;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) place.host = name.data();
    place.cores_of_host = machine.cores(machine.all());
    const CpuSet units = binding_of_process(machine);
    place.cores = machine.cores(units);
    place.socket = machine.package(units);
    place.numa = machine.numa(units);
    place.cache = machine.cache(units);
    place.core = machine.core(units);
    return place;
}

const Place& local_place() {
    static const auto* place = new Place(place_on(local_machine()));
    return *place;
}

}  // namespace hcoll
