// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the ranks of one node over a shared segment: the direct path beside the engine.
//
// Every rank owns an area of the segment and is the only one that writes to it; the others wait for its flags and read.
// There are three ways, by size and by what was measured. With n ranks and m bytes:
//
//   slots     a rank's message lies in the cache line of its header (flag and length), where it fits, or in a slot beside it
//             bcast      root  [flag|length|message] --> all read it
//             allreduce  every rank [flag|length|operand]; every rank reads all n and combines them in the order of ranks
//             reduce     the same, but only the root reads
//   counts    barrier: every rank raises a flag of its own, and waits for those of all; nothing else is used
//   blocks    long messages pass through a ring of `depth` blocks that stays in cache
//             bcast      root copies block k + 1 in while the others copy block k out: m in, m out
//             reduce, allreduce by slices: every rank copies in what its peers combine ((n-1)/n m), combines its own slice
//                        of each block from all (m), and copies the slices of the others out ((n-1)/n m)
//             reduce of up to three ranks, or of more ranks than cores: the root combines all of it, and copies nothing out
//             Where a node's parts have more than flat_ranks ranks in all, blocks go along its levels: node_levels.hpp has the picture
//
//   single    ranks read and write one another's buffers, where the system lets them: single_copy.hpp has the pictures. A
//   copy      rank that fails to, or whose bytes are scattered, gets its message through blocks; those that do not need them
//             count them as consumed
//
// More than flat_ranks: the ranks form groups within groups along the node's packages, sockets and caches (node_tree.hpp); the
// members of a group talk to its leader only, and those of the one that has all ranks to one another, by slots and counts as above.
// In a barrier a leader raises its flag when all ranks below it have arrived, and one for each of its groups when all ranks of the node have.
//
//             up      who leads groups combines the first one's messages, then with that the next one's, ..., and has the last result
//                     in its slot
//             down    and publishes what it gets for each of its groups, in a line of the next operation; of longer messages in a line for each
//                     that it is there, in one slot
//
// Gather, scatter, allgather: every rank has a portion of m bytes, of a whole of n m.
//
//   gather     short   each rank's in its slot; the root reads n - 1 of them
//              long    each rank's through its own ring of blocks: m in by each at once, (n-1) m out by the root
//   scatter    short   the whole in the root's slot; each rank reads its portion
//              long    the others' portions through the root's ring, one after another; a rank reads those blocks that have its own
//   allgather  the gather, but every rank reads all
//   copied     a rank writes its portion into the root's whole (gather), reads it there (scatter), reads all others' (allgather)
//   once
//   in groups  where the whole is a short message: a leader has those of the ranks below it in its slot, side by side in the order of the tree
//              (up), or the part of the whole that is theirs (down). Otherwise ranks read one another's slots; in an allgather leaders say when
//              all are there, so that nobody polls more than its group's lines
//
// Lengths: a message of any size has a header in the ring of the first ones (node_area.hpp), of blocks with the first block.
//
//   bcast      the others wait for the root's header, and do what its length asks for: all ranks do the same, whatever they have
//              room for, and none copies more than that. A message that goes another way is announced all the same
//   scatter    the same: the others do what the root's length asks for, and take as much of their portion as they have room for
//   others     who combines or gathers looks at each header before it reads; where one differs from its own,
//              nothing is right any more: it gives up, and tells the others. Headers of portions have the length of one portion
//
// Slots and blocks are rings: no rank writes one again before those who read it (place_readers.hpp) have said that they are done with what was in it.
// So a root that runs ahead is held back, and nothing needs a barrier. Who has to wait for a place waits until half the ring is
// free: where ranks share cores, a rank's turn is then good for many messages. Who is through a barrier, or has what all have combined, knows
// without looking that all are done with everything before.
//
// Collectives may follow one another without any wait, while messages that were begun before have to move: every so many
// slots and blocks, a rank drives the MPI library, whether it waits or not.
//
// All ranks get the same bits: operands are combined in the order of groups, and of ranks in them, by everybody alike; long messages' in the order of
// levels' parts, whichever way they go. Where ranks do not sit in their order, that is another one than theirs.
//
// Sources: flags and payload in one line: Jain et al. 2018 (release-gather), Katevenis et al. 2022 (XHC); slices: Luo
// 2020 (thesis), section 5.2.2 and figure 5.4 (SOLO).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "progress/engine/combine.hpp"
#include "progress/node/node_buffer.hpp"
#include "progress/node/node_levels.hpp"
#include "progress/node/node_sizes.hpp"
#include "progress/node/node_tree.hpp"
#include "progress/node/place_readers.hpp"
#include "progress/node/single_copy.hpp"
#include "progress/node/waiting.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// Driven by one thread of each rank at a time; all ranks call the same functions in the same order. It knows no MPI.
//
// Functions throw NodeFailure (waiting.hpp) where a rank of the node is gone or has given up, or where operands differ in length,
// and from then on always; what an operation throws passes through, and the others get a NodeFailure.
class NodeCollectives {
public:
    // How a segment is divided, by the bytes that each rank may have for its blocks.
    static std::size_t segment_bytes(int ranks, std::size_t buffer_bytes);
    // What a rank writes of it.
    struct Part {
        std::size_t offset, bytes;
    };
    static Part own_part(int rank, std::size_t buffer_bytes);
    // Has the system find memory for what a rank's first short messages touch of it, so that nobody waits for that then. The segment at
    // `base` is not used yet.
    static void touch(std::byte* base, int rank, std::size_t buffer_bytes);

