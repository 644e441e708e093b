// SPDX-License-Identifier: BSD-3-Clause
// Long reductions of NodeCollectives along the node's levels (node_levels.hpp), block by block.
//
// A rank's block has its operand at first. What it combines of it at a level takes the place of what it had there: nobody reads that any more, since who
// reads it at a level is the rank whose share it is, and that is this one. So a block passes up and down again in no more memory than its own. n ranks in
// parts of p of q of ... ranks, m bytes, of what each rank reads or writes:
//
//   in        its operand, but for its own share of level 0, which is combined from where it is                            m (p-1)/p
//   up        level after level: its share of what those of its part have                                                  m, m/p, ...
//   down      from the last level to the second: the result of its share of the level below, from those who combined it    ..., m/p
//   out       all shares of level 0 of its part                                                                            m
//
// Each step has a flag of its own, which only those wait for that read what it gave. Between packages pass m bytes up and m down, for each other package.
// In a Reduce there is no way down: the root reads all shares of the last level.
//
// Whoever has all of a result knows that all ranks have begun, and are done with everything before.
#include <algorithm>
#include <cstring>

#include "base/shared_copy.hpp"
#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

namespace {

struct Bytes {
    std::size_t begin = 0;
    std::size_t end = 0;

    Bytes shared_with(const Bytes& other) const { return {std::max(begin, other.begin), std::min(end, other.end)}; }
};

}  // namespace

// One block of a message, as this rank sees it.
struct NodeCollectives::LevelBlock {
    std::uint64_t number;
    const std::byte* input;
    std::byte* output;  // where all of it is wanted
    std::size_t elements;
    const Combine* combine;
    std::size_t message_bytes;
    Header header;  // of the first block

    std::size_t bytes() const { return elements * combine->element_bytes; }
    Bytes of(const NodeLevels::Share& share) const {
        return {share.begin(elements, combine->element_bytes), share.end(elements, combine->element_bytes)};
    }
};

void NodeCollectives::copy_in_operand(const LevelBlock& of) {
    std::byte* own = block(rank_, of.number);
    const Bytes share = of.of(levels_.levels().front().share);
    std::memcpy(own, of.input, share.begin);
    std::memcpy(own + share.end, of.input + share.end, of.bytes() - share.end);
    begin_blocks(of.number, of.message_bytes, of.header);
}

// Until what that rank has of a block, of the level below, is there. Of the first one, before that, that its message is as long as this rank's: one of
// another length may never come so far. Of each part around it a rank reads somebody's header, and those of a part one another's.
void NodeCollectives::wait_for_operand(int rank, std::size_t level, const LevelBlock& of) {
    if (rank == rank_) return;
    if (level == 0 || of.header) wait_for_first_block(rank, of.number, of.message_bytes, of.header);
    if (level > 0) waiting_.until(area(rank).combined[level - 1], of.number + 1);
}

void NodeCollectives::combine_level(std::size_t number, const LevelBlock& of) {
    const NodeLevels::Level& level = levels_.levels()[number];
    const Bytes share = of.of(level.share);
    std::byte* own = block(rank_, of.number);
    for (const std::vector<NodeLevels::Source>& part : level.operands)
        for (const NodeLevels::Source& source : part) wait_for_operand(source.rank, number, of);
    // Pieces that each part has from one rank.
    for (std::size_t begin = share.begin; begin < share.end;) {
        std::size_t end = share.end;
        std::size_t count = 0;
        for (const std::vector<NodeLevels::Source>& part : level.operands) {
            const auto has_it = [&](const NodeLevels::Source& source) { return begin < of.of(source.share).end; };
            const auto source = std::find_if(part.begin(), part.end(), has_it);
            end = std::min(end, of.of(source->share).end);
            const bool is_own_operand = number == 0 && source->rank == rank_;
            operands_[count++] = (is_own_operand ? of.input : block(source->rank, of.number)) + begin;
        }
        if (count > 1)
            combine_operands(count, own + begin, end - begin, *of.combine);
        else if (operands_.front() != own + begin)
            std::memcpy(own + begin, operands_.front(), end - begin);
        begin = end;
    }
    raise(area(rank_).combined[number], of.number + 1);
}

