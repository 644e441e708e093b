// SPDX-License-Identifier: BSD-3-Clause
#include "watch/rank_state.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace hcoll {

namespace {

using Json = nlohmann::json;

constexpr std::size_t most_copied_ranges = 4096;
// What comes over a network is believed as far as that.
constexpr int most_ranks = 1 << 26;

Json json_of(const RankState::Begun& begun) { return Json::array({begun.communicator, begun.number, begun.text}); }

Json json_of(const RankState::Call& call) {
    Json waits_on = Json::array();
    for (const RankState::Begun& each : call.waits_on) waits_on.push_back(json_of(each));
    return Json::array({call.communicator, call.number, call.kind, call.text, call.runs, call.seconds,
                        static_cast<int>(call.wait.what), call.wait.rank, call.wait.step, waits_on, call.serial});
}

RankState::Call call_of(const Json& from) {
    RankState::Call call{.communicator = from.at(0),
                         .number = from.at(1),
                         .kind = from.at(2),
                         .text = from.at(3),
                         .runs = from.at(4),
                         .seconds = from.at(5),
                         .wait = {static_cast<WaitNote::What>(from.at(6).get<std::uint8_t>()), from.at(7), from.at(8)}};
    for (const Json& begun : from.at(9)) call.waits_on.push_back({begun.at(0), begun.at(1), begun.at(2)});
    call.serial = from.at(10);
    return call;
}

Json json_of(const RankState::Communicator& communicator) {
    Json members = Json::array();
    const std::size_t count = std::min(communicator.members.size(), most_copied_ranges);
    for (std::size_t i = 0; i < count; ++i) {
        const RankRange& range = communicator.members[i];
        members.push_back({range.first, range.count, range.step});
    }
    return Json::array({communicator.key, communicator.name, communicator.entered, members,
                        communicator.has_all_members && count == communicator.members.size()});
}

RankState::Communicator communicator_of(const Json& from) {
    RankState::Communicator communicator{.key = from.at(0), .name = from.at(1), .entered = from.at(2)};
    for (const Json& range : from.at(3)) communicator.members.push_back({range.at(0), range.at(1), range.at(2)});
    communicator.has_all_members = from.at(4);
    return communicator;
}

bool is_possible(const RankRange& range) {
    const auto is_rank = [](std::int64_t rank) { return rank >= -1 && rank < most_ranks; };
    return range.count > 0 && range.count < most_ranks && is_rank(range.first) &&
           is_rank(std::int64_t{range.first} + std::int64_t{range.count - 1} * range.step);
}

bool is_possible(const RankState& state) {
    const auto is_known = [&](int communicator) {
        return communicator >= RankState::no_communicator &&
               communicator < static_cast<int>(state.communicators.size());
    };
    const auto is_call = [&](const RankState::Call& call) {
        return is_known(call.communicator) && call.wait.what <= WaitNote::What::flag &&
               std::all_of(call.waits_on.begin(), call.waits_on.end(),
                           [&](const RankState::Begun& begun) { return is_known(begun.communicator); });
    };
    std::int64_t members = 0;
    for (const RankState::Communicator& each : state.communicators)
        for (const RankRange& range : each.members) {
            if (!is_possible(range)) return false;
            members += range.count;
        }
    return members < most_ranks && std::all_of(state.calls.begin(), state.calls.end(), is_call) &&
           std::all_of(state.past.begin(), state.past.end(),
                       [&](const RankState::PastCall& each) { return is_call(each.call); });
}

}  // namespace

std::vector<RankRange> ranges_of(const std::vector<int>& ranks) {
    std::vector<RankRange> ranges;
    for (const int rank : ranks) {
        if (!ranges.empty()) {
            RankRange& last = ranges.back();
            const int distance = rank - (last.first + (last.count - 1) * last.step);
            if (last.count == 1 && distance != 0) last.step = distance;
            if (distance == last.step) {
                ++last.count;
                continue;
            }
        }
        ranges.push_back({rank, 1, 1});
    }
    return ranges;
}

int rank_at(const std::vector<RankRange>& ranges, int index) {
    if (index < 0) return -1;
    for (const RankRange& range : ranges) {
        if (index < range.count) return range.first + index * range.step;
        index -= range.count;
    }
    return -1;
}

std::string RankState::to_text() const {
    Json json = {
        {"rank", rank},          {"process", process},     {"host", host},          {"finalized", has_finalized},
        {"outside", outside},    {"calls", Json::array()}, {"past", Json::array()}, {"communicators", Json::array()},
        {"knows_all", knows_all}};
    for (const Call& call : calls) json["calls"].push_back(json_of(call));
    for (const PastCall& each : past) json["past"].push_back({json_of(each.call), each.ago});
    for (const Communicator& communicator : communicators) json["communicators"].push_back(json_of(communicator));
    // Names come from the application, and may be of any bytes.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RankState> RankState::of(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        RankState state{.rank = json.at("rank"),
                        .process = json.at("process"),
                        .host = json.at("host"),
                        .has_finalized = json.at("finalized"),
                        .outside = json.at("outside")};
        for (const Json& call : json.at("calls")) state.calls.push_back(call_of(call));
        for (const Json& each : json.at("past")) state.past.push_back({call_of(each.at(0)), each.at(1)});
        for (const Json& each : json.at("communicators")) state.communicators.push_back(communicator_of(each));
        state.knows_all = json.at("knows_all");
        if (!is_possible(state)) return std::nullopt;
        return state;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace hcoll
