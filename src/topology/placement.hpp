// SPDX-License-Identifier: BSD-3-Clause
// Where every rank of a communicator sits: node, socket, core. The table that topology-aware plans are made from.
//
//   rank    0 1 2 3 4 5 6 7        node 0 [ socket 0: 0 1 | socket 1: 2 3 ]
//   node    0 0 0 0 1 1 1 1   =    node 1 [ socket 0: 4 5 | socket 1: 6 7 ]
//   socket  0 0 1 1 0 0 1 1
//
// Large nodes have more levels. What is called a socket here is the smallest part with memory of its own: a package, or a NUMA
// node of one. So packages may have several sockets, and sockets several last-level caches:
//
//   node [ package 0 [ socket 0 [ cache 0: 0 1 | cache 1: 2 3 ] socket 1 [ cache 2: 4 5 | cache 3: 6 7 ] ] package 1 [ ... ] ]
//
// Most jobs sit in a regular way: nodes have equally many ranks, dealt out in blocks or in turn, and sockets and cores are the
// same on each. Then one node's pattern and a few numbers tell all of it, however many ranks there are; the last node, or the
// last turn, may be cut short. Any other layout is a table of some 10 bytes a rank. All of it is one run of bytes without
// pointers, so that the processes of a node can share it.
//
// Source: Luo 2020 (thesis), section 4.2.2: a table of (node, socket, core) tuples, known to every rank. Pure data: it knows
// neither MPI nor hwloc, so that any layout can be tested on any machine.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

namespace hcoll {

// Where one rank sits. Equal numbers of `node` are one shared-memory node; of `package` and `socket` on one node, one socket (or NUMA
// node); and of `cache` on one socket, one cache. -1 is not known: of a rank's socket, where it is not bound; of its package, where
// each socket is one; of its cache, where each socket has one. Numbers need not be dense.
struct Seat {
    int node = 0;
    int socket = -1;
    int core = -1;
    int package = -1;
    int cache = -1;

    friend bool operator==(const Seat&, const Seat&) = default;
};

// What a message between two ranks has to cross, the cheapest first.
enum class Link : std::uint8_t { socket, node, network };
inline constexpr std::size_t link_count = 3;
inline constexpr Link every_link[link_count] = {Link::socket, Link::node, Link::network};
inline constexpr const char* link_names[link_count] = {"socket", "node", "network"};

class Placement;

// Ranks of a placement, which outlives it. They are worked out one by one: reading one takes some ns.
class RankList {
    enum class By : std::uint8_t { node, socket };  // nodes' ranks in ascending order, or socket after socket

public:
    class Iterator {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = int;
        using difference_type = std::ptrdiff_t;
        using pointer = const int*;
        using reference = int;

        Iterator() = default;
        int operator*() const;
        int operator[](std::ptrdiff_t distance) const { return *(*this + distance); }
        Iterator& operator+=(std::ptrdiff_t distance) {
            position_ += distance;
            return *this;
        }
        Iterator& operator-=(std::ptrdiff_t distance) { return *this += -distance; }
        Iterator& operator++() { return *this += 1; }
        Iterator& operator--() { return *this -= 1; }
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        Iterator operator--(int) {
            const Iterator before = *this;
            --*this;
            return before;
        }
        friend Iterator operator+(Iterator one, std::ptrdiff_t distance) { return one += distance; }
        friend Iterator operator+(std::ptrdiff_t distance, Iterator one) { return one += distance; }
        friend Iterator operator-(Iterator one, std::ptrdiff_t distance) { return one -= distance; }
        friend std::ptrdiff_t operator-(const Iterator& a, const Iterator& b) { return a.position_ - b.position_; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.position_ == b.position_; }
        friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.position_ <=> b.position_; }

    private:
        friend class RankList;
        Iterator(const Placement* placement, By by, std::ptrdiff_t position)
            : placement_(placement), position_(position), by_(by) {}

        const Placement* placement_ = nullptr;
        std::ptrdiff_t position_ = 0;
        By by_ = By::node;
    };

    RankList() = default;
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    int operator[](std::size_t index) const { return begin()[static_cast<std::ptrdiff_t>(index)]; }
    int front() const { return (*this)[0]; }
    int back() const { return (*this)[size_ - 1]; }
    Iterator begin() const { return {placement_, by_, static_cast<std::ptrdiff_t>(begin_)}; }
    Iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
    RankList subspan(std::size_t begin) const { return subspan(begin, size_ - begin); }
    RankList subspan(std::size_t begin, std::size_t size) const { return {*placement_, by_, begin_ + begin, size}; }

private:
    friend class Placement;
    RankList(const Placement& placement, By by, std::size_t begin, std::size_t size)
        : placement_(&placement), begin_(begin), size_(size), by_(by) {}

    const Placement* placement_ = nullptr;
    std::size_t begin_ = 0;  // of all ranks, node after node
    std::size_t size_ = 0;
    By by_ = By::node;
};

// Immutable; shared by all plans of a communicator and all threads. A copy shares the memory. Nodes are numbered 0, 1, ... in
// the order of their lowest ranks, and so are the packages, sockets and caches of a node. A node that has a rank of unknown socket
// counts as one socket; one that has a rank of unknown package, or cache, has as many of them as sockets.
class Placement {
public:
    explicit Placement(const std::vector<Seat>& seats);  // by rank; at least one
    static Placement one_node(int ranks);

