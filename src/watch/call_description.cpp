// SPDX-License-Identifier: BSD-3-Clause
#include "watch/call_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_named_groups = 6;
constexpr std::size_t most_named_ranges = 8;
constexpr unsigned int other_bytes_bit = 17;  // of a told call's first word
constexpr std::size_t words_of_name = (CallDescription::most_name + 1) / sizeof(std::uint64_t);

std::uint64_t to_word(int number) { return static_cast<std::uint64_t>(std::int64_t{number}); }
int from_word(std::uint64_t word) { return static_cast<int>(static_cast<std::int64_t>(word)); }

}  // namespace

void CallDescription::set(Name& name, std::string_view text) {
    name = {};
    text.copy(name.data(), most_name);
}

std::string function_name(Collective collective, CallForm form) {
    const auto index = static_cast<std::size_t>(collective);
    std::string name(collective_names[index].mpi_name);
    if (form == CallForm::persistent) return name + "_init";
    if (form == CallForm::blocking) return name;
    // MPI_Iallreduce of MPI_Allreduce.
    constexpr std::size_t prefix = std::string_view("MPI_").size();
    name[prefix] = static_cast<char>(name[prefix] - 'A' + 'a');
    return name.insert(prefix, 1, 'I');
}

std::string call_kind(const CallDescription& call) {
    std::string text = function_name(call.collective, call.form);
    if (call.operation[0] != 0) text += fmt::format(" of {}", call.operation.data());
    if (call.root != CallDescription::no_root) text += fmt::format(", root {}", call.root);
    return text;
}

std::string call_text(const CallDescription& call) {
    std::string text = call_kind(call);
    if (!has_message(call.collective)) return text;
    text += fmt::format(", {} {}", call.bytes, call.bytes == 1 ? "byte" : "bytes");
    if (has_blocks(call.collective)) text += " a block";
    if (call.other_bytes) text += fmt::format(", but {} of its own", *call.other_bytes);
    if (call.type[0] != 0) text += fmt::format(" of {}", call.type.data());
    if (call.in_place) text += ", in place";
    return text;
}

ToldCall::Words ToldCall::to_words() const {
    Words told{};
    told[0] = static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(call.form) << 8U |
              std::uint64_t{call.in_place} << 16U | std::uint64_t{call.other_bytes.has_value()} << other_bytes_bit |
              to_word(call.root) << 32U;
    told[1] = call.bytes;
    told[2] = number;
    std::memcpy(&told[3], call.operation.data(), call.operation.size());
    std::memcpy(&told[3 + words_of_name], call.type.data(), call.type.size());
    told[words - 2] = call.other_bytes.value_or(0);
    told[words - 1] = to_word(world_rank);
    return told;
}

ToldCall ToldCall::of(const Words& from) {
    ToldCall told;
    told.call.collective = static_cast<Collective>(from[0] & 0xffU);
    told.call.form = static_cast<CallForm>(from[0] >> 8U & 0xffU);
    told.call.in_place = (from[0] >> 16U & 1U) != 0;
    told.call.root = static_cast<int>(static_cast<std::int32_t>(from[0] >> 32U));
    told.call.bytes = from[1];
    if ((from[0] >> other_bytes_bit & 1U) != 0) told.call.other_bytes = from[words - 2];
    told.number = from[2];
    std::memcpy(told.call.operation.data(), &from[3], told.call.operation.size());
    std::memcpy(told.call.type.data(), &from[3 + words_of_name], told.call.type.size());
    told.world_rank = from_word(from[words - 1]);
    return told;
}

// The whole of it counts, by its hash; what fits is for people.
ToldDecision::Words ToldDecision::to_words() const {
    Words told{};
    told[0] = fnv1a(what);
    what.copy(reinterpret_cast<char*>(&told[1]), (words - 2) * sizeof(std::uint64_t) - 1);
    told[words - 1] = to_word(world_rank);
    return told;
}

ToldDecision ToldDecision::of(const Words& from) {
    return {.what = reinterpret_cast<const char*>(&from[1]), .world_rank = from_word(from[words - 1])};
}

