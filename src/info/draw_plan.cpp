// SPDX-License-Identifier: BSD-3-Clause
#include "info/draw_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/catalog.hpp"
#include "info/svg.hpp"
#include "topology/draw_placement.hpp"
#include "tuning/text.hpp"

namespace hcoll::info {

namespace {

// By Link; told apart by those who see no red or green as well (Okabe, Ito 2008).
constexpr std::array<const char*, link_count> link_colors = {"#009e73", "#e69f00", "#0072b2"};

// With more messages labels would hide the arrows.
constexpr std::size_t most_labels = 64;

std::size_t link_of(const PlanPicture& picture, const MessageTime& message) {
    return static_cast<std::size_t>(picture.placement.link(message.from, message.to));
}

std::string label_of(const PlanPicture& picture, const MessageTime& message) {
    const std::string size = size_text(message.bytes);
    return picture.has_segments ? fmt::format("s{} {}", message.tag % max_window, size) : size;
}

// Where ranks and steps are on the paper, in pixels.
class Paper {
public:
    explicit Paper(const PlanPicture& picture) : placement_(picture.placement) {
        column_ = std::clamp(1100.0 / placement_.ranks(), 22.0, 56.0);
        for (const MessageTime& message : picture.messages) steps_ = std::max(steps_, message.arrival);
        columns_.resize(static_cast<std::size_t>(placement_.ranks()));
        double x = left;
        for (int node = 0; node < placement_.nodes(); ++node) {
            begin_of_node_.push_back(x);
            for (int socket = 0; socket < placement_.sockets_of_node(node); ++socket) {
                for (const int rank : placement_.ranks_of_socket(node, socket)) {
                    columns_[static_cast<std::size_t>(rank)] = x + column_ / 2;
                    x += column_;
                }
                if (socket + 1 < placement_.sockets_of_node(node)) x += gap_of_sockets;
            }
            end_of_node_.push_back(x);
            x += gap_of_nodes;
        }
        width_ = std::max(x - gap_of_nodes + right, left + right + letter * static_cast<double>(picture.title.size()));
    }

    double x(int rank) const { return columns_[static_cast<std::size_t>(rank)]; }
    double y(double step) const { return top + step * row; }
    double begin_of_node(int node) const { return begin_of_node_[static_cast<std::size_t>(node)]; }
    double end_of_node(int node) const { return end_of_node_[static_cast<std::size_t>(node)]; }
    double width() const { return width_; }
    double height() const { return y(steps_) + bottom; }
    double steps() const { return steps_; }
    double radius() const { return std::min(column_ / 2 - 2, 13.0); }

    static constexpr double top = 112;
    static constexpr double row = 56;

private:
    static constexpr double left = 44;
    static constexpr double right = 20;
    static constexpr double bottom = 24;
    static constexpr double gap_of_nodes = 18;
    static constexpr double gap_of_sockets = 8;
    static constexpr double letter = 8;  // of the title, wide enough

