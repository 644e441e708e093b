// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/letters.hpp"
#include "tuning/text.hpp"

namespace hcoll {

std::optional<std::uint64_t> parse_parameter_value(const Parameter& parameter, std::string_view text) {
    if (parameter.kind == ParameterKind::choice) {
        const auto found = std::find(parameter.names.begin(), parameter.names.end(), text);
        if (found == parameter.names.end()) return std::nullopt;
        return static_cast<std::uint64_t>(found - parameter.names.begin());
    }
    if (parameter.kind == ParameterKind::number_or_auto && to_lower(text) == "auto") return automatic_number;
    const auto value = parse_size(text);
    if (!value || *value < parameter.minimum || *value > parameter.maximum) return std::nullopt;
    return value;
}

namespace {

using Problem = std::optional<std::string>;

constexpr std::string_view prefix = "LIBHCOLL_";
// Among the agreed settings: what stands in tables.
constexpr std::string_view table_key = "table";
constexpr std::string_view learned_key = "learned";

// What a choice may be besides an algorithm.
struct ChoiceWord {
    std::string_view word;
    AlgorithmChoice::Kind kind;
};
constexpr ChoiceWord choice_words[] = {{"auto", AlgorithmChoice::Kind::automatic},
                                       {"vendor", AlgorithmChoice::Kind::vendor},
                                       {"shared", AlgorithmChoice::Kind::shared}};

std::string meant(std::string_view word, std::span<const std::string_view> candidates) {
    const std::string_view guess = nearest(word, candidates);
    return guess.empty() ? std::string() : fmt::format("; did you mean {}?", guess);
}

Problem parse_parameters(std::string_view text, const Algorithm& algorithm, AlgorithmParameters& parameters) {
    std::vector<std::string_view> names;
    for (const Parameter* parameter : algorithm.parameters) names.push_back(parameter->name);
    for (const std::string_view item : split(text, ',')) {
        const std::size_t equals = item.find('=');
        const std::string_view key = item.substr(0, equals);
        const auto found = std::find_if(algorithm.parameters.begin(), algorithm.parameters.end(),
                                        [&](const Parameter* parameter) { return parameter->name == key; });
        if (names.empty()) return fmt::format("{} has no parameters", algorithm.name);
        if (found == algorithm.parameters.end())
            return fmt::format("{} has no parameter '{}' but {}{}", algorithm.name, key, alternatives(names),
                               meant(key, names));
        if (equals == std::string_view::npos)
            return fmt::format("the parameter {} of {} has no value; write {}={}", key, algorithm.name, key,
                               parameter_text(**found, algorithm.defaults));
        const auto value = parse_parameter_value(**found, item.substr(equals + 1));
        if (!value)
            return fmt::format("'{}' is no value for {} of {}, which is {}", item.substr(equals + 1), key,
                               algorithm.name, parameter_range(**found));
        (*found)->set(parameters, *value);
    }
    return std::nullopt;
}

// The one parameter of `shared`.
Problem parse_shared(std::string_view text, AlgorithmChoice& choice) {
    constexpr std::string_view key = "single_copy=";
    constexpr std::uint64_t largest = 1ULL << 30;
    if (!text.starts_with(key))
        return fmt::format("shared has no parameter '{}' but single_copy; write shared:single_copy=64k",
                           text.substr(0, text.find('=')));
    const auto value = parse_size(text.substr(key.size()));
    if (!value || *value > largest)
        return fmt::format("'{}' is no value for single_copy of shared, which is a size from 0 to {}",
                           text.substr(key.size()), size_text(largest));
    choice.single_copy = *value;
    return std::nullopt;
}

template <Collective collective>
Setting choice_setting(std::string_view name, std::string_view help) {
    return {name,
            "algorithm[:key=value,...]",
            "auto, vendor, shared, or an algorithm of the collective",
            help,
            true,
            [](Settings& settings, std::string_view text) {
                return parse_choice(collective, text, settings.choices[static_cast<std::size_t>(collective)]);
            },
            [](const Settings& settings) { return choice_text(settings.choice(collective)); }};
}

template <Collective collective>
Setting nonblocking_setting(std::string_view name, std::string_view help) {
    constexpr auto index = static_cast<std::size_t>(collective);
    return {name,
            "algorithm[:key=value,...]",
            "auto, vendor, or an algorithm of the blocking collective",
            help,
            true,
            [](Settings& settings, std::string_view text) {
                return parse_nonblocking_choice(collective, text, settings.nonblocking_choices[index]);
            },
            [](const Settings& settings) { return choice_text(settings.nonblocking_choices[index]); }};
}

// Numbers of cores: 2,4-6.
Problem parse_cores(std::string_view text, std::vector<int>& cores) {
    constexpr std::uint64_t most = 4095;
    std::vector<int> found;
    for (const std::string_view item : split(text, ',')) {
        const std::size_t dash = item.find('-');
        const auto first = parse_size(item.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_size(item.substr(dash + 1));
        if (!first || !last || *first > *last || *last > most)
            return fmt::format("'{}' is neither auto nor a list of cores like 2,4-6", text);
        for (std::uint64_t core = *first; core <= *last; ++core) found.push_back(static_cast<int>(core));
    }
    cores = found;
    return std::nullopt;
}

Problem parse_watchdog(std::string_view text, WatchLimit& limit) {
    using std::chrono::milliseconds;
    constexpr milliseconds shortest{100};
    constexpr milliseconds longest = std::chrono::hours{24};
    const std::string word = to_lower(text);
    if (word == "signal") {
        limit = {.kind = WatchLimit::Kind::signal};
        return std::nullopt;
    }
    const std::optional<bool> is_on = word == "1" ? std::nullopt : parse_switch(word);
    if (is_on == false) {
        limit = {};
        return std::nullopt;
    }
    const auto duration = parse_duration(word);
    if (!duration || *duration < shortest || *duration > longest)
        return fmt::format("'{}' is neither off nor signal nor a time from 100ms to 24h, as in 60s", text);
    limit = {.kind = WatchLimit::Kind::duration, .duration = *duration};
    return std::nullopt;
}

std::string watchdog_text(const WatchLimit& limit) {
    if (limit.kind == WatchLimit::Kind::off) return "off";
    return limit.kind == WatchLimit::Kind::signal ? "signal" : duration_text(limit.duration);
}

std::string cores_text(const std::vector<int>& cores) {
    if (cores.empty()) return "auto";
    std::string text;
    for (std::size_t first = 0; first < cores.size();) {
        std::size_t last = first;
        while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += last == first ? std::to_string(cores[first]) : fmt::format("{}-{}", cores[first], cores[last]);
        first = last + 1;
    }
    return text;
}

// One of an enumeration, whose values are in the order of `names`; `noun` is what they are.
template <typename Value>
Problem parse_name(std::string_view text, std::span<const std::string_view> names, std::string_view noun,
                   Value& value) {
    const auto found = std::find(names.begin(), names.end(), to_lower(text));
    if (found == names.end())
        return fmt::format("'{}' is no {}; {}s are {}{}", text, noun, noun, alternatives(names), meant(text, names));
    value = static_cast<Value>(found - names.begin());
    return std::nullopt;
}

Problem parse_on_off(std::string_view text, bool& value) {
    const auto parsed = parse_switch(text);
    if (!parsed) return fmt::format("'{}' is neither 0 nor 1", text);
    value = *parsed;
    return std::nullopt;
}

std::string_view on_off_text(bool value) { return value ? "1" : "0"; }

// A file's or folder's name, or off in any of its words. `is_neither`: what those of on are.
Problem parse_path(std::string_view text, std::string_view is_neither, std::string& path) {
    const std::optional<bool> is_on = parse_switch(text);
    if (is_on == true) return fmt::format("'{}' is {} (of one that is called so: ./{})", text, is_neither, text);
    path = is_on == false ? "off" : std::string(text);
    return std::nullopt;
}

Problem parse_number(std::string_view text, std::uint64_t minimum, std::uint64_t maximum, std::uint64_t& value) {
    const auto parsed = parse_size(text);
    if (!parsed || *parsed < minimum || *parsed > maximum)
        return fmt::format("'{}' is no number from {} to {}", text, size_text(minimum), size_text(maximum));
    value = *parsed;
    return std::nullopt;
}

const std::vector<Setting>& registry() {
    static const auto& list = *new std::vector<Setting>{
        {"LIBHCOLL_ENABLE", "switch", "0 or 1", "0 leaves every collective to the MPI library", true,
         [](Settings& settings, std::string_view text) { return parse_on_off(text, settings.enable); },
         [](const Settings& settings) { return std::string(on_off_text(settings.enable)); }},
        choice_setting<Collective::bcast>("LIBHCOLL_BCAST", "what MPI_Bcast runs"),
        choice_setting<Collective::reduce>("LIBHCOLL_REDUCE", "what MPI_Reduce runs"),
        choice_setting<Collective::allreduce>("LIBHCOLL_ALLREDUCE", "what MPI_Allreduce runs"),
        choice_setting<Collective::barrier>("LIBHCOLL_BARRIER", "what MPI_Barrier runs"),
        choice_setting<Collective::gather>("LIBHCOLL_GATHER", "what MPI_Gather runs"),
        choice_setting<Collective::scatter>("LIBHCOLL_SCATTER", "what MPI_Scatter runs"),
        choice_setting<Collective::allgather>("LIBHCOLL_ALLGATHER", "what MPI_Allgather runs"),
        {"LIBHCOLL_TABLE", "file", "auto, off, or the name of a file",
         "what hcoll-tune has measured on this machine: a JSON file, which rank 0 reads; it goes before the built-in "
         "rules. auto "
         "looks for one by the name of the cluster, or of network and CPU, where the library is installed "
         "(share/libhcoll/tables)",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             if (to_lower(text) == "auto") {
                 settings.table_file = "auto";
                 return std::nullopt;
             }
             return parse_path(text, "neither auto nor off nor the name of a file", settings.table_file);
         },
         [](const Settings& settings) { return settings.table_file; }},
        {"LIBHCOLL_RULES", "rules", "measured or model",
         "what chooses where neither a setting nor the table does: rules that were measured (all else is the MPI "
         "library's), or, "
         "over several nodes, also what a cost model says for a network of 100 Gbit/s",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, rule_set_names, "set of rules", settings.rules);
         },
         [](const Settings& settings) {
             return std::string(rule_set_names[static_cast<std::size_t>(settings.rules)]);
         }},
        {"LIBHCOLL_TUNE", "mode", "auto, table, learn or off",
         "auto tries a few candidates, the MPI library's own always among them, on the program's own calls where they "
         "are made "
         "often, and keeps the fastest; learn tries more of them, for longer; table tries nothing and goes by the "
         "table; off also "
         "leaves tables aside",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, tune_mode_names, "mode", settings.tune);
         },
         [](const Settings& settings) {
             return std::string(tune_mode_names[static_cast<std::size_t>(settings.tune)]);
         }},
        {"LIBHCOLL_LEARN", "file", "off, or the name of a file",
         "where what was learned is kept: a table, which the next run begins with. Rank 0 reads and writes it", true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_path(text, "neither off nor the name of a file", settings.learn_file);
         },
         [](const Settings& settings) { return settings.learn_file; }},
        {"LIBHCOLL_BITS", "promise", "fixed or free",
         "fixed: the same call at the same layout gives the same bits in every run, so reductions whose bits depend on "
         "the algorithm (floating point, but for sums and products of two ranks; operations of the application) are "
         "not "
         "tried with others; free: they are",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, bits_promise_names, "promise", settings.bits);
         },
         [](const Settings& settings) {
             return std::string(bits_promise_names[static_cast<std::size_t>(settings.bits)]);
         }},
        {"LIBHCOLL_REPRODUCIBLE", "switch", "0 or 1",
         "1 gives Reduce and Allreduce the same bits for any placement of the same ranks; algorithms that do not are "
         "replaced by one that does; a warning names what stays with the MPI library (LIBHCOLL_COMMUNICATORS)",
         true, [](Settings& settings, std::string_view text) { return parse_on_off(text, settings.reproducible); },
         [](const Settings& settings) { return std::string(on_off_text(settings.reproducible)); }},
        {"LIBHCOLL_CHECK", "choice", "0, 1 or warn",
         "1 has the ranks of a communicator compare, before each collective that the library interposes on, what MPI "
         "wants alike (collective, root, operation, bytes, number of the call) and what was decided to run; where they "
         "differ, one rank says how, and the job is aborted. warn: it goes on. All ranks wait for all in each call "
         "then",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, check_mode_names, "value", settings.check);
         },
         [](const Settings& settings) {
             return std::string(check_mode_names[static_cast<std::size_t>(settings.check)]);
         }},
        {"LIBHCOLL_VERIFY", "number", "0 to 1G",
         "1 compares the result of every collective that runs here with the MPI library's, 100 that of every hundredth "
         "call "
         "on a communicator; 0 none. Where they differ, one rank says how, the program gets the MPI library's result, "
         "and "
         "that algorithm is not used on that communicator again. The program's own operations are called for both",
         true,
         [](Settings& settings, std::string_view text) { return parse_number(text, 0, 1ULL << 30, settings.verify); },
         [](const Settings& settings) { return std::to_string(settings.verify); }},
        {"LIBHCOLL_WATCHDOG", "time", "off, signal, or a time from 100ms to 24h, as in 60s",
         "where a rank is longer in a collective, or waits longer for one that it has begun, all ranks are asked where "
         "they are, and one "
         "of them writes what each of them waits for, and who is waited for, to standard error; the job goes on. So it "
         "is on SIGUSR2 to any rank, "
         "where the program leaves that signal alone; signal: only then. Processes listen at a TCP port for it",
         true, [](Settings& settings, std::string_view text) { return parse_watchdog(text, settings.watchdog); },
         [](const Settings& settings) { return watchdog_text(settings.watchdog); }},
        {"LIBHCOLL_TRACE", "folder", "off, or the name of a folder",
         "each rank writes there when its collectives and the steps of their plans began and ended, on a clock that "
         "all "
         "have in common, in the trace event format, which Perfetto opens; `hcoll-info --trace` explains it. What a "
         "rank "
         "that was killed had noted is there, too",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_path(text, "neither off nor the name of a folder", settings.trace_folder);
         },
         [](const Settings& settings) { return settings.trace_folder; }},
        {"LIBHCOLL_TRACE_MEMORY", "size", "64k to 4G",
         "what a rank keeps for LIBHCOLL_TRACE while it runs, in that folder: 64 bytes for each collective and each "
         "step; "
         "of more than that the oldest give way",
         true,
         [](Settings& settings, std::string_view text) {
             return parse_number(text, 64 << 10, 4ULL << 30, settings.trace_memory);
         },
         [](const Settings& settings) { return size_text(settings.trace_memory); }},
        {"LIBHCOLL_SPARSE", "switch", "0 or 1",
         "1 keeps to neighbors: collectives run around the ring or along the line of ranks, so that n ranks that use "
         "MPI_COMM_WORLD alone open 2 n connections, where the MPI library opens them when they are needed; algorithms "
         "that talk to others are replaced, no memory is shared, and where ranks sit does not matter",
         true, [](Settings& settings, std::string_view text) { return parse_on_off(text, settings.sparse); },
         [](const Settings& settings) { return std::string(on_off_text(settings.sparse)); }},
        {"LIBHCOLL_GPU", "choice", "auto, on or off",
         "are buffers in a GPU's memory, which collectives that run here copy through the host's? auto asks the GPU's "
         "runtime (CUDA, HIP) about each buffer where this machine has a device and the runtime is loaded; on as if "
         "there "
         "were one; off never",
         false,
         [](Settings& settings, std::string_view text) {
             return parse_name(text, gpu_use_names, "value", settings.gpu);
         },
         [](const Settings& settings) { return std::string(gpu_use_names[static_cast<std::size_t>(settings.gpu)]); }},
        {"LIBHCOLL_SETUP_CALLS", "number", "auto, or 0 to 1G",
         "how many blocking collective calls on a communicator go to the MPI library before it is set up, in the "
         "next call after them in which all ranks wait for all (MPI_Barrier, MPI_Allreduce, MPI_Allgather). 0: where "
         "it "
         "is made (MPI_COMM_WORLD in MPI_Init). auto is 5 for MPI_COMM_WORLD, and for others when calls and bytes make "
         "it worth while; later where communicators were freed soon. Communicators of sessions always count to 5",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             settings.setup_calls = automatic_setup_calls;
             if (text == "auto") return std::nullopt;
             const Problem problem = parse_number(text, 0, 1ULL << 30, settings.setup_calls);
             return problem ? std::optional(*problem + ", nor auto") : std::nullopt;
         },
         [](const Settings& settings) {
             return settings.setup_calls == automatic_setup_calls ? std::string("auto")
                                                                  : std::to_string(settings.setup_calls);
         }},
        {"LIBHCOLL_COMMUNICATORS", "number", "0 to 1M",
         "how many communicators may be set up at a time; each takes memory on all of its ranks", true,
         [](Settings& settings, std::string_view text) {
             return parse_number(text, 0, 1ULL << 20, settings.communicators);
         },
         [](const Settings& settings) { return std::to_string(settings.communicators); }},
        {"LIBHCOLL_PLAN_CACHE", "size", "0 to 1G",
         "memory for the plans of one communicator that are kept for later calls; of those that are larger the last "
         "one is kept, too",
         true,
         [](Settings& settings, std::string_view text) {
             return parse_number(text, 0, 1ULL << 30, settings.plan_cache);
         },
         [](const Settings& settings) { return size_text(settings.plan_cache); }},
        {"LIBHCOLL_SHARED_MEMORY", "switch", "0 or 1",
         "0: the ranks of a node share no memory, and send one another messages of the MPI library instead", true,
         [](Settings& settings, std::string_view text) { return parse_on_off(text, settings.shared_memory); },
         [](const Settings& settings) { return std::string(on_off_text(settings.shared_memory)); }},
        {"LIBHCOLL_SHARED_BUFFER", "size", "auto, or 64k to 64M",
         "shared memory that a rank has for long messages of one communicator to the ranks of its node; where all "
         "ranks are on one node, half as much comes on top for results, and as much again for algorithms that send "
         "messages. auto is 512k, and where all ranks are on one node and share its cores, up to 4M, 16M for all of "
         "them",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             settings.shared_buffer = 0;
             if (text == "auto") return std::nullopt;
             const Problem problem = parse_number(text, 64 << 10, 64 << 20, settings.shared_buffer);
             return problem ? std::optional(*problem + ", nor auto") : std::nullopt;
         },
         [](const Settings& settings) {
             return settings.shared_buffer == 0 ? std::string("auto") : size_text(settings.shared_buffer);
         }},
        {"LIBHCOLL_SINGLE_COPY", "way", "auto, off, cma or xpmem",
         "how ranks of one node copy long messages from one another's memory, where `shared:single_copy=...` or a rule "
         "says so: by process_vm_readv (cma) or XPMEM; auto takes XPMEM where it is there, and does what rules say "
         "only where a test shows it to be faster. What the system refuses is not used",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, single_copy_names, "way", settings.single_copy);
         },
         [](const Settings& settings) {
             return std::string(single_copy_names[static_cast<std::size_t>(settings.single_copy)]);
         }},
        {"LIBHCOLL_TOPOLOGY", "layout",
         "auto; NxSxC or NxC (nodes x sockets x cores) or NxSxMxLxC (nodes x sockets x NUMA nodes x last-level "
         "caches x cores), with :cyclic or :reverse behind it; node.socket.core,... with a seat for each rank, or "
         "node.socket.numa.cache.core,...; or a file (a name with a /) with a line `node [socket [core]]` or "
         "`node socket numa cache core` for each rank",
         "where the ranks of MPI_COMM_WORLD are taken to be, to try any machine on one; auto takes them where they are",
         true, [](Settings& settings, std::string_view text) { return VirtualLayout::parse(text, settings.topology); },
         [](const Settings& settings) { return settings.topology.text(); }},
        nonblocking_setting<Collective::bcast>("LIBHCOLL_IBCAST", "what MPI_Ibcast runs"),
        nonblocking_setting<Collective::reduce>("LIBHCOLL_IREDUCE", "what MPI_Ireduce runs"),
        nonblocking_setting<Collective::allreduce>("LIBHCOLL_IALLREDUCE", "what MPI_Iallreduce runs"),
        {"LIBHCOLL_PROGRESS", "mode", "auto, thread, calls or off",
         "what moves non-blocking collectives that run here: a thread of this library, which needs "
         "MPI_THREAD_MULTIPLE and asks for it; the application's calls of MPI; or nothing, so that they are the MPI "
         "library's. auto is thread where the process has MPI_THREAD_MULTIPLE anyway, else calls with Open MPI, "
         "else off",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, progress_mode_names, "mode", settings.progress);
         },
         [](const Settings& settings) {
             return std::string(progress_mode_names[static_cast<std::size_t>(settings.progress)]);
         }},
        {"LIBHCOLL_PROGRESS_CORES", "cores", "auto, or numbers of the operating system like 2,4-6",
         "where the progress thread runs; auto: on any core where each rank of the node could have two, else where its "
         "process does",
         false,
         [](Settings& settings, std::string_view text) -> Problem {
             settings.progress_cores.clear();
             return text == "auto" ? std::nullopt : parse_cores(text, settings.progress_cores);
         },
         [](const Settings& settings) { return cores_text(settings.progress_cores); }},
        {"LIBHCOLL_REPORT", "switch or file", "0, 1 or the name of a file that ends in .json",
         "1 prints at the end what was called, what it ran, and how much of that time was waiting for late ranks; a "
         "file "
         "name writes it there",
         true,
         [](Settings& settings, std::string_view text) -> Problem {
             const auto value = parse_switch(text);
             if (!value && !text.ends_with(".json"))
                 return fmt::format("'{}' is neither 0 nor 1 nor the name of a file that ends in .json", text);
             settings.report = value ? (*value ? "1" : "0") : std::string(text);
             return std::nullopt;
         },
         [](const Settings& settings) { return settings.report; }},
        {"LIBHCOLL_LOG", "level", "off, error, warn, info or debug",
         "what is printed while the program runs, to standard error", false,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, log_level_names, "level", settings.log);
         },
         [](const Settings& settings) { return std::string(log_level_names[static_cast<std::size_t>(settings.log)]); }},
        {"LIBHCOLL_MPI", "name", "auto, mpich, openmpi, abi or none",
         "what the MPI library is, where libhcoll does not recognize it by its version: of MPICH's ABI (MPICH, Intel "
         "MPI, Cray MPICH, MVAPICH) or Open "
         "MPI's; one of the standard ABI of MPI 5.0 says so by itself; none leaves everything to it. Not agreed by "
         "ranks: all must have the "
         "same. "
         "One that the library cannot have is named, and everything is left to it",
         false,
         [](Settings& settings, std::string_view text) -> Problem {
             return parse_name(text, mpi_flavour_names, "ABI", settings.mpi_flavour);
         },
         [](const Settings& settings) {
             return std::string(mpi_flavour_names[static_cast<std::size_t>(settings.mpi_flavour)]);
         }},
    };
    return list;
}

}  // namespace