    int ranks() const { return form_.ranks; }
    int nodes() const { return form_.nodes; }
    int node_of(int rank) const { return slot_of(rank).node; }
    int socket_of(int rank) const { return socket_of(slot_of(rank)); }  // its number on its node
    int core_of(int rank) const {
        return at(form_.core, entry_of(slot_of(rank)));
    }  // as it was given; -1 where not known
    int sockets_of_node(int node) const;
    // Of its node, like the number of its socket.
    int package_of(int rank) const { return part_of(rank, form_.packages, form_.package); }
    int cache_of(int rank) const { return part_of(rank, form_.caches, form_.cache); }
    int packages_of_node(int node) const { return parts_of_node(node, form_.packages); }
    int caches_of_node(int node) const { return parts_of_node(node, form_.caches); }
    // In ascending order.
    RankList ranks_of_node(int node) const;
    RankList ranks_of_socket(int node, int socket) const;
    // How many ranks of its node come before `rank`.
    int index_on_node(int rank) const { return slot_of(rank).index; }

    int fewest_ranks_of_a_node() const { return form_.fewest; }
    int most_ranks_of_a_node() const { return form_.most; }
    // Are every node's ranks, and every socket's, consecutive? Then a hierarchy can keep the order of ranks.
    bool is_in_rank_order() const { return form_.is_in_rank_order != 0; }
    // All ranks by node, then socket, then rank: a ring in this order enters every node once.
    RankList node_order() const { return {*this, RankList::By::socket, 0, static_cast<std::size_t>(form_.ranks)}; }
    int position_in_node_order(int rank) const;

    Link link(int a, int b) const {
        const Slot at_a = slot_of(a);
        const Slot at_b = slot_of(b);
        if (at_a.node != at_b.node) return Link::network;
        return socket_of(at_a) == socket_of(at_b) ? Link::socket : Link::node;
    }

    // Is one node's pattern all there is to it?
    bool is_regular() const { return form_.order != listed; }
    // From which a placement of some of its ranks is made. What is known of a rank's socket is kept where others of its node
    // know nothing of theirs.
    Seat seat_of(int rank) const;

    // All that it is made of. A copy of these bytes in other memory, such as a segment that processes share, is the same
    // placement; nobody writes them any more.
    std::span<const std::byte> bytes() const { return {data_.get(), static_cast<std::size_t>(form_.bytes)}; }
    static Placement in_shared_memory(std::shared_ptr<const std::byte> bytes);
    bool is_shared() const { return is_shared_; }
    // Of this process alone.
    std::size_t private_bytes() const { return sizeof *this + (is_shared_ ? 0 : bytes().size()); }

    // Do all ranks sit alike?
    friend bool operator==(const Placement& a, const Placement& b);

private:
    friend class RankList::Iterator;
    enum Order : std::int32_t { block, cyclic, listed };

    // A rank's node and how many of the node's ranks come before it.
    struct Slot {
        int node;
        int index;
    };
    // A list in as few bytes as its numbers need: none where all are the same.
    struct Numbers {
        std::int32_t lowest;
        std::int32_t offset;
        std::int32_t width;  // bytes of one
    };
    // A pattern is what nodes have in common: packages, sockets, caches and cores by index on the node. Regular layouts have one or two, the
    // second for nodes that are cut short; otherwise each node has its own. Its entries are one for each index.
    struct Form {
        std::int32_t bytes, ranks, nodes;
        Order order;
        std::int32_t fewest, most, is_in_rank_order;
        std::int32_t whole_nodes;       // that have the first pattern, where it is regular
        std::int32_t whole, cut_short;  // entries of the two
        Numbers node, index, rank;      // where it is listed: the first two by rank, the third by entry
        Numbers socket, core;           // by entry, as they are known
        Numbers package, cache;         // the same; not known where they are the sockets
        Numbers packages, caches;       // by pattern: how many; 0 where they are the sockets
        Numbers position;               // by entry: its position on the node, sockets one after another, less its index
        Numbers turn;                   // the way back: by position, the index there less the position
        Numbers first_entry;            // by pattern; and the end
        Numbers first_socket;           // by pattern: where its sockets are in the next; and the end
        Numbers socket_begin;           // by pattern and socket: the position on the node
    };
    struct Builder;

    Placement() = default;

    int at(const Numbers& numbers, int index) const;
    int pattern_of(int node) const { return form_.order == listed ? node : node < form_.whole_nodes ? 0 : 1; }
    Slot slot_of(int rank) const;
    int rank_of(Slot slot) const;
    int entry_of(Slot slot) const { return at(form_.first_entry, pattern_of(slot.node)) + slot.index; }
    int socket_of(Slot slot) const { return sockets_of_node(slot.node) == 1 ? 0 : at(form_.socket, entry_of(slot)); }
    int parts_of_node(int node, const Numbers& counts) const {
        const int count = at(counts, pattern_of(node));
        return count == 0 ? sockets_of_node(node) : count;
    }
    int part_of(int rank, const Numbers& counts, const Numbers& numbers) const {
        const Slot slot = slot_of(rank);
        return at(counts, pattern_of(slot.node)) == 0 ? socket_of(slot) : at(numbers, entry_of(slot));
    }
    int ranks_before_node(int node) const;
    int size_of_node(int node) const;
    int rank_by(RankList::By by, int position) const;

    std::shared_ptr<const std::byte> data_;
    Form form_{};  // a copy of what the bytes begin with
    bool is_shared_ = false;
};

inline int RankList::Iterator::operator*() const { return placement_->rank_by(by_, static_cast<int>(position_)); }

}  // namespace hcoll
