// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/traced_call.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "intercept/observed/common_time.hpp"
#include "intercept/observed/same_call.hpp"
#include "intercept/observed/watched_call.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

namespace {

int traced_as(Communicator& communicator) {
    Tracer& tracer = *Tracer::get();
    const int watched = known_to_record(communicator);
    if (tracer.knows(communicator.traced_as(), communicator.record_key())) return communicator.traced_as();
    // The application may have named it since it was made.
    std::string name = WatchRecord::get()->name(watched);
    if (std::string now = communicator_text(communicator.handle()); !name.starts_with(now)) name = std::move(now);
    communicator.set_traced_as(tracer.know(communicator.record_key(), name, communicator.rank(), communicator.size()));
    return communicator.traced_as();
}

TraceRecord record_of(Communicator& communicator, const CallDescription& call, std::uint64_t number) {
    Tracer& tracer = *Tracer::get();
    TraceRecord record;
    record.kind = TraceKind::call;
    // Without memory for it, or where there are too many, it is of none.
    int known = Tracer::no_communicator;
    (void)has_memory_for([&] { known = traced_as(communicator); });
    record.communicator = static_cast<std::uint16_t>(known);
    record.number = number;
    record.bytes = call.bytes;
    record.peer = call.root;
    record.collective = static_cast<std::uint8_t>(call.collective);
    record.form = static_cast<std::uint8_t>(call.form);
    record.operation = tracer.text(call.operation.data());
    record.type = tracer.text(call.type.data());
    return record;
}

// What all have alike.
struct Job {
    std::uint64_t number = 0;
    std::uint64_t started = 0;
    std::uint64_t origin = 0;
};

TraceHeader header_of(const Job& job, int rank, int size) {
    TraceHeader header;
    header.job = job.number;
    header.started = job.started;
    header.origin = job.origin;
    header.rank = rank;
    header.ranks = size;
    const Placement& placement = CommonTime::get()->placement();
    header.node = placement.node_of(rank);
    header.socket = placement.seat_of(rank).socket;
    header.clocks = CommonTime::get()->clocks();
    gethostname(header.host.data(), header.host.size() - 1);
    const std::string& library = Process::get().library_line();
    library.copy(header.library.data(), header.library.size() - 1);
    return header;
}

// How many ranks have a problem; one of them says which.
void tell_problem(const std::optional<std::string>& problem, std::string_view what) {
    const MPI_Comm communicator = CommonTime::get()->communicator();
    const int rank = Process::get().world_rank();
    int size = 1;
    mpi.Comm_size(communicator, &size);
    const int mine = problem ? 1 : 0;
    const int mine_from_behind = problem ? size - rank : 0;
    int all = 0;
    int first_from_behind = 0;
    const int counted = mpi.Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, communicator);
    const int found = mpi.Allreduce(&mine_from_behind, &first_from_behind, 1, MPI_INT, MPI_MAX, communicator);
    if (counted == MPI_SUCCESS && found == MPI_SUCCESS && problem && size - first_from_behind == rank)
        log_line(LogLevel::warn, "LIBHCOLL_TRACE: {} of {} ranks {}: {}", all, size, what, *problem);
}

}  // namespace

bool start_trace(const Settings& settings) {
    int size = 1;
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    const int rank = Process::get().world_rank();
    const CommonTime& time = *CommonTime::get();
    Job job{.started = static_cast<std::uint64_t>(std::time(nullptr)), .origin = time.now()};
    if (getrandom(&job.number, sizeof job.number, 0) != sizeof job.number) job.number = CommonClock::raw_now();
    constexpr int words = sizeof job / sizeof(std::uint64_t);
    const bool is_well = mpi.Bcast(&job, words, MPI_UINT64_T, 0, time.communicator()) == MPI_SUCCESS;
    std::optional<std::string> problem;
    const bool has_memory = has_memory_for([&] {
        problem = Tracer::open(
            {.folder = settings.trace_folder, .bytes = settings.trace_memory, .header = header_of(job, rank, size)});
    });
    if (!has_memory) problem = "there is no memory for it";
    tell_problem(problem, "trace nothing");
    if (is_true_anywhere(!is_well, time.communicator())) {
        Tracer::give_up();
        return false;
    }
    Tracer::begin();
    StepTrace::expect();
    return true;
}

void finish_trace(bool is_in_mpi) {
    Tracer* tracer = Tracer::get();
    std::optional<std::string> problem;
    if (tracer != nullptr) {
        tracer->set_clocks(CommonTime::get()->clocks());
        if (!has_memory_for([&] { problem = tracer->finish(); }))
            (void)has_memory_for([&] { problem = "there is no memory to write it"; });
    }
    if (is_in_mpi)
        tell_problem(problem, "could not write what they have traced");
    else if (problem)
        log_line(LogLevel::warn, "LIBHCOLL_TRACE: {}", *problem);
}

TracedCall::TracedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number,
                       std::uint64_t unit_bytes)
    : record_(record_of(communicator, call, number)),
      unit_bytes_(unit_bytes),
      id_(Tracer::get()->begin(record_)),
      run_(record_, unit_bytes),
      scope_(&run_) {}

TracedCall::~TracedCall() {
    if (record_.kind != TraceKind::none) Tracer::get()->end(id_, record_);
}

void TracedCall::make_void() {
    record_.kind = TraceKind::none;
    Tracer::get()->forget(id_);
}

void TracedCall::decide(std::string_view what) {
    record_.name = Tracer::get()->text(what);
    Tracer::get()->set_name(id_, record_.name);
}

TracedFunction::TracedFunction(const char* function) {
    record_.kind = TraceKind::function;
    record_.name = Tracer::get()->text(function);
    id_ = Tracer::get()->begin(record_);
}

}  // namespace hcoll
