// SPDX-License-Identifier: BSD-3-Clause
// What plans do with elements in memory.
#pragma once

#include <cstring>

#include "intercept/calls/guarded.hpp"
#include "intercept/types/reduction_kernel.hpp"
#include "intercept/types/signature_bytes.hpp"
#include "progress/engine/engine.hpp"
#include "progress/engine/simulation.hpp"
#include "progress/network/point_to_point.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// The operation on elements, and copies of elements that touch no byte between them.
class ElementOperations final : public LocalOperations {
public:
    // `signature`: what imaginary addresses mean, where units are bytes; must outlive this.
    ElementOperations(MPI_Datatype type, MPI_Op op, MPI_Comm communicator, int rank, std::size_t contiguous_bytes,
                      const SignatureBytes* signature = nullptr)
        : type_(type),
          op_(op),
          communicator_(communicator),
          rank_(rank),
          contiguous_bytes_(contiguous_bytes),
          kernel_(op == MPI_OP_NULL ? nullptr : find_kernel(op, type)),
          signature_(signature) {}
    // Of a reduction whose kernel is known.
    ElementOperations(const OwnAlgorithms& own, const OwnAlgorithms::KnownReduction& known)
        : type_(known.type),
          op_(known.op),
          communicator_(own.duplicate),
          rank_(own.rank),
          contiguous_bytes_(known.element_bytes),
          kernel_(known.kernel),
          signature_(nullptr) {}

    Status reduce(const std::byte* left, std::byte* right, std::uint64_t units) override {
        if (kernel_ != nullptr) {
            if (charge_reduction(units * contiguous_bytes_)) kernel_(left, right, right, units);
            return MPI_SUCCESS;
        }
        return call_application([&] { return mpi.Reduce_local(left, right, static_cast<int>(units), type_, op_); });
    }
    Status copy(const std::byte* source, std::byte* target, std::uint64_t units) override {
        if (signature_ != nullptr && !signature_->is_empty()) {
            if (charge_copy(units)) signature_->copy(source, units, target);
            return MPI_SUCCESS;
        }
        if (contiguous_bytes_ != 0) {
            // With Open MPI a program may give one buffer for both, as if it had said in place.
            if (charge_copy(units * contiguous_bytes_) && source != target)
                std::memcpy(target, source, units * contiguous_bytes_);
            return MPI_SUCCESS;
        }
        const int count = static_cast<int>(units);
        const int tag = PointToPoint::tag_to_self();
        return mpi.Sendrecv(source, count, type_, rank_, tag, target, count, type_, rank_, tag, communicator_,
                            MPI_STATUS_IGNORE);
    }

private:
    MPI_Datatype type_;
    MPI_Op op_;
    MPI_Comm communicator_;
    int rank_;
    std::size_t contiguous_bytes_;  // of an element; 0 where elements have gaps
    Kernel kernel_;                 // of the operation; nullptr where the vendor combines
    const SignatureBytes* signature_;
};

}  // namespace hcoll