    const Placement& placement_;
    double column_ = 0;
    double steps_ = 0;
    double width_ = 0;
    std::vector<double> columns_;  // by rank: its middle
    std::vector<double> begin_of_node_;
    std::vector<double> end_of_node_;
};

std::string legend(const PlanPicture& picture, double y) {
    std::array<std::uint64_t, link_count> messages{};
    for (const MessageTime& message : picture.messages) ++messages[link_of(picture, message)];
    std::string text;
    double x = 44;
    for (std::size_t link = 0; link < link_count; ++link) {
        if (messages[link] == 0) continue;
        const std::string words = fmt::format("{}: {} messages", link_names[link], messages[link]);
        text += fmt::format(
            "<line x1=\"{0:.0f}\" y1=\"{1:.0f}\" x2=\"{2:.0f}\" y2=\"{1:.0f}\" stroke=\"{3}\" stroke-width=\"3\"/>\n"
            "<text x=\"{4:.0f}\" y=\"{5:.0f}\" font-size=\"12\">{6}</text>\n",
            x, y, x + 24, link_colors[link], x + 30, y + 4, words);
        x += 60 + 7.0 * static_cast<double>(words.size());
    }
    return text;
}

std::string columns_of_ranks(const PlanPicture& picture, const Paper& paper) {
    const Placement& placement = picture.placement;
    const double end = paper.y(paper.steps());
    std::string text;
    for (int node = 0; node < placement.nodes(); ++node) {
        const double begin = paper.begin_of_node(node);
        const double width = paper.end_of_node(node) - begin;
        text += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"#f2f2f2\"/>\n"
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"middle\">{}{}</text>\n",
            begin, Paper::top - 44, width, end - Paper::top + 56, begin + width / 2, Paper::top - 30,
            width > 44 ? "node " : "", node);
    }
    for (int rank = 0; rank < placement.ranks(); ++rank)
        text += fmt::format(
            "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#bbbbbb\"/>\n"
            "<circle cx=\"{0:.1f}\" cy=\"{3:.1f}\" r=\"{4:.1f}\" fill=\"white\" stroke=\"#555555\"/>\n"
            "<text x=\"{0:.1f}\" y=\"{5:.1f}\" font-size=\"11\" text-anchor=\"middle\">{6}</text>\n",
            paper.x(rank), Paper::top, end, Paper::top - 13, paper.radius(), Paper::top - 9, rank);
    return text;
}

std::string rows_of_steps(const Paper& paper) {
    std::string text;
    for (int step = 0; step <= static_cast<int>(std::lround(paper.steps())); ++step)
        text += fmt::format(
            "<line x1=\"30\" y1=\"{0:.1f}\" x2=\"{1:.1f}\" y2=\"{0:.1f}\" stroke=\"#dddddd\" "
            "stroke-dasharray=\"3 4\"/>\n<text x=\"24\" y=\"{2:.1f}\" font-size=\"11\" "
            "text-anchor=\"end\">{3}</text>\n",
            paper.y(step), paper.width() - 12, paper.y(step) + 4, step);
    return text;
}

std::string arrow(const PlanPicture& picture, const Paper& paper, const MessageTime& message, bool has_label) {
    const std::size_t link = link_of(picture, message);
    const double x1 = paper.x(message.from);
    const double x2 = paper.x(message.to);
    const double y1 = paper.y(message.start);
    const double y2 = paper.y(message.arrival);
    std::string text = fmt::format(
        "<line class=\"message\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"1.6\" marker-end=\"url(#{})\"><title>{} to {}, {} bytes, {}, step {:.0f}{}</title></line>\n",
        x1, y1, x2, y2, link_colors[link], link_names[link], message.from, message.to, message.bytes, link_names[link],
        message.arrival, picture.has_segments ? fmt::format(", segment {}", message.tag % max_window) : std::string());
    // Nearer to the receiver: arrows that begin at one rank have room there.
    if (has_label)
        text += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9\" text-anchor=\"middle\" fill=\"#222222\" stroke=\"white\" "
            "stroke-width=\"2.5\" paint-order=\"stroke\">{}</text>\n",
            x1 + 0.62 * (x2 - x1), y1 + 0.62 * (y2 - y1) + 3, label_of(picture, message));
    return text;
}

// ---- text ---------------------------------------------------------------------------------------------------------------

std::string region_text(const Region& region) {
    constexpr const char* buffers[] = {"input", "output", "scratch"};
    const std::string part = region.buffer == Buffer::scratch ? fmt::format(" {}", region.part) : std::string();
    return fmt::format("{}{} [{}, {})", buffers[static_cast<std::size_t>(region.buffer)], part, region.begin,
                       region.begin + region.length);
}

