// SPDX-License-Identifier: BSD-3-Clause
// What libhcoll knows of a communicator of the application, from the first collective call that it sees to MPI_Comm_free.
//
//   unknown --first call, answered by the vendor--> counting --earned--> own --freed--> its part goes back to its processes
//                                                    ^  |                 |               (process_group.hpp)
//                                                    |  +--> vendor       |
//                                                    +--- given up for one that is used more
//
// The first call on a communicator is always the vendor's: if the handle is not valid, the application gets the vendor's
// own error. Calls that the vendor takes are counted, alike on all ranks (but those of Gather, Scatter and Allgather where neither
// a setting nor a table lets them run here). When there are enough, the communicator is set up (set_up.hpp) at the end of the next call in which all
// ranks wait for all anyway: MPI_Barrier, or an MPI_Allreduce or MPI_Allgather of some bytes. Never in a rooted call, which may return
// on one rank before another one has come to it, and never in a non-blocking one. A communicator that sees rooted calls alone
// stays with the vendor, unless LIBHCOLL_SETUP_CALLS=0 has it set up where it is made.
//
// The vendor deletes the state with the communicator (an attribute with a delete function), however it is freed. A communicator that
// never earns own algorithms costs a look-up and that attribute.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "intercept/communicator/own_algorithms.hpp"
#include "intercept/process/attributes.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/reach.hpp"
#include "watch/watch_record.hpp"

namespace hcoll {

class ChosenCalls;   // chosen_calls.hpp
class ProcessGroup;  // process_group.hpp

// Why a call is passed on to the vendor, in the words of the report.
namespace reason {
inline constexpr const char* first_calls = "the first calls on a communicator";
inline constexpr const char* pcontrol = "MPI_Pcontrol";
inline constexpr const char* inter_communicator = "an inter-communicator";
inline constexpr const char* one_rank = "one rank only";
inline constexpr const char* settings = "settings and rules leave all to the vendor";
inline constexpr const char* limit = "LIBHCOLL_COMMUNICATORS reached";
inline constexpr const char* beyond = "it reaches beyond the processes that were started together";
inline constexpr const char* no_memory = "there is no memory to set it up";
inline constexpr const char* no_context = "the MPI library has no further communicator";
inline constexpr const char* order =
    "the operation does not commute, and the algorithm does not keep the order of ranks";
inline constexpr const char* no_kernel = "over shared memory only predefined operations on elements without gaps";
inline constexpr const char* arguments = "wrong arguments";
inline constexpr const char* not_known = "whether the operation is for the type the MPI library alone knows";
inline constexpr const char* extent = "a type whose elements do not follow one another in memory";
inline constexpr const char* too_long = "more than 1 GB in one message";
inline constexpr const char* no_tags = "no tags are left for one more persistent collective";
inline constexpr const char* no_bytes = "no bytes";
inline constexpr const char* no_progress = "nothing would move it in the background (LIBHCOLL_PROGRESS)";
inline constexpr const char* not_in_background =
    "only predefined operations and types without gaps run in the background";
inline constexpr const char* unwound = "an exception of the application went through a collective on it";
inline constexpr const char* revoked = "it was revoked";
inline constexpr const char* freed = "being freed";
inline constexpr const char* device = "a GPU runtime is loaded that cannot be asked about buffers (Level Zero)";
inline constexpr const char* wrong_result = "LIBHCOLL_VERIFY has found a wrong result";
inline constexpr const char* not_watched = "the MPI library does not tell when it is freed";
}  // namespace reason

inline bool waits_for_all(Collective collective, std::uint64_t bytes) {
    return waits_for_all(collective) && (bytes != 0 || collective == Collective::barrier);
}

class Communicator {
public:
    // Takes the memory that the library needs to know communicators by, before any call. May throw std::bad_alloc.
    static void prepare();
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
    // After a blocking collective call of so many bytes on `handle` that the vendor did not reject, the first or a later one:
    // counts it, and sets the communicator up when it is time. All ranks are in the same call. MPI_ERR_NO_MEM where there is no memory
    // to know the communicator by: this rank is then out of step with the others.
    static int count_call(MPI_Comm handle, Collective collective, std::uint64_t bytes);
    // Of an intra-communicator of several ranks within the world, from its first collective call on, of which this may be the one; nullptr
    // for others.
    static Communicator* know(MPI_Comm handle);
    // One more collective call that is observed: its number, from 1 on, the same on all ranks.
    std::uint64_t count_observed() { return ++observed_calls_; }
    // It was an error of this rank's arguments, which the others' calls may not have had.
    void uncount_observed() { --observed_calls_; }
    // By which number the process's WatchRecord knows it.
    int watched_as() const { return watched_as_; }
    void set_watched_as(int number) { watched_as_ = number; }
    // By which all its ranks know it there.
    std::uint64_t record_key() const { return record_key_; }
    void set_record_key(std::uint64_t key) { record_key_ = key; }
    // The same of its Tracer.
    int traced_as() const { return traced_as_; }
    void set_traced_as(int number) { traced_as_ = number; }
    // One more that all its ranks make of it: its number, from 1 on.
    std::uint64_t count_made() { return ++made_; }
    // Where all ranks wait for all: sets it up, if its ranks have agreed on their settings and it is not yet.
    static int set_up_now(MPI_Comm handle);
    // After MPI_Comm_set_info, on all its ranks: what it asks to run (chosen_calls.hpp) is run from now on.
    static int note_info(MPI_Comm handle, MPI_Info info);
    // In the call that has made it, on all its ranks: the same where a setting wants it at once.
    static int note_birth(MPI_Comm handle);
    // Around the vendor's MPI_Comm_free or MPI_Comm_disconnect of the application's communicator: nothing more runs here on it, and
    // its part goes back to its processes, when what is in flight on it has come to its end. Local: it waits for nobody. Delete
    // functions of the application may still call collectives on it.
    class Freeing {
    public:
        explicit Freeing(MPI_Comm handle);
        ~Freeing();
        Freeing(const Freeing&) = delete;
        Freeing& operator=(const Freeing&) = delete;

