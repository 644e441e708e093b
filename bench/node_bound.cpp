// SPDX-License-Identifier: BSD-3-Clause
#include "node_bound.hpp"

#include <sched.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <new>

#include "base/shared_copy.hpp"
#include "clock.hpp"

namespace hcoll::bench {

namespace {

constexpr std::size_t line = 64;

}  // namespace

struct alignas(line) NodeBound::Flag {
    std::atomic<std::uint64_t> value;
};

NodeBound::NodeBound(const World& world, std::size_t most_bytes) : world_(world) {
    MPI_Comm node = MPI_COMM_NULL;
    check(PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node));
    int ranks = 0;
    check(PMPI_Comm_size(node, &ranks));
    if (ranks == world.ranks && ranks > 1) {
        // A line more, so that the first can be aligned.
        const std::size_t flag_bytes = static_cast<std::size_t>(ranks) * sizeof(Flag);
        const auto bytes = world.rank == 0 ? static_cast<MPI_Aint>(line + flag_bytes + most_bytes) : MPI_Aint{0};
        void* memory = nullptr;
        int unit = 0;
        MPI_Aint all_bytes = 0;
        check(PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &memory, &window_));
        check(PMPI_Win_shared_query(window_, 0, &all_bytes, &unit, &memory));
        const auto address = (reinterpret_cast<std::uintptr_t>(memory) + line - 1) / line * line;
        flags_ = reinterpret_cast<Flag*>(address);  // NOLINT(performance-no-int-to-ptr)
        message_ = reinterpret_cast<std::byte*>(flags_) + flag_bytes;
        new (&flags_[world.rank]) Flag{0};
        check(PMPI_Barrier(node));
    }
    check(PMPI_Comm_free(&node));
}

NodeBound::~NodeBound() {
    if (window_ != MPI_WIN_NULL) check(PMPI_Win_free(&window_));
}

// What a rank does that has waited for long, since another one may need its core.
template <typename GiveWay>
void NodeBound::exchange(GiveWay&& give_way) {
    constexpr int patience = 2000;
    const std::uint64_t value = ++exchanges_;
    flags_[world_.rank].value.store(value, std::memory_order_release);
    for (int each = 0; each < world_.ranks; ++each)
        for (int spin = 0; flags_[each].value.load(std::memory_order_acquire) < value; ++spin)
            if (spin > patience) give_way();
}

void NodeBound::meet() {
    exchange([] {
        const timespec moment{.tv_sec = 0, .tv_nsec = 10'000};
        nanosleep(&moment, nullptr);
    });
}

double NodeBound::exchange_seconds(int iterations) {
    const double start = now();
    for (int i = 0; i < iterations; ++i) exchange(sched_yield);
    return (now() - start) / iterations;
}

double NodeBound::copy_seconds(std::size_t bytes, int root, int iterations, const Buffers& buffers) {
    double seconds = 0;
    for (int i = 0; i < iterations; ++i) {
        if (world_.rank == root) std::memset(message_, i, bytes);
        exchange(sched_yield);
        if (world_.rank != root) {
            const double start = now();
            copy_shared(static_cast<std::byte*>(buffers.output()), message_, bytes);
            seconds += now() - start;
        }
        exchange(sched_yield);
    }
    return seconds / iterations;
}

}  // namespace hcoll::bench
