// SPDX-License-Identifier: BSD-3-Clause
// A program that brings its own memory management, of which aligned_alloc is no part: what its free gets is its own.
#include "../support/program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t bytes);  // NOLINT: the C library's, whatever the program's are
void __libc_free(void* memory);          // NOLINT
}

namespace {

// Before each block.
struct Head {
    std::uint64_t magic;
    void* whole;
    std::size_t bytes;
};
constexpr std::uint64_t magic = 0x6c6f63616d6e776fU;

Head* head_of(void* memory) {
    auto* head = static_cast<Head*>(memory) - 1;
    if (head->magic == magic) return head;
    constexpr char sentence[] = "FAIL own_malloc: free() of memory that is none of this program's\n";
    (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
    _exit(1);
}

void* allocate(std::size_t alignment, std::size_t bytes) {
    void* whole = __libc_malloc(bytes + alignment + sizeof(Head));
    if (whole == nullptr) return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(whole) + sizeof(Head);
    auto* memory = reinterpret_cast<void*>((first + alignment - 1) / alignment * alignment);
    *(static_cast<Head*>(memory) - 1) = {magic, whole, bytes};
    return memory;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return allocate(alignof(std::max_align_t), bytes); }

void free(void* memory) {
    if (memory == nullptr) return;
    Head* head = head_of(memory);
    head->magic = 0;
    __libc_free(head->whole);
}

void* calloc(std::size_t count, std::size_t bytes) {
    if (bytes != 0 && count > SIZE_MAX / bytes) return nullptr;
    void* memory = malloc(count * bytes);
    return memory == nullptr ? nullptr : std::memset(memory, 0, count * bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    if (memory == nullptr) return malloc(bytes);
    void* larger = malloc(bytes);
    if (larger == nullptr) return nullptr;
    const std::size_t before = head_of(memory)->bytes;
    std::memcpy(larger, memory, before < bytes ? before : bytes);
    free(memory);
    return larger;
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    *memory = allocate(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}

void* memalign(std::size_t alignment, std::size_t bytes) { return allocate(alignment, bytes); }

void* valloc(std::size_t bytes) { return allocate(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes); }
}

using namespace hcoll::test;

int main(int argc, char** argv) {
    Program program(argc, argv, "own_malloc");
    program.options().reject_rest();
    for (const int count : {1, 100, 5000, 300'000}) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 5; ++i) {
            std::vector<int> values(static_cast<std::size_t>(count), program.rank() + i);
            std::vector<int> sums(values.size(), -1);
            const int sum = program.size() * (program.size() - 1) / 2 + i * program.size();
            check(MPI_Allreduce(values.data(), sums.data(), count, MPI_INT, MPI_SUM, comm));
            require(sums.front() == sum && sums.back() == sum, "a sum is wrong");
            check(MPI_Reduce(values.data(), sums.data(), count, MPI_INT, MPI_SUM, 0, comm));
            check(MPI_Bcast(values.data(), count, MPI_INT, 0, comm));
            require(values.back() == i, "a broadcast is wrong");
        }
        check(MPI_Comm_free(&comm));
    }
    return program.finish("own_malloc");
}
