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

// The secret, the question, the length of what is said with it.
struct Head {
    std::array<std::uint64_t, 2> secret{};
    char question = 0;
    std::array<char, 3> unused{};
    std::uint32_t bytes = 0;
};
static_assert(sizeof(Head) == secret_bytes + 8);

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

WatchSockets::WatchSockets() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    address_.host = fnv1a(name.data());
    address_.process = static_cast<std::int32_t>(getpid());
    find_addresses(address_);
    if (getrandom(address_.secret.data(), secret_bytes, 0) != static_cast<ssize_t>(secret_bytes)) return;
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener_ < 0) return;
    sockaddr_in at = socket_address(htonl(INADDR_ANY), 0);
    socklen_t length = sizeof at;
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(listener_, backlog) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
        close(std::exchange(listener_, -1));
        return;
    }
    address_.port = ntohs(at.sin_port);
}

WatchSockets::~WatchSockets() {
    for (const Incoming& each : incoming_) close(each.socket);
    if (listener_ >= 0) close(listener_);
}

void WatchSockets::meet(std::vector<WatchAddress> all, OnQuestion on_question) {
    all_ = std::move(all);
    on_question_ = std::move(on_question);
}

void WatchSockets::add_polled(std::vector<pollfd>& polled) const {
    polled.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    for (const Incoming& each : incoming_)
        polled.push_back(
            {.fd = each.socket, .events = each.answer.empty() ? short{POLLIN} : short{POLLOUT}, .revents = 0});
}

void WatchSockets::serve() {
    constexpr std::chrono::seconds patience{2};
    while (listener_ >= 0 && incoming_.size() < most_at_once) {
        const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) break;
        incoming_.push_back({.socket = socket, .until = Clock::now() + patience});
    }
    for (Incoming& each : incoming_) {
        go_on(each);
        if (each.is_over || Clock::now() > each.until) close(std::exchange(each.socket, -1));
    }
    std::erase_if(incoming_, [](const Incoming& each) { return each.socket < 0; });
}

