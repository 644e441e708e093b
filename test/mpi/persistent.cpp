// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bcast_init, MPI_Reduce_init and MPI_Allreduce_init (Open MPI 4.1: MPIX_): started again and again with other contents, in
// any order, beside other collectives, and freed between two starts. Skipped where the MPI library has none.
//
//   --rounds N   (default 30)
//   --outlive    requests outlive their communicator, too
//   --cancel     MPI_Cancel on one that runs, which MPI forbids: it is an error, and changes nothing
//   --tiny N     begins with N requests of 8 bytes, which a rule leaves to the MPI library, on one communicator; then a long one
#include "../support/persistent_call.hpp"

using namespace hcoll::test;

#if defined(HCOLL_TEST_PERSISTENT)

namespace {

void restarts(const CommunicatorSet& set, std::uint64_t seed, int rank, std::int64_t rounds) {
    Random same(seed);
    Random own(mix({seed, static_cast<std::uint64_t>(rank)}));
    std::vector<std::unique_ptr<Persistent>> all;
    for (const NamedCommunicator& on : set.list())
        for (const Kind kind : kinds)
            for (const std::size_t count : {std::size_t{1}, std::size_t{700}, std::size_t{30'000}})
                all.push_back(std::make_unique<Persistent>(kind, on, on.size - 1, count, count == 700));
    for (std::int64_t round = 0; round < rounds; ++round) {
        // The same ones on all ranks, each in its own order.
        std::vector<Persistent*> chosen;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::uint64_t contents = mix({seed, static_cast<std::uint64_t>(round), i});
            if (!same.chance(3)) continue;
            all[i]->fill(contents);
            chosen.push_back(all[i].get());
        }
        for (std::size_t i = chosen.size(); i > 1; --i) std::swap(chosen[i - 1], chosen[own.below(i)]);
        std::vector<MPI_Request> requests;
        for (Persistent* each : chosen) requests.push_back(each->request);
        const auto n = static_cast<int>(requests.size());
        if (own.chance(2))
            check(MPI_Startall(n, requests.data()));
        else
            for (MPI_Request& each : requests) check(MPI_Start(&each));
        // Another collective meanwhile.
        Call(kinds[round % 3], set.list()[0], 0, 500, seed + static_cast<std::uint64_t>(round)).wait();
        if (own.chance(2)) {
            check(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE));
        } else {
            for (MPI_Request& each : requests) {
                for (int done = 0; done == 0;) check(MPI_Test(&each, &done, MPI_STATUS_IGNORE));
                require(each != MPI_REQUEST_NULL, "a persistent request is gone after MPI_Test");
                check(MPI_Wait(&each, MPI_STATUS_IGNORE));  // it is not active: this returns at once
            }
        }
        for (Persistent* each : chosen) each->look();
        // One is given back between two starts.
        if (round % 5 == 4) all.erase(all.begin() + static_cast<std::ptrdiff_t>(same.below(all.size())));
    }
}

void outlive(const NamedCommunicator& world, std::uint64_t seed) {
    for (int round = 0; round < 3; ++round) {
        NamedCommunicator inner{"freed", MPI_COMM_NULL, world.rank, world.size};
        check(MPI_Comm_dup(world.comm, &inner.comm));
        for (int i = 0; i < 2; ++i) check(MPI_Barrier(inner.comm));
        Persistent sum(Kind::allreduce, inner, 0, 5000, false);
        check(MPI_Comm_free(&inner.comm));
        for (int again = 0; again < 3; ++again) {
            sum.fill(seed++);
            check(MPI_Start(&sum.request));
            check(MPI_Wait(&sum.request, MPI_STATUS_IGNORE));
            sum.look();
        }
    }
}

void cancel(const NamedCommunicator& world, std::uint64_t seed) {
    NamedCommunicator inner{"cancelled", MPI_COMM_NULL, world.rank, world.size};
    check(MPI_Comm_dup(world.comm, &inner.comm));
    check(MPI_Comm_set_errhandler(inner.comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < 2; ++i) check(MPI_Barrier(inner.comm));
    {
        Persistent sum(Kind::allreduce, inner, 0, 5000, false);
        for (int round = 0; round < 10; ++round) {
            sum.fill(seed++);
            check(MPI_Start(&sum.request));
            if (round == 1) {
                int error_class = MPI_SUCCESS;
                check(MPI_Error_class(MPI_Cancel(&sum.request), &error_class));
                require(error_class == MPI_ERR_REQUEST, "a persistent collective can be cancelled");
            }
            check(MPI_Wait(&sum.request, MPI_STATUS_IGNORE));
            sum.look();
        }
    }
    check(MPI_Comm_free(&inner.comm));
}

// Of those that run here there are as many as tags allow; those that do not take nothing from them.
void many_tiny(const NamedCommunicator& world, std::uint64_t seed, std::int64_t many) {
    for (std::int64_t i = 0; i < many; ++i) {
        Persistent tiny(Kind::allreduce, world, 0, 1, false);
        if (i % 100 != 0) continue;
        tiny.fill(seed);
        check(MPI_Start(&tiny.request));
        check(MPI_Wait(&tiny.request, MPI_STATUS_IGNORE));
        tiny.look();
    }
    Persistent large(Kind::allreduce, world, 0, 200'000, false);
    large.fill(seed);
    check(MPI_Start(&large.request));
    check(MPI_Wait(&large.request, MPI_STATUS_IGNORE));
    large.look();
}

}  // namespace

// Elements with gaps, which plans find at imaginary addresses: again and again.
void elements_with_gaps(const NamedCommunicator& on) {
    constexpr int elements = 500;
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(elements, 1, 2, MPI_INT, &every_other));
    check(MPI_Type_commit(&every_other));
    std::vector<int> values(2 * elements, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    check(HCOLL_TEST_PERSISTENT(Bcast_init)(values.data(), 1, every_other, 0, on.comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < values.size(); i += 2) values[i] = on.rank == 0 ? round + static_cast<int>(i) : -1;
        check(MPI_Start(&request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (std::size_t i = 0; i < values.size(); i += 2)
            require(values[i] == round + static_cast<int>(i) && values[i + 1] == -1, "elements with gaps are wrong");
    }
    check(MPI_Request_free(&request));
    check(MPI_Type_free(&every_other));
}

#endif

int main(int argc, char** argv) {
    Program program(argc, argv, "persistent");
    [[maybe_unused]] const std::int64_t rounds = program.options().number("--rounds", 30);
    [[maybe_unused]] const bool outlives = program.options().flag("--outlive");
    [[maybe_unused]] const bool cancels = program.options().flag("--cancel");
    [[maybe_unused]] const std::int64_t tiny = program.options().number("--tiny", 0);
    program.options().reject_rest();
#if defined(HCOLL_TEST_PERSISTENT)
    {
        const CommunicatorSet set;
        for (const NamedCommunicator& each : set.list())
            for (int i = 0; i < 2; ++i) check(MPI_Barrier(each.comm));
        elements_with_gaps(set.list()[0]);
        if (tiny != 0) many_tiny(set.list()[0], program.seed(), tiny);
        restarts(set, program.seed(), program.rank(), rounds);
        if (cancels) cancel(set.list()[0], program.seed());
        if (outlives) outlive(set.list()[0], program.seed());
    }
    return program.finish(std::to_string(rounds) + " rounds");
#else
    skip("the MPI library has no persistent collectives");
    return skip_exit_code;
#endif
}
