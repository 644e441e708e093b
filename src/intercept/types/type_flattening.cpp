// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/type_flattening.hpp"

#include <algorithm>
#include <utility>

#include "intercept/types/type_contents.hpp"

namespace hcoll {

using Row = TypeLayout::Row;

namespace {

struct NotFlattened {};

// What is worth being kept, and how long finding it may take (some ms).
constexpr std::size_t most_rows = 1 << 16;
constexpr std::uint64_t most_steps = 1 << 22;
constexpr std::uint64_t steps_of_contents = 256;  // to ask the vendor what a type was made of
constexpr int deepest = 64;

void count_steps(std::uint64_t& steps, std::uint64_t more) {
    steps += more;
    if (steps > most_steps) throw NotFlattened{};
}

// Rows in the order of the signature, joined where that is possible.
class Rows {
public:
    const std::vector<Row>& list() const { return rows_; }
    std::vector<Row> take() { return std::move(rows_); }

    void append(Row row) {
        if (row.bytes == 0 || row.blocks == 0) return;
        if (row.blocks > 1 && row.stride == static_cast<std::ptrdiff_t>(row.bytes)) {
            row.bytes *= row.blocks;
            row.blocks = 1;
        }
        if (!rows_.empty() && join(rows_.back(), row)) return;
        if (rows_.size() == most_rows) throw NotFlattened{};
        rows_.push_back(row);
    }

    // `count` times what is in `inner`, at `offset` and every `stride` bytes.
    void repeat(const Rows& inner, std::ptrdiff_t offset, std::int64_t count, std::ptrdiff_t stride,
                std::uint64_t& steps) {
        if (count < 0) throw NotFlattened{};
        const std::vector<Row>& rows = inner.list();
        if (rows.size() == 1 && rows.front().blocks == 1) {
            count_steps(steps, 1);
            return append({.offset = offset + rows.front().offset,
                           .bytes = rows.front().bytes,
                           .blocks = static_cast<std::uint64_t>(count),
                           .stride = stride});
        }
        if (rows.empty()) return;
        for (std::int64_t i = 0; i < count; ++i, offset += stride) {
            count_steps(steps, rows.size());
            for (Row row : rows) {
                row.offset += offset;
                append(row);
            }
        }
    }

private:
    static bool join(Row& last, const Row& next) {
        const std::ptrdiff_t distance = next.offset - last.offset;
        if (last.blocks == 1 && next.blocks == 1 && distance == static_cast<std::ptrdiff_t>(last.bytes)) {
            last.bytes += next.bytes;
            return true;
        }
        const bool are_rows = next.blocks > 1 && last.blocks > 1;
        if (last.bytes != next.bytes || (are_rows && next.stride != last.stride)) return false;
        const Row& longer = last.blocks > 1 ? last : next;
        const std::ptrdiff_t stride = longer.blocks > 1 ? longer.stride : distance;
        if (distance != static_cast<std::ptrdiff_t>(last.blocks) * stride) return false;
        last.stride = stride;
        last.blocks += next.blocks;
        return true;
    }

    std::vector<Row> rows_;
};

std::ptrdiff_t extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    if (mpi.Type_get_extent(type, &lower_bound, &extent) != MPI_SUCCESS) throw NotFlattened{};
    return extent;
}

// Pairs of a value and an int: the only predefined types whose bytes may have gaps. Nothing where it is none of them.
Rows predefined_rows(MPI_Datatype type) {
    Rows rows;
    const std::uint64_t size = type_size(type);
    const bool has_gaps = static_cast<std::uint64_t>(extent_of(type)) != size;
    if (type == MPI_SHORT_INT && has_gaps) {
        struct ShortInt {
            short value;
            int index;
        };
        rows.append({.bytes = sizeof(short)});
        rows.append({.offset = offsetof(ShortInt, index), .bytes = sizeof(int)});
        return rows;
    }
    // The gap of the other pairs is at their end.
    const bool is_pair = type == MPI_DOUBLE_INT || type == MPI_LONG_INT || type == MPI_LONG_DOUBLE_INT;
    if (has_gaps && !is_pair) throw NotFlattened{};
    rows.append({.bytes = size});
    return rows;
}

// Does what was found agree with what the vendor says? Otherwise it knows better. (To some, what has no bytes takes up room.)
bool agrees(const std::vector<Row>& rows, MPI_Datatype type) {
    std::uint64_t size = 0;
    for (const Row& row : rows) size += row.bytes * row.blocks;
    if (size != type_size(type)) return false;
    if (rows.empty()) return true;
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    if (mpi.Type_get_true_extent(type, &lower_bound, &extent) != MPI_SUCCESS) return false;
    std::ptrdiff_t first = rows.front().offset;
    std::ptrdiff_t end = first;
    for (const Row& row : rows) {
        const std::ptrdiff_t last = row.offset + static_cast<std::ptrdiff_t>(row.blocks - 1) * row.stride;
        first = std::min({first, row.offset, last});
        end = std::max(
            {end, row.offset + static_cast<std::ptrdiff_t>(row.bytes), last + static_cast<std::ptrdiff_t>(row.bytes)});
    }
    return first >= lower_bound && end <= lower_bound + extent;
}

class Flattening {
public:
    // Each type that another one is made of is compared with what the vendor says: what differs inside may not show outside. (Open
    // MPI 4.1 takes single characters, each one before the last, for ones that follow each other.)
    Rows flatten(MPI_Datatype type, int depth = 0) {
        if (depth == deepest) throw NotFlattened{};
        Rows rows = take_apart(type, depth);
        if (!agrees(rows.list(), type)) throw NotFlattened{};
        return rows;
    }

private:
    using Number = std::int64_t;

