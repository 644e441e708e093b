// SPDX-License-Identifier: BSD-3-Clause
// What surrounds collectives that do not block: how the program rounds, memory that it has protected, messages that fail, pairs of operation and type of
// which there are more than are remembered, and what a communicator was asked to run.
//
//   --case NAME               rounding, protected, truncated, pairs, asked, addresses
//   --setting-of-ranks NAME=a,b,...  a setting of each rank
#include "../support/mpi_library.hpp"
#include "../support/program.hpp"
#include "../support/setting_of_ranks.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cfenv>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace hcoll::test;

namespace {

// Its numbers are such that each sum has to be rounded: whoever does it does it as the ranks have asked, so all of them have the same bits, every time.
void rounding(int rank, int ranks) {
    std::fesetround(FE_UPWARD);
    constexpr int count = 8;
    constexpr int calls = 60;
    std::array<double, count> mine{};
    for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = rank == 0 ? 1.0 : 1e-17 * (i + 1) * rank;
    std::array<double, count> first{};
    std::vector<double> all(static_cast<std::size_t>(count * ranks));
    for (int call = 0; call < calls; ++call) {
        std::array<double, count> sum{};
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Iallreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
        // Where it is waited for a thread may have other rules. Some leave it to the background for a while, others look all the time.
        std::fesetround(FE_DOWNWARD);
        if (call % ranks == rank) usleep(1000);
        if (call % 2 == 0) {
            check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            for (int done = 0; done == 0;) check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        }
        require(std::fegetround() == FE_DOWNWARD, "this thread rounds otherwise than before");
        std::fesetround(FE_UPWARD);
        require(sum[0] > 1.0, "a sum was not rounded upward");
        if (call == 0) first = sum;
        require(sum == first, "a sum has other bits than the first one");
        check(MPI_Allgather(sum.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, MPI_COMM_WORLD));
        for (int other = 0; other < ranks; ++other)
            require(std::equal(sum.begin(), sum.end(), all.begin() + other * count),
                    "ranks have different bits of one sum");
    }
    std::fesetround(FE_TONEAREST);
}

std::atomic<int> pages_written{0};
std::size_t page_bytes = 0;

void open_page(int, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    mprotect(reinterpret_cast<void*>(address / page_bytes * page_bytes), page_bytes, PROT_READ | PROT_WRITE);
    ++pages_written;
}

// A program that has the system tell it which of its pages are written.
void protected_memory(int rank) {
    page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    struct sigaction before {};
    action.sa_sigaction = open_page;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    void* memory = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "there is no page");
    auto* bytes = static_cast<unsigned char*>(memory);
    for (int call = 1; call <= 5; ++call) {
        std::fill_n(bytes, page_bytes, static_cast<unsigned char>(rank == 0 ? call : 0));
        if (rank != 0) mprotect(memory, page_bytes, PROT_READ);
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibcast(memory, static_cast<int>(page_bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request));
        usleep(1000);  // so that something may happen in the background
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(std::all_of(bytes, bytes + page_bytes, [&](unsigned char byte) { return byte == call; }),
                "a message is wrong");
    }
    require(rank == 0 || pages_written == 5, "a page was written of which nobody was told");
    munmap(memory, page_bytes);
    sigaction(SIGSEGV, &before, nullptr);
}

int errors_told = 0;
MPI_Comm told_of = MPI_COMM_NULL;
void note_error(MPI_Comm* comm, int*, ...) {
    ++errors_told;
    told_of = *comm;
}

