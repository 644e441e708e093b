// SPDX-License-Identifier: BSD-3-Clause
// What was called and what it ran: LIBHCOLL_REPORT.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "intercept/process/learned_places.hpp"

namespace hcoll {

// Message sizes in classes: the largest message of each.
inline constexpr std::array<std::uint64_t, 7> size_class_limits = {0, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, ~0ULL};

std::size_t size_class_of(std::uint64_t bytes);

// How much of the time of blocking collectives is waiting for late ranks: of all their ranks together, in calls that were looked at.
struct LateRanksSplit {
    struct Part {
        std::uint64_t calls = 0;
        double waiting = 0;  // in seconds
        double time = 0;     // all of it
    };
    struct LateRank {
        int rank = 0;  // of MPI_COMM_WORLD
        std::uint64_t calls = 0;
        double caused = 0;
    };
    std::map<int, Part> rows{};  // by the number of the report's row
    Part all{};
    std::vector<LateRank> late{};  // who causes most first

    void add(int row, double waiting, double time);
};

// Of one process. Thread-safe.
class Report {
public:
    // The number of its row.
    int add(std::string_view collective, std::uint64_t bytes, std::string_view what, std::string_view why,
            double seconds);

    // What came of the table of this machine; not called: there is none.
    void set_table(std::string table);

    void set_learned(std::vector<LearnedPlace> places);
    void set_late_ranks(LateRanksSplit split);

    // `heading` names the process and the MPI library.
    std::string text(std::string_view heading) const;
    std::string json(std::string_view heading) const;

private:
    struct Sum {
        int row = 0;
        std::uint64_t calls = 0;
        std::uint64_t bytes = 0;
        double seconds = 0;
    };
    using Key = std::tuple<std::string, std::size_t, std::string, std::string>;  // collective, size class, what, why
    using KeyView = std::tuple<std::string_view, std::size_t, std::string_view, std::string_view>;
    struct Less {
        using is_transparent = void;
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const {
            return view(a) < view(b);
        }
        static KeyView view(const Key& key) {
            return {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key)};
        }
        static KeyView view(const KeyView& key) { return key; }
    };

    mutable std::mutex mutex_;
    std::map<Key, Sum, Less> sums_;
    std::string table_;
    std::vector<LearnedPlace> learned_;
    LateRanksSplit late_ranks_;
};

}  // namespace hcoll
