// SPDX-License-Identifier: BSD-3-Clause
#include "trace/tracer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/file_limit.hpp"
#include "base/monotonic_clock.hpp"
#include "trace/trace_text.hpp"

namespace hcoll {

std::atomic<Tracer*> Tracer::instance_{nullptr};
Tracer* Tracer::opened_ = nullptr;

namespace {

std::uint8_t number_of_this_thread() {
    static std::atomic<unsigned int> threads{0};
    static thread_local const auto number =
        static_cast<std::uint8_t>(std::min(threads.fetch_add(1, std::memory_order_relaxed), 255U));
    return number;
}

// Of this job and rank alone: other jobs may write into the same folder meanwhile.
std::string name_of_file(const std::string& folder, const TraceHeader& header) {
    return fmt::format("{}/rank-{:06}.{:016x}", folder, header.rank, header.job);
}

std::optional<std::string> problem(std::string_view what, int number) {
    return fmt::format("{}: {}", what, std::strerror(number));
}

}  // namespace

std::uint64_t Tracer::now() { return monotonic_nanoseconds(); }

std::optional<std::string> Tracer::open(const SetUp& set_up) {
    const std::uint64_t records = std::max<std::uint64_t>(set_up.bytes / sizeof(TraceRecord), 64);
    const std::size_t bytes = TraceLayout::bytes(records);
    std::error_code error;
    std::filesystem::create_directories(set_up.folder, error);
    if (error) return fmt::format("{} cannot be made: {}", set_up.folder, error.message());
    const std::string name = name_of_file(set_up.folder, set_up.header);
    const std::string events = name + ".events";
    const int descriptor = ::open(events.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) return problem(events + " cannot be made", errno);
    // Room for all of it now: a full disk would be a SIGBUS later.
    const FileLimitIsAnError file_limit;
    int full = 0;
    do full = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    while (full == EINTR);
    void* memory = MAP_FAILED;
    if (full == 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const int reason = full != 0 ? full : errno;
    close(descriptor);
    if (memory == MAP_FAILED) {
        unlink(events.c_str());
        return problem(fmt::format("{} of {} bytes cannot be made", events, bytes), reason);
    }
    // The pages are there, and may be written: no call waits for that.
    std::memset(memory, 0, bytes);
    auto* header = new (memory) TraceHeader(set_up.header);
    header->capacity = records;
    try {
        opened_ = new Tracer(name, static_cast<std::byte*>(memory), bytes);
    } catch (const std::bad_alloc&) {
        munmap(memory, bytes);
        unlink(events.c_str());
        throw;
    }
    return std::nullopt;
}

void Tracer::begin() { instance_.store(opened_, std::memory_order_release); }

void Tracer::give_up() {
    const std::unique_ptr<Tracer> given_up(std::exchange(opened_, nullptr));
    instance_.store(nullptr, std::memory_order_release);
    if (given_up == nullptr) return;
    unlink((given_up->name_ + ".events").c_str());
    munmap(given_up->memory_, given_up->bytes_);
}

Tracer::Tracer(std::string name, std::byte* memory, std::size_t bytes)
    : name_(std::move(name)),
      memory_(memory),
      bytes_(bytes),
      header_(*reinterpret_cast<TraceHeader*>(memory)),
      communicators_(reinterpret_cast<TraceCommunicator*>(memory + TraceLayout::communicators_at)),
      texts_(reinterpret_cast<char*>(memory + TraceLayout::texts_at)),
      ring_(reinterpret_cast<TraceRecord*>(memory + TraceLayout::records_at)),
      capacity_(header_.capacity) {}

int Tracer::know(std::uint64_t key, std::string_view name, int rank, int size) {
    // Names of very many communicators leave room for what they run.
    const TraceText called = text(name, TraceHeader::text_bytes / 2);
    const std::lock_guard lock(mutex_);
    if (is_over_) return no_communicator;
    const auto place = static_cast<std::uint32_t>(known_++ % TraceHeader::most_communicators);
    communicators_[place] = {
        .key = key, .since = written().load(std::memory_order_relaxed), .rank = rank, .size = size, .name = called};
    header_.communicators = std::max(header_.communicators, place + 1);
    return static_cast<int>(place);
}

TraceText Tracer::text(std::string_view text, std::size_t room) {
    constexpr unsigned int bits_of_offset = 16;
    static_assert(TraceHeader::text_bytes == 1U << bits_of_offset);
    if (text.empty()) return 0;
    auto& recent = recent_[(reinterpret_cast<std::uintptr_t>(text.data()) / 8 + text.size()) % recent_.size()];
    const std::uint64_t known = recent.load(std::memory_order_acquire);
    const auto offset = static_cast<TraceText>(known);
    if (offset != 0 && known >> bits_of_offset == text.size() &&
        std::memcmp(texts_ + offset, text.data(), text.size()) == 0) [[likely]]
        return offset;
    const TraceText found = new_text(text, room);
    if (found != 0) recent.store(std::uint64_t{text.size()} << bits_of_offset | found, std::memory_order_release);
    return found;
}

TraceText Tracer::new_text(std::string_view text, std::size_t room) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_texts_.find(text); found != known_texts_.end()) return found->second;
    if (is_over_ || header_.texts + text.size() + 1 > room || text.find('\0') != std::string_view::npos) return 0;
    const auto at = static_cast<TraceText>(header_.texts);
    try {
        known_texts_.emplace(std::string(text), at);
    } catch (const std::bad_alloc&) {
        return 0;
    }
    std::memcpy(texts_ + at, text.data(), text.size());
    texts_[at + text.size()] = 0;
    header_.texts += static_cast<std::uint32_t>(text.size()) + 1;
    return at;
}

