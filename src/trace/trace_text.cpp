// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "watch/call_description.hpp"

namespace hcoll {

namespace {

std::string json_string(std::string_view text) {
    constexpr auto any = nlohmann::json::error_handler_t::replace;
    return nlohmann::json(text).dump(-1, ' ', false, any);
}

template <std::size_t size>
std::string_view text_of(const std::array<char, size>& from) {
    return {from.data(), static_cast<std::size_t>(std::find(from.begin(), from.end(), '\0') - from.begin())};
}

std::string microseconds_text(std::int64_t nanoseconds) {
    const auto size = static_cast<std::uint64_t>(nanoseconds < 0 ? -nanoseconds : nanoseconds);
    return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", size / 1000, size % 1000);
}

bool is_of_thread(TraceKind kind) { return kind == TraceKind::call || kind == TraceKind::function; }

class Writer {
public:
    Writer(const TraceView& view, const std::function<void(std::string_view)>& write) : view_(view), write_(write) {}

    void write() {
        // By begin; what lies within another one comes after it.
        const std::uint64_t first = view_.first();
        // A copy of what they are sorted by: a thread that is in a call may yet end a record.
        struct Place {
            std::uint64_t begin;
            std::uint64_t end;
            std::uint64_t number;
        };
        std::vector<Place> order;
        const std::uint64_t records = view_.last() - first + 1;
        order.reserve(records);
        // In a damaged file the last number may be the largest that there is.
        for (std::uint64_t i = 0; i < records; ++i) {
            const TraceRecord record = view_.record(first + i);
            if (view_.is_one(record)) order.push_back({record.begin, end_of(record), first + i});
        }
        std::sort(order.begin(), order.end(), [](const Place& a, const Place& b) {
            return std::tie(a.begin, b.end, a.number) < std::tie(b.begin, a.end, b.number);
        });
        add("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\"libhcoll_trace\":1,\"job\":\"{:016x}\",\"started\":{},"
            "\"rank\":{},\"ranks\":{},\"node\":{},\"socket\":{},\"host\":{},\"mpi_library\":{},\"clocks\":{},"
            "\"overwritten\":{}}},\n\"traceEvents\":[\n",
            view_.header.job, view_.header.started, rank(), view_.header.ranks, view_.header.node, view_.header.socket,
            json_string(text_of(view_.header.host)), json_string(text_of(view_.header.library)),
            view_.header.clocks.count, view_.overwritten());
        add("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":{1}}}}},\n"
            "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"sort_index\":{0}}}}}",
            rank(), json_string(fmt::format("rank {} on {}", rank(), text_of(view_.header.host))));
        for (const Place& each : order) {
            add_event(each.number);
            if (text_.size() >= piece) flush();
        }
        for (const int thread : threads_) {
            const std::string name = thread >= first_lane_of_steps
                                         ? fmt::format("steps {}", thread - first_lane_of_steps)
                                         : fmt::format("thread {}", thread);
            add(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                rank(), thread, name);
        }
        text_ += "\n]}\n";
        flush();
    }

private:
    static constexpr std::size_t piece = 1U << 16U;

    void flush() {
        write_(text_);
        text_.clear();
    }
    static std::uint64_t end_of(const TraceRecord& record) { return record.end == 0 ? ~std::uint64_t{0} : record.end; }

    template <typename... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }
    int rank() const { return view_.header.rank; }

    // The first row that is free then.
    int row(const TraceRecord& record) {
        if (is_of_thread(record.kind)) return std::min<int>(record.thread, first_lane_of_steps - 1);
        const auto lane =
            std::find_if(lanes_.begin(), lanes_.end(), [&](std::uint64_t end) { return end <= record.begin; });
        if (lane != lanes_.end()) {
            *lane = end_of(record);
            return first_lane_of_steps + static_cast<int>(lane - lanes_.begin());
        }
        lanes_.push_back(end_of(record));
        return first_lane_of_steps + static_cast<int>(lanes_.size()) - 1;
    }

    std::string name(const TraceRecord& record) const {
        switch (record.kind) {
            case TraceKind::call:
            case TraceKind::run: {
                const auto collective =
                    static_cast<Collective>(std::min<std::size_t>(record.collective, collective_count - 1));
                const auto form = static_cast<CallForm>(std::min<std::size_t>(record.form, 2));
                const std::string function = function_name(collective, form);
                return record.kind == TraceKind::call ? function : "run of " + function;
            }
            case TraceKind::function: return std::string(view_.text(record.name));
            case TraceKind::send: return fmt::format("send to {}", record.peer);
            case TraceKind::recv: return fmt::format("recv from {}", record.peer);
            case TraceKind::wait: return fmt::format("wait for {}", record.peer);
            default: return std::string(trace_kind_names[static_cast<std::size_t>(record.kind)]);
        }
    }

    // The text of a communicator or another one, quoted once.
    const std::string& text_of_offset(TraceText offset) {
        const auto [found, is_new] = quoted_.try_emplace(offset);
        if (is_new) found->second = json_string(view_.text(offset));
        return found->second;
    }

    void add_event(std::uint64_t number) {
        const TraceRecord& record = view_.record(number);
        const std::int64_t begin = view_.time(record.begin);
        const int thread = row(record);
        threads_.insert(thread);
        add(",\n{{\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}", json_string(name(record)),
            trace_kind_names[static_cast<std::size_t>(record.kind)], rank(), thread, microseconds_text(begin));
        if (record.end == 0)
            text_ += R"(,"ph":"B")";
        else
            add(R"(,"ph":"X","dur":{})", microseconds_text(std::max<std::int64_t>(view_.time(record.end) - begin, 0)));
        if (record.kind != TraceKind::function) add_arguments(record, view_.communicator_of(number));
        text_ += '}';
    }

    void add_arguments(const TraceRecord& record, const TraceCommunicator* known) {
        const TraceCommunicator communicator = known != nullptr ? *known : TraceCommunicator{};
        add(R"(,"args":{{"key":"{:016x}","number":{},"bytes":{})", communicator.key, record.number, record.bytes);
        if (record.kind == TraceKind::call || record.kind == TraceKind::run) {
            add(R"(,"communicator":{},"rank":{},"size":{})", text_of_offset(communicator.name), communicator.rank,
                communicator.size);
            if (record.peer >= 0) add(R"(,"root":{})", record.peer);
            if (record.operation != 0) add(R"(,"operation":{})", text_of_offset(record.operation));
            if (record.type != 0) add(R"(,"type":{})", text_of_offset(record.type));
            if (record.name != 0) add(R"(,"runs":{})", text_of_offset(record.name));
        } else {
            add(R"(,"peer":{})", record.peer);
            if (record.kind != TraceKind::wait) add(R"(,"step":{},"segment":{})", record.step, record.segment);
            if (record.kind == TraceKind::send || record.kind == TraceKind::recv) add(R"(,"tag":{})", record.tag);
        }
        text_ += '}';
    }

    const TraceView& view_;
    const std::function<void(std::string_view)>& write_;
    std::string text_;
    std::vector<std::uint64_t> lanes_;  // until when each is in use
    std::set<int> threads_;
    std::unordered_map<TraceText, std::string> quoted_;
};

}  // namespace

void write_trace_text(const TraceView& view, const std::function<void(std::string_view)>& write) {
    Writer(view, write).write();
}

std::string trace_text(const TraceView& view) {
    std::string text;
    write_trace_text(view, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace hcoll
