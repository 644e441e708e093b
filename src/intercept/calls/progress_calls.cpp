// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the calls that wait for requests and messages. While something of this library is in flight, they move it.
//
// With nothing in flight, a load and a comparison. Otherwise MPI_Wait, MPI_Waitall and calls that ask move what is in flight in
// between, whatever else moves it: what they wait for may be just that. Others are taken apart only where nothing else would
// move it (Background::calls_must_move). MPI_Waitall is never made of MPI_Testall (wait_for_all.cpp), nor, if it can be helped, MPI_Waitany of
// MPI_Testany: in MPICH 4.0 those fail for its own persistent collectives.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <new>
#include <vector>

#include "intercept/calls/onward.hpp"
#include "intercept/calls/wait_for_all.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

namespace {

// For a call that asks: moves once what is in flight.
inline void help_once() {
    if (Background::may_be_in_flight()) [[unlikely]]
        Background::get().in_flight().drive();
}

// The status of a receive from nobody (MPI 4.0, section 3.11), which MPICH's non-blocking one does not give.
void note_nobody(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    mpi.Status_set_elements(status, MPI_BYTE, 0);
    mpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = MPI_ANY_TAG;
}

// A receive that its call has posted. What cannot be sent must leave no receive behind, whether it returns an error or the
// application's error handler throws.
class PostedReceive {
public:
    PostedReceive() = default;
    ~PostedReceive() {
        if (request == MPI_REQUEST_NULL || mpi.Cancel(&request) != MPI_SUCCESS) return;
        mpi.Wait(&request, MPI_STATUS_IGNORE);
    }
    PostedReceive(const PostedReceive&) = delete;
    PostedReceive& operator=(const PostedReceive&) = delete;

    MPI_Request request = MPI_REQUEST_NULL;
};

// Both ends of an exchange, which are begun.
int finish_both(MPI_Request& sending, PostedReceive& receiving, int source, MPI_Status* status, MPI_Comm comm) {
    const bool tells = must_tell(comm);
    const int sent = finish(sending, MPI_STATUS_IGNORE, tells);
    const int received = finish(receiving.request, status, tells);
    if (received == MPI_SUCCESS && source == MPI_PROC_NULL) note_nobody(status);
    const int result = sent != MPI_SUCCESS ? sent : received;
    if (tells && result != MPI_SUCCESS) mpi.Comm_call_errhandler(comm, result);
    return result;
}

// A message is received before the one that is sent has left, where they are the same memory: so that is a copy.
int sendrecv_replace(void* buffer, int count, MPI_Datatype type, int destination, int send_tag, int source,
                     int receive_tag, MPI_Comm comm, MPI_Status* status) {
    int bytes = 0;
    int result = mpi.Pack_size(count, type, comm, &bytes);
    if (result != MPI_SUCCESS) return result;
    const auto pass_on = [&] {
        return onward.Sendrecv_replace(buffer, count, type, destination, send_tag, source, receive_tag, comm, status);
    };
    // Of more than an int counts, some MPI libraries say that it is less than nothing, and others that it is little.
    if (bytes < 0 || static_cast<std::uint64_t>(count) * type_size(type) > INT_MAX) return pass_on();
    std::vector<std::byte> copy;
    int packed = 0;
    try {
        // Open MPI's MPI_Pack takes no null pointer to pack to, and MPICH's none to pack from, which an absolute type has.
        copy.resize(static_cast<std::size_t>(std::max(bytes, 1)));
        if (buffer == nullptr && count > 0 && may_have_null_buffer(type)) {
            packed = count * static_cast<int>(type_size(type));
            copy.resize(std::max(copy.size(), static_cast<std::size_t>(packed)));
            result = pack(buffer, static_cast<std::uint64_t>(count), type, copy.data(), comm);
        } else {
            result = mpi.Pack(buffer, count, type, copy.data(), bytes, &packed, comm);
        }
    } catch (const std::bad_alloc&) {
        return pass_on();
    }
    if (result != MPI_SUCCESS) return result;
    PostedReceive receiving;
    MPI_Request sending = MPI_REQUEST_NULL;
    result = mpi.Irecv(buffer, count, type, source, receive_tag, comm, &receiving.request);
    if (result != MPI_SUCCESS) return result;
    result = mpi.Isend(copy.data(), packed, MPI_PACKED, destination, send_tag, comm, &sending);
    return result != MPI_SUCCESS ? result : finish_both(sending, receiving, source, status, comm);
}

// Such a receive is over at once; MPICH gives it the status of one from nobody where it is a blocking one only.
bool is_from_nobody(const MPI_Message* message) { return message != nullptr && *message == MPI_MESSAGE_NO_PROC; }

// Has the program attached a buffer that the MPI library makes (MPI 4.1, section 3.6)? Of its messages MPICH (4.2 to 5.0) says that they have left
// when it is asked first, whether they have or not.
std::atomic<bool> has_automatic_buffers{false};

void note_attached(const void* buffer) {
#if defined(MPI_BUFFER_AUTOMATIC)
    const void* const automatic = MPI_BUFFER_AUTOMATIC;
#else
    const void* const automatic = reinterpret_cast<const void*>(std::intptr_t{-2});  // MPICH's
#endif
    if (buffer == automatic) has_automatic_buffers = true;
}

// `blocking` waits until the messages of a buffer have left. Where the vendor can be asked for that (MPI 4.1, section 3.6), they leave before it is
// called. Open MPI's calls all move what is in flight anyway, and its 6.0.0rc2 waits in the call that asks.
template <typename Ask, typename Blocking, typename... Owner>
int after_buffered(Ask* ask, Blocking&& blocking, Owner... owner) {
    if (Background::calls_must_move() && ask != nullptr && !vendor_is_openmpi() && !has_automatic_buffers)
        [[unlikely]] {
        const int status = begin_and_finish(MPI_STATUS_IGNORE, MPI_COMM_NULL,
                                            [&](MPI_Request* request) { return ask(owner..., request); });
        if (status != MPI_SUCCESS) return status;
    }
    return blocking();
}

}  // namespace

