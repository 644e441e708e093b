// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/datatype.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "intercept/types/type_contents.hpp"
#include "intercept/types/type_layout.hpp"
#include "progress/network/point_to_point.hpp"

namespace hcoll {

bool is_predefined_op(MPI_Op op) {
    for (MPI_Op known : {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR,
                         MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP})
        if (op == known) return true;
    return false;
}

bool is_predefined_type(MPI_Datatype type) { return is_predefined_combiner(combiner_of(type)); }

bool is_contiguous(MPI_Datatype type) {
    if (!is_predefined_type(type)) {
        const TypeLayout* layout = find_type_layout(type);
        constexpr std::uint64_t many = 2;
        return layout != nullptr && layout->one_block(many) == 0;
    }
    // A pair type (MPI_DOUBLE_INT) has a gap at its end.
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    return mpi.Type_get_extent(type, &lower_bound, &extent) == MPI_SUCCESS && lower_bound == 0 &&
           static_cast<std::uint64_t>(extent) == type_size(type);
}

std::optional<std::byte*> find_signature(const void* elements, std::uint64_t count, MPI_Datatype type,
                                         SignatureBytes::Side side, SignatureBytes& signature) {
    const TypeLayout* layout = find_type_layout(type);
    auto* first = static_cast<std::byte*>(const_cast<void*>(elements));
    if (layout == nullptr) return is_contiguous(type) ? std::optional(first) : std::nullopt;
    if (const auto offset = layout->one_block(count)) return first + *offset;
    return signature.describe(side, elements, *layout);
}

int check_type(MPI_Datatype type, MPI_Comm communicator) {
    // From nobody: nothing is written. MPICH looks at the type of a message only if the message has elements.
    static std::byte nothing;
    MPI_Request request = MPI_REQUEST_NULL;
    int status = mpi.Irecv(&nothing, 1, type, MPI_PROC_NULL, 0, communicator, &request);
    if (status == MPI_SUCCESS) status = mpi.Wait(&request, MPI_STATUS_IGNORE);
    if (status == MPI_SUCCESS) return MPI_SUCCESS;
    int error_class = MPI_ERR_OTHER;
    return mpi.Error_class(status, &error_class) == MPI_SUCCESS ? error_class : MPI_ERR_OTHER;
}

bool may_have_null_buffer(MPI_Datatype type) {
    Extent extent;
    if (is_predefined_type(type) || get_extent(type, extent) != MPI_SUCCESS) return false;
    return extent.true_lower_bound != 0 || type_size(type) == 0;
}

int get_extent(MPI_Datatype type, Extent& extent) {
    const int status = mpi.Type_get_extent(type, &extent.lower_bound, &extent.extent);
    if (status != MPI_SUCCESS) return status;
    return mpi.Type_get_true_extent(type, &extent.true_lower_bound, &extent.true_extent);
}

namespace {

// Calls `move(first element, elements, byte offset, bytes)` for runs of elements that an int can count the bytes of.
template <typename Move>
int for_runs_of_elements(std::uint64_t count, MPI_Datatype type, Move&& move) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
    const std::uint64_t size = type_size(type);
    const std::uint64_t run = std::max<std::uint64_t>(most_bytes / std::max<std::uint64_t>(size, 1), 1);
    for (std::uint64_t first = 0; first < count; first += run) {
        const std::uint64_t elements = std::min(run, count - first);
        const int status = move(first, static_cast<int>(elements), first * size, static_cast<int>(elements * size));
        if (status != MPI_SUCCESS) return status;
    }
    return MPI_SUCCESS;
}

// MPICH takes no null pointer for what is to be packed, though with absolute addresses in the type it is a valid one
// (MPI_BOTTOM). The same elements, described from another place.
class NonNullElements {
public:
    NonNullElements(std::byte* elements, int elements_count, MPI_Datatype element)
        : address(elements), count(elements_count), type(element) {
        if (elements != nullptr) return;
        static std::byte anchor;
        address = &anchor;
        count = 1;
        const MPI_Aint displacement = -reinterpret_cast<MPI_Aint>(&anchor);
        status = mpi.Type_create_hindexed(1, &elements_count, &displacement, element, &type);
        if (status != MPI_SUCCESS) return;
        is_owner_ = true;
        status = mpi.Type_commit(&type);
    }
    ~NonNullElements() {
        if (is_owner_) mpi.Type_free(&type);
    }
    NonNullElements(const NonNullElements&) = delete;
    NonNullElements& operator=(const NonNullElements&) = delete;

