// SPDX-License-Identifier: BSD-3-Clause
// The model checker itself: known small programs, and random ones beside a second description of the same memory model, which enumerates
// everything that can be read and looks at the axioms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../support/seed.hpp"
#include "model_checker.hpp"

namespace hcoll::model {
namespace {

struct Access {
    enum class What { load, store, add };
    What what;
    int location;
    std::uint64_t value = 0;
    bool acquires = false;
    bool releases = false;
};
using Accesses = std::vector<std::vector<Access>>;  // of each thread

// What each read of each thread has read, and the last value of each location.
using Outcome = std::vector<std::uint64_t>;
constexpr int locations = 3;
std::array<std::uint64_t, locations> memory;

Location location(int number) { return reinterpret_cast<Location>(&memory.at(static_cast<std::size_t>(number))); }

Outcome outcome_of(ExecutionGraph graph, int threads) {
    Outcome outcome;
    for (int thread = 0; thread < threads; ++thread)
        for (std::size_t index = 0; index < graph.events_of(thread); ++index) {
            const Event& each = graph.at({static_cast<std::int16_t>(thread), static_cast<std::int16_t>(index)});
            if (each.kind == Event::Kind::read) outcome.push_back(each.value);
        }
    for (int each = 0; each < locations; ++each) {
        graph.set_initial(location(each), 0);
        outcome.push_back(graph.value_of(location(each), graph.writes_to(location(each)).back()));
    }
    return outcome;
}

struct Found {
    std::set<Outcome> outcomes;
    std::size_t graphs = 0;
    bool is_any_twice = false;
};

Found explored(const Accesses& threads) {
    Program program;
    program.set_up = [] { memory.fill(0); };
    for (const auto& accesses : threads)
        program.threads.emplace_back([&accesses] {
            for (const Access& each : accesses) {
                const Order order{each.acquires, each.releases};
                const Location place = location(each.location);
                if (each.what == Access::What::load)
                    load(place, sizeof(std::uint64_t), order, nullptr);
                else if (each.what == Access::What::store)
                    store(place, sizeof(std::uint64_t), each.value, order, nullptr);
                else
                    change(place, sizeof(std::uint64_t), order, nullptr,
                           [&](std::uint64_t before) { return before + each.value; });
            }
        });
    Found found;
    std::set<std::string> graphs;
    const Result result = explore(program, {}, [&](const ExecutionGraph& graph) {
        found.outcomes.insert(outcome_of(graph, static_cast<int>(threads.size())));
        found.is_any_twice = !graphs.insert(graph.signature()).second || found.is_any_twice;
    });
    EXPECT_EQ(result.error, "");
    found.graphs = graphs.size();
    return found;
}

// ---- the second description ----

class Axioms {
public:
    explicit Axioms(const Accesses& threads) {
        for (std::size_t thread = 0; thread < threads.size(); ++thread)
            for (const Access& each : threads[thread]) {
                const auto po_before = [&] { return events_.empty() || events_.back().thread != thread ? -1 : last(); };
                if (each.what != Access::What::store) events_.push_back({thread, po_before(), false, false, each});
                if (each.what != Access::What::load)
                    events_.push_back({thread, po_before(), true, each.what == Access::What::add, each});
            }
        for (int i = 0; i < locations; ++i) orders_.emplace_back();
        for (int i = 0; i <= last(); ++i)
            if (at(i).writes) orders_[static_cast<std::size_t>(at(i).access.location)].push_back(i);
        from_.assign(events_.size(), -1);
        choose_orders(0);
    }
    Found found;

private:
    struct Single {
        std::size_t thread;
        int before;  // in the same thread
        bool writes;
        bool is_exclusive;
        Access access;
    };
    using Relation = std::vector<std::vector<bool>>;