    // `base` is zeroed memory of segment_bytes(placement.ranks(), buffer_bytes) bytes, page-aligned, that all ranks share.
    // All ranks of the placement are on one node, and agree on whether they share cores.
    // `accumulator`: as make_accumulator() gives it, for several of which one at a time is used; nullptr: one of its own.
    using Accumulator = std::shared_ptr<std::byte>;
    static Accumulator make_accumulator();
    NodeCollectives(std::byte* base, std::size_t buffer_bytes, const Placement& placement, int rank, Waiting waiting,
                    Accumulator accumulator = nullptr);

    // The same of all places in its area that messages of so many bytes pass through, at any time between collectives. What is there stays.
    void touch_places(std::uint64_t bytes);

    // Lets long messages be copied once (SingleCopy::prove, to be tried on all ranks alike): the same answer on all ranks.
    bool use_single_copy(std::shared_ptr<PeerMemory> memory);
    // As SingleCopy has them.
    void adopt_single_copy(std::shared_ptr<PeerMemory> memory) { single_copy_.adopt(std::move(memory)); }
    const std::shared_ptr<PeerMemory>& single_copy_memory() const { return single_copy_.memory(); }

    // Once it is allowed: is it faster here than blocks? Depends on how far apart the ranks' cores are: out of a cache that two
    // cores share, or nearly, a copy in and a copy out cost less than the system call. A broadcast of `bytes` in `data` is
    // timed both ways; data may be a null pointer on some ranks. The same answer on all ranks, rank 0's.
    bool is_single_copy_faster(std::byte* data, std::size_t bytes);

    // Messages of `single_copy_from` bytes or more are copied once, if they may be and are no short ones; the same on all
    // ranks.
    static constexpr std::size_t never = ~std::size_t{0};

    // With data a null pointer a rank takes part without a message: what the others get from such a root is undefined. On
    // the others `bytes` is what they have room for: they get what the root sends of it, and false where that was more. What is
    // scattered on one rank need not be on another; it is never copied once.
    bool bcast(int root, std::byte* data, std::size_t bytes, std::size_t single_copy_from = never,
               const ScatteredBytes* scattered = nullptr);
    // The same in two steps, for ranks other than the root: the root's length first (of a scatter's portion, too), and then the message, or
    // nothing where such a message goes another way. There the root only announces it.
    std::size_t await_length(int root);
    bool take_bcast(int root, std::size_t bytes, const NodeBuffer& buffer, std::size_t single_copy_from = never);
    void leave_bcast(std::size_t bytes);
    void announce_bcast(std::size_t bytes);
    // For what is shortest and asked for most, where every instruction counts: `bytes` that is_line() says yes to, at `data`. Returns the root's length; where
    // that is another one, nothing was done yet on this rank, as after await_length.
    std::size_t bcast_line(int root, std::byte* data, std::size_t bytes);
    // `input` is this rank's operand; output is written on the root only, and may be input. `elements` is not 0. The operation
    // commutes, or ranks sit in their order.
    void reduce(int root, const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                std::size_t single_copy_from = never);
    // Output may be input.
    void allreduce(const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                   std::size_t single_copy_from = never);
    // The same for what is shortest and asked for most, where every instruction counts: `bytes` of at most line_bytes, on
    // flat_ranks ranks or fewer.
    void allreduce_line(const std::byte* input, std::byte* output, std::size_t bytes, std::size_t elements,
                        Kernel kernel);
    bool is_line(std::size_t bytes) const { return bytes <= line_bytes && tree_.is_flat(); }
    // Every rank has a portion of `bytes` bytes, which may be 0; all of them, in the order of ranks, are the whole, of which the root, or with
    // allgather every rank, has a buffer. A portion may lie where it is in the whole. A null pointer as with bcast.
    void gather(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                std::size_t single_copy_from = never);
    // Scatter's `bytes` are the root's alone; the others get what there is room for, and how many bytes the root has for them.
    std::size_t scatter(int root, const NodeBuffer& whole, const NodeBuffer& portion, std::size_t bytes,
                        std::size_t single_copy_from = never);
    void allgather(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                   std::size_t single_copy_from = never);
    // Returns when all ranks have called it. What a rank wrote before, all see afterwards.
    void barrier();

