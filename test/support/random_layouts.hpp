// SPDX-License-Identifier: BSD-3-Clause
// Random derived datatypes: of every kind that MPI makes, one of the other, with lengths of 0 and bounds and displacements below 0.
#pragma once

#include "layouts.hpp"
#include "random.hpp"

#include <algorithm>
#include <utility>

namespace hcoll::test {

// Open MPI 4.1 packs some types that are partly made of parts without bytes as if they had no gaps.
#if defined(OPEN_MPI)
inline constexpr bool vendor_packs_empty_parts = false;
#else
inline constexpr bool vendor_packs_empty_parts = true;
#endif

// The same on all ranks for the same numbers. No two values of an item, or of neighboring items, lie in one place.
class RandomLayouts {
public:
    // `has_empty`: some are made of parts without bytes, too.
    RandomLayouts(std::uint64_t seed, bool has_empty) : random_(seed), has_empty_(has_empty) {}

    Layout next() {
        while (true) {
            Made made = make(static_cast<int>(random_.between(1, 3)));
            if (may_be_used(made)) return layout_of(std::move(made));
            release(made);
        }
    }

private:
    // A type, and where its values lie in the order of the signature.
    struct Made {
        std::string name;
        MPI_Datatype handle = MPI_DATATYPE_NULL;
        std::vector<Part> parts;
        bool is_predefined = false;
    };
    static constexpr std::size_t most_parts = 60;
    static constexpr std::ptrdiff_t longest = 2000;

    static void release(Made& made) {
        if (!made.is_predefined) check(MPI_Type_free(&made.handle));
    }

    static std::pair<MPI_Aint, MPI_Aint> bounds_of(MPI_Datatype type) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        check(MPI_Type_get_extent(type, &lower, &extent));
        return {lower, extent};
    }

    static bool may_be_used(const Made& made) {
        if (made.parts.empty() || made.parts.size() > most_parts) return false;
        const MPI_Aint extent = bounds_of(made.handle).second;
        if (extent <= 0 || extent > longest) return false;
        // Open MPI 4.1 tells wrong bounds of some types whose parts are resized and go backwards.
        MPI_Aint lower = 0;
        MPI_Aint length = 0;
        check(MPI_Type_get_true_extent(made.handle, &lower, &length));
        for (const Part& part : made.parts)
            if (part.offset < lower || part.offset + static_cast<std::ptrdiff_t>(part.size) > lower + length)
                return false;
        std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> places;
        for (std::ptrdiff_t item = 0; item < 8; ++item)
            for (const Part& part : made.parts)
                places.emplace_back(item * extent + part.offset,
                                    item * extent + part.offset + static_cast<std::ptrdiff_t>(part.size));
        std::sort(places.begin(), places.end());
        if (places.back().second - places.front().first > 10 * longest) return false;
        for (std::size_t i = 1; i < places.size(); ++i)
            if (places[i].first < places[i - 1].second) return false;
        return vendor_packs(made, extent);
    }

    // Whether the MPI library itself finds the values where they are, and in their order. Open MPI 4.1 does not with one in some 20,000 types
    // (values of a struct's member that lie in order but for neighbors that change places).
    static bool vendor_packs(const Made& made, std::ptrdiff_t extent) {
        constexpr std::ptrdiff_t items = 3;
        MPI_Datatype type = made.handle;
        check(MPI_Type_commit(&type));
        std::ptrdiff_t first = 0;
        std::ptrdiff_t end = 0;
        for (const Part& part : made.parts) {
            first = std::min(first, part.offset);
            end = std::max(end, part.offset + static_cast<std::ptrdiff_t>(part.size));
        }
        std::vector<std::byte> memory(static_cast<std::size_t>(end - first + (items - 1) * extent));
        Random values(memory.size());
        for (std::byte& each : memory) each = static_cast<std::byte>(values.below(256));
        std::vector<std::byte> packed;
        std::vector<std::byte> unpacked(memory.size());
        for (std::ptrdiff_t item = 0; item < items; ++item)
            for (const Part& part : made.parts) {
                const std::ptrdiff_t place = item * extent + part.offset - first;
                packed.insert(packed.end(), memory.begin() + place,
                              memory.begin() + place + static_cast<std::ptrdiff_t>(part.size));
                std::copy_n(memory.begin() + place, part.size, unpacked.begin() + place);
            }
        const int length = static_cast<int>(packed.size());
        std::vector<std::byte> vendors(packed.size());
        int position = 0;
        check(MPI_Pack(memory.data() - first, items, type, vendors.data(), length, &position, MPI_COMM_SELF));
        if (position != length || vendors != packed) return false;
        std::vector<std::byte> apart(memory.size());
        position = 0;
        check(MPI_Unpack(packed.data(), length, &position, apart.data() - first, items, type, MPI_COMM_SELF));
        return apart == unpacked;
    }

