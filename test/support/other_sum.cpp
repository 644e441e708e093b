// Preloaded behind the library: an MPI library whose sums of MPI_INT by non-blocking collectives are maxima, as seen from the library, which finds the vendor by
// PMPI_Get_library_version. So the library's own sums are "wrong", which LIBHCOLL_VERIFY has to find.
#include <mpi.h>

#include <dlfcn.h>

#include <cstdlib>

namespace {

template <typename Function>
Function* next(Function*, const char* name) {
    auto* found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    if (found == nullptr) std::abort();
    return found;
}
#define NEXT(name) next(&name, #name)

MPI_Op other(MPI_Op op, MPI_Datatype type) { return op == MPI_SUM && type == MPI_INT ? MPI_MAX : op; }

}  // namespace

extern "C" {

int PMPI_Get_library_version(char* version, int* length) { return NEXT(PMPI_Get_library_version)(version, length); }

int PMPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
    return NEXT(PMPI_Iallreduce)(send, receive, count, type, other(op, type), comm, request);
}

int PMPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request* request) {
    return NEXT(PMPI_Ireduce)(send, receive, count, type, other(op, type), root, comm, request);
}
}
