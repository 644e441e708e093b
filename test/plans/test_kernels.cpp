// SPDX-License-Identifier: BSD-3-Clause
// Every kernel of every variant that this CPU runs against plain loops over one element at a time, which know nothing of
// the kernels but what kernel_table.hpp promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "algorithms/kernels/kernels.hpp"

namespace hcoll::test {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

// ---- values at any address ----------------------------------------------------------------------------------------------

// Of a long double on x86 only 10 of 16 bytes are the value's.
template <typename T>
constexpr std::size_t value_bytes = std::is_same_v<T, long double>&& std::numeric_limits<T>::digits == 64 ? 10
                                                                                                          : sizeof(T);

template <typename T>
T load(const std::byte* place) {
    T value{};
    std::memcpy(&value, place, value_bytes<T>);
    return value;
}
template <typename T>
void store(std::byte* place, T value) {
    std::memcpy(place, &value, value_bytes<T>);
}

// ---- numbers --------------------------------------------------------------------------------------------------------------

template <typename T>
T any_integer(Random& random) {
    constexpr std::array<T, 6> ends{std::numeric_limits<T>::min(),
                                    std::numeric_limits<T>::max(),
                                    static_cast<T>(std::numeric_limits<T>::max() / 2),
                                    0,
                                    1,
                                    static_cast<T>(-1)};
    return random() % 2 == 0 ? ends[random() % ends.size()] : static_cast<T>(random());
}

template <typename T>
T any_real(Random& random) {
    using Limits = std::numeric_limits<T>;
    const std::array<T, 12> special{T{0},
                                    -T{0},
                                    T{1},
                                    T{-1},
                                    Limits::infinity(),
                                    -Limits::infinity(),
                                    Limits::max(),
                                    Limits::lowest(),
                                    Limits::denorm_min(),
                                    Limits::quiet_NaN(),
                                    -Limits::quiet_NaN(),
                                    std::copysign(static_cast<T>(std::nan("77")), T{-1})};
    if (random() % 2 == 0) return special[random() % special.size()];
    const int exponent = static_cast<int>(random() % 40) - 20;
    return std::ldexp(static_cast<T>(static_cast<std::int64_t>(random())), exponent - 63);
}

// GCC 12 has no _Float16 in C++ on AArch64, though it has the macros; the other name is as old as the architecture.
#if defined(__aarch64__)
using Half = __fp16;
#define HCOLL_HAS_HALF
#elif defined(__FLT16_MAX__)
using Half = _Float16;
#define HCOLL_HAS_HALF
#endif
#if defined(HCOLL_HAS_HALF)
template <>
[[maybe_unused]] Half any_real<Half>(Random& random) {
    return static_cast<Half>(any_real<float>(random));
}
#endif

// Few different ones, so that they are often equal.
template <typename T>
T any_value(Random& random) {
    const bool is_common = random() % 2 == 0;
    if (is_common) return static_cast<T>(static_cast<int>(random() % 5) - 2);
    if constexpr (std::is_integral_v<T>)
        return any_integer<T>(random);
    else
        return any_real<T>(random);
}

// ---- what a kernel is held to ---------------------------------------------------------------------------------------------

struct Case {
    Operation operation;
    Element element;
    std::size_t bytes;
    void (*fill)(std::byte*, std::size_t, Random&);
    // result[i] = left[i] op right[i], and nothing but values is written.
    void (*reference)(const std::byte*, const std::byte*, std::byte*, std::size_t);

    std::string name() const {
        return "operation " + std::to_string(static_cast<int>(operation)) + ", element " +
               std::to_string(static_cast<int>(element));
    }
};

std::vector<Case>& mutable_cases() {
    static std::vector<Case> cases;
    return cases;
}

template <typename T>
void fill_values(std::byte* place, std::size_t count, Random& random) {
    for (std::size_t i = 0; i < count; ++i) store<T>(place + i * sizeof(T), any_value<T>(random));
}

template <typename T, auto function>
void one_by_one(const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, left += sizeof(T), right += sizeof(T), result += sizeof(T))
        store<T>(result, function(load<T>(left), load<T>(right)));
}