// A message that is longer than its buffer, beside a collective that is in flight: the handler of its communicator is told, once, and nobody else's.
void truncated(int rank) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_create_errhandler(note_error, &handler));
    int expected = 0;
    for (const bool returns : {true, false})
        for (const bool is_exchange : {false, true})
            for (const int length : {2, 5000, 200'000}) {
                // Open MPI 4.1 itself writes behind the buffer where it copies a long message once.
                if (is_openmpi() && length > 2) continue;
                check(MPI_Comm_set_errhandler(comm, returns ? MPI_ERRORS_RETURN : handler));
                std::vector<int> message(static_cast<std::size_t>(length), 3);
                std::vector<int> broadcast(5000, rank == 0 ? 7 : -1);
                MPI_Request sending = MPI_REQUEST_NULL;
                MPI_Request request = MPI_REQUEST_NULL;
                if (rank == 0) check(MPI_Isend(message.data(), length, MPI_INT, 1, 3, comm, &sending));
                if (rank == 1) {
                    check(MPI_Ibcast(broadcast.data(), 5000, MPI_INT, 0, MPI_COMM_WORLD, &request));
                    int received = 0;
                    const int status = is_exchange ? MPI_Sendrecv(&received, 1, MPI_INT, MPI_PROC_NULL, 0, &received, 1,
                                                                  MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE)
                                                   : MPI_Recv(&received, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
                    int error_class = MPI_SUCCESS;
                    check(MPI_Error_class(status, &error_class));
                    require(error_class == MPI_ERR_TRUNCATE, "what is too long is no error of its call");
                    if (!returns) ++expected;
                    require(errors_told == expected && (expected == 0 || told_of == comm),
                            "another handler was told, or one more than once");
                    check(MPI_Send(nullptr, 0, MPI_INT, 0, 4, MPI_COMM_WORLD));
                } else {
                    if (rank == 0) check(MPI_Recv(nullptr, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                    check(MPI_Ibcast(broadcast.data(), 5000, MPI_INT, 0, MPI_COMM_WORLD, &request));
                }
                check(MPI_Wait(&request, MPI_STATUS_IGNORE));
                check(MPI_Wait(&sending, MPI_STATUS_IGNORE));
                require(broadcast.back() == 7, "a broadcast is wrong");
                check(MPI_Barrier(MPI_COMM_WORLD));
            }
    check(MPI_Errhandler_free(&handler));
    check(MPI_Comm_free(&comm));
}

// More pairs than a communicator keeps in mind, used in an order that ranks see alike, by calls that are in place on one rank only and at times: what each of them still
// knows must not decide who runs a collective. One of them has no kernel, and one MPI does not define.
void pairs(int rank) {
    struct Pair {
        MPI_Op op;
        MPI_Datatype type;
    };
    constexpr std::size_t kept = 16;
    const std::array<Pair, kept + 1> usual = {{{MPI_SUM, MPI_INT},
                                               {MPI_MAX, MPI_INT},
                                               {MPI_MIN, MPI_INT},
                                               {MPI_SUM, MPI_LONG},
                                               {MPI_MAX, MPI_LONG},
                                               {MPI_MIN, MPI_LONG},
                                               {MPI_SUM, MPI_DOUBLE},
                                               {MPI_MAX, MPI_DOUBLE},
                                               {MPI_MIN, MPI_DOUBLE},
                                               {MPI_SUM, MPI_FLOAT},
                                               {MPI_MAX, MPI_FLOAT},
                                               {MPI_MIN, MPI_FLOAT},
                                               {MPI_BAND, MPI_INT},
                                               {MPI_BOR, MPI_INT},
                                               {MPI_SUM, MPI_UNSIGNED},
                                               {MPI_MAX, MPI_SHORT},
                                               {MPI_MAX, MPI_UNSIGNED}}};
    std::vector<Pair> unusual;
    if (MPI_REAL16 != MPI_DATATYPE_NULL) unusual.push_back({MPI_SUM, MPI_REAL16});
    if (!is_openmpi()) unusual.push_back({MPI_LAND, MPI_INTEGER});
    if (unusual.empty()) skip("this MPI library has no MPI_REAL16");
    alignas(16) std::array<unsigned char, 16> mine{};
    alignas(16) std::array<unsigned char, 16> all{};
    for (const Pair& other : unusual)
        for (std::size_t again = 0; again < kept; again += 3)
            for (std::size_t where = 0; where < kept; ++where) {
                if (again == where) continue;
                std::array<Pair, kept + 1> pairs = usual;
                pairs[where] = other;
                MPI_Comm comm = MPI_COMM_NULL;
                check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
                const auto allreduce = [&](const Pair& pair) {
                    check(MPI_Allreduce(mine.data(), all.data(), 1, pair.type, pair.op, comm));
                };
                const auto reduce = [&](const Pair& pair, bool in_place) {
                    const void* operand = in_place && rank == 0 ? MPI_IN_PLACE : mine.data();
                    check(MPI_Reduce(operand, all.data(), 1, pair.type, pair.op, 0, comm));
                };
                for (std::size_t i = 0; i < kept; ++i) allreduce(pairs[i]);
                reduce(pairs[again], false);
                allreduce(pairs[where]);
                reduce(pairs[again], true);
                allreduce(pairs[kept]);
                MPI_Request request = MPI_REQUEST_NULL;
                check(MPI_Iallreduce(mine.data(), all.data(), 1, other.type, other.op, comm, &request));
                check(MPI_Wait(&request, MPI_STATUS_IGNORE));
                allreduce(pairs[where]);
                check(MPI_Comm_free(&comm));
            }
}

// Along a chain, where the second rank begins before the first one has anything for it, and then waits for the third one in a call that does not look at requests.
void asked(int rank, int ranks) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Info_create(&info));
    check(MPI_Info_set(info, "libhcoll_ibcast", "chain"));
    check(MPI_Comm_set_info(comm, info));
    check(MPI_Info_free(&info));
    for (int call = 0; call < 20; ++call) {
        std::vector<int> values(1000, rank == 0 ? call : -1);
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) check(MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check(MPI_Ibcast(values.data(), 1000, MPI_INT, 0, comm, &request));
        if (rank == 1) {
            check(MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
            check(MPI_Recv(nullptr, 0, MPI_INT, ranks - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (rank == ranks - 1) check(MPI_Send(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD));
        require(values.front() == call && values.back() == call, "a broadcast is wrong");
    }
    check(MPI_Comm_free(&comm));
}

// A rank has addresses for the shared memory of one communicator, not for that of eight, and is not the one that makes it: that is the first of a communicator.
void few_addresses(int rank, int ranks) {
    rlimit before{};
    require(getrlimit(RLIMIT_AS, &before) == 0, "the limit of addresses cannot be read");
    if (before.rlim_cur != RLIM_INFINITY) skip("there is a limit of the address space (ulimit -v)");
    if (rank == 0) {
        std::ifstream file("/proc/self/statm");
        rlim_t pages = 0;
        require(static_cast<bool>(file >> pages), "/proc/self/statm does not say how many pages there are");
        constexpr rlim_t room = rlim_t{500} << 20U;
        const rlimit limit = {.rlim_cur = pages * static_cast<rlim_t>(getpagesize()) + room,
                              .rlim_max = before.rlim_max};
        require(setrlimit(RLIMIT_AS, &limit) == 0, "the limit of addresses cannot be set");
    }
    MPI_Comm reversed = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
    for (int call = 0; call < 20; ++call) {
        int sum = 0;
        check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, reversed));
        require(sum == ranks * (ranks - 1) / 2, "a sum is wrong");
    }
    check(MPI_Comm_free(&reversed));
}

}  // namespace

int main(int argc, char** argv) {
    std::string setting_of_ranks;
    for (int i = 1; i + 1 < argc; ++i)
        if (std::string_view(argv[i]) == "--setting-of-ranks") setting_of_ranks = argv[i + 1];
    set_setting_of_rank(setting_of_ranks);
    Program program(argc, argv, "surroundings");
    (void)program.options().text("--setting-of-ranks", "");
    const std::string name = program.options().text("--case", "");
    program.options().reject_rest();
    // What is begun without blocking runs here once blocking calls have set a communicator up.
    for (int call = 0; call < 50; ++call) check(MPI_Barrier(MPI_COMM_WORLD));
    if (name == "rounding")
        rounding(program.rank(), program.size());
    else if (name == "protected")
        protected_memory(program.rank());
    else if (name == "truncated")
        truncated(program.rank());
    else if (name == "pairs")
        pairs(program.rank());
    else if (name == "asked")
        asked(program.rank(), program.size());
    else if (name == "addresses")
        few_addresses(program.rank(), program.size());
    else
        fail("there is no case '" + name + "'");
    return program.finish(name);
}