int wrap_Wait(MPI_Request* request, MPI_Status* status) {
    if (!Background::may_be_in_flight()) [[likely]]
        return onward.Wait(request, status);
    return help_until([&](int& done) { return mpi.Test(request, &done, status); },
                      [&] { return onward.Wait(request, status); });
}

int wrap_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    const bool is_openmpi = Process::vendor_kind() == VendorKind::openmpi;
    // With MPI_THREAD_MULTIPLE, Open MPI's waits for ever where one of them has failed, and the level is this library's doing.
    if (is_openmpi && (Background::may_be_in_flight() || Background::get().told_level() >= 0)) {
        int status = MPI_SUCCESS;
        for (int done = 0; status == MPI_SUCCESS && done == 0;) {
            help_once();
            status = mpi.Testall(count, requests, &done, statuses);
        }
        return status;
    }
    if (!Background::may_be_in_flight() || count <= 0 || requests == nullptr) [[likely]]
        return onward.Waitall(count, requests, statuses);
    return wait_for_all(count, requests, statuses);
}

int wrap_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Waitany(count, requests, index, status);
    return help_until([&](int& done) { return mpi.Testany(count, requests, index, &done, status); },
                      [&] { return onward.Waitany(count, requests, index, status); });
}

int wrap_Waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Waitsome(count, requests, completed, indices, statuses);
    return help_until(
        [&](int& done) {
            const int status = mpi.Testsome(count, requests, completed, indices, statuses);
            done = status != MPI_SUCCESS || *completed != 0 ? 1 : 0;
            return status;
        },
        [&] { return onward.Waitsome(count, requests, completed, indices, statuses); });
}

int wrap_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    help_once();
    return onward.Test(request, flag, status);
}

int wrap_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    help_once();
    return onward.Testall(count, requests, flag, statuses);
}

int wrap_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    help_once();
    return onward.Testany(count, requests, index, flag, status);
}

int wrap_Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    help_once();
    return onward.Testsome(count, requests, completed, indices, statuses);
}

int wrap_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    help_once();
    return onward.Request_get_status(request, flag, status);
}

// Asks for a part of a partitioned receive.
int wrap_Parrived(MPI_Request request, int partition, int* flag) {
    help_once();
    return onward.Parrived(request, partition, flag);
}

int wrap_Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
    help_once();
    return onward.Request_get_status_all(count, requests, flag, statuses);
}

int wrap_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    help_once();
    return onward.Request_get_status_any(count, requests, index, flag, status);
}

