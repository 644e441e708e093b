// SPDX-License-Identifier: BSD-3-Clause
// Programs over the library's shared memory, small enough to be run in all ways.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "model_checker.hpp"

namespace hcoll::model {

struct Protocol {
    std::string name;
    Program program;
    bool is_large = false;  // takes minutes
    friend void PrintTo(const Protocol& self, std::ostream* out) { *out << self.name; }
};
std::vector<Protocol> protocols_of_node_collectives();
std::vector<Protocol> protocols_of_node_messages();
std::vector<Protocol> protocols_of_the_background();

}  // namespace hcoll::model
