// A variable of the MPI process. In a simulation one process holds all ranks, so there it is one of each rank.
#pragma once

#include <cstddef>
#include <deque>

namespace hcoll {

#if defined(HCOLL_FLAVOUR_SIMGRID)

// The number of the simulated process that runs; 0 outside of all.
std::size_t simulated_process();

// Of one thread: simulated processes take turns.
template <typename Value>
class PerProcess {
public:
    Value& get() {
        const std::size_t process = simulated_process();
        while (values_.size() <= process) values_.emplace_back();
        return values_[process];
    }

private:
    std::deque<Value> values_;  // what is added moves nothing
};

#else

template <typename Value>
class PerProcess {
public:
    Value& get() { return value_; }

private:
    Value value_{};
};

#endif

}  // namespace hcoll
