// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/type_contents.hpp"

#include <algorithm>

namespace hcoll {

namespace {

// In large counts where the vendor has them: it refuses to tell by the older call of types that were made by functions of large
// counts.
struct Envelope {
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count large_counts = 0;
    MPI_Count types = 0;
    int combiner = MPI_UNDEFINED;
};

bool get_envelope(MPI_Datatype type, Envelope& envelope) {
    if (mpi.Type_get_envelope_c != nullptr)
        return mpi.Type_get_envelope_c(type, &envelope.integers, &envelope.addresses, &envelope.large_counts,
                                       &envelope.types, &envelope.combiner) == MPI_SUCCESS;
    int integers = 0;
    int addresses = 0;
    int types = 0;
    const int status = mpi.Type_get_envelope(type, &integers, &addresses, &types, &envelope.combiner);
    envelope.integers = integers;
    envelope.addresses = addresses;
    envelope.types = types;
    return status == MPI_SUCCESS;
}

// No array that the vendor is given is a null pointer.
template <typename Number>
std::vector<Number> room_for(MPI_Count numbers) {
    return std::vector<Number>(static_cast<std::size_t>(std::max<MPI_Count>(numbers, 1)));
}

}  // namespace

int combiner_of(MPI_Datatype type) {
    Envelope envelope;
    return get_envelope(type, envelope) ? envelope.combiner : MPI_UNDEFINED;
}

bool is_predefined_combiner(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

TypeContents::TypeContents(MPI_Datatype type) {
    Envelope envelope;
    if (!get_envelope(type, envelope)) return;
    combiner_ = envelope.combiner;
    if (is_predefined_combiner(combiner_)) return;
    auto integers = room_for<int>(envelope.integers);
    auto addresses = room_for<MPI_Aint>(envelope.addresses);
    auto large_counts = room_for<MPI_Count>(envelope.large_counts);
    auto types = room_for<MPI_Datatype>(envelope.types);
    numbers_.reserve(static_cast<std::size_t>(envelope.integers + envelope.addresses + envelope.large_counts));
    const int status =
        mpi.Type_get_contents_c == nullptr
            ? mpi.Type_get_contents(type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
                                    static_cast<int>(envelope.types), integers.data(), addresses.data(), types.data())
            : mpi.Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts,
                                      envelope.types, integers.data(), addresses.data(), large_counts.data(),
                                      types.data());
    if (status != MPI_SUCCESS) return;
    types.resize(static_cast<std::size_t>(envelope.types));
    types_ = std::move(types);
    numbers_.assign(integers.begin(), integers.begin() + envelope.integers);
    // By functions of large counts the order of dimensions comes before all that is counted.
    if (combiner_ == MPI_COMBINER_SUBARRAY && envelope.large_counts == 0 && numbers_.size() > 2)
        std::rotate(numbers_.begin() + 1, numbers_.end() - 1, numbers_.end());
    numbers_.insert(numbers_.end(), large_counts.begin(), large_counts.begin() + envelope.large_counts);
    numbers_.insert(numbers_.end(), addresses.begin(), addresses.begin() + envelope.addresses);
    is_known_ = true;
}

TypeContents::~TypeContents() {
    for (MPI_Datatype& type : types_)
        if (!is_predefined_combiner(combiner_of(type))) mpi.Type_free(&type);
}

}  // namespace hcoll
