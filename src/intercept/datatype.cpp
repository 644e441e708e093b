#include "intercept/datatype.hpp"

#include <algorithm>
#include <limits>

namespace hcoll {

bool is_predefined_op(MPI_Op op) {
    for (MPI_Op known : {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR,
                         MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP})
        if (op == known) return true;
    return false;
}

namespace {

struct Envelope {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
};

bool get_envelope(MPI_Datatype type, Envelope& envelope) {
    return mpi.Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.types, &envelope.combiner) ==
           MPI_SUCCESS;
}

bool is_unparametrized(int combiner) { return combiner == MPI_COMBINER_NAMED; }

}  // namespace

bool is_predefined_type(MPI_Datatype type) {
    Envelope envelope;
    return get_envelope(type, envelope) && is_unparametrized(envelope.combiner);
}

bool is_contiguous(MPI_Datatype type) {
    Envelope envelope;
    if (!get_envelope(type, envelope)) return false;
    if (is_unparametrized(envelope.combiner)) {
        // A pair type (MPI_DOUBLE_INT) has a gap at its end.
        MPI_Aint lower_bound = 0;
        MPI_Aint extent = 0;
        return mpi.Type_get_extent(type, &lower_bound, &extent) == MPI_SUCCESS && lower_bound == 0 &&
               static_cast<std::uint64_t>(extent) == type_size(type);
    }
    if (envelope.combiner != MPI_COMBINER_DUP && envelope.combiner != MPI_COMBINER_CONTIGUOUS) return false;
    int count = 0;
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    if (mpi.Type_get_contents(type, envelope.integers, 0, 1, &count, nullptr, &inner) != MPI_SUCCESS) return false;
    const bool contiguous = is_contiguous(inner);
    if (!is_predefined_type(inner)) mpi.Type_free(&inner);
    return contiguous;
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
    if (size > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return MPI_ERR_COUNT;
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

}  // namespace

int pack(const void* elements, std::uint64_t count, MPI_Datatype type, std::byte* bytes, MPI_Comm communicator) {
    return for_packed_runs(
        const_cast<void*>(elements), count, type, [&](const NonNullElements& part, std::uint64_t offset, int size) {
            int position = 0;
            const int status =
                mpi.Pack(part.address, part.count, part.type, bytes + offset, size, &position, communicator);
            return status == MPI_SUCCESS && position != size ? MPI_ERR_INTERN : status;
        });
}

int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type, MPI_Comm communicator) {
    return for_packed_runs(elements, count, type, [&](const NonNullElements& part, std::uint64_t offset, int size) {
        int position = 0;
        return mpi.Unpack(bytes + offset, size, &position, part.address, part.count, part.type, communicator);
    });
}

}  // namespace hcoll
