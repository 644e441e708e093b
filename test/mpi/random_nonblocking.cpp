// SPDX-License-Identifier: BSD-3-Clause
// Random programs of non-blocking, persistent and blocking collectives on several communicators, with messages between neighbors and
// computation in between; of several threads, too, each with communicators of its own. All ranks begin the same collectives in
// the same order; each completes them when and how it likes.
//
//   --steps N       collectives (default 300)
//   --max-bytes B   the longest message (default 300000)
//   --late U        a rank computes for up to U microseconds, now and then (default 300)
//   --thread-level L  asked of MPI_Init_thread (default 0)
//   --threads T     (default 1); more than one need --thread-level 3, or there is one
// random_settings.py runs it with random settings. A failure is replayed by HCOLL_TEST_SEED, the same number of ranks and the
// same options; a race may take several runs.
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

#include "../support/persistent_call.hpp"

using namespace hcoll::test;

namespace {

void compute(std::uint64_t microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

// A message to the next rank and one from the rank before, under way for as long as may be.
class Neighbors {
public:
    explicit Neighbors(const NamedCommunicator& world) : world_(world), sent_(longest), received_(longest) {}
    Neighbors(const Neighbors&) = delete;
    Neighbors& operator=(const Neighbors&) = delete;
    ~Neighbors() { finish(); }

    // The same on all ranks: blocking or not.
    void next(Random& same) {
        finish();
        ++round_;
        count_ = same.chance(2) ? 16 : longest;
        for (std::size_t i = 0; i < count_; ++i) sent_[i] = item(round_, world_.rank, i);
        const auto n = static_cast<int>(count_);
        const int before = (world_.rank + world_.size - 1) % world_.size;
        const int behind = (world_.rank + 1) % world_.size;
        if (same.chance(3)) {
            check(MPI_Sendrecv(sent_.data(), n, MPI_INT64_T, behind, 7, received_.data(), n, MPI_INT64_T, before, 7,
                               world_.comm, MPI_STATUS_IGNORE));
            look();
            return;
        }
        check(MPI_Irecv(received_.data(), n, MPI_INT64_T, before, 7, world_.comm, &requests_[0]));
        check(MPI_Isend(sent_.data(), n, MPI_INT64_T, behind, 7, world_.comm, &requests_[1]));
    }

private:
    static constexpr std::size_t longest = 40'000;

    void finish() {
        if (requests_[0] == MPI_REQUEST_NULL) return;
        check(MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE));
        look();
    }
    void look() const {
        const int before = (world_.rank + world_.size - 1) % world_.size;
        for (std::size_t i = 0; i < count_; ++i)
            require(received_[i] == item(round_, before, i), "a neighbor's message is wrong");
    }

    NamedCommunicator world_;
    std::uint64_t round_ = 0;
    std::size_t count_ = 0;
    std::vector<std::int64_t> sent_;
    std::vector<std::int64_t> received_;
    MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

void blocking_collective(const NamedCommunicator& on, Random& same) {
    const std::uint64_t kind = same.below(3);
    const auto root = static_cast<int>(same.below(1000)) % on.size;
    const std::size_t count = 1 + same.below(same.chance(4) ? 20'000 : 100);
    const std::uint64_t seed = same.next();
    const auto n = static_cast<int>(count);
    if (kind == 0) return check(MPI_Barrier(on.comm));
    std::vector<std::int64_t> data(count);
    std::vector<std::int64_t> result(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = item(seed, on.rank, i);
    if (kind == 1) {
        check(MPI_Bcast(data.data(), n, MPI_INT64_T, root, on.comm));
        for (std::size_t i = 0; i < count; ++i) require(data[i] == item(seed, root, i), "MPI_Bcast");
        return;
    }
    check(MPI_Allreduce(data.data(), result.data(), n, MPI_INT64_T, MPI_SUM, on.comm));
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t sum = 0;
        for (int rank = 0; rank < on.size; ++rank) sum += item(seed, rank, i);
        require(result[i] == sum, "MPI_Allreduce");
    }
}

// Persistent collectives that are started now and then, the same ones on all ranks, and completed some time later.
class Restarts {
public:
    void next([[maybe_unused]] const NamedCommunicator& on, [[maybe_unused]] Random& same,
              [[maybe_unused]] std::size_t count) {
#if defined(HCOLL_TEST_PERSISTENT)
        const Kind kind = kinds[same.below(3)];
        const auto root = static_cast<int>(same.below(1000)) % on.size;
        const bool in_place = same.chance(3);
        if (all_.size() < 4) all_.push_back({std::make_unique<Persistent>(kind, on, root, count, in_place)});
        const std::size_t which = same.below(all_.size());
        Started& chosen = all_[which];
        finish(chosen);
        if (same.chance(8)) {
            all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(which));
            return;
        }
        chosen.call->fill(same.next());
        check(MPI_Start(&chosen.call->request));
        chosen.is_active = true;
#endif
    }
    // Some of them.
    void complete([[maybe_unused]] Random& own) {
#if defined(HCOLL_TEST_PERSISTENT)
        for (Started& each : all_) {
            if (!each.is_active || own.chance(2)) continue;
            int done = 0;
            if (own.chance(2)) check(MPI_Test(&each.call->request, &done, MPI_STATUS_IGNORE));
            if (done == 0) check(MPI_Wait(&each.call->request, MPI_STATUS_IGNORE));
            each.is_active = false;
            each.call->look();
        }
#endif
    }
    void finish_all() {
#if defined(HCOLL_TEST_PERSISTENT)
        for (Started& each : all_) finish(each);
        all_.clear();
#endif
    }

#if defined(HCOLL_TEST_PERSISTENT)
private:
    struct Started {
        std::unique_ptr<Persistent> call;
        bool is_active = false;
    };
    static void finish(Started& started) {
        if (!started.is_active) return;
        check(MPI_Wait(&started.call->request, MPI_STATUS_IGNORE));
        started.is_active = false;
        started.call->look();
    }
    std::vector<Started> all_;
#endif
};

struct Shape {
    std::int64_t steps;
    std::int64_t max_bytes;
    std::uint64_t late;
};

// One thread's.
void run(const CommunicatorSet& set, const Shape& shape, std::uint64_t seed, int rank) {
    const auto& list = set.list();
    Random same(seed);
    Random own(mix({seed, static_cast<std::uint64_t>(rank) + 1}));
    Neighbors neighbors(list[0]);
    Restarts restarts;
    std::vector<std::unique_ptr<Call>> calls;
    const double largest = std::log(static_cast<double>(shape.max_bytes) / sizeof(std::int64_t));
    for (std::int64_t step = 0; step < shape.steps; ++step) {
        const NamedCommunicator& on = list[same.below(list.size())];
        const Kind kind = kinds[same.below(3)];
        const auto count = static_cast<std::size_t>(std::exp(largest * static_cast<double>(same.below(1001)) / 1000));
        const auto root = static_cast<int>(same.below(1000)) % on.size;
        const std::uint64_t call_seed = same.next();
        const bool in_place = same.chance(3);
        if (same.chance(4))
            blocking_collective(on, same);
        else if (same.chance(4))
            restarts.next(on, same, count);
        else
            calls.push_back(std::make_unique<Call>(kind, on, root, count, call_seed, in_place));
        if (same.chance(5)) neighbors.next(same);
        if (shape.late != 0 && own.chance(4)) compute(own.below(shape.late));
        if (own.chance(10)) restarts.complete(own);
        if (calls.empty() || !own.chance(6)) continue;
        // Some of them, in any order, or all.
        if (own.chance(3)) {
            complete(calls, own);
            continue;
        }
        const std::size_t which = own.below(calls.size());
        calls[which]->wait();
        calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (!calls.empty()) complete(calls, own);
    restarts.finish_all();
}

}  // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    for (int i = 1; i + 1 < argc; ++i)
        if (std::string_view(argv[i]) == "--thread-level") level = std::stoi(argv[i + 1]);
    Program program(argc, argv, "random_nonblocking", level);
    (void)program.options().number("--thread-level", 0);
    const Shape shape{.steps = program.options().number("--steps", 300),
                      .max_bytes = program.options().number("--max-bytes", 300'000),
                      .late = static_cast<std::uint64_t>(program.options().number("--late", 300))};
    std::int64_t threads = program.options().number("--threads", 1);
    program.options().reject_rest();
    if (program.thread_level() < MPI_THREAD_MULTIPLE) threads = 1;
    {
        const CommunicatorSet first;
        std::deque<CommunicatorSet> others;
        std::vector<std::thread> running;
        for (std::int64_t thread = 1; thread < threads; ++thread) {
            const CommunicatorSet& set = others.emplace_back(CommunicatorSet::Of::duplicates);
            running.emplace_back([&set, &shape, &program, thread] {
                run(set, shape, mix({program.seed(), static_cast<std::uint64_t>(thread)}), program.rank());
            });
        }
        run(first, shape, program.seed(), program.rank());
        for (std::thread& each : running) each.join();
    }
    return program.finish(std::to_string(shape.steps * threads) + " collectives as expected");
}
