// SPDX-License-Identifier: BSD-3-Clause
// Every predefined datatype of MPI for C, C++ and Fortran that the MPI library at hand has.
#pragma once

#include "mpi_library.hpp"
#include "test_type.hpp"

#include <cstdint>

namespace hcoll::test {

// Adds the type unless the MPI library lacks it (null or of no size) or means another size by it.
template <class T>
void add_predefined(std::vector<TestType>& types, const char* name, MPI_Datatype handle, const OpList& operations) {
    if (!exists(handle)) return;
    int size = 0;
    check(MPI_Type_size(handle, &size));
    if (size == 0) return;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    check(MPI_Type_get_extent(handle, &lower, &extent));
    if (extent != static_cast<MPI_Aint>(sizeof(T))) {
        if (failure_context().rank == 0)
            std::printf("note: %s has extent %ld, not %zu: left out\n", name, static_cast<long>(extent), sizeof(T));
        return;
    }
    types.push_back(make_predefined<T>(name, handle, operations));
}

#define HCOLL_ADD_TYPE(T, HANDLE, OPS) add_predefined<T>(types, #HANDLE, HANDLE, OPS)

inline void add_c_types(std::vector<TestType>& types) {
    HCOLL_ADD_TYPE(int, MPI_INT, ops::c_integer);
    HCOLL_ADD_TYPE(signed char, MPI_SIGNED_CHAR, ops::c_integer);
    HCOLL_ADD_TYPE(short, MPI_SHORT, ops::c_integer);
    HCOLL_ADD_TYPE(long, MPI_LONG, ops::c_integer);
    HCOLL_ADD_TYPE(long long, MPI_LONG_LONG, ops::c_integer);
    HCOLL_ADD_TYPE(unsigned char, MPI_UNSIGNED_CHAR, ops::c_integer);
    HCOLL_ADD_TYPE(unsigned short, MPI_UNSIGNED_SHORT, ops::c_integer);
    HCOLL_ADD_TYPE(unsigned, MPI_UNSIGNED, ops::c_integer);
    HCOLL_ADD_TYPE(unsigned long, MPI_UNSIGNED_LONG, ops::c_integer);
    HCOLL_ADD_TYPE(unsigned long long, MPI_UNSIGNED_LONG_LONG, ops::c_integer);
    HCOLL_ADD_TYPE(std::int8_t, MPI_INT8_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::int16_t, MPI_INT16_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::int32_t, MPI_INT32_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::int64_t, MPI_INT64_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::uint8_t, MPI_UINT8_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::uint16_t, MPI_UINT16_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::uint32_t, MPI_UINT32_T, ops::c_integer);
    HCOLL_ADD_TYPE(std::uint64_t, MPI_UINT64_T, ops::c_integer);
    HCOLL_ADD_TYPE(MPI_Aint, MPI_AINT, ops::other_integer);
    HCOLL_ADD_TYPE(MPI_Offset, MPI_OFFSET, ops::other_integer);
    HCOLL_ADD_TYPE(MPI_Count, MPI_COUNT, ops::other_integer);
    HCOLL_ADD_TYPE(float, MPI_FLOAT, ops::arithmetic);
    HCOLL_ADD_TYPE(double, MPI_DOUBLE, ops::arithmetic);
    HCOLL_ADD_TYPE(long double, MPI_LONG_DOUBLE, ops::arithmetic);
    HCOLL_ADD_TYPE(bool, MPI_C_BOOL, ops::logical);
    HCOLL_ADD_TYPE(std::complex<float>, MPI_C_FLOAT_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::complex<double>, MPI_C_DOUBLE_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(bool, MPI_CXX_BOOL, ops::logical);
    HCOLL_ADD_TYPE(std::complex<float>, MPI_CXX_FLOAT_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::complex<double>, MPI_CXX_DOUBLE_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::complex<long double>, MPI_CXX_LONG_DOUBLE_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::uint8_t, MPI_BYTE, ops::byte);
    HCOLL_ADD_TYPE(char, MPI_CHAR, ops::none);
    HCOLL_ADD_TYPE(wchar_t, MPI_WCHAR, ops::none);
    HCOLL_ADD_TYPE(std::uint8_t, MPI_PACKED, ops::none);
}

inline void add_pair_types(std::vector<TestType>& types) {
    using FloatInt = Pair<float, int>;
    using DoubleInt = Pair<double, int>;
    using LongInt = Pair<long, int>;
    using ShortInt = Pair<short, int>;
    using TwoInt = Pair<int, int>;
    using LongDoubleInt = Pair<long double, int>;
    using TwoReal = Pair<float, float>;
    using TwoDouble = Pair<double, double>;
    HCOLL_ADD_TYPE(FloatInt, MPI_FLOAT_INT, ops::location);
    HCOLL_ADD_TYPE(DoubleInt, MPI_DOUBLE_INT, ops::location);
    HCOLL_ADD_TYPE(LongInt, MPI_LONG_INT, ops::location);
    HCOLL_ADD_TYPE(ShortInt, MPI_SHORT_INT, ops::location);
    HCOLL_ADD_TYPE(TwoInt, MPI_2INT, ops::location);
    HCOLL_ADD_TYPE(LongDoubleInt, MPI_LONG_DOUBLE_INT, ops::location);
    HCOLL_ADD_TYPE(TwoReal, MPI_2REAL, ops::location);
    HCOLL_ADD_TYPE(TwoDouble, MPI_2DOUBLE_PRECISION, ops::location);
    HCOLL_ADD_TYPE(TwoInt, MPI_2INTEGER, ops::location);
}

#if defined(MPI_ABI_VERSION)
using FortranInteger = int;  // which the standard ABI leaves to Fortran's compiler
#else
using FortranInteger = MPI_Fint;
#endif

inline void add_fortran_types(std::vector<TestType>& types) {
    HCOLL_ADD_TYPE(FortranInteger, MPI_INTEGER, ops::other_integer);
    HCOLL_ADD_TYPE(float, MPI_REAL, ops::arithmetic);
    HCOLL_ADD_TYPE(double, MPI_DOUBLE_PRECISION, ops::arithmetic);
    HCOLL_ADD_TYPE(std::complex<float>, MPI_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(std::complex<double>, MPI_DOUBLE_COMPLEX, ops::complex);
    HCOLL_ADD_TYPE(Logical<FortranInteger>, MPI_LOGICAL, ops::logical);
    HCOLL_ADD_TYPE(char, MPI_CHARACTER, ops::none);
    HCOLL_ADD_TYPE(std::int8_t, MPI_INTEGER1, ops::other_integer);
    HCOLL_ADD_TYPE(std::int16_t, MPI_INTEGER2, ops::other_integer);
    HCOLL_ADD_TYPE(std::int32_t, MPI_INTEGER4, ops::other_integer);
    HCOLL_ADD_TYPE(std::int64_t, MPI_INTEGER8, ops::other_integer);
    HCOLL_ADD_TYPE(float, MPI_REAL4, ops::arithmetic);
    HCOLL_ADD_TYPE(double, MPI_REAL8, ops::arithmetic);
    HCOLL_ADD_TYPE(std::complex<float>, MPI_COMPLEX8, ops::complex);
    HCOLL_ADD_TYPE(std::complex<double>, MPI_COMPLEX16, ops::complex);
#ifdef MPI_REAL16
    HCOLL_ADD_TYPE(Quad, MPI_REAL16, ops::arithmetic);
#endif
#ifdef MPI_LOGICAL1
    HCOLL_ADD_TYPE(Logical<std::int8_t>, MPI_LOGICAL1, ops::logical);
#endif
#ifdef MPI_LOGICAL2
    HCOLL_ADD_TYPE(Logical<std::int16_t>, MPI_LOGICAL2, ops::logical);
#endif
#ifdef MPI_LOGICAL4
    HCOLL_ADD_TYPE(Logical<std::int32_t>, MPI_LOGICAL4, ops::logical);
#endif
#ifdef MPI_LOGICAL8
    HCOLL_ADD_TYPE(Logical<std::int64_t>, MPI_LOGICAL8, ops::logical);
#endif
}

#undef HCOLL_ADD_TYPE

// How the MPI library itself does in reducing this type with this op.
enum class VendorOp { right, wrong, refused };

inline VendorOp probe_vendor(const TestType& type, Op op, bool narrow) {
    constexpr int count = 40;
    const auto bytes = static_cast<std::size_t>(type.extent) * count;
    std::vector<std::byte> left(bytes);
    std::vector<std::byte> right(bytes);
    Random random(mix({0x6c6f63616cU, static_cast<std::uint64_t>(op)}));
    for (int i = 0; i < count; ++i) {
        type.fill(left.data() + i * type.extent, {op, 0, narrow}, random);
        type.fill(right.data() + i * type.extent, {op, 1, narrow}, random);
    }
    std::vector<std::byte> expected = right;
    for (int i = 0; i < count; ++i) type.combine(op, left.data() + i * type.extent, expected.data() + i * type.extent);
    const MPI_Op handle = predefined_operation(op).handle;
    if (MPI_Reduce_local(left.data(), right.data(), count, type.handle, handle) != MPI_SUCCESS)
        return VendorOp::refused;
    for (int i = 0; i < count; ++i)
        for (const Part& part : type.parts)
            if (std::memcmp(right.data() + i * type.extent + part.offset,
                            expected.data() + i * type.extent + part.offset, part.size) != 0)
                return VendorOp::wrong;
    return VendorOp::right;
}

// MPI libraries lack combinations that the standard asks for, or have them wrong: a REAL*16 taken for a long double,
// unsigned numbers compared as signed ones, sums that saturate. What they refuse is left out. What they get wrong is
// theirs to mend: it is tested with small numbers if that much is right, else left out; with 'all_right' it must be
// right all the same. Each is told.
inline void strike_out_vendor_errors(TestType& type, bool all_right) {
    std::string wrong;
    std::erase_if(type.ops, [&](Op op) {
        const VendorOp full = probe_vendor(type, op, false);
        if (full == VendorOp::right || (full == VendorOp::wrong && all_right)) return false;
        wrong += " " + predefined_operation(op).name;
        if (full == VendorOp::refused) {
            wrong += "(refused)";
            return true;
        }
        type.narrow_ops.push_back(op);
        return probe_vendor(type, op, true) != VendorOp::right;
    });
    if (!wrong.empty() && failure_context().rank == 0)
        std::printf("note: this MPI library has wrong, even in MPI_Reduce_local: %s%s\n", type.name.c_str(),
                    wrong.c_str());
}

inline std::vector<TestType> predefined_types(bool all_right) {
    std::vector<TestType> types;
    add_c_types(types);
    add_pair_types(types);
    add_fortran_types(types);
    const MPI_Comm handler_holders[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (const MPI_Comm comm : handler_holders) check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (TestType& type : types) strike_out_vendor_errors(type, all_right);
    for (const MPI_Comm comm : handler_holders) check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
    return types;
}

}  // namespace hcoll::test
