// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "hcoll/build.h"
#include "quantity.hpp"

namespace hcoll::bench {

namespace {

constexpr const char* description =
    "Times the collectives of libhcoll ('own') and of the MPI library underneath ('vendor') in turn, in one process.\n"
    "Start it as an MPI program with libhcoll preloaded:\n"
    "  mpiexec -n 4 env LD_PRELOAD=libhcoll.so hcoll-bench.mpich --sizes 8:16M";

constexpr const char* method =
    "Method: a sample is the time per call of a block of calls after a barrier, the maximum over the ranks. Blocks of\n"
    "the two sides alternate and swap their order from pair to pair. 'vendor/own' is the median of the ratios of the\n"
    "pairs: above 1, libhcoll is faster. '+-%' is the distance of the quartiles in percent of the median. Calls of a\n"
    "block follow one another at once, so the root of a bcast, or the leaves of a reduce, may run ahead; --sync times\n"
    "each call alone after a barrier instead. 'p2p' is the shortest one-way time found for the same bytes between the\n"
    "first and the last rank; only a stream of calls that overlap, or a message sent in pieces by several ranks, can\n"
    "be faster. For a barrier it is that of an empty message. 'own/exchange of flags' compares short messages on one\n"
    "node with every rank raising a flag in shared memory and waiting for those of all others, and 'own/copy' a long\n"
    "bcast with a copy by each rank, out of shared memory, of what the root has just written; in blocks between them.\n"
    "Exit status: 0 all well, 1 a wrong result or output that could not be written, 2 bad options.";

template <class Enum, std::size_t N>
Enum read_name(std::string_view option, std::string_view text, const std::array<std::string_view, N>& names) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
        throw std::invalid_argument(
            fmt::format("{}: '{}' is not known; choose from {}", option, text, fmt::join(names, ", ")));
    }
    return static_cast<Enum>(found - names.begin());
}

// Puts the name of the option in front of what a reader has to say about its value.
template <class Read>
auto reading(std::string_view option, const Read& read) {
    try {
        return read();
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(fmt::format("{}: {}", option, error.what()));
    }
}

void expect(bool condition, std::string_view sentence) {
    if (!condition) throw std::invalid_argument(std::string{sentence});
}

