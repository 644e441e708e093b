// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/plan_run.hpp"

#include "intercept/process/abort_job.hpp"

namespace hcoll {

int make_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, std::unique_ptr<PlanRun>& run) {
    OwnAlgorithms& own = communicator.own();
    ++own.uses;
    auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                          {.collective = Collective::bcast, .root = root, .units = count * type_size(type)});
    run = std::make_unique<PlanRun>(own, std::move(plan), MPI_BYTE, 1, MPI_OP_NULL);
    if (const int status = run->staged().take(buffer, count, type, communicator.rank() == root); status != MPI_SUCCESS)
        return status;
    const auto message = find_signature(buffer, count, type, SignatureBytes::Side::output, run->signature());
    if (!message.has_value()) return run->hold_elements(buffer, count, type, communicator.rank() == root);
    run->buffers().output = *message;
    return MPI_SUCCESS;
}

int make_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                   const Reduction& reduction, std::unique_ptr<PlanRun>& run) {
    OwnAlgorithms& own = communicator.own();
    ++own.uses;
    const std::uint64_t unit_bytes = type_size(reduction.type);
    const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
    auto plan = find_plan(own.nonblocking.plans, communicator, decision,
                          {.collective = collective,
                           .in_place = in_place,
                           .root = reduction.root,
                           .unit_bytes = unit_bytes,
                           .units = reduction.count});
    run = std::make_unique<PlanRun>(own, std::move(plan), reduction.type, unit_bytes, reduction.op);
    Reduction on_host = reduction;
    const bool has_output = collective == Collective::allreduce || communicator.rank() == reduction.root;
    if (const int status = run->staged().take(on_host, has_output); status != MPI_SUCCESS) return status;
    if (!in_place) run->buffers().input = static_cast<const std::byte*>(on_host.send_buffer);
    run->buffers().output = static_cast<std::byte*>(on_host.receive_buffer);
    return MPI_SUCCESS;
}

void note_completion(int status) { end_job_unless(status, "the request of a collective is completed"); }

void send_on_its_way(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience) {
    InFlight& in_flight = Background::get().in_flight();
    if (patience.count() != 0) return in_flight.add_and_lead(std::move(operation), patience);
    in_flight.add(std::move(operation));
    if (!Background::get().leaves_idups_alone()) in_flight.drive(InFlight::Driver::background);
}

}  // namespace hcoll
