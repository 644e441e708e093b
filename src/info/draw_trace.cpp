// SPDX-License-Identifier: BSD-3-Clause
#include "info/draw_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "info/svg.hpp"

namespace hcoll::info {

namespace {

constexpr double left = 190;
constexpr double right = 30;
constexpr double width_of_time = 900;
constexpr double top = 78;
constexpr double row = 26;
constexpr double bar = 16;

constexpr std::string_view waiting_color = "#d9d9d9";
constexpr std::string_view call_color = "#e8f0fa";
constexpr std::string_view path_color = "#d55e00";

struct StepColor {
    TraceKind kind;
    std::string_view color;
    std::string_view name;
};
// Told apart by those who see no red or green as well (Okabe, Ito 2008).
constexpr std::array<StepColor, 6> step_colors = {{{TraceKind::send, "#56b4e9", "send"},
                                                   {TraceKind::recv, "#0072b2", "receive"},
                                                   {TraceKind::reduce, "#009e73", "combine"},
                                                   {TraceKind::copy, "#8fd0b8", "copy"},
                                                   {TraceKind::leaders, "#cc79a7", "leaders' collective"},
                                                   {TraceKind::wait, "#e69f00", "wait for a flag"}}};

class Drawing {
public:
    Drawing(std::span<const RankTrace> ranks, const TracedCallOfAll& call)
        : ranks_(ranks), call_(call), path_(critical_path(call)), begin_(call.begin()), end_(call.end()) {
        choose_ranks();
    }

    std::string text() {
        const double height = top + row * static_cast<double>(rows_.size()) + 46;
        const double width = left + width_of_time + right;
        text_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
            "{1:.0f}\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            width, height);
        add_head();
        add_axis(top + row * static_cast<double>(rows_.size()));
        for (const int rank : drawn_) add_rank(rank);
        add_messages();
        add_path();
        return text_ + "</svg>\n";
    }

private:
    template <typename... Values>
    void add(fmt::format_string<Values...> format, Values&&... values) {
        text_ += fmt::format(format, std::forward<Values>(values)...);
    }

    // All, or those on the critical path, and then in order.
    void choose_ranks() {
        std::set<int> chosen;
        for (const PathPiece& piece : path_)
            if (chosen.size() < most_ranks_drawn) chosen.insert(piece.rank);
        for (std::size_t rank = 0; rank < call_.ranks.size() && chosen.size() < most_ranks_drawn; ++rank)
            if (call_.ranks[rank] != nullptr) chosen.insert(static_cast<int>(rank));
        for (const int rank : chosen) {
            rows_[rank] = drawn_.size();
            drawn_.push_back(rank);
        }
    }

    double x(std::int64_t time) const {
        const auto length = static_cast<double>(std::max<std::int64_t>(end_ - begin_, 1));
        return left + width_of_time * std::clamp(static_cast<double>(time - begin_) / length, 0.0, 1.0);
    }
    double y(int rank) const { return top + row * (static_cast<double>(rows_.at(rank)) + 0.5); }
    bool is_drawn(int rank) const { return rows_.contains(rank); }

    void add_bar(int rank, std::int64_t from, std::int64_t to, double height, std::string_view color,
                 const std::string& title) {
        add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n",
            x(from), y(rank) - height / 2, std::max(x(to) - x(from), 0.6), height, color, escaped(title));
    }

    void add_head() {
        const TracedCollective& any = call_.any();
        std::string title = fmt::format("the {} collective on {}: {}", ordinal_text(any.number), any.communicator,
                                        function_name(any.collective, any.form));
        if (any.bytes != 0) title += fmt::format(", {} bytes", any.bytes);
        if (!any.runs.empty()) title += fmt::format(", {}", any.runs);
        if (drawn_.size() < call_.ranks.size())
            title += fmt::format(" ({} of {} ranks)", drawn_.size(), call_.ranks.size());
        add("<text x=\"14\" y=\"24\" font-size=\"14\">{}</text>\n", escaped(title));
        double at = left;
        const auto entry = [&](std::string_view color, std::string_view name) {
            add("<rect x=\"{:.0f}\" y=\"38\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" y=\"48\" "
                "font-size=\"11\">{}</text>\n",
                at, color, at + 16, name);
            at += 34 + 6.2 * static_cast<double>(name.size());
        };
        entry(waiting_color, "waits for late ranks");
        entry(call_color, "in the call");
        for (const StepColor& each : step_colors) entry(each.color, each.name);
        entry(path_color, "critical path");
    }

