// SPDX-License-Identifier: BSD-3-Clause
// What a node of many ranks needs for the library: memory, mappings and files, all ranks together.
//
//   --communicators N   duplicates of MPI_COMM_WORLD that are used side by side (default 64)
//   --bytes N           of the longest message on each of them (default 64 KB)
//   --most-mb N         so much more memory than before, at most; all ranks of the job are on one node
//   --most-maps N       so many more mappings of a rank, at most
//   --most-files N      so many more open files of a rank, at most
//
// Every communicator sees broadcasts from changing roots, reductions and barriers, whose results are looked at.
#include "../support/program.hpp"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

// What a process has: its part of the memory that it shares, and all of its own.
struct Use {
    std::int64_t kilobytes = 0;
    std::int64_t maps = 0;
    std::int64_t files = 0;
};

std::int64_t entries_of(const char* folder) {
    DIR* opened = opendir(folder);
    require(opened != nullptr, std::string("there is no ") + folder);
    std::int64_t entries = 0;
    while (readdir(opened) != nullptr) ++entries;
    closedir(opened);
    return entries;
}

Use use_now() {
    Use use;
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string line; std::getline(rollup, line);)
        if (line.starts_with("Pss:")) use.kilobytes = std::stoll(line.substr(4));
    require(use.kilobytes > 0, "/proc/self/smaps_rollup has no Pss");
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++use.maps;
    use.files = entries_of("/proc/self/fd");
    return use;
}

class Communicators {
public:
    Communicators(int ranks, int rank, int count, std::size_t bytes)
        : ranks_(ranks),
          rank_(rank),
          made_(static_cast<std::size_t>(count)),
          elements_(static_cast<int>(bytes / sizeof(std::int64_t))),
          input_(bytes / sizeof(std::int64_t)),
          output_(input_.size()) {
        for (MPI_Comm& each : made_) check(MPI_Comm_dup(MPI_COMM_WORLD, &each));
    }
    Communicators(const Communicators&) = delete;
    Communicators& operator=(const Communicators&) = delete;
    ~Communicators() {
        for (MPI_Comm& each : made_) MPI_Comm_free(&each);
    }

    void use_all(int round) {
        for (std::size_t i = 0; i < made_.size(); ++i) {
            for (const int elements : {1, elements_}) {
                const int salt = round * 1000 + static_cast<int>(i);
                bcast(made_[i], (salt * 7 + elements) % ranks_, salt, elements);
                allreduce(made_[i], salt, elements);
                reduce(made_[i], (salt * 5 + elements) % ranks_, salt, elements);
            }
            check(MPI_Barrier(made_[i]));
        }
    }

private:
    void bcast(MPI_Comm comm, int root, int salt, int elements) {
        if (rank_ == root)
            std::iota(output_.begin(), output_.begin() + elements, salt);
        else
            std::fill_n(output_.begin(), elements, -1);
        check(MPI_Bcast(output_.data(), elements, MPI_INT64_T, root, comm));
        for (int i = 0; i < elements; ++i)
            require(output_[static_cast<std::size_t>(i)] == salt + i, "MPI_Bcast gave something else");
    }
    void fill_operand(int salt, int elements) {
        for (int i = 0; i < elements; ++i) input_[static_cast<std::size_t>(i)] = rank_ + salt * (i % 5);
    }
    void look_at_sum(int salt, int elements) const {
        const std::int64_t ranks = ranks_;
        for (int i = 0; i < elements; ++i)
            require(output_[static_cast<std::size_t>(i)] == ranks * (ranks - 1) / 2 + ranks * salt * (i % 5),
                    "a sum is wrong");
    }
    void allreduce(MPI_Comm comm, int salt, int elements) {
        fill_operand(salt, elements);
        check(MPI_Allreduce(input_.data(), output_.data(), elements, MPI_INT64_T, MPI_SUM, comm));
        look_at_sum(salt, elements);
    }
    void reduce(MPI_Comm comm, int root, int salt, int elements) {
        fill_operand(salt, elements);
        check(MPI_Reduce(input_.data(), output_.data(), elements, MPI_INT64_T, MPI_SUM, root, comm));
        if (rank_ == root) look_at_sum(salt, elements);
    }

    int ranks_;
    int rank_;
    std::vector<MPI_Comm> made_;
    int elements_;
    std::vector<std::int64_t> input_;
    std::vector<std::int64_t> output_;
};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "many_ranks");
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    const auto count = static_cast<int>(program.options().number("--communicators", 64));
    const auto bytes = static_cast<std::size_t>(program.options().number("--bytes", 64 << 10));
    const std::int64_t most_megabytes = program.options().number("--most-mb", any);
    const std::int64_t most_maps = program.options().number("--most-maps", any);
    const std::int64_t most_files = program.options().number("--most-files", any);
    program.options().reject_rest();

    const Use before = use_now();
    std::array<std::int64_t, 3> more{};
    {
        Communicators communicators(program.size(), program.rank(), count, bytes);
        for (int round = 0; round < 3; ++round) communicators.use_all(round);
        const Use after = use_now();
        more = {after.kilobytes - before.kilobytes, after.maps - before.maps, after.files - before.files};
    }
    std::int64_t kilobytes = 0;
    std::array<std::int64_t, 2> most{};
    check(MPI_Allreduce(more.data(), &kilobytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    check(MPI_Allreduce(more.data() + 1, most.data(), 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    const std::string found = std::to_string(kilobytes / 1024) + " MB more of all ranks, " + std::to_string(most[0]) +
                              " mappings and " + std::to_string(most[1]) + " files more of a rank";
    require(kilobytes / 1024 <= most_megabytes && most[0] <= most_maps && most[1] <= most_files, found);
    return program.finish(found);
}
