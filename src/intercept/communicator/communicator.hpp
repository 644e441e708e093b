// What libhcoll knows of a communicator of the application, from the first collective call that it sees to MPI_Comm_free.
//
//   unknown --first call, answered by the vendor--> counting --LIBHCOLL_SETUP_CALLS--> own, or vendor for good
//
// A communicator with processes that were not started together (spawned, connected, of sessions alone) counts to the
// default of LIBHCOLL_SETUP_CALLS instead: until its ranks have compared their settings, none may depend on its own.
//
// The first call on a communicator is always the vendor's: if the handle is not valid, the application gets the vendor's
// own error. Calls that the vendor takes are counted, alike on all ranks (but those of Gather, Scatter and Allgather where no
// setting lets them run here); at the end of the one that reaches the limit, a blocking collective that every rank is in, the
// communicator is set up: settings are compared, the library's own duplicate is made, or all ranks alike learn that it cannot
// be. Nothing of this is ever done in a non-blocking call.
//
// The vendor deletes the state with the communicator (an attribute with a delete function), however it is freed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "intercept/communicator/neighbors.hpp"
#include "intercept/process/attributes.hpp"
#include "intercept/process/process.hpp"
#include "intercept/types/packing_transport.hpp"
#include "intercept/types/reduction_kernel.hpp"
#include "progress/engine/engine.hpp"
#include "progress/engine/plan_cache.hpp"
#include "progress/network/point_to_point.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/routed_transport.hpp"
#include "progress/node/shared_segment.hpp"
#include "topology/placement.hpp"
#include "tuning/selection.hpp"

namespace hcoll {

struct SegmentUse;  // segment_use.hpp

// Why a call is passed on to the vendor, in the words of the report.
namespace reason {
inline constexpr const char* first_calls = "the first calls on a communicator";
inline constexpr const char* pcontrol = "MPI_Pcontrol";
inline constexpr const char* inter_communicator = "an inter-communicator";
inline constexpr const char* one_rank = "one rank only";
inline constexpr const char* settings = "settings and rules leave all to the vendor";
inline constexpr const char* limit = "LIBHCOLL_COMMUNICATORS reached";
inline constexpr const char* no_context = "the MPI library has no further communicator";
inline constexpr const char* order =
    "the operation does not commute, and the algorithm does not keep the order of ranks";
inline constexpr const char* no_kernel = "over shared memory only predefined operations on elements without gaps";
inline constexpr const char* arguments = "arguments for the vendor to judge";
inline constexpr const char* too_long = "more than 1 GB in one message";
inline constexpr const char* no_tags = "no tags are left for one more persistent collective";
inline constexpr const char* no_bytes = "no bytes";
inline constexpr const char* no_progress = "nothing would move it in the background (LIBHCOLL_PROGRESS)";
inline constexpr const char* not_in_background =
    "only predefined operations and types without gaps run in the background";
inline constexpr const char* disabled = "LIBHCOLL_ENABLE=0";
inline constexpr const char* freed = "being freed";
inline constexpr const char* device = "a GPU runtime is loaded: buffers may be the device's";
inline constexpr const char* not_watched = "the MPI library does not tell when it is freed";
}  // namespace reason

// Is a GPU's runtime loaded? Buffers may then lie in a device's memory, which only the MPI library may be able to read, and which
// ranks pass such is known to each of them alone.
bool has_gpu_runtime();

using DecisionTables = std::array<DecisionTable, collective_count>;
using NonblockingTables = std::array<DecisionTable, nonblocking_count>;

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

    NonblockingTables decisions;
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

// What a communicator needs to run own algorithms; used by one thread at a time, as MPI demands of its collectives.
struct OwnAlgorithms {
    OwnAlgorithms(MPI_Comm communicator, int own_rank, const Carriers& of_messages, int largest_tag,
                  const Settings& settings, std::shared_ptr<const Placement> where, MPI_Comm leaders_of_nodes)
        : duplicate(communicator),
          rank(own_rank),
          carriers(of_messages),
          tag_upper_bound(largest_tag),
          leaders(leaders_of_nodes),
          placement(std::move(where)),
          plans(settings.plan_cache),
          flow(placement->ranks()),
          network(carriers, flow, tag_upper_bound, leaders),
          nonblocking(placement->ranks(), settings.plan_cache, PointToPoint::nonblocking_sequences(tag_upper_bound),
                      PointToPoint::persistent_sequences(tag_upper_bound)),
          packing(network),
          transport(packing, drive_vendor, this) {}
    OwnAlgorithms(const OwnAlgorithms&) = delete;
    OwnAlgorithms& operator=(const OwnAlgorithms&) = delete;

