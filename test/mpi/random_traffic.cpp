// SPDX-License-Identifier: BSD-3-Clause
// Random bursts of collectives whose results every rank knows beforehand: nothing compares notes between two calls, so that
// ranks run ahead of one another as far as the library lets them. Some ranks come late, and messages between two ranks are
// under way all the time. What random_oracle.cpp tries in types, this tries in order and time; random_settings.py runs
// it with random settings.
//
//   --calls N       collectives (default 400)
//   --max-bytes B   the longest message (default 300000)
//   --late U        a rank comes up to U microseconds late, now and then (default 300)
// A failure is replayed by HCOLL_TEST_SEED, the same number of ranks and the same options; a race may take several runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "../support/communicator_set.hpp"
#include "../support/random.hpp"

using namespace hcoll::test;

namespace {

enum class Kind { bcast, reduce, allreduce, barrier };
constexpr const char* kind_names[] = {"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Barrier"};
const MPI_Op operations[] = {MPI_SUM, MPI_MAX, MPI_BXOR};
constexpr const char* operation_names[] = {"MPI_SUM", "MPI_MAX", "MPI_BXOR"};

// A rank's operand, or a root's message: small enough for any sum.
std::int32_t item(std::uint64_t seed, int rank, std::int64_t index) {
    return static_cast<std::int32_t>(
        (seed + static_cast<std::uint64_t>(rank) * 40'503U + static_cast<std::uint64_t>(index) * 2'654'435'761U) %
        1'000'003U);
}

struct Burst {
    Kind kind;
    const NamedCommunicator* on;
    std::size_t operation;
    std::int64_t count;
    std::uint64_t calls;
    bool in_place;
    std::uint64_t seed;
};

std::int32_t expected(const Burst& burst, std::uint64_t seed, int root, std::int64_t index) {
    if (burst.kind == Kind::bcast) return item(seed, root, index);
    std::int32_t value = item(seed, 0, index);
    for (int rank = 1; rank < burst.on->size; ++rank) {
        const std::int32_t operand = item(seed, rank, index);
        if (operations[burst.operation] == MPI_SUM)
            value += operand;
        else if (operations[burst.operation] == MPI_MAX)
            value = std::max(value, operand);
        else
            value ^= operand;
    }
    return value;
}

// Counts around the sizes at which the library does something else, or any count.
std::int64_t draw_count(Random& random, std::int64_t max_bytes) {
    constexpr std::int64_t edges[] = {1, 2, 12, 13, 240, 241, 1024, 2048, 2049, 4096, 4097, 16'384, 16'385};
    const std::int64_t most = max_bytes / static_cast<std::int64_t>(sizeof(std::int32_t));
    if (random.chance(2)) return std::min(edges[random.below(std::size(edges))], most);
    return static_cast<std::int64_t>(
        std::pow(static_cast<double>(most), static_cast<double>(random.below(1001)) / 1000));
}

// Messages between neighbors of MPI_COMM_WORLD, always some under way.
class Neighbors {
public:
    Neighbors(int rank, int size) : rank_(rank), size_(size), sent_(longest), received_(longest) { start(); }
    ~Neighbors() { finish(); }
    Neighbors(const Neighbors&) = delete;
    Neighbors& operator=(const Neighbors&) = delete;

    void next() {
        finish();
        ++round_;
        start();
    }

private:
    static constexpr std::size_t longest = 100'000;

    [[nodiscard]] std::size_t count() const { return round_ % 2 == 0 ? 64 : longest; }
    void start() {
        for (std::size_t i = 0; i < count(); ++i) sent_[i] = item(round_, rank_, static_cast<std::int64_t>(i));
        const auto number = static_cast<int>(count());
        check(MPI_Irecv(received_.data(), number, MPI_INT32_T, before(), 7, MPI_COMM_WORLD, &requests_[0]));
        check(MPI_Isend(sent_.data(), number, MPI_INT32_T, (rank_ + 1) % size_, 7, MPI_COMM_WORLD, &requests_[1]));
    }
    void finish() {
        check(MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE));
        for (std::size_t i = 0; i < count(); ++i)
            require(received_[i] == item(round_, before(), static_cast<std::int64_t>(i)),
                    "a neighbor's message is wrong");
    }
    [[nodiscard]] int before() const { return (rank_ + size_ - 1) % size_; }

    int rank_;
    int size_;
    std::uint64_t round_ = 0;
    std::vector<std::int32_t> sent_;
    std::vector<std::int32_t> received_;
    MPI_Request requests_[2];
};

class Traffic {
public:
    Traffic(int rank, std::uint64_t seed, std::int64_t max_bytes, std::uint64_t late_microseconds)
        : seed_(seed),
          max_bytes_(max_bytes),
          late_microseconds_(late_microseconds),
          own_random_(mix({seed, static_cast<std::uint64_t>(rank) + 1})),
          input_(static_cast<std::size_t>(max_bytes) / sizeof(std::int32_t) + 1),
          output_(input_.size()) {}

