// SPDX-License-Identifier: BSD-3-Clause
// The tuner's search, in a laboratory whose calls cost what the model says (tuning/price.hpp) with some noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <random>

#include "plan_cases.hpp"
#include "tuner/machine_fit.hpp"
#include "tuner/search.hpp"
#include "tuner/tune_report.hpp"
#include "tuner/tuning.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

class PricedLaboratory : public Laboratory {
public:
    PricedLaboratory(Layout layout, double vendor_seconds_per_byte)
        : layout_(std::move(layout)), vendor_(vendor_seconds_per_byte) {}

    const Placement& placement() const override { return *layout_.placement; }
    bool has_shared_memory() const override { return shared_seconds_ > 0; }
    double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) override {
        const std::vector<double> all = run(call, choice, bytes);
        std::uniform_real_distribution<double> noise(1, 1.01);
        return *std::max_element(all.begin(), all.end()) * noise(random_);
    }
    std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) override {
        return run(call, choice, bytes);
    }
    // A level alone takes its part, so that something overlaps.
    double sample_level(Level level, const TableCall& call, const std::string& choice, std::uint64_t bytes) override {
        const std::vector<double> all = run(call, choice, bytes);
        return *std::max_element(all.begin(), all.end()) * (level == Level::network ? 0.7 : 0.6);
    }
    double exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) override {
        const LinkCost& cost = machine_[placement().link(pairs[0].from, pairs[0].to)];
        const bool is_network = placement().link(pairs[0].from, pairs[0].to) == Link::network;
        const auto together = static_cast<double>(pairs.size());
        const bool is_fan = pairs.size() > 1 && pairs[0].from == pairs[1].from;
        if (is_fan)
            return 2 * (cost.latency + 2 * cost.overhead_of(bytes) +
                        static_cast<double>(bytes) * cost.seconds_per_byte * std::ceil(together / cost.at_once));
        const double rate = is_network ? machine_.injection_rate : machine_.memory_rate;
        const double seconds_per_byte = std::max(cost.seconds_per_byte, together / rate);
        const double one = cost.latency + 2 * cost.overhead_of(bytes) + static_cast<double>(bytes) * seconds_per_byte;
        const double of_port = cost.gap + static_cast<double>(bytes) * seconds_per_byte;
        return 2 * one + (messages - 1) * std::max(cost.overhead, of_port - pause);
    }
    bool is_sent_at_once(RankPair pair, std::uint64_t bytes) override {
        return bytes < machine_[placement().link(pair.from, pair.to)].eager_below_bytes;
    }
    double copy(std::uint64_t bytes) override { return static_cast<double>(bytes) * machine_.copy_seconds_per_byte; }
    double reduce(std::uint64_t bytes) override {
        return static_cast<double>(bytes) * machine_.reduce_seconds_per_byte;
    }
    double now() override { return clock_; }
    int calls() const { return calls_; }
    MachineModel& machine() { return machine_; }
    // Of every message over shared memory.
    void set_shared(double seconds) { shared_seconds_ = seconds; }
    // What a choice costs, over what the model says.
    void set_off(std::function<double(const std::string& choice)> off) { off_ = std::move(off); }

private:
    std::vector<double> run(const TableCall& call, const std::string& text, std::uint64_t bytes) {
        ++calls_;
        std::vector<double> seconds(static_cast<std::size_t>(placement().ranks()));
        if (text.starts_with("shared")) {
            std::fill(seconds.begin(), seconds.end(), shared_seconds_);
        } else if (text == "vendor") {
            std::fill(seconds.begin(), seconds.end(), 1e-5 + static_cast<double>(bytes) * vendor_);
        } else {
            auto& known = priced_[text + ' ' + std::to_string(bytes)];
            if (known.empty()) {
                AlgorithmChoice choice;
                EXPECT_FALSE(parse_choice(call.collective, text, choice)) << text;
                const PlanRequest request{.units = bytes, .unit_bytes = 1, .placement = &placement()};
                known =
                    price(plans_of_all_ranks(*choice.algorithm, choice.parameters, request), placement(), machine_, 1)
                        .finish;
            }
            seconds = known;
        }
        for (double& mine : seconds) mine *= off_(text);
        clock_ += *std::max_element(seconds.begin(), seconds.end());
        return seconds;
    }

    // Inside a node ranks send, one message after the other: trees differ more than where receivers fetch.
    static MachineModel machine_of_senders() {
        MachineModel machine = default_machine();
        machine[Link::socket].at_once = 1;
        machine[Link::node].at_once = 1;
        machine.memory_rate = std::numeric_limits<double>::infinity();
        return machine;
    }

    Layout layout_;
    MachineModel machine_ = machine_of_senders();
    double vendor_;
    double shared_seconds_ = 0;
    std::function<double(const std::string&)> off_ = [](const std::string&) { return 1.0; };
    double clock_ = 0;
    int calls_ = 0;
    std::map<std::string, std::vector<double>> priced_;
    std::mt19937_64 random_{test_seed()};
};

