// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_laboratory.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>

#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll::simulation {

namespace {

void require(int status) {
    if (status != MPI_SUCCESS) throw std::runtime_error("a simulated call of MPI failed");
}

std::string key_of(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    return fmt::format("{}={} {}", call.name(), choice, bytes);
}

}  // namespace

Placement placement_of_job(const JobOptions& options) {
    std::vector<Seat> seats;
    const int of_a_node = options.machine.ranks_per_node;
    const int of_a_socket = of_a_node / options.machine.sockets_per_node;
    seats.reserve(static_cast<std::size_t>(options.ranks));
    for (int rank = 0; rank < options.ranks; ++rank)
        seats.push_back({.node = rank / of_a_node, .socket = rank % of_a_node / of_a_socket, .core = rank % of_a_node});
    return Placement(seats);
}

SimulatedLaboratory::SimulatedLaboratory(const JobOptions& options, const std::string& known,
                                         const std::string& subject)
    : placement_(placement_of_job(options)), ranks_(static_cast<std::size_t>(options.ranks)) {
    if (known.empty()) return;
    read_known(known, subject);
    const bool is_new = !std::filesystem::exists(known);
    known_file_.open(known, std::ios::app);
    if (is_new) known_file_ << subject << std::endl;
    if (!known_file_) throw std::runtime_error(fmt::format("{} cannot be written", known));
}

// The first line is the subject; then, of each simulation, what was called, a tab, and each rank's seconds. What was being written when a job
// was killed has no end of line: it is cut off, so that what is added begins a line of its own.
void SimulatedLaboratory::read_known(const std::string& file, const std::string& subject) {
    std::ifstream lines(file);
    if (!lines) return;
    std::string line;
    std::getline(lines, line);
    if (lines.eof()) {
        lines.close();
        std::filesystem::remove(file);
        return;
    }
    if (line != subject)
        throw std::runtime_error(
            fmt::format("{} holds what was simulated of another machine, layout or vendor ({}); "
                        "this is {}: name another file",
                        file, line, subject));
    std::uintmax_t whole = line.size() + 1;
    for (; std::getline(lines, line) && !lines.eof(); whole += line.size() + 1) {
        const std::size_t tab = line.find('\t');
        if (tab == std::string::npos) continue;
        std::vector<double> seconds;
        std::istringstream numbers(line.substr(tab + 1));
        for (double number = 0; numbers >> number;) seconds.push_back(number);
        if (seconds.size() == ranks_.size()) known_[line.substr(0, tab)] = std::move(seconds);
    }
    lines.close();
    std::filesystem::resize_file(file, whole);
}

void SimulatedLaboratory::run(int rank, const std::function<void(Laboratory&)>& drive) {
    Rank& mine = ranks_[static_cast<std::size_t>(rank)];
    init_own();
    mine.calls = std::make_unique<Calls>(true, false);
    mine.all.communicator = MPI_COMM_WORLD;
    require(wrap_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        drive(*this);
        work_ = nullptr;
        meet();
        return;
    }
    for (;;) {
        meet();
        if (work_ == nullptr) return;
        (*work_)(rank);
        meet();
    }
}

void SimulatedLaboratory::on_all(const std::function<void(int)>& work) {
    work_ = &work;
    meet();
    work(0);
    meet();
}

void SimulatedLaboratory::choose(Bench& bench, const TableCall& call, const std::string& choice) {
    std::string wanted = fmt::format("{}={}", call.name(), choice);
    if (wanted == bench.chosen) return;
    MPI_Info info = MPI_INFO_NULL;
    require(MPI_Info_create(&info));
    require(MPI_Info_set(info, fmt::format("libhcoll_{}", call.name()).c_str(), choice.c_str()));
    require(Communicator::note_info(bench.communicator, info));
    require(MPI_Info_free(&info));
    bench.chosen = std::move(wanted);
}

SimulatedLaboratory::Bench& SimulatedLaboratory::bench_of(int rank, Level level) {
    Rank& mine = ranks_[static_cast<std::size_t>(rank)];
    const auto [found, is_new] = mine.levels.try_emplace(level);
    if (is_new) {
        const bool is_first = placement_.index_on_node(rank) == 0;
        const int color = level == Level::node ? placement_.node_of(rank) : is_first ? 0 : MPI_UNDEFINED;
        require(mpi.Comm_split(MPI_COMM_WORLD, color, rank, &found->second.communicator));
    }
    return found->second;
}

std::vector<double> SimulatedLaboratory::simulate(const std::function<Bench&(int rank)>& bench, const TableCall& call,
                                                  const std::string& choice, std::uint64_t bytes) {
    std::vector<double> seconds(ranks_.size(), 0);
    on_all([&](int rank) {
        Bench& mine = bench(rank);
        const bool is_in = mine.communicator != MPI_COMM_NULL;
        if (is_in) choose(mine, call, choice);
        meet();
        const double begin = simulation::now();
        if (is_in)
            require(ranks_[static_cast<std::size_t>(rank)].calls->run(call.collective, send_region(), receive_region(),
                                                                      bytes, 0, mine.communicator));
        seconds[static_cast<std::size_t>(rank)] = simulation::now() - begin;
    });
    return seconds;
}

