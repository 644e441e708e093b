// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/peer_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/aligned_memory.hpp"
#include "progress/node/memory_units.hpp"

namespace hcoll {

namespace {

class CmaMemory : public PeerMemory {
public:
    explicit CmaMemory(int ranks) : processes_(static_cast<std::size_t>(ranks)) {}

    [[nodiscard]] Key key() const override { return {.process = static_cast<std::uint64_t>(getpid()), .segment = 0}; }
    int connect(int rank, const Key& key) override {
        processes_[static_cast<std::size_t>(rank)] = static_cast<pid_t>(key.process);
        return 0;
    }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        return copy(process_vm_readv, rank, address, to, bytes);
    }
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        return copy(process_vm_writev, rank, address, const_cast<std::byte*>(from), bytes);
    }
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        return read(rank, address, place, bytes) == 0 ? place : nullptr;
    }

private:
    using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

    // A call copies 2 GB at most, and stops short where a page cannot be had: the next one, which begins there, says why.
    int copy(Call call, int rank, std::uint64_t address, std::byte* here, std::size_t bytes) {
        while (bytes > 0) {
            const iovec local{here, bytes};
            const iovec remote{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
            const ssize_t copied = call(processes_[static_cast<std::size_t>(rank)], &local, 1, &remote, 1, 0);
            if (copied < 0) return errno;
            if (copied == 0) return EFAULT;
            here += copied;
            address += static_cast<std::uint64_t>(copied);
            bytes -= static_cast<std::size_t>(copied);
        }
        return 0;
    }

    std::vector<pid_t> processes_;
};

}  // namespace

void PeerMemory::Free::operator()(std::byte* memory) const { free_aligned(memory); }

std::optional<std::uint64_t> PeerMemory::word_at(int rank, std::uint64_t address) {
    std::uint64_t word = 0;
    auto* place = reinterpret_cast<std::byte*>(&word);
    const std::byte* seen = look(rank, address, sizeof word, place);
    if (seen == nullptr) return std::nullopt;
    if (seen != place) std::memcpy(place, seen, sizeof word);
    return word;
}

std::byte* PeerMemory::pieces(std::size_t bytes) {
    if (pieces_ == nullptr) pieces_.reset(allocate_aligned(page_bytes, bytes));
    return pieces_.get();
}

std::unique_ptr<PeerMemory> make_cma_memory(int ranks) { return std::make_unique<CmaMemory>(ranks); }

}  // namespace hcoll
