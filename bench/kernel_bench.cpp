// SPDX-License-Identifier: BSD-3-Clause
// How fast reduction kernels are, every variant that this CPU runs beside the others, and what memory allows.
//
//   hcoll-kernel-bench [--benchmark_filter='sum/float64/.*']
//
// Names are operation/element/variant/bytes of an operand. `apart` is that of the chosen variant, with the result
// apart; the others write over their right operand, as the engine does. GB/s count what is read and written, as STREAM
// does, so that memcpy and triad are bounds where operands do not fit into caches.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "algorithms/kernels/kernels.hpp"

namespace {

using namespace hcoll;

struct NamedOperation {
    Operation operation;
    const char* name;
};
constexpr NamedOperation operations[] = {
    {Operation::sum, "sum"},   {Operation::prod, "prod"}, {Operation::min, "min"},       {Operation::max, "max"},
    {Operation::land, "land"}, {Operation::lor, "lor"},   {Operation::lxor, "lxor"},     {Operation::band, "band"},
    {Operation::bor, "bor"},   {Operation::bxor, "bxor"}, {Operation::minloc, "minloc"}, {Operation::maxloc, "maxloc"},
};

struct NamedElement {
    Element element;
    const char* name;
};
constexpr NamedElement elements[] = {
    {Element::float64, "float64"},
    {Element::float32, "float32"},
    {Element::int32, "int32"},
    {Element::int64, "int64"},
    {Element::uint8, "uint8"},
    {Element::complex_float64, "complex_float64"},
    {Element::plain_complex_float64, "plain_complex_float64"},
    {Element::double_int, "double_int"},
};

// Operands and a result, at addresses that no cache confuses. All ones, of complex numbers too: sums and products of other
// floating-point numbers in place would run away to numbers that are slow.
class Buffers {
public:
    explicit Buffers(std::size_t bytes, Element element = Element::float64)
        : memory_(3 * (bytes + gap)), between_(bytes + gap) {
        constexpr float one = 1;
        constexpr double long_one = 1;
        const std::size_t step = element == Element::float32    ? sizeof one
                                 : element_bytes(element) == 16 ? 16
                                                                : sizeof long_one;
        const void* value = element == Element::float32 ? static_cast<const void*>(&one) : &long_one;
        const std::size_t size = element == Element::float32 ? sizeof one : sizeof long_one;
        for (std::size_t i = 0; i < memory_.size(); i += step) std::memcpy(memory_.data() + i, value, size);
    }
    std::byte* operator[](std::size_t buffer) { return memory_.data() + buffer * between_; }

private:
    static constexpr std::size_t gap = 4096 + 256;
    std::vector<std::byte> memory_;
    std::size_t between_;
};

void count_bytes(benchmark::State& state, std::size_t moved) {
    state.counters["GB/s"] = benchmark::Counter(
        static_cast<double>(moved), benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void run(benchmark::State& state, Kernel kernel, Element element, bool in_place) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    Buffers buffers(bytes, element);
    const std::size_t count = bytes / element_bytes(element);
    std::byte* result = buffers[in_place ? 1 : 2];
    for (auto _ : state) {
        kernel(buffers[0], buffers[1], result, count);
        benchmark::ClobberMemory();
    }
    count_bytes(state, 3 * bytes);
}

void copy(benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    Buffers buffers(bytes);
    for (auto _ : state) {
        std::memcpy(buffers[1], buffers[0], bytes);
        benchmark::ClobberMemory();
    }
    count_bytes(state, 2 * bytes);
}

void triad(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    std::vector<double> a(count, 1);
    std::vector<double> b(count, 2);
    std::vector<double> c(count, 3);
    for (auto _ : state) {
        for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3 * c[i];
        benchmark::ClobberMemory();
    }
    count_bytes(state, 3 * sizeof(double) * count);
}

void for_sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->Arg(4 << 10)->Arg(256 << 10)->Arg(4 << 20)->Arg(64 << 20);
}

}  // namespace

int main(int argc, char** argv) {
    for_sizes(benchmark::RegisterBenchmark("memcpy", copy));
    for_sizes(benchmark::RegisterBenchmark("triad", triad));
    for (const NamedElement& element : elements)
        for (const NamedOperation& operation : operations) {
            if (find_kernel(operation.operation, element.element) == nullptr) continue;
            const std::string name = std::string(operation.name) + "/" + element.name + "/";
            for (const KernelVariant& variant : kernel_variants()) {
                if (!variant.runs_here()) continue;
                const KernelRow& row = variant.table->rows[static_cast<std::size_t>(element.element)];
                const Kernel kernel = row.plain[static_cast<std::size_t>(operation.operation)];
                for_sizes(
                    benchmark::RegisterBenchmark((name + variant.name).c_str(), run, kernel, element.element, true));
            }
            const Kernel plain = find_kernel(operation.operation, element.element);
            for_sizes(benchmark::RegisterBenchmark((name + "apart").c_str(), run, plain, element.element, false));
        }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
