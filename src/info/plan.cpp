// SPDX-License-Identifier: BSD-3-Clause
#include "info/plan.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/letters.hpp"
#include "info/draw_plan.hpp"
#include "info/mistake.hpp"
#include "topology/draw_placement.hpp"
#include "tuning/machine_model.hpp"
#include "tuning/plan_statistics.hpp"
#include "tuning/price.hpp"
#include "tuning/text.hpp"

namespace hcoll::info {

namespace {

using Json = nlohmann::ordered_json;
using Problem = std::optional<std::string>;

constexpr int ranks_of_one_node = 16;
constexpr int most_ranks = 1 << 16;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr std::uint64_t segments_drawn = 3;

// A call, as its options describe it.
struct Call {
    Collective collective = Collective::bcast;
    AlgorithmChoice choice;
    std::shared_ptr<const Placement> placement;
    int root = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unit_bytes = 1;

    std::uint64_t units() const { return bytes / unit_bytes; }
};

Problem find_collective(std::string_view name, Call& call) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < collective_count; ++i) {
        names.push_back(collective_names[i].name);
        if (name != collective_names[i].name) continue;
        call.collective = static_cast<Collective>(i);
        return std::nullopt;
    }
    return fmt::format("'{}' is no collective that libhcoll runs; those are {}", name, alternatives(names));
}

Problem find_algorithm_of(const PlanOptions& options, Call& call) {
    if (options.algorithm.empty())
        return fmt::format("--plan needs --algorithm, as LIBHCOLL_{} takes it", to_upper(name_of(call.collective)));
    if (auto problem = parse_choice(call.collective, options.algorithm, call.choice)) return problem;
    if (call.choice.kind != AlgorithmChoice::Kind::own)
        return fmt::format("'{}' has no plan; name an algorithm", options.algorithm);
    return std::nullopt;
}

Problem find_bytes(const PlanOptions& options, Call& call) {
    if (!has_message(call.collective)) {
        call.bytes = 1;
        return std::nullopt;
    }
    const auto bytes = parse_size(options.bytes);
    if (!bytes || *bytes == 0 || *bytes > most_bytes)
        return fmt::format("'{}' is no number of bytes from 1 to {}", options.bytes, size_text(most_bytes));
    call.bytes = *bytes;
    if (!is_reduction(call.collective)) return std::nullopt;
    const auto unit_bytes = parse_size(options.unit_bytes);
    if (!unit_bytes || *unit_bytes == 0 || call.bytes % *unit_bytes != 0)
        return fmt::format("{} bytes are no number of elements of '{}' bytes", call.bytes, options.unit_bytes);
    call.unit_bytes = *unit_bytes;
    return std::nullopt;
}

Problem find_placement(const PlanOptions& options, const Settings& settings, Call& call) {
    VirtualLayout layout = settings.topology;
    if (!options.layout.empty())
        if (auto problem = VirtualLayout::parse(options.layout, layout)) return "--layout: " + *problem;
    int ranks = options.ranks;
    if (ranks == 0) ranks = layout.is_automatic() ? ranks_of_one_node : layout.places();
    if (ranks < 1 || ranks > most_ranks)
        return fmt::format("{} is no number of ranks from 1 to {}; give one with --ranks", ranks, most_ranks);
    if (layout.is_automatic()) {
        call.placement = std::make_shared<const Placement>(Placement::one_node(ranks));
        return std::nullopt;
    }
    std::vector<Seat> seats;
    if (auto problem = layout.seats(ranks, seats)) return problem;
    call.placement = std::make_shared<const Placement>(seats);
    return std::nullopt;
}

Problem find_root_and_rank(const PlanOptions& options, Call& call) {
    const int ranks = call.placement->ranks();
    if (options.root < 0 || options.root >= ranks)
        return fmt::format("root {} is none of the ranks 0 to {}", options.root, ranks - 1);
    if (options.root != 0 && !has_root(call.collective)) return fmt::format("{} has no root", name_of(call.collective));
    if (options.rank < -1 || options.rank >= ranks)
        return fmt::format("rank {} is none of the ranks 0 to {}", options.rank, ranks - 1);
    call.root = options.root;
    return std::nullopt;
}

