#include "job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <stdexcept>

#include "intercept/calls/onward.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/process.hpp"
#include "memory.hpp"
#include "noise.hpp"
#include "platform.hpp"
#include "progress/engine/simulation.hpp"
#include "tuning/text.hpp"

namespace hcoll::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr const char* instance = "job";
constexpr int root_value = 7;

// What all ranks of the job share: they take turns in one thread.
struct Job {
    const Options* options = nullptr;
    void (*report)(const Options&, const Result&) = nullptr;
    s4u::BarrierPtr together;
    double begin = 0;
    double end = 0;
    int left = 0;  // ranks that have not returned from the timed call
    Result result;
    long wrong = 0;
    std::byte* send_region = nullptr;  // of all ranks, where there are no data
    std::byte* receive_region = nullptr;
};
Job job;

// The sum of doubles, or of floats where a message has half an element, for SimGrid's algorithms and the library's alike:
// its time is charged wherever it runs.
void add(void* left, void* right, int* count, MPI_Datatype* type) {
    const bool is_double = *type == MPI_DOUBLE;
    const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * (is_double ? sizeof(double) : sizeof(float));
    if (!charge_reduction(bytes)) return;
    for (int i = 0; i < *count; ++i)
        if (is_double)
            static_cast<double*>(right)[i] += static_cast<const double*>(left)[i];
        else
            static_cast<float*>(right)[i] += static_cast<const float*>(left)[i];
}

}  // namespace

int ranks_of_job() { return job.options->ranks; }
void meet() { job.together->wait(); }

// The calling rank goes on when its pause is over.
void sit_out_pause() {
    if (job.options->noise <= 0) return;
    const Noise noise(job.options->noise, job.options->seed, job.options->noise_together);
    // Actors are numbered from 1, in the order of ranks.
    const int rank = static_cast<int>(s4u::this_actor::get_pid()) - 1;
    const double seconds = noise.left(rank, s4u::Engine::get_clock());
    if (seconds > 0) s4u::this_actor::sleep_for(seconds);
}

namespace {

std::byte* map_region(std::uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("there is no memory for the messages");
    return static_cast<std::byte*>(memory);
}

void use_real_world();

class Rank {
public:
    Rank(const Options& options, int rank) : options_(options), rank_(rank) {}

    void run() {
        start();
        for (const std::uint64_t bytes : options_.bytes) {
            prepare(bytes);
            for (int i = 0; i < options_.warmup; ++i) call();
            std::vector<double> seconds;
            if (options_.back_to_back)
                seconds.push_back(time_calls(options_.repetitions));
            else
                for (int i = 0; i < options_.repetitions; ++i) seconds.push_back(time_calls(1));
            finish_size(bytes, seconds);
        }
    }

private:
    void start() {
        if (!options_.is_own()) {
            mpi.Init(nullptr, nullptr);
            use_real_world();
        } else {
            Process::open({.version_text = "SimGrid",
                           .stand_aside = nullptr,
                           .release_communicators = Communicator::release_all});
            wrap_Init(nullptr, nullptr);
        }
        if (options_.predefined_op)
            op_ = MPI_SUM;
        else
            MPI_Op_create(add, 1, &op_);
        // The communicator is set up here, in a call in which all ranks wait for all; the first plan is made in the next.
        prepare(options_.bytes.front());
        if (options_.is_own()) {
            const std::uint64_t bytes = bytes_;
            bytes_ = std::min<std::uint64_t>(bytes_, sizeof(double));
            if (wrap_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) ++job.wrong;
            call();
            bytes_ = bytes;
        }
    }

    void prepare(std::uint64_t bytes) {
        bytes_ = bytes;
        type_ = bytes % sizeof(double) == 0 ? MPI_DOUBLE : MPI_FLOAT;
        type_bytes_ = bytes % sizeof(double) == 0 ? sizeof(double) : sizeof(float);
        send_ = job.send_region;
        receive_ = job.receive_region;
        if (!options_.check) return;
        send_memory_.assign(bytes, std::byte{0});
        receive_memory_.assign(bytes, std::byte{0});
        send_ = send_memory_.data();
        receive_ = receive_memory_.data();
    }

    int count() const { return static_cast<int>(bytes_ / type_bytes_); }

