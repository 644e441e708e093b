// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watch_sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/hash.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_at_once = 64;
constexpr std::uint32_t most_bytes = 1U << 20U;
constexpr int backlog = 1024;
constexpr std::size_t secret_bytes = sizeof WatchAddress{}.secret;

// The secret, who is asked (two hosts may have the same address in networks of their own), what, and the length of what is said with it.
struct Head {
    std::array<std::uint64_t, 2> secret{};
    std::int32_t rank = 0;
    std::uint32_t bytes = 0;
    char question = 0;
    std::array<char, 7> unused{};
};
static_assert(sizeof(Head) == secret_bytes + 16);

sockaddr_in socket_address(std::uint32_t address, std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = address;
    at.sin_port = htons(port);
    return at;
}

void find_addresses(WatchAddress& address) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return;
    std::size_t found = 0;
    for (const ifaddrs* each = all; each != nullptr && found < address.addresses.size(); each = each->ifa_next) {
        if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
        if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
        sockaddr_in at{};
        std::memcpy(&at, each->ifa_addr, sizeof at);
        address.addresses[found++] = at.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

enum class Transfer : std::uint8_t { done, later, closed };

// What is left of `bytes`, without waiting.
Transfer send_rest(int socket, std::string_view bytes, std::size_t& sent) {
    while (sent < bytes.size()) {
        const ssize_t put = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return Transfer::later;
        if (put <= 0) return Transfer::closed;
        sent += static_cast<std::size_t>(put);
    }
    return Transfer::done;
}

// All that has come so far, until `is_whole` says that it is enough.
template <typename IsWhole>
Transfer receive(int socket, std::string& got, IsWhole&& is_whole) {
    std::array<char, 4096> piece{};
    while (!is_whole()) {
        const ssize_t bytes = recv(socket, piece.data(), piece.size(), 0);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && errno == EAGAIN) return Transfer::later;
        if (bytes <= 0) return Transfer::closed;
        got.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    return Transfer::done;
}

// A length that came first.
std::uint32_t length_in(std::string_view got) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, got.data(), sizeof bytes);
    return bytes;
}

}  // namespace

std::string address_text(const WatchAddress& address) {
    if (address.addresses[0] == 0) return "this host";
    std::array<char, INET_ADDRSTRLEN> text{};
    const in_addr at{address.addresses[0]};
    return inet_ntop(AF_INET, &at, text.data(), text.size()) == nullptr ? "?" : text.data();
}

WatchSockets::Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

WatchSockets::WatchSockets() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    address_.host = fnv1a(name.data());
    address_.process = static_cast<std::int32_t>(getpid());
    find_addresses(address_);
    if (getrandom(address_.secret.data(), secret_bytes, 0) != static_cast<ssize_t>(secret_bytes)) return;
    Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.is_open()) return;
    sockaddr_in at = socket_address(htonl(INADDR_ANY), 0);
    socklen_t length = sizeof at;
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(made.get(), backlog) != 0 ||
        getsockname(made.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0)
        return;
    listener_ = std::move(made);
    address_.port = ntohs(at.sin_port);
}

void WatchSockets::meet(std::vector<WatchAddress> all, int rank) {
    all_ = std::move(all);
    rank_ = rank;
}

// Not while there is no room for one more, nor shortly after there was no descriptor for one.
bool WatchSockets::listens() const {
    return listener_.is_open() && incoming_.size() < most_at_once && Clock::now() >= deaf_until_;
}

void WatchSockets::add_polled(std::vector<pollfd>& polled) const {
    if (listens()) polled.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
    for (const Incoming& each : incoming_)
        polled.push_back(
            {.fd = each.socket.get(), .events = each.answer.empty() ? short{POLLIN} : short{POLLOUT}, .revents = 0});
}

void WatchSockets::serve() {
    constexpr std::chrono::seconds patience{2};
    constexpr std::chrono::seconds pause{1};
    while (listens()) {
        Socket made(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!made.is_open()) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) deaf_until_ = Clock::now() + pause;
            break;
        }
        incoming_.push_back({.socket = std::move(made), .until = Clock::now() + patience});
    }
    for (Incoming& each : incoming_) {
        go_on(each);
        each.is_over = each.is_over || Clock::now() > each.until;
    }
    std::erase_if(incoming_, [](const Incoming& each) { return each.is_over; });
}

