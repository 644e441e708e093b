// SPDX-License-Identifier: BSD-3-Clause
// One collective call with all that describes it: its buffers are made, it is run, and every rank's buffers are
// compared with a serial reference that each rank computes by itself.
#pragma once

#include "guarded_buffer.hpp"
#include "timed_barrier.hpp"
#include "user_operation.hpp"

#include <optional>
#include <string>
#include <utility>

namespace hcoll::test {

enum class Collective { bcast, reduce, allreduce, barrier };

inline const char* name_of(Collective collective) {
    switch (collective) {
        case Collective::bcast: return "MPI_Bcast";
        case Collective::reduce: return "MPI_Reduce";
        case Collective::barrier: return "MPI_Barrier";
        default: return "MPI_Allreduce";
    }
}

struct Call {
    Collective collective = Collective::bcast;
    MPI_Comm comm = MPI_COMM_NULL;
    const char* comm_name = "";
    int rank = 0;
    int size = 1;
    const TestType* type = nullptr;
    std::int64_t count = 0;
    Operation operation;
    int root = 0;
    bool in_place = false;
    bool null_buffers = false;   // of what is not significant on this rank, or empty
    bool large_variant = false;  // the MPI_Count interface, where the MPI library has it
    std::uint64_t seed = 0;
};

inline std::string describe(const Call& call) {
    std::string text = name_of(call.collective);
    if (call.collective == Collective::barrier) return text + " on " + call.comm_name;
    text += call.large_variant ? "_c" : "";
    text += " on " + std::string(call.comm_name) + " (rank " + std::to_string(call.rank) + " of " +
            std::to_string(call.size) + "), " + std::to_string(call.count) + " x " + call.type->name;
    if (call.collective != Collective::bcast) text += ", " + call.operation.name + (call.in_place ? ", in place" : "");
    if (call.collective != Collective::allreduce) text += ", root " + std::to_string(call.root);
    return text;
}

// Both buffers of a call; a broadcast uses only 'receive'.
struct Buffers {
    GuardedBuffer send;
    GuardedBuffer receive;
};

inline bool gets_result(const Call& call) { return call.collective != Collective::reduce || call.rank == call.root; }

// Whether this rank's contribution lies in the receive buffer.
inline bool contributes_in_place(const Call& call) {
    if (call.collective == Collective::bcast) return call.rank == call.root;
    return call.in_place && gets_result(call);
}

inline void fill_contribution(const Call& call, int rank, GuardedBuffer& buffer) {
    Random random(mix({call.seed, static_cast<std::uint64_t>(rank)}));
    const Draw how = call.type->draws(call.operation.op, rank);
    for (std::int64_t i = 0; i < call.count; ++i) call.type->fill(buffer.item(i), how, random);
}

inline Buffers make_buffers(const Call& call) {
    Buffers buffers{{*call.type, call.count, call.seed}, {*call.type, call.count, call.seed + 1}};
    if (contributes_in_place(call))
        fill_contribution(call, call.rank, buffers.receive);
    else if (call.collective != Collective::bcast)
        fill_contribution(call, call.rank, buffers.send);
    return buffers;
}

// With HCOLL_TEST_TRACE set, every call is told before it is made: for what ends in a crash or a hang.
inline void trace(const Call& call) {
    static const bool wanted = std::getenv("HCOLL_TEST_TRACE") != nullptr;
    if (wanted) std::fprintf(stderr, "rank %d: %s\n", failure_context().rank, describe(call).c_str());
}

// Does the call; returns its error code.
inline int execute(const Call& call, Buffers& buffers) {
    trace(call);
    const bool empty = call.count == 0;
    const bool result = gets_result(call);
    const void* send = buffers.send.data();
    void* receive = buffers.receive.data();
    if (call.null_buffers && (empty || !result)) receive = nullptr;
    if (call.null_buffers && empty) send = nullptr;
    if (call.in_place && result) send = MPI_IN_PLACE;
    const LayoutScope scope(*call.type);
    const auto count = static_cast<int>(call.count);
    const MPI_Datatype type = call.type->handle;
    const MPI_Op op = call.operation.handle;
#if MPI_VERSION >= 4
    if (call.large_variant) {
        switch (call.collective) {
            case Collective::bcast: return MPI_Bcast_c(receive, call.count, type, call.root, call.comm);
            case Collective::reduce: return MPI_Reduce_c(send, receive, call.count, type, op, call.root, call.comm);
            case Collective::allreduce: return MPI_Allreduce_c(send, receive, call.count, type, op, call.comm);
            case Collective::barrier: break;
        }
    }
#endif
    switch (call.collective) {
        case Collective::bcast: return MPI_Bcast(receive, count, type, call.root, call.comm);
        case Collective::reduce: return MPI_Reduce(send, receive, count, type, op, call.root, call.comm);
        default: return MPI_Allreduce(send, receive, count, type, op, call.comm);
    }
}

// Writes into 'receive' what the call must leave there: the contributions in rank order, left to right.
inline void write_expected(const Call& call, GuardedBuffer& receive) {
    if (call.collective == Collective::bcast) {
        fill_contribution(call, call.root, receive);
        return;
    }
    if (!gets_result(call)) return;
    fill_contribution(call, call.size - 1, receive);
    GuardedBuffer left(*call.type, call.count, 0);
    for (int rank = call.size - 2; rank >= 0; --rank) {
        fill_contribution(call, rank, left);
        for (std::int64_t i = 0; i < call.count; ++i)
            call.type->combine(call.operation.op, left.item(i), receive.item(i));
    }
}

// Runs the call and takes the job down if any of it is wrong.
inline void run_checked(const Call& call) {
    if (call.collective == Collective::barrier) {
        trace(call);
        check(timed_barrier(call.comm, static_cast<int>(call.seed % static_cast<std::uint64_t>(call.size + 1))));
        return;
    }
    Buffers buffers = make_buffers(call);
    Buffers expected = buffers;
    const int code = execute(call, buffers);
    if (code != MPI_SUCCESS) fail(describe(call) + ": returned " + error_text(code));
    write_expected(call, expected.receive);
    if (const auto difference = buffers.send.difference(expected.send))
        fail(describe(call) + ": the send buffer changed: " + *difference);
    if (const auto difference = buffers.receive.difference(expected.receive))
        fail(describe(call) + ": " + (gets_result(call) ? "" : "at a rank that gets no result: ") + *difference);
}

}  // namespace hcoll::test
