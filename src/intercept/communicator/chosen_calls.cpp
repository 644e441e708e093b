// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/chosen_calls.hpp"

#include <fmt/format.h>
#include <hcoll/hcoll.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/own_arithmetic.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "tuning/table.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

constexpr std::string_view prefix = "libhcoll_";
constexpr const char* by_info = "MPI_Comm_set_info";

bool is_asked_for(const std::optional<AlgorithmChoice>& choice) {
    return choice && choice->kind != AlgorithmChoice::Kind::automatic;
}

// Of the library's keys, right or wrong.
template <typename Use>
void for_each_own_key(MPI_Info info, Use&& use) {
    int keys = 0;
    if (info == MPI_INFO_NULL || mpi.Info_get_nkeys(info, &keys) != MPI_SUCCESS) return;
    for (int i = 0; i < keys; ++i) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        if (mpi.Info_get_nthkey(info, i, key.data()) == MPI_SUCCESS && std::string_view(key.data()).starts_with(prefix))
            use(key.data());
    }
}

}  // namespace

ChosenCalls ChosenCalls::of(MPI_Info info, std::vector<std::string>& mistakes) {
    ChosenCalls chosen;
    for_each_own_key(info, [&](const char* key) {
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int is_there = 0;
        const std::string_view name = key;
        if (name == HCOLL_INFO_ANSWER) return;
        if (mpi.Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &is_there) != MPI_SUCCESS || is_there == 0) return;
        const auto call = TableCall::of(name.substr(prefix.size()));
        if (!call) {
            mistakes.push_back(fmt::format("{}: there is no key {}", by_info, name));
            return;
        }
        const auto index = static_cast<std::size_t>(call->collective);
        AlgorithmChoice choice;
        const auto problem = call->is_nonblocking ? parse_nonblocking_choice(call->collective, value.data(), choice)
                                                  : parse_choice(call->collective, value.data(), choice);
        if (problem) {
            mistakes.push_back(fmt::format("{}, {}: {}", by_info, name, *problem));
            return;
        }
        (call->is_nonblocking ? chosen.nonblocking_[index] : chosen.blocking_[index]) = choice;
    });
    return chosen;
}

bool ChosenCalls::are_in(MPI_Info info) {
    bool is_any = false;
    for_each_own_key(info, [&](const char*) { is_any = true; });
    return is_any;
}

void ChosenCalls::add(const ChosenCalls& later) {
    for (std::size_t i = 0; i < collective_count; ++i)
        if (later.blocking_[i]) blocking_[i] = later.blocking_[i];
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        if (later.nonblocking_[i]) nonblocking_[i] = later.nonblocking_[i];
}

bool ChosenCalls::wants_progress() const {
    return std::any_of(nonblocking_.begin(), nonblocking_.end(), [](const std::optional<AlgorithmChoice>& choice) {
        return choice && choice->kind == AlgorithmChoice::Kind::own;
    });
}

bool ChosenCalls::is_empty() const {
    const auto is_one = [](const std::optional<AlgorithmChoice>& choice) { return choice.has_value(); };
    return std::none_of(blocking_.begin(), blocking_.end(), is_one) &&
           std::none_of(nonblocking_.begin(), nonblocking_.end(), is_one);
}

// The order in which a program sets its keys may differ from rank to rank.
std::uint64_t ChosenCalls::hash() const {
    std::string text;
    for (std::size_t i = 0; i < collective_count; ++i)
        if (blocking_[i]) text += fmt::format("{}={};", collective_names[i].name, short_choice_text(*blocking_[i]));
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        if (nonblocking_[i]) text += fmt::format("{}={};", nonblocking_names[i], short_choice_text(*nonblocking_[i]));
    return fnv1a(text);
}

std::shared_ptr<const CallDecisions> ChosenCalls::over(const CallDecisions& usual, const OwnAlgorithms& own,
                                                       bool has_progress, std::vector<std::string>& mistakes) const {
    const OwnArithmetic own_rules;
    DecisionTables blocking = usual.blocking;
    NonblockingTables nonblocking = usual.nonblocking;
    for (std::size_t i = 0; i < collective_count; ++i) {
        if (!is_asked_for(blocking_[i])) continue;
        Decision decision = decision_of(*blocking_[i], by_info);
        if (decision.shared && own.node == nullptr) {
            mistakes.push_back(
                fmt::format("{}, {}{}: its ranks share no memory", by_info, prefix, collective_names[i].name));
            continue;
        }
        if (!own.has_leaders) decision.do_without_leaders();
        blocking[i] = {{.decision = std::move(decision)}};
    }
    const Placement& placement = *own.placement;
    for (std::size_t i = 0; i < nonblocking_count; ++i) {
        if (!is_asked_for(nonblocking_[i])) continue;
        if (!has_progress && nonblocking_[i]->kind == AlgorithmChoice::Kind::own) {
            mistakes.push_back(fmt::format("{}, {}{}: {}", by_info, prefix, nonblocking_names[i], reason::no_progress));
            continue;
        }
        Decision decision = decision_of(*nonblocking_[i], by_info);
        constexpr int of_the_world = 0;  // which the process knows
        decision.choose_split(placement.ranks(), placement.nodes() * Background::get().progress_cores(of_the_world));
        nonblocking[i] = {{.decision = std::move(decision)}};
    }
    return std::make_shared<const CallDecisions>(std::move(blocking), std::move(nonblocking), TrialTables{},
                                                 *own.placement);
}

}  // namespace hcoll
