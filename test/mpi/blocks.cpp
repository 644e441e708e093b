// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gather, MPI_Scatter and MPI_Allgather over communicators, types (also other ones on each side and rank), roots and counts, in
// place and not: every rank's buffers, with all that lies around them, compared with what they must hold.
//
//   --quick   fewer counts and roots
//   --brief   the same, on MPI_COMM_WORLD alone: a second
//   --vendor  no random types: by the MPI library's own calls, MPICH 4.0.2's MPI_Scatter and MPI_Gather of long items of some of them end
//             with MPI_ERR_TRUNCATE
#include "../support/communicator_set.hpp"
#include "../support/guarded_buffer.hpp"
#include "../support/layouts.hpp"
#include "../support/predefined_types.hpp"
#include "../support/random.hpp"
#include "../support/random_layouts.hpp"

using namespace hcoll::test;

namespace {

enum class Kind { gather, scatter, allgather };
constexpr const char* kind_names[] = {"MPI_Gather", "MPI_Scatter", "MPI_Allgather"};

struct Side {
    const TestType* type = nullptr;
    std::int64_t count = 0;  // of one block
};

struct Call {
    Kind kind = Kind::gather;
    const NamedCommunicator* on = nullptr;
    Side send;
    Side receive;
    int root = 0;
    bool in_place = false;
    bool odd = false;            // what is not significant on this rank is nothing that MPI could use
    bool large_variant = false;  // the MPI_Count interface, where the MPI library has it
    std::uint64_t seed = 0;

    [[nodiscard]] bool is_root() const { return on->rank == root; }
    [[nodiscard]] bool has_all() const { return kind == Kind::allgather || is_root(); }
    [[nodiscard]] bool is_in_place() const { return in_place && has_all(); }
    [[nodiscard]] bool sends() const { return kind == Kind::scatter ? has_all() : !is_in_place(); }
    [[nodiscard]] bool receives() const { return kind == Kind::scatter ? !is_in_place() : has_all(); }
    [[nodiscard]] std::int64_t sent_blocks() const { return !sends() ? 0 : kind == Kind::scatter ? on->size : 1; }
    [[nodiscard]] std::int64_t received_blocks() const {
        return !receives() ? 0 : kind == Kind::scatter ? 1 : on->size;
    }
};

std::string describe(const Call& call) {
    return std::string(kind_names[static_cast<int>(call.kind)]) + (call.large_variant ? "_c" : "") + " on " +
           call.on->name + " (rank " + std::to_string(call.on->rank) + " of " + std::to_string(call.on->size) + "), " +
           std::to_string(call.send.count) + " x " + call.send.type->name + " to " +
           std::to_string(call.receive.count) + " x " + call.receive.type->name + (call.in_place ? ", in place" : "") +
           ", root " + std::to_string(call.root);
}

// Block `number` of the message, at position `place` of the buffer. The same values whatever type describes them.
void fill_block(const Call& call, const Side& side, std::int64_t number, std::int64_t place, GuardedBuffer& buffer) {
    Random random(mix({call.seed, static_cast<std::uint64_t>(number)}));
    const Draw how = side.type->draws(Op::none, static_cast<int>(number));
    for (std::int64_t i = 0; i < side.count; ++i) side.type->fill(buffer.item(place * side.count + i), how, random);
}

int execute(const Call& call, GuardedBuffer& send, GuardedBuffer& receive) {
    const void* from = call.odd && (!call.sends() || call.send.count == 0) ? nullptr : send.data();
    void* to = call.odd && (!call.receives() || call.receive.count == 0) ? nullptr : receive.data();
    if (call.is_in_place()) (call.kind == Kind::scatter ? to : const_cast<void*&>(from)) = MPI_IN_PLACE;
    const bool odd_send = call.odd && !call.sends();
    const bool odd_receive = call.odd && !call.receives();
    const std::int64_t send_count = odd_send ? -1 : call.send.count;
    const std::int64_t receive_count = odd_receive ? -1 : call.receive.count;
    const MPI_Datatype send_type = odd_send ? MPI_DATATYPE_NULL : call.send.type->handle;
    const MPI_Datatype receive_type = odd_receive ? MPI_DATATYPE_NULL : call.receive.type->handle;
#if MPI_VERSION >= 4
    if (call.large_variant) {
        switch (call.kind) {
            case Kind::gather:
                return MPI_Gather_c(from, send_count, send_type, to, receive_count, receive_type, call.root,
                                    call.on->comm);
            case Kind::scatter:
                return MPI_Scatter_c(from, send_count, send_type, to, receive_count, receive_type, call.root,
                                     call.on->comm);
            case Kind::allgather:
                return MPI_Allgather_c(from, send_count, send_type, to, receive_count, receive_type, call.on->comm);
        }
    }
#endif
    const int sent = static_cast<int>(send_count);
    const int received = static_cast<int>(receive_count);
    switch (call.kind) {
        case Kind::gather:
            return MPI_Gather(from, sent, send_type, to, received, receive_type, call.root, call.on->comm);
        case Kind::scatter:
            return MPI_Scatter(from, sent, send_type, to, received, receive_type, call.root, call.on->comm);
        default: return MPI_Allgather(from, sent, send_type, to, received, receive_type, call.on->comm);
    }
}

void run_checked(const Call& call) {
    const bool is_scatter = call.kind == Kind::scatter;
    // In place the block is among those of all ranks, so that is what the memory holds.
    const std::int64_t receive_blocks = call.is_in_place() && !is_scatter ? call.on->size : call.received_blocks();
    GuardedBuffer send(*call.send.type, call.sent_blocks() * call.send.count, call.seed);
    GuardedBuffer receive(*call.receive.type, receive_blocks * call.receive.count, call.seed + 1);
    if (call.sends())
        for (std::int64_t i = 0; i < call.sent_blocks(); ++i)
            fill_block(call, call.send, is_scatter ? i : call.on->rank, i, send);
    if (call.is_in_place() && !is_scatter) fill_block(call, call.receive, call.on->rank, call.on->rank, receive);
    const GuardedBuffer expected_send = send;
    GuardedBuffer expected = receive;
    if (call.receives())
        for (std::int64_t i = 0; i < call.received_blocks(); ++i)
            fill_block(call, call.receive, is_scatter ? call.on->rank : i, i, expected);
    const int code = execute(call, send, receive);
    if (code != MPI_SUCCESS) fail(describe(call) + ": returned " + error_text(code));
    if (const auto difference = send.difference(expected_send))
        fail(describe(call) + ": the send buffer changed: " + *difference);
    if (const auto difference = receive.difference(expected)) fail(describe(call) + ": " + *difference);
}

class Sweep {
public:
    Sweep(const NamedCommunicator& on, std::uint64_t seed, bool quick) : on_(on), seed_(seed), quick_(quick) {}