SearchOptions options_with(TuningMethod method, bool has_heuristics) {
    SearchOptions options;
    options.method = method;
    options.race = {.fewest_rounds = 3, .most_rounds = 5};
    options.has_heuristics = has_heuristics;
    options.algorithms = {"han"};
    options.varied = {{"network", {"binomial", "binary", "chain"}},
                      {"node", {"flat", "chain", "binomial"}},
                      {"in_turn", {"no"}},
                      {"segment", {"0", "8k", "32k", "128k"}}};
    return options;
}

// By tasks as good as by trying all, in a fraction of the time.
TEST(Search, ByTasksFindsWhatAnExhaustiveOneFinds) {
    const Layout layout = block_layout(std::vector<int>(8, 4));
    double exhaustive_seconds = 0;
    double task_seconds = 0;
    for (const bool has_heuristics : {false, true}) {
        const SearchOptions all = options_with(TuningMethod::exhaustive, false);
        const SearchOptions some = options_with(TuningMethod::task, has_heuristics);
        PricedLaboratory of_all(layout, 1e-9);
        PricedLaboratory of_some(layout, 1e-9);
        const MachineModel machine = fit_machine(of_some);
        Search exhaustive(of_all, {Collective::bcast, false}, all, machine);
        Search by_tasks(of_some, {Collective::bcast, false}, some, machine);
        for (std::uint64_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 4) {
            const SearchResult best = exhaustive.at(bytes);
            const SearchResult found = by_tasks.at(bytes);
            EXPECT_LE(found.findings.front().measured.median(), best.findings.front().measured.median() * 1.05)
                << bytes << ": " << found.findings.front().choice << " instead of " << best.findings.front().choice;
        }
        exhaustive_seconds += of_all.now();
        task_seconds += of_some.now();
        EXPECT_GT(by_tasks.tasks(), 3U);
        const std::vector<Overlap> overlaps = by_tasks.overlaps();
        ASSERT_EQ(overlaps.size(), by_tasks.tasks());
        for (const Overlap& overlap : overlaps) {
            EXPECT_GT(overlap.inter, 0) << overlap.choice;
            EXPECT_GT(overlap.intra, 0) << overlap.choice;
            EXPECT_GT(overlap.together, 0) << overlap.choice;
            EXPECT_TRUE(overlap.rate >= 0 && overlap.rate <= 1) << overlap.choice;
        }
    }
    std::printf("by tasks in %.1f %% of the time\n", 100 * task_seconds / exhaustive_seconds);
    EXPECT_LT(task_seconds, exhaustive_seconds / 2);
}

TEST(Search, GivesEntriesThatLeaveTheVendorWhatItDoesBetter) {
    const Layout layout = block_layout({4, 4});
    const SearchOptions options = options_with(TuningMethod::task, true);
    for (const double vendor : {1.0, 1e-15}) {
        PricedLaboratory laboratory(layout, vendor);
        const MachineModel machine = fit_machine(laboratory);
        Search search(laboratory, {Collective::bcast, false}, options, machine);
        const TableEntry entry = search.at(1 << 20).entry({Collective::bcast, false}, *layout.placement);
        EXPECT_EQ(entry.chosen().choice == "vendor", vendor < 1) << entry.chosen().choice;
        ASSERT_NE(entry.find("vendor"), nullptr);
        EXPECT_EQ(entry.nodes.least, 2);
        EXPECT_EQ(entry.ranks_per_node.least, 4);
        EXPECT_FALSE(entry.why.empty());
        std::vector<std::string> mistakes;
        Table table;
        table.name = "t.json";
        table.entries = {entry};
        EXPECT_EQ(parse_table(table_json(table), "t.json", mistakes).entries.size(), 1U);
        EXPECT_TRUE(mistakes.empty());
    }
}

