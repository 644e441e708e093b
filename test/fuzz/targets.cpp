// SPDX-License-Identifier: BSD-3-Clause
#include "targets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "../../simulation/machine.hpp"
#include "topology/placement.hpp"
#include "topology/virtual_layout.hpp"
#include "trace/explain_trace.hpp"
#include "trace/trace_text.hpp"
#include "tuning/settings.hpp"
#include "tuning/table.hpp"
#include "tuning/text.hpp"
#include "watch/explain_hang.hpp"

namespace hcoll::test {

namespace {

void require(bool holds, std::string_view what, std::string_view input) {
    if (holds) return;
    std::fprintf(stderr, "FAIL: %.*s\ninput: %.*s\n", static_cast<int>(what.size()), what.data(),
                 static_cast<int>(input.size()), input.data());
    std::abort();
}

// Files of this machine are not to be read: what names one is left out.
bool names_file(std::string_view text) { return text.find('/') != std::string_view::npos || text.starts_with("file:"); }

// Lines of NAME=VALUE, as in an environment.
void settings(std::string_view input) {
    Environment environment;
    for (const std::string_view line : split(input, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || names_file(line)) continue;
        environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    std::vector<std::string> warnings;
    const Settings read = parse_settings(environment, warnings);
    for (const std::string& warning : warnings) require(!warning.empty(), "a warning says something", input);
    const std::string text = agreed_text(read);
    Settings adopted;
    adopt_agreed_text(text, adopted);
    require(agreed_text(adopted) == text, "others get the settings that were read", input);
    for (const Setting& setting : settings_registry()) {
        const std::string value = setting.text(read);
        Settings again;
        if (names_file(value)) continue;
        require(!setting.parse(again, value).has_value(), "a setting's text is valid", setting.name);
        require(setting.text(again) == value, "a setting's text is read back", setting.name);
    }
}

// Another rank's, which may be damaged on its way.
void agreed(std::string_view input) {
    Settings read;
    adopt_agreed_text(input, read);
    const std::string text = agreed_text(read);
    Settings again;
    adopt_agreed_text(text, again);
    require(agreed_text(again) == text, "what was adopted is read back", input);
}

void choice(std::string_view input) {
    for (std::size_t i = 0; i < collective_count; ++i) {
        const auto collective = static_cast<Collective>(i);
        AlgorithmChoice read;
        if (parse_choice(collective, input, read).has_value()) continue;
        for (const std::string& text : {choice_text(read), short_choice_text(read)}) {
            AlgorithmChoice again;
            require(!parse_choice(collective, text, again).has_value(), "a choice's text is valid", text);
            require(choice_text(again) == choice_text(read), "a choice's text is read back", text);
        }
    }
}

void layout(std::string_view input) {
    if (names_file(input)) return;
    VirtualLayout read;
    if (VirtualLayout::parse(input, read).has_value()) return;
    VirtualLayout again;
    require(!VirtualLayout::parse(read.text(), again).has_value(), "a layout's text is valid", read.text());
    require(again.text() == read.text(), "a layout's text is read back", input);
    if (read.is_automatic()) return;
    constexpr int most = 4096;
    const int ranks = read.places() < most ? read.places() : most;
    std::vector<Seat> seats;
    require(!read.seats(ranks, seats).has_value() && seats.size() == static_cast<std::size_t>(ranks),
            "there are as many seats as it says", input);
    require(Placement(seats).ranks() == ranks, "and a placement of them", input);
    require(read.seats(read.places() + 1, seats).has_value(), "and no more", input);
}

void table(std::string_view input) {
    std::vector<std::string> mistakes;
    const Table read = parse_table(input, "table.json", mistakes);
    for (const std::string& mistake : mistakes)
        require(mistake.find("table.json") != std::string::npos, "a mistake names the file", mistake);
    std::vector<std::string> none;
    const std::string text = table_json(read);
    const Table again = parse_table(text, "table.json", none);
    require(none.empty(), "what was written has no mistakes", none.empty() ? "" : none.front());
    require(table_json(again) == text, "a table is read back", input);
    const std::string wire = wire_text(read);
    const auto told = parse_wire_text(wire);
    require(told.has_value() && wire_text(*told) == wire, "others get the table that was read", input);
}

void wire(std::string_view input) {
    const auto read = parse_wire_text(input);
    if (!read) return;
    const auto again = parse_wire_text(wire_text(*read));
    require(again.has_value() && wire_text(*again) == wire_text(*read), "it is read back", input);
}

// What other processes say of themselves.
void watch(std::string_view input) {
    const auto read = RankState::of(input);
    if (!read) return;
    const auto again = RankState::of(read->to_text());
    require(again.has_value() && again->to_text() == read->to_text(), "it is read back", input);
    std::vector<RankAnswer> answers = {{.rank = 0, .state = *read, .before = *again}, {.rank = 1, .silence = "silent"}};
    require(!explain_hang(answers, "why").empty(), "it is explained", input);
}

void words(std::string_view input) {
    if (const auto size = parse_size(input))
        require(parse_size(size_text(*size)) == size, "a size is read back", input);
    if (const auto duration = parse_duration(input))
        require(parse_duration(duration_text(*duration)) == duration, "a time is read back", input);
}

// The text of a rank's trace.
void trace(std::string_view input) {
    std::string problem;
    const auto read = read_trace(input, problem);
    require(read.has_value() || !problem.empty(), "what cannot be read has a reason", input);
    if (!read) return;
    const std::span<const RankTrace> job(&*read, 1);
    require(!explanation_text(explain_trace(job)).empty(), "it is explained", input);
    require(!explanation_json(explain_trace(job)).empty(), "also for programs", input);
    for (const TracedCallOfAll& call : collectives_of(job)) {
        require(!call_trace_text(job, call).empty(), "each call is explained", input);
        std::int64_t at = call.begin();
        for (const PathPiece& piece : critical_path(call)) {
            require(piece.begin == at && piece.end >= piece.begin, "a critical path has no gaps", input);
            at = piece.end;
        }
    }
}

// What a process has left in memory: the header, a communicator, some texts, and records of which the last may be cut.
void records(std::string_view input) {
    constexpr std::size_t texts = 64;
    std::vector<TraceRecord> memory(TraceLayout::bytes(64) / sizeof(TraceRecord));
    auto* bytes = reinterpret_cast<char*>(memory.data());
    const auto take = [&](std::size_t at, std::size_t most) {
        const std::size_t taken = input.copy(bytes + at, std::min(most, input.size()));
        input.remove_prefix(taken);
        return taken;
    };
    take(0, sizeof(TraceHeader));
    take(TraceLayout::communicators_at, sizeof(TraceCommunicator));
    take(TraceLayout::texts_at, texts);
    const std::size_t rest = take(TraceLayout::records_at, 64 * sizeof(TraceRecord));
    std::copy(TraceHeader::right_magic.begin(), TraceHeader::right_magic.end(), bytes);
    const std::span<const std::byte> whole(reinterpret_cast<const std::byte*>(bytes), TraceLayout::records_at + rest);
    if (!TraceLayout::is_one(whole)) return;
    const std::string text = trace_text(TraceLayout::view(whole));
    std::string problem;
    const auto read = read_trace(text, problem);
    require(read.has_value() || problem.find("rank") != std::string::npos, "what is left is a text, whatever it says",
            text);
}

// Of a simulation.
void machine(std::string_view input) {
    simulation::Machine read;
    try {
        read = simulation::parse_machine(input);
    } catch (const std::exception& refused) {
        require(*refused.what() != '\0', "a refusal says something", input);
        return;
    }
    require(read.ranks_per_node >= 1 && read.ranks_per_node % read.sockets_per_node == 0, "sockets share the ranks",
            input);
    for (const double rate :
         {read.network_rate, read.injection_rate, read.node_rate, read.memory_rate, read.copy_rate, read.reduce_rate})
        require(std::isfinite(rate) && rate > 0, "a rate is above 0", input);
    for (const double time : {read.network_latency, read.network_overhead, read.node_latency, read.node_overhead,
                              read.fabric.latency_per_hop})
        require(std::isfinite(time) && time >= 0, "a time is not below 0", input);
    const unsigned long nodes = read.fabric.nodes();
    require(nodes >= 1 && (read.fabric.kind == simulation::Fabric::Kind::crossbar || nodes <= 1'000'000),
            "a fabric has some nodes", input);
    require(std::max(read.network_eager_bytes, read.node_eager_bytes) >= 1024, "a limit is high enough", input);
}

constexpr FuzzTarget all[] = {{"settings", settings}, {"agreed", agreed},   {"choice", choice},  {"layout", layout},
                              {"table", table},       {"wire", wire},       {"watch", watch},    {"words", words},
                              {"trace", trace},       {"records", records}, {"machine", machine}};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return all; }

}  // namespace hcoll::test
