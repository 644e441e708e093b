#include "progress/engine/in_order.hpp"

namespace hcoll {

namespace {

// Its channel tells a message from the others of its only segment.
std::uint32_t tag_of(const Step& step) { return message_tag(step.channel, 0); }

}  // namespace

Status run_in_order(const Plan& plan, const RunBuffers& buffers, Transport& transport, LocalOperations& operations) {
    if (plan.sequence.empty()) return 0;
    const Phase& phase = plan.phases.front();
    const Segment segment = phase.segment(0);
    Token begun = 0;  // sends
    Token over = 0;   // of those, from the first on
    Status status = 0;
    for (std::size_t i = 0; i < plan.sequence.size() && status == 0; ++i) {
        const Step& step = plan.steps[plan.sequence[i].step];
        if (plan.sequence[i].sends_over > over) {
            over = plan.sequence[i].sends_over;
            if (status = transport.finish_sends(over); status != 0) return status;
        }
        const std::byte* source = buffers.address(phase, step.source, segment);
        std::byte* target = buffers.writable(phase, step.target, segment);
        const std::uint64_t units = Phase::region_length(step.has_target() ? step.target : step.source, segment);
        switch (step.kind) {
            case StepKind::send:
                status = i < plan.steps_to_last_receive
                             ? transport.begin_send(step.peer, tag_of(step), source, units, begun)
                             : transport.send_now(step.peer, tag_of(step), source, units);
                ++begun;
                break;
            case StepKind::recv: status = transport.recv_now(step.peer, tag_of(step), target, units); break;
            case StepKind::reduce: status = operations.reduce(source, target, units); break;
            case StepKind::copy: status = operations.copy(source, target, units); break;
            case StepKind::collective: break;  // no sequence has one
        }
    }
    return status == 0 && over < begun ? transport.finish_sends(begun) : status;
}

}  // namespace hcoll
