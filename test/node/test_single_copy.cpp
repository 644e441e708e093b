// SPDX-License-Identifier: BSD-3-Clause
// Long messages that ranks copy from one another's buffers: in every way, with copies that fail now and then, and where the
// system refuses them. Ranks are threads, and in one test processes.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "../support/seed.hpp"
#include "failing_memory.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/shared_segment.hpp"
#include "rank_threads.hpp"

// test/support/xpmem.c
extern "C" int xpmem_test_attachments(void);

namespace hcoll::test {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;

// Base 31 digits: what is combined in another order, or twice, is another number.
struct Digits : Combine {
    Digits() : Combine(sizeof(std::uint64_t)) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        for (std::size_t i = 0; i < elements; ++i) {
            std::uint64_t a[2];
            std::uint64_t b[2];
            unpack(left, i, a);
            unpack(right, i, b);
            // (number, 31 to the power of its digits)
            const std::uint32_t both[2] = {static_cast<std::uint32_t>(a[0] * b[1] + b[0]),
                                           static_cast<std::uint32_t>(a[1] * b[1])};
            std::memcpy(result + i * sizeof both, both, sizeof both);
        }
    }

private:
    static void unpack(const std::byte* from, std::size_t i, std::uint64_t* pair) {
        std::uint32_t both[2];
        std::memcpy(both, from + i * sizeof both, sizeof both);
        pair[0] = both[0];
        pair[1] = both[1];
    }
};

std::uint64_t operand(int rank, std::size_t i, std::uint64_t seed) {
    const std::uint64_t digit = (static_cast<std::uint64_t>(rank) + i * 7 + seed) % 31;
    return digit | std::uint64_t{31} << 32;
}
std::uint64_t combined(int ranks, std::size_t i, std::uint64_t seed) {
    std::uint32_t number = 0;
    std::uint32_t power = 1;
    for (int rank = 0; rank < ranks; ++rank) {
        number = number * 31 + static_cast<std::uint32_t>(operand(rank, i, seed));
        power *= 31;
    }
    return number | static_cast<std::uint64_t>(power) << 32;
}

// All three collectives with every root, in place and not, around boundaries of pages and blocks; one call after another,
// single copies and others in turn. The first thing that is wrong, or "".
std::string run_rank(NodeCollectives& node, int rank, int ranks, std::uint64_t seed, std::size_t most_bytes) {
    const Digits combine;
    std::mt19937_64 random(seed);  // the same on all ranks
    for (const std::size_t bytes : {9'000UL, 16'384UL, 65'544UL, 300'000UL, 1'100'000UL}) {
        if (bytes > most_bytes) break;
        const std::size_t elements = bytes / sizeof(std::uint64_t);
        for (int call = 0; call < 3 * std::min(ranks, 4); ++call) {
            const int root = (call / 3 + static_cast<int>(bytes)) % ranks;
            const bool in_place = random() % 2 == 0;
            const std::size_t from = random() % 4 == 0 ? NodeCollectives::never : 1;
            const int late = static_cast<int>(random() % 16);
            for (int i = 0; i < 50 && late == rank; ++i) sched_yield();
            // Somewhere in its page, and one element more, which stays.
            std::vector<std::uint64_t> own(elements + 8);
            std::vector<std::uint64_t> output(elements + 8, 1);
            std::uint64_t* mine = own.data() + (static_cast<std::size_t>(rank) + random() % 3) % 7;
            std::uint64_t* result = output.data() + (static_cast<std::size_t>(rank) + random() % 3) % 7;
            for (std::size_t i = 0; i < elements; ++i) mine[i] = operand(rank, i, bytes);
            const bool is_bcast = call % 3 == 0;
            if (in_place || (is_bcast && rank == root)) std::copy(mine, mine + elements, result);
            const auto* input = reinterpret_cast<const std::byte*>(in_place ? result : mine);
            auto* target = reinterpret_cast<std::byte*>(result);
            const bool has_result = call % 3 != 1 || rank == root;
            if (is_bcast)
                node.bcast(root, target, elements * sizeof(std::uint64_t), from);
            else if (call % 3 == 1)
                node.reduce(root, input, has_result ? target : nullptr, elements, combine, from);
            else
                node.allreduce(input, target, elements, combine, from);
            for (std::size_t i = 0; i < elements && has_result; ++i) {
                const std::uint64_t expected = is_bcast ? operand(root, i, bytes) : combined(ranks, i, bytes);
                if (result[i] != expected)
                    return "element " + std::to_string(i) + " of " + std::to_string(elements) + " of call " +
                           std::to_string(call) + (in_place ? ", in place" : "") + (from == 1 ? "" : ", in blocks");
            }
            if (result[elements] != 1) return "wrote behind its end";
            for (std::size_t i = 0; i < elements; ++i)
                if (mine[i] != operand(rank, i, bytes)) return "wrote to an operand";
        }
    }
    return "";
}

