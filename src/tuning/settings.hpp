// SPDX-License-Identifier: BSD-3-Clause
// What a user can set, in one registry: parsing, hcoll-info and docs/settings.md are made from it.
//
// Settings are environment variables with the prefix LIBHCOLL_. Those that decide what a call does are read by one rank
// and agreed by all (rule 1 of docs/architecture.md); those that are about printing are each process's own.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/catalog.hpp"
#include "topology/virtual_layout.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// What a collective is to run: what the rules say, the vendor's own, shared memory (progress/node/node_collectives.hpp; what it
// cannot run is the rules' or the vendor's), or one of our plans.
struct AlgorithmChoice {
    enum class Kind : std::uint8_t { automatic, vendor, shared, own } kind = Kind::automatic;
    const Algorithm* algorithm = nullptr;  // own only
    AlgorithmParameters parameters;        // own only
    std::uint64_t single_copy = 0;         // shared only: messages of that many bytes or more are copied once; 0: none
};

// As LIBHCOLL_BCAST and the like take it. A mistake is described in one sentence, and `choice` stays as it was.
std::optional<std::string> parse_choice(Collective collective, std::string_view text, AlgorithmChoice& choice);
// As LIBHCOLL_IBCAST and the like take it: what can run in the background.
std::optional<std::string> parse_nonblocking_choice(Collective collective, std::string_view text,
                                                    AlgorithmChoice& choice);
// The same in full: algorithm and every parameter.
std::string choice_text(const AlgorithmChoice& choice);
// The same with those parameters alone that are not the algorithm's defaults.
std::string short_choice_text(const AlgorithmChoice& choice);

// May it run where ranks keep to neighbors (LIBHCOLL_SPARSE)?
bool keeps_to_neighbors(const AlgorithmChoice& choice);

// One parameter's value from text; nothing where it has no such value.
std::optional<std::uint64_t> parse_parameter_value(const Parameter& parameter, std::string_view text);

// A parameter's value, and its valid values in words.
std::string parameter_text(const Parameter& parameter, const AlgorithmParameters& parameters);
std::string parameter_range(const Parameter& parameter);

// How a rank of a node may read and write the memory of the others (progress/node/peer_memory.hpp); automatic: xpmem or else cma.
enum class SingleCopyWay : std::uint8_t { automatic, off, cma, xpmem };
inline constexpr std::string_view single_copy_names[] = {"auto", "off", "cma", "xpmem"};

// How non-blocking collectives move while the application does something else (intercept/process/background.hpp).
enum class ProgressMode : std::uint8_t { automatic, thread, calls, off };
inline constexpr std::string_view progress_mode_names[] = {"auto", "thread", "calls", "off"};

// LIBHCOLL_GPU: are buffers asked about?
enum class GpuUse : std::uint8_t { automatic, on, off };
inline constexpr std::string_view gpu_use_names[] = {"auto", "on", "off"};

enum class LogLevel : std::uint8_t { off, error, warn, info, debug };
inline constexpr std::string_view log_level_names[] = {"off", "error", "warn", "info", "debug"};

// LIBHCOLL_RULES: what is chosen by where neither a setting nor a table says anything: rules that were measured, or also those that a
// cost model says.
enum class RuleSet : std::uint8_t { measured, model };
inline constexpr std::string_view rule_set_names[] = {"measured", "model"};

// LIBHCOLL_TUNE: what is known of this machine, and whether programs find out more of it while they run (tuning/learning.hpp).
enum class TuneMode : std::uint8_t { automatic, table, learn, off };
inline constexpr std::string_view tune_mode_names[] = {"auto", "table", "learn", "off"};

// LIBHCOLL_BITS: may trying and learning change the bits of floating-point results from call to call?
enum class BitsPromise : std::uint8_t { fixed, free };
inline constexpr std::string_view bits_promise_names[] = {"fixed", "free"};

// LIBHCOLL_CHECK: are ranks asked before each collective whether they make the same call; and what becomes of one that they do not.
enum class CheckMode : std::uint8_t { off, abort, warn };
inline constexpr std::string_view check_mode_names[] = {"0", "1", "warn"};

// LIBHCOLL_WATCHDOG: after how long in a call ranks are asked where they are.
struct WatchLimit {
    enum class Kind : std::uint8_t { off, signal, duration } kind = Kind::off;  // signal: on SIGUSR2 alone
    std::chrono::milliseconds duration{0};
    friend bool operator==(const WatchLimit&, const WatchLimit&) = default;
};