    [[nodiscard]] std::uint64_t calls() const { return calls_; }
    [[nodiscard]] const NamedCommunicator& on() const { return on_; }

    [[nodiscard]] std::vector<int> roots() const {
        if (quick_) return {static_cast<int>(calls_ % static_cast<std::uint64_t>(on_.size))};
        std::vector<int> all;
        for (int root = 0; root < on_.size; ++root) all.push_back(root);
        return all;
    }

    // All three, each in place and not.
    void all(const Side& send, const Side& receive, int root, bool may_be_in_place = true) {
        for (const Kind kind : {Kind::gather, Kind::scatter, Kind::allgather}) {
            for (const bool in_place : {false, true}) {
                if (in_place && !may_be_in_place) continue;
                ++calls_;
                const std::uint64_t seed = mix({seed_, calls_});
                run_checked({.kind = kind,
                             .on = &on_,
                             .send = send,
                             .receive = receive,
                             .root = root,
                             .in_place = in_place,
                             .odd = seed % 2 == 0,
                             .large_variant = seed % 5 == 0,
                             .seed = seed});
            }
        }
    }

private:
    const NamedCommunicator& on_;
    std::uint64_t seed_;
    bool quick_;
    std::uint64_t calls_ = 0;
};

void sweep_counts(Sweep& sweep, bool quick) {
    const TestType byte = make_predefined<char>("MPI_CHAR", MPI_CHAR, {});
    const TestType real = make_predefined<double>("MPI_DOUBLE", MPI_DOUBLE, {});
    const TestType pair = make_predefined<Pair<short, int>>("MPI_SHORT_INT", MPI_SHORT_INT, {});
    const Layout gapped = layout::gapped_struct();
    std::vector<std::int64_t> counts = {0, 1, 2, 3, 65, 1000};
    if (!quick) counts.push_back(40'000);
    for (const TestType* type : {&byte, &real, &pair, &gapped.type()})
        for (const std::int64_t count : counts)
            for (const int root : sweep.roots()) sweep.all({type, count}, {type, count}, root);
}

// One signature, in which each rank has its own datatype and count, and another one for what it receives.
void sweep_layouts(Sweep& sweep, const std::vector<Layout>& layouts) {
    const auto side = [&](std::size_t which, std::int64_t repeats) -> Side {
        const Layout& layout = layouts[which % layouts.size()];
        return {&layout.type(), repeats * words_of_every_layout / layout.words()};
    };
    for (const std::int64_t repeats : {1, 2, 100}) {
        for (std::size_t first = 0; first < layouts.size(); ++first) {
            const int root = static_cast<int>((first + static_cast<std::size_t>(repeats)) %
                                              static_cast<std::size_t>(sweep.on().size));
            sweep.all(side(first, repeats), side(first, repeats), root);
            const auto own = static_cast<std::size_t>(sweep.on().rank);
            sweep.all(side(first + own, repeats), side(first + 2 * own + 1, repeats), root, false);
        }
    }
}

// Types of any kind, of which an item may be longer than a segment, or shorter.
void sweep_random_layouts(Sweep& sweep, std::uint64_t seed) {
    constexpr int types = 30;
    RandomLayouts layouts(seed, vendor_packs_empty_parts);
    Random random(seed);
    for (int i = 0; i < types; ++i) {
        const Layout layout = layouts.next();
        const Side side{&layout.type(), random.between(1, i % 3 == 0 ? 500 : 20)};
        sweep.all(side, side, i % sweep.on().size);
    }
}

MPI_Datatype commit(MPI_Datatype type) {
    check(MPI_Type_commit(&type));
    return type;
}

MPI_Datatype at_address(const void* memory) {
    MPI_Aint address = 0;
    check(MPI_Get_address(memory, &address));
    constexpr int one = 1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type));
    MPI_Datatype wide = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(type, 0, sizeof(int), &wide));
    check(MPI_Type_free(&type));
    return commit(wide);
}

