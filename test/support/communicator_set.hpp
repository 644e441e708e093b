// SPDX-License-Identifier: BSD-3-Clause
// The communicators that a sweep runs over.
#pragma once

#include "program.hpp"

#include <vector>

namespace hcoll::test {

struct NamedCommunicator {
    const char* name;
    MPI_Comm comm;
    int rank;
    int size;
};

// World first, then others of its ranks; freed last to first. Threads that call collectives at the same time need a set each, all
// but one of duplicates.
class CommunicatorSet {
public:
    enum class Of { world, duplicates };
    explicit CommunicatorSet(Of of = Of::world) {
        MPI_Comm world = MPI_COMM_WORLD;
        MPI_Comm self = MPI_COMM_SELF;
        if (of == Of::duplicates) {
            check(MPI_Comm_dup(MPI_COMM_WORLD, &world));
            check(MPI_Comm_dup(MPI_COMM_SELF, &self));
        }
        int rank = 0;
        int size = 0;
        check(MPI_Comm_rank(world, &rank));
        check(MPI_Comm_size(world, &size));
        MPI_Comm comm = MPI_COMM_NULL;
        add("world", world);
        check(MPI_Comm_dup(world, &comm));
        add("duplicate of world", comm);
        check(MPI_Comm_split(world, 0, size - rank, &comm));
        add("world in reverse", comm);
        check(MPI_Comm_split(world, rank % 2, rank, &comm));
        add("odd or even ranks", comm);
        check(MPI_Comm_split(world, rank < size / 2 ? 0 : 1, -rank, &comm));
        add("a half, in reverse", comm);
        add("self", self);
    }
    ~CommunicatorSet() {
        for (auto it = list_.rbegin(); it != list_.rend(); ++it)
            if (it->comm != MPI_COMM_WORLD && it->comm != MPI_COMM_SELF) MPI_Comm_free(&it->comm);
    }
    CommunicatorSet(const CommunicatorSet&) = delete;
    CommunicatorSet& operator=(const CommunicatorSet&) = delete;

    [[nodiscard]] const std::vector<NamedCommunicator>& list() const { return list_; }

private:
    void add(const char* name, MPI_Comm comm) {
        NamedCommunicator entry{name, comm, 0, 0};
        check(MPI_Comm_rank(comm, &entry.rank));
        check(MPI_Comm_size(comm, &entry.size));
        list_.push_back(entry);
    }

    std::vector<NamedCommunicator> list_;
};

}  // namespace hcoll::test
