#include "tuner/mpi_laboratory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hcoll {

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

MessageMemory::MessageMemory(std::size_t bytes) : input_(bytes, std::byte{1}), output_(bytes, std::byte{1}) {}

MpiLaboratory::MpiLaboratory(MPI_Comm communicator, Placement placement, MessageMemory& memory,
                             const MeasuringOptions& options)
    : communicator_(communicator), placement_(std::move(placement)), memory_(memory), options_(options) {
    require_mpi(PMPI_Comm_dup(communicator_, &meeting_));
    require_mpi(PMPI_Comm_rank(communicator_, &rank_));
}

MpiLaboratory::~MpiLaboratory() {
    PMPI_Comm_free(&meeting_);
    MPI_Comm_free(&communicator_);
}

double MpiLaboratory::longest(double mine) const {
    double all = 0;
    require_mpi(PMPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, meeting_));
    return all;
}

double MpiLaboratory::now() { return longest(rank_ == 0 ? seconds() : 0); }

void MpiLaboratory::choose(const TableCall& call, const std::string& choice) {
    const std::string wanted = fmt::format("{}={}", call.name(), choice);
    if (wanted == chosen_) return;
    MPI_Info info = MPI_INFO_NULL;
    require_mpi(PMPI_Info_create(&info));
    require_mpi(PMPI_Info_set(info, fmt::format("libhcoll_{}", call.name()).c_str(), choice.c_str()));
    require_mpi(MPI_Comm_set_info(communicator_, info));
    require_mpi(PMPI_Info_free(&info));
    chosen_ = wanted;
}

// Bytes for what moves bytes, doubles for reductions: rules go by bytes.
void MpiLaboratory::run(const TableCall& call, std::uint64_t bytes) {
    const auto count = static_cast<int>(bytes);
    const bool is_whole = bytes % sizeof(double) == 0;
    MPI_Datatype type = is_whole ? MPI_DOUBLE : MPI_SIGNED_CHAR;
    const int elements = is_whole ? count / static_cast<int>(sizeof(double)) : count;
    void* input = memory_.input();
    void* output = memory_.output();
    MPI_Request request = MPI_REQUEST_NULL;
    if (call.is_nonblocking) {
        switch (call.collective) {
            case Collective::bcast: require_mpi(MPI_Ibcast(output, count, MPI_BYTE, 0, communicator_, &request)); break;
            case Collective::reduce:
                require_mpi(MPI_Ireduce(input, output, elements, type, MPI_SUM, 0, communicator_, &request));
                break;
            default:
                require_mpi(MPI_Iallreduce(input, output, elements, type, MPI_SUM, communicator_, &request));
                break;
        }
        require_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
        return;
    }
    switch (call.collective) {
        case Collective::bcast: require_mpi(MPI_Bcast(output, count, MPI_BYTE, 0, communicator_)); break;
        case Collective::reduce:
            require_mpi(MPI_Reduce(input, output, elements, type, MPI_SUM, 0, communicator_));
            break;
        case Collective::allreduce:
            require_mpi(MPI_Allreduce(input, output, elements, type, MPI_SUM, communicator_));
            break;
        case Collective::barrier: require_mpi(MPI_Barrier(communicator_)); break;
        case Collective::gather:
            require_mpi(MPI_Gather(input, count, MPI_BYTE, output, count, MPI_BYTE, 0, communicator_));
            break;
        case Collective::scatter:
            require_mpi(MPI_Scatter(input, count, MPI_BYTE, output, count, MPI_BYTE, 0, communicator_));
            break;
        case Collective::allgather:
            require_mpi(MPI_Allgather(input, count, MPI_BYTE, output, count, MPI_BYTE, communicator_));
            break;
    }
}

double MpiLaboratory::row(const TableCall& call, std::uint64_t bytes, int calls) {
    require_mpi(PMPI_Barrier(meeting_));
    const double begin = seconds();
    for (int i = 0; i < calls; ++i) run(call, bytes);
    return longest(seconds() - begin) / calls;
}

double MpiLaboratory::sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    choose(call, choice);
    auto [known, is_new] = calls_of_rows_.try_emplace(fmt::format("{} {}", chosen_, bytes), 1);
    if (is_new) {
        // The first call makes the plan, and how many are a row depends on how long one takes.
        row(call, bytes, 1);
        const double one = std::max(row(call, bytes, 1), 1e-9);
        known->second = static_cast<int>(
            std::clamp(std::ceil(options_.seconds_of_a_row / one), 1.0, static_cast<double>(options_.most_calls)));
        if (known->second == 1) return one;
    }
    return row(call, bytes, known->second);
}

std::vector<double> MpiLaboratory::sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    choose(call, choice);
    row(call, bytes, 1);
    std::vector<double> mine;
    for (int i = 0; i < options_.single_calls; ++i) {
        require_mpi(PMPI_Barrier(meeting_));
        const double begin = seconds();
        run(call, bytes);
        mine.push_back(seconds() - begin);
    }
    std::nth_element(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(mine.size() / 2), mine.end());
    const double median = mine[mine.size() / 2];
    std::vector<double> all(static_cast<std::size_t>(placement_.ranks()));
    require_mpi(PMPI_Allgather(&median, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, meeting_));
    return all;
}

}  // namespace hcoll