const std::vector<double>& SimulatedLaboratory::of_all(const TableCall& call, const std::string& choice,
                                                       std::uint64_t bytes) {
    auto [known, is_new] = known_.try_emplace(key_of(call, choice, bytes));
    if (is_new) {
        known->second = simulate([this](int rank) -> Bench& { return ranks_[static_cast<std::size_t>(rank)].all; },
                                 call, choice, bytes);
        if (known_file_.is_open())
            known_file_ << known->first << '\t' << fmt::format("{}", fmt::join(known->second, " ")) << std::endl;
    }
    return known->second;
}

double SimulatedLaboratory::sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    const std::vector<double>& all = of_all(call, choice, bytes);
    const double seconds = *std::max_element(all.begin(), all.end());
    const int calls = calls_of_a_row(measuring_, seconds);
    // The first two calls of any are a warm-up, and say how many a row has; where that is one, the second is a sample, or the first is.
    bool& is_warm = is_warm_[key_of(call, choice, bytes)];
    const int first_calls = seconds > measuring_.long_call ? 1 : 2;
    // Later, one makes the plan anew.
    spent_ += seconds * (is_warm ? calls + first_calls - 1 : calls > 1 ? calls + first_calls : first_calls);
    is_warm = true;
    return seconds;
}

std::vector<double> SimulatedLaboratory::sample_ranks(const TableCall& call, const std::string& choice,
                                                      std::uint64_t bytes) {
    const std::vector<double>& all = of_all(call, choice, bytes);
    const double seconds = *std::max_element(all.begin(), all.end());
    spent_ += seconds * (single_calls_of(measuring_, seconds) + 1);
    return all;
}

double SimulatedLaboratory::sample_level(Level level, const TableCall& call, const std::string& choice,
                                         std::uint64_t bytes) {
    const std::vector<double> all =
        simulate([this, level](int rank) -> Bench& { return bench_of(rank, level); }, call, choice, bytes);
    const double seconds = *std::max_element(all.begin(), all.end());
    spent_ += seconds * (single_calls_of(measuring_, seconds) + 1);
    return seconds;
}

double SimulatedLaboratory::exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) {
    constexpr int tag = 1;
    double slowest = 0;
    std::vector<double> paused(ranks_.size(), 0);
    on_all([&](int rank) {
        const auto count = static_cast<int>(bytes);
        const double begin = simulation::now();
        std::vector<MPI_Request> requests;
        std::vector<MPI_Request> answers;
        const auto wait = [](std::vector<MPI_Request>& all) {
            require(mpi.Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE));
        };
        for (const RankPair& pair : pairs) {
            if (rank == pair.from)
                require(mpi.Irecv(receive_region(), count, MPI_BYTE, pair.to, tag, MPI_COMM_WORLD,
                                  &answers.emplace_back()));
            for (int i = 0; i < messages; ++i) {
                if (i > 0 && pause > 0 && rank == pair.from) {
                    busy(pause);
                    paused[static_cast<std::size_t>(rank)] += pause;
                }
                if (rank == pair.from)
                    require(mpi.Isend(send_region(), count, MPI_BYTE, pair.to, tag, MPI_COMM_WORLD,
                                      &requests.emplace_back()));
                else if (rank == pair.to)
                    require(mpi.Irecv(receive_region(), count, MPI_BYTE, pair.from, tag, MPI_COMM_WORLD,
                                      &requests.emplace_back()));
            }
        }
        wait(requests);
        for (const RankPair& pair : pairs)
            if (rank == pair.to) require(mpi.Send(send_region(), count, MPI_BYTE, pair.from, tag, MPI_COMM_WORLD));
        wait(answers);
        if (!answers.empty())
            slowest = std::max(slowest, simulation::now() - begin - paused[static_cast<std::size_t>(rank)]);
    });
    constexpr int rounds = 15;
    spent_ += rounds * slowest;
    return slowest;
}

bool SimulatedLaboratory::is_sent_at_once(RankPair pair, std::uint64_t bytes) {
    constexpr int tag = 2;
    constexpr double until_it_would_be_sent = 1e-3;
    int is_over = 0;
    on_all([&](int rank) {
        const auto count = static_cast<int>(bytes);
        if (rank == pair.from) {
            MPI_Request request = MPI_REQUEST_NULL;
            require(mpi.Isend(send_region(), count, MPI_BYTE, pair.to, tag, MPI_COMM_WORLD, &request));
            simgrid::s4u::this_actor::sleep_for(until_it_would_be_sent);
            require(mpi.Test(&request, &is_over, MPI_STATUS_IGNORE));
            require(mpi.Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == pair.to) {
            simgrid::s4u::this_actor::sleep_for(2 * until_it_would_be_sent);
            require(mpi.Recv(receive_region(), count, MPI_BYTE, pair.from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    });
    return is_over != 0;
}

std::vector<double> SimulatedLaboratory::shared_work(std::size_t items,
                                                     const std::function<double(std::size_t)>& work) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<double> all = Laboratory::shared_work(items, work);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const std::size_t at_once = std::clamp<std::size_t>(items, 1, ranks_.size());
    spent_ += taken.count() / static_cast<double>(at_once);
    return all;
}

double SimulatedLaboratory::copy(std::uint64_t bytes) {
    return static_cast<double>(bytes) * simulated_costs.copy_seconds_per_byte;
}

double SimulatedLaboratory::reduce(std::uint64_t bytes) {
    return static_cast<double>(bytes) * simulated_costs.reduce_seconds_per_byte;
}

}  // namespace hcoll::simulation
