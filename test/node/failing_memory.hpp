// SPDX-License-Identifier: BSD-3-Clause
// Copies of other ranks' memory that fail.
#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <random>

#include "progress/node/peer_memory.hpp"

namespace hcoll::test {

// Fails now and then, after it has copied a part. Of two ranks with seeds in a row one at least fails the first time
// that it copies, and often; others fail late in a message.
class FailingMemory : public PeerMemory {
public:
    FailingMemory(std::unique_ptr<PeerMemory> memory, std::uint64_t seed, const std::atomic<bool>& is_armed,
                  std::atomic<int>& failures)
        : memory_(std::move(memory)),
          random_(seed),
          fails_often_(seed % 3 != 2),
          is_armed_(is_armed),
          failures_(failures) {}
    [[nodiscard]] Key key() const override { return memory_->key(); }
    int connect(int rank, const Key& key) override { return memory_->connect(rank, key); }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        const bool fails = is_time();
        const int status = memory_->read(rank, address, to, fails ? bytes / 2 : bytes);
        return fails ? EFAULT : status;
    }
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        const bool fails = is_time();
        const int status = memory_->write(rank, address, from, fails ? bytes / 2 : bytes);
        return fails ? ENOMEM : status;
    }
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        return is_time() ? nullptr : memory_->look(rank, address, bytes, place);
    }

private:
    bool is_time() {
        if (!is_armed_) return false;
        const bool fails = fails_often_ ? is_first_ || random_() % 5 == 0 : random_() % 60 == 0;
        is_first_ = false;
        if (!fails) return false;
        ++failures_;
        return true;
    }
    std::unique_ptr<PeerMemory> memory_;
    std::mt19937_64 random_;
    bool fails_often_;
    bool is_first_ = true;
    const std::atomic<bool>& is_armed_;
    std::atomic<int>& failures_;
};

}  // namespace hcoll::test
