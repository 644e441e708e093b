// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes share: what is written by one is seen by the others, and nothing is left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "progress/node/handed_segment.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll::test {
namespace {

TEST(SharedSegment, IsZeroAndSharedWithWhoeverOpensIt) {
    SharedSegment created;
    ASSERT_EQ(created.create(3 << 20), 0);
    for (std::size_t i = SharedSegment::reserved; i < created.address().bytes; ++i)
        ASSERT_EQ(created.data()[i], std::byte{0}) << i;
    SharedSegment opened;
    ASSERT_EQ(opened.open(created.address()), 0);
    EXPECT_NE(opened.data(), created.data());
    created.close_descriptor();
    std::memcpy(created.data() + 1000, "shared", 7);
    EXPECT_STREQ(reinterpret_cast<const char*>(opened.data() + 1000), "shared");
}

TEST(SharedSegment, IsSharedWithAnotherProcess) {
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        SharedSegment opened;
        const int problem = opened.open(created.address());
        if (problem == 0) opened.data()[4095] = std::byte{42};
        _exit(problem);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(created.data()[4095], std::byte{42});
}

// Whoever has made it so for itself reads on what others write.
TEST(SharedSegment, CanBeMadeReadOnlyInOneProcess) {
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    SharedSegment opened;
    ASSERT_EQ(opened.open(created.address()), 0);
    ASSERT_EQ(opened.make_read_only(), 0);
    created.data()[100] = std::byte{7};
    EXPECT_EQ(opened.data()[100], std::byte{7});
    EXPECT_DEATH(opened.data()[101] = std::byte{8}, "");
}

TEST(SharedSegment, OfAnotherProcessWithThatNumberIsNotTaken) {
    SharedSegment created;
    ASSERT_EQ(created.create(8192), 0);
    SharedSegment opened;
    SegmentAddress address = created.address();
    address.secret ^= 1;
    EXPECT_EQ(opened.open(address), ENXIO);
    EXPECT_EQ(opened.data(), nullptr);
    address = created.address();
    address.bytes = 4096;
    EXPECT_EQ(opened.open(address), ENXIO);
    address = created.address();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    address.descriptor = static_cast<std::uint64_t>(pipe_ends[0]);
    EXPECT_EQ(opened.open(address), ENXIO) << "a pipe is not even opened";
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    address = created.address();
    created.close_descriptor();
    EXPECT_EQ(opened.open(address), ENOENT);
}

// Numbers between two processes, each way.
class Words {
public:
    Words() {
        for (auto& pair : ends_)
            if (pipe(pair) != 0) std::abort();
    }
    ~Words() {
        for (const auto& pair : ends_)
            for (const int end : pair) close(end);
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    bool tell(int way, int number) { return write(ends_[way][1], &number, sizeof number) == sizeof number; }
    int hear(int way) {
        int number = -1;
        return read(ends_[way][0], &number, sizeof number) == sizeof number ? number : -1;
    }

private:
    int ends_[2][2];
};

TEST(SharedSegment, IsHandedToAProcessThatMayNotOpenIt) {
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    SegmentOffer offer;
    ASSERT_EQ(offer.open(created), 0);
    EXPECT_EQ(offer.hand_over(), EAGAIN) << "nobody is there, and nobody is waited for";
    Words words;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        created.close_descriptor();
        HandedSegment handed;
        SharedSegment taken;
        const int connected = handed.connect(created.address());
        if (!words.tell(0, connected) || words.hear(1) != 0) _exit(99);
        const int problem = handed.take(taken);
        if (problem == 0) taken.data()[4095] = std::byte{42};
        _exit(problem);
    }
    ASSERT_EQ(words.hear(0), 0);
    EXPECT_EQ(offer.hand_over(), 0);
    ASSERT_TRUE(words.tell(1, 0));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(created.data()[4095], std::byte{42});
}

TEST(SharedSegment, IsHandedToNobodyOfAnotherUser) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    SegmentOffer offer;
    ASSERT_EQ(offer.open(created), 0);
    Words words;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr uid_t another = 12345;
        HandedSegment handed;
        SharedSegment taken;
        const int connected = setuid(another) == 0 ? handed.connect(created.address()) : 98;
        if (!words.tell(0, connected) || words.hear(1) != 0) _exit(99);
        _exit(handed.take(taken));
    }
    EXPECT_EQ(words.hear(0), EPERM);
    EXPECT_EQ(offer.hand_over(), EAGAIN) << "a stranger was accepted";
    ASSERT_TRUE(words.tell(1, 0));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), ECONNRESET);
}

