// SPDX-License-Identifier: BSD-3-Clause
#include "simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

namespace hcoll::test {

namespace {

struct Posted {
    int rank;
    Token token;
    std::byte* data;  // of a send never written
    std::uint64_t units;
};

struct Route {
    int from;
    int to;
    std::uint32_t tag;
    friend bool operator==(const Route&, const Route&) = default;
};
struct RouteHash {
    std::size_t operator()(const Route& route) const {
        const std::uint64_t ranks = static_cast<std::uint64_t>(route.from) << 32 | static_cast<std::uint32_t>(route.to);
        return (ranks ^ static_cast<std::uint64_t>(route.tag) << 20) * 0x9E3779B97F4A7C15ULL >> 16;
    }
};

// right = left op right
void combine(const Operand* left, Operand* right, std::uint64_t units, bool ordered) {
    for (std::uint64_t i = 0; i < units; ++i) {
        const bool fits = left[i].unit == right[i].unit && (!ordered || left[i].last + 1 == right[i].first);
        right[i].poisoned |= left[i].poisoned | (fits ? 0U : 1U);
        right[i].ranks += left[i].ranks;
        right[i].sum += left[i].sum;
        right[i].first = std::min(left[i].first, right[i].first);
        right[i].last = std::max(left[i].last, right[i].last);
        right[i].bits = (left[i].bits ^ right[i].bits) * 0x9E3779B97F4A7C15ULL + (left[i].bits & right[i].bits);
        right[i].sided_bits = std::rotl(left[i].sided_bits, 29) * 0x9E3779B97F4A7C15ULL + right[i].sided_bits;
    }
}

// The ranks whose turn would change something: a random one of them is next.
class RunnableRanks {
public:
    explicit RunnableRanks(std::size_t ranks) : position_(ranks, absent) {}

    bool empty() const { return ranks_.empty(); }
    void add(int rank) {
        std::size_t& position = position_[static_cast<std::size_t>(rank)];
        if (position != absent) return;
        position = ranks_.size();
        ranks_.push_back(rank);
    }
    int take(std::mt19937_64& random) {
        const std::size_t chosen = random() % ranks_.size();
        const int rank = ranks_[chosen];
        ranks_[chosen] = ranks_.back();
        position_[static_cast<std::size_t>(ranks_[chosen])] = chosen;
        ranks_.pop_back();
        position_[static_cast<std::size_t>(rank)] = absent;
        return rank;
    }

private:
    static constexpr std::size_t absent = ~std::size_t{0};
    std::vector<int> ranks_;
    std::vector<std::size_t> position_;  // of each rank in ranks_
};

class Network {
public:
    explicit Network(std::size_t ranks) : runnable(ranks), completions_(ranks) {}

    void post(const Route& route, const Posted& message, bool is_send) {
        const auto [found, is_new] = routes_.try_emplace(route, Waiting{.are_sends = is_send, .messages = {}});
        Waiting& waiting = found->second;
        if (waiting.are_sends == is_send) {
            waiting.messages.push_back(message);
            return;
        }
        const Posted& other = waiting.messages.front();
        matched_.push_back(is_send ? std::pair{message, other} : std::pair{other, message});
        waiting.messages.erase(waiting.messages.begin());
        if (waiting.messages.empty()) routes_.erase(found);
    }

    void add_leader(int rank) { leaders_.push_back(rank); }

    // One leader's call; the last one of them carries it out.
    void post_collective(Collective which, int root, std::uint64_t order, const std::byte* source,
                         const Posted& target) {
        auto& calls = collectives_[order];
        calls[target.rank] = {source, target};
        if (calls.size() < leaders_.size()) return;
        std::vector<Operand> result;
        const auto operands = [&](const std::byte* data) {
            const auto* first = reinterpret_cast<const Operand*>(data);
            return std::vector<Operand>(first, first + target.units);
        };
        for (const int leader : leaders_) {
            if (which == Collective::bcast) {
                if (leader == leaders_[static_cast<std::size_t>(root)]) result = operands(calls[leader].source);
            } else if (result.empty()) {
                result = operands(calls[leader].source);
            } else {
                auto right = operands(calls[leader].source);
                combine(result.data(), right.data(), target.units, ordered);
                result = right;
            }
        }
        for (const auto& [leader, call] : calls) {
            if (call.target.units != target.units) defect = "leaders disagree about the length";
            if (call.target.data != nullptr && target.units != 0)
                std::memcpy(call.target.data, result.data(), target.units * sizeof(Operand));
            complete(leader, call.target.token);
        }
        collectives_.erase(order);
    }