template <typename T, auto function>
void add(Operation operation, Element element) {
    mutable_cases().push_back({operation, element, sizeof(T), fill_values<T>, one_by_one<T, function>});
}

template <typename T>
void add_logical(Element element) {
    add<T, [](T left, T right) { return static_cast<T>(left && right ? 1 : 0); }>(Operation::land, element);
    add<T, [](T left, T right) { return static_cast<T>(left || right ? 1 : 0); }>(Operation::lor, element);
    add<T, [](T left, T right) { return static_cast<T>(!left != !right ? 1 : 0); }>(Operation::lxor, element);
}

template <typename T>
void add_bits(Element element) {
    add<T, [](T left, T right) { return static_cast<T>(left & right); }>(Operation::band, element);
    add<T, [](T left, T right) { return static_cast<T>(left | right); }>(Operation::bor, element);
    add<T, [](T left, T right) { return static_cast<T>(left ^ right); }>(Operation::bxor, element);
}

template <typename T>
void add_integer(Element element) {
    add<T, [](T left, T right) {
        return static_cast<T>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
    }>(Operation::sum, element);
    add<T, [](T left, T right) {
        return static_cast<T>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
    }>(Operation::prod, element);
    add<T, [](T left, T right) { return std::min(left, right); }>(Operation::min, element);
    add<T, [](T left, T right) { return std::max(left, right); }>(Operation::max, element);
    add_logical<T>(element);
    add_bits<T>(element);
}

template <typename T>
bool is_nan(T value) {
    return std::isnan(static_cast<long double>(value));
}

template <typename T>
std::complex<T> with_one_nan(std::complex<T> value) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    return {is_nan(value.real()) ? nan : value.real(), is_nan(value.imag()) ? nan : value.imag()};
}

template <typename T>
void add_real(Element element) {
    add<T, [](T left, T right) { return is_nan(right) ? right : static_cast<T>(left + right); }>(Operation::sum,
                                                                                                 element);
    add<T, [](T left, T right) { return is_nan(right) ? right : static_cast<T>(left * right); }>(Operation::prod,
                                                                                                 element);
    add<T, [](T left, T right) { return std::min(left, right); }>(Operation::min, element);
    add<T, [](T left, T right) { return std::max(left, right); }>(Operation::max, element);
}

template <typename T, auto function>
void combine_complex(const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = 2 * i * sizeof(T);
        const std::complex<T> combined =
            function(std::complex<T>(load<T>(left + at), load<T>(left + at + sizeof(T))),
                     std::complex<T>(load<T>(right + at), load<T>(right + at + sizeof(T))));
        store<T>(result + at, combined.real());
        store<T>(result + at + sizeof(T), combined.imag());
    }
}

template <typename T, auto product>
void add_complex(Element element) {
    const auto fill = [](std::byte* place, std::size_t count, Random& random) {
        fill_values<T>(place, 2 * count, random);
    };
    constexpr auto sum = [](std::complex<T> left, std::complex<T> right) {
        const std::complex<T> added = left + right;
        return std::complex<T>(is_nan(right.real()) ? right.real() : added.real(),
                               is_nan(right.imag()) ? right.imag() : added.imag());
    };
    mutable_cases().push_back({Operation::sum, element, 2 * sizeof(T), fill, combine_complex<T, sum>});
    mutable_cases().push_back({Operation::prod, element, 2 * sizeof(T), fill, combine_complex<T, product>});
}

template <typename T>
void add_complexes(Element as_c, Element plain) {
    add_complex<T, [](std::complex<T> left, std::complex<T> right) { return with_one_nan(left * right); }>(as_c);
    add_complex<T, [](std::complex<T> left, std::complex<T> right) {
        return with_one_nan(std::complex<T>(left.real() * right.real() - left.imag() * right.imag(),
                                            left.real() * right.imag() + left.imag() * right.real()));
    }>(plain);
}