    static constexpr int flat_ranks = node_sizes::flat_ranks;
    // A short message lies in a slot; one of line_bytes in the line of its flag.
    static constexpr std::size_t short_bytes = 8 << 10;
    static constexpr std::size_t line_bytes = 48;
    static constexpr std::uint64_t depth = node_sizes::blocks;

private:
    struct Area;
    static constexpr int no_root = SingleCopy::no_root;

    std::byte* area_base(int rank) const { return base_ + static_cast<std::size_t>(rank) * area_bytes_; }
    Area& area(int rank) const;
    std::byte* block(int rank, std::uint64_t number) const;
    std::byte* result_slice(int rank, std::uint64_t number) const;
    template <Flag& (*flag_of)(Area&)>
    void wait_for_readers(PlaceReaders& readers, std::uint64_t now, std::uint64_t over);
    void wait_for_all_ready(std::uint64_t number);

    // Where a short message is, in the area of every rank that has one.
    struct ShortMessage {
        std::uint64_t operation;
        std::size_t bytes;
        std::uint64_t slots;  // of its ring
        std::size_t data_offset;
    };
    template <std::size_t ring>
    static ShortMessage place_in(std::uint64_t operation, std::size_t bytes);
    static ShortMessage place_of(std::uint64_t operation, std::size_t bytes);
    // Whose headers belong to blocks: those of this operation, or none.
    using Header = std::optional<std::uint64_t>;
    static constexpr Header no_header = std::nullopt;
    Flag& header(int rank, std::uint64_t operation) const;
    Flag& header(int rank, std::uint64_t operation, std::size_t tier) const;
    static std::byte* message_in(Flag& header) { return reinterpret_cast<std::byte*>(&header + 1); }
    // This rank's place, when its readers are done with what was there. Who reads it next is added to them afterwards.
    void claim(std::uint64_t operation, std::uint64_t slots);
    std::byte* claim(const ShortMessage& message);
    void publish(std::uint64_t operation, std::size_t bytes);
    void publish_up(std::size_t led, std::uint64_t operation, std::size_t bytes);
    template <typename Fill>
    void hand_down(std::size_t led, std::uint64_t operation, std::size_t length, std::size_t message_bytes,
                   Fill&& fill);
    const std::byte* handed_down(int rank, std::size_t tier, std::uint64_t operation, std::size_t message_bytes) const;
    void announce(std::size_t led, std::uint64_t operation, std::size_t length);
    // Another rank's, which must be as long as this one's.
    void wait_for_part(int rank, std::uint64_t operation, std::size_t bytes, std::size_t tier = 0);
    const std::byte* read(int rank, const ShortMessage& message);
    void finish(std::uint64_t operation);
    void finish_block(std::uint64_t number);
    void progress_sometimes();
    void combine_groups(std::size_t count, const std::byte* input, const ShortMessage& message, std::byte* between,
                        std::byte* result, const Combine& combine);
    void combine_short(const std::vector<int>& ranks, int own_rank, const std::byte* own, const ShortMessage& message,
                       std::byte* result, const Combine& combine);

    void send_short(std::uint64_t operation, const NodeBuffer& buffer, std::size_t bytes);
    void take_short(std::uint64_t operation, std::size_t bytes, const NodeBuffer& buffer);
    void reduce_short(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);
    void allreduce_short(const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine);

