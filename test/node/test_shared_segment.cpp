// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes share: what is written by one is seen by the others, and nothing is left behind.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

TEST(SharedSegment, IsHandedToAProcessThatMayNotOpenIt) {
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    SegmentOffer offer;
    ASSERT_EQ(offer.open(created), 0);
    EXPECT_EQ(offer.hand_over(), EAGAIN) << "nobody is there, and nobody is waited for";
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        created.close_descriptor();
        HandedSegment handed;
        SharedSegment taken;
        int problem = handed.connect(created.address());
        if (write(ends[1], &problem, sizeof problem) != sizeof problem) _exit(99);
        if (problem == 0) problem = handed.take(taken);
        if (problem == 0) taken.data()[4095] = std::byte{42};
        _exit(problem);
    }
    int connected = -1;
    ASSERT_EQ(read(ends[0], &connected, sizeof connected), static_cast<ssize_t>(sizeof connected));
    ASSERT_EQ(connected, 0);
    EXPECT_EQ(offer.hand_over(), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(created.data()[4095], std::byte{42});
    close(ends[0]);
    close(ends[1]);
}

TEST(SharedSegment, IsHandedToNobodyOfAnotherUser) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    SharedSegment created;
    ASSERT_EQ(created.create(4096), 0);
    SegmentOffer offer;
    ASSERT_EQ(offer.open(created), 0);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        HandedSegment handed;
        int problem = setuid(nobody) == 0 ? handed.connect(created.address()) : errno;
        if (write(ends[1], &problem, sizeof problem) != sizeof problem) _exit(99);
        SharedSegment taken;
        _exit(problem == EPERM ? handed.take(taken) : 98);
    }
    int connected = -1;
    ASSERT_EQ(read(ends[0], &connected, sizeof connected), static_cast<ssize_t>(sizeof connected));
    EXPECT_EQ(connected, EPERM);
    EXPECT_EQ(offer.hand_over(), EAGAIN) << "a stranger was accepted";
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), ECONNRESET);
    close(ends[0]);
    close(ends[1]);
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
