// SPDX-License-Identifier: BSD-3-Clause
// The transport over the MPI library's messages, beside an MPI library that does what the test says and writes down what it is asked.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "progress/network/point_to_point.hpp"

namespace hcoll {
namespace {

constexpr int ranks = 4;
constexpr TagRange tags;

// MPICH's handles are int, Open MPI's are pointers.
template <typename Handle>
Handle handle_of(std::uintptr_t number) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<Handle>(number);
    else
        return static_cast<Handle>(number);
}
template <typename Handle>
std::uintptr_t number_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<std::uintptr_t>(handle);
    else
        return static_cast<std::uintptr_t>(handle);
}

// Requests are numbered from `first_request` on, as they are begun.
constexpr std::uintptr_t first_request = 100;

struct FakeVendor {
    std::vector<std::string> said;
    std::uintptr_t next = first_request;
    std::vector<int> results;  // by request: what a test of it says; `pending` where it is not complete
    std::vector<int> tags;     // of all messages
};
constexpr int pending = -1;
FakeVendor fake;

std::string name_of(MPI_Request request) { return std::to_string(number_of(request) - first_request); }

int begin(const std::string& what, MPI_Request* request) {
    fake.said.push_back(what + " " + std::to_string(fake.next - first_request));
    *request = handle_of<MPI_Request>(fake.next++);
    fake.results.push_back(pending);
    return MPI_SUCCESS;
}
int end(const std::string& what, MPI_Request* request) {
    fake.said.push_back(what + " " + name_of(*request));
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
int& result_of(MPI_Request request) { return fake.results[number_of(request) - first_request]; }

// The table that the transport calls through, with nothing but these in it.
class FakeTable {
protected:
    FakeTable() {
        fake = {};
        mpi = {};
        mpi.Comm_rank = [](MPI_Comm, int* rank) { return *rank = 0, MPI_SUCCESS; };
        mpi.Error_class = [](int code, int* error_class) { return *error_class = code, MPI_SUCCESS; };
        mpi.Isend = [](const void*, int, MPI_Datatype, int, int tag, MPI_Comm, MPI_Request* request) {
            fake.tags.push_back(tag);
            return begin("send", request);
        };
        mpi.Issend = [](const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
            return begin("synchronous send", request);
        };
        mpi.Pack_size = [](int count, MPI_Datatype, MPI_Comm, int* size) { return *size = count, MPI_SUCCESS; };
        mpi.Pack = [](const void*, int count, MPI_Datatype, void*, int, int* position, MPI_Comm) {
            return *position += count, MPI_SUCCESS;
        };
        mpi.Irecv = [](void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request* request) {
            return begin("receive", request);
        };
        mpi.Ibcast = [](void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request* request) {
            return begin("leaders", request);
        };
        mpi.Cancel = [](MPI_Request* request) {
            return fake.said.push_back("cancel " + name_of(*request)), MPI_SUCCESS;
        };
        mpi.Request_free = [](MPI_Request* request) { return end("free", request); };
        mpi.Wait = [](MPI_Request* request, MPI_Status*) { return end("wait", request); };
        mpi.Test = [](MPI_Request* request, int* flag, MPI_Status*) {
            const int result = result_of(*request);
            *flag = result == pending ? 0 : 1;
            if (*flag != 0) *request = MPI_REQUEST_NULL;
            return result == pending ? MPI_SUCCESS : result;
        };
        mpi.Testsome = [](int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
            int status = MPI_SUCCESS;
            *done = 0;
            for (int i = 0; i < count; ++i) {
                const int result = result_of(requests[i]);
                if (result == pending) continue;
                requests[i] = MPI_REQUEST_NULL;
                indices[*done] = i;
                statuses[(*done)++].MPI_ERROR = result;
                if (result != MPI_SUCCESS) status = MPI_ERR_IN_STATUS;
            }
            return status;
        };
    }
};

class PointToPointTest : public testing::Test, private FakeTable {
protected:
    PointToPointTest() { messages.begin(MPI_Datatype(), 1, MPI_Op()); }

    // Requests 0 to 4.
    void begin_some() {
        Token token = 0;
        ASSERT_EQ(messages.recv(1, 0, memory.data(), 1, token++), MPI_SUCCESS);
        ASSERT_EQ(messages.send(2, 0, memory.data(), 1, token++), MPI_SUCCESS);
        ASSERT_EQ(messages.collective(Collective::bcast, 0, 0, nullptr, memory.data(), 1, token++), MPI_SUCCESS);
        ASSERT_EQ(messages.recv(3, 0, memory.data(), 1, token++), MPI_SUCCESS);
        ASSERT_EQ(messages.send(3, 0, memory.data(), 1, token++), MPI_SUCCESS);
        fake.said.clear();
    }

    std::array<std::byte, 8> memory{};
    FlowControl flow{ranks};
    MPI_Comm communicator = handle_of<MPI_Comm>(7);
    PointToPoint messages{Carriers(communicator), flow, tags, handle_of<MPI_Comm>(8)};
    std::vector<Token> completed;
};

// A send that is only begun, in a run in order, and of which flow control wants to know that its receiver has come, is waited for at the end; the next run hears nothing of it.
TEST_F(PointToPointTest, CopiesOfSynchronousSendsAreWaitedForAtTheEnd) {
    int copies = 0;
    for (int call = 0; call < 3000; ++call) {
        messages.begin(MPI_Datatype(), 1, MPI_Op());
        const std::size_t before = fake.results.size();
        ASSERT_EQ(messages.begin_send(1, 0, memory.data(), 1, 0), MPI_SUCCESS);
        ASSERT_EQ(messages.finish_sends(1), MPI_SUCCESS);
        EXPECT_TRUE(messages.idle());
        if (!messages.has_copies()) continue;
        ++copies;
        EXPECT_EQ(fake.results.size(), before + 1);
        bool are_over = false;
        ASSERT_EQ(messages.ask_for_copies(are_over), MPI_SUCCESS);
        EXPECT_FALSE(are_over);
        ASSERT_EQ(messages.finish_copies(), MPI_SUCCESS);
        EXPECT_FALSE(messages.has_copies());
        messages.begin(MPI_Datatype(), 1, MPI_Op());
        ASSERT_EQ(messages.progress(completed), MPI_SUCCESS);
        EXPECT_TRUE(completed.empty());
    }
    EXPECT_EQ(copies, 2);
}

// An engine hears of it at once, and once.
TEST_F(PointToPointTest, CopiesOfSynchronousSendsAreOverForAnEngine) {
    bool is_copied = false;
    for (Token token = 0; token < 2000 && !is_copied; ++token) {
        ASSERT_EQ(messages.send(1, 0, memory.data(), 1, token), MPI_SUCCESS);
        is_copied = messages.has_copies();
        if (!is_copied) continue;
        ASSERT_EQ(messages.progress(completed), MPI_SUCCESS);
        EXPECT_EQ(completed, std::vector<Token>{token});
    }
    EXPECT_TRUE(is_copied);
    completed.clear();
    ASSERT_EQ(messages.progress(completed), MPI_SUCCESS);
    EXPECT_TRUE(completed.empty());
    messages.abandon();
    EXPECT_FALSE(messages.has_copies());
}

// Whatever is under way on it has tags of its range, and no two of the same.
TEST_F(PointToPointTest, HasTagsOfItsRangeOnly) {
    constexpr TagRange range{.first = 5 * PointToPoint::most_tags, .count = PointToPoint::most_tags};
    PointToPoint other{Carriers(communicator), flow, range, MPI_Comm()};
    constexpr std::uint32_t last_tag = tags_per_collective - 1;
    const auto send_some = [&] {
        for (const std::uint32_t tag : {0U, last_tag}) ASSERT_EQ(other.send(1, tag, memory.data(), 1, 0), MPI_SUCCESS);
    };
    fake.tags.clear();
    other.begin(MPI_Datatype(), 1, MPI_Op());
    send_some();
    other.begin_nonblocking(0, MPI_Datatype(), 1, MPI_Op());
    send_some();
    other.begin_nonblocking(static_cast<std::uint64_t>(PointToPoint::nonblocking_sequences(range)) - 1, MPI_Datatype(),
                            1, MPI_Op());
    send_some();
    for (const int number : {0, PointToPoint::persistent_sequences(range) - 1}) {
        other.begin_persistent(number, MPI_Datatype(), 1, MPI_Op());
        send_some();
        EXPECT_EQ(fake.tags[fake.tags.size() - 2], PointToPoint::persistent_tag(number, range));
    }
    for (const int tag : fake.tags) {
        EXPECT_GE(tag, range.first);
        EXPECT_LT(tag, range.first + range.count);
    }
    EXPECT_EQ(std::set<int>(fake.tags.begin(), fake.tags.end()).size(), fake.tags.size());
}

// One may be sent in the call of another.
TEST(PointToPoint, TellsMessagesToItselfApart) {
    std::set<int> own;
    for (int i = 0; i < 100; ++i) own.insert(PointToPoint::tag_to_self());
    EXPECT_EQ(own.size(), 100U);
    for (const TagRange& range : {TagRange{}, TagRange{.first = 0, .count = PointToPoint::most_tags}})
        EXPECT_LT(*own.rbegin(), PointToPoint::persistent_tag(0, range));
}

using Said = std::vector<std::string>;

TEST_F(PointToPointTest, WhatIsAbandonedIsCancelledBeforeAnythingIsWaitedFor) {
    begin_some();
    messages.abandon();
    EXPECT_EQ(fake.said, (Said{"cancel 0", "cancel 3", "free 1", "free 4", "wait 0", "wait 3", "wait 2"}));
    EXPECT_TRUE(messages.idle());
}

TEST_F(PointToPointTest, AnErrorOfOneMessageLeavesTheOthersToBeAbandoned) {
    begin_some();
    fake.results[0] = MPI_ERR_INTERN;
    fake.results[1] = MPI_SUCCESS;
    EXPECT_EQ(messages.progress(completed), MPI_ERR_INTERN);
    EXPECT_EQ(completed, std::vector<Token>{1});
    messages.abandon();
    EXPECT_EQ(fake.said, (Said{"cancel 3", "free 4", "wait 3", "wait 2"}));
}

TEST_F(PointToPointTest, AMessageThatIsTooLongIsCompleteAndRemembered) {
    begin_some();
    fake.results[3] = MPI_ERR_TRUNCATE;
    EXPECT_EQ(messages.progress(completed), MPI_SUCCESS);
    EXPECT_EQ(completed, std::vector<Token>{3});
    EXPECT_EQ(messages.outcome(), MPI_ERR_TRUNCATE);
    // The others go on.
    for (const int each : {0, 1, 2, 4}) fake.results[static_cast<std::size_t>(each)] = MPI_SUCCESS;
    EXPECT_EQ(messages.progress(completed), MPI_SUCCESS);
    EXPECT_EQ(completed.size(), 5U);
    EXPECT_TRUE(messages.idle());
    EXPECT_EQ(messages.outcome(), MPI_ERR_TRUNCATE);
    messages.begin(MPI_Datatype(), 1, MPI_Op());
    EXPECT_EQ(messages.outcome(), MPI_SUCCESS);
    EXPECT_EQ(fake.said, Said());
}

TEST_F(PointToPointTest, TheOnlyMessageThatIsTooLongIsCompleteAndRemembered) {
    ASSERT_EQ(messages.recv(1, 0, memory.data(), 1, 5), MPI_SUCCESS);
    fake.results[0] = MPI_ERR_TRUNCATE;
    EXPECT_EQ(messages.progress(completed), MPI_SUCCESS);
    EXPECT_EQ(completed, std::vector<Token>{5});
    EXPECT_EQ(messages.outcome(), MPI_ERR_TRUNCATE);
    EXPECT_TRUE(messages.idle());
}

// Who sends too much is in the wrong, but what is sent is not complete for that.
TEST_F(PointToPointTest, ASendThatFailsEndsTheRun) {
    ASSERT_EQ(messages.send(1, 0, memory.data(), 1, 5), MPI_SUCCESS);
    fake.results[0] = MPI_ERR_TRUNCATE;
    EXPECT_EQ(messages.progress(completed), MPI_ERR_TRUNCATE);
    EXPECT_TRUE(completed.empty());
    EXPECT_EQ(messages.outcome(), MPI_SUCCESS);
}

}  // namespace
}  // namespace hcoll
