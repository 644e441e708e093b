// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/watched_call.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "intercept/observed/same_call.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "intercept/process/world_ranks.hpp"
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
    if (has_ranks_of_world(comm)) return mine;
    std::vector<int> members(mine.size(), -1);
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    if (mpi.Comm_group(comm, &group) == MPI_SUCCESS && mpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS)
        mpi.Group_translate_ranks(group, size, mine.data(), world, members.data());
    if (group != MPI_GROUP_NULL) mpi.Group_free(&group);
    if (world != MPI_GROUP_NULL) mpi.Group_free(&world);
    return members;
}

std::uint64_t key_of(MPI_Request request) {
    std::uint64_t key = 0;
    static_assert(sizeof request <= sizeof key);
    std::memcpy(&key, &request, sizeof request);
    return key;
}

void set_known(Communicator& communicator, int number) {
    communicator.set_watched_as(number);
    communicator.set_record_key(WatchRecord::get()->key(number));
}

// A name that goes into another one: of duplicates of duplicates it would grow and grow.
std::string shortened(std::string name) {
    constexpr std::size_t most = 100;
    if (name.size() > most) name = name.substr(0, most) + "...";
    return name;
}

// In one piece: no line of another rank comes between.
void say(std::string_view text) { log_line(LogLevel::error, "LIBHCOLL_WATCHDOG: {}", text); }

}  // namespace

int known_to_record(Communicator& communicator) {
    if (communicator.watched_as() == WatchRecord::unknown) {
        // The world's number is its own, whenever it is used first.
        const std::uint64_t birth = communicator.handle() == MPI_COMM_WORLD ? 1 : 0;
        set_known(communicator,
                  WatchRecord::get()->know(communicator_text(communicator.handle()),
                                           members_of(communicator.handle(), communicator.size()), birth));
    }
    return communicator.watched_as();
}

WatchedCall::WatchedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number) {
    // Without it the call goes on unseen.
    (void)has_memory_for([&] { slot_ = WatchRecord::get()->begin(known_to_record(communicator), call, number); });
    outer_ = WaitNote::change(WatchRecord::get()->note(slot_));
}

WatchedCall::WatchedCall(const char* function, bool counts)
    : slot_(WatchRecord::get()->begin(function, counts)), outer_(WaitNote::change(WatchRecord::get()->note(slot_))) {}

WatchedCall::~WatchedCall() {
    WaitNote::change(outer_);
    WatchRecord::get()->end(slot_, is_void_);
}

void WatchedCall::add_request(MPI_Request request) {
    if (request != MPI_REQUEST_NULL) WatchRecord::get()->add_request(slot_, key_of(request));
}

WatchedRequests::WatchedRequests(const char* function, std::span<MPI_Request> requests) : requests_(requests) {
    WatchRecord& record = *WatchRecord::get();
    std::array<std::uint64_t, WatchRecord::most_requests> known;
    std::array<std::uint64_t, WatchRecord::most_requests> waited;
    const auto end =
        known.begin() + static_cast<std::ptrdiff_t>(record.has_requests() ? record.find_requests(known) : 0);
    for (std::size_t i = 0; i < requests.size() && end != known.begin() && count_ < waited.size(); ++i) {
        const std::uint64_t key = key_of(requests[i]);
        if (!std::binary_search(known.begin(), end, key)) continue;
        waited[count_] = key;
        waited_[count_++] = {.index = i, .request = key};
    }
    slot_ = record.begin_wait(function, std::span(waited).first(count_));
}

WatchedRequests::~WatchedRequests() {
    WatchRecord& record = *WatchRecord::get();
    for (std::size_t i = 0; i < count_; ++i)
        if (requests_[waited_[i].index] == MPI_REQUEST_NULL) record.remove_request(waited_[i].request);
    record.end(slot_);
}

void note_birth(MPI_Comm parent, MPI_Comm made, bool by_all) {
    (void)has_memory_for([&] {
        Communicator* from = Communicator::know(parent);
        if (from == nullptr) return;
        // All its ranks make its communicators in the same order. Of what some of them make only these know.
        const std::uint64_t number = by_all ? from->count_made() : 0;
        Communicator* born = made == MPI_COMM_NULL ? nullptr : Communicator::know(made);
        if (born == nullptr) return;
        WatchRecord& record = *WatchRecord::get();
        const int of = known_to_record(*from);
        std::string name = communicator_text(made);
        if (by_all) name += fmt::format(" (the {} made of {})", ordinal_text(number), shortened(record.name(of)));
        set_known(*born, record.know(std::move(name), members_of(made, born->size()),
                                     by_all ? record.key(of) * 31 + number : 0));
    });
}

bool start_record(const Settings& settings) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const bool has_memory = has_memory_for(
        [&] { WatchRecord::make(Process::get().world_rank(), host.data(), settings.watchdog.duration); });
    return !is_true_anywhere(!has_memory, MPI_COMM_WORLD);
}

bool start_watch(const Settings& settings) {
    const int rank = Process::get().world_rank();
    int size = 1;
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    std::unique_ptr<WatchSockets> sockets;
    std::vector<WatchAddress> all;
    bool is_well = has_memory_for([&] {
        sockets = std::make_unique<WatchSockets>();
        all.resize(static_cast<std::size_t>(size));
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
            sockets->meet(std::move(all), rank);
            try {
                watcher = new Watcher({.rank = rank, .limit = settings.watchdog.duration, .say = say},
                                      *WatchRecord::get(), *sockets);
                process_of_watcher = getpid();
            } catch (const std::system_error&) {
                // Its port is open: the others say that it does not answer.
            }
            (void)sockets.release();
        });
    }
    if (!is_true_anywhere(!is_well, MPI_COMM_WORLD)) {
        WatchRecord::get()->note_calls();
        return true;
    }
    if (rank == 0) log_line(LogLevel::warn, "LIBHCOLL_WATCHDOG: nobody watches, since a rank has no memory for it");
    return false;
}

}  // namespace hcoll
