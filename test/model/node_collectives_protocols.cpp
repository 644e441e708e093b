// SPDX-License-Identifier: BSD-3-Clause
// Lines, slots, blocks, counts and groups of NodeCollectives, with rings of two places each.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "node_segment.hpp"
#include "progress/node/node_collectives.hpp"
#include "protocols.hpp"

namespace hcoll::model {
namespace {

constexpr std::size_t smallest_buffer_bytes = 1;  // blocks of a page
constexpr std::size_t block_bytes = page;

using Word = std::uint64_t;
using Words = std::vector<Word>;

void add(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    std::array<Word, 2> both{};
    for (std::size_t i = 0; i < elements; ++i) {
        std::memcpy(both.data(), left + i * sizeof(Word), sizeof(Word));
        std::memcpy(both.data() + 1, right + i * sizeof(Word), sizeof(Word));
        both[0] += both[1];
        std::memcpy(result + i * sizeof(Word), both.data(), sizeof(Word));
    }
}
struct Sum : Combine {
    Sum() : Combine(sizeof(Word)) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        add(left, right, result, elements);
    }
};

std::byte* bytes_of(Words& words) { return reinterpret_cast<std::byte*>(words.data()); }
std::size_t words_in(std::size_t bytes) { return bytes / sizeof(Word); }

Word word_of(int rank, int round) { return (static_cast<Word>(round) + 1) << (8 * rank); }
Word sum_of(int ranks, int round) {
    Word sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += word_of(rank, round);
    return sum;
}
std::array<Word, 2 * most_threads> written;  // by each rank before a barrier, in turn
bool are_all(const Words& words, Word value) {
    return std::all_of(words.begin(), words.end(), [&](Word each) { return each == value; });
}

// One collective after another, as each rank makes them.
struct Round {
    enum class What { bcast, reduce, allreduce, line, barrier, gather, scatter, allgather };
    What what;
    std::size_t bytes = 0;
    int root = 0;
};

// Other ranks' memory, as all of it is in one process. A copy may fail, as often as is said, after it has copied a part.
class HereMemory : public PeerMemory {
public:
    explicit HereMemory(int failures) : failures_(failures) {}
    [[nodiscard]] Key key() const override { return {}; }
    int connect(int, const Key&) override { return 0; }
    int read(int, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        return copy(to, reinterpret_cast<const std::byte*>(address), bytes);
    }
    int write(int, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        return copy(reinterpret_cast<std::byte*>(address), from, bytes);
    }
    const std::byte* look(int, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        return copy(place, reinterpret_cast<const std::byte*>(address), bytes) == 0 ? place : nullptr;
    }

private:
    int copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        const bool fails = failures_ > 0 && choose(2) == 1;
        std::memcpy(to, from, fails ? bytes / 2 : bytes);
        if (!fails) return 0;
        --failures_;
        return EFAULT;
    }

    int failures_;
};

constexpr std::size_t copied_once_from = 1;

void move_portions(const Round& round, int number, NodeCollectives& node, int ranks, int rank) {
    const std::size_t words = words_in(round.bytes);
    const bool is_scatter = round.what == Round::What::scatter;
    const bool has_whole = round.what == Round::What::allgather || rank == round.root;
    Words own(words, is_scatter ? 0 : word_of(rank, number));
    Words all;
    for (int each = 0; each < ranks && has_whole; ++each)
        all.insert(all.end(), words, is_scatter ? word_of(each, number) : 0);
    const NodeBuffer portion(bytes_of(own), round.bytes);
    const NodeBuffer whole(has_whole ? bytes_of(all) : nullptr, round.bytes * static_cast<std::size_t>(ranks));
    if (is_scatter)
        node.scatter(round.root, whole, portion, round.bytes, copied_once_from);
    else if (round.what == Round::What::gather)
        node.gather(round.root, portion, whole, round.bytes, copied_once_from);
    else
        node.allgather(portion, whole, round.bytes, copied_once_from);
    require(are_all(own, word_of(rank, number)), "a portion is wrong");
    for (std::size_t i = 0; i < all.size(); ++i)
        require(all[i] == word_of(static_cast<int>(i / words), number), "a whole is wrong");
}