std::string parameter_range(const Parameter& parameter) {
    if (parameter.kind == ParameterKind::choice) return alternatives(parameter.names);
    if (parameter.kind == ParameterKind::size)
        return fmt::format("a size from {} to {}", size_text(parameter.minimum), size_text(parameter.maximum));
    return fmt::format("{}a number from {} to {}", parameter.kind == ParameterKind::number_or_auto ? "auto or " : "",
                       parameter.minimum, parameter.maximum);
}

std::string parameter_text(const Parameter& parameter, const AlgorithmParameters& parameters) {
    const std::uint64_t value = parameter.get(parameters);
    if (parameter.kind == ParameterKind::choice) return std::string(parameter.names[value]);
    if (parameter.kind == ParameterKind::number_or_auto && value == automatic_number) return "auto";
    return parameter.kind == ParameterKind::size ? size_text(value) : std::to_string(value);
}

namespace {

// `may_be_shared`: over shared memory; `name_of_call` is for messages.
Problem parse_choice_of(Collective collective, std::string_view name_of_call, bool may_be_shared, std::string_view text,
                        AlgorithmChoice& choice) {
    const std::size_t colon = text.find(':');
    std::string name = to_lower(text.substr(0, colon));
    std::replace(name.begin(), name.end(), '-', '_');
    const auto is_possible = [&](AlgorithmChoice::Kind kind) {
        return kind != AlgorithmChoice::Kind::shared || may_be_shared;
    };
    for (const auto& [word, kind] : choice_words) {
        if (name != word || !is_possible(kind)) continue;
        AlgorithmChoice chosen{.kind = kind, .algorithm = nullptr, .parameters = {}};
        if (colon != std::string_view::npos) {
            if (kind != AlgorithmChoice::Kind::shared) return fmt::format("'{}' has no parameters", name);
            if (Problem problem = parse_shared(text.substr(colon + 1), chosen)) return problem;
        }
        choice = chosen;
        return std::nullopt;
    }
    const Algorithm* algorithm = find_algorithm(collective, name);
    if (algorithm == nullptr) {
        std::vector<std::string_view> names;
        for (const auto& [word, kind] : choice_words)
            if (is_possible(kind)) names.push_back(word);
        for (const Algorithm& candidate : algorithms())
            if (candidate.collective == collective) names.push_back(candidate.name);
        return fmt::format("'{}' is no algorithm for {}; valid are {}{}", text.substr(0, colon), name_of_call,
                           alternatives(names), meant(name, names));
    }
    AlgorithmParameters parameters = algorithm->defaults;
    if (colon != std::string_view::npos)
        if (Problem problem = parse_parameters(text.substr(colon + 1), *algorithm, parameters)) return problem;
    if (parameters.split != 0 && has_two_trees(parameters.levels))
        return "s needs one tree at every level, and two_tree is two; without s, or with another tree, it can be had";
    choice = {AlgorithmChoice::Kind::own, algorithm, parameters};
    return std::nullopt;
}

}  // namespace

