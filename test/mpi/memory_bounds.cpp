// SPDX-License-Identifier: BSD-3-Clause
// What the library needs beside the application's buffers: the process' peak of resident memory (VmHWM), before and after.
//
//   --case NAME   one of the cases in the table at the end
//   --most N      so many MB more, at most (default 8)
#include "../support/memory_of_process.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

int rank_here() {
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    return rank;
}

// 32 MB of ints in every second place of 64 MB, or in one element of that length.
class Gapped {
public:
    static constexpr int count = 8 << 20;

    explicit Gapped(bool is_one_element) : elements_(is_one_element ? 1 : count), memory_(2 * count, untouched) {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        if (is_one_element) {
            check(MPI_Type_vector(count, 1, 2, MPI_INT, &type_));
        } else {
            check(MPI_Type_dup(MPI_INT, &made));
            check(MPI_Type_create_resized(made, 0, 2 * sizeof(int), &type_));
            check(MPI_Type_free(&made));
        }
        check(MPI_Type_commit(&type_));
    }
    Gapped(const Gapped&) = delete;
    Gapped& operator=(const Gapped&) = delete;
    ~Gapped() { MPI_Type_free(&type_); }

    [[nodiscard]] int elements() const { return elements_; }
    [[nodiscard]] MPI_Datatype type() const { return type_; }
    int* data() { return memory_.data(); }
    void fill(int seed) {
        for (std::size_t i = 0; i < memory_.size(); i += 2) memory_[i] = seed + static_cast<int>(i);
    }
    void look(int seed) const {
        for (std::size_t i = 0; i < memory_.size(); i += 2) {
            require(memory_[i] == seed + static_cast<int>(i), "a value is wrong");
            require(memory_[i + 1] == untouched, "a gap was written to");
        }
    }

private:
    static constexpr int untouched = -1;
    int elements_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    std::vector<int> memory_;
};

// Before it is measured, all that is made once is made by the same call with few bytes.
template <typename Call>
std::int64_t growth_kb(Call&& call) {
    call(true);
    check(MPI_Barrier(MPI_COMM_WORLD));
    const std::int64_t before = most_resident_kilobytes();
    call(false);
    return most_resident_kilobytes() - before;
}

template <typename Bcast>
std::int64_t of_bcast(Bcast&& bcast) {
    std::int64_t most = 0;
    for (const bool is_one_element : {false, true}) {
        Gapped gapped(is_one_element);
        if (rank_here() == 0) gapped.fill(7);
        most = std::max(most, growth_kb([&](bool is_first) {
                            bcast(gapped.data(), is_first ? std::min(gapped.elements(), 1000) : gapped.elements(),
                                  is_first && is_one_element ? MPI_INT : gapped.type());
                        }));
        gapped.look(7);
    }
    return most;
}

std::int64_t gapped_bcast() {
    return of_bcast(
        [](void* buffer, int count, MPI_Datatype type) { check(MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD)); });
}

std::int64_t gapped_ibcast() {
    return of_bcast([](void* buffer, int count, MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibcast(buffer, count, type, 0, MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    });
}

// 60 communicators, an Allreduce of 2 MB on each.
std::int64_t many_communicators() {
    constexpr int most = 60;
    constexpr int count = 256 << 10;
    std::vector<double> send(count, 1.0);
    std::vector<double> receive(count, 0.0);
    std::vector<MPI_Comm> all(most);
    for (MPI_Comm& each : all) check(MPI_Comm_dup(MPI_COMM_WORLD, &each));
    const auto sum = [&](int elements) {
        for (const MPI_Comm each : all)
            for (int call = 0; call < 2; ++call)
                check(MPI_Allreduce(send.data(), receive.data(), elements, MPI_DOUBLE, MPI_SUM, each));
    };
    const std::int64_t growth = growth_kb([&](bool is_first) { sum(is_first ? 100 : count); });
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (const double each : receive) require(each == size, "a sum is wrong");
    for (MPI_Comm& each : all) check(MPI_Comm_free(&each));
    return growth;
}

struct Case {
    const char* name;
    std::function<std::int64_t()> run;
};
const Case cases[] = {
    {"gapped_bcast", gapped_bcast}, {"gapped_ibcast", gapped_ibcast}, {"many_communicators", many_communicators}};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "memory_bounds");
    const std::string name = program.options().text("--case", "");
    const std::int64_t most = program.options().number("--most", 8) << 10;
    program.options().reject_rest();
    for (int i = 0; i < 2; ++i) check(MPI_Barrier(MPI_COMM_WORLD));
    for (const Case& each : cases) {
        if (name != each.name) continue;
        const std::int64_t growth = each.run();
        require(growth <= most, "the process' memory grew by " + std::to_string(growth) + " KB");
        return program.finish("memory grew by " + std::to_string(growth) + " KB on rank 0");
    }
    fail("no case of that name");
}