using MakeMemory = std::unique_ptr<PeerMemory> (*)(int ranks);

struct Outcome {
    std::atomic<int> proven{0};
    std::atomic<int> failures{0};
    std::atomic<bool> is_armed{false};
    std::vector<std::string> problems;
};

template <typename Make>
void run_threads(int ranks, bool oversubscribed, std::size_t most_bytes, Outcome& outcome, const Make& make) {
    const std::uint64_t seed = test_seed();
    outcome.problems.resize(static_cast<std::size_t>(ranks));
    run_ranks(Placement::one_node(ranks), buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
        if (node.use_single_copy(make(rank))) ++outcome.proven;
        outcome.is_armed = true;  // all are through the test
        outcome.problems[static_cast<std::size_t>(rank)] = run_rank(node, rank, ranks, seed, most_bytes);
    });
    for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(outcome.problems[static_cast<std::size_t>(rank)], "") << "rank " << rank << " of " << ranks;
}

struct Case {
    int ranks;
    bool oversubscribed;
    MakeMemory make;
    const char* name;

    friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

// As much as a sanitizer does in some seconds.
std::size_t most_bytes_of(int ranks) { return ranks > 4 ? 100'000 : 1'100'000; }

// Some sandboxes and emulators have no such call, not even for one's own memory.
bool has_cma() {
    const std::uint64_t word = 1;
    std::uint64_t copy = 0;
    auto memory = make_cma_memory(1);
    return memory->connect(0, memory->key()) == 0 &&
           memory->read(0, reinterpret_cast<std::uint64_t>(&word), reinterpret_cast<std::byte*>(&copy), sizeof copy) ==
               0;
}
constexpr const char* no_cma = "this system has no process_vm_readv";

class SingleCopies : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (GetParam().make == make_cma_memory && !has_cma()) GTEST_SKIP() << no_cma;
    }
};

TEST_P(SingleCopies, GiveTheRightResults) {
    const Case& test = GetParam();
    Outcome outcome;
    run_threads(test.ranks, test.oversubscribed, most_bytes_of(test.ranks), outcome,
                [&](int) { return test.make(test.ranks); });
    EXPECT_EQ(outcome.proven, test.ranks);
}

TEST_P(SingleCopies, ThatFailNowAndThenLoseNothing) {
    const Case& test = GetParam();
    Outcome outcome;
    run_threads(test.ranks, test.oversubscribed, most_bytes_of(test.ranks), outcome, [&](int rank) {
        return std::make_unique<FailingMemory>(test.make(test.ranks), test_seed() + static_cast<std::uint64_t>(rank),
                                               outcome.is_armed, outcome.failures);
    });
    EXPECT_EQ(outcome.proven, test.ranks);
    EXPECT_GT(outcome.failures, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SingleCopies,
    testing::Values(Case{2, false, make_cma_memory, "cma_2"}, Case{3, false, make_cma_memory, "cma_3"},
                    Case{5, true, make_cma_memory, "cma_5_on_few_cores"},
                    Case{9, true, make_cma_memory, "cma_9_on_few_cores"},
                    Case{17, true, make_cma_memory, "cma_17_on_few_cores"}, Case{17, false, make_cma_memory, "cma_17"},
                    Case{4, false, make_cma_memory, "cma_4"}, Case{2, false, make_xpmem_memory, "xpmem_2"},
                    Case{4, false, make_xpmem_memory, "xpmem_4"},
                    Case{3, true, make_xpmem_memory, "xpmem_3_on_few_cores"}),
    [](const auto& each) { return each.param.name; });

// What the system may do to one rank: all of them do without.
TEST(SingleCopy, IsLeftAloneByAllWhereOneRankIsRefused) {
    if (!has_cma()) GTEST_SKIP() << no_cma;
    class Refusing : public PeerMemory {
    public:
        Refusing(int how, bool is_this_one) : memory_(make_cma_memory(3)), how_(is_this_one ? how : 0) {}
        [[nodiscard]] Key key() const override { return memory_->key(); }
        int connect(int rank, const Key& key) override { return how_ == 1 ? EACCES : memory_->connect(rank, key); }
        int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
            return memory_->read(rank, address, to, bytes);
        }
        int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
            // Refused, or it goes somewhere else and says nothing.
            return how_ == 2 ? EPERM : how_ == 3 ? 0 : memory_->write(rank, address, from, bytes);
        }
        const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override {
            if (how_ == 4) return nullptr;
            const std::byte* seen = memory_->look(rank, address, bytes, place);
            if (how_ == 5) place[0] ^= std::byte{1};  // another process
            // Mapped once, and never told that it has changed.
            if (how_ == 6) {
                const auto first = first_.try_emplace({rank, address}, place, place + bytes).first;
                std::copy(first->second.begin(), first->second.end(), place);
            }
            return seen;
        }

    private:
        std::unique_ptr<PeerMemory> memory_;
        int how_;
        std::map<std::pair<int, std::uint64_t>, std::vector<std::byte>> first_;
    };
    for (int how = 0; how <= 7; ++how) {
        Outcome outcome;
        run_threads(3, true, 20'000, outcome, [&](int rank) -> std::unique_ptr<PeerMemory> {
            if (how == 7 && rank == 1) return nullptr;
            return std::make_unique<Refusing>(how, rank == 1);
        });
        EXPECT_EQ(outcome.proven, how == 0 ? 3 : 0) << how;
    }
}

