// SPDX-License-Identifier: BSD-3-Clause
// The reduction operations a test can ask for.
#pragma once

#include <mpi.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace hcoll::test {

// 'none' stands for broadcasts; the last two are user-defined and work on 32-bit words (see user_operation.hpp).
enum class Op { none, sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc, user_sum, user_affine };

using OpList = std::vector<Op>;

struct Operation {
    Op op = Op::none;
    std::string name = "none";
    MPI_Op handle = MPI_OP_NULL;
};

inline Operation predefined_operation(Op op) {
    switch (op) {
        case Op::sum: return {op, "MPI_SUM", MPI_SUM};
        case Op::prod: return {op, "MPI_PROD", MPI_PROD};
        case Op::min: return {op, "MPI_MIN", MPI_MIN};
        case Op::max: return {op, "MPI_MAX", MPI_MAX};
        case Op::land: return {op, "MPI_LAND", MPI_LAND};
        case Op::lor: return {op, "MPI_LOR", MPI_LOR};
        case Op::lxor: return {op, "MPI_LXOR", MPI_LXOR};
        case Op::band: return {op, "MPI_BAND", MPI_BAND};
        case Op::bor: return {op, "MPI_BOR", MPI_BOR};
        case Op::bxor: return {op, "MPI_BXOR", MPI_BXOR};
        case Op::minloc: return {op, "MPI_MINLOC", MPI_MINLOC};
        case Op::maxloc: return {op, "MPI_MAXLOC", MPI_MAXLOC};
        default: return {};
    }
}

// The operations that MPI defines for each class of predefined types (MPI 4.0, section 6.9.2).
namespace ops {
inline const OpList arithmetic = {Op::sum, Op::prod, Op::min, Op::max};
inline const OpList c_integer = {Op::sum, Op::prod, Op::min,  Op::max, Op::land,
                                 Op::lor, Op::lxor, Op::band, Op::bor, Op::bxor};
inline const OpList other_integer = {Op::sum, Op::prod, Op::min, Op::max, Op::band, Op::bor, Op::bxor};
inline const OpList logical = {Op::land, Op::lor, Op::lxor};
inline const OpList complex = {Op::sum, Op::prod};
inline const OpList byte = {Op::band, Op::bor, Op::bxor};
inline const OpList location = {Op::minloc, Op::maxloc};
inline const OpList none = {};
}  // namespace ops

}  // namespace hcoll::test