    int last() const { return static_cast<int>(events_.size()) - 1; }
    const Single& at(int event) const { return events_[static_cast<std::size_t>(event)]; }
    static void close(Relation& relation) {
        const std::size_t n = relation.size();
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    if (relation[i][k] && relation[k][j]) relation[i][j] = true;
    }
    static bool is_acyclic(const Relation& closed) {
        for (std::size_t i = 0; i < closed.size(); ++i)
            if (closed[i][i]) return false;
        return true;
    }
    void choose_orders(std::size_t place) {
        if (place == orders_.size()) return choose_reads(0);
        std::vector<int>& order = orders_[place];
        std::sort(order.begin(), order.end());
        do choose_orders(place + 1);
        while (std::next_permutation(order.begin(), order.end()));
    }
    void choose_reads(int event) {
        if (event > last()) return judge();
        if (at(event).writes) return choose_reads(event + 1);
        for (int write = -1; write <= last(); ++write) {
            if (write >= 0 && (!at(write).writes || at(write).access.location != at(event).access.location)) continue;
            from_[static_cast<std::size_t>(event)] = write;
            choose_reads(event + 1);
        }
    }
    int place_in_order(int write) const {
        if (write < 0) return -1;
        const auto& order = orders_[static_cast<std::size_t>(at(write).access.location)];
        return static_cast<int>(std::find(order.begin(), order.end(), write) - order.begin());
    }
    void judge() {
        const std::size_t n = events_.size();
        Relation causes(n, std::vector<bool>(n, false));
        Relation before = causes;
        Relation communication = causes;  // rf, mo, fr
        for (std::size_t i = 0; i < n; ++i) {
            const Single& self = events_[i];
            if (self.before >= 0)
                causes[static_cast<std::size_t>(self.before)][i] = before[static_cast<std::size_t>(self.before)][i] =
                    true;
            if (!self.writes && from_[i] >= 0) causes[static_cast<std::size_t>(from_[i])][i] = true;
        }
        close(causes);
        if (!is_acyclic(causes)) return;
        for (std::size_t i = 0; i < n; ++i) {
            if (events_[i].writes || !events_[i].access.acquires) continue;
            // Along the read-modify-writes that the read's write continues.
            for (int write = from_[i]; write >= 0;) {
                if (at(write).access.releases) before[static_cast<std::size_t>(write)][i] = true;
                if (!at(write).is_exclusive) break;
                write = from_[static_cast<std::size_t>(write) - 1];
            }
        }
        close(before);
        if (!is_acyclic(before)) return;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                if (i == j || events_[i].access.location != events_[j].access.location || !events_[j].writes) continue;
                const int from = events_[i].writes ? static_cast<int>(i) : from_[i];
                if (place_in_order(from) < place_in_order(static_cast<int>(j))) communication[i][j] = true;
            }
        for (std::size_t i = 0; i < n; ++i)
            if (!events_[i].writes && from_[i] >= 0) communication[static_cast<std::size_t>(from_[i])][i] = true;
        // A read-modify-write's own write comes after what it reads; that is no circle.
        close(communication);
        if (!is_acyclic(communication)) return;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (before[i][j] && communication[j][i]) return;
        for (std::size_t i = 1; i < n; ++i)
            if (events_[i].is_exclusive && place_in_order(static_cast<int>(i)) != place_in_order(from_[i - 1]) + 1)
                return;
        ++found.graphs;
        // Values, as far as they are known.
        std::vector<std::int64_t> values(n, -1);
        for (std::size_t round = 0; round < n; ++round)
            for (std::size_t i = 0; i < n; ++i) {
                const auto from = [&](std::size_t read) -> std::int64_t {
                    return from_[read] < 0 ? 0 : values[static_cast<std::size_t>(from_[read])];
                };
                if (!events_[i].writes)
                    values[i] = from(i);
                else if (!events_[i].is_exclusive)
                    values[i] = static_cast<std::int64_t>(events_[i].access.value);
                else if (from(i - 1) >= 0)
                    values[i] = from(i - 1) + static_cast<std::int64_t>(events_[i].access.value);
            }
        Outcome outcome;
        for (std::size_t i = 0; i < n; ++i)
            if (!events_[i].writes) outcome.push_back(static_cast<std::uint64_t>(values[i]));
        for (const auto& order : orders_)
            outcome.push_back(
                order.empty() ? 0 : static_cast<std::uint64_t>(values[static_cast<std::size_t>(order.back())]));
        found.outcomes.insert(outcome);
    }

