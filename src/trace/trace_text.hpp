// SPDX-License-Identifier: BSD-3-Clause
// What a process has noted, as a text in the trace event format (JSON), which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
//   process       a rank of MPI_COMM_WORLD
//   thread 0..    what the application's threads are in: collectives, and functions that all ranks come to
//   thread 1000.. steps of plans and waits for flags, in as many rows as are under way at a time
//   otherData     who this rank is, and how much has had to give way
//
// Times are microseconds since the job's MPI_Init, on the clock that the ranks have in common. Format: Trace Event Format (Google, 2016).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/trace_record.hpp"

namespace hcoll {

inline constexpr int first_lane_of_steps = 1000;

// In pieces, of which no two are in memory at a time. May throw std::bad_alloc.
void write_trace_text(const TraceView& view, const std::function<void(std::string_view)>& write);
std::string trace_text(const TraceView& view);

}  // namespace hcoll
