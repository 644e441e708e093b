// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include "watch/explain_hang.hpp"

namespace hcoll {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_between_looks = 1000ms;
constexpr auto between_tries = 100ms;  // of what could not be told at once
constexpr auto longest_between_answers = 300ms;

// What the handler may touch.
std::atomic<int> wake_of_signal{-1};
std::atomic<std::uint64_t> device_of_signal{0};
std::atomic<std::uint64_t> number_of_signal{0};
std::atomic<bool> was_signalled{false};
std::atomic<pid_t> process_of_signal{0};

// Is it that file? The program may have closed every descriptor that it does not know, and have given the number to one of its own.
bool is_file(int descriptor, std::uint64_t device, std::uint64_t number) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == number;
}

void write_one(int descriptor) { [[maybe_unused]] const ssize_t written = write(descriptor, "", 1); }

// A child that the application forked has the handler, too, but nobody who watches: it ends, as it would have.
void on_signal(int) {
    const int before = errno;
    if (process_of_signal.load() != getpid()) {
        std::signal(SIGUSR2, SIG_DFL);
        std::raise(SIGUSR2);  // blocked until this one returns
    } else if (const int descriptor = wake_of_signal.load(); descriptor >= 0) {
        was_signalled.store(true);
        if (is_file(descriptor, device_of_signal.load(), number_of_signal.load())) write_one(descriptor);
    }
    errno = before;
}

// Where the application has a handler of its own, or ignores the signal, it stays so.
void take_signal(int descriptor, std::uint64_t device, std::uint64_t number) {
    struct sigaction now {};
    if (sigaction(SIGUSR2, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0) return;
    if (now.sa_handler != SIG_DFL && now.sa_handler != on_signal) return;
    process_of_signal.store(getpid());
    device_of_signal.store(device);
    number_of_signal.store(number);
    wake_of_signal.store(descriptor);
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &ours, nullptr);
}

// The handler stays: one that is on its way must not end the process.
void leave_signal() { wake_of_signal.store(-1); }

}  // namespace

Watcher::Watcher(const Options& options, WatchRecord& record, WatchSockets& sockets)
    : options_(options), record_(record), sockets_(sockets) {
    // Other than event descriptors, a pipe has a number of its own as a file.
    std::array<int, 2> ends{};
    struct stat status {};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0 || fstat(ends[0], &status) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    wake_ = {.read = ends[0], .write = ends[1], .device = status.st_dev, .number = status.st_ino};
    sockets_.answer_by(
        [this](WatchSockets::Question question, std::string_view said) { return answer(question, said); });
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);  // a new thread begins with those of its maker
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        close(wake_.read);
        close(wake_.write);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "hcoll-watch");
    take_signal(wake_.write, wake_.device, wake_.number);
}

// The descriptors stay open: a handler may be about to write to it.
Watcher::~Watcher() {
    leave_signal();
    is_ending_.store(true);
    if (is_file(wake_.write, wake_.device, wake_.number)) write_one(wake_.write);
    thread_.join();
}

void Watcher::wait(Clock::duration longest) {
    std::vector<pollfd> polled = {{.fd = wake_.read, .events = POLLIN, .revents = 0}};
    sockets_.add_polled(polled);
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
    const int outcome = poll(polled.data(), polled.size(), static_cast<int>(milliseconds));
    const bool is_refused = outcome < 0 && errno != EINTR && errno != ENOMEM;
    // It would come back here at once, and nobody could ask it any more.
    if (is_refused || !is_file(wake_.read, wake_.device, wake_.number)) {
        leave_signal();
        is_ending_.store(true);
        return;
    }
    std::array<char, 64> ignored{};
    [[maybe_unused]] const ssize_t woken = read(wake_.read, ignored.data(), ignored.size());
    sockets_.serve();
}

