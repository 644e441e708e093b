// SPDX-License-Identifier: BSD-3-Clause
// What a program asks one communicator's calls to run, by keys of MPI_Comm_set_info:
//
//   libhcoll_<call> = a choice as LIBHCOLL_<CALL> takes it (libhcoll_bcast = chain:segment=64k), or auto
//
// It goes before settings, tables and rules, and holds until the same key says otherwise: auto takes it back. MPI wants what an
// implementation uses to be the same on all processes (MPI 4.0, section 7.4.4); where it is not, nothing changes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "intercept/communicator/own_algorithms.hpp"

namespace hcoll {

// By call: blocking collectives, then non-blocking ones.
class ChosenCalls {
public:
    // What is wrong with a key or its value becomes a sentence, and the key counts as if it were not there.
    static ChosenCalls of(MPI_Info info, std::vector<std::string>& mistakes);
    // Is there any key of the library's, right or wrong?
    static bool are_in(MPI_Info info);
    bool is_empty() const;
    // What was asked for later, on top of this.
    void add(const ChosenCalls& later);
    // Tells one from another, of those that of() gives. May throw std::bad_alloc.
    std::uint64_t hash() const;
    // Are there non-blocking ones of this library's algorithms, which something has to move?
    bool wants_progress() const;
    // `own` is what they run on, and `has_progress` says whether every rank moves what does not block: what cannot run is named and left as `usual` has it.
    std::shared_ptr<const CallDecisions> over(const CallDecisions& usual, const OwnAlgorithms& own, bool has_progress,
                                              std::vector<std::string>& mistakes) const;

private:
    // None, or automatic: not asked for.
    std::array<std::optional<AlgorithmChoice>, collective_count> blocking_;
    std::array<std::optional<AlgorithmChoice>, nonblocking_count> nonblocking_;
};

}  // namespace hcoll
