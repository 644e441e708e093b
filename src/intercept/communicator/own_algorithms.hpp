// SPDX-License-Identifier: BSD-3-Clause
// What a communicator needs to run own algorithms: tags on a duplicate, the memory that the ranks of a node share, plans, engines and decisions.
//
// It outlives the communicator of the application: when that is freed, it goes back to those of its processes (process_group.hpp),
// and serves the next communicator of them. Nothing of it is the application's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "intercept/communicator/common_clock.hpp"
#include "intercept/communicator/neighbors.hpp"
#include "intercept/communicator/shared_duplicate.hpp"
#include "intercept/communicator/shared_rooms.hpp"
#include "intercept/types/packing_transport.hpp"
#include "intercept/types/reduction_kernel.hpp"
#include "progress/engine/engine.hpp"
#include "progress/engine/plan_cache.hpp"
#include "progress/network/point_to_point.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/node_peers.hpp"
#include "progress/node/routed_transport.hpp"
#include "topology/placement.hpp"
#include "tuning/learning.hpp"
#include "tuning/selection.hpp"

namespace hcoll {

using DecisionTables = std::array<DecisionTable, collective_count>;
using NonblockingTables = std::array<DecisionTable, nonblocking_count>;

bool leaves_all_to_vendor(const DecisionTable& table);

// What the calls of communicators of the same processes run. Not changed once it is made; from any thread.
struct CallDecisions {
    CallDecisions(DecisionTables of_blocking, NonblockingTables of_nonblocking, TrialTables of_trials,
                  const Placement& placement);
    CallDecisions(const CallDecisions&) = delete;
    CallDecisions& operator=(const CallDecisions&) = delete;

    DecisionTables blocking;
    NonblockingTables nonblocking;
    TrialTables trials;  // of the blocking ones
    // Why no message of a collective runs here; nullptr where some do.
    std::array<const char*, collective_count> vendor_only{};
    std::array<const char*, nonblocking_count> nonblocking_vendor_only{};
};

// What non-blocking collectives of a communicator have in common. They are begun by one thread at a time, as MPI demands, and
// moved by one thread at a time, which may be another one.
class NonblockingCollectives {
public:
    NonblockingCollectives(int ranks, std::uint64_t plan_cache, int most_started, int most_persistent)
        : plans(plan_cache),
          flow(ranks),
          most_persistent_(most_persistent),
          ended_(static_cast<std::size_t>(most_started), false) {}

    // By who begins: the number of the next one, the same on all ranks.
    std::uint64_t begin() {
        under_way_.fetch_add(1, std::memory_order_relaxed);
        return next_++;
    }
    // By who moves them: is there a sequence of tags for it? Those that may not wait for earlier ones to end.
    bool may_start(std::uint64_t number) const { return number - oldest_ < ended_.size(); }
    // Of one that was started.
    void end(std::uint64_t number);
    // A persistent one that runs here: its number, the same on all ranks; -1 where there are as many as can be. None is ever
    // given back: each rank frees its requests when it likes, so that no rank knows whether all others have freed one.
    int begin_persistent() { return next_persistent_ < most_persistent_ ? next_persistent_++ : -1; }
    bool has_persistent() const { return next_persistent_ != 0; }
    void start_persistent() { under_way_.fetch_add(1, std::memory_order_relaxed); }
    void end_persistent() { under_way_.fetch_sub(1, std::memory_order_release); }
    bool any_under_way() const { return under_way_.load(std::memory_order_acquire) != 0; }

    PlanCache plans;   // of who begins
    FlowControl flow;  // of who moves

private:
    int most_persistent_;
    int next_persistent_ = 0;
    std::uint64_t next_ = 0;
    std::atomic<int> under_way_{0};
    std::uint64_t oldest_ = 0;  // that has not ended
    std::vector<bool> ended_;   // by number, modulo its size, of those from oldest_ on
};

// The communicator of the application's that something serves, for whoever moves its collectives in the background.
class ServedCommunicator {
public:
    void begin(MPI_Comm communicator);
    // Before it is freed, or something else serves it. Waits for who is using it. `has_more`: collectives of it are under way.
    void end(bool has_more);
    bool serves(MPI_Comm communicator) {
        const std::lock_guard lock(mutex_);
        return communicator_ == communicator;
    }
    // One of its collectives has ended so. Where it has failed and errors are fatal the job ends here, not where the request is completed: this rank may first wait for another one that
    // waits for what it can no longer send. Other handlers are called where the request is completed.
    void end_job_if_fatal(int status) {
        if (status != MPI_SUCCESS) [[unlikely]]
            fail(status);
    }

private:
    void fail(int status);
    bool is_fatal();

