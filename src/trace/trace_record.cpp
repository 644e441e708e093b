// SPDX-License-Identifier: BSD-3-Clause
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

void TraceClocks::add(const TraceClock& clock) {
    if (count < seen.size()) ++count;
    seen[count - 1] = clock;
}

std::uint64_t TraceClocks::common(std::uint64_t process_time) const {
    // What a file holds may be anything.
    const std::size_t known = std::min<std::size_t>(count, seen.size());
    if (known == 0) return process_time;
    const auto offset_of = [](const TraceClock& clock) { return clock.common - clock.process; };
    const TraceClock& first = seen[0];
    const TraceClock& last = seen[known - 1];
    const std::uint64_t offset = offset_of(first);
    if (last.process <= first.process) return process_time + offset;
    const double drift = static_cast<double>(static_cast<std::int64_t>(offset_of(last) - offset)) /
                         static_cast<double>(last.process - first.process);
    const double drifted = drift * static_cast<double>(static_cast<std::int64_t>(process_time - first.process));
    constexpr double most = 1e18;
    if (!(drifted > -most && drifted < most)) return process_time + offset;
    return process_time + offset + static_cast<std::uint64_t>(static_cast<std::int64_t>(drifted));
}

std::int64_t TraceView::time(std::uint64_t process_time) const {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    return std::clamp(static_cast<std::int64_t>(header.clocks.common(process_time) - header.origin), -most, most);
}

std::uint64_t TraceView::overwritten() const { return header.written > ring.size() ? header.written - ring.size() : 0; }

const TraceCommunicator* TraceView::communicator_of(std::uint64_t number) const {
    const TraceRecord& of = record(number);
    if (of.communicator >= communicators.size() || communicators[of.communicator].since >= number) return nullptr;
    return &communicators[of.communicator];
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
