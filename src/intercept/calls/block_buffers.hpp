// SPDX-License-Identifier: BSD-3-Clause
// What the arguments of Gather, Scatter and Allgather are on this rank, and where their bytes lie.
#pragma once

#include <cstdint>
#include <optional>

#include "intercept/calls/call_signature.hpp"
#include "intercept/calls/own_run.hpp"
#include "intercept/process/scratch_memory.hpp"

namespace hcoll {

struct BlockSides {
    BlockSides(const BlockArguments& blocks, Collective collective, int own_rank, int size)
        : rank(static_cast<std::uint64_t>(own_rank)),
          ranks(static_cast<std::uint64_t>(size)),
          is_scatter(collective == Collective::scatter),
          has_all(collective == Collective::allgather || own_rank == blocks.root),
          in_place(has_all && (is_scatter ? blocks.receive : blocks.send) == MPI_IN_PLACE),
          sends(is_scatter ? has_all : !in_place),
          receives(is_scatter ? !in_place : has_all),
          room(receives ? blocks.receive_count * type_size(blocks.receive_type) : 0),
          block(sends ? blocks.send_count * type_size(blocks.send_type) : room) {}

    std::uint64_t blocks_sent() const { return is_scatter ? ranks : 1; }
    std::uint64_t blocks_received() const { return is_scatter ? 1 : ranks; }

    std::uint64_t rank, ranks;
    bool is_scatter;
    bool has_all;  // the blocks of all ranks
    bool in_place;
    bool sends, receives;  // which of the two buffers count
    std::uint64_t room;    // bytes for a block that is received, and
    std::uint64_t block;  // of one that is sent; where nothing is sent the same. They differ in a program that is wrong
};

// Ranks may describe the same bytes by different types: what travels are the bytes of the signature. Where it is not known where they lie, the MPI
// library packs and unpacks them. So it does where this rank's two sides have blocks of different lengths: each block goes to its place, as far as there
// is room.
class BlockBuffers {
public:
    BlockBuffers(OwnAlgorithms& own, const BlockArguments& blocks, const BlockSides& sides)
        : own_(own), blocks_(blocks), sides_(sides) {}

    // Before the call, with so much scratch memory more. Returns an MPI error code; may throw std::bad_alloc.
    int take(std::uint64_t scratch_bytes);
    // After it. `block`: how many bytes have come of each block that is received. MPI_ERR_TRUNCATE where that is more than there is room for.
    int give(std::uint64_t block) const;

    std::byte* scratch() const { return memory_; }
    ScratchLease& lease() { return lease_; }
    const SignatureBytes& signature() const { return signature_; }
    // Null pointers where a side does not count; else they may be addresses of `signature()`.
    std::byte* input() const { return input_; }
    std::byte* output() const { return output_; }

private:
    OwnAlgorithms& own_;
    const BlockArguments& blocks_;
    const BlockSides& sides_;
    SignatureBytes signature_;
    ScratchLease lease_;
    std::byte* memory_ = nullptr;
    std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    bool unpacks_ = false;
};

}  // namespace hcoll
