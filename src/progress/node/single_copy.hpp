// SPDX-License-Identifier: BSD-3-Clause
// Long messages between the ranks of one node, copied once, from one rank's buffer to the other's (peer_memory.hpp).
//
// Every rank has a desk in shared memory, where it says where its buffers are, and how far it came. n ranks, m bytes:
//
//   bcast      readers read the front of the message, and the root, who would only wait, writes the last n-th of it into
//              each reader's buffer meanwhile: of two ranks, each copies half
//
//                  root    [ read by the readers        | written ]
//                  reader  [ <----- it reads ---------- | <------ the root writes ]
//
//              Where a node is divided (node_levels.hpp), ranks read all of it, from the one that passes it on to them there, piece by
//              piece as that one has them
//
//   reduce,    every rank has a share of the elements. It looks at that part of the operand of everybody, a piece that stays
//   allreduce  in cache at a time, combines them in the order of ranks (on a divided node as its parts would:
//              nested_combination.hpp), and writes the result into the root's output, or into everybody's. Nobody else reads or writes that part of any buffer, so output may be input
//
//                  rank 0  [ share 0 | share 1 | share 2 ]
//                  rank 1  [ share 0 | share 1 | share 2 ]   rank 1 reads share 1 of all, and writes share 1 of all
//                  rank 2  [ share 0 | share 1 | share 2 ]
//
//              With cores of their own a Reduce's root, who need not write its results to anybody, has a larger share. Where
//              ranks share cores, the total of copies counts, and the root does it all.
//
//   gather,    who has a portion writes it into the root's buffer, or reads it from there; in an allgather every rank reads the
//   scatter,   portions of all others. So each is copied once, by as many ranks at a time as have cores
//   allgather
//
// No rank returns while another may still read or write its buffers.
//
// A copy that fails loses nothing: the rank says so on its desk. A reader of a bcast then takes the message from blocks,
// which the root fills for it once all have said how it went. In a reduction it says how far it had combined, and how far its
// results were handed over; all look at that, and finish the rest by blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "progress/engine/combine.hpp"
#include "progress/node/node_levels.hpp"
#include "progress/node/proven_memory.hpp"
#include "progress/node/waiting.hpp"

namespace hcoll {

// What a rank offers has a length: nobody reads or writes behind it, whatever the others' lengths are.
//
// Driven by one thread of each rank at a time; all ranks call the same functions in the same order. Functions may throw
// NodeFailure (waiting.hpp), and what the operation throws; also then nobody touches this rank's buffers any more.
class SingleCopy {
public:
    // What a rank shows the others; the rank alone writes it. Zeroed memory.
    struct Desk;
    static constexpr std::size_t desk_bytes = 320;

    // Desks are desk_bytes each, aligned to a cache line: that of rank 0 is at `desks`, the others follow `stride` bytes apart. `levels`, `waiting` and they
    // outlive this.
    SingleCopy(std::byte* desks, std::size_t stride, int ranks, int rank, const NodeLevels& levels, Waiting& waiting);
    ~SingleCopy();
    SingleCopy(const SingleCopy&) = delete;
    SingleCopy& operator=(const SingleCopy&) = delete;

    // Takes that memory, if each rank can read and write a word that it does not know of the next rank's and of the first one's. Each other rank's is
    // proven before it is used (ProvenMemory). nullptr: this rank has none. `agree(here)` is true where it is called with true on all ranks, and none
    // returns before all have called it. All ranks get the same answer; false leaves everything as it was.
    bool prove(std::shared_ptr<PeerMemory> memory, const std::function<bool(bool)>& agree);
    // What was proven by others of the same processes, in the same order; the same on all ranks. No two that share it are in collectives at the same
    // time.
    void adopt(std::shared_ptr<PeerMemory> memory);
    const std::shared_ptr<PeerMemory>& memory() const { return memory_; }
    [[nodiscard]] bool is_proven() const { return memory_ != nullptr; }

    // Has it arrived? A reader that gets false, and the root where any reader does, have it yet to do another way. `bytes` are
    // the root's, on all ranks; a rank has room for `capacity` of them in data, and gets no more. With data a null pointer it does
    // not try: that is false, on the readers of such a root, too.
    bool bcast(int root, std::byte* data, std::size_t bytes, std::size_t capacity);

