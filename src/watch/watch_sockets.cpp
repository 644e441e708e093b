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
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "base/running_system.hpp"

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

struct SocketAddress {
    sockaddr_storage at{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&at); }
};

// Of IPv4 where `is_six` is not set; then the first word of `address` is all of it.
SocketAddress socket_address(const std::array<std::uint32_t, 4>& address, bool is_six, std::uint16_t port) {
    SocketAddress made;
    if (is_six) {
        sockaddr_in6 at{};
        at.sin6_family = AF_INET6;
        std::memcpy(&at.sin6_addr, address.data(), sizeof at.sin6_addr);
        at.sin6_port = htons(port);
        std::memcpy(&made.at, &at, sizeof at);
        made.length = sizeof at;
    } else {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = address[0];
        at.sin_port = htons(port);
        std::memcpy(&made.at, &at, sizeof at);
        made.length = sizeof at;
    }
    return made;
}

std::array<std::uint32_t, 4> loopback(bool is_six) {
    if (!is_six) return {htonl(INADDR_LOOPBACK), 0, 0, 0};
    return {0, 0, 0, htonl(1)};
}

std::vector<std::array<std::uint32_t, 4>> addresses_of(const WatchAddress& host) {
    if (host.is_six != 0) return {host.addresses};
    std::vector<std::array<std::uint32_t, 4>> all;
    for (const std::uint32_t each : host.addresses)
        if (each != 0) all.push_back({each, 0, 0, 0});
    return all;
}

// Is there hardware behind it, and not a bridge or a tunnel of this host, which other hosts may have under the same address?
bool is_device(const char* interface) {
    return access((std::string("/sys/class/net/") + interface + "/device").c_str(), F_OK) == 0;
}

// Those of devices first. One of IPv6 only where there is none of IPv4, and none that is good on one link only.
void find_addresses(WatchAddress& address) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return;
    const auto for_each = [&](int family, const auto& found) {
        for (const bool devices : {true, false})
            for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
                if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == family &&
                    (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0 &&
                    is_device(each->ifa_name) == devices)
                    found(each->ifa_addr);
    };
    std::size_t found = 0;
    for_each(AF_INET, [&](const sockaddr* one) {
        sockaddr_in at{};
        std::memcpy(&at, one, sizeof at);
        if (found < address.addresses.size()) address.addresses[found++] = at.sin_addr.s_addr;
    });
    if (found == 0)
        for_each(AF_INET6, [&](const sockaddr* one) {
            sockaddr_in6 at{};
            std::memcpy(&at, one, sizeof at);
            if (address.is_six != 0 || IN6_IS_ADDR_LINKLOCAL(&at.sin6_addr)) return;
            std::memcpy(address.addresses.data(), &at.sin6_addr, sizeof at.sin6_addr);
            address.is_six = 1;
        });
    freeifaddrs(all);
}

// Its name alone would not do: nodes of a cluster may have the same one, and so may containers. `is_known`: there is more than that.
std::uint64_t host_of_process(bool& is_known) {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    const std::string text = name.data();
    const std::string system = running_system({"net"});
    is_known = !system.empty();
    return fnv1a(text + " " + system);
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
    std::array<char, INET6_ADDRSTRLEN> text{};
    return inet_ntop(address.is_six != 0 ? AF_INET6 : AF_INET, address.addresses.data(), text.data(), text.size()) ==
                   nullptr
               ? "?"
               : text.data();
}

WatchSockets::Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

WatchSockets::WatchSockets() {
    address_.host = host_of_process(is_host_known_);
    address_.process = static_cast<std::int32_t>(getpid());
    find_addresses(address_);
    if (getrandom(address_.secret.data(), secret_bytes, 0) != static_cast<ssize_t>(secret_bytes)) return;
    const bool is_six = address_.is_six != 0;
    Socket made(socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.is_open()) return;
    SocketAddress any = socket_address({}, is_six, 0);
    if (bind(made.get(), any.get(), any.length) != 0 || listen(made.get(), backlog) != 0 ||
        getsockname(made.get(), reinterpret_cast<sockaddr*>(&any.at), &any.length) != 0)
        return;
    listener_ = std::move(made);
    // At the same place in both.
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    sockaddr_in at{};
    std::memcpy(&at, &any.at, sizeof at);
    address_.port = ntohs(at.sin_port);
}

