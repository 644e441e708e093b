// SPDX-License-Identifier: BSD-3-Clause
// A communicator on which own algorithms run is revoked by one rank while the others wait for it in a collective: they get an error, and
// what is made of it afterwards works. By an MPI library that can do it, or test/support/vendor_with_revoke.cpp.
#include "../support/program.hpp"

#include <dlfcn.h>

#include <functional>
#include <vector>

using namespace hcoll::test;

namespace {

int (*const comm_revoke)(MPI_Comm) = reinterpret_cast<int (*)(MPI_Comm)>(dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke"));
int (*const comm_shrink)(MPI_Comm,
                         MPI_Comm*) = reinterpret_cast<int (*)(MPI_Comm, MPI_Comm*)>(dlsym(RTLD_DEFAULT,
                                                                                           "MPIX_Comm_shrink"));

#if defined(MPIX_ERR_REVOKED)
constexpr int class_revoked = MPIX_ERR_REVOKED;
#else
constexpr int class_revoked = MPI_ERR_OTHER;
#endif

void use(MPI_Comm comm, const Program& program) {
    for (int round = 0; round < 5; ++round) {
        const int mine = program.rank() + round;
        int sum = -1;
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        require(sum == program.size() * (program.size() - 1) / 2 + program.size() * round, "a wrong sum");
        int message = program.rank() == 0 ? round : -1;
        check(MPI_Bcast(&message, 1, MPI_INT, 0, comm));
        require(message == round, "a wrong message");
    }
}

// In which the last rank has to wait for the first one, and all others for one of them.
std::vector<std::function<int(MPI_Comm)>> collectives() {
    static std::vector<int> mine(1 << 18);
    static std::vector<int> all(mine.size());
    const auto allreduce = [](int count) {
        return [=](MPI_Comm comm) { return MPI_Allreduce(mine.data(), all.data(), count, MPI_INT, MPI_SUM, comm); };
    };
    const auto bcast = [](int count) {
        return [=](MPI_Comm comm) { return MPI_Bcast(all.data(), count, MPI_INT, 0, comm); };
    };
    const int many = static_cast<int>(mine.size());
    return {allreduce(1), allreduce(many), bcast(1), bcast(many), [](MPI_Comm comm) { return MPI_Barrier(comm); }};
}

void require_revoked(int status) {
    int error_class = MPI_SUCCESS;
    check(MPI_Error_class(status, &error_class));
    require(error_class == class_revoked, "a revoked communicator gave error class " + std::to_string(error_class));
}

void revoke_in(const Program& program, const std::function<int(MPI_Comm)>& collective) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    use(comm, program);
    check(MPI_Barrier(MPI_COMM_WORLD));  // nobody is left in those calls
    if (program.rank() == 0)
        check(comm_revoke(comm));
    else
        require_revoked(collective(comm));
    require_revoked(collective(comm));
    MPI_Comm left = MPI_COMM_NULL;
    check(comm_shrink(comm, &left));
    use(left, program);
    check(MPI_Comm_free(&comm));
    use(left, program);
    MPI_Comm later = MPI_COMM_NULL;
    check(MPI_Comm_dup(left, &later));
    use(later, program);
    check(MPI_Comm_free(&left));
    check(MPI_Comm_free(&later));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "revoked");
    program.options().reject_rest();
    if (comm_revoke == nullptr || comm_shrink == nullptr) skip("the MPI library cannot revoke communicators");
    for (const auto& collective : collectives()) revoke_in(program, collective);
    return program.finish("revoked while others wait");
}
