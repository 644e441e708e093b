// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/reduction_kernel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>

#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

constexpr std::array signed_integers{Element::int8, Element::int16, Element::int32, Element::int64};
constexpr std::array unsigned_integers{Element::uint8, Element::uint16, Element::uint32, Element::uint64};
constexpr std::array reals{Element::float32, Element::float64};
constexpr std::array c_complex{Element::complex_float32, Element::complex_float64, Element::complex_long_double};
constexpr std::array pairs_of_integers{Element::int_int};
constexpr std::array pairs_of_reals{Element::two_floats, Element::two_doubles};
constexpr std::array logicals{Element::logical8, Element::logical16, Element::logical32, Element::logical64};

// Are Fortran's logicals 0 and 1, and anything but 0 true? They are what the compiler is that the vendor was built with.
bool has_plain_logicals() {
    const auto combined = [](std::int64_t left, std::int64_t right, MPI_Op op) {
        return mpi.Reduce_local(&left, &right, 1, MPI_LOGICAL, op) == MPI_SUCCESS ? right : -1;
    };
    return combined(1, 0, MPI_LOR) == 1 && combined(2, 0, MPI_LOR) == 1 && combined(2, 1, MPI_LAND) == 1;
}

// Does the vendor multiply these complex numbers by the plain formula? Then a factor that is infinite may give two NaNs, where C's
// product (C99, annex G) is infinite. For Fortran's and C++'s types that is the matter of an MPI library's build.
template <typename Real>
bool multiplies_plainly(MPI_Datatype type) {
    constexpr Real infinite = std::numeric_limits<Real>::infinity();
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    const std::array<Real, 2> left{infinite, nan};
    std::array<Real, 2> right{2, 3};
    return mpi.Reduce_local(left.data(), right.data(), 1, type, MPI_PROD) == MPI_SUCCESS && std::isnan(right[0]) &&
           std::isnan(right[1]);
}

bool multiplies_plainly(MPI_Datatype type, Element element) {
    if (is_simulated) return false;
    switch (element) {
        case Element::complex_float32: return multiplies_plainly<float>(type);
        case Element::complex_float64: return multiplies_plainly<double>(type);
        default: return multiplies_plainly<long double>(type);
    }
}

Element plain_product_of(Element element) {
    switch (element) {
        case Element::complex_float32: return Element::plain_complex_float32;
        case Element::complex_float64: return Element::plain_complex_float64;
        default: return Element::plain_complex_long_double;
    }
}

// A handle is a number or an address.
[[maybe_unused]] std::uint64_t bits_of(int handle) { return static_cast<std::uint32_t>(handle); }
[[maybe_unused]] std::uint64_t bits_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

// Kernels of each predefined type, in a table of hashes of handles.
class KnownTypes {
public:
    KnownTypes() {
        add(signed_integers, {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                              MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1,
                              MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8});
        add(unsigned_integers, {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                                MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T});
        add(reals, {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION});
        add(c_complex, {MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX});
        add(c_complex,
            {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_CXX_FLOAT_COMPLEX,
             MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX},
            Doubt::product);
        add(logicals, {MPI_C_BOOL, MPI_CXX_BOOL});
        add(pairs_of_integers, {MPI_2INT, MPI_2INTEGER});
        add(pairs_of_reals, {MPI_2REAL, MPI_2DOUBLE_PRECISION});
        for (MPI_Datatype type : {
                 MPI_LOGICAL,
#if defined(MPI_LOGICAL1)
                     MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8
#endif
             })
            add(logicals, {type}, Doubt::logical);
        // Of C, so that their sizes are known.
        put(MPI_LONG_DOUBLE, Element::long_double);
        put(MPI_BYTE, Element::byte);
        put(MPI_FLOAT_INT, Element::float_int);
        put(MPI_DOUBLE_INT, Element::double_int);
        put(MPI_LONG_INT, Element::long_int);
        put(MPI_SHORT_INT, Element::short_int);
        put(MPI_LONG_DOUBLE_INT, Element::long_double_int);
#if defined(MPIX_C_FLOAT16)
        put(MPIX_C_FLOAT16, Element::float16);
#endif
    }