std::optional<std::string> parse_choice(Collective collective, std::string_view text, AlgorithmChoice& choice) {
    return parse_choice_of(collective, name_of(collective), true, text, choice);
}

std::optional<std::string> parse_nonblocking_choice(Collective collective, std::string_view text,
                                                    AlgorithmChoice& choice) {
    AlgorithmChoice chosen;
    const std::string_view name = nonblocking_names[static_cast<std::size_t>(collective)];
    if (Problem problem = parse_choice_of(collective, name, false, text, chosen)) return problem;
    if (chosen.kind == AlgorithmChoice::Kind::own && needs_leaders(*chosen.algorithm, chosen.parameters))
        return "network=vendor cannot run in the background: the MPI library's collectives would meet in any order";
    choice = chosen;
    return std::nullopt;
}

namespace {

std::string text_of(const AlgorithmChoice& choice, bool with_defaults) {
    if (choice.single_copy != 0) return fmt::format("shared:single_copy={}", size_text(choice.single_copy));
    for (const auto& [word, kind] : choice_words)
        if (choice.kind == kind) return std::string(word);
    std::string text(choice.algorithm->name);
    char separator = ':';
    for (const Parameter* parameter : choice.algorithm->parameters) {
        if (!with_defaults && parameter->get(choice.parameters) == parameter->get(choice.algorithm->defaults)) continue;
        text += fmt::format("{}{}={}", separator, parameter->name, parameter_text(*parameter, choice.parameters));
        separator = ',';
    }
    return text;
}

}  // namespace

