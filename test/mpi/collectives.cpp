// SPDX-License-Identifier: BSD-3-Clause
// The sweep: MPI_Bcast, MPI_Reduce, MPI_Allreduce and, between them, MPI_Barrier over types, operations, roots, counts, layouts and communicators,
// every rank's buffers compared with a serial reference.
//
//   --only bcast|reduce|allreduce|barrier   one collective only
//   --segment BYTES                 adds counts around the multiples of a segment of this size
//   --bits-file FILE                only compares the bits of Allreduce with those of an earlier run (set the seed)
//   --all-right                     also what the MPI library itself gets wrong must be right
//   --quick                         fewer counts and roots
//   --one-in N                      of so many calls one only; another seed, another one
//   --brief                         some counts of three types on MPI_COMM_WORLD alone: a second
#include "../support/layouts.hpp"
#include "../support/predefined_types.hpp"
#include "sweep.hpp"

#include <bit>
#include <fstream>

using namespace hcoll::test;

namespace {

// Every type with every op that is valid for it, at few counts; roots take turns.
void sweep_types(Sweep& sweep, const std::vector<TestType>& types) {
    for (const TestType& type : types) {
        sweep.barrier();
        for (const std::int64_t count : sweep.few_counts(type)) {
            if (sweep.wants(Collective::bcast)) sweep.bcast(type, count, sweep.next_root());
            for (const Op op : type.ops) sweep.reductions(type, predefined_operation(op), count, sweep.next_root());
        }
    }
}

// Few types, all counts and all roots.
void sweep_counts(Sweep& sweep, const UserOperations& user) {
    const TestType integer = make_predefined<int>("MPI_INT", MPI_INT, ops::c_integer);
    const TestType real = make_predefined<double>("MPI_DOUBLE", MPI_DOUBLE, ops::arithmetic);
    const TestType pair = make_predefined<Pair<short, int>>("MPI_SHORT_INT", MPI_SHORT_INT, ops::location);
    const TestType word = make_word_type("MPI_UINT32_T", MPI_UINT32_T, {0});
    const Layout gapped = layout::gapped_struct();
    const std::pair<const TestType*, Operation> cases[] = {
        {&integer, predefined_operation(Op::sum)},
        {&real, predefined_operation(Op::max)},
        {&pair, predefined_operation(Op::minloc)},
        {&word, user.affine()},
        {&word, user.sum()},
        {&gapped.type(), user.affine()},
    };
    for (const auto& [type, operation] : cases) {
        for (const std::int64_t count : sweep.all_counts(*type)) {
            if (type == &integer) sweep.barrier();
            for (const int root : sweep.roots()) {
                if (sweep.wants(Collective::bcast)) sweep.bcast(*type, count, root);
                sweep.reductions(*type, operation, count, root);
            }
        }
    }
}

// An operation that does not commute, and one on each side of the segments' ends.
void sweep_briefly(Sweep& sweep, const UserOperations& user) {
    const TestType integer = make_predefined<int>("MPI_INT", MPI_INT, ops::c_integer);
    const TestType real = make_predefined<double>("MPI_DOUBLE", MPI_DOUBLE, ops::arithmetic);
    const TestType word = make_word_type("MPI_UINT32_T", MPI_UINT32_T, {0});
    const std::pair<const TestType*, Operation> cases[] = {
        {&integer, predefined_operation(Op::sum)}, {&real, predefined_operation(Op::max)}, {&word, user.affine()}};
    for (const auto& [type, operation] : cases) {
        sweep.barrier();
        const std::vector<std::int64_t> counts = sweep.all_counts(*type);
        for (const std::int64_t count : {std::int64_t{1}, counts[counts.size() / 2], counts.back()}) {
            for (const int root : sweep.roots()) {
                if (sweep.wants(Collective::bcast)) sweep.bcast(*type, count, root);
                sweep.reductions(*type, operation, count, root);
            }
        }
    }
}

// Derived types, both user operations.
void sweep_layouts(Sweep& sweep, const std::vector<Layout>& layouts, const UserOperations& user) {
    for (const Layout& layout : layouts) {
        for (const std::int64_t count : sweep.few_counts(layout.type())) {
            if (sweep.wants(Collective::bcast)) sweep.bcast(layout.type(), count, sweep.next_root());
            sweep.reductions(layout.type(), user.sum(), count, sweep.next_root());
            sweep.reductions(layout.type(), user.affine(), count, sweep.next_root());
        }
    }
}

// Broadcasts of one signature in which each rank has its own datatype and count.
void sweep_mixed_types(Sweep& sweep, const std::vector<Layout>& layouts) {
    if (!sweep.wants(Collective::bcast)) return;
    for (const std::int64_t repeats : {1, 2, 11, 100, 700}) {
        for (const int root : sweep.roots()) {
            for (std::size_t first = 0; first < layouts.size(); ++first) {
                const auto own = (first + static_cast<std::size_t>(sweep.rank())) % layouts.size();
                const Layout& layout = sweep.rank() == root ? layouts[first] : layouts[own];
                sweep.bcast(layout.type(), repeats * words_of_every_layout / layout.words(), root);
            }
        }
    }
    const Layout wide = layout::mixed_struct({0, 8, 16}, 24);
    const Layout dense = layout::mixed_struct({12, 0, 8}, 13);
    for (const std::int64_t count : {1, 2, 100, 3000})
        for (const int root : sweep.roots())
            sweep.bcast(((sweep.rank() + root) % 2 == 0 ? wide : dense).type(), count, root);
}

constexpr int warm_up_calls = 6;  // the default of LIBHCOLL_SETUP_CALLS and one more

// Sums of arbitrary doubles: rounding depends on the order, so it must be one order. All ranks have the same bits, and
// so has every repetition. Returns a hash of the bits.
std::uint64_t check_same_bits(const NamedCommunicator& on, std::uint64_t seed) {
    // The first calls on a communicator run on the MPI library's algorithm; the first sum of doubles may not.
    for (int call = 0; call < warm_up_calls; ++call) {
        int value = 1;
        check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, on.comm));
    }
    std::uint64_t of_all = 0;
    for (const int count : {1, 5, 1000, 30000}) {
        Random random(mix({seed, static_cast<std::uint64_t>(on.rank), static_cast<std::uint64_t>(count)}));
        std::vector<double> send(static_cast<std::size_t>(count));
        for (double& value : send) value = 1e9 / static_cast<double>(1 + random.below(1'000'000'000)) - 3;
        std::vector<double> first;
        for (int repetition = 0; repetition < 3; ++repetition) {
            std::vector<double> result(send.size());
            check(MPI_Allreduce(send.data(), result.data(), count, MPI_DOUBLE, MPI_SUM, on.comm));
            if (repetition == 0) first = result;
            require(std::memcmp(first.data(), result.data(), result.size() * sizeof(double)) == 0,
                    "MPI_Allreduce of " + std::to_string(count) + " doubles on " + on.name +
                        ": other bits at repetition " + std::to_string(repetition));
        }
        std::uint64_t hash = 0;
        for (const double value : first) hash = mix({hash, std::bit_cast<std::uint64_t>(value)});
        std::vector<std::uint64_t> hashes(static_cast<std::size_t>(on.size));
        check(MPI_Allgather(&hash, 1, MPI_UINT64_T, hashes.data(), 1, MPI_UINT64_T, on.comm));
        for (const std::uint64_t other : hashes)
            require(other == hash, "MPI_Allreduce of " + std::to_string(count) + " doubles on " + on.name +
                                       ": ranks have different bits");
        of_all = mix({of_all, hash});
    }
    return of_all;
}

// The first run with this file writes the hash into it, later runs compare.
void compare_with_earlier_run(const std::string& file, std::uint64_t hash) {
    std::uint64_t earlier = 0;
    if (std::ifstream(file) >> earlier)
        require(earlier == hash, "MPI_Allreduce: other bits than in an earlier run with the same data");
    else
        std::ofstream(file) << hash << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "collectives");
    SweepSettings settings;
    settings.seed = program.seed();
    settings.only = program.options().text("--only", "");
    settings.segment = program.options().number("--segment", 0);
    settings.quick = program.options().flag("--quick");
    settings.one_in = program.options().number("--one-in", 1);
    settings.all_right = program.options().flag("--all-right");
    const bool brief = program.options().flag("--brief");
    const std::string bits_file = program.options().text("--bits-file", "");
    program.options().reject_rest();
    if (!bits_file.empty()) {
        const std::uint64_t hash =
            check_same_bits({"world", MPI_COMM_WORLD, program.rank(), program.size()}, program.seed());
        if (program.rank() == 0) compare_with_earlier_run(bits_file, hash);
        return program.finish("same bits");
    }

    std::uint64_t calls = 0;
    if (brief) {
        settings.quick = true;
        const UserOperations user;
        Sweep sweep(settings, {"world", MPI_COMM_WORLD, program.rank(), program.size()});
        sweep_briefly(sweep, user);
        calls = sweep.calls();
    } else {
        const std::vector<TestType> types = predefined_types(settings.all_right);
        const std::vector<Layout> layouts = derived_layouts();
        const UserOperations user;
        const CommunicatorSet communicators;
        for (const NamedCommunicator& on : communicators.list()) {
            Sweep sweep(settings, on);
            if (on.comm == MPI_COMM_WORLD) sweep_types(sweep, types);
            sweep_counts(sweep, user);
            sweep_layouts(sweep, layouts, user);
            sweep_mixed_types(sweep, layouts);
            if (sweep.wants(Collective::allreduce)) check_same_bits(on, program.seed());
            calls += sweep.calls();
        }
    }
    return program.finish(std::to_string(calls) + " calls");
}