    void add_axis(double bottom) {
        constexpr int marks = 6;
        for (int i = 0; i <= marks; ++i) {
            const std::int64_t time = begin_ + (end_ - begin_) * i / marks;
            add("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#eeeeee\"/>"
                "<text x=\"{0:.1f}\" y=\"{3:.1f}\" font-size=\"10\" text-anchor=\"middle\">{4:.1f} us</text>\n",
                x(time), top, bottom, bottom + 16, static_cast<double>(time - begin_) / 1e3);
        }
    }

    void add_rank(int rank) {
        const TracedCollective* each = call_.ranks[static_cast<std::size_t>(rank)];
        const RankTrace* trace = trace_of(ranks_, call_.world_rank(rank));
        add("<text x=\"{:.0f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"end\">{}</text>\n", left - 8, y(rank) + 4,
            escaped(fmt::format("{}{}", trace == nullptr ? std::string() : trace->host + "  ", rank)));
        if (each == nullptr) return;
        int last = 0;
        const CallSplit split = call_.split(rank, call_.is_split() ? call_.arrivals(last) : CallArrivals{});
        add_bar(
            rank, each->span.begin, each->span.end, bar, call_color,
            fmt::format("rank {}: comes at {:.3f} us, {}", rank, static_cast<double>(each->span.begin - begin_) / 1e3,
                        each->span.is_over
                            ? fmt::format("goes at {:.3f} us", static_cast<double>(each->span.end - begin_) / 1e3)
                            : "never goes"));
        if (call_.is_split() && split.waiting > 0)
            add_bar(rank, each->span.begin, each->span.begin + split.waiting, bar, waiting_color,
                    fmt::format("waits for late ranks for {:.3f} us", static_cast<double>(split.waiting) / 1e3));
        for (const TracedStepEvent& step : each->steps) {
            const auto* const found = std::find_if(step_colors.begin(), step_colors.end(),
                                                   [&](const StepColor& color) { return color.kind == step.kind; });
            if (found == step_colors.end()) continue;
            add_bar(rank, step.span.begin, step.span.end, bar - 8, found->color,
                    fmt::format("{} {}{}, step {}, {} bytes, {:.3f} us", found->name, step.peer >= 0 ? "with " : "",
                                step.peer >= 0 ? std::to_string(step.peer) : "", step.step, step.bytes,
                                static_cast<double>(step.span.end - step.span.begin) / 1e3));
        }
    }

    void add_messages() {
        constexpr std::size_t most_arrows = 2000;
        std::size_t arrows = 0;
        for (const TracedMessage& message : messages_of(call_)) {
            if (!is_drawn(message.from) || !is_drawn(message.to) || ++arrows > most_arrows) continue;
            add("<line x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\" stroke=\"#777777\" "
                "stroke-width=\"0.7\"/>\n",
                x(message.send->span.begin), y(message.from), x(message.recv->span.end), y(message.to));
        }
    }

    void add_path() {
        for (const PathPiece& piece : path_) {
            if (piece.kind == PathPiece::Kind::late || !is_drawn(piece.rank)) continue;
            const bool crosses = piece.kind == PathPiece::Kind::message && is_drawn(piece.from);
            add("<line class=\"path\" x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\" stroke=\"{}\" "
                "stroke-width=\"2\"/>\n",
                x(piece.begin), y(crosses ? piece.from : piece.rank), x(piece.end), y(piece.rank), path_color);
        }
    }

    std::span<const RankTrace> ranks_;
    const TracedCallOfAll& call_;
    std::vector<PathPiece> path_;
    std::int64_t begin_;
    std::int64_t end_;
    std::vector<int> drawn_;
    std::map<int, std::size_t> rows_;
    std::string text_;
};

}  // namespace

std::string trace_svg(std::span<const RankTrace> ranks, const TracedCallOfAll& call) {
    return Drawing(ranks, call).text();
}

}  // namespace hcoll::info
