// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "tuning/text.hpp"

namespace hcoll::simulation {

namespace {

constexpr std::array<std::string_view, 5> selectors = {"ompi", "mpich", "mvapich2", "impi", "default"};
constexpr std::uint64_t element_bytes = 8;  // of reductions

Collective find_collective(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Collective each : {Collective::bcast, Collective::reduce, Collective::allreduce, Collective::barrier}) {
        if (name_of(each) == name) return each;
        names.push_back(name_of(each));
    }
    throw std::runtime_error(
        fmt::format("'{}' is no collective that is simulated; those are {}", name, alternatives(names)));
}

void check_algorithm(const Options& options) {
    AlgorithmChoice choice;
    if (const auto problem = parse_choice(options.collective, options.algorithm, choice))
        throw std::runtime_error(*problem);
    if (choice.kind == AlgorithmChoice::Kind::shared)
        throw std::runtime_error("shared memory cannot be simulated; name an algorithm that sends messages");
    if (choice.kind != AlgorithmChoice::Kind::own && choice.kind != AlgorithmChoice::Kind::automatic)
        throw std::runtime_error(
            fmt::format("'{}' is no algorithm of the library's own; see hcoll-info", options.algorithm));
}

std::vector<std::uint64_t> read_bytes(Collective collective, const std::string& text) {
    std::vector<std::uint64_t> all;
    for (const std::string_view item : split(text, ',')) {
        const auto bytes = parse_size(item);
        if (!bytes || *bytes == 0 || *bytes >= (std::uint64_t{1} << 31))
            throw std::runtime_error(fmt::format("'{}' is no size; write for example 8, 64k or 4M", item));
        if (is_reduction(collective) && *bytes % element_bytes != 0 && *bytes != element_bytes / 2)
            throw std::runtime_error(
                fmt::format("{} bytes are no whole number of elements of {} bytes", *bytes, element_bytes));
        all.push_back(*bytes);
    }
    return all;
}

void complete(Options& options, const std::string& machine_file, const std::string& collective,
              const std::string& bytes, int ranks_per_node) {
    options.machine = machine_with(machine_file, ranks_per_node);
    options.collective = find_collective(collective);
    options.bytes =
        has_message(options.collective) ? read_bytes(options.collective, bytes) : std::vector<std::uint64_t>{0};
    if (options.algorithm.empty() == options.selector.empty())
        throw std::runtime_error("name either --algorithm or --selector");
    if (!options.algorithm.empty()) check_algorithm(options);
    check_selector(options.selector);
    check_selector(options.vendor);
    const bool has_any = options.learn != 0 || !(options.table + options.rules + options.vendor).empty();
    if (options.algorithm != "auto" && has_any)
        throw std::runtime_error("--table, --rules, --vendor and --learn are for --algorithm auto");
    if (!options.table.empty() && !std::filesystem::is_regular_file(options.table))
        throw std::runtime_error(fmt::format("there is no table {}", options.table));
    if (options.ranks < 2) throw std::runtime_error("there are 2 ranks at least");
    if (options.root < 0 || options.root >= options.ranks)
        throw std::runtime_error(fmt::format("the root is no rank from 0 to {}", options.ranks - 1));
    const auto of_a_node = static_cast<unsigned long>(options.machine.ranks_per_node);
    if ((static_cast<unsigned long>(options.ranks) + of_a_node - 1) / of_a_node > options.machine.fabric.nodes())
        throw std::runtime_error(
            fmt::format("{} has room for {} ranks", options.machine.name,
                        options.machine.fabric.nodes() * static_cast<unsigned long>(options.machine.ranks_per_node)));
    if (options.rotate_root && (options.check || !has_root(options.collective)))
        throw std::runtime_error("--rotate-root is for collectives with a root, and not checked");
    if (options.compute < 0 || options.compute > 1e6) throw std::runtime_error("--compute is a number of seconds");
    if (options.noise < 0 || options.noise > 0.5) throw std::runtime_error("noise is a share from 0 to 0.5");
}

}  // namespace

