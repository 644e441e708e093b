// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "topology/host_cores.hpp"
#include "topology/place.hpp"

namespace hcoll {
namespace {

namespace fs = std::filesystem;

// Two packages of two cores of two units each, where units 2 and 6 do not exist. The last unit is not for everybody. The first
// package's cores share a cache. Of a unit: package, NUMA node, cache, core, may it be used?
Machine small_machine() {
    return Machine({1,                  //
                    0,  0,  0,  0,  1,  // unit 0
                    0,  0,  0,  0,  1,  //
                    -1, -1, -1, -1, 0,  //
                    0,  0,  0,  1,  1,  //
                    1,  1,  1,  2,  1,  //
                    1,  1,  1,  2,  1,  //
                    -1, -1, -1, -1, 0,  //
                    1,  1,  2,  3,  0});
}

CpuSet units(std::initializer_list<int> numbers) {
    CpuSet set(1, 0);
    for (const int number : numbers) set[0] |= std::uint64_t{1} << static_cast<unsigned>(number);
    return set;
}

TEST(Machine, TellsWhatUnitsHaveInCommon) {
    const Machine machine = small_machine();
    EXPECT_EQ(machine.words(), 1U);
    EXPECT_EQ(machine.all(), units({0, 1, 3, 4, 5, 7}));
    EXPECT_EQ(machine.allowed(), units({0, 1, 3, 4, 5}));
    EXPECT_EQ(machine.cores(machine.all()), 4);
    EXPECT_EQ(machine.cores(units({0, 1})), 1);
    EXPECT_EQ(machine.usable(units({0, 1, 2, 3})), 3) << "unit 2 does not exist";
    EXPECT_EQ(machine.cores(units({1})), 1) << "half a core is one that ranks may run on";
    EXPECT_EQ(machine.core(units({0, 1})), 0);
    EXPECT_EQ(machine.core(units({1, 3})), -1);
    EXPECT_EQ(machine.package(units({1, 3})), 0);
    EXPECT_EQ(machine.package(units({3, 4})), -1);
    EXPECT_EQ(machine.numa(units({4, 5, 7})), 1);
    EXPECT_EQ(machine.cache(units({0, 3})), 0);
    EXPECT_EQ(machine.cache(units({5})), 1);
    EXPECT_EQ(machine.cache(units({5, 7})), -1);
    EXPECT_EQ(machine.package({}), -1);
    EXPECT_EQ(machine.cores({}), 0);
}

TEST(Machine, NothingIsKnownOfNone) {
    const Machine machine;
    EXPECT_FALSE(machine.is_known());
    EXPECT_EQ(machine.words(), 0U);
    EXPECT_EQ(machine.cores(machine.all()), 0);
    EXPECT_EQ(place_on(machine).socket, -1);
    EXPECT_EQ(cores_of_ranks(machine, {}, true, {}).ranks_at_once, 0);
}

// hwloc pretends to be on a machine.
class OnMachine {
public:
    explicit OnMachine(const char* description) { setenv("HWLOC_SYNTHETIC", description, 1); }
    OnMachine(const OnMachine&) = delete;
    OnMachine& operator=(const OnMachine&) = delete;
    ~OnMachine() { unsetenv("HWLOC_SYNTHETIC"); }
};

// Of each unit of such a machine.
std::vector<int> numbers_on(const char* description, int (Machine::*number_of)(const CpuSet&) const) {
    const OnMachine pretended(description);
    const Machine machine = Machine::read();
    std::vector<int> numbers;
    for (const int unit : machine.numbers_of(machine.all())) numbers.push_back((machine.*number_of)(units({unit})));
    return numbers;
}

TEST(Machine, ReadsTheLastCachesThatCoresShare) {
    const auto caches_of = [](const char* description) { return numbers_on(description, &Machine::cache); };
    EXPECT_EQ(caches_of("pack:2 l3:2 l2:2 core:1 pu:1"), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(caches_of("pack:1 l2:2 core:2 pu:2"), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(caches_of("pack:2 l2:2 core:1 pu:2"), std::vector<int>(8, -1)) << "each core has its own";
    EXPECT_EQ(caches_of("pack:2 core:2 pu:1"), std::vector<int>(4, -1));
}

TEST(Machine, ReadsNumaNodesThatAreNoPackagesAndNoCaches) {
    const auto numas_of = [](const char* description) { return numbers_on(description, &Machine::numa); };
    EXPECT_EQ(numas_of("pack:2 numa:2 l3:2 core:1 pu:1"), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(numas_of("pack:1 l3:1 numa:4 core:2 pu:1"), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(numas_of("pack:2 numa:1 core:2 pu:1"), (std::vector<int>{0, 0, 1, 1}));
    EXPECT_EQ(numas_of("pack:2 core:2 pu:1"), std::vector<int>(4, 0));
}

// What one process reads and tells another is all that this needs for its place.
TEST(Machine, ItsNumbersAreAllThereIsToIt) {
    const Machine told(local_machine().numbers());
    const Place place = place_on(told);
    EXPECT_EQ(place.socket, local_place().socket);
    EXPECT_EQ(place.numa, local_place().numa);
    EXPECT_EQ(place.cache, local_place().cache);
    EXPECT_EQ(place.core, local_place().core);
    EXPECT_EQ(place.cores, local_place().cores);
    EXPECT_EQ(place.cores_of_host, local_place().cores_of_host);
    EXPECT_EQ(told.tells_bindings(), local_machine().tells_bindings());
}

TEST(HostCores, WhereAllRanksAreBoundAlikeTheOtherCoresAreNotSpare) {
    const HostCores cores = cores_of_ranks(small_machine(), units({0, 1}), true, {});
    EXPECT_EQ(cores.ranks_at_once, 2) << "each has a unit of its own, if not a core";
    EXPECT_EQ(cores.of_threads, 1);
    EXPECT_EQ(cores.units, (std::vector<int>{0, 1}));
}

TEST(HostCores, WhereCoresAreDealtOutThreadsMayMove) {
    const HostCores cores = cores_of_ranks(small_machine(), units({0, 1, 3}), false, {});
    EXPECT_EQ(cores.ranks_at_once, 3);
    EXPECT_EQ(cores.of_threads, 3) << "but to no core that the system keeps from the job";
    EXPECT_EQ(cores.units, (std::vector<int>{0, 1, 3, 4, 5}));
}

TEST(HostCores, ALimitOfTimeIsOneOfCores) {
    const std::vector<CpuLimit> shared = {{.group = 5, .thousandths = 2500}, {.group = 5, .thousandths = 2500}};
    EXPECT_EQ(limited_cores(4, shared), 2);
    EXPECT_EQ(limited_cores(1, shared), 1);
    const std::vector<CpuLimit> apart = {{.group = 5, .thousandths = 1500}, {.group = 6, .thousandths = 1500}};
    EXPECT_EQ(limited_cores(4, apart), 3);
    const std::vector<CpuLimit> one_is_free = {{.group = 5, .thousandths = 1000}, {}};
    EXPECT_EQ(limited_cores(4, one_is_free), 4);
    const std::vector<CpuLimit> little = {{.group = 5, .thousandths = 100}};
    EXPECT_EQ(limited_cores(4, little), 1);
    EXPECT_EQ(limited_cores(4, {}), 4);
    EXPECT_EQ(cores_of_ranks(small_machine(), small_machine().all(), true, shared).ranks_at_once, 2);
}

// A system of files, gone with the object.
class ControlGroups {
public:
    ControlGroups() : root_(fs::temp_directory_path() / ("hcoll-groups-" + std::to_string(getpid()))) {}
    ~ControlGroups() { fs::remove_all(root_); }
    ControlGroups(const ControlGroups&) = delete;
    ControlGroups& operator=(const ControlGroups&) = delete;

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name) << text;
    }
    CpuLimit limit() const { return cpu_limit(root_.string()); }

private:
    fs::path root_;
};

TEST(CpuLimit, TheLowestOnTheWayUpCounts) {
    const ControlGroups groups;
    groups.write("proc/self/cgroup", "0::/job/step/rank\n");
    groups.write("sys/fs/cgroup/job/step/rank/cpu.max", "max 100000\n");
    EXPECT_EQ(groups.limit().thousandths, CpuLimit::none);
    groups.write("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
    EXPECT_EQ(groups.limit().thousandths, 2500U);
    groups.write("sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
    EXPECT_EQ(groups.limit().thousandths, 2500U);
    groups.write("sys/fs/cgroup/job/step/rank/cpu.max", "50000 100000\n");
    EXPECT_EQ(groups.limit().thousandths, 500U);
}

// Ranks whose limit is that of a group above share it.
TEST(CpuLimit, BelongsToTheGroupThatHasIt) {
    const ControlGroups groups;
    groups.write("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
    groups.write("proc/self/cgroup", "0::/job/a\n");
    const CpuLimit a = groups.limit();
    groups.write("proc/self/cgroup", "0::/job/b\n");
    EXPECT_EQ(groups.limit().group, a.group);
    groups.write("sys/fs/cgroup/job/b/cpu.max", "100000 100000\n");
    EXPECT_NE(groups.limit().group, a.group);
}

TEST(CpuLimit, OfAContainerThatSeesItsOwnGroupOnly) {
    const ControlGroups groups;
    groups.write("proc/self/cgroup", "0::/docker/1234\n");
    groups.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    EXPECT_EQ(groups.limit().thousandths, 1500U);
}

TEST(CpuLimit, OfVersionOne) {
    const ControlGroups groups;
    groups.write("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/job/step\n");
    groups.write("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n");
    groups.write("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(groups.limit().thousandths, CpuLimit::none);
    groups.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
    groups.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(groups.limit().thousandths, 3000U);
}

TEST(CpuLimit, IsNoneWhereNothingTellsOfOne) {
    const ControlGroups groups;
    EXPECT_EQ(groups.limit().thousandths, CpuLimit::none);
    groups.write("proc/self/cgroup", "nonsense\n0::\n:\n");
    groups.write("sys/fs/cgroup/cpu.max", "max\n");
    EXPECT_EQ(groups.limit().thousandths, CpuLimit::none);
}

}  // namespace
}  // namespace hcoll
