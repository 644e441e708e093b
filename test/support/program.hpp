// SPDX-License-Identifier: BSD-3-Clause
// Start, options, failure and end of a multi-rank test program.
//
// A test program returns 0 when all is well. The rank that finds something wrong prints one line and takes the job down
// with exit code 1; exit code 77 says that the test cannot run here, and why.
#pragma once

#include <mpi.h>

#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace hcoll::test {

inline constexpr int skip_exit_code = 77;

// What fail() adds to its message.
struct FailureContext {
    std::string program = "test";
    int rank = -1;
    std::uint64_t seed = 0;
};

inline FailureContext& failure_context() {
    static FailureContext context;
    return context;
}

[[noreturn]] inline void fail(const std::string& what, std::source_location where = std::source_location::current()) {
    const FailureContext& context = failure_context();
    std::fflush(stdout);
    std::fprintf(stderr, "FAIL %s: rank %d: %s (%s:%u; HCOLL_TEST_SEED=%llu)\n", context.program.c_str(), context.rank,
                 what.c_str(), where.file_name(), static_cast<unsigned>(where.line()),
                 static_cast<unsigned long long>(context.seed));
    std::fflush(stderr);
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

inline void require(bool holds, std::string_view what, std::source_location where = std::source_location::current()) {
    if (!holds) fail(std::string(what), where);
}

inline std::string error_text(int code) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
}

// Every MPI call of a test goes through this.
inline void check(int code, std::source_location where = std::source_location::current()) {
    if (code != MPI_SUCCESS) fail("an MPI call returned an error: " + error_text(code), where);
}

// The command line: options are asked for by name; what nobody asked for is an error.
class Options {
public:
    Options(int argc, char** argv) : arguments_(argv + 1, argv + argc) {}

    bool flag(std::string_view name) {
        for (auto it = arguments_.begin(); it != arguments_.end(); ++it) {
            if (*it == name) {
                arguments_.erase(it);
                return true;
            }
        }
        return false;
    }

    std::string text(std::string_view name, std::string fallback) {
        for (auto it = arguments_.begin(); it != arguments_.end(); ++it) {
            if (*it == name && it + 1 != arguments_.end()) {
                std::string value = *(it + 1);
                arguments_.erase(it, it + 2);
                return value;
            }
        }
        return fallback;
    }

    std::int64_t number(std::string_view name, std::int64_t fallback) {
        return std::stoll(text(name, std::to_string(fallback)));
    }

    void reject_rest() const {
        if (arguments_.empty()) return;
        std::fprintf(stderr, "unknown option or missing value: %s\n", arguments_.front().c_str());
        std::exit(2);
    }

private:
    std::vector<std::string> arguments_;
};

// Ends the program as skipped. To be called by all ranks.
inline void skip(const std::string& reason) {
    if (failure_context().rank <= 0) std::printf("SKIP %s: %s\n", failure_context().program.c_str(), reason.c_str());
    std::fflush(stdout);
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized != 0 && finalized == 0) MPI_Finalize();
    std::exit(skip_exit_code);
}

// MPI from start to end, and a seed that all ranks have.
class Program {
public:
    Program(int argc, char** argv, std::string name, int thread_level = MPI_THREAD_SINGLE)
        : options_(argc, argv), start_(std::chrono::steady_clock::now()) {
        if (thread_level == MPI_THREAD_SINGLE)
            check(MPI_Init(nullptr, nullptr));
        else
            check(MPI_Init_thread(nullptr, nullptr, thread_level, &thread_level_));
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        failure_context() = {std::move(name), rank_, 0};
        agree_on_seed();
    }

    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    Options& options() { return options_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] int thread_level() const { return thread_level_; }
    [[nodiscard]] std::uint64_t seed() const { return failure_context().seed; }

    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    // Finalizes MPI; returns the exit code.
    int finish(const std::string& done) {
        const double seconds_before_finalize = seconds();
        check(MPI_Finalize());
        if (rank_ == 0)
            std::printf("ok %s: %d ranks, %s, %.1f s\n", failure_context().program.c_str(), size_, done.c_str(),
                        seconds_before_finalize);
        return 0;
    }

private:
    // Without a collective call, so that the program itself decides which one is its first. The seed comes from
    // --seed or HCOLL_TEST_SEED; else it is a new one in every run.
    void agree_on_seed() {
        std::uint64_t seed = 0;
        const char* setting = std::getenv("HCOLL_TEST_SEED");
        const std::string text = options_.text("--seed", setting == nullptr ? "" : setting);
        if (rank_ == 0) {
            seed = text.empty() ? static_cast<std::uint64_t>(
                                      std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'007)
                                : std::stoull(text);
            for (int peer = 1; peer < size_; ++peer) check(MPI_Send(&seed, 1, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD));
            std::printf("%s: HCOLL_TEST_SEED=%llu\n", failure_context().program.c_str(),
                        static_cast<unsigned long long>(seed));
            std::fflush(stdout);
        } else {
            check(MPI_Recv(&seed, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        failure_context().seed = seed;
    }

    Options options_;
    std::chrono::steady_clock::time_point start_;
    int rank_ = 0;
    int size_ = 1;
    int thread_level_ = MPI_THREAD_SINGLE;
};

}  // namespace hcoll::test