    Rows take_apart(MPI_Datatype type, int depth) {
        const TypeContents contents(type);
        if (is_predefined_combiner(contents.combiner())) return predefined_rows(type);
        if (!contents.is_known()) throw NotFlattened{};
        count_steps(steps_, steps_of_contents);
        numbers_of(contents, 0, 0);
        if (contents.combiner() == MPI_COMBINER_STRUCT) return flatten_struct(contents, depth);
        if (contents.types().size() != 1) throw NotFlattened{};
        const Rows inner = flatten(contents.types().front(), depth + 1);
        return combine(contents, inner, extent_of(contents.types().front()));
    }

    // `count` of the arguments, from that one on.
    static const Number* numbers_of(const TypeContents& contents, std::size_t first, std::int64_t count) {
        const auto& numbers = contents.numbers();
        if (count < 0 || first > numbers.size() || static_cast<std::size_t>(count) > numbers.size() - first)
            throw NotFlattened{};
        return numbers.data() + first;
    }

    Rows flatten_struct(const TypeContents& contents, int depth) {
        const Number blocks = *numbers_of(contents, 0, 1);
        const Number* lengths = numbers_of(contents, 1, 2 * blocks);
        const Number* displacements = lengths + blocks;
        if (contents.types().size() != static_cast<std::size_t>(blocks)) throw NotFlattened{};
        Rows rows;
        Rows inner;  // of the last member's type, which the next one's often is
        MPI_Datatype last = MPI_DATATYPE_NULL;
        for (Number i = 0; i < blocks; ++i) {
            MPI_Datatype type = contents.types()[static_cast<std::size_t>(i)];
            if (type != last) inner = flatten(type, depth + 1);
            last = type;
            rows.repeat(inner, displacements[i], lengths[i], extent_of(type), steps_);
        }
        return rows;
    }

    // Of a type that was made of one other, whose extent that is.
    Rows combine(const TypeContents& contents, const Rows& inner, std::ptrdiff_t extent) {
        Rows rows;
        switch (contents.combiner()) {
            case MPI_COMBINER_DUP:
            case MPI_COMBINER_RESIZED: return inner;
            case MPI_COMBINER_CONTIGUOUS:
                rows.repeat(inner, 0, *numbers_of(contents, 0, 1), extent, steps_);
                return rows;
            case MPI_COMBINER_VECTOR:
            case MPI_COMBINER_HVECTOR: {
                const Number* numbers = numbers_of(contents, 0, 3);
                Rows block;
                block.repeat(inner, 0, numbers[1], extent, steps_);
                const std::ptrdiff_t unit = contents.combiner() == MPI_COMBINER_VECTOR ? extent : 1;
                rows.repeat(block, 0, numbers[0], numbers[2] * unit, steps_);
                return rows;
            }
            case MPI_COMBINER_INDEXED:
            case MPI_COMBINER_HINDEXED: {
                const Number blocks = *numbers_of(contents, 0, 1);
                const Number* lengths = numbers_of(contents, 1, 2 * blocks);
                const std::ptrdiff_t unit = contents.combiner() == MPI_COMBINER_INDEXED ? extent : 1;
                for (Number i = 0; i < blocks; ++i)
                    rows.repeat(inner, lengths[blocks + i] * unit, lengths[i], extent, steps_);
                return rows;
            }
            case MPI_COMBINER_INDEXED_BLOCK:
            case MPI_COMBINER_HINDEXED_BLOCK: {
                const Number* numbers = numbers_of(contents, 0, 2);
                const Number* displacements = numbers_of(contents, 2, numbers[0]);
                const std::ptrdiff_t unit = contents.combiner() == MPI_COMBINER_INDEXED_BLOCK ? extent : 1;
                Rows block;
                block.repeat(inner, 0, numbers[1], extent, steps_);
                for (Number i = 0; i < numbers[0]; ++i) rows.repeat(block, displacements[i] * unit, 1, 0, steps_);
                return rows;
            }
            case MPI_COMBINER_SUBARRAY: return flatten_subarray(contents, inner, extent);
            default: throw NotFlattened{};
        }
    }

    // Dimension by dimension, the one whose index changes fastest first.
    Rows flatten_subarray(const TypeContents& contents, const Rows& inner, std::ptrdiff_t extent) {
        const Number* numbers = numbers_of(contents, 0, 2);
        const Number dimensions = numbers[0];
        // Open MPI 6.0.0rc2 tells a program of the standard ABI its own numbers here.
        if (numbers[1] != MPI_ORDER_C && numbers[1] != MPI_ORDER_FORTRAN) throw NotFlattened{};
        const bool is_last_fastest = numbers[1] == MPI_ORDER_C;
        const Number* sizes = numbers_of(contents, 2, 3 * dimensions);
        Rows rows = inner;
        std::ptrdiff_t stride = extent;
        for (Number i = 0; i < dimensions; ++i) {
            const Number* size = sizes + (is_last_fastest ? dimensions - 1 - i : i);
            Rows line;
            line.repeat(rows, size[2 * dimensions] * stride, size[dimensions], stride, steps_);
            rows = std::move(line);
            stride *= *size;
        }
        return rows;
    }

    std::uint64_t steps_ = 0;
};

}  // namespace

std::shared_ptr<const TypeLayout> flatten_type(MPI_Datatype type) {
    try {
        std::vector<Row> rows = Flattening().flatten(type).take();
        rows.shrink_to_fit();
        return std::make_shared<const TypeLayout>(std::move(rows), extent_of(type));
    } catch (const NotFlattened&) {
        return nullptr;
    }
}

}  // namespace hcoll
