// SPDX-License-Identifier: BSD-3-Clause
#include "info/topology.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "info/mistake.hpp"
#include "topology/draw_placement.hpp"
#include "topology/seats_of_places.hpp"

namespace hcoll::info {

namespace {

using Json = nlohmann::ordered_json;

std::vector<RankPlace> places_of(const Job& job) {
    std::vector<RankPlace> places;
    const auto number = [](const Json& value) { return value.is_null() ? -1 : value.get<int>(); };
    for (const Json& rank : job.ranks)
        places.push_back({.node = number(rank["node"]),
                          .package = number(rank["socket"]),
                          .numa = number(rank["numa"]),
                          .core = number(rank["core"]),
                          .cache = number(rank["cache"])});
    return places;
}

void print_json(const Placement& placement, const std::vector<std::string>& hosts) {
    Json ranks = Json::array();
    for (int rank = 0; rank < placement.ranks(); ++rank) {
        Json entry = {{"rank", rank},
                      {"node", placement.node_of(rank)},
                      {"package", placement.package_of(rank)},
                      {"socket", placement.socket_of(rank)},
                      {"cache", placement.cache_of(rank)},
                      {"core", nullptr}};
        if (placement.core_of(rank) >= 0) entry["core"] = placement.core_of(rank);
        entry["host"] = hosts.empty() ? Json(nullptr) : Json(hosts[static_cast<std::size_t>(rank)]);
        ranks.push_back(entry);
    }
    const Json document = {
        {"virtual", hosts.empty()}, {"summary", placement_summary(placement)}, {"placement", std::move(ranks)}};
    fmt::print("{}\n", document.dump(2));
}

}  // namespace

int print_topology(const TopologyOptions& options, const Settings& settings, std::span<const std::string> warnings) {
    VirtualLayout layout = settings.topology;
    if (!options.layout.empty())
        if (const auto problem = VirtualLayout::parse(options.layout, layout))
            return mistake("--layout: " + *problem, no_answer);
    if (options.ranks != 0 && layout.is_automatic())
        return mistake("--ranks is for a virtual layout; give one with --layout or LIBHCOLL_TOPOLOGY", no_answer);

    int ranks = options.ranks;
    Job job;
    const bool needs_job = layout.is_automatic() || is_launched();
    if (needs_job) {
        job = examine_job(options.mpi);
        if (!job.prints) return 0;
        if (!job.problem.empty()) return mistake(job.problem, no_answer);
        ranks = static_cast<int>(job.ranks.size());
    } else if (ranks == 0) {
        ranks = layout.places();
    }

    for (const std::string& warning : warnings) fmt::print(stderr, "hcoll-info: warning: {}\n", warning);
    std::vector<Seat> seats;
    std::vector<std::string> hosts;
    if (!layout.is_automatic())
        if (const auto problem = layout.seats(ranks, seats)) {
            // Where the setting is too small for a job, the library takes the ranks where they are.
            if (!needs_job || !options.layout.empty()) return mistake(*problem, no_answer);
            fmt::print(stderr, "hcoll-info: {}; they are shown where they really are\n", *problem);
        }
    if (seats.empty()) {
        seats = seats_of_places(places_of(job));
        for (const Json& rank : job.ranks) hosts.push_back(rank["host"].get<std::string>());
    }
    const Placement placement(seats);
    if (options.as_json)
        print_json(placement, hosts);
    else
        fmt::print("{}", draw_placement(placement, hosts));
    return 0;
}

}  // namespace hcoll::info
