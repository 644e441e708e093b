#include "tuning/task_costs.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace hcoll {

int segments_to_fill(Collective collective) { return collective == Collective::allreduce ? 4 : 2; }

int segments_until_stable(Collective collective) {
    constexpr int to_settle = 4;  // figure 5.12: after the first few
    return segments_to_fill(collective) + to_settle;
}

TaskCosts::TaskCosts(Collective collective, std::uint64_t segment_bytes, const TaskTimes& times)
    : collective_(collective), segment_bytes_(segment_bytes), times_(times) {
    check(times.one.size() == times.filled.size() && times.one.size() == times.stable.size() && segment_bytes != 0,
          "tasks are timed on every rank");
    const double segments = segments_until_stable(collective) - segments_to_fill(collective);
    for (std::size_t i = 0; i < times.stable.size(); ++i)
        full_.push_back(std::max(times.stable[i] - times.filled[i], 0.0) / segments);
}

TaskCosts TaskCosts::extrapolated(const TaskCosts& shortest, const TaskCosts& shorter, std::uint64_t segment_bytes) {
    check(shortest.segment_bytes_ < shorter.segment_bytes_ && shorter.segment_bytes_ < segment_bytes &&
              shortest.times_.one.size() == shorter.times_.one.size(),
          "tasks are extrapolated from two shorter ones of the same ranks");
    const double distance = static_cast<double>(segment_bytes - shorter.segment_bytes_) /
                            static_cast<double>(shorter.segment_bytes_ - shortest.segment_bytes_);
    const auto further = [distance](const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> times;
        for (std::size_t i = 0; i < a.size(); ++i) times.push_back(b[i] + std::max(b[i] - a[i], 0.0) * distance);
        return times;
    };
    return {shorter.collective_, segment_bytes,
            TaskTimes{.one = further(shortest.times_.one, shorter.times_.one),
                      .filled = further(shortest.times_.filled, shorter.times_.filled),
                      .stable = further(shortest.times_.stable, shorter.times_.stable)}};
}

double TaskCosts::seconds(std::uint64_t bytes) const {
    const double segments = std::max(static_cast<double>(bytes) / static_cast<double>(segment_bytes_), 1.0);
    const double filled = segments_to_fill(collective_);
    double longest = 0;
    for (std::size_t i = 0; i < full_.size(); ++i) {
        // What is not yet full goes on from one segment to that in equal steps.
        const double step = (times_.filled[i] - times_.one[i]) / (filled - 1);
        const double mine = segments < filled ? times_.one[i] + (segments - 1) * step
                                              : times_.filled[i] + (segments - filled) * full_[i];
        longest = std::max(longest, mine);
    }
    return longest;
}

double TaskCosts::full_task() const { return full_.empty() ? 0 : *std::max_element(full_.begin(), full_.end()); }

double overlap_rate(double inter, double intra, double together) {
    const double shorter = std::min(inter, intra);
    return shorter <= 0 ? 0 : std::clamp((inter + intra - together) / shorter, 0.0, 1.0);
}

}  // namespace hcoll
