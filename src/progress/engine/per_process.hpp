// SPDX-License-Identifier: BSD-3-Clause
// A variable of the MPI process. In a simulation one process holds all ranks, so there it is one of each rank.
#pragma once

#include <cstddef>
#include <deque>
#include <type_traits>

#include "progress/engine/simulation.hpp"

namespace hcoll {

// Simulated processes take turns in one thread.
template <typename Value>
class PerProcess {
public:
    Value& get() {
        if constexpr (is_simulated) {
            const std::size_t process = simulated_process();
            while (values_.size() <= process) values_.emplace_back();
            return values_[process];
        } else {
            return values_;
        }
    }

private:
    std::conditional_t<is_simulated, std::deque<Value>, Value> values_{};  // what is added to a deque moves nothing
};

}  // namespace hcoll