    // Delivers one random matched message, if there is one.
    bool deliver(std::mt19937_64& random) {
        if (matched_.empty()) return false;
        std::swap(matched_[random() % matched_.size()], matched_.back());
        const auto [send, receive] = matched_.back();
        matched_.pop_back();
        if (send.units != receive.units)
            defect = fmt::format("{} units sent by {}, {} received by {}", send.units, send.rank, receive.units,
                                 receive.rank);
        else if (send.units != 0)
            std::memcpy(receive.data, send.data, send.units * sizeof(Operand));
        complete(send.rank, send.token);
        complete(receive.rank, receive.token);
        return true;
    }

    // A random part of what has completed at `rank`, in random order.
    void take(int rank, std::vector<Token>& completed, std::mt19937_64& random) {
        auto& pending = completions_[static_cast<std::size_t>(rank)];
        const std::size_t count = pending.empty() ? 0 : 1 + random() % pending.size();
        for (std::size_t i = 0; i < count; ++i) {
            std::swap(pending[random() % pending.size()], pending.back());
            completed.push_back(pending.back());
            pending.pop_back();
        }
    }

    bool has_completions(int rank) const { return !completions_[static_cast<std::size_t>(rank)].empty(); }
    bool is_idle() const {
        return matched_.empty() && std::all_of(completions_.begin(), completions_.end(),
                                               [](const auto& pending) { return pending.empty(); });
    }

    RunnableRanks runnable;
    std::optional<std::string> defect;
    bool ordered = false;

private:
    void complete(int rank, Token token) {
        completions_[static_cast<std::size_t>(rank)].push_back(token);
        runnable.add(rank);
    }

    struct Call {
        const std::byte* source;
        Posted target;
    };
    // On a route, either sends or receives wait for their counterpart; at least one of them.
    struct Waiting {
        bool are_sends;
        std::vector<Posted> messages;
    };
    std::vector<int> leaders_;
    std::map<std::uint64_t, std::map<int, Call>> collectives_;
    std::unordered_map<Route, Waiting, RouteHash> routes_;
    std::vector<std::pair<Posted, Posted>> matched_;
    std::vector<std::vector<Token>> completions_;
};

class SimulatedTransport : public Transport {
public:
    SimulatedTransport(Network& network, int rank, std::mt19937_64& random)
        : network_(network), rank_(rank), random_(random) {}
    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override {
        network_.post({rank_, peer, tag}, {rank_, token, const_cast<std::byte*>(data), units}, true);
        return 0;
    }
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) override {
        network_.post({peer, rank_, tag}, {rank_, token, data, units}, false);
        return 0;
    }
    Status collective(Collective which, int root, std::uint64_t order, const std::byte* source, std::byte* target,
                      std::uint64_t units, Token token) override {
        network_.post_collective(which, root, order, source, {rank_, token, target, units});
        return 0;
    }
    Status progress(std::vector<Token>& completed) override {
        network_.take(rank_, completed, random_);
        return 0;
    }

private:
    Network& network_;
    int rank_;
    std::mt19937_64& random_;
};

bool has_collective(const Plan& plan) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [](const Step& step) { return step.kind == StepKind::collective; });
}

// Does a region stay within a buffer of `units`? The segments that reach farthest are the last two.
bool is_within(const Phase& phase, const Region& region, std::uint64_t units) {
    if (region.length == 0 || phase.segments() == 0) return true;
    // Its chunks reach to the end of the area; of scratch, the static check says that regions stay within their parts.
    if (phase.is_ring()) return region.buffer == Buffer::scratch || phase.origin + phase.units <= units;
    const std::uint64_t last = phase.segments() - 1;
    for (const std::uint64_t number : {last, last - std::min<std::uint64_t>(last, 1)}) {
        const Segment segment = phase.segment(number);
        const std::uint64_t length = Phase::region_length(region, segment);
        if (length != 0 && phase.region_offset(region, segment) + length > units) return false;
    }
    return true;
}

bool stays_within_buffers(const SimulatedRank& self) {
    const std::uint64_t units[] = {self.input.size(), self.output.size(), self.plan.scratch_units()};
    for (const Phase& phase : self.plan.phases)
        for (std::uint32_t index = 0; index < phase.steps; ++index) {
            const Step& step = self.plan.steps[phase.first_step + index];
            for (const Region& region : {step.source, step.target})
                if (!is_within(phase, region, units[static_cast<std::size_t>(region.buffer)])) return false;
        }
    return true;
}

}  // namespace

