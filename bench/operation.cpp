// SPDX-License-Identifier: BSD-3-Clause
#include "operation.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <string_view>

namespace hcoll::bench {

namespace {

MPI_Datatype mpi_type(ElementType type) {
    switch (type) {
        case ElementType::float32: return MPI_FLOAT;
        case ElementType::float64: return MPI_DOUBLE;
        case ElementType::integer: return MPI_INT;
        case ElementType::character: break;
    }
    return MPI_SIGNED_CHAR;  // MPI_CHAR is text and cannot be reduced
}

MPI_Op mpi_op(Operator op) {
    switch (op) {
        case Operator::sum: return MPI_SUM;
        case Operator::max: return MPI_MAX;
        case Operator::min: return MPI_MIN;
        case Operator::prod: break;
    }
    return MPI_PROD;
}

std::string clause(std::string_view where, const Mismatch& mismatch) {
    return fmt::format("element {} of the {} is {}, expected {}", mismatch.element, where, mismatch.found,
                       mismatch.expected);
}

}  // namespace

Buffers::Buffers(std::size_t bytes) : input_(take(bytes)), output_(take(bytes)) {}

Buffers::Memory Buffers::take(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    const std::size_t pages = (bytes + page - 1) / page;
    void* const memory = std::aligned_alloc(page, pages * page);
    if (memory == nullptr) throw std::bad_alloc();
    poison(memory, pages * page);
    return Memory(memory);
}

void Buffers::Release::operator()(void* memory) const { std::free(memory); }

Operation::Operation(const Subject& subject, const World& world, const Buffers& buffers)
    : subject_(subject),
      rank_(world.rank),
      ranks_(world.ranks),
      is_root_(world.rank == subject.root),
      in_place_here_(subject.in_place && (subject.collective == Collective::allreduce ||
                                          (subject.collective == Collective::reduce && is_root_))),
      has_result_(subject.collective == Collective::allreduce || is_root_),
      input_(in_place_here_ ? buffers.output() : buffers.input()),
      output_(buffers.output()),
      elements_(subject.bytes / (subject.reduces() ? element_size(subject.type) : 1)),
      count_(static_cast<int>(elements_)),
      datatype_(subject.reduces() ? mpi_type(subject.type) : MPI_BYTE),
      op_(mpi_op(subject.op)),
      contribution_(contribution(subject.op, world.rank)),
      combination_(combination(subject.op, world.ranks)),
      neutral_(neutral_values(subject.op)) {}

void Operation::prepare(std::uint32_t seed, bool repeatable) {
    key_ = seed * 0x9E3779B1u ^ static_cast<std::uint32_t>(subject_.bytes) * 0xC2B2AE3Du;
    if (!subject_.moves_data()) return;
    if (subject_.has_blocks()) {
        const auto [first, end] = blocks_given();
        for (int rank = first; rank < end; ++rank)
            fill_bytes(static_cast<std::byte*>(input_) + static_cast<std::size_t>(rank - first) * subject_.bytes,
                       subject_.bytes, key_of_block(rank));
        const auto [first_got, end_got] = blocks_got();
        poison(output_, static_cast<std::size_t>(end_got - first_got) * subject_.bytes);
        return;
    }
    if (!subject_.reduces()) {
        if (is_root_) {
            fill_bytes(output_, subject_.bytes, key_);
        } else {
            poison(output_, subject_.bytes);
        }
        return;
    }
    // A maximum or minimum stays what it is when it is taken again; sums and products would run away.
    const bool stays = subject_.op == Operator::max || subject_.op == Operator::min;
    const bool neutral = subject_.in_place && repeatable && !stays;
    filled_ = neutral ? &neutral_ : &contribution_;
    expected_ = neutral ? &neutral_ : &combination_;
    poison(output_, subject_.bytes);
    fill(input_, subject_.type, elements_, *filled_, key_);
}

void Operation::call() const {
    const void* const input = in_place_here_ ? MPI_IN_PLACE : input_;
    switch (subject_.collective) {
        case Collective::bcast: check(MPI_Bcast(output_, count_, datatype_, subject_.root, MPI_COMM_WORLD)); break;
        case Collective::reduce:
            // Only the root has a receive buffer; the others pass none, as applications do.
            check(MPI_Reduce(input, has_result_ ? output_ : nullptr, count_, datatype_, op_, subject_.root,
                             MPI_COMM_WORLD));
            break;
        case Collective::allreduce: check(MPI_Allreduce(input, output_, count_, datatype_, op_, MPI_COMM_WORLD)); break;
        case Collective::barrier: check(MPI_Barrier(MPI_COMM_WORLD)); break;
        // What only the root has to give, the others do not.
        case Collective::gather:
            check(MPI_Gather(input_, count_, datatype_, is_root_ ? output_ : nullptr, count_, datatype_, subject_.root,
                             MPI_COMM_WORLD));
            break;
        case Collective::scatter:
            check(MPI_Scatter(is_root_ ? input_ : nullptr, count_, datatype_, output_, count_, datatype_, subject_.root,
                              MPI_COMM_WORLD));
            break;
        case Collective::allgather:
            check(MPI_Allgather(input_, count_, datatype_, output_, count_, datatype_, MPI_COMM_WORLD));
            break;
    }
}

Operation::Blocks Operation::blocks_given() const {
    if (subject_.collective == Collective::scatter) return is_root_ ? Blocks{0, ranks_} : Blocks{0, 0};
    return {rank_, rank_ + 1};
}

Operation::Blocks Operation::blocks_got() const {
    if (subject_.collective == Collective::scatter) return {rank_, rank_ + 1};
    return subject_.collective == Collective::allgather || is_root_ ? Blocks{0, ranks_} : Blocks{0, 0};
}

std::optional<std::string> Operation::find_wrong_block(const void* buffer, Blocks blocks, const char* where) const {
    for (int rank = blocks.first; rank < blocks.end; ++rank) {
        const auto* block =
            static_cast<const std::byte*>(buffer) + static_cast<std::size_t>(rank - blocks.first) * subject_.bytes;
        if (const auto mismatch = find_byte_mismatch(block, subject_.bytes, key_of_block(rank)))
            return clause(fmt::format("{}, in the block of rank {},", where, rank), *mismatch);
    }
    return std::nullopt;
}

MPI_Request Operation::begin() const {
    const void* const input = in_place_here_ ? MPI_IN_PLACE : input_;
    MPI_Request request = MPI_REQUEST_NULL;
    switch (subject_.collective) {
        case Collective::bcast:
            check(MPI_Ibcast(output_, count_, datatype_, subject_.root, MPI_COMM_WORLD, &request));
            break;
        case Collective::reduce:
            check(MPI_Ireduce(input, has_result_ ? output_ : nullptr, count_, datatype_, op_, subject_.root,
                              MPI_COMM_WORLD, &request));
            break;
        case Collective::allreduce:
            check(MPI_Iallreduce(input, output_, count_, datatype_, op_, MPI_COMM_WORLD, &request));
            break;
        case Collective::barrier:
        case Collective::gather:
        case Collective::scatter:
        case Collective::allgather: break;  // options let none of them through
    }
    return request;
}

std::optional<std::string> Operation::find_error() const {
    if (!subject_.moves_data()) return std::nullopt;
    if (subject_.has_blocks()) {
        auto wrong = find_wrong_block(output_, blocks_got(), "result");
        return wrong ? wrong : find_wrong_block(input_, blocks_given(), "input, changed by the call");
    }
    if (!subject_.reduces()) {
        const auto mismatch = find_byte_mismatch(output_, subject_.bytes, key_);
        return mismatch ? std::optional(clause(is_root_ ? "root's input" : "result", *mismatch)) : std::nullopt;
    }
    if (has_result_) {
        if (const auto mismatch = find_mismatch(output_, subject_.type, elements_, *expected_, key_)) {
            return clause("result", *mismatch);
        }
    }
    if (!in_place_here_) {
        if (const auto mismatch = find_mismatch(input_, subject_.type, elements_, *filled_, key_)) {
            return clause("input, changed by the call,", *mismatch);
        }
    }
    return std::nullopt;
}

}  // namespace hcoll::bench