std::string choice_text(const AlgorithmChoice& choice) { return text_of(choice, true); }

std::string short_choice_text(const AlgorithmChoice& choice) { return text_of(choice, false); }

std::span<const Setting> settings_registry() { return registry(); }

Environment hcoll_environment() {
    Environment environment;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (text.starts_with(prefix) && equals != std::string_view::npos)
            environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    std::sort(environment.begin(), environment.end());
    return environment;
}

namespace {

// What the module files of sites, Spack and EasyBuild set for any package.
bool is_of_module_files(std::string_view name) {
    constexpr std::string_view words[] = {"ROOT", "DIR", "HOME", "BASE",    "PREFIX", "PATH",
                                          "BIN",  "LIB", "INC",  "INCLUDE", "VERSION"};
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

}  // namespace

Settings parse_settings(const Environment& environment, std::vector<std::string>& warnings) {
    Settings settings;
    std::vector<std::string_view> names;
    for (const Setting& setting : registry()) names.push_back(setting.name);
    for (const auto& [name, value] : environment) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            if (is_of_module_files(name)) continue;
            warnings.push_back(fmt::format("there is no setting {}{}", name, meant(name, names)));
            continue;
        }
        const Setting& setting = registry()[static_cast<std::size_t>(found - names.begin())];
        if (value.empty()) continue;  // as if it were not set
        if (const Problem problem = setting.parse(settings, value))
            warnings.push_back(fmt::format("{}: {}; {} stays in force", name, *problem, setting.text(settings)));
    }
    const auto check_bits = [&](std::string_view name, Collective collective, const AlgorithmChoice& choice) {
        const bool shared = choice.kind == AlgorithmChoice::Kind::shared && is_reduction(collective);
        const bool moves = choice.kind == AlgorithmChoice::Kind::own && choice.algorithm->bits_need_placement;
        if (settings.reproducible && (shared || moves))
            warnings.push_back(
                fmt::format("LIBHCOLL_{}: {} gives other bits for other placements; LIBHCOLL_REPRODUCIBLE=1 runs "
                            "reproducible instead",
                            to_upper(name), shared ? "shared" : choice.algorithm->name));
    };
    for (std::size_t i = 0; i < collective_count; ++i)
        check_bits(name_of(static_cast<Collective>(i)), static_cast<Collective>(i), settings.choices[i]);
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        check_bits(nonblocking_names[i], static_cast<Collective>(i), settings.nonblocking_choices[i]);
    if (settings.sparse && settings.reproducible) {
        warnings.emplace_back(
            "LIBHCOLL_SPARSE: what LIBHCOLL_REPRODUCIBLE=1 runs talks to more than neighbors; 0 is in force");
        settings.sparse = false;
    }
    // Whose ranks it would be shared by is not asked for.
    if (settings.sparse) settings.shared_memory = false;
    const auto check = [&](std::string_view name, const AlgorithmChoice& choice) {
        if (!settings.sparse || keeps_to_neighbors(choice)) return;
        warnings.push_back(
            fmt::format("LIBHCOLL_{}: {} talks to more than neighbors; LIBHCOLL_SPARSE=1 runs another "
                        "algorithm instead",
                        to_upper(name), choice_text(choice)));
    };
    for (std::size_t i = 0; i < collective_count; ++i) check(collective_names[i].name, settings.choices[i]);
    for (std::size_t i = 0; i < nonblocking_count; ++i) check(nonblocking_names[i], settings.nonblocking_choices[i]);
    return settings;
}

