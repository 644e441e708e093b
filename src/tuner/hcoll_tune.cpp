// SPDX-License-Identifier: BSD-3-Clause
// hcoll-tune: measures what the library is to run on a machine, and writes it as a table (LIBHCOLL_TABLE).
//
//   mpiexec ... (libhcoll.so preloaded) hcoll-tune --output mycluster.json
//
// For every part of the allocation (1, 2, 4, ... nodes with 1, 2, 4, ... ranks of each), every collective and length: candidates are
// made from the catalog, tasks are measured, and the best are raced against the vendor. The table is whole after every point, so that a
// job may end at any time, and --resume goes on.
#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "topology/place.hpp"
#include "topology/virtual_layout.hpp"
#include "tuner/allocation.hpp"
#include "tuner/mpi.hpp"
#include "tuner/mpi_job.hpp"
#include "tuner/mpi_laboratory.hpp"
#include "tuner/node_speeds.hpp"
#include "tuner/table_output.hpp"
#include "tuner/tune_options.hpp"
#include "tuner/tune_report.hpp"
#include "tuner/tuning.hpp"
#include "tuning/find_table.hpp"
#include "tuning/settings.hpp"
#include "tuning/text.hpp"

namespace {

using namespace hcoll;

void say(const Job& job, std::string_view text) {
    if (!job.speaks()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

int fail(const Job& job, std::string_view problem) {
    if (job.speaks()) fmt::print(stderr, "hcoll-tune: {}\n", problem);
    return 2;
}

// What of the layouts that the user names is not in the job, in a sentence; empty where all are.
std::string name_missing(const TuneOptions& options, const std::vector<SubLayout>& layouts) {
    std::string missing;
    for (const int nodes : options.nodes)
        if (std::none_of(layouts.begin(), layouts.end(), [&](const SubLayout& each) { return each.nodes == nodes; }))
            missing += fmt::format("{}{} nodes", missing.empty() ? "" : ", ", nodes);
    for (const int ranks : options.ranks_per_node)
        if (std::none_of(layouts.begin(), layouts.end(),
                         [&](const SubLayout& each) { return each.ranks_per_node == ranks; }))
            missing += fmt::format("{}{} ranks of a node", missing.empty() ? "" : ", ", ranks);
    return missing.empty() ? missing : fmt::format("not in this job, and not tuned: {}\n", missing);
}

// Of the user's choice, or all there are. A sentence where some cannot be tuned.
std::string find_calls(const Settings& settings, TuneOptions& options) {
    const std::string problem = why_no_background(settings);
    if (!options.names_calls && problem.empty())
        for (std::size_t i = 0; i < nonblocking_count; ++i) options.calls.push_back({static_cast<Collective>(i), true});
    const bool is_any = std::any_of(options.calls.begin(), options.calls.end(),
                                    [](const TableCall& call) { return call.is_nonblocking; });
    if (problem.empty() || (options.names_calls && !is_any)) return {};
    return problem + ", and they are not tuned";
}

// ---- the table ----

Table new_table(int argc, char** argv, const TuneOptions& options, const Settings& settings) {
    Table table;
    const MachineName machine = machine_name();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    require_mpi(MPI_Get_library_version(version.data(), &length));
    std::string line(split(version.data(), '\n').front());
    std::replace(line.begin(), line.end(), '\t', ' ');
    std::string command;
    for (int i = 0; i < argc; ++i) command += fmt::format("{}{}", i == 0 ? "" : " ", argv[i]);
    if (!machine.cluster.empty()) table.origin.emplace_back("cluster", machine.cluster);
    table.origin.emplace_back("cpu", machine.cpu);
    table.origin.emplace_back("interconnect", machine.fabric);
    table.origin.emplace_back("mpi_version", line);
    table.origin.emplace_back("libhcoll", HCOLL_VERSION);
    table.origin.emplace_back("date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
    table.origin.emplace_back("command", command);
    table.origin.emplace_back("method",
                              std::string(tuning_method_names[static_cast<std::size_t>(options.search.method)]));
    table.origin.emplace_back("heuristics", options.search.has_heuristics ? "on" : "off");
    if (std::any_of(options.calls.begin(), options.calls.end(),
                    [](const TableCall& call) { return call.is_nonblocking; }))
        table.origin.emplace_back("progress", progress_mode_names[static_cast<std::size_t>(settings.progress)]);
    table.vendor = vendor_of_job();
    return table;
}

// ---- running ----

std::atomic<bool> is_interrupted{false};
void on_interrupt(int /*signal*/) { is_interrupted = true; }

// All layouts, one after another.
class TuningJob {
public:
    TuningJob(const Job& job, const TuneOptions& options, const Settings& settings, Placement allocation,
              const std::vector<SubLayout>& layouts, TableOutput& output, std::set<std::string> known)
        : job_(job),
          options_(options),
          may_share_memory_(settings.shared_memory),
          allocation_(std::move(allocation)),
          output_(output),
          known_(std::move(known)),
          memory_(most_bytes_of(options, layouts)),
          tuning_(options, {.is_over = [this](Laboratory& laboratory) { return is_over(laboratory); },
                            .begins = [this](const std::string& what) { begin_point(what); },
                            .found = [this](const TableEntry& entry) { keep(entry); }}) {}

    int run(const std::vector<SubLayout>& layouts) {
        for (const SubLayout& layout : layouts)
            for (const TableCall& call : options_.calls)
                for (const std::uint64_t bytes : sizes_of(options_, call, layout)) {
                    ++points_;
                    missing_ += known_.count(key_of(call, layout, bytes)) == 0 ? 1 : 0;
                }
        if (options_.compare) missing_ = points_ * ways.size();
        bool is_whole = true;
        for (std::size_t i = 0; i < layouts.size() && is_whole; ++i) is_whole = run(layouts[i]);
        clear_progress();
        say(job_, options_.compare ? comparison_text(tuning_) : summary_text(output_.table()));
        if (!is_whole && options_.compare)
            say(job_, fmt::format("{} of {} points; what is compared is not gone on with\n", done_, missing_));
        else if (!is_whole)
            say(job_, fmt::format("{} of {} points; --resume goes on\n", points_ - missing_ + done_, points_));
        if (job_.speaks() && !options_.report.empty()) write_report();
        if (!options_.compare && !has_failed_ && output_.is_written())
            say(job_, fmt::format("LIBHCOLL_TABLE={} uses it\n", output_.path()));
        return has_failed_ ? 1 : 0;
    }

private:
    // False where it is over before the end; all ranks, those that are in no part of it too.
    bool run(const SubLayout& layout) {
        const std::vector<int> ranks = ranks_of(allocation_, layout);
        const bool is_in = std::find(ranks.begin(), ranks.end(), job_.rank) != ranks.end();
        fresh_.entries.clear();
        MPI_Comm communicator = MPI_COMM_NULL;
        require_mpi(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, job_.rank, &communicator));
        int is_whole = 1;
        std::string problem;
        if (is_in) {
            MpiLaboratory laboratory(communicator, placement_of(allocation_, ranks), memory_, may_share_memory_, {});
            try {
                is_whole =
                    (options_.compare ? tuning_.compare(laboratory, layout) : tuning_.tune(laboratory, layout, known_))
                        ? 1
                        : 0;
            } catch (const ChoiceNotTaken& not_taken) {
                is_whole = 0;
                problem = not_taken.what();
            }
        }
        wait_for_all();
        fail_with(shared_text(problem, ranks.front()), layout);
        // A layout begins with the first ranks of the first nodes that have as many: with the first of these.
        require_mpi(PMPI_Bcast(&is_whole, 1, MPI_INT, ranks.front(), MPI_COMM_WORLD));
        if (ranks.front() != 0) take_over(shared_text(table_json(fresh_), ranks.front()));
        int has_failed = has_failed_ ? 1 : 0;
        require_mpi(PMPI_Bcast(&has_failed, 1, MPI_INT, 0, MPI_COMM_WORLD));
        return is_whole != 0 && has_failed == 0;
    }

    // What is known so far is kept.
    void fail_with(const std::string& problem, const SubLayout& layout) {
        if (problem.empty()) return;
        has_failed_ = true;
        clear_progress();
        if (job_.speaks())
            fmt::print(stderr, "hcoll-tune: {} nodes x {} ranks: {}\n", layout.nodes, layout.ranks_per_node, problem);
    }

    // What others have found where rank 0, which writes, was not in the layout: its node has too few ranks.
    void take_over(const std::string& text) {
        if (!job_.speaks()) return;
        std::vector<std::string> mistakes;
        for (const TableEntry& entry : parse_table(text, output_.path(), mistakes).entries) {
            ++done_;
            keep(entry);
        }
    }

    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

    // One rank looks at the clock, and at what the user wants.
    bool is_over(Laboratory& laboratory) const {
        const bool is_late = options_.most_seconds > 0 && seconds() > options_.most_seconds;
        return static_cast<MpiLaboratory&>(laboratory)
                   .of_first_rank(is_interrupted || is_late || has_failed_ ? 1 : 0) != 0;
    }

    // One line on a terminal, which the next one replaces.
    void begin_point(const std::string& what) {
        if (job_.speaks() && isatty(STDERR_FILENO) != 0) {
            fmt::print(stderr, "\r{}\x1b[K", progress_text(done_, missing_, seconds(), options_.most_seconds, what));
            std::fflush(stderr);
        }
        ++done_;
    }
    void clear_progress() const {
        if (job_.speaks() && isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    }

    void keep(const TableEntry& entry) {
        output_.add(entry);
        fresh_.entries.push_back(entry);
        if (!job_.speaks() || output_.write()) return;
        if (!has_failed_)
            fmt::print(stderr, "hcoll-tune: {}; it ends with the point under way\n", output_.why_not_written());
        has_failed_ = true;
    }

    void write_report() {
        std::ofstream file(options_.report);
        file << report_json(tuning_);
        file.close();
        if (file) return;
        has_failed_ = true;
        fmt::print(stderr, "hcoll-tune: {} cannot be written\n", options_.report);
    }

    const Job& job_;
    const TuneOptions& options_;
    bool may_share_memory_;
    Placement allocation_;
    TableOutput& output_;
    std::set<std::string> known_;
    MessageMemory memory_;
    Tuning tuning_;
    Table fresh_;  // of the layout under way
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::size_t points_ = 0;
    std::size_t missing_ = 0;
    std::size_t done_ = 0;
    bool has_failed_ = false;
};

// What is wrong with the output, and, if it is resumed, the points that are in it; known to all ranks.
std::string open_output(const Job& job, const TuneOptions& options, TableOutput& output, std::set<std::string>& known) {
    std::string problem;
    std::string keys;
    if (job.speaks()) {
        if (!options.compare) problem = output.find_mistake().value_or("");
        if (problem.empty() && options.resume && !options.compare) problem = output.resume().value_or("");
        std::error_code error;
        if (problem.empty() && !options.report.empty() && std::filesystem::is_directory(options.report, error))
            problem = fmt::format("{} is a folder", options.report);
        if (problem.empty() && !options.report.empty() && !std::ofstream(options.report, std::ios::app))
            problem = fmt::format("{} cannot be written", options.report);
        for (const std::string& key : keys_of(output.table())) keys += key + '\n';
    }
    problem = shared_text(problem);
    keys = shared_text(keys);
    for (const std::string_view key : split(keys, '\n'))
        if (!key.empty()) known.emplace(key);
    return problem;
}

int run(const Job& job, int argc, char** argv) {
    TuneOptions options;
    int status = 0;
    if (!read_tune_options(argc, argv, job.speaks(), options, status)) return status;
    const std::string library = preloaded_library();
    // Where some ranks have it and others not, MPI_Init has not returned.
    if (library.empty())
        return fail(job,
                    "libhcoll.so is not preloaded, so there is nothing to tune: mpiexec ... env "
                    "LD_PRELOAD=/path/libhcoll.so hcoll-tune");
    if (job.ranks == 1) return fail(job, "a job of one rank has no collectives to tune; start it with mpiexec on more");
    const Settings settings = agreed_settings();
    if (const std::string_view setting = what_chooses_already(settings); !setting.empty())
        return fail(job, fmt::format("{}: there is nothing to tune", setting));
    if (settings.verify != 0 || settings.check != CheckMode::off)
        return fail(
            job, "what LIBHCOLL_VERIFY and LIBHCOLL_CHECK do beside each call would be measured with it; unset them");
    const std::string background = find_calls(settings, options);
    if (!background.empty() && options.names_calls) return fail(job, background);
    const Placement allocation = find_allocation(job, settings);
    std::vector<SubLayout> layouts = sub_layouts(allocation, options.nodes, options.ranks_per_node);
    // Rank 0 writes what is compared: it has to be there.
    if (options.compare)
        layouts.erase(
            std::remove_if(layouts.begin(), layouts.end(),
                           [&](const SubLayout& layout) { return ranks_of(allocation, layout).front() != 0; }),
            layouts.end());
    if (layouts.empty())
        return fail(
            job,
            fmt::format("this job has {} nodes with up to {} ranks: none of the layouts that are asked for is in it",
                        allocation.nodes(), allocation.most_ranks_of_a_node()));
    if (options.explain) {
        say(job, explain_text(allocation, layouts, options, settings.shared_memory));
        return 0;
    }
    TableOutput output(options.output, new_table(argc, argv, options, settings));
    std::set<std::string> known;
    if (const std::string problem = open_output(job, options, output, known); !problem.empty())
        return fail(job, problem);
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    for (const std::string& warning : find_slow_nodes(allocation)) say(job, "warning: " + warning + "\n");
    say(job, fmt::format("{} nodes with up to {} ranks, {} layouts; {}\n", allocation.nodes(),
                         allocation.most_ranks_of_a_node(), layouts.size(), library));
    say(job, name_missing(options, layouts));
    if (!background.empty()) say(job, background + "\n");
    return TuningJob(job, options, settings, allocation, layouts, output, std::move(known)).run(layouts);
}

// Under MPICH non-blocking calls are moved by a thread, for which a program has to ask MPI for a level at which all its calls are slower:
// only where the user names such calls.
int level_to_ask(int argc, char** argv) {
    if (vendor_of_job() == VendorKind::openmpi) return MPI_THREAD_SINGLE;
    const auto is_nonblocking = [](std::string_view names) {
        return std::any_of(std::begin(nonblocking_names), std::end(nonblocking_names),
                           [&](std::string_view name) { return names.find(name) != std::string_view::npos; });
    };
    constexpr std::string_view option = "--collectives";
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == option && i + 1 < argc && is_nonblocking(argv[i + 1])) return MPI_THREAD_MULTIPLE;
        if (word.starts_with(option) && word != option && is_nonblocking(word)) return MPI_THREAD_MULTIPLE;
    }
    return MPI_THREAD_SINGLE;
}

}  // namespace

int main(int argc, char** argv) {
    // Each layout has two communicators of processes that no other one has.
    setenv("LIBHCOLL_COMMUNICATORS", "4096", 0);
    int level = MPI_THREAD_SINGLE;
    require_mpi(MPI_Init_thread(&argc, &argv, level_to_ask(argc, argv), &level));
    const Job job = this_job();
    int status = 1;
    try {
        status = run(job, argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "hcoll-tune: rank {}: {}\n", job.rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
