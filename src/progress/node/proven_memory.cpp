// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/proven_memory.hpp"

#include <cerrno>
#include <optional>
#include <utility>

namespace hcoll {

ProvenMemory::ProvenMemory(std::shared_ptr<PeerMemory> memory, std::uint64_t word, int ranks)
    : memory_(std::move(memory)), word_(word), peers_(static_cast<std::size_t>(ranks)) {}

ProvenMemory::Identity ProvenMemory::identity() const {
    return {.key = memory_->key(), .address = reinterpret_cast<std::uint64_t>(&word_), .word = word_};
}

void ProvenMemory::learn(int rank, const Identity& identity) {
    peers_[static_cast<std::size_t>(rank)].identity = identity;
}

int ProvenMemory::prove(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.is_proven) return 0;
    if (!peer.is_connected) {
        if (const int status = memory_->connect(rank, peer.identity.key); status != 0) return status;
        peer.is_connected = true;
    }
    const std::optional<std::uint64_t> word = memory_->word_at(rank, peer.identity.address);
    if (!word) return EACCES;
    if (*word != peer.identity.word) return ESRCH;
    peer.is_proven = true;
    return 0;
}

int ProvenMemory::read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) {
    const int status = prove(rank);
    return status != 0 ? status : memory_->read(rank, address, to, bytes);
}

int ProvenMemory::write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) {
    const int status = prove(rank);
    return status != 0 ? status : memory_->write(rank, address, from, bytes);
}

const std::byte* ProvenMemory::look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) {
    return prove(rank) != 0 ? nullptr : memory_->look(rank, address, bytes, place);
}

}  // namespace hcoll
