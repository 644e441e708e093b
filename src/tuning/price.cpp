// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "tuning/virtual_network.hpp"

namespace hcoll {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// The memory of all runs: nothing reads or writes it, and with a stride of 0 every address is this one.
struct NoMemory {
    std::byte byte{};
    RunBuffers buffers() { return {&byte, &byte, &byte, 0}; }
};

// Which ranks send over the network, found by running each plan alone: every message is complete as soon as it is posted.
// What a rank sends does not depend on time.
class NetworkSenders : public Transport, public LocalOperations {
public:
    NetworkSenders(std::span<const Plan> plans, const Placement& placement)
        : placement_(placement), senders_(static_cast<std::size_t>(placement.nodes()), 0) {
        for (const Plan& plan : plans) {
            is_sender_ = false;
            engine_.start(plan, memory_.buffers(), *this, *this);
            while (!completed_.empty() || engine_.has_work()) engine_.advance();
            if (!engine_.done()) engine_ = Engine();  // steps that wait for each other: run() reports them
            if (is_sender_) ++senders_[static_cast<std::size_t>(placement.node_of(rank_))];
            ++rank_;
        }
    }

    // By node.
    const std::vector<std::uint32_t>& count() const { return senders_; }

    Status send(int peer, std::uint32_t, const std::byte*, std::uint64_t, Token token) override {
        is_sender_ = is_sender_ || placement_.link(rank_, peer) == Link::network;
        completed_.push_back(token);
        return 0;
    }
    Status recv(int, std::uint32_t, std::byte*, std::uint64_t, Token token) override {
        completed_.push_back(token);
        return 0;
    }
    Status collective(Collective, int, std::uint64_t, const std::byte*, std::byte*, std::uint64_t,
                      Token token) override {
        is_sender_ = true;
        completed_.push_back(token);
        return 0;
    }
    Status progress(std::vector<Token>& completed) override {
        completed.insert(completed.end(), completed_.begin(), completed_.end());
        completed_.clear();
        return 0;
    }
    Status reduce(const std::byte*, std::byte*, std::uint64_t) override { return 0; }
    Status copy(const std::byte*, std::byte*, std::uint64_t) override { return 0; }

private:
    const Placement& placement_;
    Engine engine_;
    NoMemory memory_;
    std::vector<Token> completed_;
    std::vector<std::uint32_t> senders_;
    int rank_ = 0;
    bool is_sender_ = false;
};

// Seconds per byte of messages to other nodes, by the sender's node (max-rate).
std::vector<double> network_rates(std::span<const Plan> plans, const Placement& placement,
                                  const MachineModel& machine) {
    const auto nodes = static_cast<std::size_t>(placement.nodes());
    std::vector<double> rates(nodes, machine[Link::network].seconds_per_byte);
    if (machine.injection_rate == never) return rates;
    const NetworkSenders senders(plans, placement);
    for (std::size_t node = 0; node < nodes; ++node)
        rates[node] = network_seconds_per_byte(machine, senders.count()[node]);
    return rates;
}

struct RankState {
    Engine engine;
    std::vector<Token> completed;  // what the engine has not been told of yet
    double clock = 0;              // up to when its CPU has worked
    double last_completion = 0;
    double overhead = 0;  // of the receives in `completed`
    double finish = never;
    bool is_started = false;
    bool is_due = false;  // a wake is scheduled
    std::array<Traffic, link_count> sent{};
};

// All ranks' engines, and what their CPUs do.
class VirtualCluster : public Transport, public LocalOperations, public Completions {
public:
    VirtualCluster(std::span<const Plan> plans, const Placement& placement, const MachineModel& machine,
                   std::uint64_t unit_bytes, const Disturbance& disturbance, const Watch& watch)
        : plans_(plans),
          placement_(placement),
          machine_(machine),
          unit_bytes_(unit_bytes),
          pauses_(disturbance.pauses.begin(), disturbance.pauses.end()),
          network_(placement, machine, network_rates(plans, placement, machine), events_, *this, watch.messages),
          ranks_(plans.size()),
          most_seconds_(watch.most_seconds) {
        std::sort(pauses_.begin(), pauses_.end(), [](const Pause& a, const Pause& b) {
            return a.rank != b.rank ? a.rank < b.rank : a.begin < b.begin;
        });
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            if (!disturbance.start_delay.empty()) ranks_[rank].clock = disturbance.start_delay[rank];
            make_due(rank, 0);
        }
    }

