// SPDX-License-Identifier: BSD-3-Clause
// Random collective calls, each done twice in the same process: by the library's own algorithms and by the MPI library
// (switched by MPI_Pcontrol), both results compared bit by bit; between them barriers, which are checked by the clock. Floating-point values are small integers, so that any
// order of reduction gives the same bits.
//
//   --calls N     how many calls (default: as many as fit in --seconds)
//   --seconds S   for how long (default 5)
//   --max-bytes B the longest message (default 200000)
//   --no-long-double   leaves out types that valgrind computes in 64 bits
// A failure is replayed by HCOLL_TEST_SEED and the same number of ranks; it comes at the same call again.
#include "../support/layouts.hpp"
#include "../support/predefined_types.hpp"
#include "../support/random_layouts.hpp"
#include "../support/vendor_defects.hpp"

#include "../support/communicator_set.hpp"

#include <hcoll/hcoll.h>
#include <cmath>

using namespace hcoll::test;

namespace {

class Oracle {
public:
    Oracle(std::uint64_t seed, std::int64_t max_bytes, bool has_long_double)
        : seed_(seed), max_bytes_(max_bytes), types_(predefined_types(false)), layouts_(derived_layouts()) {
        RandomLayouts random(seed, vendor_packs_empty_parts);
        for (int i = 0; i < 100; ++i) random_layouts_.push_back(random.next());
        if (has_long_double) return;
        std::erase_if(types_, [](const TestType& type) { return type.name.find("LONG_DOUBLE") != std::string::npos; });
    }

    // The call with this number: the same on all ranks, but for what the communicator makes different.
    [[nodiscard]] Call make(std::uint64_t number) const {
        Random random(mix({seed_, number}));
        Call call;
        const NamedCommunicator& on = communicators_.list()[random.below(communicators_.list().size())];
        call.comm = on.comm;
        call.comm_name = on.name;
        call.rank = on.rank;
        call.size = on.size;
        call.collective = random.chance(8) ? Collective::barrier : static_cast<Collective>(random.below(3));
        pick_type(call, random);
        const double magnitude = static_cast<double>(random.below(1000)) / 1000;
        const double bytes = std::pow(static_cast<double>(max_bytes_), magnitude);
        call.count = static_cast<std::int64_t>(bytes) / std::max<std::int64_t>(call.type->extent, 1);
        // Drawn from the whole range first: the sizes of communicators differ between the halves of a split.
        call.root = static_cast<int>(random.next() % 1'000'003 % static_cast<std::uint64_t>(call.size));
        call.in_place = random.chance(3);
        call.null_buffers = random.chance(2);
        call.large_variant = random.chance(5);
        call.seed = random.next();
        return call;
    }

private:
    void pick_type(Call& call, Random& random) const {
        if (call.collective == Collective::bcast && random.chance(2)) {
            call.type = &random_layouts_[random.below(random_layouts_.size())].type();
        } else if (random.chance(4)) {
            call.type = &layouts_[random.below(layouts_.size())].type();
            call.operation = random.chance(2) ? user_.sum() : user_.affine();
        } else {
            const auto first = random.below(types_.size());
            for (std::size_t i = first;; ++i) {
                call.type = &types_[i % types_.size()];
                if (call.collective == Collective::bcast || !call.type->ops.empty()) break;
            }
            if (!call.type->ops.empty())
                call.operation = predefined_operation(call.type->ops[random.below(call.type->ops.size())]);
        }
        if (call.collective == Collective::bcast) call.operation = {};
    }

    std::uint64_t seed_;
    std::int64_t max_bytes_;
    std::vector<TestType> types_;
    std::vector<Layout> layouts_;
    std::vector<Layout> random_layouts_;  // for broadcasts
    UserOperations user_;
    CommunicatorSet communicators_;
};

void compare(const Call& call, std::uint64_t number) {
    if (call.collective == Collective::barrier) return run_checked(call);
    Buffers own = make_buffers(call);
    Buffers vendor = own;
    const int own_code = execute(call, own);
    check(MPI_Pcontrol(HCOLL_PCONTROL_VENDOR));
    const int vendor_code = execute(call, vendor);
    check(MPI_Pcontrol(HCOLL_PCONTROL_OWN));
    const std::string which = "call " + std::to_string(number) + ": " + describe(call) + ": ";
    if (own_code != vendor_code)
        fail(which + "returned '" + error_text(own_code) + "', the MPI library '" + error_text(vendor_code) + "'");
    if (const auto difference = own.send.difference(vendor.send))
        fail(which + "the send buffer changed (expected: as after the MPI library): " + *difference);
    if (const auto difference = own.receive.difference(vendor.receive))
        fail(which + "other than the MPI library: " + *difference);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "random_oracle");
    const std::int64_t calls = program.options().number("--calls", 0);
    const auto seconds = static_cast<double>(program.options().number("--seconds", 5));
    const std::int64_t max_bytes = program.options().number("--max-bytes", 200'000);
    const bool has_long_double = !program.options().flag("--no-long-double");
    program.options().reject_rest();

    std::uint64_t number = 0;
    {
        const Oracle oracle(program.seed(), max_bytes, has_long_double);
        const double start = program.seconds();
        for (int running = 1; running != 0; ++number) {
            const Call call = oracle.make(number);
            if (!vendor_fails(call)) compare(call, number);
            if (calls > 0) {
                running = number + 1 < static_cast<std::uint64_t>(calls) ? 1 : 0;
            } else if (number % 50 == 49) {
                running = program.seconds() - start < seconds ? 1 : 0;
                check(MPI_Bcast(&running, 1, MPI_INT, 0, MPI_COMM_WORLD));
            }
        }
    }
    return program.finish(std::to_string(number) + " calls compared");
}
