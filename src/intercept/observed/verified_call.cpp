// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/verified_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "intercept/calls/collective_apart.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/observed/wrong_result.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/together.hpp"
#include "intercept/types/datatype.hpp"
#include "intercept/types/reduction_kernel.hpp"

namespace hcoll {

namespace {

constexpr std::uint64_t most_bytes = 1ULL << 30U;  // in one call of the MPI library, whose counts are int

int count_of(std::uint64_t count) { return static_cast<int>(count); }

template <typename Begin>
int finish(Begin&& begin) {
    return begin_and_finish(MPI_STATUS_IGNORE, MPI_COMM_NULL, begin);
}

}  // namespace

VerifiedCall::VerifiedCall(Communicator& communicator, const ObservedArguments& arguments, const CallDescription& call,
                           std::uint64_t number)
    : communicator_(communicator), arguments_(arguments), call_(call), number_(number) {
    if (!is_reduction(call.collective)) return;
    comparison_ = ResultComparison::of_reduction(find_operation(arguments.op), find_element(arguments.received.type),
                                                 communicator.size());
}

bool VerifiedCall::has_result() const {
    if (call_.collective == Collective::reduce || call_.collective == Collective::gather) return is_root();
    return call_.collective != Collective::scatter || arguments_.received.buffer != MPI_IN_PLACE;
}

// Some programs give one buffer for both, and some MPI libraries take it.
bool VerifiedCall::is_in_place() const {
    return arguments_.sent.buffer == MPI_IN_PLACE ||
           (is_root() && arguments_.sent.buffer == arguments_.received.buffer);
}

// What cannot be packed cannot be compared, as what there is no memory for.
std::vector<std::byte> VerifiedCall::packed(const void* elements, std::uint64_t count, MPI_Datatype type) const {
    std::vector<std::byte> bytes(count * type_size(type));
    if (!bytes.empty() && pack(elements, count, type, bytes.data(), communicator_.handle()) != MPI_SUCCESS)
        throw std::bad_alloc();
    return bytes;
}

// Their values are not defined.
void VerifiedCall::make(Elements& elements, const Side& side) const {
    Extent extent;
    if (get_extent(side.type, extent) != MPI_SUCCESS) throw std::bad_alloc();
    const auto count = static_cast<MPI_Aint>(side.count);
    const MPI_Aint last = (count - 1) * extent.extent;
    const MPI_Aint lowest = extent.true_lower_bound + std::min<MPI_Aint>(last, 0);
    const MPI_Aint span = extent.true_extent + std::abs(last);
    if (span < 0 || static_cast<std::uint64_t>(span) > 16 * most_bytes) throw std::bad_alloc();
    elements.memory = std::make_unique<std::byte[]>(static_cast<std::size_t>(span));
    elements.first = elements.memory.get() - lowest;
}

void VerifiedCall::keep_operand() {
    const Side& side = is_in_place() ? arguments_.received : arguments_.sent;
    const auto count = static_cast<std::uint64_t>(side.count);
    if (has_result()) make(combined_, arguments_.received);
    if (comparison_.wants_magnitudes()) kept_ = packed(side.buffer, count, side.type);
    if (!is_in_place()) return;
    make(operand_, side);
    const std::vector<std::byte> bytes = packed(side.buffer, count, side.type);
    if (unpack(bytes.data(), operand_.first, count, side.type, communicator_.handle()) != MPI_SUCCESS)
        throw std::bad_alloc();
}

void VerifiedCall::keep() {
    const Side& sent = arguments_.sent;
    const Side& received = arguments_.received;
    switch (call_.collective) {
        case Collective::barrier: return;
        case Collective::bcast:
            if (is_root()) kept_ = packed(received.buffer, static_cast<std::uint64_t>(received.count), received.type);
            return;
        case Collective::reduce:
        case Collective::allreduce: return keep_operand();
        case Collective::scatter:
            if (is_root()) kept_ = packed(sent.buffer, ranks() * static_cast<std::uint64_t>(sent.count), sent.type);
            return;
        default: break;
    }
    if (sent.buffer != MPI_IN_PLACE) {
        kept_ = packed(sent.buffer, static_cast<std::uint64_t>(sent.count), sent.type);
        return;
    }
    Extent extent;
    if (get_extent(received.type, extent) != MPI_SUCCESS) throw std::bad_alloc();
    const MPI_Aint block = static_cast<MPI_Aint>(received.count) * extent.extent;
    kept_ = packed(static_cast<const std::byte*>(received.buffer) + communicator_.rank() * block,
                   static_cast<std::uint64_t>(received.count), received.type);
}

void VerifiedCall::begin() {
    is_kept_ = has_memory_for([&] { keep(); });
}

template <std::size_t count>
int VerifiedCall::agree(std::array<std::uint64_t, count>& words) {
    const std::array<std::uint64_t, count> mine = words;
    return finish([&](MPI_Request* request) {
        return mpi.Iallreduce(mine.data(), words.data(), static_cast<int>(count), MPI_UINT64_T, MPI_MAX,
                              arguments_.comm, request);
    });
}

// The very collectives that the program would have called: those of a non-blocking kind may combine in another order.

int VerifiedCall::run_vendor_bcast() {
    for (std::uint64_t first = 0; first < call_.bytes; first += most_bytes) {
        const int bytes = count_of(std::min(most_bytes, call_.bytes - first));
        std::byte* part = other_.data() + first;
        const int status = collective_apart(
            arguments_.comm,
            [&](MPI_Request* request) {
                return mpi.Ibcast(part, bytes, MPI_BYTE, call_.root, arguments_.comm, request);
            },
            [&] { return mpi.Bcast(part, bytes, MPI_BYTE, call_.root, arguments_.comm); });
        if (status != MPI_SUCCESS) return status;
    }
    return MPI_SUCCESS;
}

int VerifiedCall::run_vendor_reduction() {
    const void* send = is_in_place() ? operand_.first : arguments_.sent.buffer;
    const auto elements = static_cast<std::uint64_t>(arguments_.received.count);
    const int count = count_of(elements);
    MPI_Datatype type = arguments_.received.type;
    MPI_Op op = arguments_.op;
    MPI_Comm comm = arguments_.comm;
    std::byte* result = combined_.first;
    const int status = call_application([&] {
        if (call_.collective == Collective::allreduce)
            return collective_apart(
                comm,
                [&](MPI_Request* request) { return mpi.Iallreduce(send, result, count, type, op, comm, request); },
                [&] { return mpi.Allreduce(send, result, count, type, op, comm); });
        return collective_apart(
            comm,
            [&](MPI_Request* request) { return mpi.Ireduce(send, result, count, type, op, call_.root, comm, request); },
            [&] { return mpi.Reduce(send, result, count, type, op, call_.root, comm); });
    });
    if (status != MPI_SUCCESS || !has_result()) return status;
    return pack(result, elements, type, other_.data(), comm);
}

int VerifiedCall::run_vendor_blocks() {
    const int bytes = count_of(call_.bytes);
    MPI_Comm comm = arguments_.comm;
    const std::byte* send = kept_.data();
    std::byte* result = other_.data();
    switch (call_.collective) {
        case Collective::gather:
            return collective_apart(
                comm,
                [&](MPI_Request* request) {
                    return mpi.Igather(send, bytes, MPI_BYTE, result, bytes, MPI_BYTE, call_.root, comm, request);
                },
                [&] { return mpi.Gather(send, bytes, MPI_BYTE, result, bytes, MPI_BYTE, call_.root, comm); });
        case Collective::scatter: {
            void* block = has_result() ? static_cast<void*>(result) : MPI_IN_PLACE;
            return collective_apart(
                comm,
                [&](MPI_Request* request) {
                    return mpi.Iscatter(send, bytes, MPI_BYTE, block, bytes, MPI_BYTE, call_.root, comm, request);
                },
                [&] { return mpi.Scatter(send, bytes, MPI_BYTE, block, bytes, MPI_BYTE, call_.root, comm); });
        }
        default:
            return collective_apart(
                comm,
                [&](MPI_Request* request) {
                    return mpi.Iallgather(send, bytes, MPI_BYTE, result, bytes, MPI_BYTE, comm, request);
                },
                [&] { return mpi.Allgather(send, bytes, MPI_BYTE, result, bytes, MPI_BYTE, comm); });
    }
}

int VerifiedCall::run_vendor() {
    if (call_.collective == Collective::bcast) return run_vendor_bcast();
    return is_reduction(call_.collective) ? run_vendor_reduction() : run_vendor_blocks();
}

int VerifiedCall::add_magnitudes(std::vector<double>& sums) {
    const std::size_t elements = kept_.size() / comparison_.element_bytes();
    std::vector<double> mine;
    // A rank that lacks the memory cannot leave the others alone.
    const bool has_memory = has_memory_for([&] {
        mine.resize(elements * comparison_.magnitudes_of_element());
        sums.resize(mine.size());
        comparison_.magnitudes(kept_.data(), elements, mine.data());
    });
    std::array<std::uint64_t, 1> lacks = {has_memory ? 0U : 1U};
    if (const int status = agree(lacks); status != MPI_SUCCESS) return status;
    if (lacks[0] != 0) {
        sums.clear();
        return MPI_SUCCESS;
    }
    for (std::size_t first = 0; first < mine.size(); first += most_bytes) {
        const int count = count_of(std::min<std::uint64_t>(most_bytes, mine.size() - first));
        const int status = finish([&](MPI_Request* request) {
            return mpi.Iallreduce(mine.data() + first, sums.data() + first, count, MPI_DOUBLE, MPI_SUM, arguments_.comm,
                                  request);
        });
        if (status != MPI_SUCCESS) return status;
    }
    return MPI_SUCCESS;
}

int VerifiedCall::end(std::string_view what, int status) {
    const std::uint64_t received = has_result() ? static_cast<std::uint64_t>(arguments_.received.count) : 0;
    const bool has_all = call_.collective == Collective::gather || call_.collective == Collective::allgather;
    const std::uint64_t elements = has_all ? ranks() * received : received;
    MPI_Datatype type = arguments_.received.type;
    const bool may_compare =
        status == MPI_SUCCESS && is_kept_ && elements <= std::numeric_limits<int>::max() && has_memory_for([&] {
            if (!has_result()) return;
            own_ = packed(arguments_.received.buffer, elements, type);
            other_.resize(own_.size());
            if (call_.collective == Collective::bcast && is_root()) other_ = kept_;
        });
    // Is there anybody who cannot compare? Of a wrong program, ranks may have other lengths (LIBHCOLL_CHECK tells). And what calls that do not
    // block have found since the last time.
    constexpr std::size_t first_found = 3;
    std::array<std::uint64_t, first_found + nonblocking_count> told = {may_compare && !call_.other_bytes ? 0U : 1U,
                                                                       call_.bytes, ~call_.bytes};
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        told[first_found + i] = communicator_.own().nonblocking_is_wrong[i] ? 1 : 0;
    int ended = agree(told);
    for (std::size_t i = 0; i < nonblocking_count && ended == MPI_SUCCESS; ++i)
        if (told[first_found + i] != 0) ended = leave_nonblocking_to_vendor(static_cast<Collective>(i));
    if (status != MPI_SUCCESS || ended != MPI_SUCCESS) return status != MPI_SUCCESS ? status : ended;
    const std::uint64_t most_bytes_told = told[1];
    if (told[0] != 0 || most_bytes_told == 0 || most_bytes_told != ~told[2]) return MPI_SUCCESS;
    if (ended = run_vendor(); ended != MPI_SUCCESS) return ended;

    const bool is_alike_everywhere = call_.collective == Collective::allreduce;
    const std::uint64_t hash = is_alike_everywhere ? comparison_.hash(own_, {}) : 0;
    std::array<std::uint64_t, 3> words = {own_ == other_ ? 0U : 1U, hash, ~hash};
    if (ended = agree(words); ended != MPI_SUCCESS) return ended;
    const bool is_different = words[1] != ~words[2];
    if (words[0] == 0 && !is_different) return MPI_SUCCESS;
    std::vector<double> magnitudes;
    if (comparison_.wants_magnitudes()) {
        if (ended = add_magnitudes(magnitudes); ended != MPI_SUCCESS) return ended;
        if (magnitudes.empty()) return MPI_SUCCESS;  // somebody has no memory for it
    }
    return judge(what, is_different, magnitudes);
}

int VerifiedCall::judge(std::string_view what, bool is_different, std::span<const double> magnitudes) {
    const std::optional<std::size_t> wrong = comparison_.first_wrong(own_, other_, magnitudes);
    const int rank = communicator_.rank();
    std::vector<int> flags;
    std::shared_ptr<const CallDecisions> others;
    const bool has_memory = has_memory_for([&] {
        flags.resize(ranks());
        others = communicator_.decisions_without(call_.collective, what);
    });
    // The rank that reports: the first with a wrong result, else that of the communicator.
    // Where operands were not finite, ranks may have different bits.
    const std::uint64_t hash = is_different ? comparison_.hash(own_, magnitudes) : 0;
    std::array<std::uint64_t, 4> words = {wrong ? ranks() - static_cast<std::uint64_t>(rank) : 0, has_memory ? 0U : 1U,
                                          hash, ~hash};
    if (const int status = agree(words); status != MPI_SUCCESS) return status;
    if (words[0] == 0 && words[2] == ~words[3]) return MPI_SUCCESS;
    const int reporter = words[0] == 0 ? 0 : static_cast<int>(ranks() - words[0]);
    if (words[1] == 0) {
        const int mine = wrong ? 1 : 0;
        const int status = finish([&](MPI_Request* request) {
            return mpi.Iallgather(&mine, 1, MPI_INT, flags.data(), 1, MPI_INT, arguments_.comm, request);
        });
        if (status != MPI_SUCCESS) return status;
    } else {
        flags.clear();
        others = nullptr;
    }
    if (rank == reporter) (void)has_memory_for([&] { log_line(LogLevel::error, text(what, wrong, flags)); });
    int status = MPI_SUCCESS;
    // What is received has a type and a count on those ranks alone.
    if (has_result()) {
        const std::uint64_t element_bytes = std::max<std::uint64_t>(type_size(arguments_.received.type), 1);
        status = unpack(other_.data(), const_cast<void*>(arguments_.received.buffer), other_.size() / element_bytes,
                        arguments_.received.type, arguments_.comm);
    }
    communicator_.run_without(std::move(others));
    return status;
}

std::string VerifiedCall::text(std::string_view what, std::optional<std::size_t> wrong,
                               const std::vector<int>& flags) const {
    std::string found = "its ranks have results of different bits";
    if (wrong) {
        found = wrong_element_text(comparison_, call_.collective, communicator_.rank(), *wrong, own_, other_);
        std::vector<int> wrong_ranks;
        for (std::size_t i = 0; i < flags.size(); ++i)
            if (flags[i] != 0) wrong_ranks.push_back(static_cast<int>(i));
        if (wrong_ranks.size() > 1) found += fmt::format(", and {} have wrong results", ranks_text(wrong_ranks));
    }
    return wrong_result_text(verified_text(communicator_, call_, number_, what), what, found);
}

int VerifiedCall::leave_nonblocking_to_vendor(Collective collective) {
    std::shared_ptr<const CallDecisions> others;
    const bool has_memory = has_memory_for([&] { others = communicator_.decisions_without_nonblocking(collective); });
    std::array<std::uint64_t, 1> lacks = {has_memory ? 0U : 1U};
    if (const int status = agree(lacks); status != MPI_SUCCESS) return status;
    communicator_.own().nonblocking_is_wrong[static_cast<std::size_t>(collective)] = false;
    communicator_.run_without(lacks[0] != 0 ? nullptr : std::move(others));
    return MPI_SUCCESS;
}

}  // namespace hcoll
