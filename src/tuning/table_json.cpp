// SPDX-License-Identifier: BSD-3-Clause
// Tables as files: JSON, of which every mistake is named with its line, and which loses nothing but what is wrong.
#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/own_arithmetic.hpp"
#include "tuning/settings.hpp"
#include "tuning/table.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

using Json = nlohmann::ordered_json;

// The text, which counts the lines that were read.
class Lines {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Lines(const char* at, int& line) : at_(at), line_(&line) {}
    reference operator*() const { return *at_; }
    Lines& operator++() {
        if (*at_++ == '\n') ++*line_;
        return *this;
    }
    bool operator==(const Lines& other) const { return at_ == other.at_; }
    bool operator!=(const Lines& other) const { return at_ != other.at_; }

private:
    const char* at_;
    int* line_;
};

// The sentence of the library that reads, without what only its authors know.
std::string plain(std::string_view what) {
    const std::size_t colon = what.find(": ");
    const std::size_t part = what.find("unexpected");
    if (part != std::string_view::npos)
        what = what.substr(part);
    else if (colon != std::string_view::npos)
        what = what.substr(colon + 2);
    return std::string(what.substr(0, what.find(';')));
}

// Where in a document what stands, and what in it is no JSON.
class DocumentLines : public nlohmann::json_sax<Json> {
public:
    explicit DocumentLines(const int& line) : line_(line) {}

    std::map<std::string, int> of_keys;                  // at the top
    std::vector<std::map<std::string, int>> of_entries;  // of the keys of each entry; "" is its beginning
    std::string problem;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override {
        if (depth_++ == in_entries && part_ == "entries") of_entries.push_back({{"", line_}});
        return true;
    }
    bool key(string_t& name) override {
        if (depth_ == at_top)
            of_keys.emplace(part_ = name, line_);
        else if (depth_ == in_entry && part_ == "entries" && !of_entries.empty())
            of_entries.back().emplace(name, line_);
        return true;
    }
    bool end_object() override { return leave(); }
    bool start_array(std::size_t) override {
        ++depth_;
        return true;
    }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
        problem = plain(error.what());
        return false;
    }

private:
    static constexpr int at_top = 1;
    static constexpr int in_entries = 2;
    static constexpr int in_entry = 3;

    bool leave() {
        --depth_;
        return true;
    }

    const int& line_;  // that is being read
    int depth_ = 0;
    std::string part_;  // of the document
};

struct Document {
    Json json;
    std::map<std::string, int> lines;
    std::vector<std::map<std::string, int>> entries;
};

// In two passes: a document that is made while something follows takes time that grows with the square of the entries.
std::optional<Document> parse_document(std::string_view text, std::string_view name,
                                       std::vector<std::string>& mistakes) {
    int line = 1;
    DocumentLines lines(line);
    if (!Json::sax_parse(Lines(text.data(), line), Lines(text.data() + text.size(), line), &lines)) {
        mistakes.push_back(
            fmt::format("{}, line {}: this is no JSON ({}); the table is not used", name, line, lines.problem));
        return std::nullopt;
    }
    return Document{Json::parse(text, nullptr, false), std::move(lines.of_keys), std::move(lines.of_entries)};
}

// One entry's mistakes, each with its line.
class EntryReader {
public:
    EntryReader(const Json& json, const std::map<std::string, int>& lines, std::string_view name,
                std::vector<std::string>& mistakes)
        : json_(json), lines_(lines), name_(name), mistakes_(mistakes) {}