    // A peer may be waiting for the rest of a message that this rank has begun to send, and the MPI library moves it only
    // when it is called. `own` is an OwnAlgorithms.
    static void drive_vendor(void* own);

    MPI_Comm duplicate;  // among neighbors, that with the next rank
    int rank;            // of this process in the duplicate
    Carriers carriers;
    Neighbors neighbors;  // complete where the ranks keep to them
    int tag_upper_bound;
    MPI_Comm leaders;  // of the nodes' leaders, where an algorithm wants it, on those that are
    std::shared_ptr<const Placement> placement;  // of its ranks; the same on all of them
    DecisionTables decisions;
    PlanCache plans;
    Engine engine;
    FlowControl flow;
    PointToPoint network;
    NonblockingCollectives nonblocking;
    PackingTransport packing;  // over the network; inside a node, messages are packed as they are carried
    RoutedTransport transport;
    // Of the ranks of this rank's node, where a decision asks for it.
    SharedSegment segment;
    std::unique_ptr<NodeCollectives> node;  // where they are all ranks
    // Predefined operations on predefined types that were used, the last one first.
    struct KnownReduction {
        MPI_Op op;
        MPI_Datatype type;
        std::size_t element_bytes;  // 0 where elements have gaps
        Kernel kernel;              // nullptr where the vendor combines
        bool is_proven;             // MPI defines the pair (there is a kernel), or the vendor takes it
    };
    std::vector<KnownReduction> known_reductions;
    // The last one that ran over shared memory, by collective: programs make the same call over and over.
    struct RepeatedReduction {
        std::uint64_t count = 0;
        const Decision* decision = nullptr;
        KnownReduction known{};
        std::size_t line_bytes = 0;  // not 0: an Allreduce of so many bytes, by kernel and in a line of each rank

        bool is_for(std::uint64_t elements, MPI_Datatype type, MPI_Op op) const {
            return decision != nullptr && count == elements && known.type == type && known.op == op;
        }
    };
    std::array<RepeatedReduction, collective_count> repeated_reductions;
    MPI_Datatype contiguous_type = MPI_DATATYPE_NULL;  // the predefined type without gaps that was used last
};

class Communicator {
public:
    // nullptr where no collective call on it was seen. Two loads and a comparison for the communicators in use.
    static Communicator* find(MPI_Comm handle) {
        const std::uintptr_t key = key_of(handle);
        Communicator* candidate = recent_.get()[recent_index(key)].load(std::memory_order_acquire);
        if (candidate != nullptr && candidate->key_.load(std::memory_order_relaxed) == key) [[likely]]
            return candidate;
        return find_slowly(handle);
    }
    // Is it an intra-communicator whose processes have all agreed on their settings in MPI_Init? The same on all of them.
    static bool is_within_world(MPI_Comm handle);
    // After a blocking collective call on `handle` that the vendor did not reject, the first or a later one: counts it, and
    // sets the communicator up when it is time. All ranks are in the same call.
    static void count_call(MPI_Comm handle, Collective collective);
    // The same, but it is time now (LIBHCOLL_REPRODUCIBLE).
    static void set_up_now(MPI_Comm handle);
    // In MPI_Init, when the ranks of MPI_COMM_WORLD have agreed on their settings: sets it up where a setting wants that at once.
    static void set_up_world();
    // Around the vendor's MPI_Comm_free or MPI_Comm_disconnect of the application's communicator, every rank being in the
    // same call: begins by freeing the duplicate. Delete functions of the application may still call collectives on it.
    class Freeing {
    public:
        explicit Freeing(MPI_Comm handle);
        ~Freeing();
        Freeing(const Freeing&) = delete;
        Freeing& operator=(const Freeing&) = delete;

    private:
        friend class Communicator;
        std::uintptr_t key_;
        Freeing* outer_;
    };
    // At finalize: all that are left.
    static void release_all();

