// SPDX-License-Identifier: BSD-3-Clause
#include "topology/placement.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"

namespace hcoll {

namespace {

std::size_t at_index(int index) { return static_cast<std::size_t>(index); }

// Of a part that is known by two numbers.
std::int64_t key_of(int outer, int inner) {
    return static_cast<std::int64_t>((std::uint64_t{static_cast<std::uint32_t>(outer)} << 32U) |
                                     static_cast<std::uint32_t>(inner));
}

// Numbers 0, 1, ... for keys in the order in which they are met. The same key often comes several times on end.
class Numbering {
public:
    int operator()(std::int64_t key) {
        if (numbers_.empty() || key != last_key_) {
            last_ = numbers_.try_emplace(key, count()).first->second;
            last_key_ = key;
        }
        return last_;
    }
    int count() const { return static_cast<int>(numbers_.size()); }

private:
    std::unordered_map<std::int64_t, int> numbers_;
    std::int64_t last_key_ = 0;
    int last_ = 0;
};

bool are_consecutive(const RankList& ascending) {
    return ascending.back() - ascending.front() + 1 == static_cast<int>(ascending.size());
}

template <typename Number>
std::uint32_t read(const std::byte* from) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    return number;
}

template <typename Number>
void append(std::vector<std::byte>& bytes, std::uint32_t value) {
    const auto number = static_cast<Number>(value);
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof number);
    std::memcpy(bytes.data() + end, &number, sizeof number);
}

}  // namespace

// What seats tell, as lists of int; then as few of them as are needed, as bytes.
struct Placement::Builder {
    using List = std::vector<int>;

    explicit Builder(const std::vector<Seat>& seats);
    void write(Placement& placement);

private:
    void number_parts(int node, const std::vector<Seat>& seats);
    void find_form();
    void add_pattern(int node);
    Numbers pack(const List& numbers);
    bool are_alike(int a, int b) const;
    int size_of(int node) const { return begin_[at_index(node) + 1] - begin_[at_index(node)]; }

    Form form_{};
    List node_, index_;                            // by rank
    List begin_;                                   // by node, and the end: where its ranks begin, node after node
    List rank_, socket_, core_, package_, cache_;  // node after node
    List kept_socket_, kept_core_, kept_package_, kept_cache_, packages_, caches_;
    List position_, turn_, first_entry_, first_socket_, socket_begin_;
    std::vector<std::byte> bytes_;
};

Placement::Builder::Builder(const std::vector<Seat>& seats) {
    const std::size_t ranks = seats.size();
    node_.reserve(ranks);
    index_.reserve(ranks);
    Numbering node_number;
    List sizes;
    for (const Seat& seat : seats) {
        node_.push_back(node_number(seat.node));
        if (std::cmp_greater(node_number.count(), sizes.size())) sizes.push_back(0);
        index_.push_back(sizes[at_index(node_.back())]++);
    }
    form_.ranks = static_cast<int>(ranks);
    form_.nodes = node_number.count();
    form_.fewest = *std::min_element(sizes.begin(), sizes.end());
    form_.most = *std::max_element(sizes.begin(), sizes.end());
    begin_.assign(1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), std::back_inserter(begin_));

    rank_.resize(ranks);
    socket_.resize(ranks);
    core_.resize(ranks);
    package_.resize(ranks);
    cache_.resize(ranks);
    for (std::size_t each = 0; each < ranks; ++each)
        rank_[at_index(begin_[at_index(node_[each])] + index_[each])] = static_cast<int>(each);
    for (int each = 0; each < form_.nodes; ++each) number_parts(each, seats);
    // Most machines' are their sockets.
    for (List* parts : {&package_, &cache_})
        if (*parts == socket_) parts->assign(ranks, -1);
    find_form();
}

void Placement::Builder::number_parts(int of_node, const std::vector<Seat>& seats) {
    Numbering package;
    Numbering socket;
    Numbering cache;
    for (int entry = begin_[at_index(of_node)]; entry < begin_[at_index(of_node) + 1]; ++entry) {
        const std::size_t at = at_index(entry);
        const Seat& seat = seats[at_index(rank_[at])];
        const bool is_known = seat.socket >= 0;
        socket_[at] = is_known ? socket(key_of(seat.package, seat.socket)) : -1;
        package_[at] = is_known && seat.package >= 0 ? package(seat.package) : -1;
        cache_[at] = is_known && seat.cache >= 0 ? cache(key_of(socket_[at], seat.cache)) : -1;
        core_[at] = seat.core;
    }
}

// Have two nodes the same parts and cores by index?
bool Placement::Builder::are_alike(int a, int b) const {
    const int from = begin_[at_index(a)];
    const int to = begin_[at_index(b)];
    const auto is_same = [&](const List& list) {
        return std::equal(list.begin() + from, list.begin() + from + size_of(a), list.begin() + to);
    };
    return size_of(a) == size_of(b) && is_same(socket_) && is_same(core_) && is_same(package_) && is_same(cache_);
}

