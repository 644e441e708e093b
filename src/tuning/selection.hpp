// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a call runs: a pure function of what all ranks know.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tuning/settings.hpp"
#include "tuning/vendor_kind.hpp"

namespace hcoll {

struct Decision {
    const Algorithm* algorithm = nullptr;  // nullptr: the vendor's own, or shared memory
    bool shared = false;                   // over shared memory; what that cannot run is the vendor's
    std::uint64_t single_copy = 0;         // there, of messages of that many bytes or more; 0: of none
    AlgorithmParameters parameters;
    std::string what;         // for reports: algorithm with its parameters, or "vendor"
    std::string why;          // the setting or the rule
    bool is_of_rule = false;  // a built-in one: nobody who knows this machine has asked for it
    bool keeps_order = true;  // it can run operations that do not commute, where its ranks sit
    // A plan for operations that this cannot run, of those that the table has; nullptr: the vendor's.
    std::shared_ptr<const Decision> next_best = nullptr;

    void note_order(const Placement& placement) {
        keeps_order = algorithm == nullptr || hcoll::keeps_order(*algorithm, parameters, placement);
    }
    bool is_own() const { return algorithm != nullptr || shared; }
    // The MPI library's collectives among the leaders of nodes, which need a communicator of them.
    bool wants_leaders() const { return algorithm != nullptr && needs_leaders(*algorithm, parameters); }
    void do_without_leaders();
    void do_without_single_copy();
    // Of a split tree, where the model is to say how many levels the calling ranks run.
    void choose_split(int ranks, int progress_cores);
    // Of an algorithm in segments: they are to be no longer than that.
    void shorten_segments(std::uint64_t most_bytes);
};

// Of a choice that is not automatic.
Decision decision_of(const AlgorithmChoice& choice, std::string why);

// On average, rounded up: what rules and tables go by.
inline int ranks_per_node(const Placement& placement) {
    return (placement.ranks() + placement.nodes() - 1) / placement.nodes();
}

// Decisions by bytes of the message's type signature, in ascending order; the last one has no bound.
struct SizeRange {
    std::uint64_t largest_bytes = std::numeric_limits<std::uint64_t>::max();
    Decision decision;
};
using DecisionTable = std::vector<SizeRange>;

// The decisions of one collective for a communicator whose ranks sit as `placement` says, and have or have not a segment
// of shared memory. Without one, what would run over it is left to the other rules.
DecisionTable make_decision_table(const Settings& settings, VendorKind vendor, Collective collective,
                                  const Placement& placement, bool has_shared_memory);

// The same for non-blocking ones, which nothing but messages carries. So many cores of this node make progress: they decide how
// many levels of a split tree run in the calling ranks, which need not be alike on all of them.
DecisionTable make_nonblocking_table(const Settings& settings, VendorKind vendor, Collective collective,
                                     const Placement& placement, int progress_cores);

inline const Decision& decide(const DecisionTable& table, std::uint64_t bytes) {
    auto range = table.begin();
    while (bytes > range->largest_bytes) ++range;
    return range->decision;
}

}  // namespace hcoll
