// Random programs of non-blocking and blocking collectives on several communicators, with messages between neighbors and
// computation in between. All ranks begin the same collectives in the same order; each completes them when and how it likes.
//
//   --steps N       collectives (default 300)
//   --max-bytes B   the longest message (default 300000)
//   --late U        a rank computes for up to U microseconds, now and then (default 300)
//   --thread-level L  asked of MPI_Init_thread (default 0)
// random_settings.py runs it with random settings. A failure is replayed by HCOLL_TEST_SEED, the same number of ranks and the
// same options; a race may take several runs.
#include <chrono>
#include <cmath>

#include "../support/nonblocking_call.hpp"

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

}  // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    for (int i = 1; i + 1 < argc; ++i)
        if (std::string_view(argv[i]) == "--thread-level") level = std::stoi(argv[i + 1]);
    Program program(argc, argv, "random_nonblocking", level);
    (void)program.options().number("--thread-level", 0);
    const std::int64_t steps = program.options().number("--steps", 300);
    const std::int64_t max_bytes = program.options().number("--max-bytes", 300'000);
    const auto late = static_cast<std::uint64_t>(program.options().number("--late", 300));
    program.options().reject_rest();
    {
        const CommunicatorSet set;
        const auto& list = set.list();
        Random same(program.seed());
        Random own(mix({program.seed(), static_cast<std::uint64_t>(program.rank()) + 1}));
        Neighbors neighbors(list[0]);
        std::vector<std::unique_ptr<Call>> calls;
        const double largest = std::log(static_cast<double>(max_bytes) / sizeof(std::int64_t));
        for (std::int64_t step = 0; step < steps; ++step) {
            const NamedCommunicator& on = list[same.below(list.size())];
            const Kind kind = kinds[same.below(3)];
            const auto count =
                static_cast<std::size_t>(std::exp(largest * static_cast<double>(same.below(1001)) / 1000));
            const auto root = static_cast<int>(same.below(1000)) % on.size;
            const std::uint64_t seed = same.next();
            const bool in_place = same.chance(3);
            if (same.chance(4))
                blocking_collective(on, same);
            else
                calls.push_back(std::make_unique<Call>(kind, on, root, count, seed, in_place));
            if (same.chance(5)) neighbors.next(same);
            if (late != 0 && own.chance(4)) compute(own.below(late));
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
    }
    return program.finish(std::to_string(steps) + " collectives as expected");
}