int wrap_Request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                                 MPI_Status* statuses) {
    help_once();
    return onward.Request_get_status_some(count, requests, completed, indices, statuses);
}

int wrap_Send(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Isend(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Send(buffer, count, type, destination, tag, comm); });
}

int wrap_Ssend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Issend(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Ssend(buffer, count, type, destination, tag, comm); });
}

int wrap_Rsend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Irsend(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Rsend(buffer, count, type, destination, tag, comm); });
}

int wrap_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
    if (source == MPI_PROC_NULL) return onward.Recv(buffer, count, type, source, tag, comm, status);
    return apart(
        status, comm, [&](MPI_Request* request) { return mpi.Irecv(buffer, count, type, source, tag, comm, request); },
        [&] { return onward.Recv(buffer, count, type, source, tag, comm, status); });
}

int wrap_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                  void* receive, int receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                  MPI_Comm comm, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Sendrecv(send, send_count, send_type, destination, send_tag, receive, receive_count, receive_type,
                               source, receive_tag, comm, status);
    PostedReceive receiving;
    MPI_Request sending = MPI_REQUEST_NULL;
    int result = mpi.Irecv(receive, receive_count, receive_type, source, receive_tag, comm, &receiving.request);
    if (result != MPI_SUCCESS) return result;
    result = mpi.Isend(send, send_count, send_type, destination, send_tag, comm, &sending);
    return result != MPI_SUCCESS ? result : finish_both(sending, receiving, source, status, comm);
}

int wrap_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int destination, int send_tag, int source,
                          int receive_tag, MPI_Comm comm, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Sendrecv_replace(buffer, count, type, destination, send_tag, source, receive_tag, comm, status);
    return sendrecv_replace(buffer, count, type, destination, send_tag, source, receive_tag, comm, status);
}

int wrap_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Probe(source, tag, comm, status);
    return help_until([&](int& done) { return mpi.Iprobe(source, tag, comm, &done, status); },
                      [&] { return onward.Probe(source, tag, comm, status); });
}

int wrap_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    help_once();
    return onward.Iprobe(source, tag, comm, flag, status);
}

int wrap_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Mprobe(source, tag, comm, message, status);
    return help_until([&](int& done) { return mpi.Improbe(source, tag, comm, &done, message, status); },
                      [&] { return onward.Mprobe(source, tag, comm, message, status); });
}

int wrap_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
    help_once();
    return onward.Improbe(source, tag, comm, flag, message, status);
}

int wrap_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    if (is_from_nobody(message)) return onward.Mrecv(buffer, count, type, message, status);
    return apart(
        status, MPI_COMM_NULL, [&](MPI_Request* request) { return mpi.Imrecv(buffer, count, type, message, request); },
        [&] { return onward.Mrecv(buffer, count, type, message, status); });
}

// ---- messages of MPI_Bsend -----------------------------------------------------------------------------------------------

int wrap_Buffer_attach(void* buffer, int size) {
    note_attached(buffer);
    return onward.Buffer_attach(buffer, size);
}

int wrap_Buffer_attach_c(void* buffer, MPI_Count size) {
    note_attached(buffer);
    return onward.Buffer_attach_c(buffer, size);
}

int wrap_Comm_attach_buffer(MPI_Comm comm, void* buffer, int size) {
    note_attached(buffer);
    return onward.Comm_attach_buffer(comm, buffer, size);
}

int wrap_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size) {
    note_attached(buffer);
    return onward.Comm_attach_buffer_c(comm, buffer, size);
}

int wrap_Session_attach_buffer(Session session, void* buffer, int size) {
    note_attached(buffer);
    return onward.Session_attach_buffer(session, buffer, size);
}

int wrap_Session_attach_buffer_c(Session session, void* buffer, MPI_Count size) {
    note_attached(buffer);
    return onward.Session_attach_buffer_c(session, buffer, size);
}

int wrap_Buffer_detach(void* buffer, int* size) {
    return after_buffered(mpi.Buffer_iflush, [&] { return onward.Buffer_detach(buffer, size); });
}

int wrap_Buffer_detach_c(void* buffer, MPI_Count* size) {
    return after_buffered(mpi.Buffer_iflush, [&] { return onward.Buffer_detach_c(buffer, size); });
}

