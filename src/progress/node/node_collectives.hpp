// Collectives of the ranks of one node over a shared segment: the direct path beside the engine.
//
// Every rank owns an area of the segment and is the only one that writes to it; the others wait for its flags and read.
// There are three ways, by size and by what was measured. With n ranks and m bytes:
//
//   slots     a rank's message lies in the cache line of its flag, or behind it: one transfer of a line brings both
//             bcast      root  [flag|message] --> all read it
//             allreduce  every rank [flag|operand]; every rank reads all n and combines them in the order of ranks
//             reduce     the same, but only the root reads
//   counts    barrier: every rank raises a flag of its own, and waits for those of all; nothing else is used
//   blocks    long messages pass through a ring of `depth` blocks that stays in cache
//             bcast      root copies block k + 1 in while the others copy block k out: m in, m out
//             reduce, allreduce by slices: every rank copies in what its peers combine ((n-1)/n m), combines its own slice
//                        of each block from all (m), and copies the slices of the others out ((n-1)/n m)
//             reduce of up to three ranks, or of more ranks than cores: the root combines all of it, and copies nothing out
//
//   single    ranks read and write one another's buffers, where the system lets them: single_copy.hpp has the pictures. A
//   copy      rank that fails to gets its message through blocks; those that do not need them count them as consumed
//
// More than flat_ranks: the ranks form groups of neighbours (sockets, where the placement says so); the members of a group
// talk to its leader only, and leaders to one another, by slots and counts as above; in a barrier a leader raises its flag
// for the other leaders when its group is complete, and a second one for its group when all groups are.
//
// Slots and blocks are rings: no rank writes one again before all have said that they are done with what was in it. So a
// root that runs ahead is held back, and nothing needs a barrier. Who has to wait for a place waits until half the ring is
// free: where ranks share cores, a rank's turn is then good for many messages.
//
// Collectives may follow one another without any wait, while messages that were begun before have to move: every so many
// slots and blocks, a rank drives the MPI library, whether it waits or not.
//
// All ranks get the same bits: operands are combined in the order of groups and ranks, by everybody alike.
//
// Sources: flags and payload in one line: Jain et al. 2018 (release-gather), Katevenis et al. 2022 (XHC); slices: Luo
// 2020 (thesis), section 5.2.2 and figure 5.4 (SOLO).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "progress/engine/combine.hpp"
#include "progress/node/single_copy.hpp"
#include "progress/node/waiting.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// Driven by one thread of each rank at a time; all ranks call the same functions in the same order with the same sizes.
// It knows no MPI.
class NodeCollectives {
public:
    // How a segment is divided, by the bytes that each rank may have for its blocks.
    static std::size_t segment_bytes(int ranks, std::size_t buffer_bytes);
    // What a rank writes of it.
    struct Part {
        std::size_t offset, bytes;
    };
    static Part own_part(int rank, std::size_t buffer_bytes);

    // `base` is zeroed memory of segment_bytes(placement.ranks(), buffer_bytes) bytes, page-aligned, that all ranks share.
    // All ranks of the placement are on one node, and agree on whether they share cores.
    NodeCollectives(std::byte* base, std::size_t buffer_bytes, const Placement& placement, int rank, Waiting waiting);

    // Lets long messages be copied once (SingleCopy::prove, to be tried on all ranks alike): the same answer on all ranks.
    bool use_single_copy(std::unique_ptr<PeerMemory> memory);

    // Once it is allowed: is it faster here than blocks? Depends on how far apart the ranks' cores are: out of a cache that two
    // cores share, or nearly, a copy in and a copy out cost less than the system call. A broadcast of `bytes` in `data` is
    // timed both ways; data may be a null pointer on some ranks. The same answer on all ranks, rank 0's.
    bool is_single_copy_faster(std::byte* data, std::size_t bytes);

    // Messages of `single_copy_from` bytes or more are copied once, if they may be and are no short ones; the same on all
    // ranks.
    static constexpr std::size_t never = ~std::size_t{0};

    // With data a null pointer a rank takes part without a message: what the others get from such a root is undefined.
    void bcast(int root, std::byte* data, std::size_t bytes, std::size_t single_copy_from = never);
    // `input` is this rank's operand; output is written on the root only, and may be input. `elements` is not 0.
    void reduce(int root, const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                std::size_t single_copy_from = never);
    // Output may be input.
    void allreduce(const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                   std::size_t single_copy_from = never);
    // The same for what is shortest and asked for most, where every instruction counts: `bytes` of at most line_bytes, on
    // flat_ranks ranks or fewer.
    void allreduce_line(const std::byte* input, std::byte* output, std::size_t bytes, std::size_t elements,
                        Kernel kernel);
    bool is_line(std::size_t bytes) const { return bytes <= line_bytes && leaders_.size() == 1; }
    // Returns when all ranks have called it. What a rank wrote before, all see afterwards.
    void barrier();

