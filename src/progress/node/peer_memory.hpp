// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing the memory of the other processes of a node: a message is copied once, from buffer to buffer.
//
//   cma    process_vm_readv and process_vm_writev: the kernel copies, and looks every page up each time
//   xpmem  a kernel module maps the other process's pages, and the process copies, or works on them in place. Its library
//          is loaded where it is there (libxpmem.so.0); this one does not need it
//
// Either may be refused (Yama's ptrace_scope, seccomp filters of containers, other users), or reach another process than the
// one that was meant (PID namespaces): SingleCopy::prove and ProvenMemory find out before anything depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace hcoll {

// Used by one thread at a time. Functions that return int return 0 or an errno.
class PeerMemory {
public:
    // By which others reach the memory of this process.
    struct Key {
        std::uint64_t process = 0;
        std::uint64_t segment = 0;  // xpmem
    };

    virtual ~PeerMemory() = default;
    PeerMemory() = default;
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    [[nodiscard]] virtual Key key() const = 0;
    // Before anything else with that rank.
    virtual int connect(int rank, const Key& key) = 0;
    // `address` is the rank's own; both sides are `bytes` long. After an error any part may have been copied.
    virtual int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) = 0;
    virtual int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) = 0;
    // To look at what is there: at `place`, where it is copied to, or where it lies, until two other calls for that rank.
    // nullptr where that fails.
    virtual const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) = 0;

    // A word that is there; nothing where that fails.
    std::optional<std::uint64_t> word_at(int rank, std::uint64_t address);

    // Memory of this process for what is copied from the others, for all communicators that use this: so the same bytes each time. Throws std::bad_alloc.
    std::byte* pieces(std::size_t bytes);

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> pieces_;
};

std::unique_ptr<PeerMemory> make_cma_memory(int ranks);
// nullptr where there is no XPMEM.
std::unique_ptr<PeerMemory> make_xpmem_memory(int ranks);

}  // namespace hcoll
