// SPDX-License-Identifier: BSD-3-Clause
// Messages of more than 2^31 bytes: MPI_Bcast of doubles, MPI_Bcast_c of bytes, MPI_Reduce and MPI_Allreduce of 64-bit
// integers. Skipped where memory does not suffice.
//
//   --only bcast|bcast_c|reduce|allreduce
#include <sys/mman.h>
#include <cstdlib>

#include "../support/program.hpp"
#include "../support/random.hpp"

#include <fstream>
#include <memory>

using namespace hcoll::test;

namespace {

constexpr std::size_t gibibyte = std::size_t{1} << 30U;
constexpr std::size_t elements = 2 * gibibyte / sizeof(std::int64_t) + 1001;  // 2^31 + 8008 bytes

// What can be allocated: the system's account, or the limit of the control group if that is less.
std::size_t available_memory() {
    std::size_t available = 0;
    std::ifstream system("/proc/meminfo");
    for (std::string key, unit; system >> key >> available; std::getline(system, unit))
        if (key == "MemAvailable:") break;
    available *= 1024;
    std::size_t limit = 0;
    std::size_t used = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && std::ifstream("/sys/fs/cgroup/memory.current") >> used)
        available = std::min(available, limit > used ? limit - used : 0);
    return available;
}

// Another one for each element, whose sums over a few ranks do not overflow; nothing that takes longer than memory does.
std::int64_t value_at(int rank, std::size_t i) { return static_cast<std::int64_t>(i * 2654435761U) + rank * 7; }

class LargeMessages {
public:
    LargeMessages() : data_(static_cast<std::int64_t*>(std::aligned_alloc(huge_page, bytes)), &std::free) {
        require(data_ != nullptr, "no memory");
        madvise(data_.get(), bytes, MADV_HUGEPAGE);  // half a million faults less; nothing else depends on it
        check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
        check(MPI_Comm_size(MPI_COMM_WORLD, &size_));
    }

    void bcast(bool large_variant) {
        const int root = size_ - 1;
        fill(rank_ == root ? root : 1000);
#if MPI_VERSION >= 4
        if (large_variant) {
            check(MPI_Bcast_c(data_.get(), elements * sizeof(std::int64_t), MPI_BYTE, root, MPI_COMM_WORLD));
            expect("MPI_Bcast_c", [=](std::size_t i) { return value_at(root, i); });
            return;
        }
#endif
        if (large_variant) return;
        check(MPI_Bcast(data_.get(), static_cast<int>(elements), MPI_DOUBLE, root, MPI_COMM_WORLD));
        expect("MPI_Bcast", [=](std::size_t i) { return value_at(root, i); });
    }

    void reduce() {
        fill(rank_);
        const void* send = rank_ == 0 ? MPI_IN_PLACE : data_.get();
        void* receive = rank_ == 0 ? data_.get() : nullptr;
        check(MPI_Reduce(send, receive, static_cast<int>(elements), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
        if (rank_ == 0)
            expect("MPI_Reduce", [this](std::size_t i) { return sum_at(i); });
        else
            expect("MPI_Reduce (send buffer)", [this](std::size_t i) { return value_at(rank_, i); });
    }

    void allreduce() {
        fill(rank_);
        check(
            MPI_Allreduce(MPI_IN_PLACE, data_.get(), static_cast<int>(elements), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
        expect("MPI_Allreduce", [this](std::size_t i) { return sum_at(i); });
    }

private:
    [[nodiscard]] std::int64_t sum_at(std::size_t i) const {
        return size_ * value_at(0, i) + 7 * (size_ * (size_ - 1) / 2);
    }

    void fill(int rank) {
        for (std::size_t i = 0; i < elements; ++i) data_[i] = value_at(rank, i);
    }

    template <class Expected>
    void expect(const char* what, Expected expected) const {
        for (std::size_t i = 0; i < elements; ++i)
            if (data_[i] != expected(i))
                fail(std::string(what) + ": element " + std::to_string(i) + " of " + std::to_string(elements) +
                     ": expected " + std::to_string(expected(i)) + ", found " + std::to_string(data_[i]));
    }

    static constexpr std::size_t huge_page = std::size_t{2} << 20U;
    static constexpr std::size_t bytes = (elements * sizeof(std::int64_t) + huge_page - 1) / huge_page * huge_page;
    std::unique_ptr<std::int64_t[], void (*)(void*)> data_;
    int rank_ = 0;
    int size_ = 1;
};

// All ranks hear what rank 0 finds.
void skip_without_memory(const Program& program) {
    // The message, and as much again twice for the MPI library's and the algorithms' scratch.
    const std::size_t needed = static_cast<std::size_t>(program.size()) * 3 * 2 * gibibyte;
    int enough = program.rank() == 0 && available_memory() > needed ? 1 : 0;
    check(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (enough == 0) skip("needs " + std::to_string(needed / gibibyte) + " GiB of free memory");
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "large_count");
    const std::string only = program.options().text("--only", "");
    program.options().reject_rest();
    skip_without_memory(program);
    {
        LargeMessages messages;
        const auto wanted = [&only](const char* name) { return only.empty() || only == name; };
        if (wanted("bcast")) messages.bcast(false);
        if (wanted("bcast_c")) messages.bcast(true);
        if (wanted("reduce")) messages.reduce();
        if (wanted("allreduce")) messages.allreduce();
    }
    return program.finish(std::to_string(elements * sizeof(std::int64_t)) + " bytes");
}
