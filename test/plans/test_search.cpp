// The tuner's search, in a laboratory whose calls cost what the model says (tuning/price.hpp) with some noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan_cases.hpp"
#include "tuner/search.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

class PricedLaboratory : public Laboratory {
public:
    PricedLaboratory(Layout layout, double vendor_seconds_per_byte)
        : layout_(std::move(layout)), vendor_(vendor_seconds_per_byte) {}

    const Placement& placement() const override { return *layout_.placement; }
    bool has_shared_memory() const override { return false; }
    double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) override {
        const std::vector<double> all = run(call, choice, bytes);
        std::uniform_real_distribution<double> noise(1, 1.01);
        return *std::max_element(all.begin(), all.end()) * noise(random_);
    }
    std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) override {
        return run(call, choice, bytes);
    }
    double now() override { return clock_; }
    int calls() const { return calls_; }

private:
    std::vector<double> run(const TableCall& call, const std::string& text, std::uint64_t bytes) {
        ++calls_;
        std::vector<double> seconds(static_cast<std::size_t>(placement().ranks()));
        if (text == "vendor") {
            std::fill(seconds.begin(), seconds.end(), 1e-5 + static_cast<double>(bytes) * vendor_);
        } else {
            auto& known = priced_[text + ' ' + std::to_string(bytes)];
            if (known.empty()) {
                AlgorithmChoice choice;
                EXPECT_FALSE(parse_choice(call.collective, text, choice)) << text;
                const PlanRequest request{.units = bytes, .unit_bytes = 1, .placement = &placement()};
                known = price(plans_of_all_ranks(*choice.algorithm, choice.parameters, request), placement(),
                              default_machine(), 1)
                            .finish;
            }
            seconds = known;
        }
        clock_ += *std::max_element(seconds.begin(), seconds.end());
        return seconds;
    }

    Layout layout_;
    double vendor_;
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
        Search exhaustive(of_all, {Collective::bcast, false}, all);
        Search by_tasks(of_some, {Collective::bcast, false}, some);
        for (std::uint64_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 4) {
            const SearchResult best = exhaustive.at(bytes);
            const SearchResult found = by_tasks.at(bytes);
            EXPECT_LE(found.findings.front().measured.median(), best.findings.front().measured.median() * 1.05)
                << bytes << ": " << found.findings.front().choice << " instead of " << best.findings.front().choice;
        }
        exhaustive_seconds += of_all.now();
        task_seconds += of_some.now();
        EXPECT_GT(by_tasks.tasks(), 3U);
    }
    std::printf("by tasks in %.1f %% of the time\n", 100 * task_seconds / exhaustive_seconds);
    EXPECT_LT(task_seconds, exhaustive_seconds / 2);
}

TEST(Search, GivesEntriesThatLeaveTheVendorWhatItDoesBetter) {
    const Layout layout = block_layout({4, 4});
    const SearchOptions options = options_with(TuningMethod::task, true);
    for (const double vendor : {1.0, 1e-15}) {
        PricedLaboratory laboratory(layout, vendor);
        Search search(laboratory, {Collective::bcast, false}, options);
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

}  // namespace
}  // namespace hcoll::test