    std::mutex mutex_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    bool was_fatal_ = false;  // when it ended, with more under way
};

// What carries its messages.
struct MessageRoute {
    MPI_Comm duplicate;  // among neighbors, that with the next rank
    int rank;            // of this process there
    Carriers carriers;
    TagRange tags;
    int largest_tag;                   // which no message has
    MPI_Comm leaders = MPI_COMM_NULL;  // of the nodes' leaders, where an algorithm wants it, on those that are
};

// What a communicator needs to run own algorithms; used by one thread at a time, as MPI demands of its collectives.
struct OwnAlgorithms : MessageRoute {
    OwnAlgorithms(const MessageRoute& route, const Settings& settings, std::shared_ptr<const Placement> where)
        : MessageRoute(route),
          placement(std::move(where)),
          plans(settings.plan_cache),
          flow(placement->ranks()),
          network(carriers, flow, tags, leaders),
          nonblocking(placement->ranks(), settings.plan_cache, PointToPoint::nonblocking_sequences(tags),
                      PointToPoint::persistent_sequences(tags)),
          packing(network),
          transport(packing, drive_vendor, this) {
        known_reductions.reserve(most_known_reductions);
    }
    OwnAlgorithms(const OwnAlgorithms&) = delete;
    OwnAlgorithms& operator=(const OwnAlgorithms&) = delete;

    // Ranks that wait in it, on this node by shared memory and elsewhere by messages, get an error. It is not used again.
    void revoke();
    // A peer may be waiting for the rest of a message that this rank has begun to send, and the MPI library moves it only
    // when it is called. `own` is an OwnAlgorithms. Returns an MPI error code.
    static Status drive_vendor(void* own);

    // May other communicators have messages there?
    bool is_duplicate_shared() const { return shared_duplicate != nullptr && shared_duplicate->places() > 1; }
    // Is nothing of it in use, so that another communicator of the same processes may have it? On this rank: others may yet be busy.
    bool is_idle() const { return !is_broken && !nonblocking.any_under_way() && !nonblocking.has_persistent(); }
    // Frees what is the vendor's: a call of all its ranks, in an order that they share where they free several.
    void free_communicators();

    ServedCommunicator served;
    std::shared_ptr<SharedDuplicate> shared_duplicate;  // `duplicate`; nullptr among neighbors
    Neighbors neighbors;                                // complete where the ranks keep to them
    bool has_leaders = false;                           // are there any? The same on all ranks
    bool has_everything = false;                        // all that any choice needs, as far as it can be had
    std::uint64_t serial =
        0;  // the same on all ranks, and rising: the order in which parts are freed, and duplicates with the last one on them
    std::uint64_t uses =
        0;  // so many collectives have begun on it, those included that learning leaves to the MPI library
    // Has this rank found a wrong result of such calls (LIBHCOLL_VERIFY)? By whoever moves them; the ranks have yet to agree.
    std::array<std::atomic<bool>, nonblocking_count> nonblocking_is_wrong{};
    std::atomic<bool> is_broken{false};  // a collective on it did not come to its end: messages of it may be left
    std::shared_ptr<const Placement> placement;  // of its ranks; the same on all of them
    std::shared_ptr<const CallDecisions>
        decisions;  // once it is set up; its processes', or what its communicator was asked to run
    std::shared_ptr<const CallDecisions> usual_decisions = nullptr;  // its processes', where those are others
    PlanCache plans;
    Engine engine;
    FlowControl flow;
    PointToPoint network;
    NonblockingCollectives nonblocking;
    PackingTransport packing;  // over the network; inside a node, messages are packed as they are carried
    RoutedTransport transport;
    // Of the ranks of this rank's node, where a decision asks for it.
    std::shared_ptr<SharedRooms> rooms;
    std::unique_ptr<NodePeers> peers;       // where there is a segment
    std::unique_ptr<NodeCollectives> node;  // where they are all ranks
    // Predefined operations on predefined types that were used, the last one first.
    struct KnownReduction {
        MPI_Op op;
        MPI_Datatype type;
        std::size_t element_bytes;  // 0 where elements have gaps
        Kernel kernel;              // nullptr where the vendor combines
        bool is_taken;              // MPI defines the pair (there is a kernel), or the vendor takes it
        bool is_exact;              // its bits do not depend on the algorithm
    };
    // No more than there is room for from the beginning: they are looked up where no lack of memory can be told.
    static constexpr std::size_t most_known_reductions = 16;
    std::vector<KnownReduction> known_reductions;
    // The last one, by collective, that ran over shared memory, or in order by a kernel, or was passed on: programs make the same call over and over.
    struct RepeatedReduction {
        std::uint64_t count = 0;
        const Decision* decision = nullptr;
        KnownReduction known{};
        std::size_t line_bytes = 0;     // not 0: an Allreduce of so many bytes, by kernel and in a line of each rank
        bool is_use_by_vendor = false;  // its decision is the MPI library's, and such calls count as uses
        // Where there is a plan: for that root, in place or not.
        std::shared_ptr<const Plan> plan = nullptr;
        int root = 0;
        bool in_place = false;