bool keeps_to_neighbors(const AlgorithmChoice& choice) {
    switch (choice.kind) {
        case AlgorithmChoice::Kind::own: return is_between_neighbors(*choice.algorithm, choice.parameters);
        case AlgorithmChoice::Kind::shared: return false;
        case AlgorithmChoice::Kind::automatic:
        case AlgorithmChoice::Kind::vendor: break;
    }
    return true;
}

std::string agreed_text(const Settings& settings) {
    std::string text;
    for (const Setting& setting : registry())
        if (setting.agreed) text += fmt::format("{}={}\n", setting.name, setting.text(settings));
    if (settings.table != nullptr) text += fmt::format("{}={}\n", table_key, wire_text(*settings.table));
    if (settings.learned != nullptr) text += fmt::format("{}={}\n", learned_key, wire_text(*settings.learned));
    return text;
}

void adopt_agreed_text(std::string_view text, Settings& settings) {
    settings.table = nullptr;
    settings.learned = nullptr;
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        for (const auto& [key, table] : {std::pair{table_key, &settings.table}, {learned_key, &settings.learned}})
            if (line.substr(0, equals) == key)
                if (auto parsed = parse_wire_text(line.substr(equals + 1)))
                    *table = std::make_shared<const Table>(std::move(*parsed));
        for (const Setting& setting : registry())
            if (setting.agreed && setting.name == line.substr(0, equals))
                setting.parse(settings, line.substr(equals + 1));
    }
}

}  // namespace hcoll