void WatchSockets::meet(std::vector<WatchAddress> all, int rank) {
    all_ = std::move(all);
    rank_ = rank;
    std::vector<std::pair<std::array<std::uint32_t, 4>, std::uint64_t>> of_hosts;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (i > 0 && all_[i].host == all_[i - 1].host) continue;
        for (const auto& address : addresses_of(all_[i])) of_hosts.emplace_back(address, all_[i].host);
    }
    std::sort(of_hosts.begin(), of_hosts.end());
    of_hosts.erase(std::unique(of_hosts.begin(), of_hosts.end()), of_hosts.end());
    shared_addresses_.clear();
    for (std::size_t i = 1; i < of_hosts.size(); ++i)
        if (of_hosts[i].first == of_hosts[i - 1].first) shared_addresses_.push_back(of_hosts[i].first);
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

struct WatchSockets::Target {
    std::array<std::uint32_t, 4> address;
    bool is_six;
    bool is_its_own;  // no other host of the job has it
};

// Where it may be found, the most likely one last.
std::vector<WatchSockets::Target> WatchSockets::targets_of(const WatchAddress& to) const {
    const bool is_six = to.is_six != 0;
    std::vector<Target> own;
    std::vector<Target> shared;
    const auto addresses = addresses_of(to);
    for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
        const bool is_shared = std::binary_search(shared_addresses_.begin(), shared_addresses_.end(), *address);
        (is_shared ? shared : own).push_back({*address, is_six, !is_shared});
    }
    if (to.host == address_.host) own.push_back({loopback(is_six), is_six, is_host_known_});
    shared.insert(shared.end(), own.begin(), own.end());
    return shared;
}

struct WatchSockets::Conversation {
    std::size_t index;  // of the answer
    int rank;
    std::string message;
    std::vector<Target> targets{};          // that are left to be tried, the next one last
    std::chrono::milliseconds patience{0};  // with each of them
    bool is_at_its_own = false;             // the one that is being tried
    Clock::time_point until{};
    Socket socket{};
    bool is_connected = false;
    std::size_t sent = 0;
    std::string got{};
    Answer answer{};
    bool is_refused = false;    // where no other host can be meant
    bool may_be_there = false;  // no answer from there, but no refusal either
    bool is_over = false;

    void note(bool refused) {
        if (is_at_its_own) (refused ? is_refused : may_be_there) = true;
    }

    void end(Answer::Outcome outcome) {
        socket = Socket();
        answer.outcome = outcome;
        is_over = true;
    }
};

// With the next address, until one is on its way or none is left.
void WatchSockets::begin(Conversation& conversation) const {
    using Outcome = Answer::Outcome;
    while (!conversation.targets.empty()) {
        const Target target = conversation.targets.back();
        conversation.targets.pop_back();
        conversation.is_at_its_own = target.is_its_own;
        conversation.is_connected = false;
        conversation.sent = 0;
        conversation.got.clear();
        conversation.until = Clock::now() + conversation.patience;
        conversation.socket =
            Socket(socket(target.is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!conversation.socket.is_open() && errno != EAFNOSUPPORT) return conversation.end(Outcome::failed);
        const SocketAddress at =
            socket_address(target.address, target.is_six, all_[static_cast<std::size_t>(conversation.rank)].port);
        if (conversation.socket.is_open() &&
            (connect(conversation.socket.get(), at.get(), at.length) == 0 || errno == EINPROGRESS))
            return;
        conversation.note(errno == ECONNREFUSED);
    }
    conversation.end(conversation.is_refused && !conversation.may_be_there ? Outcome::refused : Outcome::silent);
}

// Something has happened to its socket.
void WatchSockets::go_on(Conversation& conversation) const {
    const int descriptor = conversation.socket.get();
    const auto try_next = [&](bool is_refused) {
        conversation.note(is_refused);
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
            made.targets = targets_of(to);
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
                each.note(false);
                begin(each);
            }
            if (each.is_over) answers[each.index] = std::move(each.answer);
        }
        std::erase_if(open, [](const Conversation& each) { return each.is_over; });
    }
    return answers;
}

}  // namespace hcoll