template <typename Value, typename Index, bool greater>
void locate(const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) {
    struct Pair {
        Value value;
        Index index;
    };
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t value_at = i * sizeof(Pair);
        const std::size_t index_at = value_at + offsetof(Pair, index);
        const auto left_value = load<Value>(left + value_at);
        const auto right_value = load<Value>(right + value_at);
        const auto left_index = load<Index>(left + index_at);
        const auto right_index = load<Index>(right + index_at);
        store<Value>(result + value_at, right_value);
        store<Index>(result + index_at, right_index);
        if (greater ? left_value > right_value : left_value < right_value) {
            store<Value>(result + value_at, left_value);
            store<Index>(result + index_at, left_index);
        } else if (left_value == right_value) {
            store<Index>(result + index_at, std::min(left_index, right_index));
        }
    }
}

template <typename Value, typename Index>
void add_pair(Element element) {
    struct Pair {
        Value value;
        Index index;
    };
    const auto fill = [](std::byte* place, std::size_t count, Random& random) {
        for (std::size_t i = 0; i < count; ++i, place += sizeof(Pair)) {
            store<Value>(place, any_value<Value>(random));
            store<Index>(place + offsetof(Pair, index), any_value<Index>(random));
        }
    };
    mutable_cases().push_back({Operation::minloc, element, sizeof(Pair), fill, locate<Value, Index, false>});
    mutable_cases().push_back({Operation::maxloc, element, sizeof(Pair), fill, locate<Value, Index, true>});
}

const std::vector<Case>& cases() {
    if (!mutable_cases().empty()) return mutable_cases();
    add_integer<std::int8_t>(Element::int8);
    add_integer<std::int16_t>(Element::int16);
    add_integer<std::int32_t>(Element::int32);
    add_integer<std::int64_t>(Element::int64);
    add_integer<std::uint8_t>(Element::uint8);
    add_integer<std::uint16_t>(Element::uint16);
    add_integer<std::uint32_t>(Element::uint32);
    add_integer<std::uint64_t>(Element::uint64);
#if defined(HCOLL_HAS_HALF)
    add_real<Half>(Element::float16);
#endif
    add_real<float>(Element::float32);
    add_real<double>(Element::float64);
    add_real<long double>(Element::long_double);
    add_complexes<float>(Element::complex_float32, Element::plain_complex_float32);
    add_complexes<double>(Element::complex_float64, Element::plain_complex_float64);
    add_complexes<long double>(Element::complex_long_double, Element::plain_complex_long_double);
    add_logical<std::uint8_t>(Element::logical8);
    add_logical<std::uint16_t>(Element::logical16);
    add_logical<std::uint32_t>(Element::logical32);
    add_logical<std::uint64_t>(Element::logical64);
    add_bits<std::uint8_t>(Element::byte);
    add_pair<float, int>(Element::float_int);
    add_pair<double, int>(Element::double_int);
    add_pair<long, int>(Element::long_int);
    add_pair<int, int>(Element::int_int);
    add_pair<short, int>(Element::short_int);
    add_pair<long double, int>(Element::long_double_int);
    add_pair<float, float>(Element::two_floats);
    add_pair<double, double>(Element::two_doubles);
    return mutable_cases();
}

// ---- trials ---------------------------------------------------------------------------------------------------------------

enum class Result : std::uint8_t { apart, is_left, is_right };
constexpr std::array all_results{Result::apart, Result::is_left, Result::is_right};

struct Trial {
    std::size_t elements;
    Result result;
    std::array<std::size_t, 3> misaligned;  // left, right, result
};

constexpr std::size_t guard = 128;

// A buffer whose elements begin `misaligned` bytes behind a multiple of 64, with guards before and after.
class Buffer {
public:
    Buffer(std::size_t bytes, std::size_t misaligned, Random& random) : memory_(bytes + 3 * guard) {
        for (std::byte& byte : memory_) byte = static_cast<std::byte>(random());
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        offset_ = guard + (64 - address % 64) % 64 + misaligned;
    }
    std::byte* elements() { return memory_.data() + offset_; }
    Bytes& memory() { return memory_; }
    std::size_t offset() const { return offset_; }

private:
    Bytes memory_;
    std::size_t offset_ = 0;
};