// Both sides have one origin, and their bytes lie apart from each other.
void check_common_origin(const NamedCommunicator& on) {
    const auto ranks = static_cast<std::size_t>(on.size);
    const auto expect = [&](const std::vector<int>& found, std::size_t first, std::size_t step, const char* what) {
        for (std::size_t i = 0; i < ranks; ++i)
            require(found[first + i * step] == 100 + static_cast<int>(i), std::string(what) + " on " + on.name);
    };
    for (int call = 0; call < 3; ++call) {
        // By MPI_BOTTOM.
        int own = 100 + on.rank;
        std::vector<int> all(ranks, 0);
        MPI_Datatype own_type = at_address(&own);
        MPI_Datatype all_type = at_address(all.data());
        check(MPI_Gather(MPI_BOTTOM, 1, own_type, MPI_BOTTOM, 1, all_type, 0, on.comm));
        if (on.rank == 0) expect(all, 0, 1, "MPI_Gather from and to MPI_BOTTOM");
        check(MPI_Allgather(MPI_BOTTOM, 1, own_type, MPI_BOTTOM, 1, all_type, on.comm));
        expect(all, 0, 1, "MPI_Allgather from and to MPI_BOTTOM");
        own = 0;
        check(MPI_Scatter(MPI_BOTTOM, 1, all_type, MPI_BOTTOM, 1, own_type, 0, on.comm));
        require(own == 100 + on.rank, "MPI_Scatter from and to MPI_BOTTOM");
        check(MPI_Type_free(&own_type));
        check(MPI_Type_free(&all_type));
        // Every second word, and one of those between.
        std::vector<int> words(2 * ranks, 0);
        words[0] = 100 + on.rank;
        constexpr int one = 1;
        constexpr int second = 1;
        MPI_Datatype odd_word = MPI_DATATYPE_NULL;
        MPI_Datatype every_second = MPI_DATATYPE_NULL;
        check(MPI_Type_indexed(1, &one, &second, MPI_INT, &odd_word));
        check(MPI_Type_create_resized(odd_word, 0, 2 * sizeof(int), &every_second));
        check(MPI_Type_free(&odd_word));
        every_second = commit(every_second);
        check(MPI_Gather(words.data(), 1, MPI_INT, words.data(), 1, every_second, 0, on.comm));
        if (on.rank == 0) expect(words, 1, 2, "MPI_Gather between other words");
        check(MPI_Allgather(words.data(), 1, MPI_INT, words.data(), 1, every_second, on.comm));
        expect(words, 1, 2, "MPI_Allgather between other words");
        check(MPI_Type_free(&every_second));
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "blocks");
    const bool brief = program.options().flag("--brief");
    const bool quick = program.options().flag("--quick") || brief;
    const bool vendor = program.options().flag("--vendor");
    program.options().reject_rest();
    std::uint64_t calls = 0;
    {
        const std::vector<Layout> layouts = derived_layouts();
        const CommunicatorSet communicators;
        for (const NamedCommunicator& on : communicators.list()) {
            if (brief && on.comm != MPI_COMM_WORLD) continue;
            Sweep sweep(on, program.seed(), quick);
            sweep_counts(sweep, quick);
            sweep_layouts(sweep, layouts);
            if (!vendor) sweep_random_layouts(sweep, program.seed());
            check_common_origin(on);
            calls += sweep.calls();
        }
    }
    return program.finish(std::to_string(calls) + " calls");
}
