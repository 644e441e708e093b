// The functions that the slots of libhcoll.so jump to, one for each line of functions.def.
#pragma once

#include "intercept/backend.h"
#include "progress/vendor.hpp"

namespace hcoll {

int wrap_Init(int* argc, char*** argv) noexcept;
int wrap_Init_thread(int* argc, char*** argv, int required, int* provided) noexcept;
int wrap_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) noexcept;
int wrap_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) noexcept;
int wrap_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm) noexcept;
int wrap_Reduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm) noexcept;
int wrap_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) noexcept;
int wrap_Allreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) noexcept;
int wrap_Barrier(MPI_Comm comm) noexcept;
int wrap_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept;
int wrap_Gather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept;
int wrap_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept;
int wrap_Scatter_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                   MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) noexcept;
int wrap_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm) noexcept;
int wrap_Allgather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) noexcept;
int wrap_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) noexcept;
int wrap_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                  MPI_Request* request) noexcept;
int wrap_Comm_free(MPI_Comm* comm) noexcept;
int wrap_Comm_disconnect(MPI_Comm* comm) noexcept;
int wrap_Pcontrol(int level) noexcept;

// For hcoll-info; see backend.h.
int describe_job(char** json_text);

}  // namespace hcoll