    // Not a power of two in any rank, so that a missing or doubled operand shows.
    double value(int rank, std::uint64_t index) const {
        return static_cast<double>(rank % 1021 + 1 + static_cast<int>(index % 61));
    }
    double expected(std::uint64_t index) const {
        double sum = 0;
        for (int rank = 0; rank < options_.ranks; ++rank) sum += value(rank, index);
        return sum;
    }

    template <typename Element>
    void fill_elements() {
        auto* elements = reinterpret_cast<Element*>(send_);
        for (std::uint64_t i = 0; i < bytes_ / sizeof(Element); ++i)
            elements[i] = static_cast<Element>(value(rank_, i));
    }
    void fill() {
        if (options_.collective == Collective::bcast) {
            for (std::uint64_t i = 0; i < bytes_; ++i)
                receive_[i] = rank_ == options_.root ? static_cast<std::byte>((i + root_value) % 251) : std::byte{0xff};
        } else if (is_reduction(options_.collective)) {
            std::memset(receive_, 0xff, bytes_);
            type_bytes_ == sizeof(double) ? fill_elements<double>() : fill_elements<float>();
        }
    }

    template <typename Element>
    bool has_sums() const {
        const auto* elements = reinterpret_cast<const Element*>(receive_);
        std::vector<double> sums;  // they repeat
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(bytes_ / sizeof(Element), 61); ++i)
            sums.push_back(expected(i));
        for (std::uint64_t i = 0; i < bytes_ / sizeof(Element); ++i)
            if (static_cast<double>(elements[i]) != sums[i % 61]) return false;
        return true;
    }
    bool is_right() const {
        if (options_.collective == Collective::bcast) {
            for (std::uint64_t i = 0; i < bytes_; ++i)
                if (receive_[i] != static_cast<std::byte>((i + root_value) % 251)) return false;
            return true;
        }
        const bool has_result = options_.collective == Collective::allreduce ||
                                (options_.collective == Collective::reduce && rank_ == options_.root);
        return !has_result || (type_bytes_ == sizeof(double) ? has_sums<double>() : has_sums<float>());
    }

    // MPI_X of the library, or of SimGrid.
    int call() {
        const bool own = options_.is_own();
        switch (options_.collective) {
            case Collective::bcast:
                return (own ? wrap_Bcast : mpi.Bcast)(receive_, static_cast<int>(bytes_), MPI_BYTE, options_.root,
                                                      MPI_COMM_WORLD);
            case Collective::reduce:
                return (own ? wrap_Reduce : mpi.Reduce)(send_, receive_, count(), type_, op_, options_.root,
                                                        MPI_COMM_WORLD);
            case Collective::allreduce:
                return (own ? wrap_Allreduce : mpi.Allreduce)(send_, receive_, count(), type_, op_, MPI_COMM_WORLD);
            default: return (own ? wrap_Barrier : mpi.Barrier)(MPI_COMM_WORLD);
        }
    }

    // One call's part of the time from when all ranks begin until the last one is through with `calls`.
    double time_calls(int calls) {
        if (options_.check) fill();
        job.together->wait();
        job.begin = s4u::Engine::get_clock();  // the same on all ranks
        job.end = job.begin;
        for (int i = 0; i < calls; ++i)
            if (call() != MPI_SUCCESS) ++job.wrong;
        job.end = std::max(job.end, s4u::Engine::get_clock());
        if (options_.check && !is_right()) ++job.wrong;
        job.together->wait();
        const double seconds = (job.end - job.begin) / calls;
        job.together->wait();
        return seconds;
    }

    void finish_size(std::uint64_t bytes, std::vector<double>& seconds) {
        if (options_.is_own() && rank_ == 0 && !ran_own()) ++job.wrong;
        if (rank_ == 0) job.report(options_, {bytes, std::move(seconds), s4u::Engine::get_clock()});
    }

    // The library may have left the call to SimGrid, which would say nothing of the algorithm.
    bool ran_own() const {
        const Communicator* communicator = Communicator::find(MPI_COMM_WORLD);
        return communicator != nullptr && communicator->own_for(options_.collective) != nullptr;
    }

    const Options& options_;
    int rank_;
    std::uint64_t bytes_ = 0;
    std::size_t type_bytes_ = 1;
    MPI_Datatype type_ = MPI_BYTE;
    MPI_Op op_ = MPI_OP_NULL;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
    std::vector<std::byte> send_memory_;
    std::vector<std::byte> receive_memory_;
};

// Long messages are never looked at: nothing is copied. Short ones are SimGrid's own copies, which it frees here.
std::uint64_t longest_copied = 0;

