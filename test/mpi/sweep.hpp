// SPDX-License-Identifier: BSD-3-Clause
// What a sweep over one communicator runs, and how often: counts, roots, and the variants of each call.
#pragma once

#include "../support/call.hpp"
#include "../support/communicator_set.hpp"
#include "../support/vendor_defects.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace hcoll::test {

struct SweepSettings {
    std::uint64_t seed = 0;
    std::string only;
    std::int64_t segment = 0;
    bool quick = false;
    std::int64_t one_in = 1;  // of so many calls; which, the seed says
    bool all_right = false;   // nothing is left out for the MPI library's sake
};

class Sweep {
public:
    Sweep(const SweepSettings& settings, const NamedCommunicator& on) : settings_(settings), on_(on) {}

    [[nodiscard]] int rank() const { return on_.rank; }
    [[nodiscard]] std::uint64_t calls() const { return run_; }

    [[nodiscard]] bool wants(Collective collective) const {
        if (settings_.only.empty()) return true;
        const std::string_view names[] = {"bcast", "reduce", "allreduce", "barrier"};
        return settings_.only == names[static_cast<std::size_t>(collective)];
    }

    // One that is small and one that does not fit the first segment.
    [[nodiscard]] std::vector<std::int64_t> few_counts(const TestType& type) const {
        const std::int64_t segment_items = items_per_segment(type);
        const std::int64_t beyond = segment_items > 0 && segment_items < 200 ? 3 * segment_items + 1 : 65;
        return settings_.quick ? std::vector<std::int64_t>{beyond} : std::vector<std::int64_t>{1, 7, beyond};
    }

    [[nodiscard]] std::vector<std::int64_t> all_counts(const TestType& type) const {
        std::vector<std::int64_t> counts = {0, 1, 2, 3, 7, 64};
        if (!settings_.quick && primary()) counts.push_back(5003);
        if (const std::int64_t items = items_per_segment(type); items > 0) {
            const int last_multiple = items > 10'000 || !primary() ? 2 : 4;
            for (int multiple = 1; multiple <= last_multiple; multiple *= 2)
                counts.insert(counts.end(), {multiple * items - 1, multiple * items, multiple * items + 1});
            if (items < 1000) counts.push_back(9 * items + items / 2);
        }
        std::sort(counts.begin(), counts.end());
        counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
        return counts;
    }

    // All roots where the sweep is thorough, else the two ends and one between.
    [[nodiscard]] std::vector<int> roots() const {
        std::vector<int> roots;
        for (int root = 0; root < on_.size; ++root)
            if ((primary() && !settings_.quick) || root == 0 || root == on_.size / 2 || root == on_.size - 1)
                roots.push_back(root);
        return roots;
    }

    // Roots take turns.
    int next_root() { return static_cast<int>(turn_++ % static_cast<std::uint64_t>(on_.size)); }

    void bcast(const TestType& type, std::int64_t count, int root) {
        Call call = make(Collective::bcast, &type, {}, count);
        call.root = root;
        run_if_drawn(call);
    }

    void barrier() {
        if (wants(Collective::barrier)) run_if_drawn(make(Collective::barrier, nullptr, {}, 0));
    }

    // Reduce and Allreduce, each in place and not.
    void reductions(const TestType& type, const Operation& operation, std::int64_t count, int root) {
        for (const Collective collective : {Collective::reduce, Collective::allreduce}) {
            if (!wants(collective)) continue;
            for (const bool in_place : {false, true}) {
                Call call = make(collective, &type, operation, count);
                call.root = root;
                call.in_place = in_place;
                if (settings_.all_right || !vendor_fails(call)) run_if_drawn(call);
            }
        }
    }

private:
    [[nodiscard]] bool primary() const { return on_.comm == MPI_COMM_WORLD; }

    [[nodiscard]] std::int64_t items_per_segment(const TestType& type) const {
        std::int64_t bytes = 0;
        for (const Part& part : type.parts) bytes += static_cast<std::int64_t>(part.size);
        return settings_.segment / bytes;
    }

    // The same on all ranks.
    void run_if_drawn(const Call& call) {
        const auto one_in = static_cast<std::uint64_t>(std::max<std::int64_t>(settings_.one_in, 1));
        if (mix({call.seed, std::hash<std::string>()(on_.name)}) % one_in != 0) return;
        run_checked(call);
        ++run_;
    }

    Call make(Collective collective, const TestType* type, const Operation& operation, std::int64_t count) {
        ++calls_;
        Call call;
        call.collective = collective;
        call.comm = on_.comm;
        call.comm_name = on_.name;
        call.rank = on_.rank;
        call.size = on_.size;
        call.type = type;
        call.operation = operation;
        call.count = count;
        call.seed = mix({settings_.seed, calls_});
        call.null_buffers = call.seed % 2 == 0;
        call.large_variant = call.seed % 5 == 0;
        return call;
    }

    SweepSettings settings_;
    NamedCommunicator on_;
    std::uint64_t calls_ = 0;  // that there are
    std::uint64_t run_ = 0;    // of them
    std::uint64_t turn_ = 0;
};

}  // namespace hcoll::test