    // Every rank has a portion of `bytes` bytes, of which the root's, or everybody's, whole is made in the order of ranks. A null pointer as
    // with bcast. Where it is false, the rank's portion has yet to be moved another way: by gather and scatter on ranks whose own could not be,
    // and on the root where there are such ranks, who can ask for each; by allgather on all ranks alike, for all portions.
    bool gather(int root, const std::byte* portion, std::byte* whole, std::size_t bytes);
    // `bytes` are the root's; a portion has room for `capacity` of them.
    bool scatter(int root, const std::byte* whole, std::byte* portion, std::size_t bytes, std::size_t capacity);
    bool allgather(const std::byte* portion, std::byte* whole, std::size_t bytes);
    // After a gather that was false, for its root: was that rank's moved?
    bool has_moved(int rank) const;
    // Then, when the root has all portions: called by it and by those whose portion was not moved, who wait for it.
    void settle_gather(int root);

    // What a rank could not do of its share, in bytes of the message: [combined, end) is to be combined, and
    // [delivered, combined) only to be handed over; on that rank it is at `result`.
    struct Rest {
        int rank;
        std::size_t delivered, combined, end;
        std::byte* result;
    };
    // `root` is a rank, or no_root: all want the result. `output`, of those that want it, may be input. Returns the same on all
    // ranks (but `result`); it is valid until the next call, and empty as a rule.
    std::span<const Rest> reduce(int root, const std::byte* input, std::byte* output, std::size_t elements,
                                 const Combine& combine);
    static constexpr int no_root = -1;

private:
    struct Share {
        std::size_t begin, end;  // in bytes
    };
    struct Progress {
        std::size_t delivered, combined;
    };

    Desk& desk(int rank) const;
    bool bcast_along_levels(int root, std::byte* data, std::size_t bytes, std::size_t capacity);
    bool read_pieces(std::uint64_t message, int sender, std::byte* data, std::size_t bytes, std::size_t capacity);
    void offer(std::uint64_t message, const std::byte* input, const std::byte* output, std::size_t bytes);
    const Desk& wait_for_offer(int rank, std::uint64_t message);
    // Says how this rank's attempt went.
    void conclude(std::uint64_t message, bool is_good, Progress progress);
    // How another one's went.
    bool is_good(int rank, std::uint64_t message);
    template <typename Move>
    bool move_portions(int root, const std::byte* input, const std::byte* output, std::size_t offered, Move&& move);
    bool has_pieces(PeerMemory& memory) const;
    bool combine_piece(std::uint64_t message, const std::byte* input, std::byte* result, std::size_t offset,
                       std::size_t bytes, const Combine& combine);
    bool combine_parts(std::uint64_t message, const std::byte* input, std::byte* result, std::size_t offset,
                       std::size_t bytes, const Combine& combine);
    const std::byte* look(int rank, std::uint64_t message, const std::byte* input, std::size_t offset,
                          std::size_t bytes, std::byte* place);
    bool is_tested(int reader, int owner) const;
    std::shared_ptr<ProvenMemory> identified(std::shared_ptr<PeerMemory> memory) const;
    bool test_words(PeerMemory& memory, std::byte* probe, const std::function<bool(bool)>& agree);
    // Leaves a message before its time; returns when those that are in it have left it, too.
    class Leaving;
    Share share(int rank, int root, std::size_t elements, std::size_t element_bytes) const;
    bool combine_share(const Share& share, std::uint64_t message, int root, const std::byte* input, std::byte* output,
                       const Combine& combine, Progress& progress);
    bool deliver(int root, const std::byte* result, std::size_t offset, std::size_t bytes);

    std::byte* desks_;
    std::size_t stride_;
    int rank_;
    int ranks_;
    const NodeLevels& levels_;
    Waiting& waiting_;
    std::shared_ptr<PeerMemory> memory_;
    std::uint64_t messages_ = 0;
    std::uint64_t pieces_passed_on_ = 0;  // of broadcasts along levels so far
    std::byte* pieces_ = nullptr;  // what was read of ranks at once, what they give, a result, and rests; memory_'s
    std::vector<const std::byte*> operands_;  // of one combination, in the order of ranks
};

}  // namespace hcoll
