// SPDX-License-Identifier: BSD-3-Clause
// A place as JSON, in which ranks tell one another where they are; what is not known is null.
#pragma once

#include <nlohmann/json.hpp>

#include "topology/place.hpp"

namespace hcoll {

inline nlohmann::ordered_json place_json(const Place& place) {
    const auto known = [](int number) {
        return number < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(number);
    };
    return {{"host", place.host},
            {"socket", known(place.socket)},
            {"numa", known(place.numa)},
            {"cache", known(place.cache)},
            {"core", known(place.core)},
            {"cores", place.cores},
            {"cores_of_host", place.cores_of_host}};
}

}  // namespace hcoll