void check_consistency(const Options& options) {
    expect(!(options.own_only && options.vendor_only), "--own-only and --vendor-only exclude each other");
    expect(options.repetitions >= 1, "--repetitions: at least 1");
    expect(options.warmup >= 1, "--warmup: at least 1");
    expect(options.learn >= 0, "--learn: at least 0");
    expect(options.min_iterations >= 1, "--min-iterations: at least 1");
    expect(options.max_iterations >= options.min_iterations, "--max-iterations: not below --min-iterations");
    expect(options.root >= 0, "--root: at least 0");
    expect(!options.overlap || std::none_of(options.collectives.begin(), options.collectives.end(), has_blocks),
           "--overlap is of bcast, reduce and allreduce: libhcoll leaves the other non-blocking collectives to the MPI "
           "library");
    expect(!options.in_place || std::any_of(options.collectives.begin(), options.collectives.end(), reduces),
           "--in-place is of reduce and allreduce, and --collectives names neither");
    expect(!options.overlap || (options.json_file.empty() && options.plot_file.empty()),
           "--overlap prints a table only: without --json and --plot");
    const std::string& plot = options.plot_file;
    expect(plot.empty() || plot.ends_with(".png") || plot.ends_with(".svg"),
           "--plot: the name of the file must end in .png or .svg");
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
    CommandLine line;
    Options& options = line.options;
    std::string collectives = "bcast,reduce,allreduce,barrier";
    std::string sizes = "8:1M:2";
    std::string type = "double";
    std::string op = "sum";
    std::string block_time = "2ms";

    CLI::App app{description, "hcoll-bench"};
    app.set_version_flag("--version", HCOLL_VERSION_TEXT);
    app.footer(method);
    app.add_option("--collectives", collectives,
                   "Which collectives: a comma list of bcast, reduce, allreduce, barrier, gather, scatter, allgather")
        ->capture_default_str();
    app.add_option("--sizes", sizes,
                   "Sizes in bytes: a comma list (8,1k,4M) of sizes or of ranges first:last[:factor]; rounded down to "
                   "whole elements, sizes below one element are skipped; of gather, scatter and allgather those of one "
                   "rank's block; a barrier has none")
        ->capture_default_str();
    app.add_option("--type", type, "Elements of reduce and allreduce: float, double, int or char")
        ->capture_default_str();
    app.add_option("--op", op, "Operator of reduce and allreduce: sum, max, min or prod")->capture_default_str();
    app.add_option("--root", options.root, "Root of bcast, reduce, gather and scatter")->capture_default_str();
    app.add_flag("--in-place", options.in_place, "Reduce and allreduce with MPI_IN_PLACE");
    app.add_flag("--sync", options.sync, "A barrier before each single call; the calls are timed alone");
    app.add_flag(
        "--overlap", options.overlap,
        "Non-blocking collectives beside work that makes no MPI calls: how much of them is hidden, and what that "
        "costs the work");
    app.add_flag(
        "--verify", options.verify,
        "Time nothing: run everything that the library can, over all parts of the allocation, compare each "
        "result with what it must be, and say so in one line. --collectives (here ibcast, ireduce, iallreduce, "
        "too) and --sizes say of what; all otherwise");
    app.add_flag("--own-only", options.own_only, "Measure only libhcoll");
    app.add_flag("--vendor-only", options.vendor_only, "Measure only the MPI library underneath");
    app.add_option("--repetitions", options.repetitions, "Pairs of blocks per size")->capture_default_str();
    app.add_option("--block-time", block_time, "Aimed-at time of a block: a number with s, ms or us (ms if none)")
        ->capture_default_str();
    app.add_option("--min-iterations", options.min_iterations, "Fewest calls in a block")->capture_default_str();
    app.add_option("--max-iterations", options.max_iterations, "Most calls in a block")->capture_default_str();
    app.add_option("--learn", options.learn,
                   "Calls of the library before anything is timed, at each size, in which it finds out what is fastest "
                   "(LIBHCOLL_TUNE); for 20 s at most; 0: none")
        ->capture_default_str();
    app.add_option("--warmup", options.warmup,
                   "Calls of each side before anything is timed, at each size; libhcoll sets up a communicator only "
                   "after its first few calls")
        ->capture_default_str();
    app.add_flag_callback(
        "--no-bound", [&options] { options.bound = false; },
        "Do not measure the point-to-point time and the memcpy of the same bytes");
    app.add_option("--json", options.json_file, "Write everything measured to this file");
    app.add_option("--plot", options.plot_file, "Draw a picture, .png or .svg, with gnuplot");

    try {
        app.parse(argc, argv);
        if (options.verify) {
            if (app.count("--collectives") != 0) options.acceptance.calls = split(collectives, ',');
            if (app.count("--sizes") != 0)
                options.acceptance.sizes = reading("--sizes", [&] { return read_sizes(sizes); });
            return line;
        }
        for (const std::string& item : split(collectives, ',')) {
            const auto collective = read_name<Collective>("--collectives", item, collective_names);
            auto& chosen = options.collectives;
            if (std::find(chosen.begin(), chosen.end(), collective) == chosen.end()) chosen.push_back(collective);
        }
        options.sizes = reading("--sizes", [&] { return read_sizes(sizes); });
        options.type = read_name<ElementType>("--type", type, element_type_names);
        options.op = read_name<Operator>("--op", op, operator_names);
        options.block_seconds = reading("--block-time", [&] { return read_duration(block_time); });
        check_consistency(options);
    } catch (const CLI::CallForHelp&) {
        line.wants_help = true;
        line.help = app.help();
    } catch (const CLI::CallForVersion&) {
        line.wants_help = true;
        line.help = app.version() + "\n";
    } catch (const std::exception& error) {
        line.error = error.what();
    }
    return line;
}

}  // namespace hcoll::bench
