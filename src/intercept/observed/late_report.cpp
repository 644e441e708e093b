// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/late_report.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "intercept/observed/common_time.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

namespace {

Arrivals* noted_arrivals = nullptr;

constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();

std::int64_t common_time(std::uint64_t process_time) {
    return static_cast<std::int64_t>(CommonTime::get()->clocks().common(process_time));
}

// Of the calls that rank 0 has noted, those that this rank has noted, too; and what all ranks find out of them, by reductions of the MPI library.
class Join {
public:
    Join() : comm_(CommonTime::get()->communicator()) { mpi.Comm_rank(comm_, &rank_); }

    // On all ranks; on rank 0 what came of it.
    std::optional<LateRanksSplit> run() {
        if (!prepare() || calls_.empty()) return std::nullopt;
        find_mine();
        for_mine([&](std::size_t i, const Arrival& each) {
            came_[2 * i] = common_time(each.begin);
            if (each.is_root) came_[2 * i + 1] = came_[2 * i];
        });
        const bool has_come = reduce(came_, MPI_MAX);
        for_mine([&](std::size_t i, const Arrival& each) { split(i, each); });
        const bool has_sums = reduce(sums_, MPI_SUM);
        const bool has_late = reduce(late_, MPI_MAX);
        if (!has_come || !has_sums || !has_late || rank_ != 0) return std::nullopt;
        std::optional<LateRanksSplit> found;
        (void)has_memory_for([&] { found = summed_up(); });
        return found;
    }

private:
    struct Call {
        std::uint64_t key;
        std::uint64_t number;
        friend bool operator==(const Call&, const Call&) = default;
        bool operator<(const Call& other) const { return std::tie(key, number) < std::tie(other.key, other.number); }
    };
    // What is no pair, by what ranks say of it, does not meet.
    static Call call_of(const Arrival& arrival) {
        return {arrival.key * collective_count + static_cast<std::uint64_t>(arrival.collective), arrival.number};
    }
    struct Mine {
        std::size_t place;  // among the calls
        const Arrival* arrival;
    };

    // All memory is taken before any rank waits for another's.
    bool prepare() {
        std::uint64_t count = rank_ == 0 ? noted_arrivals->calls().size() : 0;
        const bool is_told = mpi.Bcast(&count, 1, MPI_UINT64_T, 0, comm_) == MPI_SUCCESS;
        const bool has_memory = is_told && has_memory_for([&] {
                                    calls_.resize(count);
                                    came_.assign(2 * count, nothing);
                                    late_.assign(count, nothing);
                                    sums_.assign(3 * count, 0);
                                    own_.reserve(noted_arrivals->calls().size());
                                    mine_.reserve(noted_arrivals->calls().size());
                                });
        if (is_true_anywhere(!has_memory, comm_)) return false;
        if (rank_ == 0)
            for (std::size_t i = 0; i < count; ++i) calls_[i] = call_of(noted_arrivals->calls()[i]);
        constexpr int words = sizeof(Call) / sizeof(std::uint64_t);
        return mpi.Bcast(calls_.data(), static_cast<int>(count) * words, MPI_UINT64_T, 0, comm_) == MPI_SUCCESS;
    }

    void find_mine() {
        for (const Arrival& each : noted_arrivals->calls()) own_.push_back(&each);
        std::sort(own_.begin(), own_.end(),
                  [](const Arrival* a, const Arrival* b) { return call_of(*a) < call_of(*b); });
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            const auto found =
                std::lower_bound(own_.begin(), own_.end(), calls_[i],
                                 [](const Arrival* each, const Call& call) { return call_of(*each) < call; });
            if (found != own_.end() && call_of(**found) == calls_[i]) mine_.push_back({i, *found});
        }
    }

    template <typename Each>
    void for_mine(Each&& each) {
        for (const Mine& mine : mine_) each(mine.place, *mine.arrival);
    }

    void split(std::size_t i, const Arrival& each) {
        const CallArrivals arrived{.root = came_[2 * i + 1], .last = came_[2 * i]};
        if (has_root(each.collective) && arrived.root == nothing) return;
        const std::int64_t begin = common_time(each.begin);
        const CallSplit found =
            split_call(each.collective, each.has_bytes, each.is_root, begin, common_time(each.end), arrived);
        sums_[3 * i] = found.waiting;
        sums_[3 * i + 1] = found.waiting + found.algorithm;
        sums_[3 * i + 2] = 1;
        const bool is_for_root = each.collective == Collective::bcast || each.collective == Collective::scatter;
        if (is_for_root ? each.is_root : begin == arrived.last) late_[i] = -rank_;
    }

    bool reduce(std::vector<std::int64_t>& numbers, MPI_Op op) {
        return mpi.Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, op, comm_) ==
               MPI_SUCCESS;
    }

    LateRanksSplit summed_up() const {
        LateRanksSplit found;
        std::map<int, LateRanksSplit::LateRank> ranks;
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            const Arrival& each = noted_arrivals->calls()[i];
            if (sums_[3 * i + 2] != each.size) continue;
            const double waiting = 1e-9 * static_cast<double>(sums_[3 * i]);
            found.add(each.row, waiting, 1e-9 * static_cast<double>(sums_[3 * i + 1]));
            if (waiting <= 0 || late_[i] == nothing) continue;
            LateRanksSplit::LateRank& late = ranks[static_cast<int>(-late_[i])];
            ++late.calls;
            late.caused += waiting;
        }
        for (auto& [rank, each] : ranks) {
            each.rank = rank;
            found.late.push_back(each);
        }
        std::stable_sort(found.late.begin(), found.late.end(),
                         [](const auto& a, const auto& b) { return a.caused > b.caused; });
        return found;
    }

    MPI_Comm comm_;
    int rank_ = 0;
    std::vector<Call> calls_;
    std::vector<std::int64_t> came_;  // the last to come, and the root
    std::vector<std::int64_t> late_;  // who is waited for, negative: of several the first counts
    std::vector<std::int64_t> sums_;  // waiting, time, and how many ranks have noted the call
    std::vector<const Arrival*> own_;
    std::vector<Mine> mine_;
};

}  // namespace

bool start_late_report() {
    const bool has_memory = has_memory_for([&] { noted_arrivals = new Arrivals; });
    if (!is_true_anywhere(!has_memory, CommonTime::get()->communicator())) return true;
    delete std::exchange(noted_arrivals, nullptr);
    return false;
}

Arrivals* arrivals() { return noted_arrivals; }

void finish_late_report() {
    if (noted_arrivals == nullptr) return;
    std::optional<LateRanksSplit> found = Join().run();
    if (Report* report = Process::get().report(); report != nullptr && found) report->set_late_ranks(std::move(*found));
}

}  // namespace hcoll
