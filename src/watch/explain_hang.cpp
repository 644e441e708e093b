#include "watch/explain_hang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "watch/call_description.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_lines = 24;
constexpr std::size_t most_rests = 6;
constexpr std::size_t most_told_in_full = 4;  // of those that are to blame

using Call = RankState::Call;

std::string seconds_text(double least, double most) {
    const auto text = [](double seconds) {
        return seconds < 10 ? fmt::format("{:.1f}", seconds) : fmt::format("{:.0f}", seconds);
    };
    return text(least) == text(most) ? text(most) + " s" : fmt::format("{} to {} s", text(least), text(most));
}

class Explanation {
public:
    explicit Explanation(std::span<const RankAnswer> answers) : answers_(answers), waits_for_(answers.size()) {
        for (std::size_t i = 0; i < answers.size(); ++i) by_rank_[answers[i].rank] = i;
        for (std::size_t i = 0; i < answers.size(); ++i) find_edges(i);
        find_blamed();
    }

    std::string text(std::string_view why) const {
        std::string text = fmt::format("{}. {} ranks:", why, answers_.size());
        std::vector<Group> groups = make_groups();
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (i == most_lines) {
                text += fmt::format("\n  and {} other groups of ranks", groups.size() - i);
                break;
            }
            text += fmt::format("\n  {}: {}", ranks_text(groups[i].ranks), groups[i].text);
            if (groups[i].has_time) text += ", for " + seconds_text(groups[i].least, groups[i].most);
            text += rests_text(groups[i]) + groups[i].details;
        }
        return text + conclusion();
    }