// Where ranks share cores some samples of anybody are many times as long: a gain that is large all the same is one.
TEST(Search, LeavesTheVendorSmallGainsThatNoiseHides) {
    const Layout layout = block_layout({4});
    const auto result = [](double own) {
        SearchResult found{.bytes = 1024, .findings = {}};
        for (const auto& [choice, usual] : {std::pair<std::string, double>{"binomial", own}, {"vendor", 1.0}}) {
            Finding finding{.choice = choice, .family = {}, .measured = {}};
            for (int i = 0; i < 9; ++i) finding.measured.samples.push_back(i % 3 == 0 ? 20.0 : usual + 0.01 * i);
            found.findings.push_back(finding);
        }
        return found;
    };
    for (const auto& [own, chosen] : {std::pair<double, std::string>{0.25, "binomial"}, {0.9, "vendor"}})
        EXPECT_EQ(result(own).entry({Collective::bcast, false}, *layout.placement).chosen().choice, chosen) << own;
}

// A Bcast of the vendor's costs more where others run over shared memory.
TEST(Search, CountsWhatTellingTheLengthTakes) {
    const Layout layout = block_layout({4});
    SearchOptions options;
    options.algorithms = {"shared"};
    for (const auto& [collective, chosen] :
         {std::pair<Collective, std::string>{Collective::bcast, "shared"}, {Collective::reduce, "vendor"}}) {
        PricedLaboratory laboratory(layout, 0);
        laboratory.set_shared(1e-6);
        laboratory.set_off([](const std::string& choice) { return choice == "vendor" ? 0.08 : 1.0; });
        const MachineModel machine = fit_machine(laboratory);
        Search search(laboratory, {collective, false}, options, machine);
        EXPECT_EQ(search.at(8).entry({collective, false}, *layout.placement).chosen().choice, chosen);
    }
}

// A simpler candidate that is as fast but noisier takes no call back from what gains for certain.
TEST(Search, KeepsAGainThatIsCertain) {
    const Layout layout = block_layout({4});
    SearchResult found{.bytes = 1024, .findings = {}};
    const auto add = [&](const std::string& choice, std::vector<double> samples) {
        Finding finding{.choice = choice, .family = {}, .measured = {}};
        finding.measured.samples = std::move(samples);
        found.findings.push_back(finding);
    };
    add("chain:segment=1k", {1.00, 1.00, 1.00, 1.01, 1.01});
    add("binomial", {1.00, 1.00, 1.01, 1.40, 1.40});
    add("vendor", {1.20, 1.24, 1.25, 1.26, 1.27});
    EXPECT_EQ(found.entry({Collective::bcast, false}, *layout.placement).chosen().choice, "chain:segment=1k");
}

