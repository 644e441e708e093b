// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/node_peers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "progress/node/memory_units.hpp"

namespace hcoll {

namespace {

constexpr std::int64_t between_looks = 100'000'000;  // nanoseconds

std::uint64_t inode_of(const char* path) {
    struct stat status {};
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

// Does /proc show the PID namespace that this process is in? Else the number of a process is another one's there.
bool shows_own_namespace(std::uint64_t process) {
    std::array<char, 32> text{};
    const ssize_t length = readlink("/proc/self", text.data(), text.size() - 1);
    return length > 0 && std::strtoull(text.data(), nullptr, 10) == process;
}

// In the unit that /proc tells times in, since the start of the system; 0 where there is no such clock.
std::uint64_t ticks_now() {
    timespec time{};
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) return 0;
    const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    return static_cast<std::uint64_t>(time.tv_sec) * per_second +
           static_cast<std::uint64_t>(time.tv_nsec) * per_second / 1'000'000'000;
}

// What the system says of a process; `began` is 0 where it says nothing.
struct Found {
    char state = 0;
    std::uint64_t threads = 0;
    std::uint64_t began = 0;
};
Found find_process(std::uint64_t process) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%llu/stat", static_cast<unsigned long long>(process));
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) return {};
    std::array<char, 1024> text{};
    const std::size_t length = std::fread(text.data(), 1, text.size() - 1, file);
    std::fclose(file);
    text[length] = 0;
    // The name, in parentheses, may hold anything.
    const char* field = std::strrchr(text.data(), ')');
    if (field == nullptr) return {};
    constexpr int name = 2;
    constexpr int state = 3;
    constexpr int threads = 20;
    constexpr int begin_time = 22;
    Found found;
    for (int number = name + 1; number <= begin_time; ++number) {
        field = std::strchr(field + 1, ' ');
        if (field == nullptr) return {};
        if (number == state) found.state = field[1];
        if (number == threads) found.threads = std::strtoull(field + 1, nullptr, 10);
    }
    found.began = std::strtoull(field + 1, nullptr, 10);
    return found;
}

}  // namespace

// `process` is written last; 0 where others may not judge.
struct NodePeers::Identity {
    std::atomic<std::uint64_t> process;
    std::uint64_t written;  // when; what has begun later is another process
    std::uint64_t process_namespace;
    std::uint64_t time_namespace;  // `written` is counted in; 0 where there are none
};

std::size_t NodePeers::segment_bytes(int ranks) {
    return cache_line_bytes + static_cast<std::size_t>(ranks) * sizeof(Identity);
}

NodePeers::Identity& NodePeers::identity(int rank) const {
    return reinterpret_cast<Identity*>(base_ + cache_line_bytes)[rank];
}

NodePeers::NodePeers(std::byte* base, int ranks, int rank) : base_(base), ranks_(ranks), rank_(rank) {
    struct Self {
        std::uint64_t process, process_namespace, time_namespace;
    };
    // The same for all communicators; a forked child is another process.
    static thread_local Self self{};
    if (const auto process = static_cast<std::uint64_t>(getpid()); self.process != process)
        self = {process, shows_own_namespace(process) ? inode_of("/proc/self/ns/pid") : 0,
                inode_of("/proc/self/ns/time")};
    Identity& own = identity(rank);
    own.written = ticks_now();
    if (self.process_namespace == 0 || own.written == 0) return;
    own.process_namespace = self.process_namespace;
    own.time_namespace = self.time_namespace;
    own.process.store(self.process, std::memory_order_release);
}

NodePeers::~NodePeers() { identity(rank_).process.store(0, std::memory_order_release); }

NodeBreak NodePeers::why_broken() const {
    return reinterpret_cast<const std::atomic<NodeBreak>*>(base_)->load(std::memory_order_acquire);
}

void NodePeers::give_up(NodeBreak why) {
    NodeBreak nobody = NodeBreak::none;
    reinterpret_cast<std::atomic<NodeBreak>*>(base_)->compare_exchange_strong(nobody, why);
}

bool NodePeers::is_gone(int rank) const {
    const Identity& own = identity(rank_);
    const Identity& theirs = identity(rank);
    const std::uint64_t process = theirs.process.load(std::memory_order_acquire);
    if (process == 0 || own.process.load(std::memory_order_relaxed) == 0) return false;
    if (own.process_namespace != theirs.process_namespace) return false;
    // What /proc does not show may only be hidden.
    if (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return true;
    const Found found = find_process(process);
    if (found.began == 0) return false;
    // A process is shown so, too, whose first thread has ended before others.
    if ((found.state == 'Z' || found.state == 'X') && found.threads <= 1) return true;
    return own.time_namespace == theirs.time_namespace && found.began > theirs.written;
}

NodeBreak NodePeers::look() {
    if (const NodeBreak why = why_broken(); why != NodeBreak::none) return why;
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    if (now < next_look_) return NodeBreak::none;
    next_look_ = now + between_looks;
    for (int each = 0; each < ranks_; ++each)
        if (each != rank_ && is_gone(each)) {
            give_up(NodeBreak::process);
            break;
        }
    return why_broken();
}

}  // namespace hcoll
