// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/handed_segment.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/high_descriptor.hpp"

namespace hcoll {

namespace {

struct Name {
    sockaddr_un address{};
    socklen_t length = 0;

    // The first byte is 0: it is no file.
    explicit Name(const SegmentAddress& segment) {
        address.sun_family = AF_UNIX;
        const int written = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "libhcoll-%016llx",
                                          static_cast<unsigned long long>(segment.secret));
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(written));
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A message of one byte, with room for one descriptor beside it.
struct Message {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};

    Message() {
        header.msg_iov = &data;
        header.msg_iovlen = 1;
        header.msg_control = room;
        header.msg_controllen = sizeof room;
    }
};

// The name can be read by anybody on this host. All users whom a user namespace does not know have one number in it.
bool is_same_user(int connection) {
    constexpr uid_t unknown = 65534;
    ucred other{};
    socklen_t length = sizeof other;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid() &&
           other.uid != unknown;
}

int send_descriptor(int connection, int descriptor) {
    Message message;
    cmsghdr* beside = CMSG_FIRSTHDR(&message.header);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(beside), &descriptor, sizeof descriptor);
    return sendmsg(connection, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : errno;
}

}  // namespace

SegmentOffer::~SegmentOffer() {
    if (socket_ >= 0) close(socket_);
}

int SegmentOffer::open(const SharedSegment& segment) {
    segment_ = &segment;
    const Name name(segment.address());
    constexpr int waiting = 8;
    socket_ = above_standard_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_ < 0) return errno;
    return bind(socket_, name.get(), name.length) == 0 && listen(socket_, waiting) == 0 ? 0 : errno;
}

int SegmentOffer::hand_over() {
    while (true) {
        const int connection = above_standard_streams(accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
        if (connection < 0 && errno == EINTR) continue;
        if (connection < 0) return errno;
        const bool is_welcome = is_same_user(connection);
        const int problem = is_welcome ? send_descriptor(connection, segment_->descriptor()) : 0;
        close(connection);
        if (is_welcome) return problem;
    }
}

HandedSegment::~HandedSegment() {
    if (socket_ >= 0) close(socket_);
}

int HandedSegment::connect(const SegmentAddress& address) {
    address_ = address;
    const Name name(address);
    socket_ = above_standard_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_ < 0) return errno;
    if (::connect(socket_, name.get(), name.length) != 0) return errno;
    return is_same_user(socket_) ? 0 : EPERM;
}

int HandedSegment::take(SharedSegment& segment) {
    Message message;
    ssize_t received = -1;
    do received = recvmsg(socket_, &message.header, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return errno;
    const cmsghdr* beside = CMSG_FIRSTHDR(&message.header);
    if (received == 0 || beside == nullptr || beside->cmsg_type != SCM_RIGHTS) return ECONNRESET;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(beside), sizeof descriptor);
    descriptor = above_standard_streams(descriptor);
    return descriptor < 0 ? errno : segment.adopt(descriptor, address_);
}

}  // namespace hcoll
