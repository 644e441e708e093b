// SPDX-License-Identifier: BSD-3-Clause
// hcoll-bench: times the collectives of libhcoll ("own") against those of the MPI library underneath ("vendor").
//
//   mpiexec -n 4 env LD_PRELOAD=libhcoll.so hcoll-bench.mpich --collectives bcast,allreduce --sizes 8:16M
//
// For each collective and size:
//
//   warm-up      both sides, checked; libhcoll sets up a communicator only after a few calls
//   calibration  how many calls make a block of about --block-time; the same number for both sides
//   pairs        own vendor | vendor own | own vendor | ...      each a block of that many calls after a barrier
//
// A sample is a block's time per call on the slowest rank. Printed are the median of the samples of each side, the
// distance of their quartiles, and the median of the ratios vendor/own of the pairs.
//
// Why this is honest:
//   - Both sides run in one process, in the same seconds, on the same buffers, by the same call; MPI_Pcontrol switches
//     between them. Whatever else happens on the machine happens to both, and the order of a pair is swapped each time,
//     so a drift cancels. Two separate runs differ by their placement and by the machine's mood before they differ by
//     the algorithm.
//   - The vendor's calls go through libhcoll's entry point, too: a few nanoseconds, which both sides pay. Without
//     libhcoll preloaded the program measures the vendor alone, for who doubts this.
//   - The barriers between blocks and calls are the vendor's for both sides. On one node the ranks then meet once more, by
//     flags in shared memory, and sleep while they wait: where ranks outnumber cores, those of a vendor that spins leave
//     its barrier by time slices, of some ms, that would count as time of either side. After a block they meet so again:
//     who is through must not spin in the vendor's next call on a core that another rank's block still needs.
//   - Results are checked, outside the timed region, after every block and after single calls on fresh data. A fast
//     wrong collective is an error (exit status 1), not a result. Of a barrier is checked, on one host, that nobody
//     leaves it before the last has entered.
//   - Medians and quartiles of all blocks; nothing is thrown away, and --json keeps every sample.
//   - What the machine does without an algorithm is measured in the same run: a memcpy and a point-to-point transfer
//     of the same bytes.
//
// What it does not say: in a block, calls follow one another at once, so the root of a broadcast may run ahead, and
// the leaves of a reduction: the time per call is that of a stream of calls (throughput), the root stays the same. The
// other measure is --sync: a barrier before each call, which is then timed alone (latency), nothing subtracted; but
// ranks do not leave a barrier at the same moment, and how far apart they leave counts as time of the call.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bound.hpp"
#include "environment.hpp"
#include "measurement.hpp"
#include "mpi.hpp"
#include "options.hpp"
#include "output.hpp"
#include "overlap.hpp"
#include "progress.hpp"

