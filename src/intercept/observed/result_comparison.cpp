// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/observed/result_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/hash.hpp"
#include "base/own_arithmetic.hpp"

namespace hcoll {

namespace {

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// (steps) u / (1 - steps u), and a little more for what it is multiplied with.
template <typename T>
double relative_bound(double steps) {
    const double error = steps * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    return error < 0.5 ? 2 * 1.001 * error / (1 - error) : std::numeric_limits<double>::infinity();
}

template <typename T>
bool is_sum(T own, T other, double magnitude, int ranks) {
    if (own == other || (std::isnan(own) && std::isnan(other))) return true;
    if (std::isnan(magnitude)) return false;  // an operand is not a number, so no sum is
    // Beyond it some order may have overflowed.
    const auto most =
        static_cast<double>(std::min<long double>(std::numeric_limits<T>::max(), std::numeric_limits<double>::max()));
    if (magnitude >= most / 2) return true;
    // A program may have numbers that small taken for 0, in operands and in sums on the way, in either order.
    const double flushed = 4.0 * ranks * static_cast<double>(std::numeric_limits<T>::min());
    return std::isfinite(own) && std::isfinite(other) &&
           static_cast<double>(std::abs(own - other)) <= relative_bound<T>(ranks - 1) * magnitude + flushed;
}

template <typename T>
bool stays_in_range(double magnitude) {
    return magnitude < std::numeric_limits<T>::max_exponent - 8;
}

template <typename T>
bool is_product(const std::byte* own, const std::byte* other, std::size_t numbers, double magnitude, int ranks) {
    if (!stays_in_range<T>(magnitude)) return true;
    const T a = load<T>(own);
    const T b = load<T>(other);
    if (numbers == 1) return a == b || std::abs(a - b) <= static_cast<T>(relative_bound<T>(ranks - 1)) * std::abs(b);
    const T a_imaginary = load<T>(own + sizeof(T));
    const T b_imaginary = load<T>(other + sizeof(T));
    return std::hypot(a - b, a_imaginary - b_imaginary) <=
           static_cast<T>(relative_bound<T>(3.0 * (ranks - 1))) * std::hypot(b, b_imaginary);
}

// Calls `use` with a number of the kind.
template <typename Kind, typename Use>
auto with_number(Kind number, Use&& use) {
    switch (number) {
        case Kind::single: return use(float{});
        case Kind::extended: return use(static_cast<long double>(0));
        default: return use(double{});
    }
}

}  // namespace

ResultComparison ResultComparison::of_reduction(std::optional<Operation> operation, std::optional<Element> element,
                                                int ranks) {
    ResultComparison made;
    made.rule_ = Rule::none;
    made.ranks_ = ranks;
    made.has_all_bytes_ = element && *element != Element::long_double && *element != Element::complex_long_double &&
                          *element != Element::plain_complex_long_double && *element != Element::long_double_int;
    if (!element) return made;
    const bool is_extreme = operation == Operation::min || operation == Operation::max;
    const bool is_arithmetic = is_extreme || operation == Operation::sum || operation == Operation::prod;
    const auto is = [&](Rule rule, std::size_t bytes, Number number = Number::none, std::size_t numbers = 1) {
        made.rule_ = rule;
        made.bytes_ = bytes;
        made.number_ = number;
        made.numbers_ = numbers;
    };
    const auto floating = [&](Number number, std::size_t bytes, std::size_t numbers) {
        if (!operation) return;
        const Rule rule = operation == Operation::sum    ? Rule::sums
                          : operation == Operation::prod ? Rule::products
                                                         : Rule::values;
        is(rule, numbers * bytes, number, numbers);
    };
    switch (*element) {
        // Sums that are too large wrap or saturate, and some MPI libraries compare unsigned numbers as signed.
        case Element::int8:
        case Element::uint8:
            if (!is_arithmetic) is(Rule::bytes, 1);
            break;
        case Element::int16:
        case Element::uint16:
            if (!is_arithmetic) is(Rule::bytes, 2);
            break;
        case Element::uint32:
            if (!is_extreme) is(Rule::bytes, 4);
            break;
        case Element::uint64:
            if (!is_extreme) is(Rule::bytes, 8);
            break;
        case Element::int32: is(Rule::bytes, 4); break;
        case Element::int64: is(Rule::bytes, 8); break;
        case Element::float32: floating(Number::single, sizeof(float), 1); break;
        case Element::float64: floating(Number::twofold, sizeof(double), 1); break;
        case Element::long_double: floating(Number::extended, sizeof(long double), 1); break;
        case Element::complex_float32:
        case Element::plain_complex_float32: floating(Number::single, sizeof(float), 2); break;
        case Element::complex_float64:
        case Element::plain_complex_float64: floating(Number::twofold, sizeof(double), 2); break;
        case Element::complex_long_double:
        case Element::plain_complex_long_double: floating(Number::extended, sizeof(long double), 2); break;
        case Element::logical8:
        case Element::byte: is(Rule::bytes, 1); break;
        case Element::logical16: is(Rule::bytes, 2); break;
        case Element::logical32: is(Rule::bytes, 4); break;
        case Element::logical64: is(Rule::bytes, 8); break;
        case Element::long_int: is(Rule::bytes, sizeof(long) + sizeof(int)); break;
        case Element::int_int: is(Rule::bytes, 2 * sizeof(int)); break;
        case Element::short_int: is(Rule::bytes, sizeof(short) + sizeof(int)); break;
        case Element::float_int: is(Rule::pairs, sizeof(float) + sizeof(int), Number::single); break;
        case Element::double_int: is(Rule::pairs, sizeof(double) + sizeof(int), Number::twofold); break;
        case Element::two_floats: is(Rule::pairs, 2 * sizeof(float), Number::single); break;
        case Element::two_doubles: is(Rule::pairs, 2 * sizeof(double), Number::twofold); break;
        default: break;
    }
    // What the program's own operation makes of pairs is its own, and short integers may be floating-point numbers of 16 bits to it.
    if (!operation && (made.rule_ == Rule::pairs || made.bytes_ < 4)) made.rule_ = Rule::none;
    return made;
}

void ResultComparison::magnitudes(const std::byte* operand, std::size_t elements, double* result) const {
    const OwnArithmetic own_rules;
    with_number(number_, [&]<typename T>(T) {
        if (rule_ == Rule::sums) {
            for (std::size_t i = 0; i < elements * numbers_; ++i)
                result[i] = static_cast<double>(std::abs(load<T>(operand + i * sizeof(T))));
            return;
        }
        for (std::size_t i = 0; i < elements; ++i) {
            const std::byte* element = operand + i * bytes_;
            if (rule_ != Rule::products) {
                result[i] = std::isnan(load<T>(element)) ? std::numeric_limits<double>::quiet_NaN() : 0;
                continue;
            }
            const T size =
                numbers_ == 1 ? std::abs(load<T>(element)) : std::hypot(load<T>(element), load<T>(element + sizeof(T)));
            const auto magnitude = static_cast<double>(std::abs(std::log2(size)));
            result[i] = std::isnan(magnitude) ? std::numeric_limits<double>::infinity() : magnitude;
        }
    });
}

std::optional<std::size_t> ResultComparison::first_wrong(std::span<const std::byte> own,
                                                         std::span<const std::byte> other,
                                                         std::span<const double> magnitudes) const {
    const OwnArithmetic own_rules;
    if (rule_ == Rule::none || own.empty() || std::memcmp(own.data(), other.data(), own.size()) == 0) return {};
    for (std::size_t i = 0; i < own.size() / bytes_; ++i) {
        const std::byte* mine = own.data() + i * bytes_;
        const std::byte* others = other.data() + i * bytes_;
        const bool is_right = with_number(number_, [&]<typename T>(T) {
            switch (rule_) {
                case Rule::values: return std::isnan(magnitudes[i]) || load<T>(mine) == load<T>(others);
                case Rule::pairs:
                    return std::isnan(magnitudes[i]) ||
                           (load<T>(mine) == load<T>(others) &&
                            std::memcmp(mine + sizeof(T), others + sizeof(T), bytes_ - sizeof(T)) == 0);
                case Rule::sums:
                    for (std::size_t k = 0; k < numbers_; ++k)
                        if (!is_sum(load<T>(mine + k * sizeof(T)), load<T>(others + k * sizeof(T)),
                                    magnitudes[i * numbers_ + k], ranks_))
                            return false;
                    return true;
                case Rule::products: return is_product<T>(mine, others, numbers_, magnitudes[i], ranks_);
                default: return std::memcmp(mine, others, bytes_) == 0;
            }
        });
        if (!is_right) return i;
    }
    return {};
}

std::uint64_t ResultComparison::hash(std::span<const std::byte> own, std::span<const double> magnitudes) const {
    const OwnArithmetic own_rules;
    if (number_ == Number::none) {
        if (!has_all_bytes_) return 0;
        return fnv1a({reinterpret_cast<const char*>(own.data()), own.size()});
    }
    // Which of several NaNs it is depends on the order, as the sign of a zero that is the largest of two.
    return with_number(number_, [&]<typename T>(T) {
        constexpr std::size_t significant = std::min<std::size_t>(sizeof(T), 10);
        std::uint64_t hash = 0;
        const std::size_t numbers = rule_ == Rule::pairs ? 1 : numbers_;
        for (std::size_t at = 0; at < own.size(); at += bytes_) {
            const std::size_t of_element = at / bytes_ * magnitudes_of_element();
            for (std::size_t k = 0; k < numbers; ++k) {
                if (!magnitudes.empty() && !std::isfinite(magnitudes[of_element + (rule_ == Rule::sums ? k : 0)]))
                    continue;
                T value = load<T>(&own[at + k * sizeof(T)]);
                if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
                if (value == 0 && rule_ != Rule::sums && rule_ != Rule::products) value = 0;
                std::array<char, significant> bytes;
                std::memcpy(bytes.data(), &value, significant);
                hash = hash * 0x9e3779b97f4a7c15ULL + fnv1a({bytes.data(), significant});
                if (rule_ != Rule::pairs) continue;
                const auto* index = reinterpret_cast<const char*>(&own[at + sizeof(T)]);
                hash = hash * 0x9e3779b97f4a7c15ULL + fnv1a({index, bytes_ - sizeof(T)});
            }
        }
        return hash;
    });
}

std::string ResultComparison::element_text(const std::byte* element) const {
    if (number_ != Number::none)
        return with_number(number_, [&]<typename T>(T) {
            std::string text = fmt::format("{}", load<T>(element));
            if (numbers_ == 2) text += fmt::format(" + {} i", load<T>(element + sizeof(T)));
            return text;
        });
    if (bytes_ == 4) return fmt::format("{}", load<std::int32_t>(element));
    if (bytes_ == 8) return fmt::format("{}", load<std::int64_t>(element));
    std::string text = "0x";
    for (std::size_t i = bytes_; i-- > 0;) text += fmt::format("{:02x}", std::to_integer<unsigned>(element[i]));
    return text;
}

}  // namespace hcoll