// What is measured is what the machine has.
TEST(MachineFit, FindsTheFiguresThatMessagesCost) {
    for (const auto& [ranks_of_nodes, gap] : std::vector<std::pair<std::vector<int>, double>>{
             {{4, 4}, 0}, {{4, 4}, 4e-7}, {{1, 1}, 0}, {{4}, 4e-7}, {{9}, 0}}) {
        PricedLaboratory laboratory(block_layout(ranks_of_nodes), 1e-9);
        MachineModel& machine = laboratory.machine();
        machine[Link::network].eager_below_bytes = std::uint64_t{64} << 10;
        for (LinkCost& cost : machine.links) {
            cost.gap = gap;
            cost.copied_below_bytes = cost.eager_below_bytes;
            cost.copy_seconds_per_byte = 2e-10;
        }
        machine.memory_rate = 9e9;
        machine[Link::socket].at_once = 4;
        const MachineModel fit = fit_machine(laboratory);
        const bool has_network = ranks_of_nodes.size() > 1;
        const bool has_node = ranks_of_nodes[0] > 1;
        for (const Link link : every_link) {
            if (link == Link::network ? !has_network : link == Link::node || !has_node) continue;
            const LinkCost& cost = machine[link];
            EXPECT_EQ(fit[link].eager_below_bytes, cost.eager_below_bytes);
            EXPECT_NEAR(fit[link].overhead, cost.overhead, 0.05 * cost.overhead);
            EXPECT_NEAR(fit[link].gap, gap, 0.05 * gap);
            EXPECT_NEAR(fit[link].latency, cost.latency, 0.05 * cost.latency);
            EXPECT_NEAR(fit[link].seconds_per_byte, cost.seconds_per_byte, 0.01 * cost.seconds_per_byte);
            EXPECT_NEAR(fit[link].copy_seconds_per_byte, 2e-10, 2e-11);
        }
        if (has_node) {
            EXPECT_NEAR(fit.memory_rate, 9e9, 2e8);
            EXPECT_EQ(fit[Link::socket].at_once, ranks_of_nodes[0] > 4 ? 4 : any_number);
        }
        // One rank of a node cannot be hindered by others.
        if (has_network && has_node) {
            EXPECT_NEAR(fit.injection_rate, machine.injection_rate, 0.03 * 12e9);
        }
        EXPECT_TRUE(has_node || std::isinf(fit.injection_rate));
        EXPECT_NEAR(fit.reduce_seconds_per_byte, machine.reduce_seconds_per_byte, 1e-15);
    }
}

// Of what is no pipeline, the best by price are raced, one of each family.
TEST(Search, RacesFewOfThoseThatArePriced) {
    const Layout layout = block_layout(std::vector<int>(8, 4));
    SearchOptions options;
    options.race = {.fewest_rounds = 3, .most_rounds = 5};
    options.varied = {{"segment", {"0"}}};
    PricedLaboratory laboratory(layout, 1);
    const MachineModel machine = fit_machine(laboratory);
    Search search(laboratory, {Collective::allreduce, false}, options, machine);
    const SearchResult found = search.at(1 << 10);
    std::size_t raced = 0;
    for (const Finding& finding : found.findings) {
        raced += finding.measured.samples.empty() ? 0 : 1;
        EXPECT_EQ(finding.by == Prediction::none, finding.choice == "vendor") << finding.choice;
    }
    EXPECT_GT(found.findings.size(), 15U);
    EXPECT_LE(raced, 2 * options.finalists + 1) << "two heats";
    // The laboratory is the model here: nobody else is faster.
    for (const Finding& finding : found.findings)
        EXPECT_TRUE(finding.choice == "vendor" || finding.predicted >= 0.95 * found.findings.front().predicted)
            << finding.choice;
}

// Candidates of three families, all of which are priced.
SearchOptions options_of_families() {
    SearchOptions options;
    options.race = {.fewest_rounds = 3, .most_rounds = 5};
    options.algorithms = {"han"};
    options.varied = {{"network", {"binomial", "two_tree", "binary"}},
                      {"node", {"flat", "chain", "binomial"}},
                      {"in_turn", {"no"}},
                      {"sockets", {"no"}},
                      {"segment", {"0"}}};
    return options;
}

// Of these the model has binomial trees three times too fast, and chains a little too slow.
double off_of_families(const std::string& choice) {
    if (choice == "vendor") return 100.0;
    const bool is_binomial = choice.find("network=") == std::string::npos;
    return (is_binomial ? 3.0 : 1.0) * (choice.find("node=chain") == std::string::npos ? 1.0 : 0.8);
}