    // Why no call of this collective runs here now; nullptr where it may.
    const char* why_vendor(Collective collective) const {
        if (mode_ == Mode::vendor) return why_vendor_;
        if (!Process::get().own_mode()) return reason::pcontrol;
        return vendor_only_[static_cast<std::size_t>(collective)];
    }
    // The same for the non-blocking one.
    const char* why_vendor_nonblocking(Collective collective) const {
        if (mode_ == Mode::vendor) return why_vendor_;
        if (!Process::get().own_mode()) return reason::pcontrol;
        return nonblocking_vendor_only_[static_cast<std::size_t>(collective)];
    }
    // Where calls of this collective run here now; nullptr where the vendor takes them or counts them.
    OwnAlgorithms* own_for(Collective collective) const {
        return mode_ == Mode::own && why_vendor(collective) == nullptr ? own_.get() : nullptr;
    }
    // Are calls counted, on all ranks alike, until it is time to set up?
    bool is_counting() const { return mode_ == Mode::counting && Process::get().own_mode(); }
    // Is this a type that the vendor would take? Where own algorithms may run only. Cheap for the predefined type that was used last.
    bool is_valid_type(MPI_Datatype type);
    // Is it that predefined type? Then it has an extent above 0.
    bool is_known_type(MPI_Datatype type) const { return type == known_type_; }

    MPI_Comm handle() const { return handle_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    OwnAlgorithms& own() { return *own_; }

private:
    enum class Mode : std::uint8_t { counting, own, vendor };

    // MPICH's handles are int, Open MPI's are pointers.
    template <typename Handle>
    static std::uintptr_t key_of(Handle handle) {
        if constexpr (std::is_pointer_v<Handle>)
            return reinterpret_cast<std::uintptr_t>(handle);
        else
            return static_cast<std::uintptr_t>(static_cast<std::uint32_t>(handle));
    }
    static constexpr std::size_t recent_count = 256;
    static std::size_t recent_index(std::uintptr_t key) { return (key ^ (key >> 6) ^ (key >> 12)) % recent_count; }
    static Communicator* find_slowly(MPI_Comm handle);
    static int on_delete(MPI_Comm handle, int keyval, void* value, void* extra);

    static Communicator* attach(MPI_Comm handle);
    void set_up();
    void give_to_vendor(const char* why);
    void set_up_among_neighbors();
    void begin_own(DecisionTables decisions, NonblockingTables nonblocking);
    void make_duplicate(const AgreedSettings& agreed, DecisionTables decisions, NonblockingTables nonblocking,
                        std::shared_ptr<const Placement> placement, int tag_upper_bound);
    NonblockingTables make_nonblocking_decisions(const Settings& settings, const Placement& placement,
                                                 bool has_progress,
                                                 const std::function<bool(bool)>& is_true_anywhere) const;
    static bool has_room_for_duplicate(const Settings& settings);
    DecisionTables make_decisions(const Settings& settings, const Placement& placement, bool has_shared_memory) const;
    bool make_leaders(MPI_Comm duplicate, const Placement& placement, MPI_Comm& leaders) const;
    bool make_segment(const Settings& settings, const SegmentUse& use);
    int tell_node(void* told, int numbers) const;
    int join_segment(const SegmentAddress& address, bool oversubscribed, const Settings& settings,
                     const SegmentUse& use);
    bool find_single_copy(SingleCopyWay way);
    bool is_single_copy_faster();
    std::shared_ptr<const Placement> find_placement(const AgreedSettings& agreed, bool is_within_world);
    void free_duplicate();
    void retire();

    // States are never given back to the allocator: a thread that looks at one by a stale hint finds another key.
    std::atomic<std::uintptr_t> key_{0};
    Mode mode_ = Mode::counting;
    std::array<const char*, collective_count> vendor_only_{};  // why no message of that collective runs here
    std::array<const char*, nonblocking_count> nonblocking_vendor_only_{};  // the same of the non-blocking ones
    const char* why_vendor_ = nullptr;
    MPI_Comm handle_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
    std::uint64_t calls_ = 0;
    bool is_within_world_ = false;                 // all its ranks agreed on their settings in MPI_Init
    bool is_watched_ = false;                      // the vendor will tell when it is freed
    MPI_Datatype known_type_ = MPI_DATATYPE_NULL;  // a predefined type that was found valid
    std::unique_ptr<OwnAlgorithms> own_;

    static PerProcess<std::array<std::atomic<Communicator*>, recent_count>> recent_;
    static thread_local PerProcess<Freeing*> freeing_;  // those that this thread is in, the innermost first
};

}  // namespace hcoll
