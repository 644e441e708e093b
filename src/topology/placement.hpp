// Where every rank of a communicator sits: node, socket, core. The table that topology-aware plans are made from.
//
//   rank    0 1 2 3 4 5 6 7        node 0 [ socket 0: 0 1 | socket 1: 2 3 ]
//   node    0 0 0 0 1 1 1 1   =    node 1 [ socket 0: 4 5 | socket 1: 6 7 ]
//   socket  0 0 1 1 0 0 1 1
//
// Source: Luo 2020 (thesis), section 4.2.2: a table of (node, socket, core) tuples, known to every rank. Pure data: it knows
// neither MPI nor hwloc, so that any layout can be tested on any machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hcoll {

// Where one rank sits. Equal numbers of `node` are one shared-memory node, equal numbers of `socket` on one node are one
// socket (or NUMA domain); -1 is not known (a rank that is not bound). Numbers need not be dense.
struct Seat {
    int node = 0;
    int socket = -1;
    int core = -1;

    friend bool operator==(const Seat&, const Seat&) = default;
};

// What a message between two ranks has to cross, the cheapest first.
enum class Link : std::uint8_t { socket, node, network };
inline constexpr std::size_t link_count = 3;
inline constexpr Link every_link[link_count] = {Link::socket, Link::node, Link::network};
inline constexpr const char* link_names[link_count] = {"socket", "node", "network"};

// Immutable; shared by all plans of a communicator and all threads. Nodes are numbered 0, 1, ... in the order of their
// lowest ranks, and so are the sockets of a node. A node that has a rank of unknown socket counts as one socket.
class Placement {
public:
    explicit Placement(const std::vector<Seat>& seats);  // by rank; at least one
    static Placement one_node(int ranks);

    int ranks() const { return static_cast<int>(places_.size()); }
    int nodes() const { return static_cast<int>(node_begin_.size()) - 1; }
    int node_of(int rank) const { return place(rank).node; }
    int socket_of(int rank) const { return place(rank).socket; }  // its number on its node
    int core_of(int rank) const { return place(rank).core; }      // as it was given; -1 where not known
    int sockets_of_node(int node) const;
    // In ascending order.
    std::span<const int> ranks_of_node(int node) const;
    std::span<const int> ranks_of_socket(int node, int socket) const;
    // How many ranks of its node come before `rank`.
    int index_on_node(int rank) const { return place(rank).index_on_node; }

    int fewest_ranks_of_a_node() const { return fewest_; }
    int most_ranks_of_a_node() const { return most_; }
    // Are every node's ranks, and every socket's, consecutive? Then a hierarchy can keep the order of ranks.
    bool is_in_rank_order() const { return is_in_rank_order_; }
    // All ranks by node, then socket, then rank: a ring in this order enters every node once.
    std::span<const int> node_order() const { return node_order_; }
    int position_in_node_order(int rank) const { return place(rank).position; }

    Link link(int a, int b) const {
        if (place(a).node != place(b).node) return Link::network;
        return place(a).socket == place(b).socket ? Link::socket : Link::node;
    }

    friend bool operator==(const Placement& a, const Placement& b) { return a.places_ == b.places_; }

private:
    struct Place {
        int node;
        int socket;
        int core;
        int index_on_node;
        int position;
        friend bool operator==(const Place&, const Place&) = default;
    };
    const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }

    std::vector<Place> places_;    // by rank
    std::vector<int> by_node_;     // ranks, node after node, ascending within a node
    std::vector<int> node_begin_;  // where in by_node_ (and node_order_) a node's ranks begin; one more than nodes
    std::vector<int> node_order_;  // ranks, node after node, socket after socket
    std::vector<int>
        socket_begin_;  // where in node_order_ a socket's ranks begin; all sockets of all nodes, and the end
    std::vector<int> first_socket_;  // by node: its first entry in socket_begin_; one more than nodes
    int fewest_ = 0;
    int most_ = 0;
    bool is_in_rank_order_ = true;
};

}  // namespace hcoll
