// SPDX-License-Identifier: BSD-3-Clause
// A call of the application as the process's WatchRecord has it (LIBHCOLL_WATCHDOG), and how watching begins.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/wait_note.hpp"
#include "intercept/communicator/communicator.hpp"
#include "watch/call_description.hpp"
#include "watch/watch_record.hpp"

namespace hcoll {

// In MPI_Init, on all ranks of MPI_COMM_WORLD, once: the process's WatchRecord is there, and knows communicators. The same answer on all; false where there is no memory for it.
bool start_record(const Settings& settings);

// In MPI_Init, on all ranks of MPI_COMM_WORLD, which have a record: ranks tell one another where they can be asked, and a thread of each waits for that. The same answer on all
// ranks: false where nobody watches, which rank 0 says.
bool start_watch(const Settings& settings);

// By which number the record knows it. May throw std::bad_alloc.
int known_to_record(Communicator& communicator);

// While it exists, this thread is in that call. Only where a process watches; where there is no memory for it, it is not seen.
class WatchedCall {
public:
    WatchedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number);
    // `counts`: it is told of when it takes too long.
    WatchedCall(const char* function, bool counts);
    ~WatchedCall();
    WatchedCall(const WatchedCall&) = delete;
    WatchedCall& operator=(const WatchedCall&) = delete;

    void decide(std::string_view what) { WatchRecord::get()->decide(slot_, what); }
    void add_request(MPI_Request request);
    // It was an error of this rank alone.
    void make_void() { is_void_ = true; }

private:
    int slot_ = WatchRecord::no_slot;
    WaitNote* outer_ = nullptr;
    bool is_void_ = false;
};

// A call that waits for requests, or asks for them. Where none of a collective is under way, it is a call like others.
class WatchedRequests {
public:
    WatchedRequests(const char* function, std::span<MPI_Request> requests);
    ~WatchedRequests();
    WatchedRequests(const WatchedRequests&) = delete;
    WatchedRequests& operator=(const WatchedRequests&) = delete;

private:
    struct Waited {
        std::size_t index;
        std::uint64_t request;
    };
    std::span<MPI_Request> requests_;
    std::array<Waited, WatchRecord::most_requests> waited_;  // of collectives
    std::size_t count_ = 0;
    int slot_ = WatchRecord::no_slot;
};

// `made` was made of `parent`, by all of its ranks or some; MPI_COMM_NULL on those that are not in it.
void note_birth(MPI_Comm parent, MPI_Comm made, bool by_all);

}  // namespace hcoll