Tracer::Id Tracer::begin(TraceRecord& record) {
    record.begin = now();
    return add(record);
}

Tracer::Id Tracer::add(TraceRecord& record) {
    if (is_over_.load(std::memory_order_relaxed)) return no_record;
    record.thread = number_of_this_thread();
    const Id id = written().fetch_add(1, std::memory_order_relaxed) + 1;
    *place(id) = record;
    return id;
}

std::uint64_t Tracer::end(Id id) {
    const std::uint64_t at = now();
    if (is_there(id)) place(id)->end = at;
    return at;
}

void Tracer::set_name(Id id, TraceText name) {
    if (is_there(id)) place(id)->name = name;
}

void Tracer::forget(Id id) {
    if (is_there(id)) place(id)->kind = TraceKind::none;
}

void Tracer::end(Id id, const TraceRecord& record) {
    if (id == no_record || is_over_.load(std::memory_order_relaxed)) return;
    const std::uint64_t at = now();
    if (!is_there(id)) {
        id = written().fetch_add(1, std::memory_order_relaxed) + 1;
        *place(id) = record;
    }
    place(id)->end = at;
}

void Tracer::set_clocks(const TraceClocks& clocks) {
    const std::lock_guard lock(mutex_);
    if (!is_over_) header_.clocks = clocks;
}

std::optional<std::string> Tracer::finish() {
    {
        const std::lock_guard lock(mutex_);
        if (is_over_.exchange(true)) return std::nullopt;
    }
    // The memory stays: a thread that is in a call may yet write.
    constexpr std::size_t most_bytes = 16U << 20U;
    if (bytes_ > TraceLayout::bytes(most_bytes / sizeof(TraceRecord))) return std::nullopt;
    const std::string unfinished = name_ + ".unfinished";
    const FileLimitIsAnError file_limit;
    std::FILE* json = std::fopen(unfinished.c_str(), "we");
    if (json == nullptr)
        return problem(fmt::format("{} cannot be written ({}.events stays)", unfinished, name_), errno);
    int reason = 0;
    write_trace_text(TraceLayout::view({memory_, bytes_}), [&](std::string_view piece) {
        if (reason == 0 && std::fwrite(piece.data(), 1, piece.size(), json) != piece.size()) reason = errno;
    });
    if (std::fclose(json) != 0 && reason == 0) reason = errno;
    if (reason == 0 && std::rename(unfinished.c_str(), (name_ + ".json").c_str()) != 0) reason = errno;
    if (reason != 0) {
        unlink(unfinished.c_str());
        return problem(fmt::format("{}.json cannot be written ({}.events stays)", name_, name_), reason);
    }
    unlink((name_ + ".events").c_str());
    return std::nullopt;
}

}  // namespace hcoll
