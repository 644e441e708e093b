#include "intercept/communicator/process_group.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/process.hpp"

namespace hcoll {

ProcessGroups& ProcessGroups::get() {
    static auto* instance = new PerProcess<ProcessGroups>;
    return instance->get();
}

ProcessGroup* ProcessGroups::find(const WorldRanks& who) {
    const std::lock_guard lock(mutex_);
    for (const auto& group : groups_)
        if (group->who_ == who) return group.get();
    return nullptr;
}

ProcessGroup& ProcessGroups::find_or_add(const std::optional<WorldRanks>& who) {
    const std::lock_guard lock(mutex_);
    if (who)
        for (const auto& group : groups_)
            if (group->who_ == who) return *group;
    return *groups_.emplace_back(std::make_unique<ProcessGroup>(who));
}

std::shared_ptr<const GroupFacts> ProcessGroups::facts_of(const ProcessGroup& group) {
    const std::lock_guard lock(mutex_);
    return group.facts_;
}

void ProcessGroups::learn(ProcessGroup& group, const GroupFacts& facts) {
    auto learned = std::make_shared<const GroupFacts>(facts);
    const std::lock_guard lock(mutex_);
    if (group.facts_ == nullptr || facts.rooms != group.facts_->rooms) group.facts_ = std::move(learned);
}

std::uint64_t ProcessGroups::draw_serial() {
    const std::lock_guard lock(mutex_);
    return ++last_serial_;
}

void ProcessGroups::note_serial(std::uint64_t serial) {
    const std::lock_guard lock(mutex_);
    last_serial_ = std::max(last_serial_, serial);
}

std::uint64_t ProcessGroups::duplicates() {
    const std::lock_guard lock(mutex_);
    return duplicates_;
}

ProcessGroup::Part* ProcessGroups::part_of(ProcessGroup& group, const OwnAlgorithms& own) {
    const auto found = std::find_if(group.parts_.begin(), group.parts_.end(),
                                    [&](const ProcessGroup::Part& part) { return part.own.get() == &own; });
    check(found != group.parts_.end(), "a part is kept by its group");
    return &*found;
}

OwnAlgorithms* ProcessGroups::reserve_idle(ProcessGroup& group) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part* lowest = nullptr;
    for (ProcessGroup::Part& part : group.parts_) {
        if (part.user != nullptr || part.is_reserved || !part.own->is_idle()) continue;
        if (lowest == nullptr || part.own->serial < lowest->own->serial) lowest = &part;
    }
    if (lowest == nullptr) return nullptr;
    lowest->is_reserved = true;
    return lowest->own.get();
}

void ProcessGroups::unreserve(ProcessGroup& group, const OwnAlgorithms& own) {
    const std::lock_guard lock(mutex_);
    part_of(group, own)->is_reserved = false;
}

void ProcessGroups::hand_over(ProcessGroup& group, const OwnAlgorithms& own, Communicator* user) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part* part = part_of(group, own);
    part->user = user;
    part->is_reserved = false;
    part->uses_at_look = own.uses;
}

OwnAlgorithms* ProcessGroups::add(ProcessGroup& group, std::unique_ptr<OwnAlgorithms>& own) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part& part = group.parts_.emplace_back();
    part.own = std::move(own);
    part.is_reserved = true;
    ++duplicates_;
    return part.own.get();
}

std::unique_ptr<OwnAlgorithms> ProcessGroups::remove(ProcessGroup& group, const OwnAlgorithms& own) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part* part = part_of(group, own);
    std::unique_ptr<OwnAlgorithms> removed = std::move(part->own);
    group.parts_.erase(group.parts_.begin() + (part - group.parts_.data()));
    --duplicates_;
    return removed;
}

std::uint64_t ProcessGroups::look_for_little_used(ProcessGroup& group, std::uint64_t fewer_than) {
    const std::lock_guard lock(mutex_);
    std::uint64_t fewest = fewer_than;
    std::uint64_t serial = 0;
    for (ProcessGroup::Part& part : group.parts_) {
        if (part.user == nullptr || part.is_reserved) continue;
        const std::uint64_t since_look = part.own->uses - part.uses_at_look;
        part.uses_at_look = part.own->uses;
        if (since_look >= fewest || !part.own->is_idle()) continue;
        fewest = since_look;
        serial = part.own->serial;
    }
    return serial;
}

ProcessGroups::InUse ProcessGroups::find_part(ProcessGroup& group, std::uint64_t serial) {
    const std::lock_guard lock(mutex_);
    for (const ProcessGroup::Part& part : group.parts_)
        if (part.own->serial == serial && part.user != nullptr) return {part.own.get(), part.user};
    return {};
}

// A communicator that has used what was made for it so often has repaid it.
void ProcessGroups::note_life(std::uint64_t uses) {
    constexpr std::uint64_t repaid = 64;
    constexpr unsigned int most = 6;
    const std::lock_guard lock(mutex_);
    if (uses < repaid)
        caution_ = std::min(caution_ + 1, most);
    else if (caution_ != 0)
        --caution_;
}

unsigned int ProcessGroups::caution() {
    const std::lock_guard lock(mutex_);
    return caution_;
}

// In the order of their numbers, since some MPI libraries wait for the other ranks in it. What persistent requests still name
// stays, since each rank frees its own when it likes, and so does what is broken: some of its ranks may be gone.
template <typename IsIt>
void ProcessGroups::free_parts(IsIt&& is_it) {
    std::vector<std::unique_ptr<OwnAlgorithms>> parts;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& group : groups_)
            std::erase_if(group->parts_, [&](ProcessGroup::Part& part) {
                if (!is_it(*group, part)) return false;
                parts.push_back(std::move(part.own));
                return true;
            });
        duplicates_ -= parts.size();
    }
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a->serial < b->serial; });
    for (std::unique_ptr<OwnAlgorithms>& own : parts) {
        if (log_enabled(LogLevel::debug))
            log_line(LogLevel::debug, fmt::format("rank {} of MPI_COMM_WORLD frees duplicate {}",
                                                  Process::get().world_rank(), own->serial));
        if (own->nonblocking.has_persistent() || own->is_broken)
            (void)own.release();
        else
            own->free_communicators();
    }
}

void ProcessGroups::free_unknown() {
    free_parts([](const ProcessGroup& group, const ProcessGroup::Part& part) {
        return !group.who_ && part.user == nullptr && part.own->is_idle();
    });
}

void ProcessGroups::free_all() {
    free_parts([](const ProcessGroup&, const ProcessGroup::Part&) { return true; });
}

}  // namespace hcoll
