// SPDX-License-Identifier: BSD-3-Clause
// What is measured: one collective with one set of arguments; and the names by which users choose it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hcoll::bench {

enum class Collective { bcast, reduce, allreduce, barrier, gather, scatter, allgather };
enum class ElementType { float32, float64, integer, character };
enum class Operator { sum, max, min, prod };
enum class Side { own, vendor };

// In the order of the enumerators.
inline constexpr std::array<std::string_view, 7> collective_names{"bcast",  "reduce",  "allreduce", "barrier",
                                                                  "gather", "scatter", "allgather"};
inline constexpr std::array<std::string_view, 4> element_type_names{"float", "double", "int", "char"};
inline constexpr std::array<std::string_view, 4> operator_names{"sum", "max", "min", "prod"};
inline constexpr std::array<std::string_view, 2> side_names{"own", "vendor"};

inline std::string_view name(Collective collective) { return collective_names[static_cast<std::size_t>(collective)]; }
inline std::string_view name(ElementType type) { return element_type_names[static_cast<std::size_t>(type)]; }
inline std::string_view name(Operator op) { return operator_names[static_cast<std::size_t>(op)]; }
inline std::string_view name(Side side) { return side_names[static_cast<std::size_t>(side)]; }

// Does every rank have a block of its own among those of all ranks?
inline bool has_blocks(Collective collective) { return collective >= Collective::gather; }
inline bool reduces(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce;
}

struct Subject {
    Collective collective = Collective::bcast;
    std::size_t bytes = 0;  // whole elements; of one rank's block where every rank has one; 0 for a barrier
    ElementType type = ElementType::float64;
    Operator op = Operator::sum;
    int root = 0;
    bool in_place = false;

    bool reduces() const { return bench::reduces(collective); }
    bool moves_data() const { return collective != Collective::barrier; }
    bool has_root() const {
        return collective == Collective::bcast || collective == Collective::reduce ||
               collective == Collective::gather || collective == Collective::scatter;
    }
    bool has_blocks() const { return bench::has_blocks(collective); }
};

inline std::size_t element_size(ElementType type) {
    switch (type) {
        case ElementType::float32: return sizeof(float);
        case ElementType::float64: return sizeof(double);
        case ElementType::integer: return sizeof(std::int32_t);
        case ElementType::character: break;
    }
    return 1;
}

}  // namespace hcoll::bench