Machine machine_with(const std::string& file, int ranks_per_node) {
    Machine machine = read_machine(file);
    if (ranks_per_node == 0) return machine;
    if (ranks_per_node < 1 || ranks_per_node > machine.ranks_per_node)
        throw std::runtime_error(
            fmt::format("a node of {} has room for 1 to {} ranks", machine.name, machine.ranks_per_node));
    machine.ranks_per_node = ranks_per_node;
    if (ranks_per_node % machine.sockets_per_node != 0) machine.sockets_per_node = 1;
    return machine;
}

void check_selector(const std::string& selector) {
    if (!selector.empty() && std::find(selectors.begin(), selectors.end(), selector) == selectors.end())
        throw std::runtime_error(
            fmt::format("'{}' is no selector of SimGrid; those are {}", selector, alternatives(selectors)));
}

bool read_options(int argc, char** argv, Options& options, int& status) {
    CLI::App app(
        "Simulates collectives on a machine, in SimGrid; prints a line of JSON for each size. scripts/simulate runs "
        "it.");
    std::string machine;
    std::string collective;
    std::string bytes = "8";
    app.add_option("--machine", machine, "file of simulation/machines")->required();
    app.add_option("--ranks", options.ranks, "how many; they fill node after node")->required();
    int ranks_per_node = 0;
    app.add_option("--ranks-per-node", ranks_per_node, "(default: as the machine's file has it)");
    app.add_option("--collective", collective, "bcast, reduce, allreduce or barrier")->required();
    app.add_option("--bytes", bytes, "sizes of the message, with commas between");
    app.add_option("--algorithm", options.algorithm, "of the library, with its parameters");
    app.add_option("--table", options.table, "that --algorithm auto goes by (LIBHCOLL_TABLE)");
    app.add_option("--rules", options.rules,
                   "measured or model: what --algorithm auto goes by beside (LIBHCOLL_RULES)");
    app.add_option("--vendor", options.vendor,
                   "SimGrid's algorithms for what --algorithm auto leaves to the MPI library");
    app.add_option("--selector", options.selector,
                   "SimGrid's algorithms as ompi, mpich, mvapich2, impi or default chooses them");
    app.add_option("--root", options.root, "of Bcast and Reduce");
    app.add_option("--warmup", options.warmup, "calls before those that are timed")->check(CLI::Range(0, 1000));
    app.add_option("--repetitions", options.repetitions, "calls that are timed")->check(CLI::Range(1, 100000));
    app.add_option(
           "--learn", options.learn,
           "calls of each size before, on which candidates are tried (LIBHCOLL_TUNE=auto), for --algorithm auto")
        ->check(CLI::Range(0, 100000));
    app.add_flag("--check", options.check, "move real data, and check every rank's result");
    app.add_flag("--predefined-op", options.predefined_op,
                 "reduce by MPI_SUM, whose time SimGrid's own algorithms do not charge");
    app.add_flag("--back-to-back", options.back_to_back,
                 "time all repetitions as one, without waiting for all ranks between two calls");
    app.add_flag("--rotate-root", options.rotate_root, "each call has another root, evenly over all ranks");
    app.add_option("--compute", options.compute, "seconds that ranks compute before each call; not counted as its");
    app.add_option("--noise", options.noise, "share of each rank's time that is taken from it, such as 0.05");
    app.add_flag("--noise-together", options.noise_together, "all ranks' pauses begin at the same time");
    app.add_option("--seed", options.seed, "of the noise");
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {
        status = app.exit(success);
        return false;
    } catch (const CLI::ParseError& problem) {
        std::fputs(fmt::format("hcoll-simulate: {}\n", problem.what()).c_str(), stderr);
        status = 2;
        return false;
    }
    try {
        complete(options, machine, collective, bytes, ranks_per_node);
    } catch (const std::runtime_error& problem) {
        std::fputs(fmt::format("hcoll-simulate: {}\n", problem.what()).c_str(), stderr);
        status = 2;
        return false;
    }
    return true;
}

}  // namespace hcoll::simulation