// How often it is asked, of whom; of one rank it finds another process's memory.
class WatchedMemory : public PeerMemory {
public:
    WatchedMemory(std::unique_ptr<PeerMemory> memory, int stranger) : memory_(std::move(memory)), stranger_(stranger) {}
    [[nodiscard]] Key key() const override { return memory_->key(); }
    int connect(int rank, const Key& key) override {
        ++calls;
        return memory_->connect(rank, key);
    }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        note(rank);
        return memory_->read(rank, address, to, bytes);
    }
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        note(rank);
        return memory_->write(rank, address, from, bytes);
    }
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        if (rank == stranger_ && bytes == sizeof(std::uint64_t)) {
            ++meetings;
            std::fill(place, place + bytes, std::byte{42});
            return place;
        }
        note(rank);
        return memory_->look(rank, address, bytes, place);
    }

    int calls = 0;
    int meetings = 0;            // with the stranger's word
    int copies_of_stranger = 0;  // of anything else of it

private:
    void note(int rank) {
        ++calls;
        if (rank == stranger_) ++copies_of_stranger;
    }
    std::unique_ptr<PeerMemory> memory_;
    int stranger_;
};

TEST(SingleCopy, IsSetUpWithAsManyCallsWhateverTheNumberOfRanks) {
    if (!has_cma()) GTEST_SKIP() << no_cma;
    const auto most_calls = [](int ranks) {
        std::atomic<int> most{0};
        run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int) {
            auto memory = std::make_shared<WatchedMemory>(make_cma_memory(ranks), -1);
            EXPECT_TRUE(node.use_single_copy(memory));
            int now = most;
            while (now < memory->calls && !most.compare_exchange_weak(now, memory->calls)) {
            }
        });
        return most.load();
    };
    const int of_few = most_calls(4);
    EXPECT_LE(of_few, 12);
    EXPECT_EQ(most_calls(16), of_few);
}

// A process of the same number in another namespace: what set-up does not look at is looked at before it is used.
TEST(SingleCopy, TouchesNoProcessThatIsNotTheOne) {
    if (!has_cma()) GTEST_SKIP() << no_cma;
    constexpr int ranks = 5;
    constexpr int reader = 3;
    constexpr int stranger = 1;
    // With cores of their own roots of broadcasts write to their readers; else all only read.
    for (const bool oversubscribed : {true, false}) {
        std::shared_ptr<WatchedMemory> memory;
        std::vector<std::string> problems(ranks);
        run_ranks(Placement::one_node(ranks), buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
            std::shared_ptr<PeerMemory> own = make_cma_memory(ranks);
            if (rank == reader) own = memory = std::make_shared<WatchedMemory>(make_cma_memory(ranks), stranger);
            EXPECT_TRUE(node.use_single_copy(own));
            problems[static_cast<std::size_t>(rank)] = run_rank(node, rank, ranks, 1, 100'000);
        });
        EXPECT_EQ(problems, std::vector<std::string>(ranks));
        EXPECT_GT(memory->meetings, 1);
        EXPECT_EQ(memory->copies_of_stranger, 0);
    }
}

// Copies, but takes its time.
class SlowMemory : public PeerMemory {
public:
    explicit SlowMemory(std::unique_ptr<PeerMemory> memory) : memory_(std::move(memory)) {}
    [[nodiscard]] Key key() const override { return memory_->key(); }
    int connect(int rank, const Key& key) override { return memory_->connect(rank, key); }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        wait();
        return memory_->read(rank, address, to, bytes);
    }
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        wait();
        return memory_->write(rank, address, from, bytes);
    }
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        wait();
        return memory_->look(rank, address, bytes, place);
    }

private:
    static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }
    std::unique_ptr<PeerMemory> memory_;
};