    static constexpr int flat_ranks = 8;
    // A short message lies in a slot; one of line_bytes in the line of its flag.
    static constexpr std::size_t short_bytes = 8 << 10;
    static constexpr std::size_t line_bytes = 48;
    static constexpr std::uint64_t depth = 16;  // blocks

private:
    struct Area;
    struct Free {
        void operator()(std::byte* memory) const;
    };
    static constexpr int no_root = SingleCopy::no_root;

    std::byte* area_base(int rank) const { return base_ + static_cast<std::size_t>(rank) * area_bytes_; }
    Area& area(int rank) const;
    std::vector<std::byte*> desks() const;
    std::byte* block(int rank, std::uint64_t number) const;
    std::byte* result_slice(int rank, std::uint64_t number) const;
    bool is_in_group(int rank) const {
        return group_of_rank_[static_cast<std::size_t>(rank)] == group_of_rank_[static_cast<std::size_t>(rank_)];
    }
    template <Flag& (*flag_of)(Area&)>
    void wait_for_all(std::uint64_t value, std::uint64_t& known);

    // Where a short message is, in the area of every rank that has one.
    struct ShortMessage {
        std::uint64_t operation;
        std::size_t bytes;
        std::uint64_t slots;  // of its ring
        std::size_t flag_offset;
        std::size_t data_offset;
    };
    template <std::size_t ring>
    static ShortMessage place_in(std::uint64_t operation, std::size_t bytes);
    ShortMessage next_short(std::size_t bytes);
    Flag& flag_of(int rank, const ShortMessage& message) const {
        return *reinterpret_cast<Flag*>(area_base(rank) + message.flag_offset);
    }
    // This rank's place, when all are done with what was there; then it may be read.
    std::byte* claim(const ShortMessage& message);
    void publish(const ShortMessage& message);
    void publish_copy(const ShortMessage& message, const std::byte* data);
    const std::byte* read(int rank, const ShortMessage& message);
    void finish(std::uint64_t operation);
    void finish_block(std::uint64_t number);
    void progress_sometimes();
    void combine_short(const std::vector<int>& ranks, int own_rank, const std::byte* own, const ShortMessage& message,
                       std::byte* result, const Combine& combine);

    void bcast_short(int root, std::byte* data, std::size_t bytes);
    void reduce_short(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);
    void allreduce_short(const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);

    void wait_for_room(std::uint64_t number);
    void combine_operands(std::byte* result, std::size_t bytes, const Combine& combine) const;
    bool is_copied_once(std::size_t bytes, std::size_t single_copy_from) const {
        return bytes >= single_copy_from && bytes > short_bytes && single_copy_.is_proven();
    }
    void bcast_single_copy(int root, std::byte* data, std::size_t bytes);
    void reduce_single_copy(int root, const std::byte* input, std::byte* output, std::size_t elements,
                            const Combine& combine);
    void reduce_blocks(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);
    void bcast_blocks(int root, std::byte* data, std::size_t bytes);
    void reduce_at_root(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);
    void reduce_by_slices(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                          const Combine& combine);

    std::byte* base_;
    std::byte* lines_;  // rank 0's first ring
    std::size_t buffer_bytes_;
    std::size_t area_bytes_;
    int rank_;
    int ranks_;
    Waiting waiting_;
    SingleCopy single_copy_;
    std::vector<int> group_;    // the ranks of this rank's group, ascending; the first leads
    std::vector<int> leaders_;  // of all groups
    std::vector<int> group_of_rank_;
    std::vector<const std::byte*> operands_;  // of one combination, by rank
    int since_progress_ = 0;
    std::uint64_t operation_ = 0;                   // short messages so far
    std::uint64_t known_done_ = 0;                  // all ranks are done with that many of them, at least
    std::uint64_t barriers_ = 0;                    // so far
    std::uint64_t block_number_ = 0;                // blocks so far
    std::uint64_t known_consumed_ = 0;              // all are done with that many of them, at least
    std::uint64_t known_ready_ = 0;                 // all have copied that many in, at least
    std::unique_ptr<std::byte, Free> accumulator_;  // short_bytes
};

}  // namespace hcoll