testing::AssertionResult holds(const Case& test, Kernel kernel, const Trial& trial, Random& random) {
    const std::size_t bytes = trial.elements * test.bytes;
    Buffer left(bytes, trial.misaligned[0], random);
    Buffer right(bytes, trial.misaligned[1], random);
    Buffer apart(bytes, trial.misaligned[2], random);
    test.fill(left.elements(), trial.elements, random);
    test.fill(right.elements(), trial.elements, random);
    Buffer& result = trial.result == Result::apart ? apart : trial.result == Result::is_left ? left : right;

    const Bytes left_before = left.memory();
    const Bytes right_before = right.memory();
    Bytes expected = result.memory();
    test.reference(left_before.data() + left.offset(), right_before.data() + right.offset(),
                   expected.data() + result.offset(), trial.elements);
    kernel(left.elements(), right.elements(), result.elements(), trial.elements);

    const auto first = std::mismatch(expected.begin(), expected.end(), result.memory().begin());
    if (first.first != expected.end())
        return testing::AssertionFailure()
               << test.name() << ": " << trial.elements << " elements, result " << static_cast<int>(trial.result)
               << ", misaligned " << trial.misaligned[0] << " " << trial.misaligned[1] << " " << trial.misaligned[2]
               << ": byte " << first.first - expected.begin() - static_cast<std::ptrdiff_t>(result.offset())
               << " is wrong";
    if ((trial.result != Result::is_left && left.memory() != left_before) ||
        (trial.result != Result::is_right && right.memory() != right_before))
        return testing::AssertionFailure() << test.name() << " writes its operands";
    return testing::AssertionSuccess();
}

std::vector<Trial> trials(std::size_t bytes) {
    std::vector<Trial> all;
    for (const Result result : all_results) {
        for (std::size_t elements = 0; elements <= 130; ++elements) all.push_back({elements, result, {0, 0, 0}});
        for (std::size_t misaligned = 0; misaligned < 64; ++misaligned) {
            all.push_back({67, result, {misaligned, 0, 0}});
            all.push_back({67, result, {0, misaligned, 0}});
            all.push_back({67, result, {0, 0, misaligned}});
            all.push_back({70, result, {misaligned, (misaligned + 21) % 64, (misaligned + 42) % 64}});
        }
        // More than two of a stream's blocks.
        for (const std::size_t misaligned : {0U, 1U, 8U, 32U})
            all.push_back({8300 / bytes + 3, result, {0, 16, misaligned}});
    }
    return all;
}

class Kernels : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        for (const KernelVariant& variant : kernel_variants())
            if (variant.name == GetParam()) variant_ = &variant;
        if (!variant_->runs_here()) GTEST_SKIP() << "this CPU has no " << GetParam();
    }
    const KernelRow& row(Element element) const { return variant_->table->rows[static_cast<std::size_t>(element)]; }
    const KernelVariant* variant_ = nullptr;
};

TEST_P(Kernels, ExistForWhatMpiDefines) {
    for (std::size_t element = 0; element < element_count; ++element)
        for (std::size_t operation = 0; operation < operation_count; ++operation) {
            const auto is_this = [&](const Case& test) {
                return static_cast<std::size_t>(test.element) == element &&
                       static_cast<std::size_t>(test.operation) == operation;
            };
            if (static_cast<Element>(element) == Element::float16) continue;  // not on every CPU
            const bool is_defined = std::any_of(cases().begin(), cases().end(), is_this);
            const KernelRow& kernels = row(static_cast<Element>(element));
            EXPECT_EQ(kernels.plain[operation] != nullptr, is_defined) << element << " " << operation;
        }
}