void set_environment(const Options& options) {
    for (char** entry = environ; *entry != nullptr;) {
        const std::string_view variable = *entry;
        if (variable.starts_with("LIBHCOLL_") && !variable.starts_with("LIBHCOLL_LOG="))
            unsetenv(std::string(variable.substr(0, variable.find('='))).c_str());
        else
            ++entry;
    }
    for (std::size_t i = 0; i < collective_count; ++i) {
        const std::string name = "LIBHCOLL_" + to_upper(collective_names[i].name);
        const bool is_it = static_cast<Collective>(i) == options.collective;
        setenv(name.c_str(), is_it ? options.algorithm.c_str() : "vendor", 1);
    }
    setenv("LIBHCOLL_TOPOLOGY", options.layout().c_str(), 1);
    setenv("LIBHCOLL_SHARED_MEMORY", "0", 1);  // of simulated ranks it would take real time
    setenv("LIBHCOLL_SETUP_CALLS", "1", 1);
    setenv("LIBHCOLL_PLAN_CACHE", "64k", 1);
}

}  // namespace

}  // namespace hcoll::simulation

// SimGrid's own, which its headers do not declare.
namespace simgrid::smpi {
namespace colls {
void set_collectives();
}
class ActorExt {
public:
    static xbt::Extension<s4u::Actor, ActorExt> EXTENSION_ID;
    MPI_Comm comm_world() const;
};
int allgather__ring(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm);
}  // namespace simgrid::smpi

// In place of SimGrid's own: MVAPICH2's and Open MPI's algorithms find their nodes' leaders by it when a communicator is
// first used, in so many messages as there are pairs of ranks, which would take most of the simulation. Nothing that is
// timed calls it.
int simgrid::smpi::allgather__ring(const void* send, int, MPI_Datatype, void* receive, int count, MPI_Datatype type,
                                   MPI_Comm comm) {
    static std::map<int, std::vector<std::byte>> gathered;  // by size: of communicators of all ranks there is one
    int rank = 0;
    int ranks = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    PMPI_Type_size(type, &size);
    const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
    auto* all = static_cast<std::byte*>(receive);
    std::memcpy(all + static_cast<std::size_t>(rank) * bytes, send, bytes);
    if (ranks == hcoll::simulation::ranks_of_job()) {
        std::vector<std::byte>& shared = gathered[ranks];
        shared.resize(static_cast<std::size_t>(ranks) * bytes);
        hcoll::simulation::meet();
        std::memcpy(shared.data() + static_cast<std::size_t>(rank) * bytes, send, bytes);
        hcoll::simulation::meet();
        std::memcpy(all, shared.data(), shared.size());
        hcoll::simulation::meet();
        return MPI_SUCCESS;
    }
    constexpr int tag = 31000;
    const int next = (rank + 1) % ranks;
    const int previous = (rank + ranks - 1) % ranks;
    for (int step = 0; step + 1 < ranks; ++step) {
        const auto from = static_cast<std::size_t>((rank - step + ranks) % ranks);
        const auto to = static_cast<std::size_t>((rank - step - 1 + ranks) % ranks);
        PMPI_Sendrecv(all + from * bytes, count, type, next, tag, all + to * bytes, count, type, previous, tag, comm,
                      MPI_STATUS_IGNORE);
    }
    return MPI_SUCCESS;
}
void smpi_comm_copy_buffer_callback(simgrid::kernel::activity::CommImpl* comm, void* buff, std::size_t buff_size);

// A rank begins every message, and finds it completed, in these two of SimGrid's own: there it notices that it is kept from its
// work. (The costs that SimGrid lets a program set are not asked for where a long message is received, or sent by a call that waits.)
namespace simgrid::smpi {
class Request {
public:
    void start();
    static void finish_wait(MPI_Request* request, MPI_Status* status);
};
}  // namespace simgrid::smpi

void simgrid::smpi::Request::start() {
    static const auto original =
        reinterpret_cast<void (*)(Request*)>(dlsym(RTLD_NEXT, "_ZN7simgrid4smpi7Request5startEv"));
    hcoll::simulation::sit_out_pause();
    original(this);
}
void simgrid::smpi::Request::finish_wait(MPI_Request* request, MPI_Status* status) {
    static const auto original = reinterpret_cast<void (*)(MPI_Request*, MPI_Status*)>(
        dlsym(RTLD_NEXT, "_ZN7simgrid4smpi7Request11finish_waitEPPS1_P10MPI_Status"));
    original(request, status);
    hcoll::simulation::sit_out_pause();
}

