// SPDX-License-Identifier: BSD-3-Clause
// How a communicator of the application comes to own algorithms: what its ranks have to agree on, and what is made for it.
//
//   agree        one small Allreduce of the vendor's: settings, whether it is earned, room, and whether the processes have been met before
//   take over    an idle part that an earlier communicator of the same processes has left: nothing more is to be done
//   find         otherwise, for the first communicator of its processes: where they sit, what calls run (GroupFacts)
//   make         a duplicate or tags on one that there is, the memory that the ranks of a node share, single copies
//
// All ranks are in the same call, in which all of them wait for all. Every step ends alike on all ranks: what one of them cannot do, none
// does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "intercept/communicator/process_group.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/reach.hpp"

namespace hcoll {

struct SegmentUse;  // segment_use.hpp

class SetUp {
public:
    struct Of {
        MPI_Comm handle;
        int rank;
        int size;
        Reach reach;
        bool is_watched;  // the vendor will tell when it is freed
        bool is_at_once;  // a setting wants it, earned or not
        bool
            wants_everything;  // all that any choice needs, for a communicator that is asked to run what nobody would choose
        std::uint64_t calls;  // that it has seen
        std::uint64_t bytes;  // of those
        Communicator* user;
    };
    // The same on all ranks, but for the pointers.
    struct Result {
        OwnAlgorithms* own = nullptr;
        ProcessGroup* group = nullptr;
        const char* why_vendor = nullptr;  // for good
        const char* why_later = nullptr;   // until it has seen twice as many calls
    };

    explicit SetUp(const Of& of) : of_(of) {}
    Result run();

private:
    // What the ranks tell one another; the largest of each holds for all. For what has to be equal both x and ~x are told.
    enum Field : std::size_t {
        hash,
        inverse_hash,
        no_room,
        not_watched,
        device,
        no_progress,
        fewest_tags,
        apart,  // a duplicate of its own
        unearned,
        idle_elsewhere,  // something of processes that do not follow one another
        too_few_calls,   // too little for learning to gain anything
        by_own_calls,    // when it is set up depends on its own calls alone
        offset,
        inverse_offset,
        serial,
        about_group,  // from here on: what is known of these processes
        idle = about_group,
        inverse_idle,
        idle_calls,  // that it has learned from
        inverse_idle_calls,
        facts,
        inverse_facts,
        room,
        inverse_room,
        tags,
        inverse_tags,
        fields
    };
    using Told = std::array<std::uint64_t, fields>;

    Result choose();
    bool agree(std::span<std::uint64_t> values);
    bool is_true_anywhere(bool here);
    bool meet();
    bool find_group();
    void tell_about_group();
    bool is_earned() const;
    bool is_used_much() const;
    bool goes_by_own_calls() const;
    bool is_only_to_learn() const;
    OwnAlgorithms* take_over_little_used();

    const char* find_facts();
    bool may_run_in_background(int ranks_of_node);
    std::shared_ptr<const Placement> find_placement() const;
    DecisionTables make_decisions(const Placement& placement, bool has_shared_memory) const;
    NonblockingTables make_nonblocking_decisions(const Placement& placement, int ranks_of_node) const;
    TrialTables make_trials(const Placement& placement, NodeMemory memory) const;
    const char* make();
    const char* make_in_room();
    // Do the processes follow one another in MPI_COMM_WORLD?
    bool are_in_a_row() const { return of_.reach == Reach::world && all_[offset] == ~all_[inverse_offset]; }
    bool has_facts() const { return all_[facts] != 0 && all_[facts] == ~all_[inverse_facts]; }
    bool has_room() const { return all_[room] != 0 && all_[room] == ~all_[inverse_room]; }
    bool has_tags() const { return all_[apart] == 0 && all_[tags] != 0 && all_[tags] == ~all_[inverse_tags]; }
    static bool may_have_threads();
    bool wants_duplicate_apart() const;
    void give_places_back();
    bool wants_leaders() const;
    void copy_decisions();
    void find_duplicate();
    void leave_duplicate();
    bool make_own();
    void make_around_duplicate();
    MPI_Comm make_leaders();
    void make_carriers();
    void make_trials_again(NodeMemory memory);
    bool keep();
    void learn_facts();
    void compare_clocks();
    void drop_own();
    void give_back();
    Result make_among_neighbors();
    const char* make_with(const Neighbors& neighbors);

    bool make_segment(const SegmentUse& use);
    int try_segment(const SegmentUse& use, int most_rooms);
    int tell_node(void* told, int numbers) const;
    int worst_of_all(int problem) const;
    int join_segment(const SegmentAddress& address);
    int enter_segment();
    int hand_segment_over(const SegmentAddress& address, int problem);
    bool may_share_rooms() const;
    void make_empty_rooms();
    int enter(int number);
    bool find_single_copy(SingleCopyWay way);
    bool is_single_copy_faster();

    const Settings& settings() const { return agreed_->settings; }

    Of of_;
    std::shared_ptr<const AgreedSettings> agreed_;
    Told all_{};
    std::optional<WorldRanks> who_;  // the processes, where they are within MPI_COMM_WORLD
    std::shared_ptr<ProcessGroup> group_;
    OwnAlgorithms* reserved_ = nullptr;  // an idle part of the group's
    PlaceAside<SharedRooms> room_;
    PlaceAside<SharedDuplicate> tags_;
    MPI_Comm duplicate_ = MPI_COMM_NULL;             // that `tags_` are of
    bool is_new_duplicate_ = false;                  // it was made for this communicator
    std::shared_ptr<const GroupFacts> known_facts_;  // before all have told what they know
    GroupFacts facts_;
    // What becomes of facts_.decisions, until all is found.
    DecisionTables blocking_;
    NonblockingTables nonblocking_;
    TrialTables trials_;
    bool has_failed_ = false;      // this rank, for want of memory or of touch, which the others have to be told
    bool has_lost_touch_ = false;  // it could not be told what the others were
    const Neighbors* neighbors_ = nullptr;  // by which ranks agree, where they keep to them
    MPI_Comm leaders_ = MPI_COMM_NULL;
    bool has_leaders_ = false;
    std::unique_ptr<OwnAlgorithms> own_;
    OwnAlgorithms* kept_ = nullptr;  // once the group has it
};

}  // namespace hcoll