Status OperandOperations::reduce(const std::byte* left, std::byte* right, std::uint64_t units) {
    combine(reinterpret_cast<const Operand*>(left), reinterpret_cast<Operand*>(right), units, ordered_);
    return 0;
}

Status OperandOperations::copy(const std::byte* source, std::byte* target, std::uint64_t units) {
    std::memmove(target, source, units * sizeof(Operand));
    return 0;
}

// Sums of different sets of ranks differ, with overwhelming probability.
std::uint64_t contribution(std::uint32_t rank) { return (rank + 1) * 0x9E3779B97F4A7C15ULL ^ (rank << 7); }

Operand operand_of(std::uint32_t rank, std::uint64_t unit) {
    const std::uint64_t value = contribution(rank);
    return {.unit = unit,
            .ranks = 1,
            .first = rank,
            .last = rank,
            .poisoned = 0,
            .sum = value,
            .bits = value,
            .sided_bits = value};
}

std::optional<std::string> simulate(std::vector<SimulatedRank>& ranks, bool ordered, std::mt19937_64& random) {
    Network network(ranks.size());
    network.ordered = ordered;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (has_collective(ranks[rank].plan)) network.add_leader(static_cast<int>(rank));
    OperandOperations operations(ordered);
    std::vector<std::unique_ptr<SimulatedTransport>> transports;
    std::vector<Engine> engines(ranks.size());
    std::vector<std::vector<Operand>> scratch(ranks.size());
    std::size_t unfinished = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        SimulatedRank& self = ranks[rank];
        if (!stays_within_buffers(self)) return fmt::format("rank {}: a step outside of its buffer", rank);
        transports.push_back(std::make_unique<SimulatedTransport>(network, static_cast<int>(rank), random));
        scratch[rank].assign(self.plan.scratch_units(), Operand{.poisoned = 1});
        const RunBuffers buffers{reinterpret_cast<const std::byte*>(self.input.data()),
                                 reinterpret_cast<std::byte*>(self.output.data()),
                                 reinterpret_cast<std::byte*>(scratch[rank].data()), sizeof(Operand)};
        if (engines[rank].start(self.plan, buffers, *transports[rank], operations) != 0) return "start failed";
        if (!engines[rank].done()) ++unfinished;
        if (engines[rank].has_work()) network.runnable.add(static_cast<int>(rank));
    }
    while (unfinished != 0) {
        for (std::size_t deliveries = random() % 4; deliveries > 0; --deliveries) network.deliver(random);
        while (network.runnable.empty())
            if (!network.deliver(random)) return "deadlock: all that are not done wait for ever";
        if (network.defect) return network.defect;
        const int chosen = network.runnable.take(random);
        Engine& engine = engines[static_cast<std::size_t>(chosen)];
        if (engine.done()) continue;
        if (engine.advance() != 0) return "advance failed";
        if (engine.done())
            --unfinished;
        else if (engine.has_work() || network.has_completions(chosen))
            network.runnable.add(chosen);
    }
    if (!network.is_idle()) return "a message is still under way at the end";
    return std::nullopt;
}

bool nobody_finishes_without(const std::vector<Plan>& plans, std::size_t absent, std::mt19937_64& random) {
    Network network(plans.size());
    OperandOperations operations(false);
    std::vector<SimulatedTransport> transports;
    transports.reserve(plans.size());
    std::vector<Engine> engines(plans.size());
    std::vector<std::vector<Operand>> memory(plans.size());
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        transports.emplace_back(network, static_cast<int>(rank), random);
        if (rank == absent) continue;
        memory[rank].resize(plans[rank].scratch_units() + 1);
        const RunBuffers buffers{nullptr, reinterpret_cast<std::byte*>(memory[rank].data()),
                                 reinterpret_cast<std::byte*>(memory[rank].data() + 1), sizeof(Operand)};
        if (engines[rank].start(plans[rank], buffers, transports[rank], operations) != 0) return false;
    }
    const auto has_work = [](const Engine& engine) { return engine.has_work(); };
    while (!network.is_idle() || std::any_of(engines.begin(), engines.end(), has_work)) {
        while (network.deliver(random)) continue;
        for (std::size_t rank = 0; rank < plans.size(); ++rank)
            if (rank != absent && !engines[rank].done() && engines[rank].advance() != 0) return false;
    }
    for (std::size_t rank = 0; rank < plans.size(); ++rank)
        if (rank != absent && engines[rank].done()) return false;
    return true;
}

}  // namespace hcoll::test