    const KernelRow* find(MPI_Datatype type) const {
        for (std::size_t i = first_slot(type);; i = (i + 1) % slots_.size()) {
            const Slot& slot = slots_[i];
            if (slot.kernels == nullptr) return find_of_fortran(type);
            if (slot.type != type) continue;
            if (slot.doubt == Doubt::none) return slot.kernels;
            return settled(type, slot.doubt, slot.element, answers_[i]);
        }
    }

private:
    // What is asked of the vendor about a type: only when a program uses it, since a library that lacks it would report an error.
    enum class Doubt : std::uint8_t { none, logical, product };
    struct Slot {
        MPI_Datatype type{};
        const KernelRow* kernels = nullptr;  // nullptr where the slot is free
        Element element{};
        Doubt doubt = Doubt::none;
    };

    // Of one type; several threads may ask at the same time, and are told the same.
    enum class Answer : std::uint8_t { unknown, plain, as_c };

    static const KernelRow* settled(MPI_Datatype type, Doubt doubt, Element element, std::atomic<Answer>& answer) {
        if (doubt == Doubt::logical) {
            static const bool plain = has_plain_logicals();
            return plain ? row_of(element) : nullptr;
        }
        if (doubt == Doubt::none) return row_of(element);
        if (answer.load(std::memory_order_relaxed) == Answer::unknown)
            answer.store(multiplies_plainly(type, element) ? Answer::plain : Answer::as_c, std::memory_order_relaxed);
        return row_of(answer.load(std::memory_order_relaxed) == Answer::plain ? plain_product_of(element) : element);
    }

    static std::size_t first_slot(MPI_Datatype type) {
        return static_cast<std::size_t>((bits_of(type) * 0x9e3779b97f4a7c15U) >> 56U);  // 8 bits of Fibonacci hashing
    }

#if defined(HCOLL_FLAVOUR_MPI_ABI)
    // Sizes that Fortran's compiler decides.
    static const KernelRow* find_of_fortran(MPI_Datatype type) {
        struct Family {
            MPI_Datatype type;
            std::span<const Element> elements;
            Doubt doubt;
            std::atomic<Answer> answer = Answer::unknown;
        };
        static Family families[] = {
            {MPI_INTEGER, signed_integers, Doubt::none},         {MPI_REAL, reals, Doubt::none},
            {MPI_DOUBLE_PRECISION, reals, Doubt::none},          {MPI_COMPLEX, c_complex, Doubt::product},
            {MPI_DOUBLE_COMPLEX, c_complex, Doubt::product},     {MPI_LOGICAL, logicals, Doubt::logical},
            {MPI_2INTEGER, pairs_of_integers, Doubt::none},      {MPI_2REAL, pairs_of_reals, Doubt::none},
            {MPI_2DOUBLE_PRECISION, pairs_of_reals, Doubt::none}};
        for (Family& family : families) {
            if (family.type != type) continue;
            for (const Element element : family.elements)
                if (type_size(type) == element_bytes(element))
                    return settled(type, family.doubt, element, family.answer);
        }
        return nullptr;
    }
    static bool exists(MPI_Datatype type) { return size_of_standard_type(type) > 0; }
#else
    // Types that this vendor lacks are null: a name for MPICH, an address for Open MPI.
    static bool exists(MPI_Datatype type) { return type != MPI_DATATYPE_NULL && type != MPI_Datatype{}; }
    static const KernelRow* find_of_fortran(MPI_Datatype) { return nullptr; }
#endif

    void put(MPI_Datatype type, Element element, Doubt doubt = Doubt::none) {
        if (!exists(type)) return;
        std::size_t i = first_slot(type);
        while (slots_[i].kernels != nullptr && slots_[i].type != type) i = (i + 1) % slots_.size();
        slots_[i] = {type, row_of(element), element, doubt};
    }

