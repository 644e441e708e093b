// SPDX-License-Identifier: BSD-3-Clause
// One collective again and again, for test/cluster/test_bytes.py, which counts what goes through the nodes' interfaces.
//
//   --collective bcast|reduce|allreduce   --bytes BYTES   --calls N
#include "../support/program.hpp"

#include <vector>

using namespace hcoll::test;

int main(int argc, char** argv) {
    Program program(argc, argv, "repeat");
    const std::string collective = program.options().text("--collective", "bcast");
    const auto count = static_cast<int>(program.options().number("--bytes", 0) / static_cast<int>(sizeof(double)));
    const std::int64_t calls = program.options().number("--calls", 1);
    program.options().reject_rest();
    const std::vector<double> input(static_cast<std::size_t>(count), program.rank() + 1.0);
    std::vector<double> output(input.size());
    double expected = program.size() * (program.size() + 1) / 2.0;
    check(MPI_Barrier(MPI_COMM_WORLD));  // where the library takes the communicator over
    for (std::int64_t call = 0; call < calls; ++call) {
        bool has_result = true;
        if (collective == "bcast") {
            output.assign(input.size(), program.rank() == 0 ? static_cast<double>(call) : -1.0);
            expected = static_cast<double>(call);
            check(MPI_Bcast(output.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        } else if (collective == "reduce") {
            has_result = program.rank() == 0;
            check(MPI_Reduce(input.data(), output.data(), count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
        } else {
            require(collective == "allreduce", "there is no collective " + collective);
            check(MPI_Allreduce(input.data(), output.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        }
        if (has_result)
            for (const double value : output) require(value == expected, collective + ": a wrong result");
    }
    return program.finish(collective);
}
