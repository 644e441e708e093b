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
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

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

std::string file_of(const std::string& folder, int rank, std::string_view ending) {
    return fmt::format("{}/rank-{:06}.{}", folder, rank, ending);
}

std::optional<std::string> problem(std::string_view what, int number) {
    return fmt::format("{}: {}", what, std::strerror(number));
}

}  // namespace

std::uint64_t Tracer::now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::optional<std::string> Tracer::open(const SetUp& set_up) {
    const std::uint64_t records = std::max<std::uint64_t>(set_up.bytes / sizeof(TraceRecord), 64);
    const std::size_t bytes = TraceLayout::bytes(records);
    std::error_code error;
    std::filesystem::create_directories(set_up.folder, error);
    if (error) return fmt::format("{} cannot be made: {}", set_up.folder, error.message());
    const int rank = set_up.header.rank;
    // Of an earlier job.
    unlink(file_of(set_up.folder, rank, "json").c_str());
    const std::string name = file_of(set_up.folder, rank, "events");
    const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) return problem(name + " cannot be made", errno);
    // Room for all of it now: a full disk would be a SIGBUS later.
    const int full = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    void* memory = MAP_FAILED;
    if (full == 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const int reason = full != 0 ? full : errno;
    close(descriptor);
    if (memory == MAP_FAILED) {
        unlink(name.c_str());
        return problem(fmt::format("{} of {} bytes cannot be made", name, bytes), reason);
    }
    // The pages are there, and may be written: no call waits for that.
    std::memset(memory, 0, bytes);
    auto* header = new (memory) TraceHeader(set_up.header);
    header->capacity = records;
    try {
        opened_ = new Tracer(set_up.folder, static_cast<std::byte*>(memory), bytes);
    } catch (const std::bad_alloc&) {
        munmap(memory, bytes);
        unlink(name.c_str());
        throw;
    }
    return std::nullopt;
}

void Tracer::begin() { instance_.store(opened_, std::memory_order_release); }

void Tracer::give_up() {
    const std::unique_ptr<Tracer> given_up(std::exchange(opened_, nullptr));
    instance_.store(nullptr, std::memory_order_release);
    if (given_up == nullptr) return;
    unlink(given_up->file("events").c_str());
    munmap(given_up->memory_, given_up->bytes_);
}

Tracer::Tracer(std::string folder, std::byte* memory, std::size_t bytes)
    : folder_(std::move(folder)),
      memory_(memory),
      bytes_(bytes),
      header_(*reinterpret_cast<TraceHeader*>(memory)),
      communicators_(reinterpret_cast<TraceCommunicator*>(memory + TraceLayout::communicators_at)),
      texts_(reinterpret_cast<char*>(memory + TraceLayout::texts_at)),
      ring_(reinterpret_cast<TraceRecord*>(memory + TraceLayout::records_at)) {}

std::string Tracer::file(std::string_view ending) const { return file_of(folder_, header_.rank, ending); }

int Tracer::know(std::uint64_t key, std::string_view name, int rank, int size) {
    const TraceText called = text(name);
    const std::lock_guard lock(mutex_);
    if (is_over_ || header_.communicators == TraceHeader::most_communicators) return no_communicator;
    communicators_[header_.communicators] = {.key = key, .rank = rank, .size = size, .name = called};
    return static_cast<int>(header_.communicators++);
}

TraceText Tracer::text(std::string_view text) {
    constexpr unsigned int bits_of_offset = 16;
    static_assert(TraceHeader::text_bytes == 1U << bits_of_offset);
    if (text.empty()) return 0;
    auto& recent = recent_[(reinterpret_cast<std::uintptr_t>(text.data()) / 8 + text.size()) % recent_.size()];
    const std::uint64_t known = recent.load(std::memory_order_acquire);
    const auto offset = static_cast<TraceText>(known);
    if (offset != 0 && known >> bits_of_offset == text.size() &&
        std::memcmp(texts_ + offset, text.data(), text.size()) == 0) [[likely]]
        return offset;
    const TraceText found = new_text(text);
    if (found != 0) recent.store(std::uint64_t{text.size()} << bits_of_offset | found, std::memory_order_release);
    return found;
}

TraceText Tracer::new_text(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_texts_.find(text); found != known_texts_.end()) return found->second;
    if (is_over_ || header_.texts + text.size() + 1 > TraceHeader::text_bytes ||
        text.find('\0') != std::string_view::npos)
        return 0;
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
    const std::string text = trace_text(TraceLayout::view({memory_, bytes_}));
    const std::string name = file("json");
    std::FILE* json = std::fopen(name.c_str(), "we");
    const bool is_written = json != nullptr && std::fwrite(text.data(), 1, text.size(), json) == text.size();
    const int reason = errno;
    const bool is_closed = json != nullptr && std::fclose(json) == 0;
    if (!is_written || !is_closed) {
        unlink(name.c_str());
        return problem(fmt::format("{} cannot be written ({} has what was noted)", name, file("events")),
                       is_written ? errno : reason);
    }
    unlink(file("events").c_str());
    return std::nullopt;
}

}  // namespace hcoll