    // Instant by instant: what has ended, then the engines that hear of it, then the messages that can start.
    Price run() {
        do {
            while (events_.has_event_now()) {
                const Event event = events_.pop();
                if (event.kind == EventKind::wake)
                    due_.push_back(event.subject);
                else if (event.kind == EventKind::collective_done)
                    finish_collective(event);
                else
                    network_.handle(event);
            }
            // Grows while it is walked: an engine can post what is complete at once.
            for (std::size_t i = 0; i < due_.size(); ++i) wake(due_[i]);
            due_.clear();
            network_.start_messages();
            events_.advance();
        } while (!events_.empty() && !network_.defect() && events_.now() <= most_seconds_);
        return result();
    }

    Status send(int peer, std::uint32_t tag, const std::byte*, std::uint64_t units, Token token) override {
        const Link link = placement_.link(static_cast<int>(current_), peer);
        const std::uint64_t bytes = units * unit_bytes_;
        ranks_[current_].sent[static_cast<std::size_t>(link)] += {1, bytes};
        work(machine_[link].overhead_of(bytes));
        network_.send({current_, static_cast<std::uint32_t>(peer), tag}, bytes, token, ranks_[current_].clock);
        return 0;
    }

    Status recv(int peer, std::uint32_t tag, std::byte*, std::uint64_t units, Token token) override {
        network_.recv({static_cast<std::uint32_t>(peer), current_, tag}, units * unit_bytes_, token,
                      ranks_[current_].clock);
        return 0;
    }

    // The MPI library's own collective among the leaders is nobody's plan: priced as a binomial tree (twice one, for
    // Allreduce) of messages over the network, complete for all when the last of them has begun it.
    Status collective(Collective which, int, std::uint64_t order, const std::byte*, std::byte*, std::uint64_t units,
                      Token token) override {
        VendorCall& call = vendor_calls_[order];
        call.begun.emplace_back(current_, token);
        call.time = std::max(call.time, ranks_[current_].clock);
        if (call.begun.size() < static_cast<std::size_t>(placement_.nodes())) return 0;
        const LinkCost& cost = machine_[Link::network];
        const double step =
            cost.latency + 2 * cost.overhead + static_cast<double>(units * unit_bytes_) * cost.seconds_per_byte;
        const int trees = which == Collective::allreduce ? 2 : 1;
        const double end = call.time + trees * std::ceil(std::log2(placement_.nodes())) * step;
        events_.push(end, EventKind::collective_done, static_cast<std::uint32_t>(order));
        return 0;
    }

    Status progress(std::vector<Token>& completed) override {
        std::vector<Token>& news = ranks_[current_].completed;
        completed.insert(completed.end(), news.begin(), news.end());
        news.clear();
        return 0;
    }

    Status reduce(const std::byte*, std::byte*, std::uint64_t units) override {
        work(static_cast<double>(units * unit_bytes_) * machine_.reduce_seconds_per_byte);
        return 0;
    }

    Status copy(const std::byte*, std::byte*, std::uint64_t units) override {
        work(static_cast<double>(units * unit_bytes_) * machine_.copy_seconds_per_byte);
        return 0;
    }

    void complete(std::uint32_t rank, Token token, double time, double overhead) override {
        RankState& state = ranks_[rank];
        state.completed.push_back(token);
        state.last_completion = std::max(state.last_completion, time);
        state.overhead += overhead;
        make_due(rank, time);
    }

private:
    // A collective of the MPI library among leaders: who has begun it, and when the last one did.
    struct VendorCall {
        std::vector<std::pair<std::uint32_t, Token>> begun;
        double time = 0;
    };

    void finish_collective(const Event& event) {
        for (const auto& [rank, token] : vendor_calls_[event.subject].begun) complete(rank, token, event.time, 0);
        vendor_calls_.erase(event.subject);
    }

