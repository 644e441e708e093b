// SPDX-License-Identifier: BSD-3-Clause
// The table of a machine: what was measured there, and which choice was the fastest, by collective, nodes, ranks per node and bytes.
//
//   measured points   times of the vendor and of the fastest candidates at one layout and length; hcoll-tune writes them
//   rules             what somebody wrote by hand: a choice for a range of layouts and lengths, which goes before points
//
// Between points it is costs that are interpolated, in log space over nodes, ranks per node and bytes; the choice is whoever has the least
// there. So where two neighboring points differ, the change is where their costs cross, and not halfway of the grid.
//
// A file is JSON (docs/tuning.md has the schema). One rank reads it; the others get what the look-up needs, as text (wire_text).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/catalog.hpp"
#include "tuning/vendor_kind.hpp"

namespace hcoll {

// Over shared memory messages of no more bytes are never copied once, whatever a choice says (NodeCollectives::short_bytes).
inline constexpr std::uint64_t never_copied_once = 8 << 10;

// Which call: a blocking collective, or its non-blocking relative.
struct TableCall {
    Collective collective = Collective::bcast;
    bool is_nonblocking = false;

    std::string_view name() const;
    static std::optional<TableCall> of(std::string_view name);
    friend bool operator==(const TableCall&, const TableCall&) = default;
};

// From `least` to `most`, both included.
template <typename Number>
struct TableRange {
    Number least{};
    Number most{};
    bool holds(Number number) const { return least <= number && number <= most; }
    bool meets(const TableRange& other) const { return least <= other.most && other.least <= most; }
    bool is_point() const { return least == most; }
    friend bool operator==(const TableRange&, const TableRange&) = default;
};

struct TableCandidate {
    std::string choice;  // as a setting says it
    double seconds = 0;  // of a call; 0: not measured
};

struct TableEntry {
    TableCall call;
    TableRange<int> nodes;
    TableRange<int> ranks_per_node;
    TableRange<std::uint64_t> bytes;  // of the message: what decisions go by
    std::vector<TableCandidate>
        candidates;  // the choice, then others, the fastest first; the vendor where it was measured
    // For readers, and not told to other ranks:
    double spread = 0;  // half of the interval in which the choice's median is, over that
    std::string why;
    int line = 0;  // of the file

    bool is_point() const { return nodes.is_point() && ranks_per_node.is_point() && bytes.is_point(); }
    const TableCandidate& chosen() const { return candidates.front(); }
    // nullptr where it has none of that.
    const TableCandidate* find(std::string_view choice) const;
};

struct Table {
    static constexpr int version = 1;
    static constexpr std::string_view format = "libhcoll table";
    static constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;  // of a file

    std::string name;  // of the file, without folders
    // Where it comes from, each as somebody wrote it: "cluster", "cpu", "interconnect", "mpi_version", "date", "command", ...
    std::vector<std::pair<std::string, std::string>> origin;
    std::optional<VendorKind> vendor;  // under which MPI library it was measured; none: by hand, under any
    std::vector<TableEntry> entries;
    // By collective: has it entries of the blocking one? Known where it came by parse_wire_text.
    std::array<bool, collective_count> says_of{};
};

std::string_view name_of(VendorKind vendor);

// ---- files (table_json.cpp) ----

// Mistakes become sentences that name file and line and say what would be right; what is not wrong is in force. `name`: of the file.
Table parse_table(std::string_view text, std::string_view name, std::vector<std::string>& mistakes);
// nullopt where there is nothing that could be in force; `mistakes` says why.
std::optional<Table> read_table(const std::string& path, std::vector<std::string>& mistakes);
// What parse_table reads back.
std::string table_json(const Table& table);

// ---- for other ranks ----

// In one line: name, vendor, candidates and costs; a thousand entries in less than 64 KB.
std::string wire_text(const Table& table);
// Nullopt where it is none.
std::optional<Table> parse_wire_text(std::string_view text);

// ---- look-up (table_lookup.cpp) ----

struct TableRow {
    std::uint64_t largest_bytes = std::numeric_limits<std::uint64_t>::max();
    std::string choice;
    // For reports: whom it is from.
    std::string why;
};

// What the table says for `nodes` nodes with `ranks_per_node` ranks each (on average, rounded up), by bytes in ascending order; the last
// row has no bound. Empty where the table says nothing: about that call, on one node where it knows of several only and the other way
// round, or outside of all that it has by more than a factor of two in nodes or in ranks per node. `can_run`: may that choice be
// looked at? What cannot run there is passed over for the next best; where none of a point's can, the row is "vendor", and where a rule's
// cannot, the rule says nothing.
std::vector<TableRow> look_up(const Table& table, const TableCall& call, int nodes, int ranks_per_node,
                              const std::function<bool(std::string_view choice)>& can_run);

}  // namespace hcoll