TEST_P(Kernels, DoWhatAPlainLoopDoes) {
    Random random(1);
    for (const Case& test : cases()) {
        const KernelRow& kernels = row(test.element);
        EXPECT_EQ(kernels.bytes, test.bytes);
        const Kernel plain = kernels.plain[static_cast<std::size_t>(test.operation)];
        if (plain == nullptr && test.element == Element::float16) continue;
        ASSERT_NE(plain, nullptr) << test.name();
        for (const Trial& trial : trials(test.bytes)) {
            ASSERT_TRUE(holds(test, plain, trial, random));
        }
    }
}

// Ranks on different CPUs must get the same bits, those of NaNs too.
TEST_P(Kernels, GiveTheBitsOfTheBaseline) {
    Random random(2);
    constexpr std::size_t elements = 3001;
    for (const Case& test : cases()) {
        const auto kernel_of = [&](const KernelTable& table) {
            return table.rows[static_cast<std::size_t>(test.element)].plain[static_cast<std::size_t>(test.operation)];
        };
        const Kernel here = kernel_of(*variant_->table);
        const Kernel baseline = kernel_of(*kernel_variants().front().table);
        if (here == nullptr || baseline == nullptr) continue;
        Buffer left(elements * test.bytes, 0, random);
        Buffer right(elements * test.bytes, 0, random);
        test.fill(left.elements(), elements, random);
        test.fill(right.elements(), elements, random);
        Bytes result(elements * test.bytes);
        Bytes expected(elements * test.bytes);
        here(left.elements(), right.elements(), result.data(), elements);
        baseline(left.elements(), right.elements(), expected.data(), elements);
        EXPECT_TRUE(result == expected) << test.name();
    }
}

// A program may have asked for a signal with each of these (Fortran's -ffpe-trap): nothing may be computed of what lies around the operands, which here are
// zeros between NaNs that signal when they are used, as floats and as doubles.
TEST_P(Kernels, RaiseNoExceptionOfTheirOwn) {
    constexpr int exceptions = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
    for (const std::uint16_t signalling : {std::uint16_t{0x7fb4}, std::uint16_t{0x7ff4}})
        for (const Case& test : cases()) {
            const Kernel kernel = row(test.element).plain[static_cast<std::size_t>(test.operation)];
            if (kernel == nullptr) continue;
            for (std::size_t elements = 0; elements <= 70; ++elements)
                for (const std::size_t misaligned : {0U, 4U, 8U, 20U}) {
                    Random random(3);
                    std::vector<Buffer> buffers;
                    for (int i = 0; i < 3; ++i) {
                        Buffer& each = buffers.emplace_back(elements * test.bytes, misaligned, random);
                        for (std::size_t at = 0; at + 2 <= each.memory().size(); at += 2)
                            std::memcpy(each.memory().data() + at, &signalling, 2);
                        std::memset(each.elements(), 0, elements * test.bytes);
                    }
                    std::feclearexcept(FE_ALL_EXCEPT);
                    kernel(buffers[0].elements(), buffers[1].elements(), buffers[2].elements(), elements);
                    ASSERT_EQ(std::fetestexcept(exceptions), 0) << test.name() << ", " << elements << " elements";
                }
        }
}

std::vector<std::string> variants() {
    std::vector<std::string> all;
    for (const KernelVariant& variant : kernel_variants()) all.emplace_back(variant.name);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Variants, Kernels, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param; });

TEST(ChosenKernels, AreOfTheBestVariantThatRuns) {
    const KernelVariant& chosen = chosen_kernel_variant();
    EXPECT_TRUE(chosen.runs_here());
    for (const KernelVariant& variant : kernel_variants())
        EXPECT_TRUE(&variant <= &chosen || !variant.runs_here()) << variant.name;
    EXPECT_EQ(
        find_kernel(Operation::sum, Element::float64),
        chosen.table->rows[static_cast<std::size_t>(Element::float64)].plain[static_cast<std::size_t>(Operation::sum)]);
    EXPECT_EQ(element_bytes(Element::double_int), 16U);
}

}  // namespace
}  // namespace hcoll::test