    std::byte* address;
    int count;
    MPI_Datatype type;
    int status = MPI_SUCCESS;

private:
    bool is_owner_ = false;
};

// Both directions have this in common: `move(elements, bytes, size)` moves one run, `size` being its bytes.
template <typename Move>
int for_packed_runs(void* elements, std::uint64_t count, MPI_Datatype type, Move&& move) {
    Extent extent;
    if (const int status = get_extent(type, extent); status != MPI_SUCCESS) return status;
    return for_runs_of_elements(count, type, [&](std::uint64_t first, int run, std::uint64_t offset, int size) {
        auto* address = static_cast<std::byte*>(elements) + static_cast<MPI_Aint>(first) * extent.extent;
        const NonNullElements part(address, run, type);
        return part.status != MPI_SUCCESS ? part.status : move(part, offset, size);
    });
}

constexpr std::uint64_t most_packed_bytes = std::numeric_limits<int>::max();

// `size` bytes as one element, whatever their number; the caller frees it.
int make_bytes_type(std::uint64_t size, MPI_Datatype& type) {
    constexpr std::uint64_t block = std::uint64_t{1} << 30;
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    for (std::uint64_t offset = 0; offset < size; offset += block) {
        lengths.push_back(static_cast<int>(std::min(block, size - offset)));
        displacements.push_back(static_cast<MPI_Aint>(offset));
    }
    const int status = mpi.Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                                                MPI_BYTE, &type);
    return status != MPI_SUCCESS ? status : mpi.Type_commit(&type);
}

// MPI_Pack counts bytes by an int. An element of more is moved by a message of this rank to itself:
// `move(self, element, bytes, bytes_type)` for each element.
template <typename Move>
int for_large_elements(void* elements, std::uint64_t count, MPI_Datatype type, std::byte* bytes, MPI_Comm communicator,
                       Move&& move) {
    Extent extent;
    MPI_Datatype bytes_type = MPI_DATATYPE_NULL;
    const std::uint64_t size = type_size(type);
    int self = 0;
    int status = mpi.Comm_rank(communicator, &self);
    if (status == MPI_SUCCESS) status = get_extent(type, extent);
    if (status == MPI_SUCCESS) status = make_bytes_type(size, bytes_type);
    if (status != MPI_SUCCESS) return status;
    auto* element = static_cast<std::byte*>(elements);
    for (std::uint64_t i = 0; i < count && status == MPI_SUCCESS; ++i, element += extent.extent, bytes += size)
        status = move(self, element, bytes, bytes_type);
    const int freed = mpi.Type_free(&bytes_type);
    return status != MPI_SUCCESS ? status : freed;
}

}  // namespace

int pack(const void* elements, std::uint64_t count, MPI_Datatype type, std::byte* bytes, MPI_Comm communicator) {
    if (const TypeLayout* layout = find_type_layout(type)) {
        layout->pack(elements, 0, count * layout->size(), bytes);
        return MPI_SUCCESS;
    }
    if (type_size(type) > most_packed_bytes)
        return for_large_elements(const_cast<void*>(elements), count, type, bytes, communicator,
                                  [&](int self, std::byte* element, std::byte* place, MPI_Datatype bytes_type) {
                                      const int tag = PointToPoint::tag_to_self();
                                      return mpi.Sendrecv(element, 1, type, self, tag, place, 1, bytes_type, self, tag,
                                                          communicator, MPI_STATUS_IGNORE);
                                  });
    return for_packed_runs(
        const_cast<void*>(elements), count, type, [&](const NonNullElements& part, std::uint64_t offset, int run_size) {
            int position = 0;
            const int status =
                mpi.Pack(part.address, part.count, part.type, bytes + offset, run_size, &position, communicator);
            return status == MPI_SUCCESS && position != run_size ? MPI_ERR_INTERN : status;
        });
}

int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type, MPI_Comm communicator) {
    if (const TypeLayout* layout = find_type_layout(type)) {
        layout->unpack(elements, 0, count * layout->size(), bytes);
        return MPI_SUCCESS;
    }
    if (type_size(type) > most_packed_bytes)
        return for_large_elements(elements, count, type, const_cast<std::byte*>(bytes), communicator,
                                  [&](int self, std::byte* element, std::byte* place, MPI_Datatype bytes_type) {
                                      const int tag = PointToPoint::tag_to_self();
                                      return mpi.Sendrecv(place, 1, bytes_type, self, tag, element, 1, type, self, tag,
                                                          communicator, MPI_STATUS_IGNORE);
                                  });
    return for_packed_runs(elements, count, type, [&](const NonNullElements& part, std::uint64_t offset, int run_size) {
        int position = 0;
        return mpi.Unpack(bytes + offset, run_size, &position, part.address, part.count, part.type, communicator);
    });
}

}  // namespace hcoll
