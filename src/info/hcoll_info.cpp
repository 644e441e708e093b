// SPDX-License-Identifier: BSD-3-Clause
// hcoll-info: every setting with its value, the MPI library found, where the ranks are, and what can be run.
//
//   hcoll-info                   for this machine
//   mpiexec -n 4 hcoll-info      for that job: rank 0 prints
//   hcoll-info --topology        only where ranks are, drawn; --layout 4x2x4:cyclic for a virtual layout, without a job
//   hcoll-info --table FILE      what stands in a table of hcoll-tune, what is wrong with it, and who is chosen where
//   hcoll-info --trace FOLDER    what a job under LIBHCOLL_TRACE=FOLDER has spent its time on; --call 812 one call, --svg draws it
//   hcoll-info --plan bcast --algorithm han --bytes 4M --layout 4x2x4    what an algorithm does; --svg draws it
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hcoll/build.h"
#include "info/job.hpp"
#include "info/mistake.hpp"
#include "info/plan.hpp"
#include "info/table.hpp"
#include "info/topology.hpp"
#include "info/trace.hpp"
#include "tuning/settings.hpp"
#include "tuning/text.hpp"

namespace {

using namespace hcoll;
using Json = nlohmann::ordered_json;

Json settings_json(const Settings& settings) {
    Json list = Json::array();
    for (const Setting& setting : settings_registry())
        list.push_back({{"name", setting.name},
                        {"value", setting.text(settings)},
                        {"default", setting.text(Settings{})},
                        {"type", setting.type},
                        {"range", setting.range},
                        {"help", setting.help},
                        {"agreed_by_all_ranks", setting.agreed}});
    return list;
}

Json algorithms_json() {
    Json list = Json::array();
    for (const Algorithm& algorithm : algorithms()) {
        Json parameters = Json::array();
        for (const Parameter* parameter : algorithm.parameters)
            parameters.push_back({{"name", parameter->name},
                                  {"default", parameter_text(*parameter, algorithm.defaults)},
                                  {"range", parameter_range(*parameter)},
                                  {"help", parameter->help}});
        list.push_back({{"collective", name_of(algorithm.collective)},
                        {"name", algorithm.name},
                        {"help", algorithm.help},
                        {"parameters", parameters}});
    }
    return list;
}

Json libraries_json(const info::Job& job) {
    Json list = Json::array();
    for (const info::MpiLibrary& library : job.libraries)
        list.push_back({{"path", library.path},
                        {"version", library.version},
                        {"flavour", library.flavour.empty() ? Json(nullptr) : Json(library.flavour)}});
    return list;
}

void print_text_of_algorithms(const Json& algorithms) {
    for (const Json& algorithm : algorithms) {
        fmt::print("  {:<10} {:<20} {}\n", algorithm["collective"].get<std::string>(),
                   algorithm["name"].get<std::string>(), algorithm["help"].get<std::string>());
        for (const Json& parameter : algorithm["parameters"])
            fmt::print("      {}={}   {} ({})\n", parameter["name"].get<std::string>(),
                       parameter["default"].get<std::string>(), parameter["help"].get<std::string>(),
                       parameter["range"].get<std::string>());
    }
}

void print_text(const Json& document) {
    fmt::print("libhcoll {}\n\nSettings (environment variables)\n", document["version"].get<std::string>());
    for (const Json& setting : document["settings"]) {
        const auto value = setting["value"].get<std::string>();
        const auto standard = setting["default"].get<std::string>();
        fmt::print("  {}={}{}\n      {}; {}\n", setting["name"].get<std::string>(), value,
                   value == standard ? "" : fmt::format("   (default {})", standard),
                   setting["help"].get<std::string>(), setting["range"].get<std::string>());
    }
    for (const Json& warning : document["warnings"]) fmt::print("  warning: {}\n", warning.get<std::string>());

    fmt::print("\nMPI libraries found\n");
    for (const Json& library : document["mpi_libraries"])
        fmt::print("  {}\n      {}, {}\n", library["version"].get<std::string>(), library["path"].get<std::string>(),
                   library["flavour"].is_null()
                       ? std::string("no backend: libhcoll stands aside")
                       : fmt::format("backend libhcoll-{}.so", library["flavour"].get<std::string>()));
    if (document["mpi_libraries"].empty()) fmt::print("  none\n");

    fmt::print("\n{}\n", document["launched"].get<bool>()
                             ? "Ranks"
                             : "This process (start hcoll-info with mpiexec to see a job's ranks)");
    const auto number = [](const Json& value) {
        return value.is_null() ? std::string("any") : std::to_string(value.get<int>());
    };
    for (const Json& rank : document["ranks"])
        fmt::print("  {:<6} host {}  socket {}  NUMA node {}  cache {}  core {}  ({} of {} cores)\n",
                   rank["rank"].is_null() ? "-" : std::to_string(rank["rank"].get<int>()),
                   rank["host"].get<std::string>(), number(rank["socket"]), number(rank["numa"]), number(rank["cache"]),
                   number(rank["core"]), rank["cores"].get<int>(), rank["cores_of_host"].get<int>());

    fmt::print("\nAlgorithms (LIBHCOLL_<COLLECTIVE>=<algorithm>[:key=value,...], or auto, shared, or vendor)\n");
    print_text_of_algorithms(document["algorithms"]);
    if (document.contains("problem")) fmt::print("\n{}\n", document["problem"].get<std::string>());
}

void print_reference_of_algorithms(const Json& algorithms) {
    for (const Json& algorithm : algorithms) {
        fmt::print("\n### {}: {}\n\n{}.\n", algorithm["collective"].get<std::string>(),
                   algorithm["name"].get<std::string>(), algorithm["help"].get<std::string>());
        if (algorithm["parameters"].empty()) continue;
        fmt::print("\n| parameter | default | valid | meaning |\n| --- | --- | --- | --- |\n");
        for (const Json& parameter : algorithm["parameters"])
            fmt::print("| `{}` | `{}` | {} | {} |\n", parameter["name"].get<std::string>(),
                       parameter["default"].get<std::string>(), parameter["range"].get<std::string>(),
                       parameter["help"].get<std::string>());
    }
}

// docs/settings.md, made from the registry and the catalog.
void print_reference(const Json& document) {
    fmt::print(
        "# Settings\n\nMade by `hcoll-info --reference` from the code; a test compares both.\n\n"
        "Settings are environment variables. Those that are agreed are read by rank 0 of `MPI_COMM_WORLD` and used by "
        "all "
        "ranks, whatever their own environment says. A mistake gives one warning, and the default stays in force. "
        "Sizes "
        "take the suffixes k, M and G (powers of 1024).\n\n"
        "| setting | type | default | valid | meaning | agreed |\n| --- | --- | --- | --- | --- | --- |\n");
    for (const Json& setting : document["settings"])
        fmt::print("| `{}` | {} | `{}` | {} | {} | {} |\n", setting["name"].get<std::string>(),
                   setting["type"].get<std::string>(), setting["default"].get<std::string>(),
                   setting["range"].get<std::string>(), setting["help"].get<std::string>(),
                   setting["agreed_by_all_ranks"].get<bool>() ? "yes" : "no");
    fmt::print(
        "\n## Algorithms\n\n`LIBHCOLL_BCAST=chain:segment=64k,sends=4` runs one algorithm for all messages of a "
        "collective; "
        "`vendor` leaves the collective to the MPI library; `auto` follows the built-in rules; `shared` runs over "
        "shared "
        "memory where all ranks of a communicator are on one node, and `shared:single_copy=64k` copies messages of "
        "that "
        "many bytes or more straight from one rank's memory to another's "
        "([algorithms](algorithms.md#shared-memory)).\n");
    print_reference_of_algorithms(document["algorithms"]);
}

int run(int argc, char** argv) {
    constexpr int most_ranks = static_cast<int>(VirtualLayout::bound);
    CLI::App app{
        "Settings, MPI libraries, places of ranks and algorithms of libhcoll. Under mpiexec: those of the job."};
    bool as_json = false;
    bool as_reference = false;
    bool topology = false;
    std::string mpi;
    info::PlanOptions plan_options;
    app.add_flag("--json", as_json, "print JSON");
    app.add_flag("--reference", as_reference, "print the settings reference (docs/settings.md)");
    app.add_option("--mpi", mpi, "the MPI library to examine: a file or a name, such as libmpi.so.40");
    auto* draw = app.add_flag("--topology", topology, "draw where the ranks are (LIBHCOLL_TOPOLOGY is followed)");
    std::string table_file;
    auto* table =
        app.add_option("--table", table_file,
                       "list, check and draw a table of hcoll-tune; without a file that which is in force here")
            ->expected(0, 1);
    auto* plan = app.add_option("--plan", plan_options.collective,
                                "show what an algorithm does for a call of bcast, reduce, allreduce or barrier");
    auto* layout = app.add_option("--layout", plan_options.layout,
                                  "a layout, as LIBHCOLL_TOPOLOGY takes it: 4x2x4:cyclic (--topology, --plan)");
    auto* ranks = app.add_option("--ranks", plan_options.ranks,
                                 "how many ranks the layout seats, all that it can if not said (--topology, --plan; "
                                 "without a layout --plan takes 16 on one node)");
    app.add_option("--algorithm", plan_options.algorithm, "han:segment=64k or the like, as a setting takes it")
        ->needs(plan);
    app.add_option("--bytes", plan_options.bytes, "of the message (default: 1M); a barrier has none")->needs(plan);
    app.add_option("--root", plan_options.root, "of the call (default: 0)")->needs(plan);
    app.add_option("--type-bytes", plan_options.unit_bytes, "of an element of a reduction (default: 8)")->needs(plan);
    app.add_option("--rank", plan_options.rank, "list the steps of this rank's plan")->needs(plan);
    app.add_flag("--dot", plan_options.as_dot, "print the messages for Graphviz")->needs(plan);
    auto* svg = app.add_flag("--svg", plan_options.as_svg, "draw the messages (--plan), or a call (--trace, --call)");
    info::TraceOptions trace_options;
    auto* trace = app.add_option("--trace", trace_options.folder,
                                 "explain what a job has traced (LIBHCOLL_TRACE): late ranks and algorithms, critical "
                                 "paths, load of each level");
    auto* call = app.add_option("--call", trace_options.call, "one collective, by its number on its communicator")
                     ->needs(trace)
                     ->check(CLI::PositiveNumber);
    app.add_option("--communicator", trace_options.communicator, "of that call, by its name or a part of it")
        ->needs(call);
    std::string traced_job;
    app.add_option("--job", traced_job,
                   "which of several jobs in the folder, by the number in its files' names (default: the last)")
        ->needs(trace)
        ->check(CLI::Validator(
            [](const std::string& text) {
                const bool is_number = !text.empty() && text.size() <= 16 &&
                                       text.find_first_not_of("0123456789abcdef") == std::string::npos;
                return is_number ? std::string() : text + " is no hexadecimal number of a job";
            },
            "NUMBER"));
    app.add_flag("--merge", trace_options.merges, "print all ranks' events as one file for Perfetto")->needs(trace);
    app.set_version_flag("--version", HCOLL_VERSION_TEXT);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        constexpr int usage = 2;
        return app.exit(error) == 0 ? 0 : usage;
    }
    if (draw->count() == 0 && plan->count() == 0 && layout->count() + ranks->count() != 0)
        return info::mistake("--layout and --ranks are for --topology or --plan", info::wrong_use);
    if (ranks->count() != 0 && (plan_options.ranks < 1 || plan_options.ranks > most_ranks))
        return info::mistake(fmt::format("{} is no number of ranks from 1 to {}", plan_options.ranks, most_ranks),
                             info::wrong_use);

