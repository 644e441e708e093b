// SPDX-License-Identifier: BSD-3-Clause
// Short plans, run step by step by all ranks (progress/engine/in_order.hpp): every algorithm that has such plans. With the catalog's parameters by a transport
// that buffers nothing, where a send ends only when its receiver has come to it, and its memory is read only then; with any others by one that takes what is sent.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "counting_trace.hpp"
#include "plan_cases.hpp"
#include "progress/engine/in_order.hpp"

namespace hcoll::test {
namespace {

constexpr Status status_deadlock = 1;
constexpr Status status_wrong_message = 2;

// While it lives, this thread and those that it makes stay on the core that it is on, where the system allows it.
class OneCore {
public:
    OneCore() {
        if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        const int core = sched_getcpu();
        cpu_set_t only;
        CPU_ZERO(&only);
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &only);
        sched_setaffinity(0, sizeof only, &only);
    }
    OneCore(const OneCore&) = delete;
    OneCore& operator=(const OneCore&) = delete;
    ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

// Ranks are threads that run one at a time: a random one of those that need not wait. Where there is none left, they wait for
// each other for ever.
class Turns {
public:
    Turns(std::size_t ranks, std::mt19937_64& random)
        : random_(random), is_ready_(ranks, [] { return true; }), changed_(ranks) {}

    // Runs `body(rank)` of every rank.
    void run(const std::function<void(int)>& body) {
        const OneCore one_core;  // a turn is handed on sooner than between cores
        std::vector<std::thread> threads;
        for (std::size_t rank = 0; rank < is_ready_.size(); ++rank)
            threads.emplace_back([&, rank] {
                {
                    std::unique_lock lock(mutex_);
                    wait_for_turn(lock, rank);
                }
                body(static_cast<int>(rank));
                const std::lock_guard lock(mutex_);
                is_ready_[rank] = nullptr;
                pass_on();
            });
        {
            const std::lock_guard lock(mutex_);
            pass_on();
        }
        for (std::thread& each : threads) each.join();
    }

    // Returns once that holds; false where it never will.
    bool wait(int rank, std::function<bool()> holds) {
        std::unique_lock lock(mutex_);
        is_ready_[static_cast<std::size_t>(rank)] = std::move(holds);
        pass_on();
        wait_for_turn(lock, static_cast<std::size_t>(rank));
        return !is_stuck_;
    }

private:
    void pass_on() {
        std::vector<std::size_t> ready;
        bool is_any_left = false;
        for (std::size_t rank = 0; rank < is_ready_.size(); ++rank) {
            if (is_ready_[rank] == nullptr) continue;
            is_any_left = true;
            if (is_stuck_ || is_ready_[rank]()) ready.push_back(rank);
        }
        if (!is_any_left) return;
        if (ready.empty()) {
            is_stuck_ = true;
            return pass_on();
        }
        turn_ = ready[random_() % ready.size()];
        changed_[turn_].notify_one();
    }
    void wait_for_turn(std::unique_lock<std::mutex>& lock, std::size_t rank) {
        changed_[rank].wait(lock, [&] { return turn_ == rank; });
    }