Problem find_call(const PlanOptions& options, const Settings& settings, Call& call) {
    if (auto problem = find_collective(options.collective, call)) return problem;
    if (auto problem = find_algorithm_of(options, call)) return problem;
    if (auto problem = find_bytes(options, call)) return problem;
    if (auto problem = find_placement(options, settings, call)) return problem;
    if (auto problem = find_root_and_rank(options, call)) return problem;
    if (options.as_dot + options.as_svg + options.as_json > 1)
        return "only one of --dot, --svg and --json can be given";
    if ((options.as_dot || options.as_svg) && options.rank >= 0)
        return "--rank lists the steps of a rank; it goes with neither --dot nor --svg";
    return std::nullopt;
}

std::vector<Plan> plans_of(const Call& call, std::uint64_t units) {
    return plans_of_all_ranks(
        *call.choice.algorithm, call.choice.parameters,
        {.root = call.root, .units = units, .unit_bytes = call.unit_bytes, .placement = call.placement.get()});
}

std::string title_of(const Call& call) {
    std::string text = fmt::format("{} {}", name_of(call.collective), choice_text(call.choice));
    if (has_message(call.collective)) text += fmt::format(", {} bytes", call.bytes);
    return has_root(call.collective) ? fmt::format("{}, root {}", text, call.root) : text;
}

void print_picture(const Call& call, bool as_svg) {
    const std::uint64_t units = units_to_draw(plans_of(call, call.units()), call.units(), segments_drawn);
    const std::vector<Plan> plans = plans_of(call, units);
    std::vector<MessageTime> messages;
    price(plans, *call.placement, unit_latency(), call.unit_bytes, {}, {.messages = &messages});
    const PlanStatistics statistics = statistics_of(plans, *call.placement, call.unit_bytes);
    std::string title = title_of(call);
    if (units < call.units()) title += fmt::format(" (drawn: the first {} bytes)", units * call.unit_bytes);
    if (statistics.collectives != 0) title += " (not drawn: the MPI library's own collective among leaders)";
    const PlanPicture picture{std::move(title), *call.placement, messages, statistics.segments > 1};
    fmt::print("{}", as_svg ? plan_svg(picture) : plan_dot(picture));
}

Json traffic_json(const LinkTraffic& traffic) {
    const auto one = [](const Traffic& sent) { return Json{{"messages", sent.messages}, {"bytes", sent.bytes}}; };
    return {{"total", one(traffic.total)},
            {"busiest_rank", one(traffic.busiest_rank)},
            {"busiest_node", one(traffic.busiest_node)}};
}

// What each node sends to others and receives from them, the MPI library's own collectives left out.
Json nodes_json(const Call& call, std::span<const Plan> plans) {
    const Placement& placement = *call.placement;
    std::vector<Traffic> sent(static_cast<std::size_t>(placement.nodes()));
    std::vector<Traffic> received = sent;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const int from = placement.node_of(static_cast<int>(rank));
        for_each_send(plans[rank], [&](const Step& step, const Segment&, std::uint64_t units) {
            const int to = placement.node_of(step.peer);
            if (from == to) return;
            const Traffic message{1, units * call.unit_bytes};
            sent[static_cast<std::size_t>(from)] += message;
            received[static_cast<std::size_t>(to)] += message;
        });
    }
    Json nodes = Json::array();
    for (std::size_t node = 0; node < sent.size(); ++node)
        nodes.push_back({{"node", node},
                         {"sent", {{"messages", sent[node].messages}, {"bytes", sent[node].bytes}}},
                         {"received", {{"messages", received[node].messages}, {"bytes", received[node].bytes}}}});
    return nodes;
}