    // A message's, of so many bytes each but for the last: a whole number of elements.
    struct Blocks {
        std::uint64_t first, count;
        std::size_t bytes, message_bytes;
        [[nodiscard]] std::size_t offset(std::uint64_t index) const { return index * bytes; }
        [[nodiscard]] std::size_t length(std::uint64_t index) const {
            return std::min(bytes, message_bytes - offset(index));
        }
    };
    Blocks next_blocks(std::size_t bytes, std::size_t element_bytes);
    void claim_block(std::uint64_t number);
    void begin_blocks(std::uint64_t number, std::size_t bytes, Header header);
    void wait_for_first_block(int rank, std::uint64_t number, std::size_t bytes, Header header);
    void combine_operands(std::size_t count, std::byte* result, std::size_t bytes, const Combine& combine) const;
    bool is_copied_once(std::size_t bytes, std::size_t single_copy_from) const {
        return bytes >= single_copy_from && bytes > short_bytes && single_copy_.is_proven();
    }
    void bcast_single_copy(int root, const NodeBuffer& buffer, std::size_t bytes);
    void leave_blocks(std::size_t bytes);
    void reduce_single_copy(int root, const std::byte* input, std::byte* output, std::size_t elements,
                            const Combine& combine);
    void reduce_long(int root, const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                     std::size_t single_copy_from);
    void reduce_blocks(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine,
                       Header header);
    void bcast_blocks(int root, const NodeBuffer& buffer, std::size_t bytes, Header header);
    void reduce_at_root(int root, const std::byte* input, std::byte* output, std::size_t bytes, const Combine& combine,
                        Header header);
    void combine_all(std::byte* result, std::size_t bytes, const Combine& combine) const;
    void reduce_by_slices(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                          const Combine& combine, Header header);

    struct LevelBlock;
    void pass_on_blocks(int root, const NodeBuffer& buffer, std::size_t bytes);
    void copy_in_operand(const LevelBlock& of);
    void wait_for_operand(int rank, std::size_t level, const LevelBlock& of);
    void combine_level(std::size_t number, const LevelBlock& of);
    void wait_for_result(int rank, std::size_t level, const LevelBlock& of);
    void return_level(std::size_t number, const LevelBlock& of);
    void copy_out_result(int root, const LevelBlock& of);
    void reduce_by_levels(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                          const Combine& combine, Header header);

    std::size_t whole_bytes(std::size_t bytes) const { return static_cast<std::size_t>(ranks_) * bytes; }
    // Small portions of many ranks travel together, along the groups.
    bool goes_along_groups(std::size_t bytes) const { return !tree_.is_flat() && whole_bytes(bytes) <= short_bytes; }
    void keep_own(const NodeBuffer& from, std::size_t from_offset, const NodeBuffer& to, std::size_t to_offset,
                  std::size_t bytes);
    void take_whole(const NodeBuffer& whole, std::size_t bytes, const std::byte* in_order);
    template <typename Deliver>
    void collect(std::size_t first, std::size_t end, std::uint64_t operation, std::size_t bytes, Deliver&& deliver);
    std::byte* workplace_of(const ShortMessage& message, std::byte* place) const;
    void take_portions(std::uint64_t operation, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes);
    void gather_along_groups(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes);
    void gather_slots(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes);
    void gather_long(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                     std::size_t single_copy_from);
    void gather_blocks(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes, Header header);
    void scatter_short(const NodeBuffer& whole, std::size_t bytes);
    void take_scattered(int root, const NodeBuffer& portion, std::size_t bytes);
    void scatter_long(int root, const NodeBuffer& whole, const NodeBuffer& portion, std::size_t bytes,
                      std::size_t single_copy_from);
    void scatter_blocks(int root, const NodeBuffer& whole, std::size_t bytes, Header header);
    void take_scattered_blocks(int root, const NodeBuffer& portion, std::size_t bytes);
    void allgather_in_groups(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes);
    void allgather_long(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                        std::size_t single_copy_from);
    void allgather_blocks(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes, Header header);

    std::byte* base_;
    std::byte* lines_;  // rank 0's first ring
    std::size_t buffer_bytes_;
    std::size_t area_bytes_;
    std::uint64_t touched_bytes_ = 0;  // the places of messages of so many are touched
    int rank_;
    int ranks_;
    Waiting waiting_;
    NodeTree tree_;
    NodeLevels levels_;
    SingleCopy single_copy_;
    std::vector<const std::byte*> operands_;  // of one combination, by rank
    NodeTree::Way way_{0, 0, 0};              // of the message whose length was waited for
    int since_progress_ = 0;
    bool are_lines_touched_ = false;  // all of the first ring
    std::uint64_t operation_ = 0;     // so far, with messages
    PlaceReaders message_readers_;    // of this rank's places
    std::vector<RankSet> around_;     // by number of groups around this rank: who is in the first ones
    std::uint64_t barriers_ = 0;      // so far
    std::uint64_t block_number_ = 0;  // blocks so far
    PlaceReaders block_readers_;      // of this rank's blocks, and of its slices of results
    RankSet level_readers_;           // as its levels have them
    std::uint64_t known_ready_ = 0;   // all have copied that many in, at least
    Accumulator accumulator_;         // short_bytes
};

}  // namespace hcoll