namespace hcoll::bench {

namespace {

constexpr int status_wrong = 1;  // a wrong result, or output that could not be written
constexpr int status_usage = 2;

void say(const World& world, const std::string& sentence) {
    if (world.rank != 0 || sentence.empty()) return;
    fmt::print(stderr, "hcoll-bench: {}\n", sentence);
    std::fflush(stderr);
}

// What keeps these options from being carried out. The files are for rank 0 to see.
std::string find_obstacle(const CommandLine& line, const World& world) {
    const Options& options = line.options;
    if (!line.error.empty()) return line.error + " (--help tells more)";
    if (options.root >= world.ranks) {
        return fmt::format("--root: {} is not a rank of {}", options.root, world.ranks);
    }
    if (options.own_only && find_libhcoll().empty()) return "--own-only: libhcoll is not preloaded";
    if (world.rank != 0) return {};
    std::string obstacle;
    if (!options.json_file.empty()) obstacle = why_not_writable(options.json_file);
    if (obstacle.empty() && !options.plot_file.empty()) obstacle = why_not_writable(options.plot_file);
    if (obstacle.empty() && !options.plot_file.empty()) obstacle = why_no_gnuplot();
    return obstacle;
}

std::vector<Side> choose_sides(const Options& options, const World& world) {
    if (options.vendor_only) return {Side::vendor};
    if (options.own_only) return {Side::own};
    if (agree(find_libhcoll().empty() ? 1 : 0) == 0) return {Side::own, Side::vendor};
    say(world, "libhcoll is not preloaded; only the vendor is measured");
    return {Side::vendor};
}

std::vector<Subject> list_subjects(const Options& options) {
    std::vector<Subject> subjects;
    for (const Collective collective : options.collectives) {
        if (collective == Collective::barrier) {
            subjects.push_back({.collective = collective});
            continue;
        }
        std::size_t previous = 0;
        for (const std::size_t size : options.sizes) {
            const std::size_t element = reduces(collective) ? element_size(options.type) : 1;
            const std::size_t bytes = size / element * element;
            if (bytes == previous) continue;  // below one element, or the same after rounding
            previous = bytes;
            subjects.push_back({.collective = collective,
                                .bytes = bytes,
                                .type = options.type,
                                .op = options.op,
                                .root = options.root,
                                .in_place = options.in_place && reduces(collective)});
        }
    }
    return subjects;
}

// The buffers, or nothing on all ranks if one of them has too little memory.
std::unique_ptr<Buffers> take_buffers(std::size_t bytes) {
    std::unique_ptr<Buffers> buffers;
    try {
        buffers = std::make_unique<Buffers>(bytes);
    } catch (const std::bad_alloc&) {
    }
    if (agree(buffers == nullptr ? 1 : 0) != 0) buffers.reset();
    return buffers;
}

int measure_all(const std::vector<Subject>& subjects, const World& world, const Buffers& buffers, Report& report) {
    const Options& options = report.options;
    const Progress progress(world.rank);
    Meter meter(options, choose_sides(options, world), world, buffers, progress);
    std::map<std::size_t, Bound> bounds;  // by bytes: collectives share them
    int status = 0;

    if (options.bound) report.latency_seconds = measure_bound(8, world, buffers).one_way_seconds;
    if (world.rank == 0) print_table_head(report);
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const std::size_t bytes = subjects[i].bytes;
        Measurement measurement = meter.measure(subjects[i], fmt::format("{} of {}", i + 1, subjects.size()));
        if (options.bound) {
            if (!bounds.contains(bytes)) bounds.emplace(bytes, measure_bound(bytes, world, buffers));
            measurement.bound = bounds.at(bytes);
        }
        if (!measurement.correct) status = status_wrong;
        progress.clear();
        if (world.rank == 0) print_table_line(measurement);
        report.measurements.push_back(std::move(measurement));
    }
    if (world.rank == 0) print_table_end(report);
    return status;
}

int measure_overlaps(const std::vector<Subject>& subjects, const World& world, const Buffers& buffers,
                     const Options& options) {
    const std::vector<Side> sides = choose_sides(options, world);
    int status = 0;
    if (world.rank == 0) print_overlap_head();
    for (const Subject& subject : subjects) {
        if (subject.collective == Collective::barrier) continue;
        const OverlapMeasurement measurement = measure_overlap(subject, options, sides, world, buffers);
        if (!measurement.correct) status = status_wrong;
        if (world.rank == 0) print_overlap_line(measurement);
    }
    return status;
}

int write_files(const World& world, const Report& report) {
    if (world.rank != 0) return 0;
    const Options& options = report.options;
    const std::string json_error = options.json_file.empty() ? "" : write_json(report, options.json_file);
    const std::string plot_error = options.plot_file.empty() ? "" : write_plot(report, options.plot_file);
    say(world, json_error);
    say(world, plot_error);
    return json_error.empty() && plot_error.empty() ? 0 : status_wrong;
}

// The exit status, the same on all ranks.
int run(int argc, char** argv) {
    const World world = bench::world();
    const CommandLine line = parse_command_line(argc, argv);
    if (line.wants_help) {
        if (world.rank == 0) fmt::print("{}", line.help);
        return 0;
    }
    if (line.error.empty() && line.options.verify) return run_acceptance(line.options.acceptance);
    const std::string obstacle = find_obstacle(line, world);
    say(world, obstacle);
    if (agree(obstacle.empty() ? 0 : status_usage) != 0) return status_usage;

    const std::vector<Subject> subjects = list_subjects(line.options);
    if (subjects.empty()) {
        say(world, "--sizes: all sizes are below one element");
        return status_usage;
    }
    std::size_t most_bytes = 8;
    for (const Subject& subject : subjects)
        most_bytes =
            std::max(most_bytes, subject.bytes * static_cast<std::size_t>(subject.has_blocks() ? world.ranks : 1));
    const std::unique_ptr<Buffers> buffers = take_buffers(most_bytes);
    if (buffers == nullptr) {
        say(world, fmt::format("not enough memory for two buffers of {} bytes per rank", most_bytes));
        return status_usage;
    }

    if (line.options.overlap) return measure_overlaps(subjects, world, *buffers, line.options);
    Report report{.environment = gather_environment(world, argc, argv), .options = line.options, .measurements = {}};
    const int status = measure_all(subjects, world, *buffers, report);
    return agree(std::max(status, write_files(world, report)));
}

}  // namespace

}  // namespace hcoll::bench

int main(int argc, char** argv) {
    hcoll::bench::check(MPI_Init(&argc, &argv));
    const int status = hcoll::bench::run(argc, argv);
    hcoll::bench::check(MPI_Finalize());
    return status;
}