    static Layout layout_of(Made made) {
        TestType type;
        type.name = std::move(made.name);
        type.handle = made.handle;
        if (made.is_predefined) check(MPI_Type_dup(made.handle, &type.handle));
        ask_bounds(type);
        type.parts = std::move(made.parts);
        type.fill = [parts = type.parts](std::byte* item, const Draw& /*how*/, Random& random) {
            fill_with_random_bytes(item, parts, random);
        };
        return Layout(std::move(type));
    }

    Made predefined() {
        switch (random_.below(5)) {
            case 0: return {"char", MPI_CHAR, {{0, 1}}, true};
            case 1: return {"short", MPI_SHORT, {{0, sizeof(short)}}, true};
            case 2: return {"double", MPI_DOUBLE, {{0, sizeof(double)}}, true};
            case 3: return {"short_int", MPI_SHORT_INT, {{0, sizeof(short)}, {4, sizeof(int)}}, true};
            default: return {"int", MPI_INT, {{0, sizeof(int)}}, true};
        }
    }

    int small() { return static_cast<int>(random_.between(has_empty_ && random_.chance(6) ? 0 : 1, 3)); }

    static void repeat(const Made& inner, std::ptrdiff_t displacement, int count, Made& made) {
        const MPI_Aint extent = bounds_of(inner.handle).second;
        for (int i = 0; i < count; ++i)
            for (const Part& part : inner.parts)
                made.parts.push_back({displacement + i * extent + part.offset, part.size});
    }

    // MPICH 4.0 divides by zero (a signal, in Yaksa) when it packs some structs of which a member has no bytes at all.
    Made member(int depth) {
        while (true) {
            Made made = make(depth);
            if (!made.parts.empty() || !vendor_packs_empty_parts) return made;
            release(made);
        }
    }

    Made make(int depth) {
        if (depth == 0) return predefined();
        if (random_.chance(4)) return structure(depth);
        Made inner = make(depth - 1);
        Made made = from(inner);
        release(inner);
        return made;
    }

    Made structure(int depth) {
        const int blocks = small();
        std::vector<Made> inner;
        std::vector<int> lengths;
        std::vector<MPI_Aint> displacements;
        std::vector<MPI_Datatype> types;
        Made made{"struct(", MPI_DATATYPE_NULL, {}, false};
        MPI_Aint at = random_.between(-40, 40);
        for (int i = 0; i < blocks; ++i) {
            inner.push_back(member(depth - 1));
            const MPI_Aint extent = bounds_of(inner.back().handle).second;
            lengths.push_back(small());
            displacements.push_back(at);
            types.push_back(inner.back().handle);
            repeat(inner.back(), at, lengths.back(), made);
            made.name +=
                std::to_string(lengths.back()) + " at " + std::to_string(at) + " of " + inner.back().name + ", ";
            at += (random_.chance(4) ? -1 : 1) * (lengths.back() * extent + random_.between(0, 2) * 4);
        }
        made.name += ")";
        check(MPI_Type_create_struct(blocks, lengths.data(), displacements.data(), types.data(), &made.handle));
        for (Made& each : inner) release(each);
        return made;
    }

