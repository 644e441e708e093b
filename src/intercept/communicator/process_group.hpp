// SPDX-License-Identifier: BSD-3-Clause
// The processes that communicators consist of. What depends on them alone is found once, for the first of their communicators that is
// set up, and kept: where they sit, what their calls run, and what was made for a communicator that is freed.
//
//   communicators of the application    A          B (freed)        C
//                                       |                           |
//   of their processes            [ OwnAlgorithms 1 | 2, idle | 3 ]      the next one takes 2
//
// Freeing a communicator of the application is local, and so gives its part back here without a message and without a call of MPI.
// The vendor's communicators are freed at finalize, all of them in the order of their serial numbers, which their ranks share.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "intercept/communicator/own_algorithms.hpp"
#include "intercept/process/world_ranks.hpp"
#include "progress/engine/per_process.hpp"

namespace hcoll {

class Communicator;

// The facts about a group; those of one number are the same on all its processes. Threads that set communicators up at the same time may
// find facts that differ (what is measured does), and processes may learn of them in different orders.
struct GroupFacts {
    std::uint64_t serial = 0;  // of the communicator that they were found for, or made with
    std::shared_ptr<const Placement> placement;
    std::shared_ptr<const CallDecisions> decisions;
    // Of those that have been made, the last ones; nullptr where there are none to share.
    std::shared_ptr<SharedDuplicate> duplicate;
    std::shared_ptr<SharedRooms> rooms;
    std::shared_ptr<PeerMemory> copies;  // proven between the ranks of the node; nullptr where they are not
};

// From any thread.
class ProcessGroup {
public:
    // What a communicator of theirs runs on, and which communicator of the application that is.
    struct Part {
        std::unique_ptr<OwnAlgorithms> own;
        Communicator* user = nullptr;    // nullptr where none
        bool is_reserved = false;        // by a communicator that is being set up
        std::uint64_t uses_at_look = 0;  // when one was looked for that is used little
    };

    explicit ProcessGroup(std::optional<WorldRanks> who) : who_(std::move(who)) {}

private:
    friend class ProcessGroups;
    std::optional<WorldRanks> who_;  // empty where nothing tells them from others: then it serves one communicator
    std::shared_ptr<const GroupFacts> facts_;
    std::list<Part> parts_;
};

class ProcessGroups {
public:
    static ProcessGroups& get();

    // A group is there as long as somebody holds it or it has parts; if nothing is known of it, no longer, and else until many others
    // have come after it. nullptr where they are not known.
    std::shared_ptr<ProcessGroup> find(const WorldRanks& who);
    std::shared_ptr<ProcessGroup> find_or_add(const std::optional<WorldRanks>& who);

    // nullptr until they are found; then those of the largest number that this process has learned.
    std::shared_ptr<const GroupFacts> facts_of(const ProcessGroup& group);
    void learn(ProcessGroup& group, const GroupFacts& facts);

    // Larger than all that this process has drawn or seen; the largest that any rank has drawn for a communicator is its own alone.
    std::uint64_t draw_serial();
    void note_serial(std::uint64_t serial);

    // How many parts there are, those that nobody uses included.
    std::uint64_t parts();

    // Has any group of so many processes that do not follow one another an idle part?
    bool has_idle_of_table(int ranks, bool with_everything);
    // Sets the idle part with the lowest serial number aside, for a communicator that is being set up; nullptr where none is.
    OwnAlgorithms* reserve_idle(ProcessGroup& group, bool with_everything);
    void unreserve(ProcessGroup& group, const OwnAlgorithms& own);
    // From now on it is used by that communicator, or by none.
    void hand_over(ProcessGroup& group, const OwnAlgorithms& own, Communicator* user);
    // Keeps the one part in the list, set aside for the communicator that is being set up. Takes no memory.
    OwnAlgorithms* add(ProcessGroup& group, std::list<ProcessGroup::Part>& part);
    // Before a session ends: frees what no communicator uses of groups that nothing tells from others, for whom nobody will come.
    void free_unknown();

    // The serial number of the part in use that was used least since the last look, fewer times than `fewer_than`; 0: none.
    std::uint64_t look_for_little_used(ProcessGroup& group, std::uint64_t fewer_than);
    // The part of that number and who uses it; nullptr where there is none.
    struct InUse {
        OwnAlgorithms* own = nullptr;
        Communicator* user = nullptr;
    };
    InUse find_part(ProcessGroup& group, std::uint64_t serial);

    // How soon communicators were freed again after they had been set up: rises with each that was too soon, and falls.
    void note_life(std::uint64_t uses);
    unsigned int caution();

    // At finalize, when no communicator uses any: frees all of them.
    void free_all();

private:
    void forget_unused();
    template <typename IsIt>
    void free_parts(IsIt&& is_it);
    ProcessGroup::Part* part_of(ProcessGroup& group, const OwnAlgorithms& own);

    std::mutex mutex_;
    std::vector<std::shared_ptr<ProcessGroup>> groups_;  // the oldest first
    std::uint64_t parts_ = 0;
    std::uint64_t last_serial_ = 0;
    unsigned int caution_ = 0;
};

}  // namespace hcoll
