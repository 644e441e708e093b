// SPDX-License-Identifier: BSD-3-Clause
// Files of tables that are replaced (tuning/table_file.hpp): what somebody else has there is not lost.
#include "tuning/table_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/resource.h>

#include "../support/temporary_folder.hpp"

namespace hcoll::test {
namespace {

namespace files = std::filesystem;

class LearnedFile : public testing::Test {
protected:
    std::string in_folder(const std::string& name) const { return (files::path(folder_.path()) / name).string(); }
    static std::string read(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

    static Table learned(VendorKind vendor, std::uint64_t bytes) {
        Table table;
        table.vendor = vendor;
        table.entries.push_back({.call = {Collective::bcast, false},
                                 .nodes = {1, 1},
                                 .ranks_per_node = {4, 4},
                                 .bytes = {bytes, bytes},
                                 .candidates = {{"binomial", 1e-6}},
                                 .why = "learned on 100 calls"});
        return table;
    }
    std::size_t files_there() const {
        return static_cast<std::size_t>(
            std::distance(files::directory_iterator(folder_.path()), files::directory_iterator()));
    }

    TemporaryFolder folder_;
};

TEST_F(LearnedFile, GrowsByWhatIsLearned) {
    const std::string path = in_folder("learned.json");
    EXPECT_FALSE(keep_learned(path, learned(VendorKind::mpich, 8)).has_value());
    EXPECT_FALSE(keep_learned(path, learned(VendorKind::mpich, 4096)).has_value());
    std::vector<std::string> mistakes;
    EXPECT_EQ(read_table(path, mistakes)->entries.size(), 2U);
    EXPECT_EQ(files_there(), 1U);
}

// Programs of two MPI libraries in turn would take it from one another.
TEST_F(LearnedFile, OfAnotherMpiLibraryStaysAsItIs) {
    const std::string path = in_folder("learned.json");
    ASSERT_FALSE(keep_learned(path, learned(VendorKind::mpich, 8)).has_value());
    const std::string before = read(path);
    const auto sentence = keep_learned(path, learned(VendorKind::openmpi, 8));
    ASSERT_TRUE(sentence.has_value());
    EXPECT_NE(sentence->find("of another MPI library (mpich)"), std::string::npos) << *sentence;
    EXPECT_EQ(read(path), before);
    EXPECT_EQ(files_there(), 1U);
}

TEST_F(LearnedFile, ThatIsDamagedIsPutAside) {
    const std::string path = in_folder("learned.json");
    write(path, "{ damaged");
    EXPECT_FALSE(keep_learned(path, learned(VendorKind::mpich, 8)).has_value());
    EXPECT_EQ(read(path + ".old"), "{ damaged");
    std::vector<std::string> mistakes;
    EXPECT_EQ(read_table(path, mistakes)->entries.size(), 1U);
    EXPECT_EQ(files_there(), 2U);
}

TEST_F(LearnedFile, ThatIsDamagedStaysWhereNothingTakesItsPlace) {
    const std::string path = in_folder("learned.json");
    write(path, "{ damaged");
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit nothing{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &nothing), 0);
    const auto sentence = keep_learned(path, learned(VendorKind::mpich, 8));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(sentence.has_value());
    EXPECT_EQ(read(path), "{ damaged");
    EXPECT_EQ(files_there(), 1U);
}

TEST_F(LearnedFile, IsWrittenWhereALinkLeadsTo) {
    const std::string path = in_folder("link.json");
    files::create_directory(in_folder("store"));
    files::create_symlink("store/learned.json", path);
    files::create_symlink("link.json", in_folder("link_to_link.json"));
    // It need not be there yet.
    for (const std::string& name : {path, in_folder("link_to_link.json")}) {
        EXPECT_FALSE(keep_learned(name, learned(VendorKind::mpich, 8)).has_value());
        EXPECT_TRUE(files::is_symlink(name));
        EXPECT_FALSE(read(in_folder("store/learned.json")).empty());
        files::remove(in_folder("store/learned.json"));
    }
    files::create_symlink("loop.json", in_folder("loop.json"));
    EXPECT_FALSE(keep_learned(in_folder("loop.json"), learned(VendorKind::mpich, 8)).has_value());
    EXPECT_TRUE(files::is_regular_file(in_folder("loop.json")));
}

}  // namespace
}  // namespace hcoll::test
