// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
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

namespace hcoll::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr const char* instance = "job";

// What all ranks of the job share.
struct Job {
    const JobOptions* options = nullptr;
    const std::function<void(int)>* body = nullptr;
    s4u::BarrierPtr together;
    int left = 0;  // ranks that are not yet through
    std::byte* send_region = nullptr;
    std::byte* receive_region = nullptr;
};
Job job;

}  // namespace

unsigned long JobOptions::nodes() const {
    return static_cast<unsigned long>((ranks + machine.ranks_per_node - 1) / machine.ranks_per_node);
}

std::string JobOptions::layout() const {
    return fmt::format("{}x{}x{}", nodes(), machine.sockets_per_node,
                       machine.ranks_per_node / machine.sockets_per_node);
}

void meet() { job.together->wait(); }
double now() { return s4u::Engine::get_clock(); }
void busy(double seconds) { s4u::this_actor::sleep_for(seconds); }
std::byte* send_region() { return job.send_region; }
std::byte* receive_region() { return job.receive_region; }

int ranks_of_job() { return job.options->ranks; }

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

// Long messages are never looked at: nothing is copied. Short ones are SimGrid's own copies, which it frees here.
std::uint64_t longest_copied = 0;

void set_environment(const JobOptions& options) {
    for (char** entry = environ; *entry != nullptr;) {
        const std::string_view variable = *entry;
        if (variable.starts_with("LIBHCOLL_") && !variable.starts_with("LIBHCOLL_LOG="))
            unsetenv(std::string(variable.substr(0, variable.find('='))).c_str());
        else
            ++entry;
    }
    for (const auto& [name, value] : options.settings) setenv(name.c_str(), value.c_str(), 1);
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
int (*init_of_simgrid)(int*, char***) = nullptr;
int init_with_real_world(int* argc, char*** argv) {
    const int status = init_of_simgrid(argc, argv);
    MPI_COMM_WORLD = s4u::Actor::self()->extension<simgrid::smpi::ActorExt>()->comm_world();
    return status;
}

// What a CPU spends on messages.
void set_overheads(const JobOptions& options) {
    const auto overhead = [&machine = options.machine](std::size_t bytes, const s4u::Host* from, const s4u::Host* to) {
        return message_overhead(machine, bytes, from == to);
    };
    for (const SmpiOperation each : {SmpiOperation::SEND, SmpiOperation::ISEND, SmpiOperation::RECV})
        smpi_register_op_cost_callback(each, overhead);
}

}  // namespace

void init_selected() { mpi.Init(nullptr, nullptr); }

void init_own() {
    Process::open(
        {.version_text = "SimGrid", .stand_aside = nullptr, .release_communicators = Communicator::release_all});
    wrap_Init(nullptr, nullptr);
}

bool run_job(const JobOptions& options, const std::function<void(int)>& body) {
    if (const std::string missing = load_vendor(RTLD_DEFAULT); !missing.empty())
        throw std::runtime_error(fmt::format("SimGrid has no {}", missing));
    init_of_simgrid = mpi.Init;
    if (!options.selector.empty()) mpi.Init = init_with_real_world;
    onward = mpi;
    set_environment(options);
    simulated_costs = {.copy_seconds_per_byte = 1 / options.machine.copy_rate,
                       .reduce_seconds_per_byte = 1 / options.machine.reduce_rate,
                       .has_data = options.has_data};

    std::vector<std::string> arguments = engine_arguments(options.machine);
    arguments.insert(arguments.begin(), "hcoll-simulate");
    if (!options.selector.empty()) {
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
    if (!options.has_data) {
        longest_copied = longest_eager(options.machine);
        smpi_comm_set_copy_data_callback(copy_short_messages);
        const std::uint64_t most = options.most_bytes + 64;
        job.send_region = map_region(most);
        job.receive_region = map_region(most);
        // Tables of ranks and nodes are arrays too, which are read.
        const std::uint64_t table = 64 * static_cast<std::uint64_t>(options.ranks);
        if (!options.selector.empty())
            share_arrays({map_region(2 * most), 2 * most}, std::max<std::uint64_t>(1 << 20, table));
    }
    const std::vector<s4u::Host*> hosts = make_platform(options.machine, options.nodes());
    SMPI_app_instance_register(instance, nullptr, options.ranks);
    job.options = &options;
    job.body = &body;
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
            (*job.body)(rank);
            // Ranks never finalize: SimGrid takes the job down as a whole.
            job.together->wait();
            if (--job.left == 0) s4u::Actor::kill_all();
        });
    }
    engine.run();
    return !is_stuck;
}

}  // namespace hcoll::simulation
