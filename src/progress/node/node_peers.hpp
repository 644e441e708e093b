// SPDX-License-Identifier: BSD-3-Clause
// The processes that share a segment: do they still live, and has one of them given up?
//
// Who cannot go on (a process of the node is gone, a peer's message has another length, an exception of the application passes
// through) writes the reason into a word of the segment, which never changes again. Whoever waits long looks at that word, and
// now and then whether the others' processes are still there; so no rank waits for ever for one that will not come.
//
//   segment   | reason | rank 0: process, when this was written, namespaces | rank 1: ... |
//
// There are no false alarms: a rank judges only processes whose number means the same to both (PID namespaces) and in /proc, and a number
// that was given to another process by when that one began: later than this was written. What a process reads of itself does not
// count, since emulators of another processor make it up. Nothing is held open for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "progress/engine/engine.hpp"

namespace hcoll {

// Why nothing goes on.
enum class NodeBreak : std::uint32_t { none, lengths, process, unwound, vendor, revoked };

// What leaves a collective of a node that cannot go on. Nothing else may run over the segment afterwards.
struct NodeFailure {
    NodeBreak why;
    Status status;  // the vendor's, where it was this rank's that failed; otherwise 0
};

// Used by one thread of each rank at a time.
class NodePeers {
public:
    static std::size_t segment_bytes(int ranks);
    // `base` is zeroed memory of segment_bytes(ranks) bytes, aligned to a cache line, that all ranks share.
    NodePeers(std::byte* base, int ranks, int rank);
    // From now on nobody misses this rank's process.
    ~NodePeers();
    NodePeers(const NodePeers&) = delete;
    NodePeers& operator=(const NodePeers&) = delete;

    // The first reason that anybody gave.
    NodeBreak why_broken() const;
    // Tells the others; the first reason stays.
    void give_up(NodeBreak why);
    // Looks at the reason and, when the last time is long enough ago, at the processes: cheap enough to be called again and
    // again by who waits.
    NodeBreak look();
    // Has that rank's process ended, for all that can be seen?
    bool is_gone(int rank) const;

private:
    struct Identity;
    Identity& identity(int rank) const;

    std::byte* base_;
    int ranks_;
    int rank_;
    std::int64_t next_look_ = 0;  // in nanoseconds
};

}  // namespace hcoll
