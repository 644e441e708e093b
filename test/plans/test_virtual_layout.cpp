// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "topology/virtual_layout.hpp"
#include "tuning/settings.hpp"

namespace hcoll {
namespace {

VirtualLayout layout_of(const std::string& text) {
    VirtualLayout layout;
    const auto problem = VirtualLayout::parse(text, layout);
    EXPECT_FALSE(problem) << text << ": " << problem.value_or("");
    return layout;
}

std::vector<Seat> seats_of(const std::string& text, int ranks) {
    std::vector<Seat> seats;
    const auto problem = layout_of(text).seats(ranks, seats);
    EXPECT_FALSE(problem) << text << ": " << problem.value_or("");
    return seats;
}

std::vector<int> nodes_of(const std::string& text, int ranks) {
    std::vector<int> nodes;
    for (const Seat& seat : seats_of(text, ranks)) nodes.push_back(seat.node);
    return nodes;
}

// A file with a name of its own, gone with the object.
class LayoutFile {
public:
    explicit LayoutFile(const std::string& content)
        : path_(std::filesystem::temp_directory_path() / fmt::format("hcoll-layout-{}-{}", getpid(), ++made_)) {
        std::ofstream(path_) << content;
    }
    ~LayoutFile() { std::filesystem::remove(path_); }
    LayoutFile(const LayoutFile&) = delete;
    LayoutFile& operator=(const LayoutFile&) = delete;
    std::string path() const { return path_; }

private:
    static inline int made_ = 0;
    std::filesystem::path path_;
};

TEST(VirtualLayout, NoneIsTheDefault) {
    EXPECT_TRUE(VirtualLayout().is_automatic());
    EXPECT_EQ(VirtualLayout().text(), "auto");
    EXPECT_TRUE(layout_of("auto").is_automatic());
    EXPECT_TRUE(layout_of("Auto").is_automatic());
    VirtualLayout layout = layout_of("2x2");
    EXPECT_FALSE(VirtualLayout::parse("auto", layout));
    EXPECT_TRUE(layout.is_automatic());
}

TEST(VirtualLayout, BlockFillsNodeAfterNode) {
    const std::vector<Seat> seats = seats_of("2x2x2", 8);
    for (int rank = 0; rank < 8; ++rank)
        EXPECT_EQ(seats[static_cast<std::size_t>(rank)],
                  (Seat{.node = rank / 4, .socket = rank / 2 % 2, .core = rank % 4}));
    EXPECT_EQ(nodes_of("4x2x4", 20), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2}));
    EXPECT_EQ(nodes_of("1x1x1", 1), (std::vector<int>{0}));
}

TEST(VirtualLayout, TwoNumbersAreNodesAndCores) {
    EXPECT_EQ(seats_of("2x3", 6), seats_of("2x1x3", 6));
    EXPECT_EQ(layout_of("2X3").text(), "2x1x3");
    EXPECT_EQ(seats_of("2x3", 4).back(), (Seat{.node = 1, .socket = 0, .core = 0}));
}

TEST(VirtualLayout, FiveNumbersHaveNumaNodesAndCaches) {
    const std::vector<Seat> seats = seats_of("2x2x2x3x4", 96);
    EXPECT_EQ(seats[95], (Seat{.node = 1, .socket = 3, .core = 47, .package = 1, .cache = 11}));
    EXPECT_EQ(seats[16], (Seat{.node = 0, .socket = 1, .core = 16, .package = 0, .cache = 4}));
    EXPECT_EQ(layout_of("2x2x1x1x4").text(), "2x2x4");
    EXPECT_EQ(seats_of("2x2x1x1x4", 16), seats_of("2x2x4", 16));
    EXPECT_EQ(seats_of("1x1x1x2x1", 2).back(), (Seat{.node = 0, .socket = 0, .core = 1, .cache = 1}));
    EXPECT_EQ(seats_of("0.1.2.5.9,1", 2),
              (std::vector<Seat>{{.node = 0, .socket = 2, .core = 9, .package = 1, .cache = 5}, {.node = 1}}));
}