bool are_alike(std::span<const ToldCall::Words> of_ranks) {
    return std::all_of(of_ranks.begin(), of_ranks.end(), [&](const ToldCall::Words& each) {
        return std::equal(each.begin(), each.end() - 1, of_ranks[0].begin());
    });
}

bool have_alike_sides(std::span<const ToldCall::Words> of_ranks) {
    return std::none_of(of_ranks.begin(), of_ranks.end(),
                        [](const ToldCall::Words& each) { return ToldCall::of(each).call.other_bytes.has_value(); });
}

std::string without_split(std::string_view what) {
    std::string rest(what);
    const std::size_t begin = rest.find_first_of(':');
    if (begin == std::string::npos) return rest;
    for (std::size_t at = begin + 1; at < rest.size();) {
        const std::size_t comma = rest.find(',', at);
        const std::size_t end = comma == std::string::npos ? rest.size() : comma + 1;
        if (rest.compare(at, 2, "s=") == 0) return rest.erase(at, end - at);
        at = end;
    }
    return rest;
}

std::string ordinal_text(std::uint64_t number) {
    const std::uint64_t of_ten = number % 10;
    const bool is_teen = number / 10 % 10 == 1;
    const char* ending = is_teen || of_ten == 0 || of_ten > 3 ? "th" : of_ten == 1 ? "st" : of_ten == 2 ? "nd" : "rd";
    return fmt::format("{}{}", number, ending);
}

std::string ranks_text(std::span<const int> ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    std::size_t ranges = 0;
    for (std::size_t i = 0; i < ranks.size(); ++ranges) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        if (ranges == most_named_ranges) return text + fmt::format(" and {} more", ranks.size() - i);
        if (ranges != 0) text += ", ";
        text += end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]);
        i = end;
    }
    return text;
}

std::string groups_text(std::vector<Said> said) {
    std::stable_sort(said.begin(), said.end(),
                     [](const Said& a, const Said& b) { return a.world_rank < b.world_rank; });
    struct Group {
        std::string text;
        std::vector<int> ranks;
    };
    std::vector<Group> groups;
    for (Said& each : said) {
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.text == each.text; });
        if (group == groups.end()) group = groups.insert(groups.end(), {std::move(each.text), {}});
        group->ranks.push_back(each.world_rank);
    }
    // What many say is likely to be meant.
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.ranks.size() > b.ranks.size(); });
    std::string text;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i != 0) text += "; ";
        if (i == most_named_groups) return text + fmt::format("and {} others", groups.size() - i);
        text += fmt::format("{}: {}", ranks_text(groups[i].ranks), groups[i].text);
    }
    return text;
}

std::string different_calls_text(std::span<const ToldCall::Words> of_ranks, std::string_view communicator) {
    const bool has_one_number =
        std::all_of(of_ranks.begin(), of_ranks.end(), [&](const auto& each) { return each[2] == of_ranks[0][2]; });
    std::vector<Said> said;
    for (const ToldCall::Words& each : of_ranks) {
        const ToldCall told = ToldCall::of(each);
        std::string text = call_text(told.call);
        if (!has_one_number) text += fmt::format(" (the {} collective there)", ordinal_text(told.number));
        said.push_back({told.world_rank, std::move(text)});
    }
    const std::string where = has_one_number
                                  ? fmt::format("the {} collective on {}", ordinal_text(of_ranks[0][2]), communicator)
                                  : std::string(communicator);
    const bool is_one_call =
        std::all_of(said.begin(), said.end(), [&](const Said& each) { return each.text == said[0].text; });
    return fmt::format("in {} {}: {}", where,
                       is_one_call ? "what is sent does not fit what is received" : "not all ranks make the same call",
                       groups_text(std::move(said)));
}

std::string different_decisions_text(std::span<const ToldDecision::Words> of_ranks, std::string_view call) {
    std::vector<Said> said;
    for (const ToldDecision::Words& each : of_ranks) {
        ToldDecision told = ToldDecision::of(each);
        said.push_back({told.world_rank, std::move(told.what)});
    }
    return fmt::format("a defect of libhcoll: in {} not all ranks decided to run the same: {}", call,
                       groups_text(std::move(said)));
}

}  // namespace hcoll