    Made from(const Made& inner) {
        const MPI_Aint extent = bounds_of(inner.handle).second;
        const int count = small();
        const int length = small();
        // From the begin of one block to that of the next, in elements; sometimes backwards.
        const int stride = (random_.chance(4) ? -1 : 1) * (length + static_cast<int>(random_.between(0, 2)));
        Made made{"", MPI_DATATYPE_NULL, {}, false};
        const std::string numbers = std::to_string(count) + "x" + std::to_string(length) + "/" + std::to_string(stride);
        std::vector<int> lengths;
        std::vector<int> places;  // in elements
        for (int i = 0, at = static_cast<int>(random_.between(-3, 3)); i < count; ++i) {
            lengths.push_back(small());
            places.push_back(at);
            at += lengths.back() + static_cast<int>(random_.between(0, 2));
        }
        for (std::size_t i = places.size(); i > 1; --i) {
            const std::size_t other = random_.below(i);
            std::swap(places[i - 1], places[other]);
            std::swap(lengths[i - 1], lengths[other]);
        }
        std::vector<MPI_Aint> byte_places;
        for (const int place : places) byte_places.push_back(place * extent);
        const auto at_places = [&](bool has_lengths) {
            for (std::size_t i = 0; i < places.size(); ++i)
                repeat(inner, byte_places[i], has_lengths ? lengths[i] : length, made);
        };
        switch (random_.below(10)) {
            case 0:
                made.name = "contiguous(" + numbers;
                check(MPI_Type_contiguous(count, inner.handle, &made.handle));
                repeat(inner, 0, count, made);
                break;
            case 1:
                made.name = "vector(" + numbers;
                check(MPI_Type_vector(count, length, stride, inner.handle, &made.handle));
                for (int i = 0; i < count; ++i) repeat(inner, i * stride * extent, length, made);
                break;
            case 2:
                made.name = "hvector(" + numbers;
                check(MPI_Type_create_hvector(count, length, stride * extent + 4, inner.handle, &made.handle));
                for (int i = 0; i < count; ++i) repeat(inner, i * (stride * extent + 4), length, made);
                break;
            case 3:
                made.name = "indexed(" + numbers;
                check(MPI_Type_indexed(count, lengths.data(), places.data(), inner.handle, &made.handle));
                at_places(true);
                break;
            case 4:
                made.name = "hindexed(" + numbers;
                check(MPI_Type_create_hindexed(count, lengths.data(), byte_places.data(), inner.handle, &made.handle));
                at_places(true);
                break;
            case 5:
                made.name = "indexed_block(" + numbers;
                check(MPI_Type_create_indexed_block(count, length, places.data(), inner.handle, &made.handle));
                at_places(false);
                break;
            case 6:
                made.name = "hindexed_block(" + numbers;
                check(MPI_Type_create_hindexed_block(count, length, byte_places.data(), inner.handle, &made.handle));
                at_places(false);
                break;
            case 7: return subarray(inner);
            case 8: {
                const auto [lower, old] = bounds_of(inner.handle);
                const MPI_Aint new_lower = lower - random_.between(0, 2) * 4;
                const MPI_Aint new_extent = old + random_.between(0, 3) * 4;
                made.name = "resized(" + std::to_string(new_lower) + "," + std::to_string(new_extent);
                check(MPI_Type_create_resized(inner.handle, new_lower, new_extent, &made.handle));
                repeat(inner, 0, 1, made);
                break;
            }
            default:
                made.name = "dup(";
                check(MPI_Type_dup(inner.handle, &made.handle));
                repeat(inner, 0, 1, made);
                break;
        }
        made.name += " of " + inner.name + ")";
        return made;
    }

    Made subarray(const Made& inner) {
        const MPI_Aint extent = bounds_of(inner.handle).second;
        const bool is_c = random_.chance(2);
        const int dimensions = static_cast<int>(random_.between(1, 3));
        std::vector<int> sizes;
        std::vector<int> parts;
        std::vector<int> starts;
        Made made{"subarray(", MPI_DATATYPE_NULL, {}, false};
        for (int i = 0; i < dimensions; ++i) {
            sizes.push_back(static_cast<int>(random_.between(1, 4)));
            parts.push_back(static_cast<int>(random_.between(1, sizes.back())));
            starts.push_back(static_cast<int>(random_.between(0, sizes.back() - parts.back())));
            made.name += std::to_string(parts.back()) + " of " + std::to_string(sizes.back()) + ", ";
        }
        made.name += " of " + inner.name + ")";
        check(MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(),
                                       is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.handle, &made.handle));
        // Counts through the part of the array, the fastest index first.
        std::vector<int> index(static_cast<std::size_t>(dimensions), 0);
        while (true) {
            std::ptrdiff_t place = 0;
            for (int i = 0; i < dimensions; ++i) {  // the slowest first
                const auto which = static_cast<std::size_t>(is_c ? i : dimensions - 1 - i);
                place = place * sizes[which] + starts[which] + index[which];
            }
            repeat(inner, place * extent, 1, made);
            int carried = 0;
            for (; carried < dimensions; ++carried) {
                const auto which = static_cast<std::size_t>(is_c ? dimensions - 1 - carried : carried);
                if (++index[which] < parts[which]) break;
                index[which] = 0;
            }
            if (carried == dimensions) return made;
        }
    }

    Random random_;
    bool has_empty_;
};

}  // namespace hcoll::test
