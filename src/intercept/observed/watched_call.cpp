#include "intercept/observed/watched_call.hpp"

#include <unistd.h>

#include <array>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "intercept/observed/same_call.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "watch/watcher.hpp"

namespace hcoll {

namespace {

// Ended with the process, not with MPI: a rank that others wait for may be on its way out.
Watcher* watcher = nullptr;
pid_t process_of_watcher = 0;

__attribute__((destructor)) void end_watch() {
    if (process_of_watcher == getpid()) delete std::exchange(watcher, nullptr);
}

// Its ranks in MPI_COMM_WORLD, in whose processes it lies.
std::vector<int> members_of(MPI_Comm comm, int size) {
    std::vector<int> mine(static_cast<std::size_t>(size));
    std::iota(mine.begin(), mine.end(), 0);
    int result = MPI_UNEQUAL;
    if (mpi.Comm_compare(comm, MPI_COMM_WORLD, &result) == MPI_SUCCESS &&
        (result == MPI_IDENT || result == MPI_CONGRUENT))
        return mine;
    std::vector<int> members(mine.size(), -1);
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    if (mpi.Comm_group(comm, &group) == MPI_SUCCESS && mpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS)
        mpi.Group_translate_ranks(group, size, mine.data(), world, members.data());
    if (group != MPI_GROUP_NULL) mpi.Group_free(&group);
    if (world != MPI_GROUP_NULL) mpi.Group_free(&world);
    return members;
}

int known(Communicator& communicator) {
    if (communicator.watched_as() == WatchRecord::unknown)
        communicator.set_watched_as(WatchRecord::get()->know(communicator_text(communicator.handle()),
                                                             members_of(communicator.handle(), communicator.size())));
    return communicator.watched_as();
}

// A launcher's lines are not to be mixed with these.
void say(std::string_view text) { log_line(LogLevel::error, "LIBHCOLL_WATCHDOG: {}", text); }

}  // namespace

WatchedCall::WatchedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number)
    : slot_(WatchRecord::get()->begin(known(communicator), call, number)),
      outer_(WaitNote::change(WatchRecord::get()->note(slot_))) {}

WatchedCall::WatchedCall(const char* function, bool may_wait_for_collectives)
    : slot_(WatchRecord::get()->begin(function, may_wait_for_collectives)),
      outer_(WaitNote::change(WatchRecord::get()->note(slot_))) {}

WatchedCall::~WatchedCall() {
    WaitNote::change(outer_);
    WatchRecord::get()->end(slot_, is_void_);
}

bool start_watch(const Settings& settings) {
    const int rank = Process::get().world_rank();
    if (settings.sparse) {
        if (rank == 0)
            log_line(LogLevel::warn,
                     "LIBHCOLL_WATCHDOG: nobody watches, since LIBHCOLL_SPARSE=1 has ranks keep to their neighbors");
        return false;
    }
    int size = 1;
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    std::unique_ptr<WatchSockets> sockets;
    std::vector<WatchAddress> all;
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    bool is_well = has_memory_for([&] {
        sockets = std::make_unique<WatchSockets>();
        all.resize(static_cast<std::size_t>(size));
        WatchRecord::make(rank, host.data());
    });
    is_well = !is_true_anywhere(!is_well, MPI_COMM_WORLD);
    constexpr auto bytes = static_cast<int>(sizeof(WatchAddress));
    if (is_well)
        is_well = mpi.Allgather(&sockets->address(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD) ==
                  MPI_SUCCESS;
    if (is_well && rank == 0) {
        const auto deaf =
            std::count_if(all.begin(), all.end(), [](const WatchAddress& each) { return each.port == 0; });
        if (deaf > 0)
            log_line(LogLevel::warn, "LIBHCOLL_WATCHDOG: {} of {} ranks cannot open a port, and cannot be asked", deaf,
                     size);
    }
    if (is_well) {
        is_well = has_memory_for([&] {
            sockets->meet(std::move(all), {});
            try {
                watcher = new Watcher({.rank = rank, .limit = settings.watchdog.duration, .say = say},
                                      *WatchRecord::get(), std::move(sockets));
                process_of_watcher = getpid();
            } catch (const std::system_error&) {
                // The others say that it does not answer.
            }
        });
    }
    if (!is_true_anywhere(!is_well, MPI_COMM_WORLD)) return true;
    if (rank == 0) log_line(LogLevel::warn, "LIBHCOLL_WATCHDOG: nobody watches, since a rank has no memory for it");
    return false;
}

}  // namespace hcoll