void Placement::Builder::find_form() {
    const int first = size_of(0);
    const auto is_dealt = [&](auto&& node_of) {
        for (int each = 0; each < form_.ranks; ++each)
            if (node_[at_index(each)] != node_of(each)) return false;
        return true;
    };
    if (is_dealt([&](int each) { return each / first; })) {
        form_.order = block;
        form_.whole_nodes = form_.ranks / first;
    } else if (is_dealt([&](int each) { return each % form_.nodes; })) {
        form_.order = cyclic;
        form_.whole_nodes = form_.ranks % form_.nodes == 0 ? form_.nodes : form_.ranks % form_.nodes;
    } else {
        form_.order = listed;
    }
    for (int each = 0; form_.order != listed && each < form_.nodes; ++each)
        if (!are_alike(each, each < form_.whole_nodes ? 0 : form_.whole_nodes)) form_.order = listed;
    if (form_.order == listed) {
        form_.whole_nodes = 0;
        return;
    }
    form_.whole = first;
    form_.cut_short = form_.whole_nodes < form_.nodes ? size_of(form_.whole_nodes) : 0;
}

void Placement::Builder::add_pattern(int of_node) {
    const int from = begin_[at_index(of_node)];
    const int size = size_of(of_node);
    first_entry_.push_back(static_cast<int>(kept_socket_.size()));
    first_socket_.push_back(static_cast<int>(socket_begin_.size()));
    kept_socket_.insert(kept_socket_.end(), socket_.begin() + from, socket_.begin() + from + size);
    kept_core_.insert(kept_core_.end(), core_.begin() + from, core_.begin() + from + size);

    // How many there are of a node's parts; 0 where some rank's is not known.
    const auto count_of = [&](const List& parts) {
        const auto [lowest, highest] = std::minmax_element(parts.begin() + from, parts.begin() + from + size);
        return *lowest < 0 ? 0 : *highest + 1;
    };
    kept_package_.insert(kept_package_.end(), package_.begin() + from, package_.begin() + from + size);
    kept_cache_.insert(kept_cache_.end(), cache_.begin() + from, cache_.begin() + from + size);
    packages_.push_back(count_of(package_));
    caches_.push_back(count_of(cache_));

    const std::span<const int> known(socket_.data() + from, at_index(size));
    const int sockets = std::max(count_of(socket_), 1);
    const bool is_one = count_of(socket_) == 0;
    const auto socket_at = [&](int entry) { return at_index(is_one ? 0 : known[at_index(entry)]); };
    List next(at_index(sockets), 0);
    for (int entry = 0; entry < size; ++entry) ++next[socket_at(entry)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0);
    socket_begin_.insert(socket_begin_.end(), next.begin(), next.end());
    const std::size_t offset = turn_.size();
    turn_.resize(offset + at_index(size));
    for (int entry = 0; entry < size; ++entry) {
        const int there = next[socket_at(entry)]++;
        position_.push_back(there - entry);
        turn_[offset + at_index(there)] = entry - there;
    }
}

Placement::Numbers Placement::Builder::pack(const List& numbers) {
    if (numbers.empty()) return {};
    const auto [lowest, highest] = std::minmax_element(numbers.begin(), numbers.end());
    const auto range = static_cast<std::uint32_t>(*highest) - static_cast<std::uint32_t>(*lowest);
    const int width = range == 0                                           ? 0
                      : range <= std::numeric_limits<std::uint8_t>::max()  ? 1
                      : range <= std::numeric_limits<std::uint16_t>::max() ? 2
                                                                           : 4;
    const Numbers packed{*lowest, static_cast<std::int32_t>(bytes_.size()), width};
    for (const int number : numbers) {
        const auto above = static_cast<std::uint32_t>(number) - static_cast<std::uint32_t>(*lowest);
        switch (width) {
            case 1: append<std::uint8_t>(bytes_, above); break;
            case 2: append<std::uint16_t>(bytes_, above); break;
            case 4: append<std::uint32_t>(bytes_, above); break;
            default: break;
        }
    }
    return packed;
}

void Placement::Builder::write(Placement& placement) {
    if (form_.order == listed) {
        for (int each = 0; each < form_.nodes; ++each) add_pattern(each);
    } else {
        add_pattern(0);
        if (form_.whole_nodes < form_.nodes) add_pattern(form_.whole_nodes);
    }
    first_entry_.push_back(static_cast<int>(kept_socket_.size()));
    first_socket_.push_back(static_cast<int>(socket_begin_.size()));

    bytes_.resize(sizeof(Form));
    if (form_.order == listed) {
        form_.node = pack(node_);
        form_.index = pack(index_);
        form_.rank = pack(rank_);
    }
    form_.socket = pack(kept_socket_);
    form_.core = pack(kept_core_);
    form_.package = pack(kept_package_);
    form_.cache = pack(kept_cache_);
    form_.packages = pack(packages_);
    form_.caches = pack(caches_);
    form_.position = pack(position_);
    form_.turn = pack(turn_);
    form_.first_entry = pack(first_entry_);
    form_.first_socket = pack(first_socket_);
    form_.socket_begin = pack(socket_begin_);
    form_.bytes = static_cast<std::int32_t>(bytes_.size());

    const auto memory = std::make_shared<std::byte[]>(bytes_.size());
    std::copy(bytes_.begin(), bytes_.end(), memory.get());
    placement.data_ = std::shared_ptr<const std::byte>(memory, memory.get());
    placement.form_ = form_;
    bool in_order = true;
    for (int each = 0; each < form_.nodes && in_order; ++each) {
        in_order = are_consecutive(placement.ranks_of_node(each));
        for (int there = 0; there < placement.sockets_of_node(each); ++there)
            in_order = in_order && are_consecutive(placement.ranks_of_socket(each, there));
    }
    placement.form_.is_in_rank_order = in_order ? 1 : 0;
    std::memcpy(memory.get(), &placement.form_, sizeof(Form));
}

