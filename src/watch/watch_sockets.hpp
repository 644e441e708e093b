// SPDX-License-Identifier: BSD-3-Clause
// How processes of a job ask one another where they are while MPI hangs: each listens at a TCP port, and answers who knows the job's secret
// (LIBHCOLL_WATCHDOG). Without MPI.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hcoll {

// Where one process is found, as ranks tell one another in MPI_Init: plain bytes.
struct WatchAddress {
    // Of its host, in network order: up to four of IPv4, or one of IPv6; 0: none.
    std::array<std::uint32_t, 4> addresses{};
    std::uint64_t host = 0;                 // the same for those whose network is one, of one running system
    std::array<std::uint64_t, 2> secret{};  // that of rank 0 is the job's
    std::int32_t process = 0;
    std::uint16_t port = 0;    // 0: it cannot be asked
    std::uint16_t is_six = 0;  // the address is of IPv6
};
std::string address_text(const WatchAddress& address);

class WatchSockets {
public:
    enum class Question : char { state = 's', collect = 'c' };
    struct Answer {
        // refused: nobody listens there, at an address that no other host has; failed: this process could not even try.
        enum class Outcome : std::uint8_t { answered, refused, silent, failed } outcome = Outcome::silent;
        std::string text{};
    };
    // What another one wants to know; `said` comes with the question.
    using OnQuestion = std::function<std::string(Question, std::string_view said)>;

    // Opens the port; address().port is 0 where that fails.
    WatchSockets();
    WatchSockets(const WatchSockets&) = delete;
    WatchSockets& operator=(const WatchSockets&) = delete;

    const WatchAddress& address() const { return address_; }
    // Of all processes, by rank, of which this one is `rank`.
    void meet(std::vector<WatchAddress> all, int rank);
    void answer_by(OnQuestion on_question) { on_question_ = std::move(on_question); }
    const std::vector<WatchAddress>& all() const { return all_; }
    // What serve() is to be called after: somebody asks, or goes on with it.
    void add_polled(std::vector<pollfd>& polled) const;
    // Hears and answers who has come, as far as that goes without waiting: two processes may ask each other.
    void serve();
    // Asks the processes of those ranks, many at the same time, and answers who asks meanwhile. Gives up on each address of one after `patience`, and on all
    // as soon as `gives_up` says so. The answers in the order of `ranks`.
    std::vector<Answer> ask(std::span<const int> ranks, Question question, std::string_view said,
                            std::chrono::milliseconds patience, const std::function<bool()>& gives_up);

private:
    using Clock = std::chrono::steady_clock;
    // Closed with it.
    class Socket {
    public:
        explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
        Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
        Socket& operator=(Socket&& other) noexcept {
            std::swap(descriptor_, other.descriptor_);
            return *this;
        }
        ~Socket();
        int get() const { return descriptor_; }
        bool is_open() const { return descriptor_ >= 0; }

    private:
        int descriptor_;
    };
    // With one that asks this one.
    struct Incoming {
        Socket socket;
        Clock::time_point until;
        std::string got{};
        std::string answer{};
        std::size_t sent = 0;
        bool is_over = false;
    };
    void go_on(Incoming& incoming) const;
    bool listens() const;

    struct Target;
    struct Conversation;
    std::vector<Target> targets_of(const WatchAddress& to) const;
    void begin(Conversation& conversation) const;
    void go_on(Conversation& conversation) const;

    WatchAddress address_;
    Socket listener_;
    Clock::time_point deaf_until_{};
    int rank_ = 0;
    std::vector<WatchAddress> all_;
    bool is_host_known_ = false;
    std::vector<std::array<std::uint32_t, 4>> shared_addresses_;  // that several hosts have, as bridges do; sorted
    OnQuestion on_question_;
    std::vector<Incoming> incoming_;
};

}  // namespace hcoll
