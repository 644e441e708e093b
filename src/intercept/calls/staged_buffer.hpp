// SPDX-License-Identifier: BSD-3-Clause
// A buffer of the application in a GPU's memory, and the host's memory that stands for it while a collective runs here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "intercept/calls/own_run.hpp"
#include "intercept/process/device_memory.hpp"

namespace hcoll {

// Between its elements nothing is changed: where they have gaps, or may not all be written, all is copied in before it is copied out.
class StagedBuffer {
public:
    enum class Use : std::uint8_t { read, written, changed };

    StagedBuffer() = default;
    // What a run that did not come to its end was to use may yet be read by the MPI library: it is not freed.
    ~StagedBuffer() {
        if (is_used_) (void)memory_.release();
    }
    StagedBuffer(const StagedBuffer&) = delete;
    StagedBuffer& operator=(const StagedBuffer&) = delete;

    // Of `count` elements at `buffer`: takes memory, where they are a device's. Returns an MPI error code.
    int take(const void* buffer, std::uint64_t count, MPI_Datatype type, Use use);
    bool is_staged() const { return memory_ != nullptr; }
    // What is to be used in place of `buffer`.
    template <typename Pointer>
    Pointer instead_of(Pointer buffer) const {
        return is_staged() ? static_cast<Pointer>(memory_.get() - lowest_) : buffer;
    }
    // Before a run, and after one that went well. Each returns an MPI error code.
    int copy_in();
    int copy_out();

private:
    std::unique_ptr<std::byte[]> memory_;
    std::byte* device_ = nullptr;  // where its lowest byte is
    std::ptrdiff_t lowest_ = 0;    // of the elements, from the buffer's address on
    std::size_t bytes_ = 0;
    Use use_ = Use::read;
    bool is_used_ = false;
};

// The buffers of a collective that are significant on this rank.
class StagedBuffers {
public:
    // Each puts the host's memory in the place of what is a device's, and returns an MPI error code.
    int take(void*& buffer, std::uint64_t count, MPI_Datatype type, StagedBuffer::Use use);
    int take(void*& buffer, std::uint64_t count, MPI_Datatype type, bool is_root);  // of a Bcast of any length
    int take(Reduction& reduction, bool has_output);
    int take(BlockArguments& blocks, Collective collective, int rank, int ranks);
    bool is_any() const { return send_.is_staged() || receive_.is_staged(); }
    int copy_in();
    int copy_out();

private:
    StagedBuffer send_;
    StagedBuffer receive_;
};

// Of a Bcast on a node, of which is decided late whether it runs here.
class StagedBcast final : public BcastOfNode::Staging {
public:
    StagedBcast(std::uint64_t count, MPI_Datatype type, bool is_root) : count_(count), type_(type), is_root_(is_root) {}
    bool begin(void*& buffer, std::uint64_t length) override {
        using Use = StagedBuffer::Use;
        const Use use = is_root_ ? Use::read : length >= count_ * type_size(type_) ? Use::written : Use::changed;
        const int taken = staged_.take(buffer, count_, type_, use);
        if (taken != MPI_SUCCESS) return false;
        copied_ = staged_.copy_in();
        return true;
    }
    // After a run that ended so. Returns an MPI error code.
    int end(Communicator& communicator, int status) {
        // What did not fit has been told of, and all that fits is there.
        if ((status != MPI_SUCCESS && status != MPI_ERR_TRUNCATE) || !staged_.is_any()) return status;
        const int copied = staged_.copy_out();
        if (status != MPI_SUCCESS) return status;
        if (copied_ == MPI_SUCCESS) copied_ = copied;
        if (copied_ != MPI_SUCCESS) mpi.Comm_call_errhandler(communicator.handle(), copied_);
        return copied_;
    }

private:
    std::uint64_t count_;
    MPI_Datatype type_;
    bool is_root_;
    StagedBuffers staged_;
    int copied_ = MPI_SUCCESS;
};

// Runs `run()`, between the copies of what `take(staged)` takes. The other ranks are in the collective: it runs whether the runtime
// copies or not, and that error comes at its end, through the application's handler.
template <typename Take, typename Run>
int run_staged(Communicator& communicator, Take&& take, Run&& run) {
    if (!DeviceMemory::may_be_any()) [[likely]]
        return run();
    StagedBuffers staged;
    int status = take(staged);
    if (status == MPI_SUCCESS && !staged.is_any()) return run();
    if (status == MPI_SUCCESS) {
        status = staged.copy_in();
        if (const int ran = run(); ran != MPI_SUCCESS) return ran;
        if (const int copied = staged.copy_out(); status == MPI_SUCCESS) status = copied;
    }
    if (status != MPI_SUCCESS) mpi.Comm_call_errhandler(communicator.handle(), status);
    return status;
}

}  // namespace hcoll
