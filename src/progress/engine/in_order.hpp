// Runs a short plan without an engine: its steps one after another, each to its end (Plan::sequence).
//
// A message of a few bytes takes as long as the instructions around it, and an engine's are more than those of the whole call in an
// MPI library. Where there is one segment, nothing can overlap but the latencies of messages, and those of sends do: a send is only
// begun as long as something is to be received later, and the memory of one that is under way is written by no step before it is over.
//
// No rank waits here for one that waits for it, however little the transport buffers: a test runs all algorithms so, with sends
// that end only when their receivers have come to them (test/plans/test_in_order.cpp).
#pragma once

#include "progress/engine/engine.hpp"

namespace hcoll {

// Longer messages, of so many bytes in all, gain by an engine, or may have to wait for each other.
inline constexpr std::uint64_t longest_in_order = 1024;
// More of them, up to the last receive, could fill what a transport has for messages that nobody has come to yet.
inline constexpr std::uint32_t most_steps_in_order = 32;

// The plan has a sequence. Returns when this rank's part is over, or with what went wrong.
Status run_in_order(const Plan& plan, const RunBuffers& buffers, Transport& transport, LocalOperations& operations);

}  // namespace hcoll