// Who does not know the secret is not answered.
void WatchSockets::go_on(Incoming& incoming) const {
    if (incoming.answer.empty()) {
        Head head;
        const auto is_whole = [&] {
            if (incoming.got.size() < sizeof head) return false;
            std::memcpy(&head, incoming.got.data(), sizeof head);
            return head.secret != all_[0].secret || head.bytes > most_bytes ||
                   incoming.got.size() >= sizeof head + head.bytes;
        };
        const Transfer heard = receive(incoming.socket, incoming.got, is_whole);
        incoming.is_over = heard == Transfer::closed;
        if (heard != Transfer::done) return;
        incoming.is_over = head.secret != all_[0].secret || head.bytes > most_bytes;
        if (incoming.is_over) return;
        const std::string answer = on_question_(static_cast<Question>(head.question),
                                                std::string_view(incoming.got).substr(sizeof head, head.bytes));
        const auto bytes = static_cast<std::uint32_t>(answer.size());
        incoming.answer.assign(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(answer);
    }
    incoming.is_over = send_rest(incoming.socket, incoming.answer, incoming.sent) != Transfer::later;
}

struct WatchSockets::Conversation {
    std::size_t index;  // of the answer
    int rank;
    Clock::time_point until;
    std::vector<std::uint32_t> addresses{};  // that are left to be tried, the next one last
    int socket = -1;
    bool is_connected = false;
    std::size_t sent = 0;
    std::string got{};
    const std::string* message = nullptr;
    Answer answer{};
    bool is_over = false;

    void end(Answer::Outcome outcome) {
        if (socket >= 0) close(std::exchange(socket, -1));
        answer.outcome = outcome;
        is_over = true;
    }
};

std::string WatchSockets::message(Question question, std::string_view said) const {
    const Head head{.secret = all_[0].secret,
                    .question = static_cast<char>(question),
                    .bytes = static_cast<std::uint32_t>(said.size())};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    return bytes.append(said);
}

// The next address. False where there is none left.
bool WatchSockets::begin(Conversation& conversation) const {
    while (!conversation.addresses.empty()) {
        const std::uint32_t address = conversation.addresses.back();
        conversation.addresses.pop_back();
        const std::uint16_t port = all_[static_cast<std::size_t>(conversation.rank)].port;
        conversation.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (conversation.socket < 0) return false;
        const sockaddr_in at = socket_address(address, port);
        if (connect(conversation.socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
            errno == EINPROGRESS)
            return true;
        close(std::exchange(conversation.socket, -1));
    }
    return false;
}

// Something has happened to its socket.
void WatchSockets::go_on(Conversation& conversation) const {
    using Outcome = Answer::Outcome;
    if (!conversation.is_connected) {
        int error = 0;
        socklen_t length = sizeof error;
        if (getsockopt(conversation.socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) {
            close(std::exchange(conversation.socket, -1));
            if (!begin(conversation)) conversation.end(error == ECONNREFUSED ? Outcome::refused : Outcome::silent);
            return;
        }
        conversation.is_connected = true;
    }
    const Transfer said = send_rest(conversation.socket, *conversation.message, conversation.sent);
    if (said == Transfer::closed) conversation.end(Outcome::silent);
    if (said != Transfer::done) return;
    std::string& got = conversation.got;
    const Transfer heard = receive(conversation.socket, got, [&] {
        return got.size() >= sizeof(std::uint32_t) &&
               (length_in(got) > most_bytes || got.size() >= sizeof(std::uint32_t) + length_in(got));
    });
    if (heard == Transfer::later) return;
    if (heard == Transfer::closed || length_in(got) > most_bytes) return conversation.end(Outcome::silent);
    conversation.answer.text = got.substr(sizeof(std::uint32_t), length_in(got));
    conversation.end(Outcome::answered);
}

std::vector<WatchSockets::Answer> WatchSockets::ask(std::span<const int> ranks, Question question,
                                                    std::string_view said, std::chrono::milliseconds patience,
                                                    const std::function<bool()>& gives_up) {
    constexpr int poll_milliseconds = 50;
    const std::string bytes = message(question, said);
    std::vector<Answer> answers(ranks.size());
    std::vector<Conversation> open;
    std::vector<pollfd> polled;
    for (std::size_t next = 0; (next < ranks.size() || !open.empty()) && !gives_up();) {
        for (; next < ranks.size() && open.size() < most_at_once; ++next) {
            const WatchAddress& to = all_[static_cast<std::size_t>(ranks[next])];
            Conversation made{.index = next, .rank = ranks[next], .until = Clock::now() + patience};
            for (std::size_t i = to.addresses.size(); i-- > 0;)
                if (to.addresses[i] != 0) made.addresses.push_back(to.addresses[i]);
            if (to.host == address_.host && to.addresses == address_.addresses)
                made.addresses.assign(1, htonl(INADDR_LOOPBACK));
            if (to.port == 0 || !begin(made)) continue;
            open.push_back(std::move(made));
        }
        polled.clear();
        for (const Conversation& each : open) {
            const bool is_said = each.sent == bytes.size();
            polled.push_back({.fd = each.socket, .events = is_said ? short{POLLIN} : short{POLLOUT}, .revents = 0});
        }
        add_polled(polled);
        poll(polled.data(), polled.size(), poll_milliseconds);
        serve();
        for (std::size_t i = 0; i < open.size(); ++i) {
            Conversation& each = open[i];
            each.message = &bytes;
            if (polled[i].revents != 0) go_on(each);
            if (!each.is_over && Clock::now() > each.until) each.end(Answer::Outcome::silent);
            if (each.is_over) answers[each.index] = std::move(each.answer);
        }
        std::erase_if(open, [](const Conversation& each) { return each.is_over; });
    }
    for (Conversation& each : open) each.end(Answer::Outcome::silent);
    return answers;
}

}  // namespace hcoll
