// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/process_group.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/check.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

namespace {

constexpr int random_bits = 32;

}  // namespace

ProcessGroups& ProcessGroups::get() {
    static auto* instance = new PerProcess<ProcessGroups>;
    return instance->get();
}

std::shared_ptr<ProcessGroup> ProcessGroups::find(const WorldRanks& who) {
    const std::lock_guard lock(mutex_);
    for (const auto& group : groups_)
        if (group->who_ == who) return group;
    return nullptr;
}

std::shared_ptr<ProcessGroup> ProcessGroups::find_or_add(const std::optional<WorldRanks>& who) {
    const std::lock_guard lock(mutex_);
    if (who)
        for (const auto& group : groups_)
            if (group->who_ == who) return group;
    forget_unused();
    return groups_.emplace_back(std::make_shared<ProcessGroup>(who));
}

// Before one more is added: programs may make communicators of ever new processes. Whoever comes back to one that is forgotten finds its facts anew, as
// all its ranks do where one of them has to.
void ProcessGroups::forget_unused() {
    constexpr std::size_t most_with_facts = 256;
    std::size_t with_facts = 0;
    for (const auto& group : groups_)
        if (group->parts_.empty() && group->facts_ != nullptr) ++with_facts;
    std::erase_if(groups_, [&](const std::shared_ptr<ProcessGroup>& group) {
        if (!group->parts_.empty() || group.use_count() != 1) return false;
        if (group->facts_ == nullptr || !group->who_) return true;
        const bool is_too_many = with_facts > most_with_facts;
        if (is_too_many) --with_facts;
        return is_too_many;
    });
}

std::shared_ptr<const GroupFacts> ProcessGroups::facts_of(const ProcessGroup& group) {
    const std::lock_guard lock(mutex_);
    return group.facts_;
}

void ProcessGroups::learn(ProcessGroup& group, const GroupFacts& facts) {
    auto learned = std::make_shared<const GroupFacts>(facts);
    const std::lock_guard lock(mutex_);
    if (group.facts_ == nullptr || facts.serial > group.facts_->serial) group.facts_ = std::move(learned);
}

// Threads that set communicators up at the same time may come to the same number, as the largest that any rank has drawn: what is
// drawn at random behind it tells them apart.
std::uint64_t ProcessGroups::draw_serial() {
    std::uint32_t random = 0;
    const bool is_drawn = getrandom(&random, sizeof random, 0) == sizeof random;
    const std::lock_guard lock(mutex_);
    if (!is_drawn)
        random = static_cast<std::uint32_t>((last_serial_ + 1) * 0x9E3779B1U) ^ static_cast<std::uint32_t>(getpid());
    return ++last_serial_ << random_bits | random;
}

void ProcessGroups::note_serial(std::uint64_t serial) {
    const std::lock_guard lock(mutex_);
    last_serial_ = std::max(last_serial_, serial >> random_bits);
}

std::uint64_t ProcessGroups::parts() {
    const std::lock_guard lock(mutex_);
    return parts_;
}

ProcessGroup::Part* ProcessGroups::part_of(ProcessGroup& group, const OwnAlgorithms& own) {
    const auto found = std::find_if(group.parts_.begin(), group.parts_.end(),
                                    [&](const ProcessGroup::Part& part) { return part.own.get() == &own; });
    check(found != group.parts_.end(), "a part is kept by its group");
    return &*found;
}

OwnAlgorithms* ProcessGroups::reserve_idle(ProcessGroup& group, bool with_everything) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part* lowest = nullptr;
    for (ProcessGroup::Part& part : group.parts_) {
        if (part.user != nullptr || part.is_reserved || !part.own->is_idle()) continue;
        if (part.own->has_everything != with_everything) continue;
        if (lowest == nullptr || part.own->serial < lowest->own->serial) lowest = &part;
    }
    if (lowest == nullptr) return nullptr;
    lowest->is_reserved = true;
    return lowest->own.get();
}

bool ProcessGroups::has_idle_of_table(int ranks, bool with_everything) {
    const std::lock_guard lock(mutex_);
    return std::any_of(groups_.begin(), groups_.end(), [&](const std::shared_ptr<ProcessGroup>& group) {
        return group->who_ && group->who_->ranks == ranks && !group->who_->table.empty() &&
               std::any_of(group->parts_.begin(), group->parts_.end(), [&](const ProcessGroup::Part& part) {
                   return part.user == nullptr && part.own->has_everything == with_everything;
               });
    });
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

OwnAlgorithms* ProcessGroups::add(ProcessGroup& group, std::list<ProcessGroup::Part>& part) {
    const std::lock_guard lock(mutex_);
    ProcessGroup::Part& added = part.front();
    added.is_reserved = true;
    group.parts_.splice(group.parts_.end(), part);
    ++parts_;
    if (added.own->shared_duplicate != nullptr) added.own->shared_duplicate->add_user();
    return added.own.get();
}

std::uint64_t ProcessGroups::look_for_little_used(ProcessGroup& group, std::uint64_t fewer_than) {
    const std::lock_guard lock(mutex_);
    std::uint64_t fewest = fewer_than;
    std::uint64_t serial = 0;
    for (ProcessGroup::Part& part : group.parts_) {
        // Whoever has asked for something would no longer run it.
        if (part.user == nullptr || part.is_reserved || part.own->has_everything) continue;
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

// In the order of their numbers, since some MPI libraries wait for the other ranks in it; a duplicate that several share goes with the last one. What persistent
// requests still name stays, since each rank frees its own when it likes, and so does what is broken: some of its ranks may be gone.
template <typename IsIt>
void ProcessGroups::free_parts(IsIt&& is_it) {
    std::list<ProcessGroup::Part> parts;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& group : groups_)
            for (auto part = group->parts_.begin(); part != group->parts_.end();) {
                const auto next = std::next(part);
                if (is_it(*group, *part)) parts.splice(parts.end(), group->parts_, part);
                part = next;
            }
        parts_ -= parts.size();
    }
    parts.sort([](const auto& a, const auto& b) { return a.own->serial < b.own->serial; });
    for (ProcessGroup::Part& part : parts) {
        std::unique_ptr<OwnAlgorithms>& own = part.own;
        Process& process = Process::get();
        if (process.report() != nullptr || process.agreed()->settings.learn_file != "off")
            (void)has_memory_for([&] { process.learned().add(own->learning, *own->placement); });
        if (own->nonblocking.has_persistent() || own->is_broken)
            (void)own.release();
        else
            own->free_communicators();
    }
}

void ProcessGroups::free_unknown() {
    free_parts([](const ProcessGroup& group, const ProcessGroup::Part& part) {
        return !group.who_ && part.user == nullptr && !part.is_reserved && part.own->is_idle();
    });
}

void ProcessGroups::free_all() {
    free_parts([](const ProcessGroup&, const ProcessGroup::Part&) { return true; });
}

}  // namespace hcoll
