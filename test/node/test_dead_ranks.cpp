// SPDX-License-Identifier: BSD-3-Clause
// A rank that dies while the others wait for it: processes that share a segment, one of which is killed. The others must come
// out of their collective with an error; nothing here depends on how long that takes.
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "progress/node/node_collectives.hpp"
#include "progress/node/node_messages.hpp"
#include "progress/node/routed_transport.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t buffer_bytes = 64 << 10;

struct Sum : Combine {
    Sum() : Combine(1) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result, std::size_t n) const override {
        for (std::size_t i = 0; i < n; ++i)
            result[i] = static_cast<std::byte>(static_cast<unsigned>(left[i]) + static_cast<unsigned>(right[i]));
    }
};

// What a rank shares with the others.
class Node {
public:
    Node() { EXPECT_EQ(segment_.create(peers_offset() + NodePeers::segment_bytes(ranks)), 0); }
    std::byte* collectives() const { return segment_.data(); }
    std::byte* messages() const { return segment_.data() + NodeCollectives::segment_bytes(ranks, buffer_bytes); }
    std::byte* peers() const { return segment_.data() + peers_offset(); }

private:
    static std::size_t peers_offset() {
        return NodeCollectives::segment_bytes(ranks, buffer_bytes) + NodeMessages::segment_bytes(ranks, buffer_bytes);
    }
    SharedSegment segment_;
};

enum Exit { learned = 0, went_on = 1, learned_something_else = 2, refused = 77 };

// `run` in a process for each rank; the last rank is killed in it. With `is_reaped` nobody is left to ask for; otherwise a zombie is.
void expect_all_others_learn(const std::function<Exit(Node&, int)>& run, bool is_reaped) {
    Node node;
    pid_t children[ranks];
    for (int rank = 0; rank < ranks; ++rank) {
        children[rank] = fork();
        ASSERT_GE(children[rank], 0);
        if (children[rank] == 0) _exit(run(node, rank));
    }
    int status = 0;
    bool is_refused = false;
    const auto bury = [&] {
        ASSERT_EQ(waitpid(children[ranks - 1], &status, 0), children[ranks - 1]);
        is_refused = WIFEXITED(status) && WEXITSTATUS(status) == refused;
        EXPECT_TRUE(WIFSIGNALED(status) || is_refused);
    };
    if (is_reaped) bury();
    for (int rank = 0; rank < ranks - 1; ++rank) {
        ASSERT_EQ(waitpid(children[rank], &status, 0), children[rank]);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), is_refused ? refused : learned) << "rank " << rank;
    }
    if (!is_reaped) bury();
    if (is_refused) GTEST_SKIP() << "the system lets no process read another one's memory";
}

void expect_collective_ends(const std::function<void(NodeCollectives&)>& collective) {
    const auto run = [&](Node& shared, int rank) {
        NodePeers peers(shared.peers(), ranks, rank);
        NodeCollectives node(shared.collectives(), buffer_bytes, Placement::one_node(ranks), rank,
                             Waiting(
                                 true, [](void*) { return 0; }, nullptr, &peers));
        try {
            for (int i = 0; i < 10; ++i) node.barrier();
            if (rank == ranks - 1) (void)::raise(SIGKILL);
            collective(node);
        } catch (const NodeFailure& failure) {
            return failure.why == NodeBreak::process ? learned : learned_something_else;
        }
        return went_on;
    };
    for (const bool is_reaped : {true, false}) expect_all_others_learn(run, is_reaped);
}

TEST(DeadRank, EndsABarrier) {
    expect_collective_ends([](NodeCollectives& node) { node.barrier(); });
}

TEST(DeadRank, EndsABcastOfItsOwn) {
    expect_collective_ends([](NodeCollectives& node) {
        std::byte data[8]{};
        node.bcast(ranks - 1, data, sizeof data);
    });
}

TEST(DeadRank, EndsAnAllreduce) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{500}, std::size_t{100'000}})
        expect_collective_ends([bytes](NodeCollectives& node) {
            std::vector<std::byte> data(bytes);
            node.allreduce(data.data(), data.data(), bytes, Sum());
        });
}

