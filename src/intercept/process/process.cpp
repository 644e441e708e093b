// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/process.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/file_limit.hpp"
#include "base/hash.hpp"
#include "intercept/process/abort_job.hpp"
#include "intercept/process/attributes.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/call_observer.hpp"
#include "intercept/process/device_memory.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "progress/engine/simulation.hpp"
#include "tuning/find_table.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text.hpp"

namespace hcoll {

PerProcess<Process*> Process::instance_;

namespace {

// Where ranks have different builds: what one of them takes for agreed the other one may not know. Everything is the MPI library's.
std::shared_ptr<const AgreedSettings> of_several_builds() {
    Settings settings;
    settings.enable = false;
    AgreedSettings agreed{.settings = settings, .text = "several builds"};
    agreed.hash = fnv1a(agreed.text);
    agreed.why_disabled = "ranks have libhcoll of different builds";
    return std::make_shared<const AgreedSettings>(std::move(agreed));
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, the last one set first: whatever the
// application does in hooks of its own is done before this one, and MPI still works in it (MPI 4.0, section 11.2.4).
int on_finalize(MPI_Comm, int, void*, void*) {
    Process::get().finish();
    return MPI_SUCCESS;
}

// A process whose MPI was used through sessions alone has no MPI_COMM_SELF, and one that calls exit without finalizing
// never gets there: both still want their report.
__attribute__((destructor)) void on_exit() {
    if (Process::is_open()) Process::get().finish_at_exit();
}

// Beside the folder that this library is in, as it was installed.
std::string folder_of_tables() {
    Dl_info library{};
    if (dladdr(reinterpret_cast<const void*>(&on_finalize), &library) == 0 || library.dli_fname == nullptr) return {};
    std::error_code error;
    const std::filesystem::path here = std::filesystem::absolute(library.dli_fname, error);
    return error ? std::string() : (here.parent_path() / HCOLL_TABLES).lexically_normal().string();
}

}  // namespace

std::shared_ptr<const AgreedSettings> Process::make_agreed(const Settings& settings) const {
    auto agreed = std::make_shared<AgreedSettings>();
    agreed->settings = settings;
    agreed->text = build_ + '\n' + agreed_text(settings);
    agreed->hash = fnv1a(agreed->text);
    return agreed;
}

bool Process::adopt(std::string_view text, std::shared_ptr<const AgreedSettings>& agreed) const {
    if (text == agreed->text) return true;
    const std::size_t end = std::min(text.find('\n'), text.size());
    Settings settings = agreed->settings;
    adopt_agreed_text(text.substr(std::min(end + 1, text.size())), settings);
    agreed = make_agreed(settings);
    return text.substr(0, end) == build_;
}

void Process::open(const Opening& opening) { instance_.get() = new Process(opening); }

Process::Process(const Opening& opening)
    : library_line_(split(opening.version_text, '\n').front().substr(0, 100)),
      stand_aside_(opening.stand_aside),
      observe_calls_(opening.observe_calls),
      finish_observing_(opening.finish_observing),
      release_communicators_(opening.release_communicators),
      build_(opening.build),
      process_id_(getpid()),
      local_(parse_settings(hcoll_environment(), warnings_)) {
    // Where the job was started, not where the application goes from there.
    if (local_.report.ends_with(".json")) make_absolute(local_.report);
    if (local_.traces()) make_absolute(local_.trace_folder);
    if (local_.learn_file != "off") make_absolute(learn_path_ = local_.learn_file);
    std::error_code error;
    started_in_ = std::filesystem::current_path(error).string();
    publish(make_agreed(local_));
    for (char& letter : library_line_)
        if (letter == '\t') letter = ' ';
    Background::open(local_);
    DeviceMemory::open(is_simulated ? GpuUse::off : local_.gpu);
    set_log_level(local_.log);
    if (local_.report != "0") report_ = std::make_unique<Report>();
    notes_calls_ = report_ != nullptr;
}

// Of a process whose folder is gone it stays as it is, and fails where it is used.
void Process::make_absolute(std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (error)
        warnings_.push_back(
            fmt::format("{} is below the working directory, which cannot be told: {}", path, error.message()));
    else
        path = absolute.string();
}

void Process::publish(std::shared_ptr<const AgreedSettings> agreed) {
    const std::lock_guard lock(mutex_);
    agreed_.store(&every_agreed_.emplace_back(std::move(agreed)), std::memory_order_release);
}

// A file that all ranks were to read would be read by all of them at once.
void Process::read_table() {
    const std::lock_guard lock(reading_table_);
    if (std::exchange(has_looked_for_table_, true) || !agreed()->settings.enable) return;
    std::vector<std::string> mistakes;
    const std::string folder = folder_of_tables();
    Settings settings = agreed()->settings;
    find_tables(settings, started_in_, folder, vendor_kind(), mistakes);
    if (report_ != nullptr) {
        std::string said;
        for (const auto& [table, what] : {std::pair{&settings.table, ""}, {&settings.learned, "learned: "}})
            if (*table != nullptr)
                said += fmt::format("{}{}{}, {} entries", said.empty() ? "" : "; ", what, (*table)->name,
                                    (*table)->entries.size());
        if (!said.empty() && !mistakes.empty()) said += "; what is wrong in it is not used";
        if (said.empty() && !mistakes.empty()) said = mistakes.front();
        if (!said.empty()) report_->set_table(std::move(said));
    }
    for (std::string& mistake : mistakes) add_warning(std::move(mistake));
    if (settings.table != nullptr || settings.learned != nullptr) publish(make_agreed(settings));
}

std::shared_ptr<const AgreedSettings> Process::agreed_with_table() {
    // Not while MPI_COMM_WORLD agrees: that may wait for a rank that waits for this one.
    if (!has_world()) read_table();
    return agreed();
}

void Process::note_session() {
    const std::lock_guard lock(agreeing_);
    has_sessions_ = true;
}

void Process::add_session(Session session) {
    const std::lock_guard lock(listing_sessions_);
    sessions_.push_back(session);
}

void Process::remove_session(Session session) {
    const std::lock_guard lock(listing_sessions_);
    std::erase(sessions_, session);
}

bool Process::find_started(MPI_Group& group) {
    if (mpi.Group_from_session_pset == nullptr) return false;
    const std::lock_guard lock(listing_sessions_);
    for (Session session : sessions_)
        if (mpi.Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS) return true;
    return false;
}

void Process::start_world(std::string warning) {
    std::unique_lock agreeing(agreeing_);
    add_warning(std::move(warning));
    int size = 1;
    int rank = 0;
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    world_rank_ = rank;
    note_communicator(rank, size);
    {
        const std::lock_guard lock(mutex_);  // of a session there may have been a larger one
        rank_ = rank;
        size_ = size;
    }
    set_finalize_hook();
    // A process that was spawned has met its parents.
    MPI_Comm parent = MPI_COMM_NULL;
    if (!is_simulated && (mpi.Comm_get_parent(&parent) != MPI_SUCCESS || parent != MPI_COMM_NULL)) note_joining();
    if (rank == 0) read_table();
    std::shared_ptr<const AgreedSettings> all = agreed();
    Found found{.has_sessions = has_sessions_};
    if (size > 1 && !spread_settings(rank, size, all, found)) return;
    has_earlier_sessions_ = found.has_sessions;
    if (found.other_build >= 0) {
        const auto without = std::exchange(all, of_several_builds());
        if (rank == 0) tell_who_does_not_observe(without->settings, true, std::string("since ") + all->why_disabled);
        add_warning(
            fmt::format("collectives stay with the MPI library: the libhcoll of rank {} is of another build than that "
                        "of rank 0; install the same on all nodes (hcoll-info --version says which it is)",
                        found.other_build));
    }
    publish(all);
    const Settings& settings = all->settings;
    print_warnings(rank == 0);
    if (settings.enable) Background::get().agree(settings.progress);
    if ((settings.enable || settings.traces() || settings.reports()) && !settings.sparse)
        placements_.start_world(rank, size, settings.topology);
    // Results and arguments are looked at all the same.
    if (rank == 0 && settings.sparse)
        tell_who_does_not_observe(settings, false, "since LIBHCOLL_SPARSE=1 has ranks keep to their neighbors");
    if (observe_calls_ != nullptr && settings.observes_calls()) {
        has_devices_anywhere_ = is_true_anywhere(DeviceMemory::has_devices(), MPI_COMM_WORLD);
        if (rank == 0 && settings.verify != 0 && has_devices_anywhere_)
            log_line(LogLevel::warn,
                     "LIBHCOLL_VERIFY: no result is looked at, since a rank's machine has a GPU, in whose memory "
                     "buffers may be; LIBHCOLL_GPU=off says that none is");
        notes_calls_ = true;
        CallObserver::expect();
        observe_calls_(settings);
    }
    has_world_ = true;
    agreeing.unlock();
    if (rank == 0 && log_enabled(LogLevel::info))
        log_line(LogLevel::info, "{} ranks, {}, {}", size, library_line_,
                 settings.enable ? "on" : fmt::format("off ({})", all->why_disabled));
}

int Process::broadcast_settings(MPI_Comm communicator, int rank, std::shared_ptr<const AgreedSettings>& agreed) const {
    std::uint64_t length = agreed->text.size();
    int status = mpi.Bcast(&length, sizeof length, MPI_BYTE, 0, communicator);
    if (status != MPI_SUCCESS) return status;
    std::string text;
    bool has_memory = has_memory_for([&] {
        text = agreed->text;
        text.resize(length);
    });
    if (is_true_anywhere(!has_memory, communicator)) return MPI_ERR_NO_MEM;
    status = mpi.Bcast(text.data(), static_cast<int>(length), MPI_BYTE, 0, communicator);
    if (status != MPI_SUCCESS) return status;
    bool is_of_build = true;
    if (rank != 0) has_memory = has_memory_for([&] { is_of_build = adopt(text, agreed); });
    if (is_true_anywhere(!has_memory, communicator)) return MPI_ERR_NO_MEM;
    if (is_true_anywhere(!is_of_build, communicator)) {
        agreed = of_several_builds();
        static std::atomic<bool> has_said{false};
        if (rank == 0 && !has_said.exchange(true))
            log_line(LogLevel::warn, "collectives stay with the MPI library: {}; install the same on all nodes",
                     agreed->why_disabled);
    }
    return MPI_SUCCESS;
}

namespace {

// For how long a rank waits in MPI_Init before it says for whom.
constexpr std::chrono::seconds patience{10};
constexpr const char* telling = "settings are told";

// Where a message of ours is in MPI_COMM_WORLD, and from which of these ranks; -1 after an error. `says`: this rank tells whom it has waited for, since one
// that has no libhcoll never answers.
struct Awaited {
    std::array<int, 2> ranks;  // or twice the same
    int last;                  // of those for whom the first one speaks
};
int wait_for_any(const Awaited& awaited, int tag, bool says) {
    const auto until = std::chrono::steady_clock::now() + patience;
    for (std::size_t look = 0;; ++look) {
        const int source = awaited.ranks[look % 2];
        int is_there = 0;
        if (end_job_unless(mpi.Iprobe(source, tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE), telling) !=
            MPI_SUCCESS)
            return -1;
        if (is_there != 0) return source;
        if (look % 2 == 0) continue;
        sched_yield();
        if (!says || std::chrono::steady_clock::now() < until) continue;
        says = false;
        const int first = awaited.ranks[1];
        constexpr const char* why =
            "goes on waiting: every rank of a job needs the library, or none (are LD_PRELOAD and LIBHCOLL_MPI the same "
            "on all?)";
        if (first == awaited.last)
            log_line(LogLevel::warn, "MPI_Init has waited {} s for rank {}, and {}", patience.count(), first, why);
        else
            log_line(LogLevel::warn, "MPI_Init has waited {} s for ranks {} to {}, and {}", patience.count(), first,
                     awaited.last, why);
    }
}

}  // namespace

// Rank 0's settings to all of MPI_COMM_WORLD, in messages between two ranks: along a binomial tree, or, where ranks are to keep to
// their neighbors, from each to the next. Which of the two it is the settings say, so that a rank that does not have them yet
// listens to both of those that may have them for it. Nobody leaves before all have heard, which comes back to rank 0 the same way, and what it makes of that
// goes out again: no message of the application can come between.
bool Process::spread_settings(int rank, int size, std::shared_ptr<const AgreedSettings>& agreed, Found& found) const {
    // Simulated ranks cannot listen to two.
    if (is_simulated) return broadcast_settings(MPI_COMM_WORLD, rank, agreed) == MPI_SUCCESS;
    const int tag = tag_upper_bound(MPI_COMM_WORLD);
    const auto number = static_cast<unsigned int>(rank);
    const int lowest_bit = static_cast<int>(number & -number);
    const auto send = [&](const int& number_of, int to) {
        return end_job_unless(mpi.Send(&number_of, 1, MPI_INT, to, tag, MPI_COMM_WORLD), telling) == MPI_SUCCESS;
    };
    const auto recv = [&](void* data, std::size_t bytes, int from) {
        return end_job_unless(
                   mpi.Recv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                   telling) == MPI_SUCCESS;
    };
    const auto recv_number = [&](int& number_of, int from) {
        return end_job_unless(mpi.Recv(&number_of, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                              telling) == MPI_SUCCESS;
    };
    bool is_well = true;
    std::string text = agreed->text;
    if (rank != 0) {
        // Of those that wait for rank 0 some are enough.
        const int parent = rank - lowest_bit;
        const int source = wait_for_any({{rank - 1, parent}, parent}, tag, parent == 0);
        is_well = source >= 0;
        std::uint64_t length = 0;
        is_well = is_well && recv(&length, sizeof length, source);
        text.assign(length, '\0');
        is_well = is_well && recv(text.data(), length, source);
        if (is_well && !adopt(text, agreed)) found.other_build = rank;
    }
    const bool sparse = agreed->settings.sparse;
    const auto for_those_below = [&](auto&& act) {
        if (sparse) {
            if (rank + 1 < size) act(rank + 1, size - 1);
            return;
        }
        for (int bit = 1; rank + bit < size && (rank == 0 || bit < lowest_bit); bit *= 2)
            act(rank + bit, std::min(rank + 2 * bit, size) - 1);
    };
    // A long text leaves only when it is received, and that may be never: who waits for an answer can say so.
    const std::uint64_t length = text.size();
    std::array<MPI_Request, 64> requests{};
    std::size_t sends = 0;
    const auto isend = [&](const void* data, std::size_t bytes, int to) {
        return end_job_unless(
                   mpi.Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[sends++]),
                   telling) == MPI_SUCCESS;
    };
    for_those_below([&](int next, int /*last*/) {
        is_well = is_well && isend(&length, sizeof length, next) && isend(text.data(), length, next);
    });
    for_those_below([&](int next, int last) {
        int theirs = 0;
        is_well = is_well && wait_for_any({{next, next}, last}, tag, rank == 0) >= 0 && recv_number(theirs, next);
        found.add(theirs);
    });
    for (std::size_t i = 0; i < sends && is_well; ++i)
        is_well = end_job_unless(mpi.Wait(&requests[i], MPI_STATUS_IGNORE), telling) == MPI_SUCCESS;
    if (rank != 0) {
        const int above = sparse ? rank - 1 : rank - lowest_bit;
        int of_all = 0;
        is_well = is_well && send(found.number(), above) && recv_number(of_all, above);
        found.add(of_all);
    }
    for_those_below([&](int next, int /*last*/) { is_well = is_well && send(found.number(), next); });
    return is_well;
}

void Process::add_warning(std::string warning) {
    if (warning.empty()) return;
    const std::lock_guard lock(mutex_);
    warnings_.push_back(std::move(warning));
}

void Process::print_warnings(bool speaks) {
    const std::lock_guard lock(mutex_);
    if (speaks)
        for (const std::string& warning : warnings_) log_line(LogLevel::warn, warning);
    warnings_.clear();
}

void Process::tell_who_does_not_observe(const Settings& settings, bool is_all_of_it, std::string_view why) const {
    if (observe_calls_ == nullptr) return;
    for (const auto& [is_set, text] :
         {std::pair{is_all_of_it && settings.verify != 0, "LIBHCOLL_VERIFY: no result is looked at"},
          {is_all_of_it && settings.check != CheckMode::off, "LIBHCOLL_CHECK: no call is looked at"},
          {settings.watches(), "LIBHCOLL_WATCHDOG: nobody watches"},
          {settings.traces(), "LIBHCOLL_TRACE: nothing is traced"}})
        if (is_set) log_line(LogLevel::warn, "{}, {}", text, why);
}

void Process::tell_what_awaits_world() {
    if (has_world() || has_told_what_awaits_world_.exchange(true)) return;
    tell_who_does_not_observe(agreed()->settings, true,
                              "since that begins in MPI_Init, which has not been called so far");
}

void Process::note_communicator(int rank, int size) {
    {
        const std::lock_guard lock(mutex_);
        if (size > size_ && !has_world()) {
            rank_ = rank;
            size_ = size;
        }
    }
    if (!has_finalize_hook_) set_finalize_hook();
}

void Process::set_finalize_hook() {
    int initialized = 0;
    if (mpi.Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return;
    if (has_finalize_hook_.exchange(true)) return;
    const int status = attach_deletion_hook(MPI_COMM_SELF, on_finalize, nullptr);
    sees_finalize_ = status == MPI_SUCCESS;
    if (status != MPI_SUCCESS)
        log_line(LogLevel::warn, "MPI_Finalize cannot be seen (MPI error {}); the report may be missing", status);
}

bool Process::has_session() {
    const std::lock_guard lock(listing_sessions_);
    return !sessions_.empty();
}

// Where a session is left (Open MPI from 5.0 on comes here all the same, MPICH when the last one ends), its communicators have nothing to
// do with MPI_COMM_WORLD: what this rank has begun on them may wait for others that begin it after MPI_Finalize, and calls have to be observed on all
// ranks or on none. Both MPI libraries keep MPI_COMM_WORLD, and what was made of it, until then.
void Process::finish() {
    has_left_world_.store(true);
    if (!has_session()) end(true);
}

void Process::finish_last_session() {
    if (has_left_world_ && !has_session()) end(false);
}

void Process::end(bool is_in_world) {
    if (finished_.exchange(true)) return;
    Background::get().finish();
    if (release_communicators_ != nullptr) release_communicators_();
    (void)has_memory_for([&] { keep_learned(); });
    if (finish_observing_ != nullptr) finish_observing_(is_in_world);
    write_report();
    if (stand_aside_ != nullptr) stand_aside_();
}

void Process::finish_at_exit() {
    // A child that the application forked has nothing to report, and no thread.
    if (process_id_ != getpid() || finished_.exchange(true)) return;
    Background::get().finish_at_exit();
    if (finish_observing_ != nullptr) finish_observing_(false);
    write_report();
}

// By one rank: what all of them know alike.
void Process::keep_learned() {
    const std::vector<LearnedPlace> places = learned_.take();
    if (report_ != nullptr) report_->set_learned(places);
    const Settings& settings = agreed()->settings;
    if (rank_ != 0 || settings.learn_file == "off" || places.empty()) return;
    const MachineName machine = machine_name();
    Table table{.name = {}, .origin = {}, .vendor = vendor_kind(), .entries = entries_of(places)};
    if (!machine.cluster.empty()) table.origin.emplace_back("cluster", machine.cluster);
    table.origin.emplace_back("cpu", machine.cpu);
    table.origin.emplace_back("interconnect", machine.fabric);
    table.origin.emplace_back("mpi_version", library_line_);
    table.origin.emplace_back("date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
    table.origin.emplace_back("command", "LIBHCOLL_LEARN");
    if (const auto problem = hcoll::keep_learned(learn_path_, table))
        log_line(LogLevel::warn, "LIBHCOLL_LEARN: {}", *problem);
}

void Process::write_report() {
    if (report_ == nullptr || rank_ != 0) return;
    const std::string heading = fmt::format("rank 0 of {}, {}", size_, library_line_);
    if (local_.report == "1") {
        std::fputs(report_->text(heading).c_str(), stderr);
        return;
    }
    const FileLimitIsAnError file_limit;
    std::FILE* file = std::fopen(local_.report.c_str(), "we");
    const bool written = file != nullptr && std::fputs(report_->json(heading).c_str(), file) >= 0;
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed) {
        log_line(LogLevel::warn, "the report cannot be written to {}; it follows", local_.report);
        std::fputs(report_->text(heading).c_str(), stderr);
    }
}

}  // namespace hcoll