    std::optional<TableEntry> read() {
        static constexpr std::string_view keys[] = {"collective", "nodes",  "ranks_per_node", "bytes",  "choice",
                                                    "seconds",    "spread", "vendor_seconds", "others", "why"};
        if (!json_.is_object()) return fail("", R"(an entry is an object like {"collective": "bcast", ...})");
        for (const auto& [key, value] : json_.items())
            if (std::find(std::begin(keys), std::end(keys), key) == std::end(keys) && !key.starts_with("comment")) {
                const std::string_view guess = nearest(key, keys);
                note(key, fmt::format("an entry has no \"{}\"{}", key,
                                      guess.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", guess)));
            }
        TableEntry entry;
        entry.line = lines_.at("");
        if (!read_call(entry) || !read_ranges(entry) || !read_candidates(entry)) return std::nullopt;
        if (!read_number("spread", 0, entry.spread)) return std::nullopt;
        if (json_.contains("why") && json_["why"].is_string()) entry.why = json_["why"].get<std::string>();
        return entry;
    }

private:
    void note(const std::string& key, std::string_view problem) {
        const auto found = lines_.find(key);
        mistakes_.push_back(
            fmt::format("{}, line {}: {}", name_, found == lines_.end() ? lines_.at("") : found->second, problem));
    }
    std::nullopt_t fail(const std::string& key, std::string_view problem) {
        note(key, fmt::format("{}; the entry is not used", problem));
        return std::nullopt;
    }

    bool read_call(TableEntry& entry) {
        std::vector<std::string_view> names;
        for (const CollectiveName& each : collective_names) names.push_back(each.name);
        names.insert(names.end(), std::begin(nonblocking_names), std::end(nonblocking_names));
        const std::string text = json_.contains("collective") && json_["collective"].is_string()
                                     ? json_["collective"].get<std::string>()
                                     : std::string();
        const auto call = TableCall::of(text);
        if (call) {
            entry.call = *call;
            return true;
        }
        fail("collective", text.empty()
                               ? fmt::format("\"collective\" has to be {}", alternatives(names))
                               : fmt::format("'{}' is no collective; valid are {}", text, alternatives(names)));
        return false;
    }

    static std::optional<std::uint64_t> number_of(const Json& json) {
        if (json.is_number_unsigned()) return json.get<std::uint64_t>();
        if (json.is_string()) return parse_size(json.get<std::string>());
        return std::nullopt;
    }

    // 4, "64k", or [2, 8], where null has no bound.
    template <typename Number>
    bool read_range(const std::string& key, std::uint64_t least, bool is_optional, TableRange<Number>& range) {
        constexpr auto unbounded = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
        const auto wrong = [&] {
            fail(key, fmt::format("\"{}\" has to be a number from {} on, or two of them like [{}, 8], the second of "
                                  "which is not the smaller one; null there is no bound",
                                  key, least, std::max<std::uint64_t>(least, 2)));
            return false;
        };
        if (!json_.contains(key)) return is_optional || wrong();
        const Json& value = json_[key];
        std::optional<std::uint64_t> first = number_of(value);
        std::optional<std::uint64_t> last = first;
        if (value.is_array() && value.size() == 2) {
            first = number_of(value[0]);
            last = value[1].is_null() ? std::optional(unbounded) : number_of(value[1]);
        }
        if (!first || !last || *first < least || *last < *first || *last > unbounded) return wrong();
        range = {static_cast<Number>(*first), static_cast<Number>(*last)};
        return true;
    }

    bool read_ranges(TableEntry& entry) {
        return read_range("nodes", 1, false, entry.nodes) &&
               read_range("ranks_per_node", 1, false, entry.ranks_per_node) &&
               read_range("bytes", 0, !has_message(entry.call.collective), entry.bytes);
    }

    bool read_number(const std::string& key, double least, double& number) {
        if (!json_.contains(key)) return true;
        if (json_[key].is_number()) number = json_[key].get<double>();
        if (json_[key].is_number() && std::isfinite(number) && number >= least) return true;
        fail(key, fmt::format("\"{}\" has to be a number that is not negative", key));
        return false;
    }

    bool read_choice(const std::string& key, const TableEntry& entry, const Json& json, std::string& choice) {
        if (!json.is_string()) {
            fail(key, R"("choice" has to be an algorithm as a setting gives it, or "vendor")");
            return false;
        }
        choice = json.get<std::string>();
        AlgorithmChoice parsed;
        const auto problem = entry.call.is_nonblocking ? parse_nonblocking_choice(entry.call.collective, choice, parsed)
                                                       : parse_choice(entry.call.collective, choice, parsed);
        std::string_view wrong;
        if (problem)
            wrong = *problem;
        else if (parsed.kind == AlgorithmChoice::Kind::automatic)
            wrong = "a table chooses: an algorithm, shared, or vendor";
        else if (parsed.kind == AlgorithmChoice::Kind::shared && entry.nodes.least > 1)
            wrong = "shared is for communicators of one node";
        if (!wrong.empty()) {
            fail(key, wrong);
            return false;
        }
        choice = short_choice_text(parsed);
        return true;
    }

    bool read_candidates(TableEntry& entry) {
        TableCandidate chosen;
        if (!read_choice("choice", entry, json_.contains("choice") ? json_["choice"] : Json(), chosen.choice) ||
            !read_number("seconds", 0, chosen.seconds))
            return false;
        entry.candidates.push_back(chosen);
        if (json_.contains("vendor_seconds") && chosen.choice != "vendor") {
            TableCandidate vendor{"vendor", 0};
            if (!read_number("vendor_seconds", 0, vendor.seconds)) return false;
            entry.candidates.push_back(vendor);
        }
        if (!json_.contains("others")) return true;
        const Json& others = json_["others"];
        if (!others.is_array()) {
            fail("others", R"("others" has to be a list of {"choice": ..., "seconds": ...})");
            return false;
        }
        for (const Json& other : others) {
            TableCandidate each;
            const bool has_seconds = other.is_object() && other.contains("seconds") && other["seconds"].is_number() &&
                                     other["seconds"].get<double>() > 0;
            if (!has_seconds || !other.contains("choice")) {
                fail("others", R"(each of "others" has a "choice" and "seconds")");
                return false;
            }
            each.seconds = other["seconds"].get<double>();
            if (!read_choice("others", entry, other["choice"], each.choice)) return false;
            if (entry.find(each.choice) == nullptr) entry.candidates.push_back(std::move(each));
        }
        return true;
    }

    const Json& json_;
    const std::map<std::string, int>& lines_;
    std::string_view name_;
    std::vector<std::string>& mistakes_;
};

bool do_overlap(const TableEntry& a, const TableEntry& b) {
    return a.call == b.call && a.nodes.meets(b.nodes) && a.ranks_per_node.meets(b.ranks_per_node) &&
           a.bytes.meets(b.bytes);
}

void read_origin(const Json& document, Table& table) {
    for (const auto& [key, value] : document.items())
        if (value.is_string() && key != "format") table.origin.emplace_back(key, value.get<std::string>());
}

Json range_json(std::uint64_t least, std::uint64_t most, std::uint64_t unbounded) {
    if (least == most) return least;
    return Json::array({least, most == unbounded ? Json(nullptr) : Json(most)});
}
template <typename Number>
Json range_json(const TableRange<Number>& range) {
    return range_json(static_cast<std::uint64_t>(range.least), static_cast<std::uint64_t>(range.most),
                      static_cast<std::uint64_t>(std::numeric_limits<Number>::max()));
}

// As many digits as a measurement has.
double rounded(double number) { return parse_real(fmt::format("{:.4g}", number)).value_or(number); }

}  // namespace

Table parse_table(std::string_view text, std::string_view name, std::vector<std::string>& mistakes) {
    const OwnArithmetic own;
    Table table;
    table.name = name;
    const std::optional<Document> document = parse_document(text, name, mistakes);
    if (!document) return table;
    const auto line_of = [&](const char* key) {
        const auto found = document->lines.find(key);
        return found == document->lines.end() ? 1 : found->second;
    };
    const auto refuse = [&](const char* key, std::string_view problem) {
        mistakes.push_back(fmt::format("{}, line {}: {}; the table is not used", name, line_of(key), problem));
        return table;
    };
    const Json& json = document->json;
    if (!json.is_object() || !json.contains("format") || json["format"] != Table::format)
        return refuse("format", fmt::format(R"(this is no table: it has no "format": "{}")", Table::format));
    if (!json.contains("version") || json["version"] != Table::version)
        return refuse("version", fmt::format("\"version\" has to be {}, which this library reads", Table::version));
    if (!json.contains("entries") || !json["entries"].is_array())
        return refuse("entries", "a table has \"entries\": [...]");
    read_origin(json, table);
    if (json.contains("mpi")) {
        for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi})
            if (json["mpi"] == name_of(vendor)) table.vendor = vendor;
        if (!table.vendor)
            return refuse("mpi", fmt::format(R"("mpi" has to be "{}" or "{}")", name_of(VendorKind::mpich),
                                             name_of(VendorKind::openmpi)));
    }
    const Json& entries = json["entries"];
    // Entries that are no objects have no lines of their own.
    const std::map<std::string, int> unknown = {{"", line_of("entries")}};
    std::size_t objects = 0;
    // Points go by their costs, and rules before them: what may not meet is two of a kind.
    std::map<std::tuple<std::string, int, int, std::uint64_t>, int> points;  // their lines
    std::vector<TableEntry> rules;
    for (const Json& entry : entries) {
        const auto& lines =
            entry.is_object() && objects < document->entries.size() ? document->entries[objects++] : unknown;
        std::optional<TableEntry> read = EntryReader(entry, lines, name, mistakes).read();
        if (!read) continue;
        int line_of_other = 0;
        if (read->is_point()) {
            const auto key = std::tuple(std::string(read->call.name()), read->nodes.least, read->ranks_per_node.least,
                                        read->bytes.least);
            const auto [known, is_new] = points.try_emplace(key, read->line);
            if (!is_new) line_of_other = known->second;
        } else {
            const auto other = std::find_if(rules.begin(), rules.end(),
                                            [&](const TableEntry& rule) { return do_overlap(rule, *read); });
            if (other == rules.end())
                rules.push_back(*read);
            else
                line_of_other = other->line;
        }
        if (line_of_other == 0)
            table.entries.push_back(std::move(*read));
        else
            mistakes.push_back(fmt::format("{}, line {}: this is also said in line {}; the entry is not used", name,
                                           read->line, line_of_other));
    }
    return table;
}

