// SPDX-License-Identifier: BSD-3-Clause
// A shared segment handed from its creator to those that may not open it by the creator's /proc entry: ranks in user namespaces of their own
// (a container for each rank, as Apptainer makes them for ordinary users), or in PID namespaces of their own.
//
// The creator listens at a socket that has no file (an abstract name, which goes with the process): nothing can be left behind. Others have to
// be in its network namespace, and to be the same user. The kernel passes the segment's descriptor (SCM_RIGHTS).
//
//   creator:  SegmentOffer::open       ---- told over MPI --->  other:
//                                      <--- told over MPI ----         HandedSegment::connect
//             SegmentOffer::hand_over  ---- told over MPI --->
//                                                                      HandedSegment::take
#pragma once

#include "progress/node/shared_segment.hpp"

namespace hcoll {

// Functions return 0 or an errno. None waits for another process.
class SegmentOffer {
public:
    SegmentOffer() = default;
    SegmentOffer(const SegmentOffer&) = delete;
    SegmentOffer& operator=(const SegmentOffer&) = delete;
    ~SegmentOffer();

    // `segment` is to outlive it, with its descriptor.
    int open(const SharedSegment& segment);
    // To one that has connected.
    int hand_over();

private:
    const SharedSegment* segment_ = nullptr;
    int socket_ = -1;
};

class HandedSegment {
public:
    HandedSegment() = default;
    HandedSegment(const HandedSegment&) = delete;
    HandedSegment& operator=(const HandedSegment&) = delete;
    ~HandedSegment();

    // To the offer of the segment that has this address.
    int connect(const SegmentAddress& address);
    // Once it was handed over.
    int take(SharedSegment& segment);

private:
    SegmentAddress address_;
    int socket_ = -1;
};

}  // namespace hcoll
