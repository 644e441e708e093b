// SPDX-License-Identifier: BSD-3-Clause
// hcoll-simulate: one collective on a simulated machine, by an algorithm of the library or as an MPI library's selector in
// SimGrid chooses. One line of JSON on standard output for each size. scripts/simulate runs it, once for each subject.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench.hpp"

namespace {

using namespace hcoll;
using namespace hcoll::simulation;

constexpr int wrong_result = 1;
constexpr int no_simulation = 3;

void print_result(const Options& options, const Result& result) {
    nlohmann::ordered_json line = {{"machine", options.machine.name},
                                   {"ranks", options.ranks},
                                   {"collective", name_of(options.collective)},
                                   {"bytes", result.bytes},
                                   {"subject", options.is_own() ? options.algorithm : options.selector},
                                   {"own", options.is_own()},
                                   {"choice", result.choice},
                                   {"seconds", result.seconds},
                                   {"checked", options.check}};
    if (result.learned) {
        auto& learned = line["learned"];
        learned = {{"calls", result.learned->calls},
                   {"settled_after", result.learned->settled_after},
                   {"regret_calls", result.learned->regret_calls}};
        for (const Learned::Candidate& each : result.learned->candidates)
            learned["candidates"].push_back(
                {{"choice", each.choice}, {"seconds", each.seconds}, {"timed_calls", each.timed_calls}});
    }
    std::puts(line.dump().c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    int status = 0;
    if (!read_options(argc, argv, options, status)) return status;
    try {
        const long wrong = run_bench(options, print_result);
        if (wrong != 0) {
            std::fputs(wrong < 0 ? "hcoll-simulate: ranks wait for ever\n"
                                 : fmt::format("hcoll-simulate: {} results are wrong\n", wrong).c_str(),
                       stderr);
            status = wrong < 0 ? no_simulation : wrong_result;
        }
    } catch (const std::exception& problem) {
        std::fputs(fmt::format("hcoll-simulate: {}\n", problem.what()).c_str(), stderr);
        status = no_simulation;
    }
    std::fflush(nullptr);
    // Taking tens of thousands of ranks apart would take longer than some simulations.
    std::_Exit(status);
}
