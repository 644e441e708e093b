// SPDX-License-Identifier: BSD-3-Clause
#include "published_designs.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "progress/node/memory_units.hpp"

namespace hcoll::counted {

namespace {

using Word = std::uint64_t;

struct alignas(cache_line_bytes) Line {
    std::atomic<Word> flag;
    Word data;
};

void wait_for(const Line& line, Word value) {
    while (line.flag.load(std::memory_order_acquire) < value) {
    }
}
void raise(Line& line, Word value) { line.flag.store(value, std::memory_order_release); }
void put(Line& line, Word value, Word data) {
    line.data = data;
    raise(line, value);
}
Word take(const Line& line, Word value) {
    wait_for(line, value);
    return line.data;
}

// One rank's side: what it has, what it gets.
class Side {
public:
    Side() = default;
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    virtual ~Side() = default;
    virtual Word bcast(Word own) = 0;
    virtual Word reduce(Word own) = 0;  // rank 0 gets it
    virtual Word allreduce(Word own) = 0;
    virtual void barrier() = 0;
};

// ---- release-gather ----

struct Tree {
    int parent = -1;
    std::vector<int> children;
};

// A tree of `radix` children over those of each package, and one over the first of each.
Tree tree_of(const Placement& placement, int rank, int radix) {
    std::map<int, std::vector<int>> packages;
    for (int each = 0; each < placement.ranks(); ++each) packages[placement.package_of(each)].push_back(each);
    std::vector<int> leaders;
    for (const auto& [package, members] : packages) leaders.push_back(members.front());
    Tree tree;
    const auto hang = [&](const std::vector<int>& members) {
        for (std::size_t i = 1; i < members.size(); ++i) {
            const int parent = members[(i - 1) / static_cast<std::size_t>(radix)];
            if (members[i] == rank) tree.parent = parent;
            if (parent == rank) tree.children.push_back(members[i]);
        }
    };
    hang(leaders);
    for (const auto& [package, members] : packages) hang(members);
    return tree;
}

class ReleaseGather : public Side {
public:
    ReleaseGather(std::byte* memory, const Placement& placement, int rank)
        : lines_(reinterpret_cast<Line*>(memory)),
          ranks_(placement.ranks()),
          rank_(rank),
          down_(tree_of(placement, rank, 64)),
          up_(tree_of(placement, rank, 4)) {}
    static std::size_t lines(int ranks) { return static_cast<std::size_t>(4 * ranks); }

    Word bcast(Word own) override {
        ++number_;
        if (rank_ == 0) data(0).data = own;
        release(down_);
        const Word got = rank_ == 0 ? own : data(0).data;
        if (down_.children.empty()) raise(gathered(rank_), number_);
        return got;
    }
    Word reduce(Word own) override {
        ++number_;
        release(up_);
        return gather(own);
    }
    Word allreduce(Word own) override {
        ++number_;
        gather(own);
        release(down_);
        return data(0).data;
    }
    void barrier() override {
        ++number_;
        for (const int child : down_.children) wait_for(gathered(child), number_);
        raise(gathered(rank_), number_);
        release(down_);
    }

private:
    Line& released(int rank) { return lines_[rank]; }
    Line& gathered(int rank) { return lines_[ranks_ + rank]; }
    Line& data(int rank) { return lines_[(2 + number_ % 2) * static_cast<Word>(ranks_) + static_cast<Word>(rank)]; }
    void release(const Tree& tree) {
        if (rank_ != 0) wait_for(released(tree.parent), number_);
        raise(released(rank_), number_);
    }
    Word gather(Word own) {
        data(rank_).data = own;
        for (const int child : up_.children) {
            wait_for(gathered(child), number_);
            data(rank_).data += data(child).data;
        }
        raise(gathered(rank_), number_);
        return data(rank_).data;
    }

    Line* lines_;
    int ranks_;
    int rank_;
    Tree down_;
    Tree up_;
    Word number_ = 0;
};

// ---- XHC ----

class Xhc : public Side {
public:
    Xhc(std::byte* memory, const Placement& placement, int rank)
        : lines_(reinterpret_cast<Line*>(memory)), ranks_(placement.ranks()) {
        const auto place = [&](int each, int level) {
            return std::pair(level < 2 ? placement.package_of(each) : 0, level < 1 ? placement.socket_of(each) : 0);
        };
        std::vector<int> here(static_cast<std::size_t>(ranks_));
        for (int each = 0; each < ranks_; ++each) here[static_cast<std::size_t>(each)] = each;
        for (int level = 0; level < levels; ++level) {
            std::map<std::pair<int, int>, std::vector<int>> groups;
            for (const int each : here) groups[place(each, level)].push_back(each);
            here.clear();
            for (const auto& [at, members] : groups) {
                here.push_back(members.front());
                for (const int each : members)
                    if (each == rank && members.size() > 1) groups_.push_back({level, rank, members});
            }
        }
    }
    static std::size_t lines(int ranks) { return static_cast<std::size_t>(levels * 4 * ranks); }