    std::mt19937_64& random_;
    std::mutex mutex_;
    std::size_t turn_ = ~std::size_t{0};
    bool is_stuck_ = false;
    std::vector<std::function<bool()>> is_ready_;  // of each rank; none of one that is through
    std::vector<std::condition_variable> changed_;
};

using Route = std::tuple<int, int, std::uint32_t>;
struct Message {
    const std::byte* data;
    std::uint64_t units;
    Token number;                 // of its sender's
    std::vector<std::byte> copy;  // where it was taken
};

enum class Buffering : std::uint8_t { nothing, all };
using Sends = std::map<Route, Message>;  // that nobody has received

class MeetingTransport : public Transport {
public:
    MeetingTransport(Turns& turns, Sends& sends, int rank, Buffering buffering)
        : turns_(turns), sends_(sends), rank_(rank), takes_all_(buffering == Buffering::all) {}

    Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token number) override {
        Message message{data, units, number, {}};
        if (takes_all_ && units != 0) {
            message.copy.assign(data, data + units * sizeof(Operand));
            message.data = message.copy.data();
        }
        return sends_.try_emplace({rank_, peer, tag}, std::move(message)).second ? 0 : status_wrong_message;
    }
    Status finish_sends(Token first_left) override {
        if (takes_all_) return 0;
        const auto are_over = [this, first_left] {
            return std::none_of(sends_.begin(), sends_.end(), [&](const auto& each) {
                return std::get<0>(each.first) == rank_ && each.second.number < first_left;
            });
        };
        return turns_.wait(rank_, are_over) ? 0 : status_deadlock;
    }
    Status send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) override {
        const Status status = begin_send(peer, tag, data, units, 0);
        return status == 0 ? wait_until_over(peer, tag) : status;
    }
    Status recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) override {
        const Route route{peer, rank_, tag};
        if (!turns_.wait(rank_, [&] { return sends_.contains(route); })) return status_deadlock;
        const Message sent = std::move(sends_.extract(route).mapped());
        if (sent.units != units) return status_wrong_message;
        if (units != 0) std::memcpy(data, sent.data, units * sizeof(Operand));
        return 0;
    }
    bool exchanges_with(int, int) const override { return true; }
    Status exchange_now(const Sent& sent, const Received& received) override {
        Status status = begin_send(sent.peer, sent.tag, sent.data, sent.units, number_of_exchanges);
        if (status == 0) status = recv_now(received.peer, received.tag, received.data, received.units);
        return status == 0 ? wait_until_over(sent.peer, sent.tag) : status;
    }
    // Of an engine.
    Status send(int, std::uint32_t, const std::byte*, std::uint64_t, Token) override { return -1; }
    Status recv(int, std::uint32_t, std::byte*, std::uint64_t, Token) override { return -1; }
    Status collective(Collective, int, std::uint64_t, const std::byte*, std::byte*, std::uint64_t, Token) override {
        return -1;
    }
    Status progress(std::vector<Token>&) override { return -1; }

private:
    static constexpr Token number_of_exchanges = ~Token{0};  // nobody waits for one

    Status wait_until_over(int peer, std::uint32_t tag) {
        if (takes_all_) return 0;
        const auto is_over = [this, peer, tag] { return !sends_.contains({rank_, peer, tag}); };
        return turns_.wait(rank_, is_over) ? 0 : status_deadlock;
    }

    Turns& turns_;
    Sends& sends_;
    int rank_;
    bool takes_all_;
};

std::optional<std::string> run_in_order_and_compare(const PlanCase& plan_case, std::vector<Plan> plans,
                                                    Buffering buffering, std::mt19937_64& random) {
    PreparedCase prepared = prepare(plan_case, std::move(plans));
    Turns turns(prepared.ranks.size(), random);
    Sends sends;
    std::vector<Status> statuses(prepared.ranks.size(), 0);
    std::vector<CountingTrace> traces(prepared.ranks.size());
    turns.run([&](int rank) {
        const StepTrace::Scope scope(&traces[static_cast<std::size_t>(rank)]);
        SimulatedRank& self = prepared.ranks[static_cast<std::size_t>(rank)];
        std::vector<Operand> scratch(self.plan.scratch_units(), Operand{.poisoned = 1});
        const RunBuffers buffers{reinterpret_cast<const std::byte*>(self.input.data()),
                                 reinterpret_cast<std::byte*>(self.output.data()),
                                 reinterpret_cast<std::byte*>(scratch.data()), sizeof(Operand)};
        MeetingTransport transport(turns, sends, rank, buffering);
        OperandOperations operations(plan_case.ordered);
        statuses[static_cast<std::size_t>(rank)] = run_in_order(self.plan, buffers, transport, operations);
    });
    for (std::size_t rank = 0; rank < statuses.size(); ++rank)
        if (statuses[rank] != 0)
            return "rank " + std::to_string(rank) +
                   (statuses[rank] == status_deadlock ? " waits for ever" : " meets a wrong message");
    if (!sends.empty()) return "a message is left over";
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
        const auto& sequence = prepared.ranks[rank].plan.sequence;
        if (traces[rank].steps.size() != sequence.size()) return "not all steps are traced";
        std::set<std::uint32_t> numbers;
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            if (traces[rank].steps[i].kind != sequence[i].kind) return "a step is traced as another one";
            numbers.insert(traces[rank].steps[i].step);
        }
        if (numbers.size() != sequence.size()) return "a step is traced twice";
        if (!traces[rank].has_each_ended_once()) return "a step that is traced has not ended once";
    }
    return compare(plan_case, prepared);
}

