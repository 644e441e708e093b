// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/common_clock.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "base/monotonic_clock.hpp"
#include "intercept/process/abort_job.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

constexpr int exchanges = 10;
constexpr std::uint64_t nanoseconds_of_second = 1'000'000'000;
constexpr std::uint64_t old_after = 10 * nanoseconds_of_second;
// A second comparison tells a drift if the first was so long ago; more than that no quartz drifts.
constexpr std::uint64_t least_between = nanoseconds_of_second;
constexpr double most_drift = 500e-6;

int send(const void* data, int numbers, int to, int tag, MPI_Comm communicator) {
    return end_job_unless(mpi.Send(data, numbers, MPI_UINT64_T, to, tag, communicator), "clocks are compared");
}

int receive(void* data, int numbers, int from, int tag, MPI_Comm communicator) {
    return end_job_unless(mpi.Recv(data, numbers, MPI_UINT64_T, from, tag, communicator, MPI_STATUS_IGNORE),
                          "clocks are compared");
}

}  // namespace

std::uint64_t CommonClock::raw_now() {
    if constexpr (is_simulated) return simulated_nanoseconds();
    return monotonic_nanoseconds();
}

bool CommonClock::is_old() const { return is_compared_ && raw_now() - compared_at_ > old_after; }

int CommonClock::compare(MPI_Comm communicator, int tag, const Placement& placement, int rank) {
    if (placement.nodes() == 1 || is_simulated) return MPI_SUCCESS;
    const int node = placement.node_of(rank);
    const auto on_node = placement.ranks_of_node(node);
    const auto leader_of = [&](int of) { return placement.ranks_of_node(of).front(); };
    int status = MPI_SUCCESS;
    CommonClock compared = *this;
    std::array<std::uint64_t, 2> told{};  // the common time, and this node's at the same moment
    if (on_node.front() == rank) {
        int stride = 1;
        while (2 * stride < placement.nodes()) stride *= 2;
        for (; stride >= 1 && status == MPI_SUCCESS; stride /= 2) {
            if (node % (2 * stride) == 0 && node + stride < placement.nodes()) {
                const int asks = leader_of(node + stride);
                for (int i = 0; i < exchanges && status == MPI_SUCCESS; ++i) {
                    std::uint64_t question = 0;
                    status = receive(&question, 1, asks, tag, communicator);
                    const std::uint64_t answer = node == 0 ? raw_now() : compared.now();
                    if (status == MPI_SUCCESS) status = send(&answer, 1, asks, tag, communicator);
                }
            } else if (node % (2 * stride) == stride) {
                const int knows = leader_of(node - stride);
                std::uint64_t soonest = std::numeric_limits<std::uint64_t>::max();
                for (int i = 0; i < exchanges && status == MPI_SUCCESS; ++i) {
                    std::uint64_t answer = 0;
                    const std::uint64_t asked = raw_now();
                    status = send(&asked, 1, knows, tag, communicator);
                    if (status == MPI_SUCCESS) status = receive(&answer, 1, knows, tag, communicator);
                    const std::uint64_t took = raw_now() - asked;
                    if (took >= soonest) continue;
                    soonest = took;
                    told = {answer, asked + took / 2};
                }
                // Leaders that ask this one are answered by what it has found.
                compared.offset_ = static_cast<std::int64_t>(told[0] - told[1]);
                compared.compared_at_ = told[1];
                compared.drift_ = 0;
            }
        }
        for (const int each : on_node.subspan(1))
            if (const int sent = send(told.data(), static_cast<int>(told.size()), each, tag, communicator);
                status == MPI_SUCCESS)
                status = sent;
    } else {
        status = receive(told.data(), static_cast<int>(told.size()), on_node.front(), tag, communicator);
    }
    if (status != MPI_SUCCESS) return status;
    // The first node's clock is the common one: there nothing was asked.
    if (node == 0) told = {0, raw_now()};
    compared.offset_ = node == 0 ? 0 : static_cast<std::int64_t>(told[0] - told[1]);
    compared.compared_at_ = told[1];
    const std::uint64_t between = compared.compared_at_ - compared_at_;
    const double drift = static_cast<double>(compared.offset_ - offset_) / static_cast<double>(between);
    compared.drift_ = is_compared_ && between >= least_between && std::abs(drift) <= most_drift ? drift : 0;
    compared.is_compared_ = true;
    *this = compared;
    return MPI_SUCCESS;
}

}  // namespace hcoll
