// SPDX-License-Identifier: BSD-3-Clause
// Notes what this process does in its collectives (LIBHCOLL_TRACE), in memory that is a file: bounded, the oldest records give way, and there when the process is killed.
// At the end it becomes a text in the trace event format (trace_text.hpp). Without MPI.
//
// From any thread, without a lock. A record takes an atomic addition and a look at the clock at its begin, and a look at its end. A thread that lies asleep
// between its look at a record and its write, while others fill all of the ring, spoils one record: nobody depends on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/trace_record.hpp"

namespace hcoll {

class Tracer {
public:
    // The number of a record; of none where there is none.
    using Id = std::uint64_t;
    static constexpr Id no_record = 0;
    static constexpr int no_communicator = -1;

    struct SetUp {
        std::string folder;  // is made where it is not there
        std::uint64_t bytes = 0;
        TraceHeader header;  // of which the rank, the job and its like are taken
    };
    // The process's; nullptr where nobody traces. Never destroyed: threads may be in a call when the process ends.
    static Tracer* get() { return instance_.load(std::memory_order_acquire); }
    // What is wrong, in words, where there will be none. May throw std::bad_alloc.
    static std::optional<std::string> open(const SetUp& set_up);
    // There is one from now on.
    static void begin();
    // There is none any more, and nothing is left of what is no text yet. While nobody is in a call.
    static void give_up();

    // A communicator of the application: its number for records, until so many others have come that it has to give way. `key`: the same on all its ranks.
    int know(std::uint64_t key, std::string_view name, int rank, int size);
    bool knows(int communicator, std::uint64_t key) const {
        return communicator != no_communicator && communicators_[communicator].key == key;
    }
    // Of a text that records name. 0 where there are too many. Takes a lock for one that is new.
    TraceText text(std::string_view text) { return this->text(text, TraceHeader::text_bytes); }

    // Begins now, which `record` is told.
    Id begin(TraceRecord& record);
    // The same of one that knows when it has begun.
    Id add(TraceRecord& record);
    // Where it has not given way meanwhile: is over now, which is returned, or has another name.
    std::uint64_t end(Id id);
    void set_name(Id id, TraceText name);
    // It is as if it had never been.
    void forget(Id id);
    // The same of one that is not to be lost: where it has given way, it is noted once more.
    void end(Id id, const TraceRecord& record);
    // The process's clock, in nanoseconds.
    static std::uint64_t now();

    void set_clocks(const TraceClocks& clocks);
    // No more records; the file becomes a text, but for one of more than 16 MB, which hcoll-info reads as it is. What went wrong, in words. Once.
    std::optional<std::string> finish();

private:
    explicit Tracer(std::string name, std::byte* memory, std::size_t bytes);
    TraceText text(std::string_view text, std::size_t room);
    std::atomic_ref<std::uint64_t> written() { return std::atomic_ref(header_.written); }
    TraceRecord* place(Id id) { return &ring_[(id - 1) % capacity_]; }
    bool is_there(Id id) { return id != no_record && written().load(std::memory_order_relaxed) - id < capacity_; }
    TraceText new_text(std::string_view text, std::size_t room);

    static std::atomic<Tracer*> instance_;
    static Tracer* opened_;
    const std::string name_;  // of the file, without its ending
    std::byte* const memory_;
    const std::size_t bytes_;
    TraceHeader& header_;
    TraceCommunicator* const communicators_;
    char* const texts_;
    TraceRecord* const ring_;
    const std::uint64_t capacity_;  // not the header's, which is in a file
    std::uint64_t known_ = 0;       // communicators, in all
    std::mutex mutex_;              // of communicators, texts and clocks
    std::atomic<bool> is_over_{false};
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, TraceText, Hash, std::equal_to<>> known_texts_;
    // Texts that come again and again lie where they lay: the offset, below the length.
    std::array<std::atomic<std::uint64_t>, 64> recent_{};
};

}  // namespace hcoll
