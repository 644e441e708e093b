#include "flag_exchange.hpp"

#include <sched.h>

#include <atomic>
#include <new>

#include "clock.hpp"

namespace hcoll::bench {

struct alignas(64) FlagExchange::Flag {
    std::atomic<std::uint64_t> value;
};

FlagExchange::FlagExchange(const World& world) : world_(world) {
    MPI_Comm node = MPI_COMM_NULL;
    check(PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node));
    int ranks = 0;
    check(PMPI_Comm_size(node, &ranks));
    if (ranks == world.ranks && ranks > 1) {
        // One more, so that the first can be aligned.
        const MPI_Aint bytes = world.rank == 0 ? (ranks + 1) * static_cast<MPI_Aint>(sizeof(Flag)) : 0;
        void* memory = nullptr;
        int unit = 0;
        MPI_Aint all_bytes = 0;
        check(PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &memory, &window_));
        check(PMPI_Win_shared_query(window_, 0, &all_bytes, &unit, &memory));
        const auto address =
            (reinterpret_cast<std::uintptr_t>(memory) + sizeof(Flag) - 1) / sizeof(Flag) * sizeof(Flag);
        flags_ = reinterpret_cast<Flag*>(address);  // NOLINT(performance-no-int-to-ptr)
        new (&flags_[world.rank]) Flag{0};
        check(PMPI_Barrier(node));
    }
    check(PMPI_Comm_free(&node));
}

FlagExchange::~FlagExchange() {
    if (window_ != MPI_WIN_NULL) check(PMPI_Win_free(&window_));
}

double FlagExchange::seconds(int iterations) {
    constexpr int patience = 2000;
    const double start = now();
    for (int i = 0; i < iterations; ++i) {
        const std::uint64_t value = ++exchanges_;
        flags_[world_.rank].value.store(value, std::memory_order_release);
        for (int each = 0; each < world_.ranks; ++each)
            for (int spin = 0; flags_[each].value.load(std::memory_order_acquire) < value; ++spin)
                if (spin > patience) sched_yield();  // the rank may need this core
    }
    return (now() - start) / iterations;
}

}  // namespace hcoll::bench