TEST(SharedSegment, IsNotHandedWhereTheOfferIsGoneOrTheSegmentIsAnother) {
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    HandedSegment none;
    EXPECT_EQ(none.connect(created.address()), ECONNREFUSED);
    HandedSegment late;
    HandedSegment wrong;
    SharedSegment taken;
    {
        SegmentOffer offer;
        ASSERT_EQ(offer.open(created), 0);
        SegmentAddress address = created.address();
        address.bytes *= 2;
        ASSERT_EQ(wrong.connect(address), 0);
        ASSERT_EQ(offer.hand_over(), 0);
        ASSERT_EQ(late.connect(created.address()), 0);
    }
    EXPECT_EQ(wrong.take(taken), ENXIO);
    EXPECT_EQ(late.take(taken), ECONNRESET);
    EXPECT_EQ(taken.data(), nullptr);
}

TEST(SharedSegment, ThatCannotBeHadIsAnError) {
    SharedSegment segment;
    EXPECT_NE(segment.create(~std::size_t{0} >> 2), 0);
    EXPECT_EQ(segment.data(), nullptr);
}

TEST(SharedSegment, ThatExceedsTheLimitOfFilesIsAnErrorAndNoSignal) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const rlimit limit{1 << 16, 1 << 16};
        setrlimit(RLIMIT_FSIZE, &limit);
        SharedSegment segment;
        _exit(segment.create(1 << 20));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), EFBIG);
}

// What is never touched must take nothing when a core file is written, nor as a part of a huge page.
TEST(SharedSegment, IsLeftOutOfCoreFilesAndHugePages) {
    SharedSegment created;
    ASSERT_EQ(created.create(1 << 20), 0);
    std::ifstream maps("/proc/self/smaps");
    const std::string begin = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(created.data()));
    std::string line;
    while (std::getline(maps, line) && !line.starts_with(begin)) {
    }
    while (std::getline(maps, line) && !line.starts_with("VmFlags:")) {
    }
    if (!maps) GTEST_SKIP() << "this system does not tell the flags of a mapping";
    EXPECT_NE(line.find(" dd"), std::string::npos) << line;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0) {
        EXPECT_NE(line.find(" nh"), std::string::npos) << line;
    }
}

TEST(SharedSegment, KnowsWhereAddressesAreScarce) {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    if (limit.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit of the address space (ulimit -v)";
    EXPECT_FALSE(SharedSegment::is_much_of_address_space(std::size_t{1} << 40U));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        limit.rlim_cur = rlim_t{4} << 30U;
        setrlimit(RLIMIT_AS, &limit);
        const bool is_right = !SharedSegment::is_much_of_address_space(std::size_t{256} << 20U) &&
                              SharedSegment::is_much_of_address_space(std::size_t{257} << 20U);
        _exit(is_right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(SharedSegment, CanBeMovedAndIsReleasedOnce) {
    SharedSegment first;
    ASSERT_EQ(first.create(4096), 0);
    std::byte* data = first.data();
    SharedSegment second = std::move(first);
    EXPECT_EQ(second.data(), data);
    SharedSegment third;
    ASSERT_EQ(third.create(4096), 0);
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
}

}  // namespace
}  // namespace hcoll::test
