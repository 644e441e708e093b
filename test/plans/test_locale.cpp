// SPDX-License-Identifier: BSD-3-Clause
// What is read and written is the same whatever locale the application has set: one with a comma in its numbers, and ones in which i and I are no pair.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>

#include "base/letters.hpp"
#include "intercept/entry/flavour.h"
#include "topology/virtual_layout.hpp"
#include "tuning/table.hpp"
#include "tuning/text.hpp"

namespace hcoll::test {
namespace {

class Locale : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        setenv("LOCPATH", HCOLL_TEST_LOCALES, 1);
        if (std::setlocale(LC_ALL, GetParam()) == nullptr)
            GTEST_SKIP() << "there is no locale " << GetParam() << " (localedef makes it of Debian's package locales)";
        ASSERT_EQ(std::strtod("1.5", nullptr), 1) << "its numbers have a point";
    }
    void TearDown() override { std::setlocale(LC_ALL, "C"); }
};

TEST_P(Locale, ChangesNoTimeOfATable) {
    Table table;
    TableEntry entry;
    entry.nodes = {1, 1};
    entry.ranks_per_node = {2, 2};
    entry.bytes = {8, 8};
    entry.candidates = {{"binomial", 4.31e-7}, {"vendor", 0.02}};
    entry.spread = 0.125;
    table.entries = {entry};
    const std::string text = table_json(table);
    EXPECT_NE(text.find("4.31e-07"), std::string::npos) << text;
    EXPECT_NE(text.find("0.02"), std::string::npos) << text;
    std::vector<std::string> mistakes;
    const Table read = parse_table(text, "t.json", mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.front();
    ASSERT_EQ(read.entries.size(), 1U);
    EXPECT_EQ(read.entries[0].chosen().seconds, 4.31e-7);
    EXPECT_EQ(read.entries[0].spread, 0.125);
    EXPECT_EQ(table_json(read), text);
}

TEST_P(Locale, ChangesNoLetter) {
    EXPECT_EQ(to_upper("iallreduce"), "IALLREDUCE");
    EXPECT_EQ(to_lower("BINOMIAL"), "binomial");
    VirtualLayout layout;
    EXPECT_EQ(VirtualLayout::parse("2X2:CYCLIC", layout), std::nullopt);
    EXPECT_EQ(parse_size("64KB"), 65536U);
    EXPECT_TRUE(hcoll_is_word("OpenMPI", "openmpi"));
    EXPECT_TRUE(hcoll_is_word("mpich", "mpich"));
    EXPECT_FALSE(hcoll_is_word("mpic", "mpich"));
    EXPECT_FALSE(hcoll_is_word("mpich2", "mpich"));
    EXPECT_FALSE(hcoll_is_word("", "abi"));
    EXPECT_EQ(parse_real("4.5"), 4.5);
    EXPECT_EQ(parse_real("4,5"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Of, Locale, testing::Values("de_DE.UTF-8", "tr_TR.UTF-8", "tr_TR.ISO-8859-9"),
                         [](const testing::TestParamInfo<const char*>& locale) {
                             std::string name = locale.param;
                             std::erase_if(name, [](char letter) { return letter == '.' || letter == '-'; });
                             return name;
                         });

}  // namespace
}  // namespace hcoll::test