void make(const Round& round, int number, NodeCollectives& node, int ranks, int rank) {
    const std::size_t words = words_in(round.bytes);
    Words own(words, word_of(rank, number));
    Words result(words, 0);
    const Sum sum;
    switch (round.what) {
        case Round::What::bcast:
            node.bcast(round.root, bytes_of(own), round.bytes, copied_once_from);
            require(are_all(own, word_of(round.root, number)), "a broadcast is wrong");
            break;
        case Round::What::reduce:
            node.reduce(round.root, bytes_of(own), bytes_of(result), words, sum, copied_once_from);
            if (rank == round.root) require(are_all(result, sum_of(ranks, number)), "a sum is wrong");
            break;
        case Round::What::allreduce:
            node.allreduce(bytes_of(own), bytes_of(result), words, sum, copied_once_from);
            require(are_all(result, sum_of(ranks, number)), "a sum is wrong");
            break;
        case Round::What::line:
            node.allreduce_line(bytes_of(own), bytes_of(result), round.bytes, words, add);
            require(are_all(result, sum_of(ranks, number)), "a sum is wrong");
            break;
        case Round::What::gather:
        case Round::What::scatter:
        case Round::What::allgather: move_portions(round, number, node, ranks, rank); break;
        // What was written before, all see afterwards.
        case Round::What::barrier: {
            Word& own_word = written[static_cast<std::size_t>(2 * rank + number % 2)];
            own_word = word_of(rank, number);
            node.barrier();
            for (int each = 0; each < ranks; ++each)
                require(written[static_cast<std::size_t>(2 * each + number % 2)] == word_of(each, number),
                        "a barrier lets a rank through");
            break;
        }
    }
}

constexpr int never_copied = -1;  // once, but by blocks
// `failures` of each rank's copies, at the most.
Protocol protocol(const std::string& name, const Placement& placement, bool oversubscribed,
                  const std::vector<Round>& rounds, int failures, std::size_t buffer_bytes = smallest_buffer_bytes) {
    const int ranks = placement.ranks();
    const std::size_t bytes = NodeCollectives::segment_bytes(ranks, buffer_bytes);
    Protocol result{name + ", " + std::to_string(ranks) + " ranks", {}};
    result.program.set_up = [bytes] {
        begin_segment(bytes);
        watch(written.data(), sizeof written, "what was written before a barrier");
    };
    for (int rank = 0; rank < ranks; ++rank)
        result.program.threads.emplace_back([=] {
            NodeCollectives node(segment.data(), buffer_bytes, placement, rank,
                                 Waiting(
                                     oversubscribed, [](void*) { return 0; }, nullptr));
            if (failures != never_copied) node.adopt_single_copy(std::make_shared<HereMemory>(failures));
            for (std::size_t i = 0; i < rounds.size(); ++i) make(rounds[i], static_cast<int>(i), node, ranks, rank);
        });
    return result;
}
Protocol protocol(const std::string& name, int ranks, bool oversubscribed, const std::vector<Round>& rounds,
                  int failures) {
    return protocol(name, Placement{std::vector<Seat>(static_cast<std::size_t>(ranks))}, oversubscribed, rounds,
                    failures);
}

}  // namespace