    if (svg->count() != 0 && plan->count() == 0 && call->count() == 0)
        return info::mistake("--svg is for --plan, or for --trace with --call", info::wrong_use);
    if (trace->count() != 0) {
        if (!traced_job.empty()) trace_options.job = std::stoull(traced_job, nullptr, 16);
        trace_options.as_svg = plan_options.as_svg;
        trace_options.as_json = as_json;
        return info::print_trace(trace_options);
    }

    std::vector<std::string> warnings;
    const Settings settings = parse_settings(hcoll_environment(), warnings);
    if (table->count() != 0) {
        const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
        return info::print_table({.file = table_file, .as_json = as_json},
                                 (program.parent_path() / HCOLL_TABLES).lexically_normal().string(),
                                 settings.table_file);
    }
    if (plan->count() != 0) {
        plan_options.as_json = as_json;
        return info::print_plan(plan_options, settings, warnings);
    }
    if (topology)
        return info::print_topology(
            {.layout = plan_options.layout, .ranks = plan_options.ranks, .mpi = mpi, .as_json = as_json}, settings,
            warnings);
    Json document = {{"version", HCOLL_VERSION}, {"settings", settings_json(settings)}, {"warnings", warnings}};
    document["algorithms"] = algorithms_json();
    if (as_reference) {
        print_reference(document);
        return 0;
    }
    const info::Job job = info::examine_job(mpi);
    if (!job.prints) return 0;
    document["mpi_libraries"] = libraries_json(job);
    document["launched"] = job.is_launched;
    document["ranks"] = job.ranks;
    if (!job.problem.empty()) document["problem"] = job.problem;
    if (as_json)
        fmt::print("{}\n", document.dump(2));
    else
        print_text(document);
    return job.problem.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "hcoll-info: {}\n", error.what());
        return 1;
    }
}