private:
    // Ranks of which the same is said, and what is said of some of them besides.
    struct Rest {
        std::string text;
        std::vector<int> ranks;
    };
    struct Group {
        std::string text;
        std::vector<Rest> rests;  // in the order in which they came up; by no means all of them
        std::size_t other_rests = 0;
        std::string details;
        std::vector<int> ranks;
        bool has_time = false;
        double least = 0;
        double most = 0;
    };

    const RankState::Communicator* communicator_of(const RankState& state, const Call& call) const {
        return call.communicator == RankState::no_communicator
                   ? nullptr
                   : &state.communicators[static_cast<std::size_t>(call.communicator)];
    }
    // Has it begun the call of that number there? Who says nothing has not; what is not known of a communicator any more is not held against a rank.
    bool is_behind(const RankAnswer& answer, std::uint64_t key, std::uint64_t number) const {
        if (!answer.state) return true;
        for (const RankState::Communicator& each : answer.state->communicators)
            if (each.key == key) return each.entered < number;
        return true;
    }
    // The members that have not come to the call. Ranks of the same call share one list.
    struct Missing {
        std::vector<std::size_t> indices;
        std::string text;
    };
    const Missing* missing(const RankState& state, const Call& call) {
        const RankState::Communicator* communicator = communicator_of(state, call);
        if (communicator == nullptr) return nullptr;
        const auto [place, is_new] = missing_.try_emplace({communicator->key, call.number});
        Missing& list = place->second;
        if (!is_new) return &list;
        for (const RankRange& range : communicator->members)
            for (int i = 0; i < range.count; ++i) {
                const auto member = by_rank_.find(range.first + i * range.step);
                if (member == by_rank_.end()) continue;
                if (is_behind(answers_[member->second], communicator->key, call.number))
                    list.indices.push_back(member->second);
            }
        if (list.indices.empty()) return &list;
        list.text = fmt::format("{} {} not come to it", ranks_text(ranks_of(list.indices)),
                                list.indices.size() == 1 ? "has" : "have");
        return &list;
    }

    void find_edges(std::size_t index) {
        const RankAnswer& answer = answers_[index];
        if (!answer.state) return;
        Edges& edges = waits_for_[index];
        const auto add = [&](const Missing* list) {
            if (list != nullptr && !list->indices.empty()) edges.lists.push_back(list);
        };
        for (const Call& call : answer.state->calls) {
            if (const auto peer = by_rank_.find(call.wait.rank); call.wait.rank >= 0 && peer != by_rank_.end())
                edges.peers.push_back(peer->second);
            add(missing(*answer.state, call));
            if (call.communicator != RankState::no_communicator) continue;
            // In a call that waits for requests, perhaps of collectives that others have not begun yet.
            for (const RankState::PastCall& past : answer.state->past)
                if (past.call.is_only_begun) add(missing(*answer.state, past.call));
        }
    }
    template <typename Visit>
    void for_each_edge(std::size_t index, Visit&& visit) const {
        for (const std::size_t each : waits_for_[index].peers) visit(each);
        for (const Missing* list : waits_for_[index].lists)
            for (const std::size_t each : list->indices) visit(each);
    }

    bool is_waiting(std::size_t index) const {
        return !waits_for_[index].peers.empty() || !waits_for_[index].lists.empty();
    }
    bool is_in_collective(std::size_t index) const {
        const auto& state = answers_[index].state;
        return state && std::any_of(state->calls.begin(), state->calls.end(),
                                    [](const Call& call) { return call.communicator != RankState::no_communicator; });
    }

    void find_blamed() {
        std::vector<bool> is_waited_for(answers_.size(), false);
        for (std::size_t i = 0; i < answers_.size(); ++i)
            for (const std::size_t each : waits_for_[i].peers) is_waited_for[each] = true;
        for (const auto& [call, list] : missing_)
            for (const std::size_t each : list.indices) is_waited_for[each] = true;
        is_blamed_.assign(answers_.size(), false);
        for (std::size_t i = 0; i < answers_.size(); ++i)
            is_blamed_[i] = is_waited_for[i] && (!is_waiting(i) || !answers_[i].state);
    }

    // Ranks that say the same, those that are to blame last.
    std::vector<Group> make_groups() const {
        std::vector<Group> groups;
        std::map<std::string, std::size_t> known;
        std::size_t told_in_full = 0;
        for (const bool blamed : {false, true})
            for (std::size_t i = 0; i < answers_.size(); ++i) {
                if (is_blamed_[i] != blamed) continue;
                Group mine = group_of(i);
                const auto [place, is_new] = known.emplace(mine.text + (blamed ? "!" : ""), groups.size());
                if (is_new) {
                    if (blamed && told_in_full++ < most_told_in_full) mine.details = details(i);
                    groups.push_back(std::move(mine));
                    continue;
                }
                Group& group = groups[place->second];
                group.ranks.push_back(answers_[i].rank);
                group.least = std::min(group.least, mine.least);
                group.most = std::max(group.most, mine.most);
                add_rest(group, std::move(mine.rests[0]));
            }
        return groups;
    }

    static void add_rest(Group& group, Rest rest) {
        for (Rest& each : group.rests)
            if (each.text == rest.text) return each.ranks.push_back(rest.ranks[0]);
        if (group.rests.size() == most_rests)
            ++group.other_rests;
        else
            group.rests.push_back(std::move(rest));
    }
    static std::string rests_text(const Group& group) {
        if (group.rests.size() == 1 && group.other_rests == 0)
            return group.rests[0].text.empty() ? std::string() : "; " + group.rests[0].text;
        std::string text;
        for (const Rest& each : group.rests)
            text += fmt::format("\n    {}: {}", ranks_text(each.ranks),
                                each.text.empty() ? "waits for nobody that is known" : each.text);
        return group.other_rests == 0 ? text : text + fmt::format("\n    and so on for {} ranks", group.other_rests);
    }

    Group group_of(std::size_t index) const {
        const RankAnswer& answer = answers_[index];
        Group group;
        group.ranks = {answer.rank};
        group.rests = {{"", {answer.rank}}};
        if (!answer.state) {
            group.text = answer.silence;
            return group;
        }
        const RankState& state = *answer.state;
        if (state.calls.empty()) {
            group.text = state.has_finalized ? "has finalized MPI" : "in no call that is watched";
            group.has_time = true;
            group.least = group.most = state.outside;
            if (!state.has_finalized) group.rests[0].text = last_call(state);
            return group;
        }
        for (const Call& call : state.calls) {
            if (!group.text.empty()) group.text += ", and ";
            group.text += text_of(state, call);
        }
        group.has_time = true;
        group.least = group.most = state.calls.front().seconds;
        group.rests[0].text = waits_text(state, state.calls.front());
        return group;
    }

    std::string text_of(const RankState& state, const Call& call) const {
        const RankState::Communicator* communicator = communicator_of(state, call);
        if (communicator == nullptr) return "in " + call.text;
        std::string text =
            fmt::format("in {}, the {} collective on {}", call.text, ordinal_text(call.number), communicator->name);
        if (call.runs.empty())
            text += ", which nothing runs yet";
        else
            text += call.runs == "vendor" ? ", inside the MPI library" : fmt::format(", running {}", call.runs);
        return text;
    }

    std::string waits_text(const RankState& state, const Call& call) const {
        const std::string step = call.wait.step < 0 ? "" : fmt::format(" (step {} of its plan)", call.wait.step);
        switch (call.wait.what) {
            case WaitNote::What::receive: return fmt::format("waits for a message of rank {}{}", call.wait.rank, step);
            case WaitNote::What::send:
                return fmt::format("waits for rank {} to take its message{}", call.wait.rank, step);
            case WaitNote::What::flag: return fmt::format("waits for rank {} in shared memory", call.wait.rank);
            case WaitNote::What::leaders: return "waits for the leaders of other nodes" + step;
            case WaitNote::What::nothing: break;
        }
        const RankState::Communicator* communicator = communicator_of(state, call);
        return communicator == nullptr ? std::string() : missing_.at({communicator->key, call.number}).text;
    }

    // The last collective, which all ranks of a group have in common.
    static std::string last_call(const RankState& state) {
        if (state.past.empty()) return "has made no collective yet";
        return "its last collective was " + past_text(state, state.past.front());
    }
    static std::string past_text(const RankState&, const RankState::PastCall& past) {
        return fmt::format("the {}, {}", ordinal_text(past.call.number), past.call.text);
    }

    // Of a rank that others wait for.
    std::string details(std::size_t index) const {
        const auto& state = answers_[index].state;
        if (!state) return {};
        std::string text = fmt::format("\n    process {} on {}", state->process, state->host);
        for (std::size_t i = 0; i < state->past.size(); ++i) {
            const RankState::PastCall& past = state->past[i];
            text += fmt::format("{} {}{}, {:.1f} s ago, took {:.6f} s", i == 0 ? "; its last collectives:" : ";",
                                past_text(*state, past), past.call.runs.empty() ? "" : " by " + past.call.runs,
                                past.ago, past.call.seconds);
        }
        return text;
    }

    std::vector<int> ranks_of(const std::vector<std::size_t>& indices) const {
        std::vector<int> ranks;
        ranks.reserve(indices.size());
        for (const std::size_t each : indices) ranks.push_back(answers_[each].rank);
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        return ranks;
    }

    // Ranks that wait for each other in a circle; empty where there is none.
    std::vector<int> circle() const {
        enum State : std::uint8_t { unseen, on_path, leads_to_none };
        std::vector<State> seen(answers_.size(), unseen);
        struct Stop {
            std::size_t index;
            std::vector<std::size_t> left;
        };
        std::vector<Stop> path;
        const auto go_to = [&](std::size_t index) {
            seen[index] = on_path;
            path.push_back({index, {}});
            for_each_edge(index, [&](std::size_t each) {
                if (seen[each] != leads_to_none) path.back().left.push_back(each);
            });
        };
        for (std::size_t start = 0; start < answers_.size(); ++start) {
            if (seen[start] == unseen) go_to(start);
            while (!path.empty()) {
                if (path.back().left.empty()) {
                    seen[path.back().index] = leads_to_none;
                    path.pop_back();
                    continue;
                }
                const std::size_t to = path.back().left.back();
                path.back().left.pop_back();
                if (seen[to] == unseen) go_to(to);
                if (seen[to] != on_path || to == path.back().index) continue;
                std::vector<int> ranks;
                auto each = std::find_if(path.begin(), path.end(), [&](const Stop& stop) { return stop.index == to; });
                for (; each != path.end(); ++each) ranks.push_back(answers_[each->index].rank);
                return ranks;
            }
        }
        return {};
    }

    std::string conclusion() const {
        std::vector<std::size_t> blamed;
        bool any_waits = false;
        bool any_in_collective = false;
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            if (is_blamed_[i]) blamed.push_back(i);
            any_waits = any_waits || is_waiting(i);
            any_in_collective = any_in_collective || is_in_collective(i);
        }
        if (!blamed.empty()) {
            const std::vector<int> ranks = ranks_of(blamed);
            return fmt::format("\n  What is waited for: {}", ranks_text(ranks));
        }
        if (const std::vector<int> ranks = circle(); !ranks.empty()) {
            std::string text;
            for (const int rank : ranks) text += fmt::format("{} for ", rank);
            return fmt::format("\n  Ranks wait for each other: {}{}", text, ranks.front());
        }
        if (any_in_collective)
            return "\n  All ranks of these collectives have come to them: what is waited for is inside";
        return any_waits ? "" : "\n  No rank is in a collective";
    }

    std::span<const RankAnswer> answers_;
    std::map<int, std::size_t> by_rank_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Missing> missing_;  // by communicator and number
    struct Edges {
        std::vector<std::size_t> peers;
        std::vector<const Missing*> lists;
    };
    std::vector<Edges> waits_for_;
    std::vector<bool> is_blamed_;
};

}  // namespace

std::string explain_hang(std::span<const RankAnswer> answers, std::string_view why) {
    return Explanation(answers).text(why);
}

}  // namespace hcoll
