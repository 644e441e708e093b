// SPDX-License-Identifier: BSD-3-Clause
// What a rank says of a collective that it is about to make, and how calls that differ are told (LIBHCOLL_CHECK). Without MPI.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/catalog.hpp"

namespace hcoll {

enum class CallForm : std::uint8_t { blocking, nonblocking, persistent };

struct CallDescription {
    static constexpr int no_root = -1;
    // Longer names are cut.
    static constexpr std::size_t most_name = 31;
    using Name = std::array<char, most_name + 1>;

    Collective collective = Collective::bcast;
    CallForm form = CallForm::blocking;
    bool in_place = false;  // where ranks have to agree on that
    int root = no_root;
    std::uint64_t bytes = 0;  // of the signature: the message, or one block
    // Of the rank's own block, where that is described twice and not alike: what the other side says.
    std::optional<std::uint64_t> other_bytes{};
    Name operation{};  // its name; "" where there is none
    Name type{};       // the same of a reduction's type

    void set_operation(std::string_view name) { set(operation, name); }
    void set_type(std::string_view name) { set(type, name); }

private:
    static void set(Name& name, std::string_view text);
};

std::string function_name(Collective collective, CallForm form);
// What all ranks have to say alike, whatever their types and lengths are: "MPI_Reduce of MPI_SUM, root 0".
std::string call_kind(const CallDescription& call);
// As in "MPI_Reduce of MPI_SUM, root 0, 400 bytes of MPI_INT".
std::string call_text(const CallDescription& call);

// What one rank tells the others before a call, as words that they send to one another.
struct ToldCall {
    CallDescription call{};
    std::uint64_t number = 0;  // of the call on the communicator, from 1 on
    int world_rank = 0;        // who says it

    static constexpr std::size_t words = 13;
    using Words = std::array<std::uint64_t, words>;
    Words to_words() const;
    static ToldCall of(const Words& from);
};
// The same of what the library has decided that the call runs.
struct ToldDecision {
    std::string what;  // its end may be cut
    int world_rank = 0;

    static constexpr std::size_t words = 13;
    using Words = std::array<std::uint64_t, words>;
    Words to_words() const;
    static ToldDecision of(const Words& from);
};
static_assert(ToldCall::words == ToldDecision::words);

// An algorithm with its parameters, without the levels of a split tree that calling ranks run: each rank chooses those by the cores that it has.
std::string without_split(std::string_view what);

// Do all ranks say the same, but for who they are?
bool are_alike(std::span<const ToldCall::Words> of_ranks);
// Is what each of them sends, of calls, what it receives?
bool have_alike_sides(std::span<const ToldCall::Words> of_ranks);

// What is said, by whom: those that say the same come together, most first. "ranks 0-3: MPI_Bcast, root 0, 400 bytes; rank 4: ...".
struct Said {
    int world_rank;
    std::string text;
};
std::string groups_text(std::vector<Said> said);
// "rank 4", "ranks 0-3, 7": unlike numbers_text (draw_placement.hpp), which tells all, of many ranges the first ones. `ranks` in ascending order.
std::string ranks_text(std::span<const int> ranks);
// "1st", "12th".
std::string ordinal_text(std::uint64_t number);

// One sentence on calls that are not alike. `communicator`: what it is called.
std::string different_calls_text(std::span<const ToldCall::Words> of_ranks, std::string_view communicator);
std::string different_decisions_text(std::span<const ToldDecision::Words> of_ranks, std::string_view call);

}  // namespace hcoll