    // Runs the burst with this number; returns how many calls that were.
    std::uint64_t run(std::uint64_t number) {
        const Burst burst = draw(number);
        for (std::uint64_t call = 0; call < burst.calls; ++call) {
            come_late();
            run_call(burst, number, call);
        }
        return burst.calls;
    }
    [[nodiscard]] bool chance(unsigned one_in) { return own_random_.chance(one_in); }

private:
    [[nodiscard]] Burst draw(std::uint64_t number) const {
        Random random(mix({seed_, number}));
        Burst burst;
        burst.on = &communicators_.list()[random.below(communicators_.list().size())];
        burst.kind = random.chance(8) ? Kind::barrier : static_cast<Kind>(random.below(3));
        burst.operation = random.below(std::size(operations));
        burst.count = draw_count(random, max_bytes_);
        constexpr std::uint64_t most_items = 200'000;  // of a burst
        const std::uint64_t most_calls =
            std::clamp<std::uint64_t>(most_items / static_cast<std::uint64_t>(burst.count), 1, 150);
        burst.calls = random.chance(2) ? 1 : 1 + random.below(most_calls);
        burst.in_place = random.chance(3);
        burst.seed = random.next();
        return burst;
    }

    void come_late() {
        if (late_microseconds_ == 0 || !own_random_.chance(16)) return;
        std::this_thread::sleep_for(std::chrono::microseconds(own_random_.below(late_microseconds_)));
    }

    void run_call(const Burst& burst, std::uint64_t number, std::uint64_t call) {
        const NamedCommunicator& on = *burst.on;
        const std::uint64_t seed = mix({burst.seed, call});
        // The same root for a while, and then another one.
        const auto root = static_cast<int>((burst.seed + call / 8) % static_cast<std::uint64_t>(on.size));
        const bool gets_result = burst.kind != Kind::reduce || on.rank == root;
        const auto count = static_cast<int>(burst.count);
        if (burst.kind == Kind::barrier) return check(MPI_Barrier(on.comm));
        // Other roots than 0: see vendor_defects.hpp; some calls are the MPI library's.
        const bool may_be_in_place = burst.kind == Kind::allreduce || (burst.kind == Kind::reduce && root == 0);
        const bool in_place = burst.in_place && may_be_in_place && gets_result;
        const bool has_output = in_place || (burst.kind == Kind::bcast && on.rank == root);
        std::vector<std::int32_t>& operand = has_output ? output_ : input_;
        for (std::int64_t i = 0; i <= burst.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            output_[at] = untouched;
            if (i < burst.count) operand[at] = item(seed, on.rank, i);
        }
        const void* send = in_place ? MPI_IN_PLACE : input_.data();
        const MPI_Op op = operations[burst.operation];
        if (burst.kind == Kind::bcast)
            check(MPI_Bcast(output_.data(), count, MPI_INT32_T, root, on.comm));
        else if (burst.kind == Kind::reduce)
            check(MPI_Reduce(send, gets_result ? output_.data() : nullptr, count, MPI_INT32_T, op, root, on.comm));
        else
            check(MPI_Allreduce(send, output_.data(), count, MPI_INT32_T, op, on.comm));
        const auto where = [&](std::int64_t i) {
            return "burst " + std::to_string(number) + ", call " + std::to_string(call) + ": " +
                   kind_names[static_cast<int>(burst.kind)] + " of " + std::to_string(count) + " on " + on.name +
                   ", root " + std::to_string(root) + ", " + operation_names[burst.operation] + ": item " +
                   std::to_string(i) + " is " + std::to_string(output_[static_cast<std::size_t>(i)]);
        };
        for (std::int64_t i = 0; i < burst.count; ++i) {
            const std::int32_t right = gets_result ? expected(burst, seed, root, i) : untouched;
            if (output_[static_cast<std::size_t>(i)] != right) fail(where(i) + ", not " + std::to_string(right));
        }
        if (output_[static_cast<std::size_t>(burst.count)] != untouched) fail(where(burst.count) + ", behind the end");
    }

    static constexpr std::int32_t untouched = -77;

    std::uint64_t seed_;
    std::int64_t max_bytes_;
    std::uint64_t late_microseconds_;
    Random own_random_;  // differs between ranks
    CommunicatorSet communicators_;
    std::vector<std::int32_t> input_;
    std::vector<std::int32_t> output_;
};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "random_traffic");
    const auto calls = static_cast<std::uint64_t>(program.options().number("--calls", 400));
    const std::int64_t max_bytes = program.options().number("--max-bytes", 300'000);
    const auto late = static_cast<std::uint64_t>(program.options().number("--late", 300));
    program.options().reject_rest();

    std::uint64_t done = 0;
    {
        Traffic traffic(program.rank(), program.seed(), max_bytes, late);
        Neighbors neighbors(program.rank(), program.size());
        Random random(mix({program.seed(), 0x6e65696768626f72U}));
        for (std::uint64_t number = 0; done < calls; ++number) {
            done += traffic.run(number);
            if (random.chance(4)) neighbors.next();
        }
    }
    return program.finish(std::to_string(done) + " collectives as expected");
}