std::vector<Protocol> protocols_of_node_collectives() {
    using What = Round::What;
    constexpr std::size_t word = sizeof(Word);
    constexpr std::size_t slot = 64;
    constexpr std::size_t large_slot = 1024;
    constexpr std::size_t three_blocks = 2 * block_bytes + 1024;
    const Round line{What::line, word};
    std::vector<Protocol> all;
    const auto with = [&](const std::string& name, const std::vector<int>& ranks, bool oversubscribed,
                          const std::vector<Round>& rounds, int failures = never_copied) {
        for (const int each : ranks) all.push_back(protocol(name, each, oversubscribed, rounds, failures));
    };
    with("lines of Allreduce", {2}, true, {line, line, line, line, line});
    with("lines of Allreduce, with cores of their own", {2}, false, {line, line, line, line});
    with("lines of Bcast", {2}, true,
         {{What::bcast, word, 0}, {What::bcast, word, 0}, {What::bcast, word, 0}, {What::bcast, word, 1}});
    with("slots of Bcast", {2}, true,
         {{What::bcast, slot, 0}, {What::bcast, slot, 0}, {What::bcast, slot, 0}, {What::bcast, slot, 1}});
    with("large slots of Bcast", {2}, true,
         {{What::bcast, large_slot, 1}, {What::bcast, large_slot, 1}, {What::bcast, large_slot, 0}});
    with("slots of Reduce", {2}, true, {{What::reduce, slot, 0}, {What::reduce, slot, 0}, {What::reduce, slot, 0}});
    with("slots of Allreduce", {2}, true, {{What::allreduce, slot}, {What::allreduce, slot}, {What::allreduce, slot}});
    with("blocks of Bcast", {2}, true, {{What::bcast, three_blocks, 0}, {What::bcast, three_blocks, 1}});
    with("blocks of Reduce", {2}, true, {{What::reduce, three_blocks, 0}});
    with("blocks of Allreduce", {2}, true, {{What::allreduce, three_blocks}});
    with("barriers", {2, 3, 4}, true, {{What::barrier}, {What::barrier}, {What::barrier}});
    with("lines of Bcast in groups", {3, 4}, true, {{What::bcast, word, 0}, {What::bcast, word, 1}});
    with("lines of Reduce in groups", {3, 4}, true, {{What::reduce, word, 0}, {What::reduce, word, 1}});
    with("lines of Allreduce in groups", {3}, true, {{What::allreduce, word}, {What::allreduce, word}});
    // Of the rank alone in the last group, to whoever that is, or from it.
    with("lines of Bcast in groups, used again", {3}, true,
         {{What::bcast, word, 1}, {What::bcast, word, 1}, {What::bcast, word, 1}});
    with("lines of Reduce in groups, used again", {3}, true,
         {{What::reduce, word, 1}, {What::reduce, word, 1}, {What::reduce, word, 1}});
    with("lines of Gather, then of Bcast, in groups, used again", {3}, true,
         {{What::gather, word, 1}, {What::bcast, word, 0}, {What::bcast, word, 0}});
    for (const auto& [what, of] :
         {std::pair{What::gather, " of Gather"}, {What::scatter, " of Scatter"}, {What::allgather, " of Allgather"}}) {
        const std::string name = of;
        // Without a root there is one such call, and many more orders.
        const auto twice = [&](std::size_t bytes, int second_root) {
            std::vector<Round> rounds{{what, bytes, 0}};
            if (what != What::allgather) rounds.push_back({what, bytes, second_root});
            return rounds;
        };
        with("lines" + name, {2}, true, {{what, word, 0}, {what, word, 0}, {what, word, 1}});
        with("slots" + name, {2}, true, {{what, slot, 0}, {what, slot, 0}, {what, slot, 0}});
        with("blocks" + name, {2}, true, twice(three_blocks, 1));
        with("lines" + name + " in groups", {3}, true, {{what, word, 0}, {what, word, 1}});
        with("copies" + name, {2}, true, twice(3 * page, 1), 0);
        with("copies" + name + ", some fail", {2}, true, twice(3 * page, 0), 1);
    }
    const auto large = [&](const char* name, const std::vector<Round>& rounds, int failures = never_copied) {
        all.push_back(protocol(name, 3, true, rounds, failures));
        all.back().is_large = true;
    };
    large("blocks of Bcast", {{What::bcast, three_blocks, 0}, {What::bcast, three_blocks, 1}});
    large("blocks of Reduce", {{What::reduce, three_blocks, 0}});
    large("blocks of Allreduce", {{What::allreduce, three_blocks}});
    // Two caches: of two ranks and of one, or of a Reduce, which three ranks leave to its root, of two each; with a core for each, so that all combine.
    const auto levels = [&](const char* name, int ranks, const std::vector<Round>& rounds,
                            std::size_t buffer_bytes = smallest_buffer_bytes, int failures = never_copied) {
        std::vector<Seat> seats;
        for (int rank = 0; rank < ranks; ++rank)
            seats.push_back({.node = 0, .socket = 0, .package = 0, .cache = rank / 2});
        const Placement placement(seats);
        check(NodeLevels(placement, 0, NodeCollectives::flat_ranks).is_divided(), "levels are of several parts");
        all.push_back(protocol(name, placement, false, rounds, failures, buffer_bytes));
    };
    constexpr std::size_t just_long = NodeCollectives::short_bytes + word;
    constexpr std::size_t two_pages = 4 * block_bytes;  // of a block, of which there are two
    levels("levels of Bcast", 3, {{What::bcast, just_long, 1}});
    levels("levels of Reduce, in larger blocks", 4, {{What::reduce, just_long, 1}}, two_pages);
    levels("copies of Bcast along levels", 3, {{What::bcast, 3 * page, 0}}, two_pages, 0);
    levels("copies of Bcast along levels, some fail", 3, {{What::bcast, 3 * page, 0}}, two_pages, 1);
    levels("levels of Bcast from one root, then from another", 3,
           {{What::bcast, just_long, 0}, {What::bcast, just_long, 2}}, two_pages);
    levels("levels of Allreduce, then of Bcast", 3, {{What::allreduce, just_long}, {What::bcast, just_long, 2}},
           two_pages);
    levels("levels of Allreduce", 3, {{What::allreduce, just_long}});
    levels("levels of Reduce", 4, {{What::reduce, just_long, 1}});
    all.back().is_large = true;
    large("copies of Bcast, some fail", {{What::bcast, 3 * page, 0}}, 1);
    large("lines of Allreduce, then of Bcast, then a barrier",
          {line, {What::bcast, word, 1}, {What::barrier}, line, {What::bcast, word, 2}});
    // Several pages, of which each rank copies some.
    constexpr std::size_t copied = 3 * page;
    for (const bool oversubscribed : {true, false}) {
        const char* by_whom = oversubscribed ? "" : ", with cores of their own";
        for (const int failures : {0, 1}) {
            const std::string how = std::string(failures == 0 ? "" : ", some fail") + by_whom;
            const auto rounds = [&](What what) {
                std::vector<Round> list{{what, copied, 0}};
                if (failures == 0) list.push_back({what, copied, 1});
                return list;
            };
            with("copies of Bcast" + how, {2}, oversubscribed, rounds(What::bcast), failures);
            with("copies of Reduce" + how, {2}, oversubscribed, rounds(What::reduce), failures);
            // It goes the same way on whatever cores.
            if (oversubscribed)
                with("copies of Allreduce" + how, {2}, oversubscribed, rounds(What::allreduce), failures);
        }
    }
    return all;
}

}  // namespace hcoll::model