void Watcher::run() {
    const auto between_looks = options_.limit.count() == 0 ? longest_between_looks
                                                           : std::clamp<std::chrono::milliseconds>(
                                                                 options_.limit / 8, 10ms, longest_between_looks);
    // Many ranks come to the limit at the same time. The first ones speak for all.
    const auto later = std::chrono::milliseconds(std::min(options_.rank, 1000));
    while (!is_ending_.load()) {
        try {
            const bool is_late = !signal_.empty() || !wanted_.empty();
            wait(is_late ? std::min<Clock::duration>(between_looks, between_tries) : between_looks);
            if (is_ending_.load()) return;
            if (was_signalled.exchange(false)) signal_ = fmt::format("SIGUSR2 has come to rank {}", options_.rank);
            if (!signal_.empty() && have_collected(signal_)) signal_.clear();
            if (!wanted_.empty() && collect(wanted_)) wanted_.clear();
            if (const auto due = record_.due(Clock::now() - later))
                have_collected(
                    fmt::format("rank {} has been in {} for {:.1f} s", options_.rank, due->text, due->seconds));
        } catch (const std::bad_alloc&) {
            is_collecting_ = false;  // the next time, perhaps
        }
    }
}

bool Watcher::has_just_told() const {
    return collected_ != Clock::time_point{} && Clock::now() - collected_ < options_.between_texts;
}

// By the first of ranks 0, 1, 2, 4, ... that answers, or this one. False where it is to be tried again.
bool Watcher::have_collected(const std::string& why) {
    for (int rank = 0; rank < options_.rank; rank = rank == 0 ? 1 : 2 * rank) {
        const auto answers = sockets_.ask(std::array{rank}, WatchSockets::Question::collect, why, options_.patience,
                                          [this] { return is_ending_.load(); });
        if (is_ending_.load()) return true;
        if (answers[0].outcome == WatchSockets::Answer::Outcome::answered) return answers[0].text == "yes";
    }
    return collect(why);
}

std::vector<WatchSockets::Answer> Watcher::ask_all(const std::vector<int>& ranks) {
    return sockets_.ask(ranks, WatchSockets::Question::state, {}, options_.patience,
                        [this] { return is_ending_.load(); });
}

namespace {

std::string silence_text(WatchSockets::Answer::Outcome outcome) {
    switch (outcome) {
        case WatchSockets::Answer::Outcome::refused: return "its process is gone";
        case WatchSockets::Answer::Outcome::failed: return "could not be asked: no descriptor is left here";
        default: return "does not answer: stopped, or its host cannot be reached";
    }
}

}  // namespace

// False where it has told shortly before, and what is new since then has to wait.
bool Watcher::collect(const std::string& why) {
    if (has_just_told()) return false;
    std::vector<int> others;
    const auto ranks = static_cast<int>(sockets_.all().size());
    for (int rank = 0; rank < ranks; ++rank)
        if (rank != options_.rank) others.push_back(rank);
    is_collecting_ = true;
    const RankState mine_before = record_.state(false);
    const auto before = ask_all(others);
    // Long enough for a call that goes on to be over.
    const auto pause = options_.limit.count() == 0
                           ? longest_between_answers
                           : std::min<std::chrono::milliseconds>(options_.limit / 4, longest_between_answers);
    for (const Clock::time_point until = Clock::now() + pause; Clock::now() < until && !is_ending_.load();)
        wait(until - Clock::now());
    const auto replies = ask_all(others);
    is_collecting_ = false;
    if (is_ending_.load()) return true;
    std::vector<RankAnswer> answers(static_cast<std::size_t>(ranks));
    answers[static_cast<std::size_t>(options_.rank)] = {
        .rank = options_.rank, .state = record_.state(true), .before = mine_before};
    for (std::size_t i = 0; i < others.size(); ++i) {
        RankAnswer& answer = answers[static_cast<std::size_t>(others[i])];
        answer.rank = others[i];
        answer.state = RankState::of(replies[i].text);
        answer.before = RankState::of(before[i].text);
        if (answer.state) continue;
        const WatchAddress& of = sockets_.all()[static_cast<std::size_t>(others[i])];
        answer.is_unknown = replies[i].outcome == WatchSockets::Answer::Outcome::failed;
        answer.silence =
            fmt::format("{} (process {} on {})", silence_text(replies[i].outcome), of.process, address_text(of));
    }
    options_.say(explain_hang(answers, why));
    collected_ = Clock::now();
    return true;
}

std::string Watcher::answer(WatchSockets::Question question, std::string_view said) {
    if (question == WatchSockets::Question::state) return record_.state(true).to_text();
    // Who asks while all are asked is among them.
    if (is_collecting_) return "yes";
    if (has_just_told()) return "later";
    if (wanted_.empty()) wanted_ = said;
    return "yes";
}

}  // namespace hcoll
