// SPDX-License-Identifier: BSD-3-Clause
// A barrier's messages: a byte that says that whoever sent it has entered, and all those of whom it had heard.
//
// The content is nothing; who waits for whom is all. A byte that comes in gets a place of its own in scratch, so that
// all receives are posted at once, whatever comes first. A send waits for everything that came in before it: bytes are
// copied one over the other, and the last one is sent. A copy of a byte orders what a reduction would.
#pragma once

#include "algorithms/disseminate.hpp"

namespace hcoll {

class Token {
public:
    explicit Token(PlanBuilder& plan) : plan_(plan) {}

    // To whoever is to know that the caller has entered, and all of whom it was told before this.
    void send(int peer) {
        forget_all_but_one();
        plan_.send(peer, heard_.empty() ? plan_.output() : heard_[0]);
    }
    void recv(int peer) {
        heard_.push_back(plan_.scratch());
        plan_.recv(peer, heard_.back());
    }
    // Both at once, where all members do.
    void exchange(int to, int from) {
        forget_all_but_one();
        const Region sent = heard_.empty() ? plan_.output() : heard_[0];
        heard_.push_back(plan_.scratch());
        plan_.exchange(to, sent, from, heard_.back());
    }
    // A receive that is posted from the beginning and counts once the caller has `released`: from a peer that has then
    // heard of all that the caller has heard of.
    void expect(int peer) {
        release_ = plan_.scratch();
        plan_.recv(peer, release_);
    }
    void released() { heard_ = {release_}; }

private:
    void forget_all_but_one() {
        for (; heard_.size() > 1; heard_.erase(heard_.begin())) plan_.copy(heard_[0], heard_[1]);
    }

    PlanBuilder& plan_;
    std::vector<Region> heard_;  // not sent on so far, and the one that was
    Region release_;
};

// Up the tree and down again. The root, which by then has heard of all members, calls `meet_others` in between.
template <typename MeetOthers>
void meet_along(Token& token, const RankGroup& group, const Tree& tree, const MeetOthers& meet_others) {
    const TreeNode node = tree_node(tree, group, 0);
    if (node.parent >= 0) token.expect(node.parent);
    for (const int child : node.children) token.recv(child);
    if (node.parent >= 0) {
        token.send(node.parent);
        token.released();
    } else {
        meet_others();
    }
    // The largest subtree, which is the last child, has the longest way to go.
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) token.send(*child);
}

// All members hear of all. In each step all of them have as many partners.
inline void disseminate(Token& token, const RankGroup& group, int radix) {
    std::vector<int> partners;  // that are to be sent to
    const auto send = [&](int member, int) { partners.push_back(group.rank(member)); };
    const auto recv = [&](int member, int) {
        if (partners.size() == 1) {
            token.exchange(partners.front(), group.rank(member));
        } else {
            for (const int partner : partners) token.send(partner);
            token.recv(group.rank(member));
        }
        partners.clear();
    };
    disseminate(group.size(), group.self(), radix, send, recv);
}

}  // namespace hcoll
