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
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "topology/place.hpp"
#include "topology/virtual_layout.hpp"
#include "tuner/allocation.hpp"
#include "tuner/mpi.hpp"
#include "tuner/mpi_laboratory.hpp"
#include "tuner/tune_options.hpp"
#include "tuning/find_table.hpp"
#include "tuning/settings.hpp"
#include "tuning/text.hpp"

namespace {

using namespace hcoll;

struct Job {
    int rank = 0;
    int ranks = 1;
    bool speaks() const { return rank == 0; }
};

void say(const Job& job, std::string_view text) {
    if (!job.speaks()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

int fail(const Job& job, std::string_view problem) {
    if (job.speaks()) fmt::print(stderr, "hcoll-tune: {}\n", problem);
    return 2;
}

// The library that the calls under test go to first; empty where it is not preloaded.
std::string preloaded_library() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&MPI_Bcast), &info) == 0 || info.dli_fname == nullptr) return {};
    const std::filesystem::path path = info.dli_fname;
    return path.filename().string().find("libhcoll") == std::string::npos ? std::string() : path.string();
}

// The same text on all ranks: rank 0's.
std::string shared_text(std::string text) {
    std::uint64_t length = text.size();
    require_mpi(PMPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    text.resize(length);
    require_mpi(PMPI_Bcast(text.data(), static_cast<int>(length), MPI_BYTE, 0, MPI_COMM_WORLD));
    return text;
}

// Where all ranks sit, as the library sees it: by shared memory, or as LIBHCOLL_TOPOLOGY puts them.
Placement find_allocation(const Job& job) {
    std::vector<std::string> warnings;
    const Settings settings = parse_settings(hcoll_environment(), warnings);
    std::vector<Seat> seats;
    if (!settings.topology.is_automatic() && !settings.topology.seats(job.ranks, seats)) return Placement(seats);
    MPI_Comm node = MPI_COMM_NULL;
    require_mpi(PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    int leader = job.rank;
    require_mpi(PMPI_Bcast(&leader, 1, MPI_INT, 0, node));
    require_mpi(PMPI_Comm_free(&node));
    const Place& place = local_place();
    const std::array<int, 3> mine = {leader, place.socket, place.core};
    std::vector<int> all(3 * static_cast<std::size_t>(job.ranks));
    require_mpi(PMPI_Allgather(mine.data(), 3, MPI_INT, all.data(), 3, MPI_INT, MPI_COMM_WORLD));
    seats.clear();
    for (std::size_t i = 0; i < all.size(); i += 3) seats.push_back({all[i], all[i + 1], all[i + 2]});
    return Placement(seats);
}

// Ranks that have nothing to do sleep: those that measure may want their cores.
void wait_for_all() {
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(PMPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (int is_over = 0; is_over == 0;) {
        require_mpi(PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE));
        constexpr timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
        if (is_over == 0) nanosleep(&pause, nullptr);
    }
}

// Seconds that a fixed piece of work takes on each node, the fastest of its ranks' best of some: a node that is slower than the others is
// named, since every collective is as slow as it.
void name_slow_nodes(const Job& job, const Placement& allocation) {
    double best = 1e9;
    std::vector<double> values(1 << 15, 1.0);
    volatile double sink = 0;
    for (int i = 0; i < 20; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        double sum = 0;
        for (int turn = 0; turn < 8; ++turn)
            for (double& value : values) sum += value = value * 0.999 + 0.001;
        sink = sink + sum;
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::vector<double> all(static_cast<std::size_t>(job.ranks));
    require_mpi(PMPI_Gather(&best, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    require_mpi(PMPI_Get_processor_name(name.data(), &length));
    std::vector<char> names(job.speaks() ? all.size() * name.size() : 0);
    require_mpi(PMPI_Gather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
                            MPI_CHAR, 0, MPI_COMM_WORLD));
    if (!job.speaks() || allocation.nodes() == 1) return;
    std::vector<double> of_nodes;
    std::vector<int> first_ranks;
    for (int node = 0; node < allocation.nodes(); ++node) {
        double fastest = 1e9;
        for (const int rank : allocation.ranks_of_node(node))
            fastest = std::min(fastest, all[static_cast<std::size_t>(rank)]);
        of_nodes.push_back(fastest);
        first_ranks.push_back(allocation.ranks_of_node(node).front());
    }
    std::vector<double> ordered = of_nodes;
    std::sort(ordered.begin(), ordered.end());
    const double median = ordered[ordered.size() / 2];
    constexpr double slower = 1.25;
    for (std::size_t node = 0; node < of_nodes.size(); ++node)
        if (of_nodes[node] > slower * median)
            fmt::print(
                "warning: node {} computes {:.0f} % slower than the others; what is measured with it is its speed\n",
                &names[static_cast<std::size_t>(first_ranks[node]) * name.size()], 100 * (of_nodes[node] / median - 1));
}

// ---- the table ----

class Output {
public:
    Output(std::string path, Table table) : path_(std::move(path)), table_(std::move(table)) {}
    // By rank 0, before anything is measured: a sentence where it cannot be written.
    std::optional<std::string> find_mistake() const {
        const std::string trial = path_ + ".new";
        if (std::filesystem::is_directory(path_)) return fmt::format("{} is a folder", path_);
        std::FILE* file = std::fopen(trial.c_str(), "we");
        if (file == nullptr) return fmt::format("{} cannot be written ({})", path_, std::strerror(errno));
        std::fclose(file);
        std::filesystem::remove(trial);
        return std::nullopt;
    }
    // The file is whole at any time: it is replaced.
    bool write() const {
        const std::string fresh = path_ + ".new";
        std::ofstream file(fresh);
        file << table_json(table_);
        file.close();
        std::error_code error;
        if (file) std::filesystem::rename(fresh, path_, error);
        return file.good() && !error;
    }
    Table& table() { return table_; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    Table table_;
};

std::string key_of(const TableCall& call, const SubLayout& layout, std::uint64_t bytes) {
    return fmt::format("{} {} {} {}", call.name(), layout.nodes, layout.ranks_per_node, bytes);
}

std::string key_of(const TableEntry& entry) {
    return key_of(entry.call, {entry.nodes.least, entry.ranks_per_node.least}, entry.bytes.least);
}

Table new_table(int argc, char** argv, const TuneOptions& options) {
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
#if defined(HCOLL_FLAVOUR_OPENMPI)
    table.vendor = VendorKind::openmpi;
#else
    table.vendor = VendorKind::mpich;
#endif
    return table;
}

// ---- progress ----

std::atomic<bool> is_interrupted{false};
void on_interrupt(int /*signal*/) { is_interrupted = true; }

class Clock {
public:
    explicit Clock(double most_seconds) : begin_(std::chrono::steady_clock::now()), most_(most_seconds) {}
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    bool is_over() const { return most_ > 0 && seconds() > most_; }
    double most() const { return most_; }

private:
    std::chrono::steady_clock::time_point begin_;
    double most_;
};

std::string duration_text(double seconds) {
    const long whole = std::lround(seconds);
    if (whole < 100) return fmt::format("{} s", whole);
    return whole < 6000 ? fmt::format("{} min", (whole + 30) / 60)
                        : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

// One line on a terminal, which the next one replaces.
void show_progress(const Job& job, const Clock& clock, std::size_t done, std::size_t all, std::string_view what) {
    if (!job.speaks() || isatty(STDERR_FILENO) == 0) return;
    constexpr std::size_t width = 30;
    const std::size_t filled = all == 0 ? width : width * done / all;
    std::string left = "?";
    if (done != 0) {
        double seconds = clock.seconds() / static_cast<double>(done) * static_cast<double>(all - done);
        if (clock.most() > 0) seconds = std::min(seconds, std::max(clock.most() - clock.seconds(), 0.0));
        left = duration_text(seconds);
    }
    fmt::print(stderr, "\r[{}{}] {} of {} points, {} left: {}\x1b[K", std::string(filled, '='),
               std::string(width - filled, ' '), done, all, left, what);
    std::fflush(stderr);
}

void clear_progress(const Job& job) {
    if (job.speaks() && isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
}

void print_summary(const Job& job, const Table& table) {
    if (!job.speaks()) return;
    struct Sum {
        double logarithms = 0;
        double worst = 1e9;
        int points = 0;
        int of_vendor = 0;
    };
    std::map<std::string, Sum> sums;
    for (const TableEntry& entry : table.entries) {
        const TableCandidate* vendor = entry.find("vendor");
        if (!entry.is_point() || vendor == nullptr || vendor->seconds <= 0 || entry.chosen().seconds <= 0) continue;
        const double gain = vendor->seconds / entry.chosen().seconds;
        for (const std::string& name : {std::string(entry.call.name()), std::string("all")}) {
            Sum& sum = sums[name];
            sum.logarithms += std::log(gain);
            sum.worst = std::min(sum.worst, gain);
            sum.of_vendor += entry.chosen().choice == "vendor" ? 1 : 0;
            ++sum.points;
        }
    }
    fmt::print("\n{:<12}{:>8}{:>16}{:>10}{:>18}\n", "", "points", "vendor/chosen", "worst", "left to vendor");
    for (const auto& [name, sum] : sums)
        fmt::print("{:<12}{:>8}{:>16.2f}{:>10.2f}{:>18}\n", name, sum.points, std::exp(sum.logarithms / sum.points),
                   sum.worst, sum.of_vendor);
    std::fflush(stdout);
}

// ---- explaining ----

void explain(const Job& job, const Placement& allocation, const std::vector<SubLayout>& layouts,
             const TuneOptions& options) {
    if (!job.speaks()) return;
    for (const SubLayout& layout : layouts) {
        const Placement placement = placement_of(allocation, ranks_of(allocation, layout));
        for (const TableCall& call : options.calls)
            for (const std::uint64_t bytes : options.sizes) {
                const auto candidates = find_candidates({.call = call,
                                                         .placement = &placement,
                                                         .bytes = bytes,
                                                         .has_shared_memory = layout.nodes == 1,
                                                         .has_heuristics = options.search.has_heuristics,
                                                         .varied = options.search.varied,
                                                         .algorithms = options.search.algorithms});
                std::map<std::string_view, int> reasons;
                std::size_t left = 0;
                for (const Candidate& each : candidates)
                    if (each.left_out.empty())
                        ++left;
                    else
                        ++reasons[each.left_out];
                fmt::print("{} of {} bytes on {} x {}: {} of {} candidates\n", call.name(), size_text(bytes),
                           layout.nodes, layout.ranks_per_node, left, candidates.size());
                for (const auto& [why, number] : reasons) fmt::print("  {:>5} left out: {}\n", number, why);
                for (const Candidate& each : candidates)
                    if (each.left_out.empty()) fmt::print("        {}\n", each.text);
                if (!has_message(call.collective)) break;
            }
    }
}

// ---- comparing ----

struct Comparison {
    double seconds = 0;  // that tuning took
    int points = 0;
    int near = 0;  // within 5 % of the best
    double worst = 1;
};

// ---- running ----

class Tuning {
public:
    Tuning(const Job& job, const TuneOptions& options, Placement allocation, Output& output,
           std::set<std::string> known)
        : job_(job),
          options_(options),
          allocation_(std::move(allocation)),
          output_(output),
          known_(std::move(known)),
          clock_(options.most_seconds),
          memory_(bytes_of_messages()) {}

    int run(const std::vector<SubLayout>& layouts) {
        for (const SubLayout& layout : layouts)
            for (const TableCall& call : options_.calls) all_ += sizes_of(call, layout).size();
        for (const SubLayout& layout : layouts) {
            if (is_over_) break;
            const std::vector<int> ranks = ranks_of(allocation_, layout);
            const bool is_in = std::find(ranks.begin(), ranks.end(), job_.rank) != ranks.end();
            MPI_Comm communicator = MPI_COMM_NULL;
            require_mpi(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, job_.rank, &communicator));
            if (is_in) {
                MpiLaboratory laboratory(communicator, placement_of(allocation_, ranks), memory_, {});
                options_.compare ? compare(laboratory, layout) : tune(laboratory, layout);
            }
            wait_for_all();
            int is_over = is_over_ ? 1 : 0;
            require_mpi(PMPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD));
            is_over_ = is_over != 0;
        }
        clear_progress(job_);
        if (options_.compare)
            print_comparison();
        else
            print_summary(job_, output_.table());
        if (is_over_) say(job_, fmt::format("{} of {} points; --resume goes on\n", done_, all_));
        if (!options_.compare && !has_failed_) say(job_, fmt::format("LIBHCOLL_TABLE={} uses it\n", output_.path()));
        return has_failed_ ? 1 : 0;
    }

private:
    std::size_t bytes_of_messages() const {
        std::uint64_t most = sizeof(double);
        for (const TableCall& call : options_.calls)
            for (const std::uint64_t bytes : sizes_of(call, {allocation_.nodes(), allocation_.most_ranks_of_a_node()}))
                most = std::max(most,
                                has_blocks(call.collective) ? bytes * static_cast<std::uint64_t>(job_.ranks) : bytes);
        for (const TableCall& call : options_.calls)
            if (!has_blocks(call.collective)) most = std::max(most, options_.sizes.back());
        // Tasks are of a few segments, of a megabyte at most.
        constexpr std::uint64_t of_tasks = std::uint64_t{16} << 20;
        return std::max(most, options_.search.method == TuningMethod::task || options_.compare ? of_tasks : 0);
    }

    // Of a block, for collectives of blocks: all of them together are not to be longer than that.
    std::vector<std::uint64_t> sizes_of(const TableCall& call, const SubLayout& layout) const {
        if (!has_message(call.collective)) return {0};
        constexpr std::uint64_t most_of_all = std::uint64_t{64} << 20;
        std::vector<std::uint64_t> sizes;
        for (const std::uint64_t bytes : options_.sizes)
            if (!has_blocks(call.collective) || bytes * static_cast<std::uint64_t>(layout.ranks()) <= most_of_all)
                sizes.push_back(bytes);
        return sizes;
    }

    // Rank 0 looks at the clock, and at what the user wants.
    bool is_over(MpiLaboratory& laboratory) {
        int is_over = is_interrupted || clock_.is_over() ? 1 : 0;
        require_mpi(PMPI_Bcast(&is_over, 1, MPI_INT, 0, laboratory.communicator()));
        return is_over != 0;
    }

    void tune(MpiLaboratory& laboratory, const SubLayout& layout) {
        for (const TableCall& call : options_.calls) {
            Search search(laboratory, call, options_.search);
            for (const std::uint64_t bytes : sizes_of(call, layout)) {
                ++done_;
                if (known_.count(key_of(call, layout, bytes)) != 0) continue;
                if (is_over(laboratory)) {
                    --done_;
                    is_over_ = true;
                    return;
                }
                show_progress(
                    job_, clock_, done_ - 1, all_,
                    fmt::format("{} x {} {} {}", layout.nodes, layout.ranks_per_node, call.name(), size_text(bytes)));
                const TableEntry entry = search.at(bytes).entry(call, laboratory.placement());
                output_.table().entries.push_back(entry);
                if (job_.speaks() && !output_.write()) {
                    has_failed_ = true;
                    fmt::print(stderr, "hcoll-tune: {} cannot be written\n", output_.path());
                }
            }
        }
    }

    // All four ways, and how near each comes to the best that the exhaustive one has found.
    void compare(MpiLaboratory& laboratory, const SubLayout& layout) {
        for (const TableCall& call : options_.calls) {
            std::map<std::uint64_t, std::map<std::string, double>> measured;  // by bytes, by choice
            for (const auto& [method, has_heuristics] : ways) {
                SearchOptions options = options_.search;
                options.method = method;
                options.has_heuristics = has_heuristics;
                Search search(laboratory, call, options);
                Comparison& comparison = comparisons_[{method, has_heuristics}];
                const double begin = laboratory.now();
                std::map<std::uint64_t, std::string> chosen;
                for (const std::uint64_t bytes : sizes_of(call, layout)) {
                    if (is_over_ || is_over(laboratory)) {
                        is_over_ = true;
                        return;
                    }
                    show_progress(job_, clock_, done_, ways.size() * all_,
                                  fmt::format("{}, heuristics {}: {} x {} {} {}",
                                              tuning_method_names[static_cast<std::size_t>(method)],
                                              has_heuristics ? "on" : "off", layout.nodes, layout.ranks_per_node,
                                              call.name(), size_text(bytes)));
                    ++done_;
                    const SearchResult result = search.at(bytes);
                    chosen[bytes] = result.findings.front().choice;
                    if (method == TuningMethod::exhaustive && !has_heuristics)
                        for (const Finding& finding : result.findings)
                            measured[bytes][finding.choice] = finding.measured.median();
                }
                comparison.seconds += laboratory.now() - begin;
                for (const auto& [bytes, choice] : chosen) {
                    const auto& all = measured[bytes];
                    double best = 1e9;
                    for (const auto& [name, seconds] : all) best = std::min(best, seconds);
                    const auto found = all.find(choice);
                    const double ratio = found == all.end() ? 1 : found->second / best;
                    constexpr double near = 1.05;
                    ++comparison.points;
                    comparison.near += ratio <= near ? 1 : 0;
                    comparison.worst = std::max(comparison.worst, ratio);
                }
            }
        }
    }

    void print_comparison() const {
        if (!job_.speaks()) return;
        const double whole = comparisons_.at({TuningMethod::exhaustive, false}).seconds;
        fmt::print("\n{:<12}{:>12}{:>10}{:>10}{:>10}{:>16}{:>10}\n", "method", "heuristics", "time", "share", "points",
                   "within 5 %", "worst");
        for (const auto& [method, has_heuristics] : ways) {
            const auto found = comparisons_.find({method, has_heuristics});
            if (found == comparisons_.end()) continue;
            const Comparison& of = found->second;
            fmt::print("{:<12}{:>12}{:>10}{:>9.1f}%{:>10}{:>15.0f}%{:>10.2f}\n",
                       tuning_method_names[static_cast<std::size_t>(method)], has_heuristics ? "on" : "off",
                       duration_text(of.seconds), 100 * of.seconds / whole, of.points,
                       of.points == 0 ? 0.0 : 100.0 * of.near / of.points, of.worst);
        }
        std::fflush(stdout);
    }

    static constexpr std::array<std::pair<TuningMethod, bool>, 4> ways = {{{TuningMethod::exhaustive, false},
                                                                           {TuningMethod::exhaustive, true},
                                                                           {TuningMethod::task, false},
                                                                           {TuningMethod::task, true}}};

    const Job& job_;
    const TuneOptions& options_;
    Placement allocation_;
    Output& output_;
    std::set<std::string> known_;
    Clock clock_;
    MessageMemory memory_;
    std::map<std::pair<TuningMethod, bool>, Comparison> comparisons_;
    std::size_t all_ = 0;
    std::size_t done_ = 0;
    bool is_over_ = false;
    bool has_failed_ = false;
};

int run(const Job& job, int argc, char** argv) {
    TuneOptions options;
    int status = 0;
    if (!read_tune_options(argc, argv, job.speaks(), options, status)) return status;
    const std::string library = preloaded_library();
    if (library.empty())
        return fail(job,
                    "libhcoll.so is not preloaded, so there is nothing to tune: mpiexec ... env "
                    "LD_PRELOAD=/path/libhcoll.so hcoll-tune");
    if (job.ranks == 1) return fail(job, "a job of one rank has no collectives to tune; start it with mpiexec on more");
    const Placement allocation = find_allocation(job);
    const std::vector<SubLayout> layouts = sub_layouts(allocation, options.nodes, options.ranks_per_node);
    if (layouts.empty())
        return fail(
            job,
            fmt::format("this job has {} nodes with up to {} ranks: none of the layouts that are asked for is in it",
                        allocation.nodes(), allocation.most_ranks_of_a_node()));
    if (options.explain) {
        explain(job, allocation, layouts, options);
        return 0;
    }
    Output output(options.output, new_table(argc, argv, options));
    std::string problem;
    std::string known_text;
    if (job.speaks() && !options.compare) {
        problem = output.find_mistake().value_or("");
        if (problem.empty() && options.resume && std::filesystem::exists(options.output)) {
            std::vector<std::string> mistakes;
            const std::optional<Table> before = read_table(options.output, mistakes);
            if (!mistakes.empty()) problem = mistakes.front();
            if (before) output.table().entries = before->entries;
        }
        for (const TableEntry& entry : output.table().entries)
            if (entry.is_point()) known_text += key_of(entry) + '\n';
    }
    problem = shared_text(problem);
    if (!problem.empty()) return fail(job, problem);
    std::set<std::string> known;
    known_text = shared_text(known_text);
    for (const std::string_view key : split(known_text, '\n'))
        if (!key.empty()) known.emplace(key);

    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    name_slow_nodes(job, allocation);
    say(job, fmt::format("{} nodes with up to {} ranks, {} layouts; {}\n", allocation.nodes(),
                         allocation.most_ranks_of_a_node(), layouts.size(), library));
    return Tuning(job, options, allocation, output, std::move(known)).run(layouts);
}

}  // namespace

int main(int argc, char** argv) {
    // What says how to use it needs no MPI.
    MPI_Init(&argc, &argv);
    Job job;
    require_mpi(PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank));
    require_mpi(PMPI_Comm_size(MPI_COMM_WORLD, &job.ranks));
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
