// SPDX-License-Identifier: BSD-3-Clause
// One collective at one size, ready to be called: its arguments, its test data and the check of its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mpi.hpp"
#include "payload.hpp"
#include "subject.hpp"

namespace hcoll::bench {

// The two buffers that all measurements share: taken once, for the largest size, page-aligned and touched, so that no
// measurement pays for a page fault and none gets luckier addresses than another.
class Buffers {
public:
    // Throws std::bad_alloc.
    explicit Buffers(std::size_t bytes);

    void* input() const { return input_.get(); }
    void* output() const { return output_.get(); }

private:
    struct Release {
        void operator()(void* memory) const;
    };
    using Memory = std::unique_ptr<void, Release>;
    static Memory take(std::size_t bytes);

    Memory input_;
    Memory output_;
};

class Operation {
public:
    Operation(const Subject& subject, const World& world, const Buffers& buffers);

    // Fills the buffers for one call, or for many calls in a row: the second differs only for in-place reductions,
    // whose data must not grow from call to call. All ranks give the same seed.
    void prepare_one(std::uint32_t seed) { prepare(seed, false); }
    void prepare_many(std::uint32_t seed) { prepare(seed, true); }

    // The call under test.
    void call() const;
    // Its non-blocking relative; of bcast, reduce and allreduce.
    MPI_Request begin() const;

    // What is wrong with this rank's buffers after the calls, as a clause for an error message. Inputs count, too: a
    // collective must leave them as they were. Nothing for a barrier, which has none.
    std::optional<std::string> find_error() const;

private:
    void prepare(std::uint32_t seed, bool repeatable);
    // Of the buffers of gather, scatter and allgather: whose blocks they have.
    struct Blocks {
        int first, end;
    };
    Blocks blocks_given() const;
    Blocks blocks_got() const;
    std::uint32_t key_of_block(int rank) const { return key_ ^ static_cast<std::uint32_t>(rank + 1) * 0x85EBCA6Bu; }
    std::optional<std::string> find_wrong_block(const void* buffer, Blocks blocks, const char* where) const;

    Subject subject_;
    int rank_;
    int ranks_;
    bool is_root_;
    bool in_place_here_;  // this rank passes MPI_IN_PLACE
    bool has_result_;     // this rank receives the result of the reduction
    void* input_;
    void* output_;
    std::size_t elements_;
    int count_;
    MPI_Datatype datatype_;
    MPI_Op op_;
    ClassValues contribution_;
    ClassValues combination_;
    ClassValues neutral_;
    const ClassValues* filled_ = nullptr;    // what the last prepare() contributed
    const ClassValues* expected_ = nullptr;  // and what must come of it
    std::uint32_t key_ = 0;
};

}  // namespace hcoll::bench
