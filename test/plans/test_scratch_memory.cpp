// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "intercept/process/scratch_memory.hpp"

namespace hcoll {
namespace {

constexpr std::size_t some_bytes = 100'000;

TEST(ScratchMemoryTest, TheNextCallOfAThreadGetsTheMemoryOfTheLast) {
    std::byte* first = nullptr;
    {
        ScratchLease lease;
        first = lease.get(some_bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
        std::memset(first, 1, some_bytes);
    }
    ScratchLease lease;
    EXPECT_EQ(lease.get(some_bytes / 2), first);
}

TEST(ScratchMemoryTest, ACallInsideOfAnotherSharesNothingWithIt) {
    ScratchLease outer;
    std::byte* memory = outer.get(some_bytes);
    std::memset(memory, 1, some_bytes);
    {
        ScratchLease inner;
        std::byte* other = inner.get(some_bytes);
        EXPECT_TRUE(other + some_bytes <= memory || memory + some_bytes <= other);
        std::memset(other, 2, some_bytes);
        ScratchLease innermost;
        EXPECT_NE(innermost.get(some_bytes), other);
    }
    for (std::size_t i = 0; i < some_bytes; ++i) ASSERT_EQ(memory[i], std::byte{1});
    // What is inside gives nothing back that is not its own.
    ScratchLease inner;
    EXPECT_NE(inner.get(some_bytes), memory);
}

TEST(ScratchMemoryTest, WhatMessagesMayStillBeWrittenToIsNotUsedAgain) {
    std::byte* abandoned = nullptr;
    {
        ScratchLease lease;
        abandoned = lease.get(some_bytes);
        lease.begin_messages();
    }
    {
        ScratchLease lease;
        EXPECT_NE(lease.get(some_bytes), abandoned);
        lease.begin_messages();
        lease.end_messages();
    }
    std::memset(abandoned, 3, some_bytes);
    std::free(abandoned);
}

TEST(ScratchMemoryTest, EachThreadHasItsOwn) {
    ScratchLease lease;
    std::byte* here = lease.get(some_bytes);
    std::thread([&] {
        ScratchLease other;
        EXPECT_NE(other.get(some_bytes), here);
    }).join();
}

// An object of static lifetime may call collectives in its destructor, when the memory of the main thread has gone.
TEST(ScratchMemoryTest, ACallAtTheEndOfAThreadDoesNotGetWhatHasBeenFreed) {
    struct Last {
        ~Last() {
            for (const std::size_t bytes : {some_bytes / 2, 2 * some_bytes}) {
                ScratchLease lease;
                std::memset(lease.get(bytes), 1, bytes);
            }
        }
    };
    std::thread([] {
        static thread_local Last last;
        (void)&last;  // made before the thread's memory is, and so destroyed after it
        ScratchLease lease;
        std::memset(lease.get(some_bytes), 1, some_bytes);
    }).join();
}

TEST(ScratchMemoryTest, MoreThanABoundIsNotKept) {
    ScratchMemory memory;
    memory.get(some_bytes);
    std::byte* kept = memory.get(1);
    memory.trim(2 * some_bytes);
    EXPECT_EQ(memory.get(some_bytes / 2), kept);
    memory.trim(some_bytes / 2);
    std::memset(memory.get(some_bytes), 1, some_bytes);
}

}  // namespace
}  // namespace hcoll
