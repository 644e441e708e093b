#include "topology/placement.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace hcoll {

namespace {

std::span<const int> slice(const std::vector<int>& list, int begin, int end) {
    return std::span(list).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// Numbers 0, 1, ... for keys in the order in which they are met.
template <typename Key>
class Numbering {
public:
    int operator()(const Key& key) {
        return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second;
    }
    int count() const { return static_cast<int>(numbers_.size()); }

private:
    std::map<Key, int> numbers_;
};

bool are_consecutive(std::span<const int> ascending) {
    return ascending.back() - ascending.front() + 1 == static_cast<int>(ascending.size());
}

}  // namespace

Placement Placement::one_node(int ranks) { return Placement(std::vector<Seat>(static_cast<std::size_t>(ranks))); }

Placement::Placement(const std::vector<Seat>& seats) {
    assert(!seats.empty() && "a placement has at least one rank");
    const int ranks = static_cast<int>(seats.size());
    Numbering<int> node_number;
    places_.reserve(seats.size());
    for (const Seat& seat : seats)
        places_.push_back(
            {.node = node_number(seat.node), .socket = 0, .core = seat.core, .index_on_node = 0, .position = 0});

    const int nodes = node_number.count();
    std::vector<std::vector<int>> members(static_cast<std::size_t>(nodes));
    for (int rank = 0; rank < ranks; ++rank) members[static_cast<std::size_t>(node_of(rank))].push_back(rank);

    fewest_ = most_ = static_cast<int>(members.front().size());
    for (const std::vector<int>& ranks_here : members) {
        const int begin = static_cast<int>(by_node_.size());
        node_begin_.push_back(begin);
        first_socket_.push_back(static_cast<int>(socket_begin_.size()));
        by_node_.insert(by_node_.end(), ranks_here.begin(), ranks_here.end());
        fewest_ = std::min(fewest_, static_cast<int>(ranks_here.size()));
        most_ = std::max(most_, static_cast<int>(ranks_here.size()));

        const bool sockets_known = std::none_of(ranks_here.begin(), ranks_here.end(), [&](int rank) {
            return seats[static_cast<std::size_t>(rank)].socket < 0;
        });
        Numbering<int> socket_number;
        for (int index = 0; index < static_cast<int>(ranks_here.size()); ++index) {
            const int rank = ranks_here[static_cast<std::size_t>(index)];
            Place& place = places_[static_cast<std::size_t>(rank)];
            place.index_on_node = index;
            place.socket = sockets_known ? socket_number(seats[static_cast<std::size_t>(rank)].socket) : 0;
        }
        node_order_.insert(node_order_.end(), ranks_here.begin(), ranks_here.end());
        std::stable_sort(node_order_.begin() + begin, node_order_.end(),
                         [&](int a, int b) { return socket_of(a) < socket_of(b); });
        for (int position = begin; position < static_cast<int>(node_order_.size()); ++position) {
            const int rank = node_order_[static_cast<std::size_t>(position)];
            places_[static_cast<std::size_t>(rank)].position = position;
            const bool begins =
                position == begin || socket_of(rank) != socket_of(node_order_[static_cast<std::size_t>(position) - 1]);
            if (begins) socket_begin_.push_back(position);
        }
    }
    node_begin_.push_back(ranks);
    first_socket_.push_back(static_cast<int>(socket_begin_.size()));
    socket_begin_.push_back(ranks);

    for (int node = 0; node < nodes; ++node) {
        is_in_rank_order_ = is_in_rank_order_ && are_consecutive(ranks_of_node(node));
        for (int socket = 0; socket < sockets_of_node(node); ++socket)
            is_in_rank_order_ = is_in_rank_order_ && are_consecutive(ranks_of_socket(node, socket));
    }
}

int Placement::sockets_of_node(int node) const {
    const auto index = static_cast<std::size_t>(node);
    return first_socket_[index + 1] - first_socket_[index];
}

std::span<const int> Placement::ranks_of_node(int node) const {
    const auto index = static_cast<std::size_t>(node);
    return slice(by_node_, node_begin_[index], node_begin_[index + 1]);
}

std::span<const int> Placement::ranks_of_socket(int node, int socket) const {
    const int first_socket = first_socket_[static_cast<std::size_t>(node)];
    const std::size_t index = static_cast<std::size_t>(first_socket) + static_cast<std::size_t>(socket);
    return slice(node_order_, socket_begin_[index], socket_begin_[index + 1]);
}

}  // namespace hcoll
