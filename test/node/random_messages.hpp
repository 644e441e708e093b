// SPDX-License-Identifier: BSD-3-Clause
// Collectives of random messages, as a rank of NodeMessages sees them: what it sends and receives, in an order of its own, each rank going on
// to the next collective as soon as its own part is done.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "algorithms/plan.hpp"
#include "progress/node/node_messages.hpp"

namespace hcoll::test {

struct RandomMessage {
    int from;
    int to;
    std::uint32_t tag;
    std::size_t content;  // what is sent; several messages may have the same
    // Messages that come first: one that its sender has to have before it sends, one that its receiver has to have before it asks. Of a
    // smaller number, so that nobody waits in a circle; -1: none.
    int sent_after = -1;
    int asked_after = -1;
};
struct RandomCollective {
    std::vector<std::vector<std::byte>> contents;
    std::vector<RandomMessage> messages;  // no two ranks have two messages of one tag
};

// Every rank takes part, so that none gets further away from another than what lies between them allows.
inline RandomCollective random_collective(int ranks, std::size_t cell_bytes, std::mt19937_64& random) {
    const std::array<std::size_t, 10> lengths = {0,
                                                 1,
                                                 8,
                                                 NodeMessages::inline_bytes,
                                                 NodeMessages::inline_bytes + 1,
                                                 cell_bytes,
                                                 cell_bytes + 1,
                                                 3 * cell_bytes,
                                                 17 * cell_bytes,
                                                 40 * cell_bytes + 7};
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
    RandomCollective made;
    std::vector<bool> takes_part(static_cast<std::size_t>(ranks), false);
    // One of the first `before` messages that this rank receives; -1 where there is none.
    const auto earlier_to = [&](int rank, std::size_t before) {
        std::vector<int> earlier;
        for (std::size_t i = 0; i < before; ++i)
            if (made.messages[i].to == rank) earlier.push_back(static_cast<int>(i));
        return earlier.empty() ? -1 : earlier[below(earlier.size())];
    };
    const auto add_from = [&](int from) {
        std::vector<std::byte>& content = made.contents.emplace_back(lengths[below(lengths.size())]);
        for (std::byte& each : content) each = static_cast<std::byte>(random());
        const std::size_t receivers = 1 + below(static_cast<std::size_t>(ranks) - 1);
        std::vector<int> others;
        for (int to = 0; to < ranks; ++to)
            if (to != from) others.push_back(to);
        std::shuffle(others.begin(), others.end(), random);
        const std::size_t before = made.messages.size();
        for (std::size_t i = 0; i < receivers; ++i) {
            RandomMessage message{.from = from,
                                  .to = others[i],
                                  .tag = static_cast<std::uint32_t>(made.messages.size()),
                                  .content = made.contents.size() - 1};
            message.sent_after = below(4) == 0 ? earlier_to(from, before) : -1;
            message.asked_after = below(16) != 0 ? earlier_to(message.to, before) : -1;
            made.messages.push_back(message);
            takes_part[static_cast<std::size_t>(message.to)] = true;
        }
        takes_part[static_cast<std::size_t>(from)] = true;
    };
    // In some, messages are more than cells, lines, and places for grants.
    constexpr std::size_t one_crowded_in = 20;
    constexpr std::size_t many = 400;
    const std::size_t groups = below(one_crowded_in) == 0 ? many : 1 + below(6);
    for (std::size_t i = 0; i < groups; ++i) add_from(static_cast<int>(below(static_cast<std::size_t>(ranks))));
    for (int rank = 0; rank < ranks; ++rank)
        if (!takes_part[static_cast<std::size_t>(rank)]) add_from(rank);
    return made;
}

// One rank, which does one thing at a time.
class RandomRank {
public:
    // Tags begin so that they are over the end of their numbers in the middle of the collectives.
    RandomRank(NodeMessages& messages, const std::vector<RandomCollective>& collectives, int rank, std::uint64_t seed)
        : messages_(messages), collectives_(collectives), rank_(rank), random_(seed) {
        begin();
    }

    bool is_done() const { return number_ == collectives_.size(); }
    std::size_t number() const { return number_; }
    // A message was not what was sent, or the transport failed.
    bool has_failed() const { return has_failed_; }
    // Does something that may be done now, or makes progress. Returns whether anything has happened.
    bool step() {
        if (is_done() || has_failed_) return false;
        if (random_() % 2 == 0 && start_any()) return true;
        completed_.clear();
        if (messages_.progress(completed_) != 0) has_failed_ = true;
        for (const Token each : completed_) {
            --pending_;
            const RandomMessage& message = now().messages[each];
            if (message.to != rank_) continue;
            has_[each] = true;
            if (memory_[each] != now().contents[message.content]) has_failed_ = true;
        }
        if (pending_ == 0 && to_do_.empty()) {
            if (messages_.outcome() != 0) has_failed_ = true;
            ++number_;
            begin();
            return true;
        }
        return !completed_.empty();
    }

private:
    const RandomCollective& now() const { return collectives_[number_]; }
    bool may_begin(Token which) const {
        const RandomMessage& message = now().messages[which];
        const int after = message.from == rank_ ? message.sent_after : message.asked_after;
        return after < 0 || has_[static_cast<std::size_t>(after)];
    }
    void begin() {
        if (is_done()) return;
        const auto half = static_cast<std::uint32_t>(collectives_.size() / 2);
        first_tag_ = (static_cast<std::uint32_t>(number_) - half) * tags_per_collective;
        messages_.begin(first_tag_);
        has_.assign(now().messages.size(), false);
        memory_.assign(now().messages.size(), {});
        for (Token i = 0; i < now().messages.size(); ++i)
            if (now().messages[i].from == rank_ || now().messages[i].to == rank_) to_do_.push_back(i);
    }
    bool start_any() {
        const std::size_t first = to_do_.empty() ? 0 : random_() % to_do_.size();
        for (std::size_t i = 0; i < to_do_.size(); ++i) {
            const std::size_t place = (first + i) % to_do_.size();
            if (!may_begin(to_do_[place])) continue;
            start(place);
            return true;
        }
        return false;
    }
    void start(std::size_t place) {
        const Token which = to_do_[place];
        to_do_[place] = to_do_.back();
        to_do_.pop_back();
        ++pending_;
        const RandomMessage& message = now().messages[which];
        const std::vector<std::byte>& content = now().contents[message.content];
        const std::uint32_t tag = first_tag_ + message.tag;
        Status status = 0;
        if (message.from == rank_) {
            status = messages_.send(message.to, tag, content.data(), content.size(), {}, which);
        } else {
            memory_[which].resize(content.size());
            status = messages_.recv(message.from, tag, memory_[which].data(), content.size(), {}, which);
        }
        if (status != 0) has_failed_ = true;
    }

    NodeMessages& messages_;
    const std::vector<RandomCollective>& collectives_;
    int rank_;
    std::mt19937_64 random_;
    std::size_t number_ = 0;
    std::uint32_t first_tag_ = 0;
    std::vector<Token> to_do_;  // messages of this rank that are not begun
    std::size_t pending_ = 0;   // that are
    std::vector<bool> has_;     // by message
    std::vector<std::vector<std::byte>> memory_;
    std::vector<Token> completed_;
    bool has_failed_ = false;
};

}  // namespace hcoll::test
