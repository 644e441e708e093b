// SPDX-License-Identifier: BSD-3-Clause
// The memory of the other processes of a node, of which is known whose it is: before the first copy from or to a rank, a word is read there that this
// rank alone has, and compared with what it has said of it. So nothing is read or written in a process that is not the one that was meant, and
// ranks need not all look at one another before single copies are used: n - 1 system calls and more on each of n ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "progress/node/peer_memory.hpp"

namespace hcoll {

class ProvenMemory : public PeerMemory {
public:
    // What a rank says of itself to the others, in memory that they share.
    struct Identity {
        Key key;
        std::uint64_t address = 0;  // of the word
        std::uint64_t word = 0;
    };

    // `word` is not known to anybody else. Of others' memory nothing is to be had before learn(). Throws std::bad_alloc.
    ProvenMemory(std::shared_ptr<PeerMemory> memory, std::uint64_t word, int ranks);

    [[nodiscard]] Identity identity() const;
    void learn(int rank, const Identity& identity);

    [[nodiscard]] Key key() const override { return memory_->key(); }
    // By whom a rank is reached is said by learn().
    int connect(int, const Key&) override { return 0; }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override;
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override;
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override;

private:
    struct Peer {
        Identity identity;
        bool is_connected = false;
        bool is_proven = false;
    };

    // What failed is tried again the next time: a word that cannot be read now costs one call more than the copy would have.
    int prove(int rank);

    std::shared_ptr<PeerMemory> memory_;
    std::uint64_t word_;
    std::vector<Peer> peers_;
};

}  // namespace hcoll