Json document_of(const Call& call, int rank) {
    const std::vector<Plan> plans = plans_of(call, call.units());
    const PlanStatistics statistics = statistics_of(plans, *call.placement, call.unit_bytes);
    const PathLength steps = steps_of(plans, *call.placement);
    const PathLength waits = dependencies_of(plans, *call.placement);
    const Price modelled = price(plans, *call.placement, default_machine(), call.unit_bytes);
    Json levels = Json::array();
    for (const Link link : every_link) {
        Json level = {{"level", link_names[static_cast<std::size_t>(link)]}};
        level.update(traffic_json(statistics[link]));
        level["steps"] = steps[link];
        level["dependent_messages"] = waits[link];
        levels.push_back(std::move(level));
    }
    Json all = {{"level", "all"}};
    all.update(traffic_json(statistics.all));
    all["steps"] = steps.all;
    all["dependent_messages"] = waits.all;
    levels.push_back(std::move(all));
    Json document = {{"collective", name_of(call.collective)},
                     {"algorithm", choice_text(call.choice)},
                     {"bytes", call.bytes},
                     {"unit_bytes", call.unit_bytes},
                     {"root", has_root(call.collective) ? Json(call.root) : Json(nullptr)},
                     {"ranks", call.placement->ranks()},
                     {"placement", placement_summary(*call.placement)},
                     {"segments", statistics.segments},
                     {"segment_bytes", statistics.segment_bytes},
                     {"window", statistics.window},
                     {"steps_of_plan", statistics.steps},
                     {"plan_bytes", statistics.plan_bytes},
                     {"scratch_bytes", statistics.scratch_bytes},
                     {"vendor_collectives", statistics.collectives},
                     {"levels", std::move(levels)},
                     {"nodes", nodes_json(call, plans)},
                     {"modelled_seconds", modelled.seconds}};
    if (rank >= 0) {
        document["rank"] = rank;
        document["plan"] = plan_text(plans[static_cast<std::size_t>(rank)]);
    }
    return document;
}

void print_text(const Call& call, const Json& document) {
    const auto number = [](const Json& value) { return value.get<std::uint64_t>(); };
    fmt::print("{}\n\n", title_of(call));
    fmt::print("placement   {} ranks: {}\n", document["ranks"].get<int>(), document["placement"].get<std::string>());
    fmt::print("segments    {} of {} bytes, window {}\n", number(document["segments"]),
               number(document["segment_bytes"]), number(document["window"]));
    fmt::print("biggest     plan {} steps in {} bytes, scratch {} bytes\n", number(document["steps_of_plan"]),
               number(document["plan_bytes"]), number(document["scratch_bytes"]));
    if (number(document["vendor_collectives"]) != 0)
        fmt::print("leaders     begin {} collectives of the MPI library, which count as a tree and send nothing here\n",
                   number(document["vendor_collectives"]));
    fmt::print("modelled    {:.2f} us on the default machine\n\n", document["modelled_seconds"].get<double>() * 1e6);
    const auto sent = [&](const Json& traffic) {
        return fmt::format("{} / {}", number(traffic["messages"]), size_text(number(traffic["bytes"])));
    };
    fmt::print("messages / bytes\n{:<8} {:>20} {:>20} {:>20} {:>7} {:>10}\n", "level", "total", "busiest rank",
               "busiest node", "steps", "dependent");
    for (const Json& level : document["levels"])
        fmt::print("{:<8} {:>20} {:>20} {:>20} {:>7.0f} {:>10.0f}\n", level["level"].get<std::string>(),
                   sent(level["total"]), sent(level["busiest_rank"]), sent(level["busiest_node"]),
                   level["steps"].get<double>(), level["dependent_messages"].get<double>());
    fmt::print(
        "\nsteps: messages on the longest path, a rank sending and receiving one at a time; dependent: those that "
        "wait\n"
        "for one another's data. Of a level: on the path that has most of them.\n");
    if (document.contains("plan"))
        fmt::print("\nrank {}, {}", document["rank"].get<int>(), document["plan"].get<std::string>());
}

}  // namespace

int print_plan(const PlanOptions& options, const Settings& settings, std::span<const std::string> warnings) {
    for (const std::string& warning : warnings) fmt::print(stderr, "hcoll-info: warning: {}\n", warning);
    Call call;
    if (const auto problem = find_call(options, settings, call)) return mistake(*problem, wrong_use);
    if (options.as_dot || options.as_svg) {
        print_picture(call, options.as_svg);
        return 0;
    }
    const Json document = document_of(call, options.rank);
    if (options.as_json)
        fmt::print("{}\n", document.dump(2));
    else
        print_text(call, document);
    return 0;
}

}  // namespace hcoll::info