std::optional<Table> read_table(const std::string& path, std::vector<std::string>& mistakes) {
    const auto refuse = [&](std::string_view problem) {
        mistakes.push_back(fmt::format("{} {}; no table is used", path, problem));
        return std::nullopt;
    };
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) return refuse(S_ISDIR(status.st_mode) ? "is a folder" : "is no file");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    // Of what is read: another job may have put another one in its place meanwhile.
    if (file == nullptr || fstat(fileno(file.get()), &status) != 0)
        return refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
    if (static_cast<std::uint64_t>(status.st_size) > Table::most_bytes)
        return refuse(
            fmt::format("has {} bytes; a table has {} at most", status.st_size, size_text(Table::most_bytes)));
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    if (std::fread(text.data(), 1, text.size(), file.get()) != text.size())
        return refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return refuse("is empty");
    Table table = parse_table(text, std::filesystem::path(path).filename().string(), mistakes);
    if (table.entries.empty() && mistakes.empty()) return refuse("has no entries");
    if (table.entries.empty()) return std::nullopt;
    return table;
}

std::string table_json(const Table& table) {
    const OwnArithmetic own;
    Json head = {{"format", Table::format}, {"version", Table::version}};
    for (const auto& [key, value] : table.origin)
        if (key != "mpi") head[key] = value;
    if (table.vendor) head["mpi"] = name_of(*table.vendor);
    // A line for each entry: a table is read by people, too.
    // A path in the command may be in any encoding.
    constexpr auto any = Json::error_handler_t::replace;
    std::string text = head.dump(2, ' ', false, any);
    text.erase(text.find_last_not_of("}\n") + 1);
    text += ",\n  \"entries\": [";
    const char* separator = "\n";
    for (const TableEntry& entry : table.entries) {
        Json json = {{"collective", entry.call.name()},
                     {"nodes", range_json(entry.nodes)},
                     {"ranks_per_node", range_json(entry.ranks_per_node)},
                     {"bytes", range_json(entry.bytes)},
                     {"choice", entry.chosen().choice}};
        if (entry.chosen().seconds > 0) json["seconds"] = rounded(entry.chosen().seconds);
        if (entry.spread > 0) json["spread"] = rounded(entry.spread);
        Json others = Json::array();
        for (const TableCandidate& each : entry.candidates) {
            if (&each == &entry.chosen()) continue;
            if (each.choice == "vendor")
                json["vendor_seconds"] = rounded(each.seconds);
            else
                others.push_back({{"choice", each.choice}, {"seconds", rounded(each.seconds)}});
        }
        if (!others.empty()) json["others"] = std::move(others);
        if (!entry.why.empty()) json["why"] = entry.why;
        text += fmt::format("{}    {}", separator, json.dump(-1, ' ', false, any));
        separator = ",\n";
    }
    return text + "\n  ]\n}\n";
}

}  // namespace hcoll
