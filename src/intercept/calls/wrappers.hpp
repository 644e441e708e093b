// SPDX-License-Identifier: BSD-3-Clause
// The functions that the slots of libhcoll.so jump to, one for each line of functions.def.
#pragma once

#include "progress/network/vendor.hpp"

namespace hcoll {

int wrap_Init(int* argc, char*** argv);
int wrap_Init_thread(int* argc, char*** argv, int required, int* provided);
int wrap_Finalize();
int wrap_Session_init(MPI_Info info, MPI_Errhandler handler, Session* session);
int wrap_Session_finalize(Session* session);
int wrap_Session_get_info(Session session, MPI_Info* info);
int wrap_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int wrap_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int wrap_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int wrap_Reduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm);
int wrap_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int wrap_Allreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int wrap_Barrier(MPI_Comm comm);
int wrap_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm);
int wrap_Gather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int wrap_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm);
int wrap_Scatter_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                   MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int wrap_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm);
int wrap_Allgather_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int wrap_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request);
int wrap_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request);
int wrap_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request* request);
int wrap_Ireduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                   MPI_Comm comm, MPI_Request* request);
int wrap_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request);
int wrap_Iallreduce_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                      MPI_Request* request);
int wrap_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request);
int wrap_Reduce_init(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request);
int wrap_Allreduce_init(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request* request);
int wrap_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request);
int wrap_Reduce_init_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request);
int wrap_Allreduce_init_c(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Info info, MPI_Request* request);
int wrap_Start(MPI_Request* request);
int wrap_Startall(int count, MPI_Request* requests);
int wrap_Request_free(MPI_Request* request);
int wrap_Cancel(MPI_Request* request);
int wrap_Query_thread(int* provided);
int wrap_Wait(MPI_Request* request, MPI_Status* status);
int wrap_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int wrap_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int wrap_Waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses);
int wrap_Test(MPI_Request* request, int* flag, MPI_Status* status);
int wrap_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int wrap_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int wrap_Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses);
int wrap_Request_get_status(MPI_Request request, int* flag, MPI_Status* status);
int wrap_Send(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Ssend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Rsend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status);
int wrap_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                  void* receive, int receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                  MPI_Comm comm, MPI_Status* status);
int wrap_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int destination, int send_tag, int source,
                          int receive_tag, MPI_Comm comm, MPI_Status* status);
int wrap_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
int wrap_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int wrap_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status);
int wrap_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status);
int wrap_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
// Of MPI-4, which the vendor may lack: then they are not reached (stub.c).
int wrap_Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int wrap_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int wrap_Request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                                 MPI_Status* statuses);
int wrap_Parrived(MPI_Request request, int partition, int* flag);
int wrap_Send_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Ssend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Rsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm);
int wrap_Recv_c(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Status* status);
int wrap_Sendrecv_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination, int send_tag,
                    void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                    MPI_Comm comm, MPI_Status* status);
int wrap_Sendrecv_replace_c(void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag, int source,
                            int receive_tag, MPI_Comm comm, MPI_Status* status);
int wrap_Buffer_attach(void* buffer, int size);
int wrap_Buffer_attach_c(void* buffer, MPI_Count size);
int wrap_Comm_attach_buffer(MPI_Comm comm, void* buffer, int size);
int wrap_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size);
int wrap_Session_attach_buffer(Session session, void* buffer, int size);
int wrap_Session_attach_buffer_c(Session session, void* buffer, MPI_Count size);
int wrap_Buffer_detach(void* buffer, int* size);
int wrap_Buffer_detach_c(void* buffer, MPI_Count* size);
int wrap_Buffer_flush();
int wrap_Comm_detach_buffer(MPI_Comm comm, void* buffer, int* size);
int wrap_Comm_detach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count* size);
int wrap_Comm_flush_buffer(MPI_Comm comm);
int wrap_Session_detach_buffer(Session session, void* buffer, int* size);
int wrap_Session_detach_buffer_c(Session session, void* buffer, MPI_Count* size);
int wrap_Session_flush_buffer(Session session);
int wrap_Mrecv_c(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
int wrap_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* duplicate, MPI_Request* request);
int wrap_Comm_free(MPI_Comm* comm);
int wrap_Comm_disconnect(MPI_Comm* comm);
int wrap_Comm_revoke(MPI_Comm comm);
int wrap_Comm_set_info(MPI_Comm comm, MPI_Info info);
int wrap_Comm_dup(MPI_Comm comm, MPI_Comm* made);
int wrap_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made);
int wrap_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made);
int wrap_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made);
int wrap_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made);
int wrap_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made);
int wrap_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                                MPI_Comm* made);
int wrap_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm* made);
int wrap_Intercomm_create_from_groups(MPI_Group local, int leader, MPI_Group remote, int remote_leader, const char* tag,
                                      MPI_Info info, MPI_Errhandler handler, MPI_Comm* made);
int wrap_Cart_create(MPI_Comm comm, int dimensions, const int* extents, const int* periods, int reorder,
                     MPI_Comm* made);
int wrap_Cart_sub(MPI_Comm comm, const int* remain, MPI_Comm* made);
int wrap_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made);
int wrap_Dist_graph_create(MPI_Comm comm, int nodes, const int* sources, const int* degrees, const int* destinations,
                           const int* weights, MPI_Info info, int reorder, MPI_Comm* made);
int wrap_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                                    const int* destinations, const int* destination_weights, MPI_Info info, int reorder,
                                    MPI_Comm* made);
int wrap_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made);
int wrap_Comm_spawn(const char* command, char** arguments, int processes, MPI_Info info, int root, MPI_Comm comm,
                    MPI_Comm* made, int* errors);
int wrap_Comm_spawn_multiple(int count, char** commands, char*** arguments, const int* processes, const MPI_Info* infos,
                             int root, MPI_Comm comm, MPI_Comm* made, int* errors);
int wrap_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made);
int wrap_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made);
int wrap_Comm_join(int descriptor, MPI_Comm* made);
int wrap_Comm_idup(MPI_Comm comm, MPI_Comm* duplicate, MPI_Request* request);
int wrap_Pcontrol(int level);

// For hcoll-info; see backend.h.
int describe_job(char** json_text);

}  // namespace hcoll