TEST(DeadRank, EndsWhatItHasAPortionOf) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{5'000}, std::size_t{100'000}}) {
        std::vector<std::byte> portion(bytes);
        std::vector<std::byte> whole(ranks * bytes);
        const NodeBuffer own(portion.data(), bytes);
        const NodeBuffer all(whole.data(), whole.size());
        expect_collective_ends([&](NodeCollectives& node) { node.allgather(own, all, bytes); });
        expect_collective_ends([&](NodeCollectives& node) { node.scatter(ranks - 1, all, own, bytes); });
        // Nobody but the root waits for it here.
        expect_collective_ends([&](NodeCollectives& node) {
            node.gather(0, own, all, bytes);
            node.barrier();
        });
    }
}

// While buffers are copied from one to the other: nobody is in another one's any more.
TEST(DeadRank, EndsSingleCopies) {
    const auto run = [](Node& shared, int rank) {
        NodePeers peers(shared.peers(), ranks, rank);
        NodeCollectives node(shared.collectives(), buffer_bytes, Placement::one_node(ranks), rank,
                             Waiting(
                                 true, [](void*) { return 0; }, nullptr, &peers));
        std::vector<std::byte> data(1'000'000);
        try {
            if (!node.use_single_copy(make_cma_memory(ranks))) return refused;
            node.allreduce(data.data(), data.data(), data.size(), Sum(), 1);
            if (rank == ranks - 1) (void)::raise(SIGKILL);
            node.allreduce(data.data(), data.data(), data.size(), Sum(), 1);
        } catch (const NodeFailure& failure) {
            return failure.why == NodeBreak::process ? learned : learned_something_else;
        }
        return went_on;
    };
    expect_all_others_learn(run, true);
}