    std::vector<Single> events_;
    std::vector<std::vector<int>> orders_;
    std::vector<int> from_;
};

// ---- known programs ----

using What = Access::What;
constexpr int x = 0;
constexpr int y = 1;

bool can_be(const Accesses& threads, const std::vector<std::uint64_t>& reads) {
    const Found found = explored(threads);
    EXPECT_FALSE(found.is_any_twice);
    return std::any_of(found.outcomes.begin(), found.outcomes.end(),
                       [&](const Outcome& each) { return std::equal(reads.begin(), reads.end(), each.begin()); });
}

TEST(ModelChecker, AMessageIsSeenByWhoAcquiresWhatWasReleased) {
    const auto message = [](bool releases, bool acquires) {
        return Accesses{{{What::store, x, 1}, {What::store, y, 1, false, releases}},
                        {{What::load, y, 0, acquires}, {What::load, x}}};
    };
    EXPECT_FALSE(can_be(message(true, true), {1, 0}));
    EXPECT_TRUE(can_be(message(true, true), {1, 1}));
    EXPECT_TRUE(can_be(message(true, true), {0, 1}));
    EXPECT_TRUE(can_be(message(false, true), {1, 0}));
    EXPECT_TRUE(can_be(message(true, false), {1, 0}));
}

TEST(ModelChecker, AStoreMayBeOvertakenByALoadButNotALoadByAStore) {
    EXPECT_TRUE(can_be({{{What::store, x, 1, false, true}, {What::load, y, 0, true}},
                        {{What::store, y, 1, false, true}, {What::load, x, 0, true}}},
                       {0, 0}));
    EXPECT_FALSE(can_be({{{What::load, x}, {What::store, y, 1}}, {{What::load, y}, {What::store, x, 1}}}, {1, 1}));
}

TEST(ModelChecker, AThreadSeesALocationInOneOrder) {
    EXPECT_FALSE(can_be({{{What::store, x, 1}, {What::store, x, 2}}, {{What::load, x}, {What::load, x}}}, {2, 1}));
    // Readers may disagree about two locations.
    EXPECT_TRUE(can_be({{{What::store, x, 1, false, true}},
                        {{What::store, y, 1, false, true}},
                        {{What::load, x, 0, true}, {What::load, y, 0, true}},
                        {{What::load, y, 0, true}, {What::load, x, 0, true}}},
                       {1, 0, 1, 0}));
}

TEST(ModelChecker, NoTwoAddToTheSameValue) {
    const Found found = explored({{{What::add, x, 1}}, {{What::add, x, 1}}, {{What::add, x, 1}}});
    EXPECT_EQ(found.graphs, 6U);
    for (const Outcome& each : found.outcomes) EXPECT_EQ(each[3], 3U);
}

TEST(ModelChecker, WhatIsAddedGoesOnReleasing) {
    EXPECT_FALSE(can_be({{{What::store, y, 1}, {What::store, x, 1, false, true}},
                         {{What::add, x, 1}},
                         {{What::load, x, 0, true}, {What::load, y}}},
                        {1, 2, 0}));
    EXPECT_TRUE(can_be({{{What::store, y, 1}, {What::store, x, 1, false, true}},
                        {{What::store, x, 2}},
                        {{What::load, x, 0, true}, {What::load, y}}},
                       {2, 0}));
}

// A thread hands memory of no atomic type to another one, which may be too early.
Program hand_over(bool releases) {
    Program program;
    program.set_up = [] {
        memory.fill(0);
        watch(memory.data(), sizeof memory, "memory");
    };
    const auto handed = reinterpret_cast<std::uint64_t*>(location(y));
    program.threads = {[=] {
                           write_memory(handed, sizeof *handed);
                           *handed = 1;
                           store(location(x), sizeof(std::uint64_t), 1, {false, releases}, nullptr);
                       },
                       [=] {
                           while (load(location(x), sizeof(std::uint64_t), {true, false}, nullptr) == 0) give_turn();
                           read_memory(handed, sizeof *handed);
                           require(*handed == 1, "what is read is not what was written");
                           // An atomic access to what is atomic no longer.
                           write_memory(&memory[x], sizeof memory[x]);
                       }};
    return program;
}

TEST(ModelChecker, WhatIsNotOrderedRaces) {
    EXPECT_EQ(explore(hand_over(true)).error, "");
    EXPECT_NE(explore(hand_over(false))
                  .error.find("a data race: read of 8 bytes by thread 1 at memory + 8 races with thread 0"),
              std::string::npos);
}

TEST(ModelChecker, WhoWaitsForEverIsFound) {
    Program program;
    program.set_up = [] { memory.fill(0); };
    const auto wait_then_tell = [](int for_what, int what) {
        while (load(location(for_what), sizeof(std::uint64_t), {true, false}, nullptr) == 0) give_turn();
        store(location(what), sizeof(std::uint64_t), 1, {false, true}, nullptr);
    };
    program.threads = {[=] { wait_then_tell(x, y); }, [=] { wait_then_tell(y, x); }};
    EXPECT_NE(explore(program).error.find("threads wait for ever: 0 and 1"), std::string::npos);
    program.threads[1] = [] { store(location(x), sizeof(std::uint64_t), 1, {false, true}, nullptr); };
    const Result result = explore(program);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.complete, 1U);
    EXPECT_EQ(result.waiting, 1U);
}

TEST(ModelChecker, ChoicesAreAllMade) {
    Program program;
    std::vector<std::uint64_t> made(6, 0);
    program.set_up = [] { memory.fill(0); };
    program.threads = {[&] {
        const std::uint64_t first = choose(2);
        ++made[first * 3 + choose(3)];
    }};
    const Result result = explore(program);
    EXPECT_EQ(result.complete, 6U);
    for (const std::uint64_t each : made) EXPECT_GE(each, 1U);
    program.threads = {[] { require(choose(3) != 2, "the last one"); }};
    EXPECT_EQ(explore(program).error.substr(0, 12), "the last one");
}

TEST(ModelChecker, RandomProgramsAreAsTheAxiomsSay) {
    std::mt19937_64 random(test::test_seed());
    const auto draw = [&](std::size_t most) { return static_cast<std::size_t>(random() % (most + 1)); };
    for (int round = 0; round < 400; ++round) {
        Accesses threads(2 + draw(1));
        std::uint64_t next = 1;
        const std::size_t most = threads.size() == 2 ? 3 : 2;
        for (auto& accesses : threads)
            for (std::size_t i = 1 + draw(most - 1); i > 0; --i)
                accesses.push_back(
                    {static_cast<What>(draw(2)), static_cast<int>(draw(1)), next++ * 16, draw(1) == 1, draw(1) == 1});
        const Found found = explored(threads);
        const Axioms axioms(threads);
        ASSERT_FALSE(found.is_any_twice) << "round " << round;
        ASSERT_EQ(found.graphs, axioms.found.graphs) << "round " << round;
        ASSERT_EQ(found.outcomes, axioms.found.outcomes) << "round " << round;
    }
}

}  // namespace
}  // namespace hcoll::model