// A family that the model has much too fast does not hide the best of another one: the race shows it, and a second heat has the others.
TEST(Search, FindsWhatAFamilyThatIsPricedWrongWouldHide) {
    const Layout layout = block_layout(std::vector<int>(16, 3));
    const SearchOptions options = options_of_families();
    PricedLaboratory all(layout, 1);
    PricedLaboratory some(layout, 1);
    all.set_off(off_of_families);
    some.set_off(off_of_families);
    SearchOptions exhaustive = options;
    exhaustive.method = TuningMethod::exhaustive;
    const MachineModel machine = fit_machine(some);
    Search of_all(all, {Collective::bcast, false}, exhaustive, machine);
    Search of_some(some, {Collective::bcast, false}, options, machine);
    for (const std::uint64_t bytes : {std::uint64_t{16} << 10, std::uint64_t{64} << 10}) {
        const Finding best = of_all.at(bytes).findings.front();
        const Finding found = of_some.at(bytes).findings.front();
        EXPECT_LE(found.measured.median(), 1.02 * best.measured.median())
            << found.choice << " instead of " << best.choice;
    }
    EXPECT_LT(some.calls(), all.calls());
    // Non-blocking ones are measured beside computing, which predictions know nothing of: they have no second heat.
    std::array<std::size_t, 2> raced{};
    for (const bool is_nonblocking : {false, true}) {
        Search search(some, {Collective::bcast, is_nonblocking}, options, machine);
        for (const Finding& finding : search.at(16 << 10).findings)
            raced[is_nonblocking ? 1 : 0] += finding.measured.samples.empty() ? 0 : 1;
    }
    EXPECT_LT(raced[1], raced[0]);
}

// Where the machine gets slower or faster between two heats, who runs in the second one alone does not.
TEST(Search, ComparesHeatsAsIfTheMachineHadNotChanged) {
    const Layout layout = block_layout(std::vector<int>(16, 3));
    const SearchOptions options = options_of_families();
    constexpr std::uint64_t bytes = 16 << 10;
    // What ran, in order; each call asks once for each rank.
    const auto search = [&](double later, std::size_t drift_begins, std::vector<std::string>& order) {
        PricedLaboratory laboratory(layout, 1);
        const MachineModel machine = fit_machine(laboratory);
        std::size_t asked = 0;
        laboratory.set_off([&](const std::string& choice) {
            if (asked++ % 48 == 0) order.push_back(choice);
            const double usual = off_of_families(choice);
            return order.size() > drift_begins ? later * usual : usual;
        });
        return Search(laboratory, {Collective::bcast, false}, options, machine).at(bytes).findings.front();
    };
    std::vector<std::string> order;
    const Finding usual = search(1, 0, order);
    // The second heat begins where the winner runs for the first time, or with somebody from before it in the same round.
    const auto first = static_cast<std::size_t>(std::find(order.begin(), order.end(), usual.choice) - order.begin());
    ASSERT_GT(first, 4U) << usual.choice << " was in the first heat already";
    ASSERT_LT(first, order.size());
    for (const double later : {0.2, 5.0}) {
        std::vector<std::string> again;
        const Finding found = search(later, first, again);
        EXPECT_EQ(found.choice, usual.choice) << later;
        // Beside the vendor's time, which is from the first heat.
        EXPECT_NEAR(found.measured.median(), usual.measured.median(), 0.05 * usual.measured.median()) << later;
    }
}

TEST(Tuning, ComparesItsFourWaysAndReportsThem) {
    PricedLaboratory laboratory(block_layout({4, 4, 4, 4}), 1e-8);
    TuneOptions options;
    options.calls = {{Collective::bcast, false}};
    options.sizes = {8, 64 << 10, 1 << 20};
    options.search = options_with(TuningMethod::task, true);
    options.report = "report";
    int points = 0;
    Tuning tuning(options, {.is_over = [](Laboratory&) { return false; },
                            .begins = [&](const std::string&) { ++points; },
                            .found = [](const TableEntry&) { ADD_FAILURE() << "a comparison writes no table"; }});
    ASSERT_TRUE(tuning.compare(laboratory, {4, 4}));
    EXPECT_EQ(points, 12);
    ASSERT_EQ(tuning.compared_times().size(), ways.size());
    EXPECT_LT(tuning.compared_times().back().seconds, tuning.compared_times().front().seconds);
    for (const ComparedPoint& point : tuning.compared_points()) {
        EXPECT_GE(point.seconds, point.best * 0.98) << point.chosen;
        EXPECT_GE(point.median, point.best);
    }
    const std::string report = report_json(tuning);
    for (const char* part : {"\"compared\"", "\"predicted\"", "\"overlap\"", "\"injection_rate\""})
        EXPECT_NE(report.find(part), std::string::npos) << part;
    EXPECT_NE(comparison_text(tuning).find("100.0%"), std::string::npos);
}

}  // namespace
}  // namespace hcoll::test