    std::span<const Pause> pauses_of(std::uint32_t rank) const {
        if (pauses_.empty()) return {};
        const auto [begin, end] =
            std::equal_range(pauses_.begin(), pauses_.end(), Pause{.rank = static_cast<int>(rank)},
                             [](const Pause& a, const Pause& b) { return a.rank < b.rank; });
        return {begin, end};
    }

    // The first time from `time` on at which the rank is not paused.
    double resumed(std::uint32_t rank, double time) const {
        for (const Pause& pause : pauses_of(rank))
            if (pause.begin <= time && time < pause.end) time = pause.end;
        return time;
    }

    // Keeps the CPU of the current rank busy.
    void work(double seconds) {
        double& clock = ranks_[current_].clock;
        for (const Pause& pause : pauses_of(current_)) {
            if (pause.end <= clock || pause.begin >= clock + seconds) continue;
            seconds -= std::max(0.0, pause.begin - clock);
            clock = pause.end;
        }
        clock += seconds;
    }

    // The rank has something to do from `time` on, or from when its CPU has come to it.
    void make_due(std::uint32_t rank, double time) {
        RankState& state = ranks_[rank];
        if (state.is_due) return;
        state.is_due = true;
        const double when = resumed(rank, std::max(state.clock, time));
        if (events_.is_now(when))
            due_.push_back(rank);
        else
            events_.push(when, EventKind::wake, rank);
    }

    void wake(std::uint32_t rank) {
        RankState& state = ranks_[rank];
        current_ = rank;
        state.is_due = false;
        state.clock = resumed(rank, std::max(state.clock, state.last_completion));
        work(std::exchange(state.overhead, 0));
        if (std::exchange(state.is_started, true))
            state.engine.advance();
        else
            state.engine.start(plans_[rank], memory_.buffers(), *this, *this);
        if (state.engine.done() && state.finish == never) state.finish = state.clock;
        if (state.engine.has_work()) make_due(rank, 0);
    }

    std::optional<std::string> find_defect() const {
        if (network_.defect()) return network_.defect();
        if (events_.now() > most_seconds_) return std::nullopt;
        const auto waits = [](const RankState& rank) { return rank.finish == never; };
        const auto waiting = std::count_if(ranks_.begin(), ranks_.end(), waits);
        if (waiting != 0)
            return fmt::format("deadlock: {} ranks wait for ever, the first of them is rank {}", waiting,
                               std::find_if(ranks_.begin(), ranks_.end(), waits) - ranks_.begin());
        if (network_.unreceived() != 0)
            return fmt::format("{} messages are sent that nobody receives", network_.unreceived());
        return std::nullopt;
    }

    Price result() const {
        Price price;
        for (const RankState& rank : ranks_) price.finish.push_back(rank.finish);
        price.seconds = *std::max_element(price.finish.begin(), price.finish.end());
        if (price.seconds > most_seconds_) price.seconds = never;
        price.defect = find_defect();
        if (price.defect) price.seconds = never;
        for (std::size_t link = 0; link < link_count; ++link)
            price.links[link] =
                traffic_of(placement_, [&](int rank) { return ranks_[static_cast<std::size_t>(rank)].sent[link]; });
        return price;
    }

    std::span<const Plan> plans_;
    const Placement& placement_;
    const MachineModel& machine_;
    std::uint64_t unit_bytes_;
    std::vector<Pause> pauses_;  // by rank, then begin
    NoMemory memory_;
    EventQueue events_;
    VirtualNetwork network_;
    std::vector<RankState> ranks_;
    std::map<std::uint64_t, VendorCall> vendor_calls_;
    std::vector<std::uint32_t> due_;  // ranks with something to do now
    std::uint32_t current_ = 0;       // whose engine runs
    double most_seconds_;
};

}  // namespace

Price price(std::span<const Plan> plans, const Placement& placement, const MachineModel& machine,
            std::uint64_t unit_bytes, const Disturbance& disturbance, const Watch& watch) {
    check(std::cmp_equal(plans.size(), placement.ranks()), "one plan for each rank");
    check(disturbance.start_delay.empty() || disturbance.start_delay.size() == plans.size(), "one delay for each rank");
    return VirtualCluster(plans, placement, machine, unit_bytes, disturbance, watch).run();
}

}  // namespace hcoll
