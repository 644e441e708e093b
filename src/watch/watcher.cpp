#include "watch/watcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include "watch/explain_hang.hpp"

namespace hcoll {

namespace {

using namespace std::chrono_literals;

constexpr auto between_texts = 2s;  // what comes sooner is of the same hang
constexpr auto longest_between_looks = 1000ms;

// What the handler may touch. A child that the application forked has the handler, too, but no thread.
std::atomic<int> wake_of_signal{-1};
std::atomic<bool> was_signalled{false};
std::atomic<pid_t> process_of_signal{0};

void wake(int descriptor) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(descriptor, &one, sizeof one);
}

void on_signal(int) {
    const int before = errno;
    if (process_of_signal.load() == getpid()) {
        was_signalled.store(true);
        wake(wake_of_signal.load());
    }
    errno = before;
}

// Where the application has a handler of its own, or ignores the signal, it stays so.
void take_signal(int descriptor) {
    struct sigaction now {};
    if (sigaction(SIGUSR2, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0) return;
    if (now.sa_handler != SIG_DFL && now.sa_handler != on_signal) return;
    process_of_signal.store(getpid());
    wake_of_signal.store(descriptor);
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &ours, nullptr);
}

// The handler stays: one that is on its way must not end the process.
void leave_signal() { process_of_signal.store(0); }

}  // namespace

Watcher::Watcher(const Options& options, WatchRecord& record, std::unique_ptr<WatchSockets> sockets)
    : options_(options), record_(record), sockets_(std::move(sockets)) {
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    std::vector<WatchAddress> all = sockets_->all();
    sockets_->meet(std::move(all),
                   [this](WatchSockets::Question question, std::string_view said) { return answer(question, said); });
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);  // a new thread begins with those of its maker
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        close(wake_);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "hcoll-watch");
    take_signal(wake_);
}

Watcher::~Watcher() {
    leave_signal();
    is_ending_.store(true);
    wake(wake_);
    thread_.join();
    close(wake_);
}

void Watcher::run() {
    const auto between_looks = options_.limit.count() == 0 ? longest_between_looks
                                                           : std::clamp<std::chrono::milliseconds>(
                                                                 options_.limit / 8, 10ms, longest_between_looks);
    std::vector<pollfd> polled;
    while (!is_ending_.load()) {
        try {
            polled.assign(1, {.fd = wake_, .events = POLLIN, .revents = 0});
            sockets_->add_polled(polled);
            poll(polled.data(), polled.size(),
                 options_.limit.count() == 0 ? -1 : static_cast<int>(between_looks.count()));
            std::uint64_t ignored = 0;
            [[maybe_unused]] const ssize_t woken = read(wake_, &ignored, sizeof ignored);
            if (is_ending_.load()) return;
            sockets_->serve();
            if (was_signalled.exchange(false))
                have_collected(fmt::format("SIGUSR2 has come to rank {}", options_.rank));
            if (!wanted_.empty()) collect(std::exchange(wanted_, {}));
            look(Clock::now());
        } catch (const std::bad_alloc&) {
            // The next time, perhaps.
        }
    }
}

void Watcher::look(Clock::time_point now) {
    if (options_.limit.count() == 0) return;
    // Many ranks come to the limit at the same time. The first ones speak for all.
    const auto later = std::chrono::milliseconds(std::min(options_.rank, 1000));
    const auto oldest = record_.oldest_call(told_);
    if (!oldest || now - *oldest < options_.limit + later) return;
    const double seconds = std::chrono::duration<double>(now - *oldest).count();
    have_collected(
        fmt::format("rank {} has been in {} for {:.1f} s", options_.rank, record_.oldest_call_text(), seconds));
    told_ = Clock::now();
}

// By the first of ranks 0, 1, 2, 4, ... that answers, or this one.
void Watcher::have_collected(const std::string& why) {
    for (int rank = 0; rank < options_.rank; rank = rank == 0 ? 1 : 2 * rank) {
        const auto answers = sockets_->ask(std::array{rank}, WatchSockets::Question::collect, why, options_.patience,
                                           [this] { return is_ending_.load(); });
        if (answers[0].outcome == WatchSockets::Answer::Outcome::answered || is_ending_.load()) return;
    }
    collect(why);
}

void Watcher::collect(const std::string& why) {
    if (collected_ != Clock::time_point{} && Clock::now() - collected_ < between_texts) return;
    std::vector<int> others;
    const auto ranks = static_cast<int>(sockets_->all().size());
    for (int rank = 0; rank < ranks; ++rank)
        if (rank != options_.rank) others.push_back(rank);
    const auto replies = sockets_->ask(others, WatchSockets::Question::state, {}, options_.patience,
                                       [this] { return is_ending_.load(); });
    if (is_ending_.load()) return;
    std::vector<RankAnswer> answers(static_cast<std::size_t>(ranks));
    answers[static_cast<std::size_t>(options_.rank)] = {.rank = options_.rank, .state = record_.state()};
    for (std::size_t i = 0; i < others.size(); ++i) {
        RankAnswer& answer = answers[static_cast<std::size_t>(others[i])];
        answer.rank = others[i];
        answer.state = RankState::of(replies[i].text);
        if (answer.state) continue;
        const WatchAddress& of = sockets_->all()[static_cast<std::size_t>(others[i])];
        const bool is_gone = replies[i].outcome == WatchSockets::Answer::Outcome::refused;
        answer.silence =
            fmt::format("{} (process {} on {})",
                        is_gone ? "its process is gone" : "does not answer: stopped, or its host cannot be reached",
                        of.process, address_text(of));
    }
    options_.say(explain_hang(answers, why));
    collected_ = told_ = Clock::now();
    wanted_.clear();
}

std::string Watcher::answer(WatchSockets::Question question, std::string_view said) {
    if (question == WatchSockets::Question::collect) {
        if (wanted_.empty()) wanted_ = said;
        return "yes";
    }
    told_ = Clock::now();
    return record_.state().to_text();
}

}  // namespace hcoll