int wrap_Buffer_flush() {
    return after_buffered(mpi.Buffer_iflush, [] { return onward.Buffer_flush(); });
}

int wrap_Comm_detach_buffer(MPI_Comm comm, void* buffer, int* size) {
    return after_buffered(
        mpi.Comm_iflush_buffer, [&] { return onward.Comm_detach_buffer(comm, buffer, size); }, comm);
}

int wrap_Comm_detach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count* size) {
    return after_buffered(
        mpi.Comm_iflush_buffer, [&] { return onward.Comm_detach_buffer_c(comm, buffer, size); }, comm);
}

int wrap_Comm_flush_buffer(MPI_Comm comm) {
    return after_buffered(
        mpi.Comm_iflush_buffer, [&] { return onward.Comm_flush_buffer(comm); }, comm);
}

int wrap_Session_detach_buffer(Session session, void* buffer, int* size) {
    return after_buffered(
        mpi.Session_iflush_buffer, [&] { return onward.Session_detach_buffer(session, buffer, size); }, session);
}

int wrap_Session_detach_buffer_c(Session session, void* buffer, MPI_Count* size) {
    return after_buffered(
        mpi.Session_iflush_buffer, [&] { return onward.Session_detach_buffer_c(session, buffer, size); }, session);
}

int wrap_Session_flush_buffer(Session session) {
    return after_buffered(
        mpi.Session_iflush_buffer, [&] { return onward.Session_flush_buffer(session); }, session);
}

// ---- large counts: a vendor that has these calls has those that only begin, too ------------------------------------------

int wrap_Send_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Isend_c(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Send_c(buffer, count, type, destination, tag, comm); });
}

int wrap_Ssend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Issend_c(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Ssend_c(buffer, count, type, destination, tag, comm); });
}

int wrap_Rsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    return apart(
        MPI_STATUS_IGNORE, comm,
        [&](MPI_Request* request) { return mpi.Irsend_c(buffer, count, type, destination, tag, comm, request); },
        [&] { return onward.Rsend_c(buffer, count, type, destination, tag, comm); });
}

int wrap_Recv_c(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Status* status) {
    if (source == MPI_PROC_NULL) return onward.Recv_c(buffer, count, type, source, tag, comm, status);
    return apart(
        status, comm,
        [&](MPI_Request* request) { return mpi.Irecv_c(buffer, count, type, source, tag, comm, request); },
        [&] { return onward.Recv_c(buffer, count, type, source, tag, comm, status); });
}

int wrap_Sendrecv_c(const void* send, MPI_Count send_count, MPI_Datatype send_type, int destination, int send_tag,
                    void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                    MPI_Comm comm, MPI_Status* status) {
    if (!Background::calls_must_move()) [[likely]]
        return onward.Sendrecv_c(send, send_count, send_type, destination, send_tag, receive, receive_count,
                                 receive_type, source, receive_tag, comm, status);
    PostedReceive receiving;
    MPI_Request sending = MPI_REQUEST_NULL;
    int result = mpi.Irecv_c(receive, receive_count, receive_type, source, receive_tag, comm, &receiving.request);
    if (result != MPI_SUCCESS) return result;
    result = mpi.Isend_c(send, send_count, send_type, destination, send_tag, comm, &sending);
    return result != MPI_SUCCESS ? result : finish_both(sending, receiving, source, status, comm);
}

int wrap_Sendrecv_replace_c(void* buffer, MPI_Count count, MPI_Datatype type, int destination, int send_tag, int source,
                            int receive_tag, MPI_Comm comm, MPI_Status* status) {
    // What is packed is counted in an int.
    if (!Background::calls_must_move() || count < 0 || count > INT_MAX) [[likely]]
        return onward.Sendrecv_replace_c(buffer, count, type, destination, send_tag, source, receive_tag, comm, status);
    return sendrecv_replace(buffer, static_cast<int>(count), type, destination, send_tag, source, receive_tag, comm,
                            status);
}

int wrap_Mrecv_c(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    if (is_from_nobody(message)) return onward.Mrecv_c(buffer, count, type, message, status);
    return apart(
        status, MPI_COMM_NULL,
        [&](MPI_Request* request) { return mpi.Imrecv_c(buffer, count, type, message, request); },
        [&] { return onward.Mrecv_c(buffer, count, type, message, status); });
}

}  // namespace hcoll
