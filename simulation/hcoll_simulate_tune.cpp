// SPDX-License-Identifier: BSD-3-Clause
// hcoll-simulate-tune: hcoll-tune at one layout of a simulated machine. scripts/simulate tune runs it, once for each layout.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/hash.hpp"
#include "options.hpp"
#include "simulated_laboratory.hpp"
#include "tuner/table_output.hpp"
#include "tuner/tune_options.hpp"
#include "tuner/tune_report.hpp"
#include "tuner/tuning.hpp"

namespace {

using namespace hcoll;
using namespace hcoll::simulation;

constexpr int usage = 2;
constexpr int no_simulation = 3;
constexpr int incomplete = 4;

volatile std::sig_atomic_t is_interrupted = 0;
void on_interrupt(int /*signal*/) { is_interrupted = 1; }

int fail(int status, std::string_view problem) {
    fmt::print(stderr, "hcoll-simulate-tune: {}\n", problem);
    return status;
}

void check_calls(const TuneOptions& options) {
    for (const TableCall& call : options.calls)
        if (call.is_nonblocking || has_blocks(call.collective))
            throw std::runtime_error(fmt::format(
                "{} is no collective that is simulated; those are bcast, reduce, allreduce and barrier", call.name()));
}

Table new_table(const JobOptions& job, const TuneOptions& options) {
    Table table;
    table.origin = {{"cluster", job.machine.name},
                    {"mpi_version", fmt::format("simulated, {} for the vendor's", job.selector)},
                    {"libhcoll", HCOLL_VERSION},
                    {"command", "scripts/simulate tune"},
                    {"method", std::string(tuning_method_names[static_cast<std::size_t>(options.search.method)])},
                    {"heuristics", options.search.has_heuristics ? "on" : "off"}};
    return table;
}

// What is simulated, in a line: times of another are not these.
std::string subject_of(const JobOptions& job, const std::string& machine_file) {
    std::ifstream file(machine_file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return fmt::format("{} ({:016x}), {}, vendor {}, libhcoll {}", job.machine.name, fnv1a(text), job.layout(),
                       job.selector, HCOLL_VERSION);
}

int run(int argc, char** argv) {
    TuneOptions options;
    int status = 0;
    std::string machine_file;
    std::string vendor = "ompi";
    std::string known_file;
    if (!read_tune_options(argc, argv, true, options, status, [&](CLI::App& app) {
            app.add_option("--machine", machine_file, "file of simulation/machines")->required();
            app.add_option("--vendor", vendor, "SimGrid's algorithms as ompi, mpich, mvapich2 or impi chooses them")
                ->capture_default_str();
            app.add_option("--known", known_file, "keeps what is simulated there, for the next time");
        }))
        return status;
    check_calls(options);
    // A message between two sockets costs what any inside a node costs, and each trial takes seconds: the user may want more.
    options.search.varied.try_emplace("sockets", std::vector<std::string>{"no"});
    options.search.varied.try_emplace("segment", std::vector<std::string>{"0", "8k", "64k", "512k"});
    check_selector(vendor);
    if (options.nodes.size() != 1 || options.ranks_per_node.size() != 1)
        return fail(usage, "name one number of --nodes and one of --ranks-per-node");
    const SubLayout layout{options.nodes.front(), options.ranks_per_node.front()};
    if (layout.ranks() < 2) return fail(usage, "one rank has no collectives to tune");
    JobOptions job{.machine = machine_with(machine_file, layout.ranks_per_node),
                   .ranks = layout.ranks(),
                   .settings = {{"LIBHCOLL_TABLE", "off"}, {"LIBHCOLL_LOG", "warn"}},
                   .selector = vendor,
                   .most_bytes = most_bytes_of(options, {layout})};
    if (job.nodes() > job.machine.fabric.nodes())
        return fail(usage, fmt::format("{} has {} nodes", job.machine.name, job.machine.fabric.nodes()));
    if (options.explain) {
        fmt::print("{}", explain_text(placement_of_job(job), {layout}, options, false));
        return 0;
    }
    TableOutput output(options.output, new_table(job, options));
    if (!options.compare)
        if (const auto problem = output.find_mistake()) return fail(usage, *problem);
    if (options.resume)
        if (const auto problem = output.resume()) return fail(usage, *problem);

    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    bool is_written = true;
    Tuning tuning(options, {.is_over =
                                [&](Laboratory&) {
                                    return is_interrupted != 0 ||
                                           (options.most_seconds > 0 && seconds() > options.most_seconds);
                                },
                            // One line for each point, that whoever runs this reads.
                            .begins =
                                [](const std::string& what) {
                                    std::puts(what.c_str());
                                    std::fflush(stdout);
                                },
                            .found =
                                [&](const TableEntry& entry) {
                                    output.add(entry);
                                    is_written = output.write() && is_written;
                                }});
    SimulatedLaboratory laboratory(job, known_file, subject_of(job, machine_file));
    bool is_whole = false;
    const std::set<std::string> known = keys_of(output.table());
    const bool has_ended = run_job(job, [&](int rank) {
        laboratory.run(rank, [&](Laboratory& of_driver) {
            is_whole = options.compare ? tuning.compare(of_driver, layout) : tuning.tune(of_driver, layout, known);
        });
    });
    if (!has_ended) return fail(no_simulation, "ranks wait for ever");
    if (!options.report.empty()) {
        std::ofstream file(options.report);
        file << report_json(tuning);
        file.close();
        is_written = is_written && file;
    }
    if (!is_written) return fail(usage, fmt::format("{} cannot be written", options.output));
    return is_whole ? 0 : incomplete;
}

}  // namespace

int main(int argc, char** argv) {
    int status = no_simulation;
    try {
        status = run(argc, argv);
    } catch (const std::exception& problem) {
        status = fail(usage, problem.what());
    }
    std::fflush(nullptr);
    // Taking thousands of ranks apart would take longer than some simulations.
    std::_Exit(status);
}
