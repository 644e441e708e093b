// SPDX-License-Identifier: BSD-3-Clause
// All that LIBHCOLL_SPARSE runs between neighbors, on MPI_COMM_WORLD, each result looked at; at the end every rank prints how many
// TCP connections to others its process holds. For test/cluster/test_connections.py.
//
//   --only-init   nothing but MPI_Init
//   --blocking    no non-blocking ones
#include "../support/program.hpp"
#include "../support/user_operation.hpp"

#include <dirent.h>

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

using namespace hcoll::test;

namespace {

using Values = std::vector<std::int64_t>;

// The inodes of this process's sockets.
std::set<std::string> own_sockets() {
    std::set<std::string> sockets;
    DIR* directory = opendir("/proc/self/fd");
    require(directory != nullptr, "/proc/self/fd");
    while (const dirent* entry = readdir(directory)) {
        char target[256] = {};
        const std::string path = std::string("/proc/self/fd/") + entry->d_name;
        if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
        const std::string text = target;
        if (text.starts_with("socket:[")) sockets.insert(text.substr(8, text.size() - 9));
    }
    closedir(directory);
    return sockets;
}

// Established ones of this process that leave the node, by the other end's address.
std::vector<std::string> connections() {
    const std::set<std::string> sockets = own_sockets();
    std::vector<std::string> found;
    std::ifstream table("/proc/self/net/tcp");
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
        std::istringstream words(line);
        std::string slot;
        std::string local;
        std::string remote;
        std::string state;
        std::string rest;
        std::string inode;
        words >> slot >> local >> remote >> state;
        for (int i = 0; i < 5; ++i) words >> rest;
        words >> inode;
        const std::string address = remote.substr(0, 8);
        constexpr std::string_view established = "01";
        const bool leaves = address != local.substr(0, 8) && !address.ends_with("7F");
        if (state == established && leaves && sockets.contains(inode)) found.push_back(address);
    }
    return found;
}

// Composes the maps that the values stand for: it does not commute (user_operation.hpp).
void compose(void* left, void* right, int* count, MPI_Datatype*) {
    const auto* a = static_cast<const std::int64_t*>(left);
    auto* b = static_cast<std::int64_t*>(right);
    for (int i = 0; i < *count; ++i)
        b[i] = combine_words(Op::user_affine, static_cast<std::uint32_t>(a[i]), static_cast<std::uint32_t>(b[i]));
}

class Collectives {
public:
    Collectives(int rank, int size, bool only_blocking) : rank_(rank), size_(size), only_blocking_(only_blocking) {
        check(MPI_Op_create(compose, 0, &composition_));
    }
    ~Collectives() { MPI_Op_free(&composition_); }
    Collectives(const Collectives&) = delete;
    Collectives& operator=(const Collectives&) = delete;

    void run(std::size_t count, int root) const {
        bcast(count, root);
        reduce(count, root);
        blocks(count, root);
        check(MPI_Barrier(MPI_COMM_WORLD));
    }

private:
    static Values of_rank(int rank, std::size_t count) {
        Values values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = (std::int64_t{rank} + 2) << 16 | static_cast<std::int64_t>(1 + i % 997);
        return values;
    }
    void bcast(std::size_t count, int root) const {
        const Values expected = of_rank(root, count);
        Values values = rank_ == root ? expected : Values(count);
        check(MPI_Bcast(values.data(), static_cast<int>(count), MPI_INT64_T, root, MPI_COMM_WORLD));
        require(values == expected, "MPI_Bcast");
        if (only_blocking_) return;
        if (rank_ != root) std::fill(values.begin(), values.end(), 0);
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibcast(values.data(), static_cast<int>(count), MPI_INT64_T, root, MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(values == expected, "MPI_Ibcast");
    }
    void reduce(std::size_t count, int root) const {
        const auto n = static_cast<int>(count);
        const Values mine = of_rank(rank_, count);
        Values sum(count);
        Values composed;
        for (int rank = 0; rank < size_; ++rank) {
            Values right = of_rank(rank, count);
            for (std::size_t i = 0; i < count; ++i) sum[i] += right[i];
            if (rank > 0) {
                int items = n;
                compose(composed.data(), right.data(), &items, nullptr);
            }
            composed = std::move(right);
        }
        for (const auto& [op, expected] : {std::pair(MPI_SUM, sum), {composition_, composed}}) {
            Values result(count);
            check(MPI_Reduce(mine.data(), result.data(), n, MPI_INT64_T, op, root, MPI_COMM_WORLD));
            require(rank_ != root || result == expected, "MPI_Reduce");
            check(MPI_Allreduce(mine.data(), result.data(), n, MPI_INT64_T, op, MPI_COMM_WORLD));
            require(result == expected, "MPI_Allreduce");
        }
        if (only_blocking_) return;
        Values result(count);
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        Values of_root(count);
        check(MPI_Iallreduce(mine.data(), result.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
        check(MPI_Ireduce(mine.data(), of_root.data(), n, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]));
        check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        require(result == sum && (rank_ != root || of_root == sum), "MPI_Iallreduce and MPI_Ireduce");
    }
    void blocks(std::size_t count, int root) const {
        const auto n = static_cast<int>(count);
        const Values mine = of_rank(rank_, count);
        Values all;
        for (int rank = 0; rank < size_; ++rank)
            for (const std::int64_t value : of_rank(rank, count)) all.push_back(value);
        Values found(all.size());
        check(MPI_Gather(mine.data(), n, MPI_INT64_T, found.data(), n, MPI_INT64_T, root, MPI_COMM_WORLD));
        require(rank_ != root || found == all, "MPI_Gather");
        check(MPI_Allgather(mine.data(), n, MPI_INT64_T, found.data(), n, MPI_INT64_T, MPI_COMM_WORLD));
        require(found == all, "MPI_Allgather");
        Values part(count);
        check(MPI_Scatter(all.data(), n, MPI_INT64_T, part.data(), n, MPI_INT64_T, root, MPI_COMM_WORLD));
        require(part == mine, "MPI_Scatter");
    }

    int rank_;
    int size_;
    bool only_blocking_;
    MPI_Op composition_ = MPI_OP_NULL;
};

}  // namespace

int main(int argc, char** argv) {
    check(MPI_Init(&argc, &argv));
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    failure_context() = {"neighbors", rank, 0};
    const std::string_view option = argc > 1 ? argv[1] : "";
    if (option != "--only-init") {
        const Collectives collectives(rank, size, option == "--blocking");
        for (const std::size_t count : {std::size_t{2}, std::size_t{1000}, std::size_t{50'000}})
            for (const int root : {0, size / 2, size - 1}) collectives.run(count, root);
    }
    const std::vector<std::string> found = connections();
    const std::set<std::string> peers(found.begin(), found.end());
    std::printf("rank %d: %zu connections to %zu nodes\n", rank, found.size(), peers.size());
    std::fflush(stdout);
    check(MPI_Finalize());
    return 0;
}