// A rank that comes late must not copy from one that has left: what is there by then is something else.
TEST(DeadRank, IsSeenByWhoeverComesLate) {
    const std::function<void(NodeCollectives&, int, std::vector<std::byte>&)> collectives[] = {
        [](NodeCollectives& node, int rank, std::vector<std::byte>& data) {
            const std::size_t bytes = data.size() / ranks;
            std::vector<std::byte> portion(bytes);
            node.scatter(0, NodeBuffer(rank == 0 ? data.data() : nullptr, data.size()),
                         NodeBuffer(portion.data(), bytes), bytes, 1);
        },
        [](NodeCollectives& node, int, std::vector<std::byte>& data) { node.bcast(0, data.data(), data.size(), 1); }};
    for (const auto& collective : collectives) {
        int left[2];
        ASSERT_EQ(pipe(left), 0);
        const auto run = [&](Node& shared, int rank) {
            NodePeers peers(shared.peers(), ranks, rank);
            NodeCollectives node(shared.collectives(), buffer_bytes, Placement::one_node(ranks), rank,
                                 Waiting(
                                     true, [](void*) { return 0; }, nullptr, &peers));
            std::vector<std::byte> data(999'999);
            char byte = 0;
            NodeBreak why = NodeBreak::none;
            try {
                if (!node.use_single_copy(make_cma_memory(ranks))) return refused;
                if (rank == ranks - 1) (void)::raise(SIGKILL);
                if (rank == 1 && read(left[0], &byte, 1) != 1) return learned_something_else;
                collective(node, rank, data);
            } catch (const NodeFailure& failure) {
                why = failure.why;
            }
            if (rank == 0 && write(left[1], &byte, 1) != 1) return learned_something_else;
            return why == NodeBreak::none ? went_on : why == NodeBreak::process ? learned : learned_something_else;
        };
        expect_all_others_learn(run, true);
        close(left[0]);
        close(left[1]);
    }
}

// A root that never has to wait for anybody's message waits for room.
TEST(DeadRank, EndsTheBcastsOfARootThatRunsAhead) {
    const auto run = [](Node& shared, int rank) {
        NodePeers peers(shared.peers(), ranks, rank);
        NodeCollectives node(shared.collectives(), buffer_bytes, Placement::one_node(ranks), rank,
                             Waiting(
                                 true, [](void*) { return 0; }, nullptr, &peers));
        if (rank == ranks - 1) (void)::raise(SIGKILL);
        std::vector<std::byte> data(100'000);
        try {
            while (true) node.bcast(0, data.data(), data.size());
        } catch (const NodeFailure& failure) {
            return failure.why == NodeBreak::process ? learned : learned_something_else;
        }
    };
    expect_all_others_learn(run, true);
}

// In a plan the transport says so.
TEST(DeadRank, EndsAPlansMessages) {
    class NoNetwork : public Transport {
        Status send(int, std::uint32_t, const std::byte*, std::uint64_t, Token) override { return 1; }
        Status recv(int, std::uint32_t, std::byte*, std::uint64_t, Token) override { return 1; }
        Status collective(Collective, int, std::uint64_t, const std::byte*, std::byte*, std::uint64_t, Token) override {
            return 1;
        }
        Status progress(std::vector<Token>&) override { return 0; }
    };
    const auto run = [](Node& shared, int rank) {
        NodePeers peers(shared.peers(), ranks, rank);
        NoNetwork network;
        RoutedTransport transport(
            network, [](void*) { return 0; }, nullptr);
        transport.use_node(std::make_unique<NodeMessages>(shared.messages(), buffer_bytes, ranks, rank, &peers),
                           Placement::one_node(ranks), rank, true);
        if (rank == ranks - 1) (void)::raise(SIGKILL);
        std::byte byte{};
        transport.begin(Elements{});
        Status status = transport.recv(ranks - 1, 0, &byte, 1, 0);
        std::vector<Token> completed;
        while (status == 0 && completed.empty()) status = transport.progress(completed);
        return status == status_broken && peers.why_broken() == NodeBreak::process ? learned : learned_something_else;
    };
    for (const bool is_reaped : {true, false}) expect_all_others_learn(run, is_reaped);
}

// Under an emulator of another processor each process reads something else of itself than the others do.
TEST(DeadRank, IsNoneThatLives) {
    Node shared;
    NodePeers peers(shared.peers(), ranks, 0);
    int written[2];
    int judged[2];
    ASSERT_EQ(pipe(written), 0);
    ASSERT_EQ(pipe(judged), 0);
    char byte = 0;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const NodePeers own(shared.peers(), ranks, 1);
        byte = own.is_gone(0) ? 1 : 0;
        _exit(write(written[1], &byte, 1) == 1 && read(judged[0], &byte, 1) == 1 ? 0 : 1);
    }
    ASSERT_EQ(read(written[0], &byte, 1), 1);
    EXPECT_EQ(byte, 0) << "the child takes its parent for dead";
    EXPECT_FALSE(peers.is_gone(1));
    ASSERT_EQ(write(judged[1], &byte, 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(peers.is_gone(1));
    for (const int each : {written[0], written[1], judged[0], judged[1]}) close(each);
}

// Its first thread may have ended before others: then the system shows it as it shows one that has ended.
TEST(DeadRank, IsNoneWhoseFirstThreadAloneHasEnded) {
    Node shared;
    const NodePeers peers(shared.peers(), ranks, 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        static const NodePeers own(shared.peers(), ranks, 1);
        std::thread([] {
            for (;;) pause();
        }).detach();
        syscall(SYS_exit, 0);
    }
    const auto state = [child] {
        std::string text;
        std::getline(std::ifstream("/proc/" + std::to_string(child) + "/stat"), text);
        const std::size_t name = text.rfind(')');
        return name == std::string::npos || name + 2 >= text.size() ? ' ' : text[name + 2];
    };
    while (state() != 'Z' && state() != ' ') sched_yield();
    EXPECT_EQ(state(), 'Z');
    EXPECT_FALSE(peers.is_gone(1));
    kill(child, SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(peers.is_gone(1));
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

#if defined(SYS_clone3) && defined(CLONE_ARGS_SIZE_VER1)
// A process with that number, in which `run` is called; below 0 where the system does not let that be chosen.
pid_t fork_with_number(pid_t number, const std::function<void()>& run) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&number);
    arguments.set_tid_size = 1;
    const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) {
        run();
        _exit(0);
    }
    return static_cast<pid_t>(child);
}

// One that a process had, which is gone.
pid_t free_number() {
    const pid_t number = fork();
    if (number == 0) _exit(0);
    waitpid(number, nullptr, 0);
    return number;
}

// The system tells in hundredths of a second when a process began.
void wait_for_another_hundredth() {
    const auto hundredths = [] {
        timespec time{};
        clock_gettime(CLOCK_BOOTTIME, &time);
        return std::int64_t{time.tv_sec} * 100 + time.tv_nsec / 10'000'000;
    };
    for (const std::int64_t begin = hundredths(); hundredths() == begin;) {
    }
}

// Its number may be given to another process before anybody looks.
TEST(DeadRank, IsOneWhoseNumberAnotherProcessHas) {
    Node shared;
    NodePeers peers(shared.peers(), ranks, 0);
    const pid_t number = fork();
    ASSERT_GE(number, 0);
    if (number == 0) {
        new NodePeers(shared.peers(), ranks, 1);  // it does not say that it ends
        _exit(0);
    }
    ASSERT_EQ(waitpid(number, nullptr, 0), number);
    wait_for_another_hundredth();
    const pid_t child = fork_with_number(number, [] { pause(); });
    if (child < 0) GTEST_SKIP() << "processes get the numbers that the system gives them: " << std::strerror(errno);
    EXPECT_EQ(child, number);
    EXPECT_TRUE(peers.is_gone(1));
    kill(number, SIGKILL);
    EXPECT_EQ(waitpid(number, nullptr, 0), number);
}

// In a PID namespace of its own, with the /proc of another one, where its number is another process's.
TEST(DeadRank, IsNoneWhereProcShowsOtherProcesses) {
    enum Judged { right, wrong, left_alone = 77 };
    Node shared;
    int told[2];
    int go[2];
    ASSERT_EQ(pipe(told), 0);
    ASSERT_EQ(pipe(go), 0);
    const pid_t number = free_number();
    const pid_t outer = fork();
    ASSERT_GE(outer, 0);
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(left_alone);
        const pid_t first = fork();  // of the namespace, in which it is number 1
        if (first == 0) {
            close(told[0]);
            close(go[1]);
            char byte = 0;
            const NodePeers peers(shared.peers(), ranks, 0);
            const pid_t other = fork_with_number(number, [&] {
                const NodePeers own(shared.peers(), ranks, 1);
                (void)!write(told[1], &byte, 1);
                pause();
            });
            if (other < 0) _exit(left_alone);
            close(told[1]);
            if (read(go[0], &byte, 1) != 1) _exit(left_alone);
            _exit(peers.is_gone(1) ? wrong : right);  // and the other ends with it
        }
        int status = 0;
        if (first < 0 || waitpid(first, &status, 0) != first || !WIFEXITED(status)) _exit(left_alone);
        _exit(WEXITSTATUS(status));
    }
    close(told[1]);
    close(go[0]);
    char byte = 0;
    pid_t foreign = -1;
    if (read(told[0], &byte, 1) == 1) {
        wait_for_another_hundredth();
        foreign = fork_with_number(number, [] { pause(); });
    }
    if (foreign > 0) {
        EXPECT_EQ(write(go[1], &byte, 1), 1);
    }
    close(go[1]);
    int status = 0;
    EXPECT_EQ(waitpid(outer, &status, 0), outer);
    if (foreign > 0) {
        kill(foreign, SIGKILL);
        EXPECT_EQ(waitpid(foreign, nullptr, 0), foreign);
    }
    close(told[0]);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == left_alone)
        GTEST_SKIP() << "that needs a PID namespace, and processes whose numbers can be chosen";
    EXPECT_EQ(WEXITSTATUS(status), right);
}
#endif

// What the vendor says when it is driven ends a wait as well.
TEST(DeadRank, OrAnErrorOfTheVendorEndsAWait) {
    Node shared;
    NodePeers peers(shared.peers(), ranks, 0);
    NodeCollectives node(shared.collectives(), buffer_bytes, Placement::one_node(ranks), 0,
                         Waiting(
                             true, [](void*) { return 42; }, nullptr, &peers));
    try {
        node.barrier();
        FAIL() << "nobody else came";
    } catch (const NodeFailure& failure) {
        EXPECT_EQ(failure.why, NodeBreak::vendor);
        EXPECT_EQ(failure.status, 42);
    }
    EXPECT_EQ(peers.why_broken(), NodeBreak::vendor);
}

}  // namespace
}  // namespace hcoll::test