std::string positions_text(std::uint8_t positions) {
    std::string text;
    const auto add = [&](Position position, const char* word) {
        if ((positions & position) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
    };
    add(first_chunk, "first");
    add(middle_chunk, "middle");
    add(last_chunk, "last");
    return text;
}

std::string what_it_does(const Step& step) {
    switch (step.kind) {
        case StepKind::send: return fmt::format("send to {}: {}", step.peer, region_text(step.source));
        case StepKind::recv: return fmt::format("recv from {}: {}", step.peer, region_text(step.target));
        case StepKind::reduce:
            return fmt::format("reduce {} op {}", region_text(step.source), region_text(step.target));
        case StepKind::copy: return fmt::format("copy {} to {}", region_text(step.source), region_text(step.target));
        case StepKind::collective: break;
    }
    std::string text = fmt::format("{} of the MPI library among leaders",
                                   collective_names[static_cast<std::size_t>(step.collective)].mpi_name);
    if (step.has_source()) text += fmt::format(", from {}", region_text(step.source));
    if (step.has_target()) text += fmt::format(", into {}", region_text(step.target));
    return text;
}

std::string phase_text(const Plan& plan, const Phase& phase, std::size_t number) {
    std::string text = fmt::format("phase {}: units {} to {}, ", number, phase.origin, phase.origin + phase.units);
    if (phase.is_ring())
        text += fmt::format("a ring of {} chunks of {} units from chunk {} downwards, ", phase.chunks,
                            phase.chunk_units, phase.begin_chunk);
    text += fmt::format("{} segment{} of {} units, window {}, {} units of scratch\n", phase.segments(),
                        phase.segments() == 1 ? "" : "s", phase.segment_units, phase.window, phase.scratch_units());
    std::vector<std::vector<int>> waits_for(phase.steps);
    for (std::uint32_t index = 0; index < phase.steps; ++index) {
        const Step& step = plan.steps[phase.first_step + index];
        for (std::uint32_t i = 0; i < step.successors; ++i)
            waits_for[plan.successors[step.first_successor + i]].push_back(static_cast<int>(index));
    }
    for (std::uint32_t index = 0; index < phase.steps; ++index) {
        const Step& step = plan.steps[phase.first_step + index];
        text += fmt::format("  {:>4}  {}", index, what_it_does(step));
        if (step.positions != any_chunk) text += fmt::format("; of the {} chunks", positions_text(step.positions));
        if (!waits_for[index].empty()) text += fmt::format("; after {}", numbers_text(waits_for[index]));
        text += '\n';
    }
    return text;
}

}  // namespace

std::string plan_dot(const PlanPicture& picture) {
    const Placement& placement = picture.placement;
    std::string text = fmt::format(
        "digraph plan {{\n  label=\"{}\";\n  labelloc=t;\n  node [shape=circle, fontsize=11];\n  edge [fontsize=9];\n",
        escaped(picture.title));
    for (int node = 0; node < placement.nodes(); ++node) {
        text += fmt::format("  subgraph cluster_{} {{\n    label=\"node {}\";\n   ", node, node);
        for (const int rank : placement.ranks_of_node(node)) text += fmt::format(" {};", rank);
        text += "\n  }\n";
    }
    const bool has_labels = picture.messages.size() <= most_labels;
    for (const MessageTime& message : picture.messages) {
        const std::string label =
            has_labels ? fmt::format(", label=\"{:.0f}: {}\"", message.arrival, label_of(picture, message)) : "";
        text += fmt::format("  {} -> {} [color=\"{}\"{}];\n", message.from, message.to,
                            link_colors[link_of(picture, message)], label);
    }
    return text + "}\n";
}

std::string plan_svg(const PlanPicture& picture) {
    const Paper paper(picture);
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs>\n",
        paper.width(), paper.height());
    for (std::size_t link = 0; link < link_count; ++link)
        text += fmt::format(
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"{}\"/></marker>\n",
            link_names[link], link_colors[link]);
    text += fmt::format("</defs>\n<text x=\"44\" y=\"24\" font-size=\"14\">{}</text>\n", escaped(picture.title));
    text += legend(picture, 44);
    text += columns_of_ranks(picture, paper);
    text += rows_of_steps(paper);
    const bool has_labels = picture.messages.size() <= most_labels;
    for (const MessageTime& message : picture.messages) text += arrow(picture, paper, message, has_labels);
    return text + "</svg>\n";
}

std::string plan_text(const Plan& plan) {
    std::string text = fmt::format("in flight: {} sends and {} receives of a step\n", plan.sends, plan.receives);
    for (std::size_t number = 0; number < plan.phases.size(); ++number)
        text += phase_text(plan, plan.phases[number], number);
    return text;
}

std::uint64_t units_to_draw(std::span<const Plan> plans, std::uint64_t units, std::uint64_t segments) {
    std::uint64_t drawn = units;
    for (const Plan& plan : plans)
        for (const Phase& phase : plan.phases)
            if (phase.steps != 0 && phase.segment_units != 0)
                drawn = std::min(drawn, phase.segment_units * (phase.is_ring() ? phase.chunks : segments));
    return drawn;
}

}  // namespace hcoll::info
