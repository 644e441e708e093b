#include "trace/trace_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace hcoll {

std::string_view TraceView::text(TraceText offset) const {
    if (offset == 0 || offset >= texts.size()) return {};
    const std::span<const char> rest = texts.subspan(offset);
    return {rest.data(), static_cast<std::size_t>(std::find(rest.begin(), rest.end(), '\0') - rest.begin())};
}

// Between two looks the clocks are taken to drift apart evenly; before and after them by what was seen.
std::int64_t TraceView::time(std::uint64_t process_time) const {
    const std::size_t clocks = std::min<std::size_t>(header.clocks, header.clock.size());
    if (clocks == 0) return static_cast<std::int64_t>(process_time - header.origin);
    const auto offset_of = [](const TraceClock& clock) {
        return static_cast<std::int64_t>(clock.common - clock.process);
    };
    const TraceClock& first = header.clock[0];
    const TraceClock& last = header.clock[clocks - 1];
    std::int64_t offset = offset_of(first);
    if (last.process > first.process) {
        const double drift =
            static_cast<double>(offset_of(last) - offset_of(first)) / static_cast<double>(last.process - first.process);
        const double since = static_cast<double>(static_cast<std::int64_t>(process_time - first.process));
        // What a file holds may be anything.
        const double drifted = drift * since;
        constexpr double most = 1e18;
        if (drifted > -most && drifted < most)
            offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) +
                                               static_cast<std::uint64_t>(static_cast<std::int64_t>(drifted)));
    }
    return static_cast<std::int64_t>(process_time + static_cast<std::uint64_t>(offset) - header.origin);
}

std::uint64_t TraceView::overwritten() const { return header.written > ring.size() ? header.written - ring.size() : 0; }

std::vector<TraceRecord> TraceView::records() const {
    std::vector<TraceRecord> found;
    const std::uint64_t count = std::min<std::uint64_t>(header.written, ring.size());
    found.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const TraceRecord& record = ring[(header.written - count + i) % ring.size()];
        if (record.kind != TraceKind::none && static_cast<std::size_t>(record.kind) < trace_kind_count)
            found.push_back(record);
    }
    return found;
}

bool TraceLayout::is_one(std::span<const std::byte> bytes) {
    if (bytes.size() < records_at) return false;
    TraceHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.magic == TraceHeader::right_magic && header.communicators <= TraceHeader::most_communicators &&
           header.texts <= TraceHeader::text_bytes;
}

TraceView TraceLayout::view(std::span<const std::byte> bytes) {
    const auto& header = *reinterpret_cast<const TraceHeader*>(bytes.data());
    const std::uint64_t records =
        std::min<std::uint64_t>(header.capacity, (bytes.size() - records_at) / sizeof(TraceRecord));
    return {.header = header,
            .communicators = {reinterpret_cast<const TraceCommunicator*>(bytes.data() + communicators_at),
                              header.communicators},
            .texts = {reinterpret_cast<const char*>(bytes.data() + texts_at), header.texts},
            .ring = {reinterpret_cast<const TraceRecord*>(bytes.data() + records_at), records}};
}

}  // namespace hcoll