namespace hcoll::simulation {

namespace {

void copy_short_messages(smx_activity_t message, void* buffer, std::size_t bytes) {
    if (bytes < longest_copied)
        smpi_comm_copy_buffer_callback(reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message), buffer, bytes);
}

// SimGrid's own programs start with MPI_COMM_WORLD naming the job's communicator. Here it stands for that of whichever job
// the rank is of, which algorithms with a level for nodes take for another communicator.
void use_real_world() { MPI_COMM_WORLD = s4u::Actor::self()->extension<simgrid::smpi::ActorExt>()->comm_world(); }

// What a CPU spends on messages.
void set_overheads(const Options& options) {
    const auto overhead = [&machine = options.machine](std::size_t bytes, const s4u::Host* from, const s4u::Host* to) {
        return message_overhead(machine, bytes, from == to);
    };
    for (const SmpiOperation each : {SmpiOperation::SEND, SmpiOperation::ISEND, SmpiOperation::RECV})
        smpi_register_op_cost_callback(each, overhead);
}

}  // namespace

long run_job(const Options& options, void (*report)(const Options&, const Result&)) {
    if (const std::string missing = load_vendor(RTLD_DEFAULT); !missing.empty())
        throw std::runtime_error(fmt::format("SimGrid has no {}", missing));
    onward = mpi;
    set_environment(options);
    simulated_costs = {.copy_seconds_per_byte = 1 / options.machine.copy_rate,
                       .reduce_seconds_per_byte = 1 / options.machine.reduce_rate,
                       .has_data = options.check};

    std::vector<std::string> arguments = engine_arguments(options.machine);
    arguments.insert(arguments.begin(), "hcoll-simulate");
    if (!options.is_own()) {
        arguments.push_back("--cfg=smpi/coll-selector:" + options.selector);
    } else {
        // What the library calls while it is set up: SimGrid's defaults send all to rank 0, which takes minutes.
        for (const char* each : {"bcast:binomial_tree", "reduce:binomial", "allreduce:redbcast"})
            arguments.push_back(std::string("--cfg=smpi/") + each);
    }
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    int word_count = static_cast<int>(words.size());
    words.push_back(nullptr);

    smpi_init_options();
    s4u::Engine engine(&word_count, words.data());
    simgrid::smpi::colls::set_collectives();
    SMPI_init();
    set_overheads(options);
    if (!options.check) {
        longest_copied = longest_eager(options.machine);
        smpi_comm_set_copy_data_callback(copy_short_messages);
        const std::uint64_t most = *std::max_element(options.bytes.begin(), options.bytes.end()) + 64;
        job.send_region = map_region(most);
        job.receive_region = map_region(most);
        // Tables of ranks and nodes are arrays too, which are read.
        const std::uint64_t table = 64 * static_cast<std::uint64_t>(options.ranks);
        if (!options.is_own()) share_arrays({map_region(2 * most), 2 * most}, std::max<std::uint64_t>(1 << 20, table));
    }
    const std::vector<s4u::Host*> hosts = make_platform(options.machine, options.nodes());
    SMPI_app_instance_register(instance, nullptr, options.ranks);
    job.options = &options;
    job.report = report;
    job.together = s4u::Barrier::create(static_cast<unsigned int>(options.ranks));
    job.left = options.ranks;
    static bool is_stuck = false;
    s4u::Engine::on_deadlock_cb([] { is_stuck = true; });
    for (int rank = 0; rank < options.ranks; ++rank) {
        const auto actor = s4u::Actor::init(fmt::format("rank-{}", rank),
                                            hosts[static_cast<std::size_t>(rank / options.machine.ranks_per_node)]);
        actor->set_property("instance_id", instance);
        actor->set_property("rank", std::to_string(rank));
        actor->start([rank] {
            // In SimGrid's memory of the actor for as long as that runs.
            const auto self = std::make_unique<Rank>(*job.options, rank);
            self->run();
            // Ranks never finalize: SimGrid takes the job down as a whole.
            job.together->wait();
            if (--job.left == 0) s4u::Actor::kill_all();
        });
    }
    engine.run();
    return is_stuck ? -1 : job.wrong;
}

}  // namespace hcoll::simulation
