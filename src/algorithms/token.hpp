// A barrier's messages: a byte that says that whoever sent it has entered, and all those of whom it had heard.
//
// The content is nothing; who waits for whom is all. A byte that comes in gets a place of its own in scratch, so that all
// receives are posted at once, whatever comes first. A send waits for everything that came in before it: bytes are copied one
// over the other, and the last one is sent. A copy of a byte orders what a reduction would.
#pragma once

#include "algorithms/disseminate.hpp"

namespace hcoll {

class Token {
public:
    explicit Token(PlanBuilder& plan) : plan_(plan) {}

    // To whoever is to know that the caller has entered, and all of whom it was told before this.
    void send(int peer) {
        for (; heard_.size() > 1; heard_.erase(heard_.begin())) plan_.copy(heard_[0], heard_[1]);
        plan_.send(peer, heard_.empty() ? plan_.output() : heard_[0]);
    }
    void recv(int peer) {
        heard_.push_back(plan_.scratch());
        plan_.recv(peer, heard_.back());
    }
    // From a peer that has heard of the caller and of all that the caller has.
    void recv_all(int peer) {
        heard_.clear();
        recv(peer);
    }

private:
    PlanBuilder& plan_;
    std::vector<Region> heard_;  // not sent on so far, and the one that was
};

// The root hears of all members of the group, and a member of its subtree.
inline void arrive_along(Token& token, const RankGroup& group, const Tree& tree) {
    const TreeNode node = tree_node(tree, group, 0);
    for (const int child : node.children) token.recv(child);
    if (node.parent >= 0) token.send(node.parent);
}

// All members hear of the root.
inline void release_along(Token& token, const RankGroup& group, const Tree& tree) {
    const TreeNode node = tree_node(tree, group, 0);
    if (node.parent >= 0) token.recv_all(node.parent);
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) token.send(*child);
}

// All members hear of all.
inline void disseminate(Token& token, const RankGroup& group, int radix) {
    disseminate(
        group.size(), group.self(), radix, [&](int member, int) { token.send(group.rank(member)); },
        [&](int member, int) { token.recv(group.rank(member)); });
}

}  // namespace hcoll