bool is_sequence(const Plan& plan) {
    return (!plan.sequence.empty() || plan.steps.empty()) && plan.steps_to_last_receive <= most_steps_in_order;
}

// With the catalog's parameters.
PlanCase draw_case(const Algorithm& algorithm, int ranks, const Layout& layout, std::mt19937_64& random) {
    return {.algorithm = &algorithm,
            .parameters = algorithm.defaults,
            .ranks = ranks,
            .root = has_root(algorithm.collective) ? static_cast<int>(random() % static_cast<std::uint64_t>(ranks)) : 0,
            .units = algorithm.collective == Collective::barrier ? 1 : 1 + random() % 20,
            .in_place = random() % 3 == 0 && algorithm.collective != Collective::bcast &&
                        algorithm.collective != Collective::barrier,
            .layout = layout};
}

// Once its parameters are known.
void draw_order(PlanCase& plan_case, std::mt19937_64& random) {
    const Algorithm& algorithm = *plan_case.algorithm;
    plan_case.ordered = is_reduction(algorithm.collective) && random() % 2 == 0 &&
                        keeps_order(algorithm, plan_case.parameters, *plan_case.layout.placement);
}

TEST(InOrder, NobodyWaitsForEverAndAllIsRight) {
    std::mt19937_64 random(test_seed());
    std::set<std::string> covered;
    for (const Algorithm& algorithm : algorithms())
        for (int ranks = 1; ranks <= small_sweep_ranks + 3; ++ranks)
            for (const Layout& layout : layouts_of(ranks)) {
                PlanCase plan_case = draw_case(algorithm, ranks, layout, random);
                draw_order(plan_case, random);
                std::vector<Plan> plans = build_plans(plan_case);
                if (!std::all_of(plans.begin(), plans.end(), is_sequence)) continue;
                covered.insert(std::string(name_of(algorithm.collective)) + " " + std::string(algorithm.name));
                const auto defect = run_in_order_and_compare(plan_case, std::move(plans), Buffering::nothing, random);
                EXPECT_FALSE(defect) << plan_case.name() << ": " << *defect;
            }
    for (const char* expected : {"bcast binomial", "bcast han", "reduce binomial", "reduce han",
                                 "allreduce recursive_doubling", "barrier dissemination", "gather binomial"})
        EXPECT_TRUE(covered.contains(expected)) << expected;
}

TEST(InOrder, NobodyWaitsForEverWithRandomParametersWhereWhatIsSentIsTaken) {
    constexpr int cases = 400;
    constexpr std::uint64_t most_ranks = 27;
    std::mt19937_64 random(test_seed());
    int done = 0;
    for (int tried = 0; tried < 20 * cases && done < cases; ++tried) {
        const auto all = algorithms();
        const Algorithm& algorithm = all[random() % all.size()];
        const int ranks = static_cast<int>(1 + random() % most_ranks);
        const std::vector<Layout> layouts = layouts_of(ranks);
        PlanCase plan_case = draw_case(algorithm, ranks, layouts[random() % layouts.size()], random);
        for (const Parameter* parameter : algorithm.parameters) {
            constexpr std::uint64_t few = 8;  // larger numbers of most of them are alike
            if (parameter->name == "segment") continue;
            const std::uint64_t most = std::min<std::uint64_t>(parameter->maximum, parameter->minimum + few);
            parameter->set(plan_case.parameters, parameter->minimum + random() % (most - parameter->minimum + 1));
        }
        if (has_two_trees(plan_case.parameters.levels) || plan_case.parameters.tree.shape == TreeShape::two_tree)
            plan_case.parameters.split = 0;
        draw_order(plan_case, random);
        std::vector<Plan> plans = build_plans(plan_case);
        if (!std::all_of(plans.begin(), plans.end(), is_sequence)) continue;
        ++done;
        const auto defect = run_in_order_and_compare(plan_case, std::move(plans), Buffering::all, random);
        EXPECT_FALSE(defect) << plan_case.name() << ": " << *defect;
    }
    EXPECT_EQ(done, cases);
}

}  // namespace
}  // namespace hcoll::test