TEST(SingleCopy, ThatIsSlowerIsFoundToBeByAll) {
    if (!has_cma()) GTEST_SKIP() << no_cma;
    constexpr int ranks = 3;
    constexpr std::size_t bytes = 100'000;
    std::atomic<int> slower{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int rank) {
        ASSERT_TRUE(node.use_single_copy(std::make_unique<SlowMemory>(make_cma_memory(ranks))));
        std::vector<std::byte> memory(bytes);
        // A rank may lack the memory.
        for (std::byte* data : {memory.data(), rank == 1 ? nullptr : memory.data()})
            if (!node.is_single_copy_faster(data, bytes)) ++slower;
    });
    EXPECT_EQ(slower, 2 * ranks);
}

TEST(SingleCopy, OfMemoryThatIsNotThereIsAnError) {
    if (!has_cma()) GTEST_SKIP() << no_cma;
    auto memory = make_cma_memory(1);
    ASSERT_EQ(memory->connect(0, memory->key()), 0);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* there = static_cast<std::byte*>(mapped);
    std::memset(there, 42, page);
    munmap(there + page, page);
    std::vector<std::byte> here(2 * page);
    const auto address = reinterpret_cast<std::uint64_t>(there);
    EXPECT_EQ(memory->read(0, address, here.data(), page), 0);
    EXPECT_EQ(here[page - 1], std::byte{42});
    EXPECT_EQ(memory->read(0, address, here.data(), 2 * page), EFAULT) << "it stops in the middle";
    EXPECT_EQ(memory->write(0, address, here.data(), 2 * page), EFAULT);
    EXPECT_EQ(memory->look(0, address + page, 8, here.data()), nullptr);
    EXPECT_EQ(memory->connect(0, {.process = 0x7fffffff, .segment = 0}), 0);
    EXPECT_EQ(memory->read(0, address, here.data(), page), ESRCH);
    munmap(there, page);
}

TEST(Xpmem, KeepsFewAttachmentsAndGivesThemBack) {
    auto memory = make_xpmem_memory(1);
    ASSERT_NE(memory, nullptr);
    ASSERT_EQ(memory->connect(0, memory->key()), 0);
    std::vector<std::byte> buffer(64 << 20);
    const auto address = reinterpret_cast<std::uint64_t>(buffer.data());
    for (std::size_t offset = 0; offset < buffer.size(); offset += 100'000) {
        EXPECT_EQ(memory->look(0, address + offset, 8, nullptr), buffer.data() + offset);
        EXPECT_LE(xpmem_test_attachments(), 8);
    }
    EXPECT_GT(xpmem_test_attachments(), 4);
    memory.reset();
    EXPECT_EQ(xpmem_test_attachments(), 0);
}

TEST(Xpmem, ThatIsRefusedIsAnError) {
    for (const char* function : {"make", "get", "attach"}) {
        setenv("HCOLL_TEST_REFUSE_XPMEM", function, 1);
        auto memory = make_xpmem_memory(1);
        EXPECT_EQ(memory == nullptr, std::strcmp(function, "make") == 0);
        if (memory != nullptr) {
            const int status = memory->connect(0, memory->key());
            EXPECT_EQ(status != 0, std::strcmp(function, "get") == 0);
            std::byte here{};
            EXPECT_EQ(memory->look(0, reinterpret_cast<std::uint64_t>(&here), 1, nullptr), nullptr);
            EXPECT_NE(memory->read(0, reinterpret_cast<std::uint64_t>(&here), &here, 1), 0);
            EXPECT_NE(memory->write(0, reinterpret_cast<std::uint64_t>(&here), &here, 1), 0);
        }
        unsetenv("HCOLL_TEST_REFUSE_XPMEM");
    }
}

TEST(SingleCopy, BetweenProcesses) {
    constexpr int ranks = 3;
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(ranks, buffer_bytes)), 0);
    const Placement placement = Placement::one_node(ranks);
    const std::uint64_t seed = test_seed();
    const auto run = [&](int rank) {
        NodeCollectives node(segment.data(), buffer_bytes, placement, rank,
                             Waiting(
                                 rank == -1, [](void*) { return 0; }, nullptr));
        if (!node.use_single_copy(make_cma_memory(ranks))) return std::string("refused");
        return run_rank(node, rank, ranks, seed, most_bytes_of(ranks));
    };
    std::vector<pid_t> children;
    for (int rank = 1; rank < ranks; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const std::string problem = run(rank);
            if (!problem.empty()) std::fprintf(stderr, "rank %d: %s\n", rank, problem.c_str());
            _exit(problem.empty() ? 0 : problem == "refused" ? 77 : 1);
        }
        children.push_back(child);
    }
    const std::string problem = run(0);
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(WEXITSTATUS(status), problem == "refused" ? 77 : 0);
    }
    if (problem == "refused") GTEST_SKIP() << "the system lets no process read another one's memory";
    EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace hcoll::test
