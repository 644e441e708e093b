// What the caches of the node need at the least for a call in which every rank depends on every other one: each raises a flag
// in a line of its own and waits until it has seen those of all others. No MPI is called.
#pragma once

#include <cstdint>

#include "mpi.hpp"

namespace hcoll::bench {

class FlagExchange {
public:
    // Called by all ranks. There is none where they do not share memory.
    explicit FlagExchange(const World& world);
    ~FlagExchange();
    FlagExchange(const FlagExchange&) = delete;
    FlagExchange& operator=(const FlagExchange&) = delete;

    bool exists() const { return flags_ != nullptr; }
    // Seconds for one exchange, of `iterations` in a row; the ranks have just met.
    double seconds(int iterations);

private:
    struct Flag;

    World world_;
    MPI_Win window_ = MPI_WIN_NULL;
    Flag* flags_ = nullptr;  // by rank
    std::uint64_t exchanges_ = 0;
};

}  // namespace hcoll::bench
