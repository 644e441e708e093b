// SPDX-License-Identifier: BSD-3-Clause
#include "watch/explain_hang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "watch/call_description.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_groups = 16;       // of those that wait, and of those that are waited for
constexpr std::size_t most_rests = 6;         // of a group
constexpr std::size_t most_told_in_full = 4;  // of those that are to blame
constexpr std::size_t most_different_calls = 4;

using Call = RankState::Call;

std::string seconds_text(double least, double most) {
    const auto text = [](double seconds) {
        return seconds < 10 ? fmt::format("{:.1f}", seconds) : fmt::format("{:.0f}", seconds);
    };
    return text(least) == text(most) ? text(most) + " s" : fmt::format("{} to {} s", text(least), text(most));
}

const RankState::Communicator* communicator_of(const RankState& state, int communicator) {
    return communicator == RankState::no_communicator ? nullptr
                                                      : &state.communicators[static_cast<std::size_t>(communicator)];
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
        for (const bool blamed : {false, true}) {
            const std::vector<Group> groups = make_groups(blamed);
            for (std::size_t i = 0; i < groups.size(); ++i) {
                if (i == most_groups) {
                    text += fmt::format("\n  and {} other groups of ranks", groups.size() - i);
                    break;
                }
                text += fmt::format("\n  {}: {}", ranks_text(groups[i].ranks), groups[i].text);
                if (groups[i].has_time) text += ", for " + seconds_text(groups[i].least, groups[i].most);
                text += rests_text(groups[i]) + groups[i].details;
            }
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
        std::vector<Rest> rests{};  // in the order in which they came up; by no means all of them
        std::size_t other_rests = 0;
        std::string details{};
        std::vector<int> ranks{};
        bool has_time = false;
        double least = 0;
        double most = 0;
    };

    // Has it not begun the call of that number there? Who says nothing has not. Nothing where it does not know any more, or could not be asked.
    static std::optional<bool> is_behind(const RankAnswer& answer, std::uint64_t key, std::uint64_t number) {
        if (!answer.state) return !answer.is_unknown;
        for (const RankState::Communicator& each : answer.state->communicators)
            if (each.key == key) return each.entered < number;
        if (answer.state->knows_all) return true;
        return std::nullopt;
    }
    // The members that have not come to a collective. Ranks of the same one share a list.
    struct Missing {
        std::vector<std::size_t> indices{};
        std::string text{};
        bool are_all_known = true;
    };
    const Missing* missing(const RankState& state, int on, std::uint64_t number) {
        const RankState::Communicator* communicator = communicator_of(state, on);
        if (communicator == nullptr) return nullptr;
        const auto [place, is_new] = missing_.try_emplace({communicator->key, number});
        Missing& list = place->second;
        if (!is_new) return &list;
        list.are_all_known = communicator->has_all_members;
        for (const RankRange& range : communicator->members)
            for (int i = 0; i < range.count; ++i) {
                const auto member = by_rank_.find(range.first + i * range.step);
                if (member == by_rank_.end()) continue;
                const std::optional<bool> behind = is_behind(answers_[member->second], communicator->key, number);
                if (!behind && answers_[member->second].state) unsure_.push_back(member->second);
                if (behind.value_or(false)) list.indices.push_back(member->second);
            }
        if (list.indices.empty()) return &list;
        list.text = fmt::format("{} {} not come to it", ranks_text(ranks_of(list.indices)),
                                list.indices.size() == 1 ? "has" : "have");
        return &list;
    }

    // Was it there both times? Where it was asked once, that is not known, and taken for granted.
    static bool is_stuck(const RankAnswer& answer, const Call& call) {
        if (!answer.before) return true;
        return std::any_of(answer.before->calls.begin(), answer.before->calls.end(),
                           [&](const Call& earlier) { return call.serial == earlier.serial; });
    }

    void find_edges(std::size_t index) {
        const RankAnswer& answer = answers_[index];
        if (!answer.state) return;
        Edges& edges = waits_for_[index];
        const auto add = [&](const Missing* list) {
            if (list == nullptr) return;
            if (!list->indices.empty()) edges.lists.push_back(list);
            are_all_members_known_ = are_all_members_known_ && list->are_all_known;
        };
        for (const Call& call : answer.state->calls) {
            any_is_in_call_ = true;
            if (!is_stuck(answer, call)) continue;
            any_is_stuck_ = true;
            if (const auto peer = by_rank_.find(call.wait.rank); call.wait.rank >= 0 && peer != by_rank_.end())
                edges.peers.push_back(peer->second);
            add(missing(*answer.state, call.communicator, call.number));
            for (const RankState::Begun& begun : call.waits_on)
                add(missing(*answer.state, begun.communicator, begun.number));
            if (const auto* on = communicator_of(*answer.state, call.communicator); on != nullptr) {
                Kinds& kinds = kinds_[{on->key, call.number}];
                kinds.on = fmt::format("the {} collective on {}", ordinal_text(call.number), on->name);
                kinds.said.push_back({answer.rank, call.kind});
                kinds.differ = kinds.differ || call.kind != kinds.said.front().text;
            }
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

    void find_blamed() {
        std::vector<bool> is_waited_for(answers_.size(), false);
        std::vector<const Missing*> marked;
        for (const Edges& edges : waits_for_) {
            for (const std::size_t each : edges.peers) is_waited_for[each] = true;
            for (const Missing* list : edges.lists) marked.push_back(list);
        }
        std::sort(marked.begin(), marked.end());
        marked.erase(std::unique(marked.begin(), marked.end()), marked.end());
        for (const Missing* list : marked)
            for (const std::size_t each : list->indices) is_waited_for[each] = true;
        is_blamed_.assign(answers_.size(), false);
        for (std::size_t i = 0; i < answers_.size(); ++i) is_blamed_[i] = is_waited_for[i] && !is_waiting(i);
    }

    std::vector<Group> make_groups(bool blamed) const {
        std::vector<Group> groups;
        std::map<std::string, std::size_t> known;
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            if (is_blamed_[i] != blamed) continue;
            Group mine = group_of(i);
            const auto [place, is_new] = known.emplace(mine.text, groups.size());
            if (is_new) {
                if (blamed && groups.size() < most_told_in_full) mine.details = details(i);
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
        Group group{.text = answer.silence, .ranks = {answer.rank}};
        group.rests = {{"", {answer.rank}}};
        if (!answer.state) return group;
        const RankState& state = *answer.state;
        group.has_time = true;
        if (state.calls.empty()) {
            group.text = state.has_finalized ? "has finalized MPI" : "in no call that is watched";
            group.least = group.most = state.outside;
            if (!state.has_finalized) group.rests[0].text = last_call(state);
            return group;
        }
        for (const Call& call : state.calls)
            group.text += fmt::format("{}{}", group.text.empty() ? "" : ", and ", text_of(answer, call));
        group.least = group.most = state.calls.front().seconds;
        group.rests[0].text = waits_text(state, state.calls.front());
        return group;
    }

    static std::string text_of(const RankAnswer& answer, const Call& call) {
        const RankState& state = *answer.state;
        std::string text = "in " + call.text;
        for (std::size_t i = 0; i < call.waits_on.size(); ++i) {
            const RankState::Begun& begun = call.waits_on[i];
            const RankState::Communicator* on = communicator_of(state, begun.communicator);
            text += fmt::format("{} {}, the {} collective on {}", i == 0 ? " for" : ", and", begun.text,
                                ordinal_text(begun.number), on == nullptr ? "a communicator that is freed" : on->name);
        }
        if (const RankState::Communicator* on = communicator_of(state, call.communicator); on != nullptr) {
            text += fmt::format(", the {} collective on {}", ordinal_text(call.number), on->name);
            if (call.runs.empty())
                text += ", not decided yet";
            else
                text += call.runs == "vendor" ? ", inside the MPI library" : fmt::format(", running {}", call.runs);
        }
        return is_stuck(answer, call) ? text : text + " (it goes on)";
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
        const auto text_on = [&](int on, std::uint64_t number) {
            const RankState::Communicator* communicator = communicator_of(state, on);
            const auto found = communicator == nullptr ? missing_.end() : missing_.find({communicator->key, number});
            return found == missing_.end() ? std::string() : found->second.text;
        };
        std::string text = text_on(call.communicator, call.number);
        for (const RankState::Begun& begun : call.waits_on)
            if (text.empty()) text = text_on(begun.communicator, begun.number);
        return text;
    }

    // The last collective, which the ranks of a group may have in common.
    static std::string last_call(const RankState& state) {
        if (state.past.empty()) return "has made no collective yet";
        return "its last collective was " + past_text(state.past.front());
    }
    static std::string past_text(const RankState::PastCall& past) {
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
                                past_text(past), past.call.runs.empty() ? "" : " by " + past.call.runs, past.ago,
                                past.call.seconds);
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

    std::string different_calls() const {
        std::string text;
        std::size_t told = 0;
        for (const auto& [call, kinds] : kinds_) {
            if (!kinds.differ || told++ == most_different_calls) continue;
            text += fmt::format("\n  Not all ranks make the same call in {}: {}", kinds.on, groups_text(kinds.said));
        }
        return text;
    }

    std::string conclusion() const {
        if (!any_is_in_call_) return "\n  No rank is in a call that is watched";
        if (!any_is_stuck_) return "\n  No rank waits: none was in the same call some time before";
        std::string text = different_calls();
        std::vector<std::size_t> blamed;
        for (std::size_t i = 0; i < answers_.size(); ++i)
            if (is_blamed_[i]) blamed.push_back(i);
        if (!blamed.empty()) return text + fmt::format("\n  What is waited for: {}", ranks_text(ranks_of(blamed)));
        if (const std::vector<int> ranks = circle(); !ranks.empty()) {
            text += "\n  Ranks wait for each other: ";
            for (const int rank : ranks) text += fmt::format("{} for ", rank);
            return text + fmt::format("{}", ranks.front());
        }
        if (!text.empty()) return text;
        if (!are_all_members_known_) return "\n  Who is missing is not known: a communicator has too irregular members";
        if (!unsure_.empty())
            return fmt::format(
                "\n  Of {} it is not known whether all have come: they have had too many communicators since",
                ranks_text(ranks_of(unsure_)));
        if (missing_.empty()) return "\n  No rank is in a collective that is counted, nor waits for one";
        return "\n  All ranks of these collectives have come to them: what is waited for is inside";
    }

    std::span<const RankAnswer> answers_;
    std::map<int, std::size_t> by_rank_;
    using CallOfRanks = std::pair<std::uint64_t, std::uint64_t>;  // communicator and number
    std::map<CallOfRanks, Missing> missing_;
    struct Kinds {
        std::string on;
        std::vector<Said> said;
        bool differ = false;
    };
    std::map<CallOfRanks, Kinds> kinds_;
    struct Edges {
        std::vector<std::size_t> peers;
        std::vector<const Missing*> lists;
    };
    std::vector<Edges> waits_for_;
    std::vector<bool> is_blamed_;
    std::vector<std::size_t> unsure_;  // ranks that do not know whether they have come
    bool any_is_in_call_ = false;
    bool any_is_stuck_ = false;
    bool are_all_members_known_ = true;
};

}  // namespace

std::string explain_hang(std::span<const RankAnswer> answers, std::string_view why) {
    return Explanation(answers).text(why);
}

}  // namespace hcoll
