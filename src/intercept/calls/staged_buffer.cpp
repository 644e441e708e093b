// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/staged_buffer.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "intercept/process/log.hpp"
#include "intercept/types/datatype.hpp"

namespace hcoll {

namespace {

// From one rank, and once: whoever has this once has it in every call.
int refused(const char* what) {
    static std::atomic<bool> has_said{false};
    if (!has_said.exchange(true))
        log_line(LogLevel::error, std::string("the GPU's runtime does not ") + what +
                                      " a buffer; LIBHCOLL_GPU=off has none asked about buffers");
    return MPI_ERR_OTHER;
}

}  // namespace

int StagedBuffer::take(const void* buffer, std::uint64_t count, MPI_Datatype type, Use use) {
    if (!DeviceMemory::may_be_any() || buffer == MPI_IN_PLACE || count == 0 || type_size(type) == 0) return MPI_SUCCESS;
    Extent extent;
    if (const int status = get_extent(type, extent); status != MPI_SUCCESS) return status;
    const std::ptrdiff_t to_last = static_cast<std::ptrdiff_t>(count - 1) * extent.extent;
    lowest_ = extent.true_lower_bound + std::min<std::ptrdiff_t>(to_last, 0);
    bytes_ = static_cast<std::size_t>(extent.true_extent + std::max(to_last, -to_last));
    device_ = static_cast<std::byte*>(const_cast<void*>(buffer)) + lowest_;
    if (!DeviceMemory::holds(device_)) return MPI_SUCCESS;
    use_ = use == Use::written && !is_contiguous(type) ? Use::changed : use;
    memory_.reset(new (std::nothrow) std::byte[bytes_]);
    return is_staged() ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int StagedBuffer::copy_in() {
    is_used_ = true;
    if (!is_staged() || use_ == Use::written) return MPI_SUCCESS;
    return DeviceMemory::copy(memory_.get(), device_, bytes_) ? MPI_SUCCESS : refused("read");
}

int StagedBuffer::copy_out() {
    is_used_ = false;
    if (!is_staged() || use_ == Use::read) return MPI_SUCCESS;
    return DeviceMemory::copy(device_, memory_.get(), bytes_) ? MPI_SUCCESS : refused("write");
}

int StagedBuffers::take(void*& buffer, std::uint64_t count, MPI_Datatype type, StagedBuffer::Use use) {
    const int status = receive_.take(buffer, count, type, use);
    buffer = receive_.instead_of(buffer);
    return status;
}

// A shorter message leaves the end of the buffer as it is.
int StagedBuffers::take(void*& buffer, std::uint64_t count, MPI_Datatype type, bool is_root) {
    return take(buffer, count, type, is_root ? StagedBuffer::Use::read : StagedBuffer::Use::changed);
}

int StagedBuffers::take(Reduction& reduction, bool has_output) {
    using Use = StagedBuffer::Use;
    const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
    int status = send_.take(reduction.send_buffer, reduction.count, reduction.type, Use::read);
    if (status == MPI_SUCCESS && has_output)
        status = receive_.take(reduction.receive_buffer, reduction.count, reduction.type,
                               in_place ? Use::changed : Use::written);
    reduction.send_buffer = send_.instead_of(reduction.send_buffer);
    reduction.receive_buffer = receive_.instead_of(reduction.receive_buffer);
    return status;
}

int StagedBuffers::take(BlockArguments& blocks, Collective collective, int rank, int ranks) {
    using Use = StagedBuffer::Use;
    const bool is_scatter = collective == Collective::scatter;
    const bool has_all = collective == Collective::allgather || rank == blocks.root;
    const bool in_place = has_all && (is_scatter ? blocks.receive : blocks.send) == MPI_IN_PLACE;
    const auto of_all = static_cast<std::uint64_t>(ranks);
    int status = MPI_SUCCESS;
    if (is_scatter ? has_all : !in_place)
        status = send_.take(blocks.send, (is_scatter ? of_all : 1) * blocks.send_count, blocks.send_type, Use::read);
    if (status == MPI_SUCCESS && (is_scatter ? !in_place : has_all))
        status = receive_.take(blocks.receive, (is_scatter ? 1 : of_all) * blocks.receive_count, blocks.receive_type,
                               in_place ? Use::changed : Use::written);
    blocks.send = send_.instead_of(blocks.send);
    blocks.receive = receive_.instead_of(blocks.receive);
    return status;
}

int StagedBuffers::copy_in() {
    const int sent = send_.copy_in();
    const int received = receive_.copy_in();
    return sent != MPI_SUCCESS ? sent : received;
}

int StagedBuffers::copy_out() {
    (void)send_.copy_out();  // which is only read
    return receive_.copy_out();
}

}  // namespace hcoll
