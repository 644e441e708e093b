// SPDX-License-Identifier: BSD-3-Clause
// What one rank has traced, as read from its file: a text (trace_text.hpp), or what a process that did not end by itself has left (trace_record.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace_record.hpp"
#include "watch/call_description.hpp"

namespace hcoll {

// Times are nanoseconds since the job's MPI_Init, on the common clock.
struct TracedSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // the last time that is in the file, where it is not over
    bool is_over = true;
};

struct TracedStepEvent {
    TraceKind kind = TraceKind::none;
    TracedSpan span;
    int peer = -1;  // in the communicator
    std::uint32_t step = 0;
    std::uint32_t segment = 0;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0;
};

struct TracedCollective {
    std::uint64_t key = 0;  // of the communicator
    std::uint64_t number = 0;
    Collective collective = Collective::bcast;
    CallForm form = CallForm::blocking;
    std::string communicator;
    int rank = 0;   // there
    int size = 0;   // of it
    int root = -1;  // -1: it has none
    std::uint64_t bytes = 0;
    std::string operation;
    std::string type;
    std::string runs;
    TracedSpan span;
    std::vector<TracedSpan> in_background;  // runs of what does not block
    std::vector<TracedStepEvent> steps;     // by begin
};

struct RankTrace {
    std::uint64_t job = 0;
    std::uint64_t started = 0;
    int rank = 0;
    int ranks = 1;
    int node = 0;
    int socket = -1;
    int clocks = 0;
    std::string host;
    std::string mpi_library;
    std::uint64_t overwritten = 0;
    std::uint64_t left_out = 0;           // steps and runs of calls whose records have given way
    std::uint64_t calls_left_out = 0;     // on communicators that have given way to others
    std::string file;                     // that it was read from
    std::vector<TracedCollective> calls;  // by begin
};

// What is wrong, in `problem`, where there is none. Steps of calls that are not there any more are left out.
std::optional<RankTrace> read_trace(std::string_view text, std::string& problem);

// A folder of LIBHCOLL_TRACE: the ranks of its last job, or of the one of that number.
struct TraceFolder {
    std::vector<RankTrace> ranks;       // in order
    std::vector<std::string> problems;  // of files that cannot be read, or are of other jobs
};
// May throw std::runtime_error where there is no such folder.
TraceFolder read_trace_folder(const std::string& folder, std::optional<std::uint64_t> job = std::nullopt);
// The text of a file of either kind; empty where it is neither, or cannot be read.
std::string trace_text_of_file(const std::string& path);

}  // namespace hcoll