// Who does not know the secret is not answered, nor who wants another one, or has gone.
void WatchSockets::go_on(Incoming& incoming) const {
    if (incoming.answer.empty()) {
        Head head;
        const auto is_refused = [&] {
            return head.secret != all_[0].secret || head.bytes > most_bytes || head.rank != rank_;
        };
        const auto is_whole = [&] {
            if (incoming.got.size() < sizeof head) return false;
            std::memcpy(&head, incoming.got.data(), sizeof head);
            return is_refused() || incoming.got.size() >= sizeof head + head.bytes;
        };
        const Transfer heard = receive(incoming.socket.get(), incoming.got, is_whole);
        incoming.is_over = heard == Transfer::closed || (heard == Transfer::done && is_refused());
        if (heard != Transfer::done || incoming.is_over) return;
        char more = 0;
        incoming.is_over = recv(incoming.socket.get(), &more, 1, MSG_PEEK) == 0;
        if (incoming.is_over) return;
        const std::string answer = on_question_(static_cast<Question>(head.question),
                                                std::string_view(incoming.got).substr(sizeof head, head.bytes));
        const auto bytes = static_cast<std::uint32_t>(answer.size());
        incoming.answer.assign(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(answer);
    }
    incoming.is_over = send_rest(incoming.socket.get(), incoming.answer, incoming.sent) != Transfer::later;
}

struct WatchSockets::Conversation {
    std::size_t index;  // of the answer
    int rank;
    std::string message;
    std::vector<std::uint32_t> addresses{};  // that are left to be tried, the next one last
    std::chrono::milliseconds patience{0};   // with each of them
    Clock::time_point until{};
    Socket socket{};
    bool is_connected = false;
    std::size_t sent = 0;
    std::string got{};
    Answer answer{};
    bool is_refused = true;  // by all so far
    bool is_over = false;

    void end(Answer::Outcome outcome) {
        socket = Socket();
        answer.outcome = outcome;
        is_over = true;
    }
};

// With the next address, until one is on its way or none is left.
void WatchSockets::begin(Conversation& conversation) const {
    using Outcome = Answer::Outcome;
    while (!conversation.addresses.empty()) {
        const std::uint32_t address = conversation.addresses.back();
        conversation.addresses.pop_back();
        conversation.is_connected = false;
        conversation.sent = 0;
        conversation.got.clear();
        conversation.until = Clock::now() + conversation.patience;
        conversation.socket = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!conversation.socket.is_open()) return conversation.end(Outcome::failed);
        const sockaddr_in at = socket_address(address, all_[static_cast<std::size_t>(conversation.rank)].port);
        if (connect(conversation.socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
            errno == EINPROGRESS)
            return;
        conversation.is_refused = conversation.is_refused && errno == ECONNREFUSED;
    }
    conversation.end(conversation.is_refused ? Outcome::refused : Outcome::silent);
}

// Something has happened to its socket.
void WatchSockets::go_on(Conversation& conversation) const {
    const int descriptor = conversation.socket.get();
    const auto try_next = [&](bool is_refused) {
        conversation.is_refused = conversation.is_refused && is_refused;
        begin(conversation);
    };
    if (!conversation.is_connected) {
        int error = 0;
        socklen_t length = sizeof error;
        if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
            return try_next(error == ECONNREFUSED);
        conversation.is_connected = true;
    }
    const Transfer said = send_rest(descriptor, conversation.message, conversation.sent);
    if (said == Transfer::closed) return try_next(false);
    if (said == Transfer::later) return;
    std::string& got = conversation.got;
    const Transfer heard = receive(descriptor, got, [&] {
        return got.size() >= sizeof(std::uint32_t) &&
               (length_in(got) > most_bytes || got.size() >= sizeof(std::uint32_t) + length_in(got));
    });
    if (heard == Transfer::later) return;
    // Another one, perhaps, that is not who was meant.
    if (heard == Transfer::closed || length_in(got) > most_bytes) return try_next(false);
    conversation.answer.text = got.substr(sizeof(std::uint32_t), length_in(got));
    conversation.end(Answer::Outcome::answered);
}

std::vector<WatchSockets::Answer> WatchSockets::ask(std::span<const int> ranks, Question question,
                                                    std::string_view said, std::chrono::milliseconds patience,
                                                    const std::function<bool()>& gives_up) {
    constexpr int poll_milliseconds = 50;
    std::vector<Answer> answers(ranks.size());
    std::vector<Conversation> open;
    std::vector<pollfd> polled;
    for (std::size_t next = 0; (next < ranks.size() || !open.empty()) && !gives_up();) {
        for (; next < ranks.size() && open.size() < most_at_once; ++next) {
            const WatchAddress& to = all_[static_cast<std::size_t>(ranks[next])];
            if (to.port == 0) continue;
            const Head head{.secret = all_[0].secret,
                            .rank = ranks[next],
                            .bytes = static_cast<std::uint32_t>(said.size()),
                            .question = static_cast<char>(question)};
            Conversation made{.index = next,
                              .rank = ranks[next],
                              .message = std::string(reinterpret_cast<const char*>(&head), sizeof head).append(said)};
            for (std::size_t i = to.addresses.size(); i-- > 0;)
                if (to.addresses[i] != 0) made.addresses.push_back(to.addresses[i]);
            if (to.host == address_.host && to.addresses == address_.addresses)
                made.addresses.push_back(htonl(INADDR_LOOPBACK));
            made.patience = patience;
            begin(made);
            open.push_back(std::move(made));
        }
        polled.clear();
        for (const Conversation& each : open) {
            const bool is_said = each.sent == each.message.size();
            polled.push_back(
                {.fd = each.socket.get(), .events = is_said ? short{POLLIN} : short{POLLOUT}, .revents = 0});
        }
        add_polled(polled);
        poll(polled.data(), polled.size(), poll_milliseconds);
        serve();
        for (std::size_t i = 0; i < open.size(); ++i) {
            Conversation& each = open[i];
            if (!each.is_over && polled[i].revents != 0) go_on(each);
            if (!each.is_over && Clock::now() > each.until) {
                each.is_refused = false;
                begin(each);
            }
            if (each.is_over) answers[each.index] = std::move(each.answer);
        }
        std::erase_if(open, [](const Conversation& each) { return each.is_over; });
    }
    return answers;
}

}  // namespace hcoll
