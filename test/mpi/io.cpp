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

// What MPI-IO begins without blocking goes on only where its requests are tested or waited for (in MPICH generalized requests with a function that polls): beside
// a collective that is in flight, which ranks wait for in another order, and alone.
void write_beside_collective(const std::string& name, int rank, int size, MPI_Comm comm, bool alone) {
    constexpr int count = 1000;
    const std::vector<int> values(count, rank);
    std::vector<int> told(10'000, rank == size - 1 ? 7 : 0);
    MPI_Datatype view = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(count, 1, size, MPI_INT, &view));
    check(MPI_Type_commit(&view));
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    check(MPI_File_set_view(file, rank * static_cast<MPI_Offset>(sizeof(int)), MPI_INT, view, "native", MPI_INFO_NULL));
    std::array<MPI_Request, 3> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::array<MPI_Status, 3> statuses{};
    const auto tell = [&] {
        check(MPI_Ibcast(told.data(), static_cast<int>(told.size()), MPI_INT, size - 1, comm, &requests[0]));
    };
    const auto write = [&] { check(MPI_File_iwrite_all(file, values.data(), count, MPI_INT, &requests[2])); };
    if (alone) {
        write();
        check(MPI_Waitall(3, requests.data(), statuses.data()));
        tell();
        check(MPI_Waitall(1, requests.data(), MPI_STATUSES_IGNORE));
    } else if (rank != size - 1) {
        tell();
        write();
        check(MPI_Waitall(3, requests.data(), statuses.data()));
    } else {
        write();
        check(MPI_Wait(&requests[2], &statuses[2]));
        tell();
        check(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    int written = 0;
    check(MPI_Get_count(&statuses[2], MPI_INT, &written));
    require(written == count,
            "MPI_Waitall: the status of MPI_File_iwrite_all has " + std::to_string(written) + " elements");
    require(told.front() == 7 && told.back() == 7, "MPI_Ibcast beside MPI_File_iwrite_all");
    check(MPI_File_close(&file));
    check(MPI_Type_free(&view));
}

void sum_of_ranks(int rank, int size) {
    int sum = -1;
    check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    require(sum == size * (size - 1) / 2, "MPI_Allreduce between file accesses: wrong sum " + std::to_string(sum));
}

}  // namespace

int main(int argc, char** argv) {
    const bool has_nonblocking = Options(argc, argv).flag("--nonblocking");
    Program program(argc, argv, "io", has_nonblocking ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    const auto rounds = static_cast<int>(program.options().number("--rounds", 6));
    program.options().flag("--nonblocking");
    program.options().reject_rest();

    const std::string name = shared_file_name(program.rank());
    for (int round = 0; round < rounds; ++round) {
        write_and_read(name, program.rank(), program.size(), round);
        sum_of_ranks(program.rank(), program.size());
    }
    if (has_nonblocking) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 20; ++i) check(MPI_Barrier(comm));
        for (int round = 0; round < rounds; ++round)
            write_beside_collective(name, program.rank(), program.size(), comm, round % 2 != 0);
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Barrier(MPI_COMM_WORLD));
    if (program.rank() == 0) std::filesystem::remove_all(std::filesystem::path(name).parent_path());
    return program.finish(std::to_string(rounds) + " rounds");
}