        bool is_for(std::uint64_t elements, MPI_Datatype type, MPI_Op op) const {
            return decision != nullptr && count == elements && known.type == type && known.op == op;
        }
    };
    std::array<RepeatedReduction, collective_count> repeated_reductions;
    // The last Bcast of a predefined type without gaps that ran in order.
    struct RepeatedBcast {
        std::uint64_t count = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        int root = 0;
        const Decision* decision = nullptr;
        std::shared_ptr<const Plan> plan = nullptr;

        bool is_for(std::uint64_t elements, MPI_Datatype of_type, int of_root) const {
            return plan != nullptr && count == elements && type == of_type && root == of_root;
        }
    };
    RepeatedBcast repeated_bcast;
    // The last Bcast, where it was one over shared memory of a message in a line, and of the next one like it the buffer and the root alone have to be
    // looked at.
    struct RepeatedLine {
        std::uint64_t count = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;  // predefined, without gaps
        std::size_t bytes = 0;                  // 0: it was another one

        bool is_for(std::uint64_t elements, MPI_Datatype of_type) const {
            return bytes != 0 && count == elements && type == of_type;
        }
    };
    RepeatedLine repeated_line;
    // The Barrier that runs in order: it has one plan, and its memory is used by nothing else.
    struct RepeatedBarrier {
        const Decision* decision = nullptr;
        std::shared_ptr<const Plan> plan = nullptr;
        std::unique_ptr<std::byte[]> memory = nullptr;
    };
    RepeatedBarrier repeated_barrier;
    // The last Gather, Scatter or Allgather, by collective, over shared memory or passed on, of predefined types without gaps, not in place. Of the side with
    // all blocks, where this rank has it, and of its own block.
    struct RepeatedBlocks {
        const Decision* decision = nullptr;
        bool is_use_by_vendor = false;  // its decision is the MPI library's, and such calls count as uses
        std::uint64_t bytes = 0;        // of a block
        int root = 0;
        bool has_all = false;
        std::uint64_t own_count = 0;
        std::uint64_t all_count = 0;
        MPI_Datatype own_type = MPI_DATATYPE_NULL;
        MPI_Datatype all_type = MPI_DATATYPE_NULL;
    };
    std::array<RepeatedBlocks, collective_count> repeated_blocks;
    // What its calls teach; off where nothing is tried.
    Learning learning;
    std::uint64_t agreement_nanoseconds = 0;  // that the last one took
    CommonClock clock;
    // Takes the memory for learning, where its decisions have something to try.
    void prepare_to_learn(const Settings& settings);
    void learn_no_more();
    // Are there candidates for that collective? Of others, learning counts the calls alone.
    bool tries(Collective collective) const {
        return learning.is_on() && !decisions->trials[static_cast<std::size_t>(collective)].empty();
    }
    // A call like the one before may run something else.
    void forget_repeated(Collective collective);
    // Other decisions hold from now on, on all ranks: plans and calls that were kept are of those before.
    void decide_by(std::shared_ptr<const CallDecisions> others);
    MPI_Datatype contiguous_type = MPI_DATATYPE_NULL;  // the predefined type without gaps that was used last
};

}  // namespace hcoll