    private:
        std::uintptr_t key_;
    };
    // The application has revoked it: nothing runs here on it any more, and ranks that wait in a collective of this library get an error.
    static void note_revoked(MPI_Comm handle);
    // Before MPI may end, as far as one thread knows: nothing of the vendor's is kept for communicators that are yet to come.
    static void forget_key();
    // At finalize: all that are left.
    static void release_all();
    // Another communicator of the same processes has earned its part more; the same call on all ranks.
    void give_up_own();

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
    // What its calls run if no blocking ones of `collective` run `what` any more, or no others anything, and nothing is tried. May throw std::bad_alloc.
    std::shared_ptr<const CallDecisions> decisions_without(Collective collective, std::string_view what) const;
    std::shared_ptr<const CallDecisions> decisions_without_nonblocking(Collective collective) const;
    // The same from now on, on all its ranks; nullptr: all are the vendor's.
    void run_without(std::shared_ptr<const CallDecisions> decisions);
    // Where calls of this collective run here now; nullptr where the vendor takes them or counts them.
    OwnAlgorithms* own_for(Collective collective) const {
        return mode_ == Mode::own && why_vendor(collective) == nullptr ? own_ : nullptr;
    }
    // Are calls counted, on all ranks alike, until it is time to set up?
    bool is_counting() const { return mode_ == Mode::counting && Process::get().own_mode(); }
    const char* why_counting() const { return why_counting_; }
    // As hcoll::check_type. Where own algorithms may run only. Cheap for the predefined type that was used last.
    int check_type(MPI_Datatype type);
    // Is it that predefined type? Then it has an extent above 0.
    bool is_known_type(MPI_Datatype type) const { return type == known_type_; }

    MPI_Comm handle() const { return handle_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    Reach reach() const { return reach_; }
    OwnAlgorithms& own() { return *own_; }
    // An own run was unwound through (an exception of the application, a cancelled thread): this rank runs none here again.
    void give_to_vendor_after_unwinding() {
        own_->is_broken = true;
        give_to_vendor(reason::unwound);
    }

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

    // The states that there are. Taking one takes no memory as long as there was some when the one before was taken.
    struct Registry;
    static PerProcess<Registry> registry_;
    static int attach(MPI_Comm handle, Communicator*& state);
    void set_up(bool at_once, bool with_everything = false);
    static void answer(MPI_Info info, std::string_view text);
    int take_info(MPI_Info info, std::vector<std::string>& mistakes, const char*& refused);
    const char* choose(const ChosenCalls& chosen, const std::shared_ptr<ChosenCalls>& all_chosen,
                       std::vector<std::string>& mistakes);
    bool has_progress_everywhere() const;
    void give_to_vendor(const char* why);
    void begin_own(ProcessGroup& group, OwnAlgorithms& own);
    void let_go_of_own();
    void retire();

    // States are never given back to the allocator: a thread that looks at one by a stale hint finds another key.
    std::atomic<std::uintptr_t> key_{0};
    Communicator* next_ = nullptr;  // of those that the registry keeps together
    Mode mode_ = Mode::counting;
    std::array<const char*, collective_count> vendor_only_{};  // why no message of that collective runs here
    std::array<const char*, nonblocking_count> nonblocking_vendor_only_{};  // the same of the non-blocking ones
    std::shared_ptr<ChosenCalls> chosen_;                                   // by MPI_Comm_set_info so far
    const char* why_vendor_ = nullptr;
    const char* why_counting_ = nullptr;
    MPI_Comm handle_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
    Reach reach_ = Reach::beyond;
    std::uint64_t observed_calls_ = 0;
    int watched_as_ = WatchRecord::unknown;
    int traced_as_ = -1;  // Tracer::no_communicator
    std::uint64_t record_key_ = 0;
    std::uint64_t made_ = 0;
    std::uint64_t calls_ = 0;                      // that were counted
    std::uint64_t bytes_ = 0;                      // of those
    std::uint64_t look_at_ = 0;                    // after so many calls it is time to set it up
    bool is_watched_ = false;                      // the vendor will tell when it is freed
    MPI_Datatype known_type_ = MPI_DATATYPE_NULL;  // a predefined type that was found valid
    OwnAlgorithms* own_ = nullptr;                 // its group's
    ProcessGroup* group_ = nullptr;
    std::uint64_t uses_before_ = 0;  // of its part, by others

    static PerProcess<std::array<std::atomic<Communicator*>, recent_count>> recent_;
    // Those whose freeing this thread is in.
    class InFreeing;
    static thread_local PerProcess<InFreeing> in_freeing_;
};

}  // namespace hcoll