    Word bcast(Word own) override {
        ++number_;
        const Word got = spread(own);
        acknowledge();
        return got;
    }
    Word reduce(Word own) override {
        ++number_;
        const Word sum = combine(own);
        for (const Group& group : groups_)
            if (group.leads()) raise(ended(group), number_);
        return sum;
    }
    Word allreduce(Word own) override {
        ++number_;
        const Word got = spread(combine(own));
        acknowledge();
        return got;
    }
    void barrier() override {
        ++number_;
        for (const Group& group : groups_) {
            raise(member(group, group.rank), number_);
            if (!group.leads()) break;
            for (const int each : group.members)
                if (each != group.rank) wait_for(member(group, each), number_);
        }
        if (!groups_.back().leads()) wait_for(ended(groups_.back()), number_);
        for (const Group& group : groups_)
            if (group.leads()) raise(ended(group), number_);
    }

private:
    static constexpr int levels = 3;
    // From the innermost on; a rank is in the next one only where it leads the one before.
    struct Group {
        int level;
        int rank;
        std::vector<int> members;
        bool leads() const { return members.front() == rank; }
    };
    Line& line(const Group& group, int kind, int rank) { return lines_[(group.level * 4 + kind) * ranks_ + rank]; }
    Line& begun(const Group& group) { return line(group, 0, group.members.front()); }
    Line& ended(const Group& group) { return line(group, 1, group.members.front()); }
    Line& member(const Group& group, int rank) { return line(group, 2, rank); }
    Line& acknowledged(const Group& group, int rank) { return line(group, 3, rank); }

    Word spread(Word data) {
        if (!groups_.back().leads()) data = take(begun(groups_.back()), number_);
        for (std::size_t i = groups_.size(); i-- > 0;)
            if (groups_[i].leads()) put(begun(groups_[i]), number_, data);
        return data;
    }
    void acknowledge() {
        for (const Group& group : groups_) raise(acknowledged(group, group.rank), number_);
        for (const Group& group : groups_) {
            if (!group.leads()) break;
            for (const int each : group.members)
                if (each != group.rank) wait_for(acknowledged(group, each), number_);
            raise(ended(group), number_);
        }
    }
    Word combine(Word sum) {
        for (const Group& group : groups_) {
            put(member(group, group.rank), number_, sum);
            if (!group.leads()) break;
            for (const int each : group.members)
                if (each != group.rank) sum += take(member(group, each), number_);
        }
        return sum;
    }

    Line* lines_;
    int ranks_;
    std::vector<Group> groups_;
    Word number_ = 0;
};

// ---- one group ----

class Flat : public Side {
public:
    Flat(std::byte* memory, const Placement& placement, int rank)
        : lines_(reinterpret_cast<Line*>(memory)), ranks_(placement.ranks()), rank_(rank) {}
    static std::size_t lines(int ranks) { return static_cast<std::size_t>(ranks); }

    Word bcast(Word own) override {
        ++number_;
        if (rank_ != 0) return take(lines_[0], number_);
        put(lines_[0], number_, own);
        return own;
    }
    Word reduce(Word own) override {
        ++number_;
        put(lines_[rank_], number_, own);
        return rank_ == 0 ? sum_of_all() : 0;
    }
    Word allreduce(Word own) override {
        ++number_;
        put(lines_[rank_], number_, own);
        return sum_of_all();
    }
    void barrier() override { allreduce(0); }

private:
    Word sum_of_all() {
        Word sum = 0;
        for (int each = 0; each < ranks_; ++each) sum += take(lines_[each], number_);
        return sum;
    }

    Line* lines_;
    int ranks_;
    int rank_;
    Word number_ = 0;
};

void call(Side& side, Collective collective, int ranks, int rank) {
    const Word own = static_cast<Word>(rank) + 1;
    const Word sum = static_cast<Word>(ranks) * (static_cast<Word>(ranks) + 1) / 2;
    switch (collective) {
        case Collective::bcast: check(side.bcast(own) == 1, "a broadcast is wrong"); break;
        case Collective::reduce: {
            const Word got = side.reduce(own);
            check(rank != 0 || got == sum, "a reduction is wrong");
            break;
        }
        case Collective::allreduce: check(side.allreduce(own) == sum, "a sum is wrong"); break;
        case Collective::barrier: side.barrier(); break;
        default: check(false, "not of this collective");
    }
}

template <typename Of>
Counts counted(const Placement& placement, Collective collective, const Weights& weights) {
    const int ranks = placement.ranks();
    return count(placement, Of::lines(ranks) * sizeof(Line), weights, Pace::until_it_waits,
                 [&](std::byte* memory, int rank) {
                     auto side = std::make_shared<Of>(memory, placement, rank);
                     return [=] { call(*side, collective, ranks, rank); };
                 });
}

}  // namespace

Counts count_call(const Placement& placement, Design design, Collective collective, const Weights& weights) {
    switch (design) {
        case Design::release_gather: return counted<ReleaseGather>(placement, collective, weights);
        case Design::xhc: return counted<Xhc>(placement, collective, weights);
        case Design::flat: break;
    }
    return counted<Flat>(placement, collective, weights);
}

}  // namespace hcoll::counted
