// SPDX-License-Identifier: BSD-3-Clause
// Some ranks of a communicator in an order that all of them know: what an algorithm runs over.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// Members are told by their index in the group, 0 <= index < size().
class RankGroup {
public:
    // `rank` is the caller, who need not be a member.
    RankGroup(std::vector<int> ranks, int rank) : ranks_(std::move(ranks)) {
        const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
        self_ = found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
    }
    RankGroup(const RankList& ranks, int rank) : RankGroup(std::vector<int>(ranks.begin(), ranks.end()), rank) {}
    static RankGroup all(int ranks, int rank) {
        std::vector<int> list(static_cast<std::size_t>(ranks));
        std::iota(list.begin(), list.end(), 0);
        return {std::move(list), rank};
    }

    int size() const { return static_cast<int>(ranks_.size()); }
    int self() const { return self_; }  // -1 where the caller is no member
    bool has_self() const { return self_ >= 0; }
    int rank(int index) const { return ranks_[static_cast<std::size_t>(index)]; }

private:
    std::vector<int> ranks_;
    int self_ = -1;
};

// `members` in `blocks` runs of nearly equal length. The first of each run stands for it where an algorithm needs a
// certain number of participants: the others give it their operands before, and get the result afterwards.
struct Blocks {
    int members;
    int blocks;

    int first(int block) const { return block * (members / blocks) + std::min(block, members % blocks); }
    int size(int block) const { return first(block + 1) - first(block); }
    int block_of(int member) const {
        const int longer = members / blocks + 1;
        const int in_longer = longer * (members % blocks);
        return member < in_longer ? member / longer : (member - in_longer) / (longer - 1) + members % blocks;
    }
    bool is_first(int member) const { return first(block_of(member)) == member; }
};

}  // namespace hcoll