    static const KernelRow* row_of(Element element) {
        return &chosen_kernel_variant().table->rows[static_cast<std::size_t>(element)];
    }

    // Each type is the element of its size.
    void add(std::span<const Element> elements, std::initializer_list<MPI_Datatype> types, Doubt doubt = Doubt::none) {
        for (MPI_Datatype type : types)
            for (const Element element : elements)
                if (exists(type) && type_size(type) == element_bytes(element)) put(type, element, doubt);
    }

    std::array<Slot, 256> slots_{};  // a quarter is taken
    mutable std::array<std::atomic<Answer>, 256> answers_{};
};

class KnownOperations {
public:
    const Operation* find(MPI_Op op) const {
        for (const Known& known : known_)
            if (known.op == op) return &known.operation;
        return nullptr;
    }

private:
    struct Known {
        MPI_Op op;
        Operation operation;
    };
    // The frequent ones first.
    std::array<Known, 12> known_{{{MPI_SUM, Operation::sum},
                                  {MPI_MAX, Operation::max},
                                  {MPI_MIN, Operation::min},
                                  {MPI_PROD, Operation::prod},
                                  {MPI_LAND, Operation::land},
                                  {MPI_LOR, Operation::lor},
                                  {MPI_LXOR, Operation::lxor},
                                  {MPI_BAND, Operation::band},
                                  {MPI_BOR, Operation::bor},
                                  {MPI_BXOR, Operation::bxor},
                                  {MPI_MINLOC, Operation::minloc},
                                  {MPI_MAXLOC, Operation::maxloc}}};
};

const KnownOperations& known_operations() {
    static const KnownOperations operations;
    return operations;
}

const KnownTypes& known_types() {
    static const KnownTypes types;
    return types;
}

}  // namespace

Kernel find_kernel(MPI_Op op, MPI_Datatype type) {
    const Operation* operation = known_operations().find(op);
    if (operation == nullptr) return nullptr;
    const KernelRow* kernels = known_types().find(type);
    return kernels == nullptr ? nullptr : kernels->plain[static_cast<std::size_t>(*operation)];
}

bool is_defined(MPI_Op op, MPI_Datatype type) {
    const std::optional<Operation> operation = find_operation(op);
    const bool is_logical = operation == Operation::land || operation == Operation::lor || operation == Operation::lxor;
    if (!is_logical) return operation.has_value();
    const MPI_Datatype others[] = {MPI_AINT,     MPI_OFFSET,   MPI_COUNT,    MPI_INTEGER,
                                   MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8};
    return std::find(std::begin(others), std::end(others), type) == std::end(others);
}

std::optional<Operation> find_operation(MPI_Op op) {
    const Operation* operation = known_operations().find(op);
    return operation == nullptr ? std::nullopt : std::optional(*operation);
}

std::optional<Element> find_element(MPI_Datatype type) {
    const KernelRow* kernels = known_types().find(type);
    if (kernels == nullptr) return std::nullopt;
    return static_cast<Element>(kernels - &chosen_kernel_variant().table->rows[0]);
}

bool is_exact(MPI_Op op, MPI_Datatype type, int ranks) {
    const std::optional<Operation> operation = find_operation(op);
    const std::optional<Element> element = find_element(type);
    if (!operation || !element) return false;
    const bool is_signed = element == Element::int32 || element == Element::int64;
    const bool is_unsigned = element == Element::uint32 || element == Element::uint64;
    // Not long double, which has bytes that mean nothing.
    const bool is_real = element == Element::float32 || element == Element::float64;
    switch (*operation) {
        case Operation::min:
        case Operation::max: return is_signed;
        case Operation::sum:
        case Operation::prod: return is_signed || is_unsigned || (is_real && ranks == 2);
        case Operation::land:
        case Operation::lor:
        case Operation::lxor:
        case Operation::band:
        case Operation::bor:
        case Operation::bxor: return is_signed || is_unsigned;
        default: return false;
    }
}

}  // namespace hcoll
