#include "intercept/types/type_layout.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "base/shared_copy.hpp"
#include "intercept/types/type_contents.hpp"
#include "progress/engine/per_process.hpp"

namespace hcoll {

using Row = TypeLayout::Row;

namespace {

// ---- taking a type apart ----

struct NotFlattened {};

// What is worth being kept, and how long finding it may take (some ms).
constexpr std::size_t most_rows = 1 << 16;
constexpr std::uint64_t most_steps = 1 << 22;
constexpr int deepest = 64;

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
            ++steps;
            return append({.offset = offset + rows.front().offset,
                           .bytes = rows.front().bytes,
                           .blocks = static_cast<std::uint64_t>(count),
                           .stride = stride});
        }
        if (rows.empty()) return;
        for (std::int64_t i = 0; i < count; ++i, offset += stride) {
            steps += rows.size();
            if (steps > most_steps) throw NotFlattened{};
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
        for (Number i = 0; i < blocks; ++i) {
            MPI_Datatype type = contents.types()[static_cast<std::size_t>(i)];
            rows.repeat(flatten(type, depth + 1), displacements[i], lengths[i], extent_of(type), steps_);
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

// nullptr where it is not known. May throw std::bad_alloc.
std::shared_ptr<const TypeLayout> make_layout(MPI_Datatype type) {
    try {
        std::vector<Row> rows = Flattening().flatten(type).take();
        rows.shrink_to_fit();
        return std::make_shared<const TypeLayout>(std::move(rows), extent_of(type));
    } catch (const NotFlattened&) {
        return nullptr;
    }
}

// ---- what is kept with a type ----

using Kept = std::shared_ptr<const TypeLayout>;  // nullptr: it is not known

struct LayoutKey {
    std::mutex mutex;
    std::atomic<int> keyval{MPI_KEYVAL_INVALID};
};
PerProcess<LayoutKey> layout_key;

int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int delete_kept(MPI_Datatype, int, void* value, void*) {
    delete static_cast<Kept*>(value);
    return MPI_SUCCESS;
}

const Kept* find_kept(MPI_Datatype type, int keyval) {
    void* value = nullptr;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID || mpi.Type_get_attr(type, keyval, &value, &found) != MPI_SUCCESS || found == 0)
        return nullptr;
    return static_cast<const Kept*>(value);
}

// Predefined types keep nothing: they are never freed.
const TypeLayout* find_pair_layout(MPI_Datatype type) {
    struct Pair {
        MPI_Datatype type;
        Kept layout;
    };
    static const auto* const pairs = new std::array<Pair, 4>{{{MPI_DOUBLE_INT, make_layout(MPI_DOUBLE_INT)},
                                                              {MPI_LONG_INT, make_layout(MPI_LONG_INT)},
                                                              {MPI_SHORT_INT, make_layout(MPI_SHORT_INT)},
                                                              {MPI_LONG_DOUBLE_INT, make_layout(MPI_LONG_DOUBLE_INT)}}};
    for (const Pair& pair : *pairs)
        if (pair.type == type) return pair.layout.get();
    return nullptr;
}

const TypeLayout* keep_layout(MPI_Datatype type) {
    LayoutKey& key = layout_key.get();
    const std::lock_guard lock(key.mutex);
    int keyval = key.keyval.load(std::memory_order_relaxed);
    if (keyval == MPI_KEYVAL_INVALID) {
        if (mpi.Type_create_keyval(copy_nothing, delete_kept, &keyval, nullptr) != MPI_SUCCESS) return nullptr;
        key.keyval.store(keyval, std::memory_order_release);
    }
    // Another thread may have been first; what it keeps may be in use.
    if (const Kept* kept = find_kept(type, keyval)) return kept->get();
    auto kept = std::make_unique<Kept>(make_layout(type));
    if (mpi.Type_set_attr(type, keyval, kept.get()) != MPI_SUCCESS) return nullptr;
    return kept.release()->get();
}

// ---- moving ----

// Blocks of `bytes` bytes, which the compiler knows to be `known` where that is not 0.
template <bool to_elements, std::size_t known>
void move_blocks_of(std::byte* memory, std::ptrdiff_t memory_stride, std::byte* packed, std::ptrdiff_t packed_stride,
                    std::uint64_t blocks, std::size_t bytes) {
    for (std::uint64_t i = 0; i < blocks; ++i) {
        // What is unpacked may lie in memory that another rank wrote.
        if constexpr (to_elements && known == 0)
            copy_shared(memory, packed, bytes);
        else if constexpr (to_elements)
            std::memcpy(memory, packed, known);
        else
            std::memcpy(packed, memory, known != 0 ? known : bytes);
        memory += memory_stride;
        packed += packed_stride;
    }
}

template <bool to_elements>
void move_blocks(std::byte* memory, std::ptrdiff_t memory_stride, std::byte* packed, std::ptrdiff_t packed_stride,
                 std::uint64_t blocks, std::uint64_t bytes) {
    const auto move = [&]<std::size_t length>() {
        move_blocks_of<to_elements, length>(memory, memory_stride, packed, packed_stride, blocks, bytes);
    };
    // The lengths of values, and of pairs of them.
    switch (bytes) {
        case 1: return move.template operator()<1>();
        case 2: return move.template operator()<2>();
        case 4: return move.template operator()<4>();
        case 8: return move.template operator()<8>();
        case 12: return move.template operator()<12>();
        case 16: return move.template operator()<16>();
        case 24: return move.template operator()<24>();
        case 32: return move.template operator()<32>();
        default: return move.template operator()<0>();
    }
}

}  // namespace

TypeLayout::TypeLayout(std::vector<Row> rows, std::ptrdiff_t extent) : rows_(std::move(rows)), extent_(extent) {
    for (Row& row : rows_) {
        row.position = size_;
        size_ += row.bytes * row.blocks;
    }
}

// So many elements at a time that their packed bytes stay in the first-level cache, row by row of all of them.
template <bool to_elements>
void TypeLayout::move_whole(std::byte* elements, std::uint64_t count, std::byte* packed) const {
    constexpr std::uint64_t cached_bytes = 16 << 10;
    const std::uint64_t most = std::max<std::uint64_t>(cached_bytes / size_, 1);
    const auto size = static_cast<std::ptrdiff_t>(size_);
    while (count != 0) {
        const std::uint64_t now = std::min(most, count);
        for (const Row& row : rows_) {
            std::byte* first = elements + row.offset;
            std::byte* target = packed + row.position;
            const auto bytes = static_cast<std::ptrdiff_t>(row.bytes);
            if (row.blocks > now)
                for (std::uint64_t i = 0; i < now; ++i, first += extent_, target += size)
                    move_blocks<to_elements>(first, row.stride, target, bytes, row.blocks, row.bytes);
            else
                for (std::uint64_t i = 0; i < row.blocks; ++i, first += row.stride, target += bytes)
                    move_blocks<to_elements>(first, extent_, target, size, now, row.bytes);
        }
        elements += static_cast<std::ptrdiff_t>(now) * extent_;
        packed += now * size_;
        count -= now;
    }
}

// Of one element.
template <bool to_elements>
void TypeLayout::move_part(std::byte* element, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const {
    auto row = std::upper_bound(rows_.begin(), rows_.end(), position,
                                [](std::uint64_t at, const Row& each) { return at < each.position; }) -
               1;
    for (; bytes != 0; ++row) {
        std::uint64_t block = (position - row->position) / row->bytes;
        const std::uint64_t within = (position - row->position) % row->bytes;
        const std::uint64_t here = std::min(bytes, row->bytes * (row->blocks - block) - within);
        position += here;
        bytes -= here;
        std::uint64_t left = here;
        const auto move = [&](std::uint64_t skipped, std::uint64_t blocks, std::uint64_t length) {
            move_blocks<to_elements>(element + row->offset + static_cast<std::ptrdiff_t>(block) * row->stride +
                                         static_cast<std::ptrdiff_t>(skipped),
                                     row->stride, packed, static_cast<std::ptrdiff_t>(length), blocks, length);
            packed += blocks * length;
            left -= blocks * length;
            block += blocks;
        };
        if (within != 0) move(within, 1, std::min(left, row->bytes - within));
        if (left >= row->bytes) move(0, left / row->bytes, row->bytes);
        if (left != 0) move(0, 1, left);
    }
}

template <bool to_elements>
void TypeLayout::move(std::byte* elements, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const {
    if (bytes == 0 || size_ == 0) return;
    std::byte* element = elements + static_cast<std::ptrdiff_t>(position / size_) * extent_;
    if (const std::uint64_t within = position % size_; within != 0) {
        const std::uint64_t part = std::min(bytes, size_ - within);
        move_part<to_elements>(element, within, part, packed);
        element += extent_;
        packed += part;
        bytes -= part;
    }
    const std::uint64_t whole = bytes / size_;
    move_whole<to_elements>(element, whole, packed);
    if (const std::uint64_t rest = bytes % size_; rest != 0)
        move_part<to_elements>(element + static_cast<std::ptrdiff_t>(whole) * extent_, 0, rest, packed + whole * size_);
}

void TypeLayout::pack(const void* elements, std::uint64_t position, std::uint64_t bytes, std::byte* target) const {
    move<false>(static_cast<std::byte*>(const_cast<void*>(elements)), position, bytes, target);
}

void TypeLayout::unpack(void* elements, std::uint64_t position, std::uint64_t bytes, const std::byte* source) const {
    move<true>(static_cast<std::byte*>(elements), position, bytes, const_cast<std::byte*>(source));
}

const TypeLayout* find_type_layout(MPI_Datatype type) {
    if (const Kept* kept = find_kept(type, layout_key.get().keyval.load(std::memory_order_acquire))) [[likely]]
        return kept->get();
    return is_predefined_combiner(combiner_of(type)) ? find_pair_layout(type) : keep_layout(type);
}

void forget_type_layouts() {
    LayoutKey& key = layout_key.get();
    const std::lock_guard lock(key.mutex);
    int keyval = key.keyval.exchange(MPI_KEYVAL_INVALID);
    if (keyval != MPI_KEYVAL_INVALID) mpi.Type_free_keyval(&keyval);
}

}  // namespace hcoll