// A part of the result of the last level, or with `level` less, of what was returned to those of that level.
void NodeCollectives::wait_for_result(int rank, std::size_t level, const LevelBlock& of) {
    Area& theirs = area(rank);
    const bool is_last = level + 1 == levels_.levels().size();
    if (rank != rank_) waiting_.until(is_last ? theirs.combined[level] : theirs.returned[level], of.number + 1);
}

// The result of this rank's share of the level below `number`, from those who have it of this one.
void NodeCollectives::return_level(std::size_t number, const LevelBlock& of) {
    const std::vector<NodeLevels::Level>& levels = levels_.levels();
    const Bytes wanted = of.of(levels[number - 1].share);
    std::byte* own = block(rank_, of.number);
    for (const NodeLevels::Source& source : levels[number].results) {
        wait_for_result(source.rank, number, of);
        if (source.rank == rank_) continue;
        const Bytes piece = of.of(source.share).shared_with(wanted);
        for (std::size_t begin = piece.begin; begin < piece.end;) {
            std::size_t end = piece.end;
            bool is_here = false;  // and others may be reading it: one of this rank's shares from this level on
            for (std::size_t i = number; i < levels.size(); ++i) {
                const Bytes share = of.of(levels[i].share);
                is_here |= share.begin <= begin && begin < share.end;
                for (const std::size_t border : {share.begin, share.end})
                    if (border > begin) end = std::min(end, border);
            }
            if (!is_here) copy_shared(own + begin, block(source.rank, of.number) + begin, end - begin);
            begin = end;
        }
    }
    raise(area(rank_).returned[number - 1], of.number + 1);
}

// From those of this rank's part at level 0, or of a Reduce, from all.
void NodeCollectives::copy_out_result(int root, const LevelBlock& of) {
    const auto copy = [&](int rank, const Bytes& piece) {
        copy_shared(of.output + piece.begin, block(rank, of.number) + piece.begin, piece.end - piece.begin);
    };
    if (root == no_root) {
        for (const NodeLevels::Source& source : levels_.levels().front().results) {
            wait_for_result(source.rank, 0, of);
            copy(source.rank, of.of(source.share));
        }
    } else if (root == rank_) {
        for (int step = 0; step < ranks_; ++step) {
            const int each = (rank_ + step) % ranks_;
            wait_for_result(each, levels_.levels().size() - 1, of);
            copy(each, of.of(levels_.last_share(each)));
        }
    }
}

void NodeCollectives::reduce_by_levels(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                       const Combine& combine, Header header) {
    const Blocks blocks = next_blocks(bytes, combine.element_bytes);
    const auto block_of = [&](std::uint64_t index) {
        const std::size_t offset = blocks.offset(index);
        return LevelBlock{.number = blocks.first + index,
                          .input = input + offset,
                          .output = output == nullptr ? nullptr : output + offset,
                          .elements = blocks.length(index) / combine.element_bytes,
                          .combine = &combine,
                          .message_bytes = bytes,
                          .header = index == 0 ? header : no_header};
    };
    const auto copy_in = [&](std::uint64_t index) {
        claim_block(blocks.first + index);
        block_readers_.add(level_readers_);
        if (root != no_root) block_readers_.add(root);
        copy_in_operand(block_of(index));
    };
    if (header) message_readers_.add(level_readers_);
    copy_in(0);
    for (std::uint64_t index = 0; index < blocks.count; ++index) {
        if (index + 1 < blocks.count) copy_in(index + 1);
        const LevelBlock of = block_of(index);
        const std::size_t levels = levels_.levels().size();
        for (std::size_t level = 0; level < levels; ++level) combine_level(level, of);
        if (root == no_root)
            for (std::size_t level = levels - 1; level > 0; --level) return_level(level, of);
        copy_out_result(root, of);
        finish_block(of.number);
    }
    if (root == no_root || root == rank_) block_readers_.learn(blocks.first);
}

}  // namespace hcoll
