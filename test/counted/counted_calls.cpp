// SPDX-License-Identifier: BSD-3-Clause
#include "counted_calls.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.hpp"
#include "progress/node/node_collectives.hpp"

namespace hcoll::counted {

namespace {

using Word = std::uint64_t;

void add(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    for (std::size_t offset = 0; offset < elements * sizeof(Word); offset += sizeof(Word)) {
        Word one = 0;
        Word other = 0;
        std::memcpy(&one, left + offset, sizeof one);
        std::memcpy(&other, right + offset, sizeof other);
        one += other;
        std::memcpy(result + offset, &one, sizeof one);
    }
}
struct Sum : Combine {
    Sum() : Combine(sizeof(Word), add) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        add(left, right, result, elements);
    }
};

void move_portions(NodeCollectives& node, Collective collective, std::size_t bytes, int root, int ranks, int rank) {
    const std::size_t words = bytes / sizeof(Word);
    const bool is_scatter = collective == Collective::scatter;
    const bool has_whole = collective == Collective::allgather || rank == root;
    std::vector<Word> own(words, is_scatter ? 0 : static_cast<Word>(rank) + 1);
    std::vector<Word> all;
    for (int each = 0; each < ranks && has_whole; ++each)
        all.insert(all.end(), words, is_scatter ? static_cast<Word>(each) + 1 : 0);
    const NodeBuffer portion(reinterpret_cast<std::byte*>(own.data()), bytes);
    const NodeBuffer whole(has_whole ? reinterpret_cast<std::byte*>(all.data()) : nullptr, all.size() * sizeof(Word));
    if (collective == Collective::gather)
        node.gather(root, portion, whole, bytes);
    else if (is_scatter)
        node.scatter(root, whole, portion, bytes);
    else
        node.allgather(portion, whole, bytes);
    check(own.back() == static_cast<Word>(rank) + 1, "a portion is wrong");
    for (std::size_t i = 0; i < all.size(); ++i) check(all[i] == i / words + 1, "a whole is wrong");
}

void call(NodeCollectives& node, Collective collective, std::size_t bytes, int root, int ranks, int rank) {
    const std::size_t words = bytes / sizeof(Word);
    std::vector<Word> own(words, static_cast<Word>(rank) + 1);
    std::vector<Word> result(words, 0);
    auto* input = reinterpret_cast<std::byte*>(own.data());
    auto* output = reinterpret_cast<std::byte*>(result.data());
    const auto expect = [&](const std::vector<Word>& got, Word value) {
        check(std::count(got.begin(), got.end(), value) == static_cast<std::ptrdiff_t>(words), "a result is wrong");
    };
    const Word sum = static_cast<Word>(ranks) * (static_cast<Word>(ranks) + 1) / 2;
    switch (collective) {
        case Collective::bcast:
            node.bcast(root, input, bytes);
            expect(own, static_cast<Word>(root) + 1);
            break;
        case Collective::reduce:
            node.reduce(root, input, output, words, Sum());
            expect(result, rank == root ? sum : 0);
            break;
        case Collective::allreduce:
            node.allreduce(input, output, words, Sum());
            expect(result, sum);
            break;
        case Collective::barrier: node.barrier(); break;
        default: move_portions(node, collective, bytes, root, ranks, rank);
    }
}

}  // namespace

namespace {

Counts count_as(const Placement& known, const Placement& placement, Collective collective, std::size_t bytes, int root,
                const Weights& weights, Pace pace, int calls = 1) {
    const int ranks = placement.ranks();
    // As by default; where nothing is in blocks, as little as there can be.
    const std::size_t buffer_bytes = bytes > NodeCollectives::short_bytes ? 512 << 10 : 64 << 10;
    return count(placement, NodeCollectives::segment_bytes(ranks, buffer_bytes), weights, pace,
                 [&](std::byte* memory, int rank) {
                     auto node = std::make_shared<NodeCollectives>(memory, buffer_bytes, known, rank,
                                                                   Waiting(
                                                                       false, [](void*) { return 0; }, nullptr));
                     return [=] {
                         for (int i = 0; i < calls; ++i) call(*node, collective, bytes, root, ranks, rank);
                     };
                 });
}

}  // namespace

Counts count_call(const Placement& placement, Collective collective, std::size_t bytes, int root,
                  const Weights& weights) {
    return count_as(placement, placement, collective, bytes, root, weights, Pace::until_it_waits);
}

Counts count_call_as(const Placement& known, const Placement& placement, Collective collective, std::size_t bytes,
                     int root, Pace pace) {
    return count_as(known, placement, collective, bytes, root, one_each, pace);
}

double transfers_for_places(const Placement& placement, Collective collective, std::size_t bytes, int root) {
    constexpr int calls = 192;  // three times around the longest ring, so that where it begins does not matter
    const Counts all = count_as(placement, placement, collective, bytes, root, one_each, Pace::until_it_waits, calls);
    const Counts one = count_call(placement, collective, bytes, root);
    return static_cast<double>(all.all_transfers()) / calls - static_cast<double>(one.all_transfers());
}

}  // namespace hcoll::counted