Placement Placement::one_node(int ranks) { return Placement(std::vector<Seat>(at_index(ranks))); }

Placement::Placement(const std::vector<Seat>& seats) {
    check(!seats.empty(), "a placement has at least one rank");
    Builder(seats).write(*this);
}

Placement Placement::in_shared_memory(std::shared_ptr<const std::byte> bytes) {
    Placement placement;
    std::memcpy(&placement.form_, bytes.get(), sizeof(Form));
    placement.data_ = std::move(bytes);
    placement.is_shared_ = true;
    return placement;
}

bool operator==(const Placement& a, const Placement& b) {
    const auto one = a.bytes();
    const auto other = b.bytes();
    return one.size() == other.size() &&
           (one.data() == other.data() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

int Placement::at(const Numbers& numbers, int index) const {
    const std::byte* from = data_.get() + numbers.offset + at_index(index) * at_index(numbers.width);
    const auto lowest = static_cast<std::uint32_t>(numbers.lowest);
    switch (numbers.width) {
        case 1: return static_cast<int>(lowest + read<std::uint8_t>(from));
        case 2: return static_cast<int>(lowest + read<std::uint16_t>(from));
        case 4: return static_cast<int>(lowest + read<std::uint32_t>(from));
        default: return numbers.lowest;
    }
}

Placement::Slot Placement::slot_of(int rank) const {
    switch (form_.order) {
        case block: return {rank / form_.whole, rank % form_.whole};
        case cyclic: return {rank % form_.nodes, rank / form_.nodes};
        default: return {at(form_.node, rank), at(form_.index, rank)};
    }
}

int Placement::rank_of(Slot slot) const {
    switch (form_.order) {
        case block: return slot.node * form_.whole + slot.index;
        case cyclic: return slot.index * form_.nodes + slot.node;
        default: return at(form_.rank, entry_of(slot));
    }
}

int Placement::ranks_before_node(int node) const {
    if (form_.order == listed) return at(form_.first_entry, node);
    return std::min(node, form_.whole_nodes) * form_.whole + std::max(node - form_.whole_nodes, 0) * form_.cut_short;
}

int Placement::size_of_node(int node) const {
    const int pattern = pattern_of(node);
    return at(form_.first_entry, pattern + 1) - at(form_.first_entry, pattern);
}

// Who is at a position of all ranks, node after node.
int Placement::rank_by(RankList::By by, int position) const {
    Slot slot{};
    if (form_.order == listed) {
        const int there = at(form_.rank, position);
        if (by == RankList::By::node) return there;
        slot.node = at(form_.node, there);
        slot.index = position - at(form_.first_entry, slot.node);
    } else {
        const int beyond = position - form_.whole_nodes * form_.whole;
        slot = beyond < 0 ? Slot{position / form_.whole, position % form_.whole}
                          : Slot{form_.whole_nodes + beyond / form_.cut_short, beyond % form_.cut_short};
    }
    if (by == RankList::By::socket) slot.index += at(form_.turn, entry_of(slot));
    return rank_of(slot);
}

int Placement::sockets_of_node(int node) const {
    const int pattern = pattern_of(node);
    return at(form_.first_socket, pattern + 1) - at(form_.first_socket, pattern);
}

RankList Placement::ranks_of_node(int node) const {
    return {*this, RankList::By::node, at_index(ranks_before_node(node)), at_index(size_of_node(node))};
}

RankList Placement::ranks_of_socket(int node, int socket) const {
    const int first = at(form_.first_socket, pattern_of(node));
    const bool is_last = socket + 1 == sockets_of_node(node);
    const int from = at(form_.socket_begin, first + socket);
    const int to = is_last ? size_of_node(node) : at(form_.socket_begin, first + socket + 1);
    return {*this, RankList::By::socket, at_index(ranks_before_node(node) + from), at_index(to - from)};
}

int Placement::position_in_node_order(int rank) const {
    const Slot slot = slot_of(rank);
    return ranks_before_node(slot.node) + slot.index + at(form_.position, entry_of(slot));
}

Seat Placement::seat_of(int rank) const {
    const Slot slot = slot_of(rank);
    const int entry = entry_of(slot);
    return {.node = slot.node,
            .socket = at(form_.socket, entry),
            .core = at(form_.core, entry),
            .package = at(form_.package, entry),
            .cache = at(form_.cache, entry)};
}

}  // namespace hcoll
