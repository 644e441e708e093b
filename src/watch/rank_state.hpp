// SPDX-License-Identifier: BSD-3-Clause
// What one rank says of itself when it is asked (LIBHCOLL_WATCHDOG), as text that goes from process to process. Without MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait_note.hpp"

namespace hcoll {

// Ranks of MPI_COMM_WORLD that follow one another, or every `step`th of them; a negative one goes down.
struct RankRange {
    int first = 0;
    int count = 0;
    int step = 1;
    friend bool operator==(const RankRange&, const RankRange&) = default;
};
std::vector<RankRange> ranges_of(const std::vector<int>& ranks);
// The i-th of them; -1 where there is none.
int rank_at(const std::vector<RankRange>& ranges, int index);

struct RankState {
    static constexpr int no_communicator = -1;

    struct Communicator {
        std::uint64_t key = 0;             // the same on all its ranks
        std::string name;                  // "" of those that no call below is on, but for the last ones
        std::uint64_t entered = 0;         // so many of its collectives were begun by this rank
        std::vector<RankRange> members{};  // by rank; of those alone that a call below is on
        bool has_all_members = true;
    };
    // A collective that was begun and is not over.
    struct Begun {
        int communicator = no_communicator;
        std::uint64_t number = 0;
        std::string text;
    };
    struct Call {
        int communicator = no_communicator;  // in the list below; or it is no collective
        std::uint64_t number = 0;            // there
        std::string kind;                    // what all ranks of it have to say alike: "MPI_Bcast, root 0"
        std::string text;                    // what was called, in full
        std::string runs{};                  // what was decided; "" where nothing was yet
        double seconds = 0;                  // since it began, or what it took
        WaitNote::Wait wait{};               // rank: of MPI_COMM_WORLD
        std::vector<Begun> waits_on{};       // of a call that waits for requests: on each communicator the last one
        std::uint64_t serial = 0;            // no other call of the process has it
    };
    struct PastCall {
        Call call;
        double ago = 0;  // seconds since it ended
    };

    int rank = 0;
    int process = 0;
    std::string host{};
    bool has_finalized = false;
    double outside = 0;                         // seconds since the last call ended, where there is none
    std::vector<Call> calls{};                  // of its threads, the oldest first
    std::vector<PastCall> past{};               // collectives, the last one first
    std::vector<Communicator> communicators{};  // freed ones, too
    bool knows_all = true;                      // communicators that it has ever had

    std::string to_text() const;
    // Nothing where the text is none of these.
    static std::optional<RankState> of(std::string_view text);
};

}  // namespace hcoll