// LIBHCOLL_MPI: which ABI the MPI library has. libhcoll.so reads it itself (stub.c), before there are settings.
enum class MpiFlavour : std::uint8_t { automatic, mpich, openmpi, abi, none };
inline constexpr std::string_view mpi_flavour_names[] = {"auto", "mpich", "openmpi", "abi", "none"};

// LIBHCOLL_SETUP_CALLS=auto.
inline constexpr std::uint64_t automatic_setup_calls = ~std::uint64_t{0};

struct Settings {
    std::array<AlgorithmChoice, collective_count> choices;
    std::array<AlgorithmChoice, nonblocking_count> nonblocking_choices;  // of the collectives that begin the list
    VirtualLayout topology;
    std::string report = "0";
    std::string table_file = "auto";                 // LIBHCOLL_TABLE: a file, auto, or off
    std::string learn_file = "off";                  // LIBHCOLL_LEARN: a file, or off
    std::shared_ptr<const Table> table = nullptr;    // what was read from it, or from what auto has found
    std::shared_ptr<const Table> learned = nullptr;  // by programs: what LIBHCOLL_LEARN names
    std::vector<int> progress_cores;                 // empty: auto
    std::uint64_t setup_calls = automatic_setup_calls;
    std::uint64_t communicators = 64;
    std::uint64_t plan_cache = 1 << 20;
    std::uint64_t shared_buffer = 0;       // bytes; 0 is auto
    std::string trace_folder = "off";      // LIBHCOLL_TRACE: a folder, or off
    std::uint64_t trace_memory = 4 << 20;  // LIBHCOLL_TRACE_MEMORY, in bytes
    std::uint64_t verify = 0;              // the result of every so manieth call; 0: of none
    bool enable = true;
    bool reproducible = false;
    bool sparse = false;
    bool shared_memory = true;
    SingleCopyWay single_copy = SingleCopyWay::automatic;
    ProgressMode progress = ProgressMode::automatic;
    GpuUse gpu = GpuUse::automatic;
    RuleSet rules = RuleSet::measured;
    TuneMode tune = TuneMode::automatic;
    BitsPromise bits = BitsPromise::fixed;
    CheckMode check = CheckMode::off;
    WatchLimit watchdog;
    LogLevel log = LogLevel::warn;
    MpiFlavour mpi_flavour = MpiFlavour::automatic;

    bool watches() const { return watchdog.kind != WatchLimit::Kind::off; }
    bool traces() const { return trace_folder != "off"; }
    bool reports() const { return report != "0"; }
    // Where ranks keep to their neighbors, nobody asks all of them.
    bool observes_calls() const {
        return check != CheckMode::off || verify != 0 || (!sparse && (watches() || traces() || reports()));
    }
    bool leave_all_to_vendor() const {
        const auto is_vendor = [](const AlgorithmChoice& each) { return each.kind == AlgorithmChoice::Kind::vendor; };
        return std::all_of(choices.begin(), choices.end(), is_vendor) &&
               std::all_of(nonblocking_choices.begin(), nonblocking_choices.end(), is_vendor);
    }
    const AlgorithmChoice& choice(Collective collective) const { return choices[static_cast<std::size_t>(collective)]; }
};

struct Setting {
    std::string_view name;
    std::string_view type;
    std::string_view range;
    std::string_view help;
    bool agreed;  // by all ranks
    // Sets from text; returns one sentence where the text is not valid, and changes nothing then.
    std::optional<std::string> (*parse)(Settings&, std::string_view);
    std::string (*text)(const Settings&);
};

std::span<const Setting> settings_registry();

using Environment = std::vector<std::pair<std::string, std::string>>;

// The LIBHCOLL_ variables of this process. HCOLL_ variables belong to another library and are never looked at.
Environment hcoll_environment();

// Every mistake becomes one warning that says what would be valid, and leaves the default in force.
Settings parse_settings(const Environment& environment, std::vector<std::string>& warnings);

// The agreed settings as text, and back: what one rank tells the others.
std::string agreed_text(const Settings& settings);
void adopt_agreed_text(std::string_view text, Settings& settings);

}  // namespace hcoll
