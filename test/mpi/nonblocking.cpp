// SPDX-License-Identifier: BSD-3-Clause
// MPI_Ibcast, MPI_Ireduce and MPI_Iallreduce as programs use them: results, any number in flight, any way to complete them,
// and what may be freed meanwhile.
//
//   --case NAME       sweep, promise, several, many, freed, beside, failing, threads (default: all)
//   --thread-level L  asked of MPI_Init_thread (default 0)
//   --setting-of-ranks NAME=a,b,...  a setting of each rank
//   --free-requests   requests are freed while they are pending: for those of the library only
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

#include "../support/mpi_library.hpp"
#include "../support/nonblocking_call.hpp"
#include "../support/setting_of_ranks.hpp"

using namespace hcoll::test;

namespace {

// Blocking calls set communicators up.
void prepare(const CommunicatorSet& set) {
    for (const NamedCommunicator& each : set.list())
        for (int i = 0; i < 2; ++i) {
            int one = 1;
            int sum = 0;
            check(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, each.comm));
            require(sum == each.size, "MPI_Allreduce");
        }
}

void sweep(const CommunicatorSet& set, std::uint64_t seed) {
    for (const NamedCommunicator& on : set.list()) {
        const std::uint64_t first = seed + static_cast<std::uint64_t>(&on - set.list().data()) * 1000;
        std::uint64_t number = first;  // the same on all ranks of the communicator
        for (const std::size_t count : {std::size_t{1}, std::size_t{9}, std::size_t{1000}, std::size_t{40'000}})
            for (const Kind kind : kinds)
                for (int root = 0; root < (kind == Kind::allreduce ? 1 : on.size); ++root)
                    for (const bool in_place : {false, true}) Call(kind, on, root, count, number++, in_place).wait();
    }

    // Elements with gaps; the type is freed before the message is there.
    for (const NamedCommunicator& on : set.list())
        for (int root = 0; root < on.size; ++root) {
            constexpr int count = 500;
            std::vector<std::int64_t> data(3 * count, untouched);
            if (on.rank == root)
                for (std::size_t i = 0; i < data.size(); ++i) data[i] = item(seed, root, i);
            MPI_Datatype gaps = MPI_DATATYPE_NULL;
            check(MPI_Type_vector(count, 2, 3, MPI_INT64_T, &gaps));
            check(MPI_Type_commit(&gaps));
            MPI_Request request = MPI_REQUEST_NULL;
            check(MPI_Ibcast(data.data(), 1, gaps, root, on.comm, &request));
            check(MPI_Type_free(&gaps));
            MPI_Status status;
            check(MPI_Wait(&request, &status));
            for (std::size_t i = 0; i < data.size(); ++i)
                require(data[i] == (i % 3 == 2 && on.rank != root ? untouched : item(seed, root, i)),
                        "MPI_Ibcast of elements with gaps");
        }
    // No bytes, and operations and types that are not the library's business.
    MPI_Request requests[3];
    struct {
        double value;
        int index;
    } pair{1, 2}, least{};
    int nothing = 0;
    check(MPI_Ibcast(&nothing, 0, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
    check(MPI_Iallreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD, &requests[1]));
    check(MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
    check(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    require(least.value == 1 && least.index == 2, "MPI_Iallreduce of pairs");
}

#if HCOLL_TEST_HAS_MPI_4_1
// A message that leaves only when it is received, in a buffer of MPI_Bsend, and the call `what`, which waits until it has left.
constexpr int buffered_items = 1 << 20;

void send_buffered(std::string_view what, int receiver, int tag, MPI_Comm comm) {
    const bool is_of_comm = what.starts_with("MPI_Comm");
    const std::vector<int> items(buffered_items, 4711);
    std::vector<std::byte> buffer(sizeof(int) * items.size() + MPI_BSEND_OVERHEAD);
    const int size = static_cast<int>(buffer.size());
    check(is_of_comm ? MPI_Comm_attach_buffer(comm, buffer.data(), size) : MPI_Buffer_attach(buffer.data(), size));
    check(MPI_Bsend(items.data(), buffered_items, MPI_INT, receiver, tag, comm));
    if (what == "MPI_Buffer_flush") check(MPI_Buffer_flush());
    if (what == "MPI_Comm_flush_buffer") check(MPI_Comm_flush_buffer(comm));
    void* detached = nullptr;
    if (is_of_comm) {
        int detached_size = 0;
        check(MPI_Comm_detach_buffer(comm, &detached, &detached_size));
        require(detached_size == size, "MPI_Comm_detach_buffer: the size");
    } else {
        MPI_Count detached_size = 0;
        check(MPI_Buffer_detach_c(&detached, &detached_size));
        require(detached_size == size, "MPI_Buffer_detach_c: the size");
    }
    require(detached == buffer.data(), "the buffer that was detached");
}

void receive_buffered(int sender, int tag, MPI_Comm comm) {
    std::vector<int> items(buffered_items);
    check(MPI_Recv(items.data(), buffered_items, MPI_INT, sender, tag, comm, MPI_STATUS_IGNORE));
    require(std::count(items.begin(), items.end(), 4711) == buffered_items, "a message of MPI_Bsend");
}
#endif

// Rule 5: who has begun a collective may wait for something else, which another rank does only when the collective is over
// there. On a chain the ranks between have to pass the message on meanwhile.
void promise(const NamedCommunicator& world, const CommunicatorSet& set, std::uint64_t seed) {
    const int last = world.size - 1;
    if (last == 0) return;
    // Another communicator, and some that are set up in the call.
    const NamedCommunicator& other = set.list()[1];
    std::vector<MPI_Comm> fresh(9);
    for (MPI_Comm& each : fresh) check(MPI_Comm_dup(world.comm, &each));
    std::size_t next_fresh = 0;
    constexpr int tag = 5;
    int token = 0;
    MPI_Status status;
    using Block = std::function<void()>;
    const std::pair<const char*, Block> blocks[] = {
        {"MPI_Recv", [&] { check(MPI_Recv(&token, 1, MPI_INT, last, tag, world.comm, &status)); }},
        {"MPI_Wait",
         [&] {
             MPI_Request request = MPI_REQUEST_NULL;
             check(MPI_Irecv(&token, 1, MPI_INT, last, tag, world.comm, &request));
             check(MPI_Wait(&request, &status));
         }},
        {"MPI_Waitany",
         [&] {
             MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
             int index = -1;
             check(MPI_Irecv(&token, 1, MPI_INT, last, tag, world.comm, &requests[1]));
             check(MPI_Waitany(2, requests, &index, &status));
             require(index == 1, "MPI_Waitany: the index");
         }},
        {"MPI_Waitsome",
         [&] {
             MPI_Request request = MPI_REQUEST_NULL;
             int index = -1;
             int completed = 0;
             check(MPI_Irecv(&token, 1, MPI_INT, last, tag, world.comm, &request));
             check(MPI_Waitsome(1, &request, &completed, &index, &status));
             require(completed == 1 && index == 0, "MPI_Waitsome");
         }},
        {"MPI_Sendrecv",
         [&] {
             int sent = 1;
             check(
                 MPI_Sendrecv(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, &token, 1, MPI_INT, last, tag, world.comm, &status));
         }},
        {"MPI_Sendrecv_replace",
         [&] { check(MPI_Sendrecv_replace(&token, 1, MPI_INT, MPI_PROC_NULL, 0, last, tag, world.comm, &status)); }},
        {"MPI_Probe",
         [&] {
             check(MPI_Probe(last, tag, world.comm, &status));
             check(MPI_Recv(&token, 1, MPI_INT, last, tag, world.comm, &status));
         }},
        {"MPI_Mprobe",
         [&] {
             MPI_Message message;
             check(MPI_Mprobe(last, tag, world.comm, &message, &status));
             check(MPI_Mrecv(&token, 1, MPI_INT, &message, &status));
         }},
#if MPI_VERSION >= 4
        {"MPI_Recv_c", [&] { check(MPI_Recv_c(&token, 1, MPI_INT, last, tag, world.comm, &status)); }},
        {"MPI_Sendrecv_c",
         [&] {
             int sent = 1;
             check(MPI_Sendrecv_c(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, &token, 1, MPI_INT, last, tag, world.comm,
                                  &status));
         }},
        {"MPI_Sendrecv_replace_c",
         [&] { check(MPI_Sendrecv_replace_c(&token, 1, MPI_INT, MPI_PROC_NULL, 0, last, tag, world.comm, &status)); }},
        {"MPI_Mrecv_c",
         [&] {
             MPI_Message message;
             check(MPI_Mprobe(last, tag, world.comm, &message, &status));
             check(MPI_Mrecv_c(&token, 1, MPI_INT, &message, &status));
         }},
#endif
        {"MPI_Ssend", nullptr},
#if HCOLL_TEST_HAS_MPI_4_1
        {"MPI_Buffer_flush", nullptr},
        {"MPI_Buffer_detach", nullptr},
        {"MPI_Comm_flush_buffer", nullptr},
        {"MPI_Comm_detach_buffer", nullptr},
#endif
        {"MPI_Test",
         [&] {
             MPI_Request request = MPI_REQUEST_NULL;
             check(MPI_Irecv(&token, 1, MPI_INT, last, tag, world.comm, &request));
             for (int done = 0; done == 0;) check(MPI_Test(&request, &done, &status));
         }},
        {"MPI_Barrier", nullptr},
        {"MPI_Bcast", nullptr},
        {"MPI_Allreduce", nullptr},
    };
    for (const auto& [name, block] : blocks)
        for (const Kind kind : kinds) {
            // The last rank's part of a Reduce may be over at once: then nobody waits for it.
            Call call(kind, world, kind == Kind::reduce ? last : 0, 60'000, seed++);
            const std::string_view what = name;
            const auto waits_for_last = [&](auto&& of_others, auto&& of_last) {
                if (world.rank == last) call.wait();
                if (world.rank == last)
                    of_last();
                else
                    of_others();
                if (world.rank != last) call.wait();
            };
            if (what == "MPI_Ssend") {
                waits_for_last([&] { check(MPI_Ssend(&token, 1, MPI_INT, last, tag, world.comm)); },
                               [&] {
                                   for (int rank = 0; rank < last; ++rank)
                                       check(MPI_Recv(&token, 1, MPI_INT, rank, tag, world.comm, &status));
                               });
#if HCOLL_TEST_HAS_MPI_4_1
            } else if (what.ends_with("_flush") || what.ends_with("_detach") || what.ends_with("_buffer")) {
                waits_for_last([&] { send_buffered(what, last, tag, world.comm); },
                               [&] {
                                   for (int rank = 0; rank < last; ++rank) receive_buffered(rank, tag, world.comm);
                               });
#endif
            } else if (what == "MPI_Barrier" || what == "MPI_Bcast" || what == "MPI_Allreduce") {
                const MPI_Comm unused = fresh[next_fresh++];
                const auto collective = [&] {
                    int sum = 0;
                    for (const MPI_Comm comm : {unused, other.comm}) {
                        if (what == "MPI_Barrier") check(MPI_Barrier(comm));
                        if (what == "MPI_Bcast") check(MPI_Bcast(&token, 1, MPI_INT, last, comm));
                        if (what == "MPI_Allreduce") check(MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, comm));
                    }
                };
                waits_for_last(collective, collective);
            } else {
                token = 0;
                waits_for_last([&] { block(); },
                               [&] {
                                   const int number = 4711;
                                   for (int rank = 0; rank < last; ++rank)
                                       check(MPI_Send(&number, 1, MPI_INT, rank, tag, world.comm));
                               });
                if (world.rank != last) require(token == 4711 && status.MPI_SOURCE == last, what);
            }
        }
    for (MPI_Comm& each : fresh) check(MPI_Comm_free(&each));
}

void several(const CommunicatorSet& set, std::uint64_t seed, int rank) {
    Random same(seed);
    Random own(mix({seed, static_cast<std::uint64_t>(rank)}));
    for (int round = 0; round < 25; ++round) {
        std::vector<std::unique_ptr<Call>> calls;
        const std::uint64_t number = 1 + same.below(20);
        for (std::uint64_t i = 0; i < number; ++i) {
            const NamedCommunicator& on = set.list()[same.below(set.list().size())];
            const Kind kind = kinds[same.below(3)];
            const std::size_t count = 1 + same.below(same.chance(4) ? 30'000 : 300);
            const std::uint64_t root = same.next();
            const bool in_place = same.chance(2);
            calls.push_back(std::make_unique<Call>(
                kind, on, static_cast<int>(root % static_cast<std::uint64_t>(on.size)), count, same.next(), in_place));
        }
        complete(calls, own);
    }
}

// More than there are sequences of tags.
void many(const NamedCommunicator& world, std::uint64_t seed) {
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < 2500; ++i)
        calls.push_back(
            std::make_unique<Call>(kinds[i % 3], world, i % world.size, 3, seed + static_cast<std::uint64_t>(i)));
    Random own(mix({seed, static_cast<std::uint64_t>(world.rank)}));
    complete(calls, own);
}

void freed(const NamedCommunicator& world, std::uint64_t seed, bool frees_requests) {
    // The request before its completion, which MPI does not allow (MPI 4.0, section 6.12), but generalized requests do: what
    // was begun goes on, and later collectives on the communicator, too.
    for (int round = 0; frees_requests && round < 10; ++round) {
        Call call(Kind::allreduce, world, 0, 20'000, seed++);
        check(MPI_Request_free(&call.request));
        Call(Kind::bcast, world, 0, 100, seed++).wait();
        // Calls that wait for nothing move it: no call has to complete it.
        while (!call.has_result()) {
            int flag = 0;
            check(MPI_Iprobe(MPI_ANY_SOURCE, 77, world.comm, &flag, MPI_STATUS_IGNORE));
        }
        check(MPI_Barrier(world.comm));
        call.look();
    }
    // The communicator, which Open MPI 4.1 does not take where its own collective is pending on it.
    for (int round = 0; frees_requests && round < 10; ++round) {
        NamedCommunicator inner{"freed", MPI_COMM_NULL, world.rank, world.size};
        check(MPI_Comm_dup(world.comm, &inner.comm));
        for (int i = 0; i < 2; ++i) check(MPI_Barrier(inner.comm));
        Call first(Kind::bcast, inner, world.size - 1, 20'000, seed++);
        Call second(Kind::allreduce, inner, 0, 20'000, seed++);
        check(MPI_Comm_free(&inner.comm));
        second.wait();
        first.wait();
    }
}

// Blocking collectives, and messages, beside one that is under way.
void beside(const NamedCommunicator& world, std::uint64_t seed) {
    for (int round = 0; round < 40; ++round) {
        const int root = round % world.size;
        Call call(kinds[round % 3], world, root, round % 2 == 0 ? 40'000 : 5, seed++);
        std::int64_t mine = world.rank;
        std::int64_t sum = 0;
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, world.comm));
        require(sum == std::int64_t{world.size} * (world.size - 1) / 2, "MPI_Allreduce beside another collective");
        std::vector<std::int64_t> long_one(50'000, world.rank == root ? round : -1);
        check(MPI_Bcast(long_one.data(), 50'000, MPI_INT64_T, root, world.comm));
        require(std::all_of(long_one.begin(), long_one.end(), [&](std::int64_t each) { return each == round; }),
                "MPI_Bcast beside another collective");
        call.wait();
    }
}

// Receives from nobody, and calls that fail, while something is in flight: as without.
void failing(const NamedCommunicator& world, std::uint64_t seed) {
    const int last = world.size - 1;
    const auto pending = [&] { return std::make_unique<Call>(Kind::allreduce, world, 0, 30'000, seed++); };
    auto call = pending();
    int nothing = 5;
    int count = -1;
    MPI_Status status;
    const auto is_from_nobody = [&] {
        check(MPI_Get_count(&status, MPI_INT, &count));
        return status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 && nothing == 5;
    };
    check(MPI_Recv(&nothing, 1, MPI_INT, MPI_PROC_NULL, 3, world.comm, &status));
    require(is_from_nobody(), "MPI_Recv from MPI_PROC_NULL");
    check(MPI_Sendrecv(&count, 1, MPI_INT, MPI_PROC_NULL, 3, &nothing, 1, MPI_INT, MPI_PROC_NULL, 3, world.comm,
                       &status));
    require(is_from_nobody(), "MPI_Sendrecv from MPI_PROC_NULL");
    check(MPI_Sendrecv_replace(&nothing, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3, world.comm, &status));
    require(is_from_nobody(), "MPI_Sendrecv_replace from MPI_PROC_NULL");
    // No elements, and elements at absolute addresses.
    const int to = (world.rank + 1) % world.size;
    const int from = (world.rank + last) % world.size;
    check(MPI_Sendrecv_replace(&nothing, 0, MPI_INT, to, 3, from, 3, world.comm, &status));
    check(MPI_Get_count(&status, MPI_INT, &count));
    require(count == 0 && nothing == 5, "MPI_Sendrecv_replace of nothing");
    MPI_Aint place = 0;
    int exchanged = world.rank;
    const int one = 1;
    MPI_Datatype absolute = MPI_DATATYPE_NULL;
    check(MPI_Get_address(&exchanged, &place));
    check(MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &absolute));
    check(MPI_Type_commit(&absolute));
    check(MPI_Sendrecv_replace(MPI_BOTTOM, 1, absolute, to, 3, from, 3, world.comm, MPI_STATUS_IGNORE));
    require(exchanged == from, "MPI_Sendrecv_replace at MPI_BOTTOM");
    check(MPI_Type_free(&absolute));
    MPI_Message message = MPI_MESSAGE_NULL;
    check(MPI_Mprobe(MPI_PROC_NULL, 3, world.comm, &message, MPI_STATUS_IGNORE));
    check(MPI_Mrecv(&nothing, 1, MPI_INT, &message, &status));
    require(is_from_nobody() && message == MPI_MESSAGE_NULL, "MPI_Mrecv from MPI_PROC_NULL");
    call->wait();
    if (last == 0) return;

    check(MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN));
    // What cannot be sent leaves no receive behind that takes the next message.
    call = pending();
    const int before = (world.rank + last) % world.size;
    const int behind = (world.rank + 1) % world.size;
    int received = -1;
    int sent = 42;
    const int refused = MPI_Sendrecv(&sent, 1, MPI_INT, world.size + 7, 9, &received, 1, MPI_INT, before, 9, world.comm,
                                     MPI_STATUS_IGNORE);
    require(refused != MPI_SUCCESS, "MPI_Sendrecv to a rank that does not exist");
    call->wait();
    int next = -1;
    check(
        MPI_Sendrecv(&world.rank, 1, MPI_INT, behind, 9, &next, 1, MPI_INT, before, 9, world.comm, MPI_STATUS_IGNORE));
    require(next == before && received == -1, "a message after an MPI_Sendrecv that was refused");

    // A message that is too long, among others that are well.
    std::vector<std::unique_ptr<Call>> calls;
    calls.push_back(pending());
    int long_message[4] = {1, 2, 3, 4};
    int short_place = 0;
    MPI_Request requests[4] = {calls[0]->request, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    check(MPI_Irecv(&short_place, 1, MPI_INT, before, 11, world.comm, &requests[1]));
    check(MPI_Isend(long_message, 4, MPI_INT, behind, 11, world.comm, &requests[2]));
    calls.push_back(pending());
    requests[3] = calls[1]->request;
    MPI_Status statuses[4];
    const int failed = MPI_Waitall(4, requests, statuses);
    int error_class = MPI_SUCCESS;
    check(MPI_Error_class(failed, &error_class));
    require(error_class == MPI_ERR_IN_STATUS, "MPI_Waitall with a message that was too long");
    check(MPI_Error_class(statuses[1].MPI_ERROR, &error_class));
    require(error_class == MPI_ERR_TRUNCATE, "the status of a message that was too long");
    for (std::size_t i = 0; i < 2; ++i) {
        // It may be pending where another one has failed.
        MPI_Request& request = requests[i == 0 ? 0 : 3];
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        calls[i]->request = MPI_REQUEST_NULL;
        calls[i]->look();
    }
    for (MPI_Request& each : requests)
        if (each != MPI_REQUEST_NULL) check(MPI_Wait(&each, MPI_STATUS_IGNORE));
    check(MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_ARE_FATAL));
}

// Threads on communicators of their own, and one that waits for a request of another one.
void threads(const NamedCommunicator& world, int thread_level, std::uint64_t seed) {
    if (thread_level < MPI_THREAD_MULTIPLE) return;
    constexpr int number = 3;
    std::vector<NamedCommunicator> comms(number, world);
    for (NamedCommunicator& each : comms) {
        check(MPI_Comm_dup(world.comm, &each.comm));
        for (int i = 0; i < 2; ++i) check(MPI_Barrier(each.comm));
    }
    std::vector<std::thread> running;
    for (int thread = 0; thread < number; ++thread)
        running.emplace_back([&, thread] {
            const NamedCommunicator& on = comms[static_cast<std::size_t>(thread)];
            for (int round = 0; round < 60; ++round) {
                const std::uint64_t own_seed = mix({seed, static_cast<std::uint64_t>(thread * 1000 + round)});
                Call first(kinds[round % 3], on, round % on.size, 5000, own_seed);
                Call second(Kind::allreduce, on, 0, 7, own_seed + 1);
                std::thread([&] { second.wait(); }).join();
                first.wait();
            }
        });
    for (std::thread& each : running) each.join();
    for (NamedCommunicator& each : comms) check(MPI_Comm_free(&each.comm));
}

}  // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    std::string setting_of_ranks;
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::string_view(argv[i]) == "--thread-level") level = std::stoi(argv[i + 1]);
        if (std::string_view(argv[i]) == "--setting-of-ranks") setting_of_ranks = argv[i + 1];
    }
    set_setting_of_rank(setting_of_ranks);
    Program program(argc, argv, "nonblocking", level);
    (void)program.options().number("--thread-level", 0);
    (void)program.options().text("--setting-of-ranks", "");
    const std::string only = program.options().text("--case", "all");
    const bool frees_requests = program.options().flag("--free-requests");
    program.options().reject_rest();
    int told = -1;
    check(MPI_Query_thread(&told));
    require(told == program.thread_level() || level == MPI_THREAD_SINGLE,
            "MPI_Query_thread and MPI_Init_thread differ");
    {
        const CommunicatorSet set;
        prepare(set);
        const NamedCommunicator& world = set.list()[0];
        const auto wanted = [&](std::string_view name) { return only == "all" || only == name; };
        if (wanted("sweep")) sweep(set, program.seed());
        if (wanted("promise")) promise(world, set, program.seed());
        if (wanted("several")) several(set, program.seed(), program.rank());
        if (wanted("many")) many(world, program.seed());
        if (wanted("freed")) freed(world, program.seed(), frees_requests);
        if (wanted("beside")) beside(world, program.seed());
        // Where an application asks for it, Open MPI's own MPI_Waitall waits for ever.
        const bool may_fail = !is_openmpi() || program.thread_level() != MPI_THREAD_MULTIPLE;
        if (wanted("failing") && may_fail) failing(world, program.seed());
        if (wanted("threads")) threads(world, program.thread_level(), program.seed());
    }
    // In flight when MPI_Finalize is called: its memory must live until then.
    const NamedCommunicator world{"world", MPI_COMM_WORLD, program.rank(), program.size()};
    Call last(Kind::allreduce, world, 0, 30'000, program.seed());
    if (frees_requests)
        check(MPI_Request_free(&last.request));
    else
        last.wait();
    return program.finish(only);
}
