// SPDX-License-Identifier: BSD-3-Clause
// Which tags communicators have that share a duplicate, and which place each of them takes.
#include "intercept/communicator/shared_duplicate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>

namespace hcoll {
namespace {

constexpr std::uint64_t serial = 77;
constexpr int guaranteed = 32767;
constexpr int of_mpich = (1 << 28) - 1;
constexpr int of_ucx = (1 << 23) - 1;  // Open MPI's over it
constexpr int of_openmpi = std::numeric_limits<int>::max();

TEST(SharedDuplicate, HasTagsOfItsOwnForEach) {
    for (const int largest_tag : {of_ucx, 2 * PointToPoint::most_tags, of_mpich, of_openmpi}) {
        const SharedDuplicate duplicate(MPI_Comm(), serial, largest_tag, true);
        ASSERT_GT(duplicate.places(), 1) << largest_tag;
        ASSERT_LE(duplicate.places(), SharedDuplicate::most);
        int next = 0;
        for (int place = 0; place < duplicate.places(); ++place) {
            const TagRange tags = duplicate.tags(place);
            EXPECT_EQ(tags.first, next);
            EXPECT_GE(PointToPoint::nonblocking_sequences(tags), 64) << largest_tag;
            EXPECT_GE(PointToPoint::persistent_sequences(tags), 64) << largest_tag;
            next = tags.first + tags.count;
        }
        EXPECT_LE(next, largest_tag) << "what is probed for has a tag that no message has";
    }
}

TEST(SharedDuplicate, LeavesACommunicatorAllTheTagsThatItCanUseWhereThereAreMany) {
    for (const int largest_tag : {of_mpich, of_openmpi}) {
        const SharedDuplicate duplicate(MPI_Comm(), serial, largest_tag, true);
        EXPECT_EQ(duplicate.places(), SharedDuplicate::most);
        const TagRange alone{.first = 0, .count = largest_tag};
        EXPECT_EQ(PointToPoint::nonblocking_sequences(duplicate.tags(0)), PointToPoint::nonblocking_sequences(alone));
        EXPECT_EQ(PointToPoint::persistent_sequences(duplicate.tags(0)), PointToPoint::persistent_sequences(alone));
    }
}

TEST(SharedDuplicate, IsOfOneWhereThereAreTooFewTagsOrThatIsWanted) {
    for (const auto& [largest_tag, is_shared] :
         {std::pair{guaranteed, true}, {PointToPoint::most_tags / 8, true}, {of_openmpi, false}}) {
        SharedDuplicate duplicate(MPI_Comm(), serial, largest_tag, is_shared);
        EXPECT_EQ(duplicate.places(), 1);
        EXPECT_EQ(duplicate.tags(0).first, 0);
        EXPECT_EQ(duplicate.tags(0).count, largest_tag);
        EXPECT_EQ(duplicate.take(), 0);
        EXPECT_EQ(duplicate.take(), TakenPlaces::none);
    }
}

TEST(SharedDuplicate, GivesEachPlaceOnceAndAgainWhatWasNotUsed) {
    SharedDuplicate duplicate(MPI_Comm(), serial, of_mpich, true);
    std::set<std::uint64_t> names;
    for (int place = 0; place < duplicate.places(); ++place) {
        EXPECT_EQ(duplicate.take(), place);
        names.insert(duplicate.name_of(place));
    }
    EXPECT_EQ(duplicate.take(), TakenPlaces::none);
    EXPECT_EQ(names.size(), static_cast<std::size_t>(duplicate.places()));
    EXPECT_EQ(names.count(0), 0U);
    duplicate.give_back(3);
    EXPECT_EQ(duplicate.take(), 3);
}

TEST(SharedDuplicate, GivesNoneOnceItIsClosed) {
    SharedDuplicate duplicate(MPI_Comm(), serial, of_mpich, true);
    EXPECT_EQ(duplicate.take(), 0);
    duplicate.close();
    EXPECT_EQ(duplicate.take(), TakenPlaces::none);
}

TEST(SharedDuplicate, IsFreedWithTheLastThatRunsOnIt) {
    SharedDuplicate duplicate(MPI_Comm(), serial, of_mpich, true);
    duplicate.add_user();
    duplicate.add_user();
    EXPECT_FALSE(duplicate.remove_user());
    EXPECT_TRUE(duplicate.remove_user());
}

TEST(PlaceAside, ComesBackUnlessItIsUsedUp) {
    const auto duplicate = std::make_shared<SharedDuplicate>(MPI_Comm(), serial, of_mpich, true);
    PlaceAside<SharedDuplicate> aside;
    EXPECT_EQ(aside.name(), 0U);
    aside.take(duplicate);
    EXPECT_EQ(aside.name(), duplicate->name_of(0));
    aside.give_back();
    EXPECT_FALSE(aside.is_there());
    aside.give_back();  // there is none
    aside.take(duplicate);
    EXPECT_EQ(aside.place, 0);
    aside.use_up();
    aside.give_back();
    aside.take(duplicate);
    EXPECT_EQ(aside.place, 1);
}

}  // namespace
}  // namespace hcoll
