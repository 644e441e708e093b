// SPDX-License-Identifier: BSD-3-Clause
// MPI-IO beside collectives: the MPI-IO layer calls collectives from inside MPI_File_open and the collective reads and
// writes, on communicators of its own, and so enters the preloaded library again.
#include "../support/program.hpp"

#include <array>
#include <filesystem>
#include <numeric>

using namespace hcoll::test;

namespace {

// Rank 0 makes a directory; all get the name of a file in it.
std::string shared_file_name(int rank) {
    std::array<char, 4096> name{};
    if (rank == 0) {
        std::string pattern = (std::filesystem::temp_directory_path() / "hcoll-io-XXXXXX").string();
        require(mkdtemp(pattern.data()) != nullptr, "no temporary directory can be made");
        pattern += "/data";
        require(pattern.size() < name.size(), "the temporary directory's name is too long");
        std::copy(pattern.begin(), pattern.end(), name.begin());
    }
    check(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD));
    return name.data();
}

// Interleaved records of all ranks, written and read back by the rank after.
void write_and_read(const std::string& name, int rank, int size, int round) {
    constexpr int records = 200;
    constexpr int record = 25;
    std::vector<int> values(static_cast<std::size_t>(records) * record);
    std::iota(values.begin(), values.end(), round * 1'000'000 + rank * 10'000);
    MPI_Datatype view = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(records, record, record * size, MPI_INT, &view));
    check(MPI_Type_commit(&view));
    const auto offset_of = [](int owner) { return static_cast<MPI_Offset>(owner) * record * sizeof(int); };

    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    check(MPI_File_set_view(file, offset_of(rank), MPI_INT, view, "native", MPI_INFO_NULL));
    check(MPI_File_write_all(file, values.data(), static_cast<int>(values.size()), MPI_INT, MPI_STATUS_IGNORE));
    check(MPI_File_sync(file));
    check(MPI_Barrier(MPI_COMM_WORLD));
    const int other = (rank + 1) % size;
    check(MPI_File_set_view(file, offset_of(other), MPI_INT, view, "native", MPI_INFO_NULL));
    std::vector<int> found(values.size(), -1);
    check(MPI_File_read_all(file, found.data(), static_cast<int>(found.size()), MPI_INT, MPI_STATUS_IGNORE));
    check(MPI_File_close(&file));
    check(MPI_Type_free(&view));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const int expected = round * 1'000'000 + other * 10'000 + static_cast<int>(i);
        if (found[i] != expected)
            fail("MPI_File_read_all: element " + std::to_string(i) + ": expected " + std::to_string(expected) +
                 ", found " + std::to_string(found[i]));
    }
}

void sum_of_ranks(int rank, int size) {
    int sum = -1;
    check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    require(sum == size * (size - 1) / 2, "MPI_Allreduce between file accesses: wrong sum " + std::to_string(sum));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "io");
    const auto rounds = static_cast<int>(program.options().number("--rounds", 6));
    program.options().reject_rest();

    const std::string name = shared_file_name(program.rank());
    for (int round = 0; round < rounds; ++round) {
        write_and_read(name, program.rank(), program.size(), round);
        sum_of_ranks(program.rank(), program.size());
    }
    check(MPI_Barrier(MPI_COMM_WORLD));
    if (program.rank() == 0) std::filesystem::remove_all(std::filesystem::path(name).parent_path());
    return program.finish(std::to_string(rounds) + " rounds");
}
