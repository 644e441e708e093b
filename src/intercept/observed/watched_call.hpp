// A call of the application as the process's WatchRecord has it (LIBHCOLL_WATCHDOG), and how watching begins.
#pragma once

#include <string_view>

#include "base/wait_note.hpp"
#include "intercept/communicator/communicator.hpp"
#include "watch/call_description.hpp"
#include "watch/watch_record.hpp"

namespace hcoll {

// In MPI_Init, on all ranks of MPI_COMM_WORLD: ranks tell one another where they can be asked, and a thread of each waits for that. The same answer on all
// ranks: false where nobody watches, which rank 0 says.
bool start_watch(const Settings& settings);

// While it exists, this thread is in that call. Only where a process watches.
class WatchedCall {
public:
    WatchedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number);
    WatchedCall(const char* function, bool may_wait_for_collectives);
    ~WatchedCall();
    WatchedCall(const WatchedCall&) = delete;
    WatchedCall& operator=(const WatchedCall&) = delete;

    void decide(std::string_view what) { WatchRecord::get()->decide(slot_, what); }
    // It was an error of this rank alone.
    void make_void() { is_void_ = true; }

private:
    int slot_ = WatchRecord::no_slot;
    WaitNote* outer_;
    bool is_void_ = false;
};

}  // namespace hcoll