TEST(VirtualLayout, CyclicGoesAroundTheNodes) {
    EXPECT_EQ(nodes_of("3x1x4:cyclic", 7), (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
    const std::vector<Seat> seats = seats_of("2x2x2:cyclic", 8);
    EXPECT_EQ(seats[1], (Seat{.node = 1, .socket = 0, .core = 0}));
    EXPECT_EQ(seats[4], (Seat{.node = 0, .socket = 1, .core = 2}));
    EXPECT_EQ(seats[7], (Seat{.node = 1, .socket = 1, .core = 3}));
}

TEST(VirtualLayout, ReversePutsTheLastRankFirst) {
    EXPECT_EQ(nodes_of("2x1x3:reverse", 5), (std::vector<int>{1, 1, 0, 0, 0}));
    const std::vector<Seat> seats = seats_of("2x2x2:reverse", 8);
    EXPECT_EQ(seats[7], (Seat{.node = 0, .socket = 0, .core = 0}));
    EXPECT_EQ(seats[0], (Seat{.node = 1, .socket = 1, .core = 3}));
}

TEST(VirtualLayout, AListSeatsEveryRank) {
    EXPECT_EQ(seats_of("0.1.7,3.0,5", 3),
              (std::vector<Seat>{{.node = 0, .socket = 1, .core = 7}, {.node = 3, .socket = 0}, {.node = 5}}));
    EXPECT_EQ(nodes_of("0,0,1,1", 4), (std::vector<int>{0, 0, 1, 1}));
    EXPECT_EQ(nodes_of("0,0,1,1", 3), (std::vector<int>{0, 0, 1}));
    EXPECT_EQ(nodes_of("7,", 1), (std::vector<int>{7}));
    EXPECT_EQ(nodes_of("1048576.1048576.1048576", 1), (std::vector<int>{1048576}));
}

TEST(VirtualLayout, AFileSeatsEveryRank) {
    const LayoutFile file("# node socket core\n\n0 1 7\n  3\t0  # bound to a socket\r\n5\n   \n");
    EXPECT_EQ(layout_of(file.path()).text(), "0.1.7,3.0,5");
    const LayoutFile single("4");
    EXPECT_EQ(layout_of(single.path()).text(), "4,");
}

TEST(VirtualLayout, ItsTextReadsBack) {
    for (const char* text :
         {"auto", "4x2x4", "4x2", "4x2x4:cyclic", "1x1:reverse", "1024x1x1024", "0,0,1,1", "3,", "0.1,2.3.4,5", "0.0.0",
          "2x2x4x2x8", "2x2x1x2x8:cyclic", "1x1x2x1x2:reverse", "0.0.0.0.0,0.1.2.3.4,1.2"}) {
        const VirtualLayout layout = layout_of(text);
        const VirtualLayout again = layout_of(layout.text());
        EXPECT_EQ(again.text(), layout.text()) << text;
        EXPECT_EQ(again.is_automatic(), layout.is_automatic());
        EXPECT_EQ(again.places(), layout.places());
        if (layout.is_automatic()) continue;
        const int ranks = std::min(layout.places(), 40);
        EXPECT_EQ(seats_of(layout.text(), ranks), seats_of(text, ranks)) << text;
    }
}

TEST(VirtualLayout, TooFewPlacesAreAProblem) {
    std::vector<Seat> seats;
    for (const char* text : {"2x1x2", "2x2:cyclic", "4x1x1:reverse", "0,0,1,1"}) {
        EXPECT_FALSE(layout_of(text).seats(4, seats));
        const auto problem = layout_of(text).seats(5, seats);
        ASSERT_TRUE(problem) << text;
        EXPECT_NE(problem->find("4 places for 5 ranks"), std::string::npos) << *problem;
        EXPECT_EQ(seats.size(), 4U) << "seats stay as they were";
    }
}

TEST(VirtualLayout, AMistakeIsToldAndChangesNothing) {
    for (const char* text : {"",
                             "4",
                             "four",
                             "4x",
                             "x4",
                             "4xx4",
                             "0x4",
                             "4x0x2",
                             "4x2x4x2",
                             "4x2x4x2x2x2",
                             "4x2x0x2x2",
                             "1024x2x1024x1x1",
                             "1048576x1048576x1048576x16x1",
                             "1048576x1048576x1048576x1048576x1048576",
                             "0.1.2.3.4.5",
                             "-4x2",
                             "4x 2",
                             "4x2x4:",
                             "4x2x4:cycle",
                             "4x2x4:cyclic:reverse",
                             "1048577x1",
                             "1025x1x1024",
                             "1048576x1048576x1048576",
                             "99999999999999999999x1",
                             ",",
                             "0,,1",
                             ",0",
                             "0,1,,",
                             "0.",
                             "0..1",
                             "0.1.2.3",
                             "0.1,-1",
                             "0,a",
                             "0,1:cyclic",
                             "1048577,0",
                             "0.0.0 0.0.1"}) {
        VirtualLayout layout = layout_of("3x1x2:cyclic");
        const auto problem = VirtualLayout::parse(text, layout);
        ASSERT_TRUE(problem) << text;
        EXPECT_GT(problem->size(), 20U);
        EXPECT_EQ(problem->find('\n'), std::string::npos);
        EXPECT_EQ(layout.text(), "3x1x2:cyclic") << text;
    }
}

TEST(VirtualLayout, AMistakeInAFileIsToldWithItsLine) {
    const auto problem_of = [](const std::string& name) {
        VirtualLayout layout;
        return VirtualLayout::parse(name, layout).value_or("no problem");
    };
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    const LayoutFile wrong("# comment\n0 0 0\n\n0 0 zero\n");
    const std::string problem = problem_of(wrong.path());
    for (const std::string& part : {std::string("line 4 "), wrong.path(), std::string("'zero'"),
                                    std::string("no number from 0 to 1048576"), std::string("node [socket [core]]")})
        EXPECT_TRUE(has(problem, part)) << problem;
    const LayoutFile empty("# nobody\n");
    EXPECT_TRUE(has(problem_of(empty.path()), "no rank")) << problem_of(empty.path());
    const LayoutFile long_line("0 1 2 3\n");
    EXPECT_TRUE(has(problem_of(long_line.path()), "line 1 ")) << problem_of(long_line.path());
    const LayoutFile negative("0\n-1\n");
    EXPECT_TRUE(has(problem_of(negative.path()), "line 2 ")) << problem_of(negative.path());
    for (const char* name : {"/nowhere/layout", "./nowhere", "/", "/dev/zero"})
        EXPECT_TRUE(has(problem_of(name), std::string(name) + " cannot be read")) << problem_of(name);
}

// What ranks agree upon is what rank 0 read, not where it read it.
TEST(VirtualLayout, IsAgreedAsText) {
    const LayoutFile file("0 0 0\n1 0 0\n");
    std::vector<std::string> warnings;
    const Settings settings = parse_settings({{"LIBHCOLL_TOPOLOGY", file.path()}}, warnings);
    EXPECT_TRUE(warnings.empty());
    EXPECT_NE(agreed_text(settings).find("LIBHCOLL_TOPOLOGY=0.0.0,1.0.0\n"), std::string::npos);
    Settings other;
    adopt_agreed_text(agreed_text(settings), other);
    EXPECT_EQ(other.topology.text(), "0.0.0,1.0.0");
    adopt_agreed_text(agreed_text(Settings{}), other);
    EXPECT_TRUE(other.topology.is_automatic());
}

TEST(VirtualLayout, AMistakeInTheSettingIsOneWarning) {
    for (const char* value : {"/nowhere/layout", "4", "4x2x4:round"}) {
        std::vector<std::string> warnings;
        EXPECT_TRUE(parse_settings({{"LIBHCOLL_TOPOLOGY", value}}, warnings).topology.is_automatic());
        ASSERT_EQ(warnings.size(), 1U);
        EXPECT_EQ(warnings[0].find("LIBHCOLL_TOPOLOGY: "), 0U);
        EXPECT_NE(warnings[0].find("; auto stays in force"), std::string::npos);
    }
}

}  // namespace
}  // namespace hcoll
