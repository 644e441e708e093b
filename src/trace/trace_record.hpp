// SPDX-License-Identifier: BSD-3-Clause
// What a process notes of its collectives while it runs (LIBHCOLL_TRACE), as it lies in memory and in a file: a header, a table of communicators, texts, and a
// ring of records. Without MPI.
//
//   | header | communicators | texts | record 1 | record 2 | ...     ring: record n lies at (n - 1) modulo their number
//
// The memory is the file: what a process has noted is there when it is killed, too.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hcoll {

enum class TraceKind : std::uint8_t {
    none,
    call,      // a collective of the application, from its begin to its return
    function,  // another function of MPI that all ranks come to
    run,       // what a collective that does not block runs, from its first step to its last
    send,
    recv,
    reduce,
    copy,
    leaders,  // the MPI library's own collective among the nodes' leaders
    wait,     // for a flag of another rank, in shared memory
};
inline constexpr std::size_t trace_kind_count = 10;
inline constexpr std::string_view trace_kind_names[trace_kind_count] = {
    "none", "collective", "function", "run", "send", "recv", "reduce", "copy", "leaders", "wait"};

// The offset of a text in the texts; 0 is none.
using TraceText = std::uint16_t;

struct TraceRecord {
    std::uint64_t begin = 0;   // in nanoseconds of the process's clock
    std::uint64_t end = 0;     // 0: it is not over
    std::uint64_t number = 0;  // of the collective on its communicator, from 1 on; 0: it is of none
    std::uint64_t bytes = 0;   // of the call's signature, or of the step
    std::int32_t peer = -1;    // in the communicator: a call's root, or who a step sends to, receives from or waits for
    std::uint32_t step = 0;    // of the plan, from 0 on; 0 as well where it has none
    std::uint32_t segment = 0;
    std::uint32_t tag = 0;  // of a message
    std::uint16_t communicator = 0;
    TraceText name = 0;  // what a call runs, or what a function is called
    TraceText operation = 0;
    TraceText type = 0;
    TraceKind kind = TraceKind::none;
    std::uint8_t thread = 0;
    std::uint8_t collective = 0;  // hcoll::Collective
    std::uint8_t form = 0;        // hcoll::CallForm
    std::uint32_t reserved = 0;
};
static_assert(sizeof(TraceRecord) == 64, "a cache line");

// One of the last communicators: its place may have been another one's, of which records from before `since` are.
struct TraceCommunicator {
    std::uint64_t key = 0;    // the same on all its ranks
    std::uint64_t since = 0;  // so many records had been begun
    std::int32_t rank = 0;
    std::int32_t size = 0;
    TraceText name = 0;
    std::array<std::uint16_t, 3> reserved{};
};

// From the process's clock to the one that all ranks have in common: what that one showed then.
struct TraceClock {
    std::uint64_t process = 0;
    std::uint64_t common = 0;
};
// At two times; between them clocks are taken to drift apart evenly, before and after them by what was seen.
struct TraceClocks {
    std::array<TraceClock, 2> seen{};
    std::uint32_t count = 0;

    // The latest one takes the place of that before, where there are two.
    void add(const TraceClock& clock);
    std::uint64_t common(std::uint64_t process_time) const;
};

struct TraceHeader {
    static constexpr std::array<char, 8> right_magic = {'h', 'c', 'o', 'l', 'l', 't', 'r', '1'};
    static constexpr std::size_t most_communicators = 512;
    static constexpr std::size_t text_bytes = 1U << 16U;

    std::array<char, 8> magic = right_magic;
    std::uint64_t job = 0;       // the same on all its ranks, and of no other job
    std::uint64_t started = 0;   // in seconds since 1970
    std::uint64_t origin = 0;    // of the common clock: where the trace begins
    std::uint64_t capacity = 0;  // records that there is room for
    std::uint64_t written = 0;   // that were ever begun
    std::int32_t rank = 0;       // in MPI_COMM_WORLD, as are the ranks below
    std::int32_t ranks = 1;
    std::int32_t node = 0;
    std::int32_t socket = -1;
    std::uint32_t communicators = 0;
    std::uint32_t texts = 1;  // bytes in use
    TraceClocks clocks;       // in MPI_Init, and in MPI_Finalize
    std::array<char, 64> host{};
    std::array<char, 128> library{};
};

// All of it, wherever it lies.
struct TraceView {
    const TraceHeader& header;
    std::span<const TraceCommunicator> communicators;
    std::span<const char> texts;
    std::span<const TraceRecord> ring;

    // Any record may hold any number: the process may have been killed while it wrote.
    std::string_view text(TraceText offset) const;
    // In nanoseconds since the origin, of all ranks alike; not more than some centuries.
    std::int64_t time(std::uint64_t process_time) const;
    // Those that there are: their numbers, from 1 on, the oldest first.
    std::uint64_t first() const { return overwritten() + 1; }
    std::uint64_t last() const { return header.written; }
    const TraceRecord& record(std::uint64_t number) const { return ring[(number - 1) % ring.size()]; }
    bool is_one(const TraceRecord& record) const {
        return record.kind != TraceKind::none && static_cast<std::size_t>(record.kind) < trace_kind_count;
    }
    // nullptr where it is not known any more.
    const TraceCommunicator* communicator_of(std::uint64_t number) const;
    std::uint64_t overwritten() const;
};

// Of the bytes of a file; nullptr where they are none. What is wrong otherwise is kept from doing harm. Aligned as TraceHeader is.
struct TraceLayout {
    static constexpr std::size_t communicators_at = (sizeof(TraceHeader) + 63) / 64 * 64;
    static constexpr std::size_t texts_at =
        communicators_at + TraceHeader::most_communicators * sizeof(TraceCommunicator);
    static constexpr std::size_t records_at = texts_at + TraceHeader::text_bytes;

    static constexpr std::size_t bytes(std::uint64_t records) { return records_at + records * sizeof(TraceRecord); }
    static bool is_one(std::span<const std::byte> bytes);
    // Of bytes that are one.
    static TraceView view(std::span<const std::byte> bytes);
};
static_assert(TraceLayout::records_at % 64 == 0);

}  // namespace hcoll
