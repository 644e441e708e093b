#include "progress/node/routed_transport.hpp"

#include <sched.h>

#include <utility>

namespace hcoll {

void RoutedTransport::use_node(std::unique_ptr<NodeMessages> node, const Placement& placement, int rank,
                               bool oversubscribed) {
    node_ = std::move(node);
    index_on_node_.assign(static_cast<std::size_t>(placement.ranks()), elsewhere);
    for (const int each : placement.ranks_of_node(placement.node_of(rank)))
        index_on_node_[static_cast<std::size_t>(each)] = placement.index_on_node(each);
    polls_before_yield_ = oversubscribed ? impatient_polls : patient_polls;
}

void RoutedTransport::leave_node() {
    node_.reset();
    is_carried_ = false;
}

void RoutedTransport::begin(const Elements& elements) {
    elements_ = elements;
    is_carried_ = node_ != nullptr && node_->carries(elements.bytes);
    ++sequence_;
    if (is_carried_) node_->begin(tag_of(0));
}

Status RoutedTransport::progress(std::vector<Token>& completed) {
    const std::size_t before = completed.size();
    Status status = network_.progress(completed);
    if (status == 0 && is_carried_) status = node_->progress(completed);
    if (completed.size() != before) {
        idle_polls_ = 0;
        // Ranks whose collectives never have to wait may do many of them on end.
        constexpr int polls_between_drives = 32;
        if (is_carried_ && ++busy_polls_ % polls_between_drives == 0 && status == 0) status = drive_(context_);
    } else if (++idle_polls_ > polls_before_yield_) {
        sched_yield();
        if (is_carried_ && status == 0) status = drive_(context_);
    }
    return status;
}

}  // namespace hcoll
