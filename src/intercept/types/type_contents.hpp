// SPDX-License-Identifier: BSD-3-Clause
// How a datatype was made.
#pragma once

#include <cstdint>
#include <vector>

#include "progress/network/vendor.hpp"

namespace hcoll {

// MPI_COMBINER_...; MPI_UNDEFINED where the vendor does not tell.
int combiner_of(MPI_Datatype type);

// Is it of a type that nobody made and nobody may free? Those of Fortran's selected kinds among them.
bool is_predefined_combiner(int combiner);

// What a type that is not predefined was made of, alike for functions of small and of large counts.
class TypeContents {
public:
    explicit TypeContents(MPI_Datatype type);
    ~TypeContents();
    TypeContents(const TypeContents&) = delete;
    TypeContents& operator=(const TypeContents&) = delete;

    bool is_known() const { return is_known_; }
    int combiner() const { return combiner_; }
    // The arguments but for the types, in the order of the function that made it; of an array of dimensions its order second.
    const std::vector<std::int64_t>& numbers() const { return numbers_; }
    const std::vector<MPI_Datatype>& types() const { return types_; }

private:
    int combiner_ = MPI_UNDEFINED;
    bool is_known_ = false;
    std::vector<std::int64_t> numbers_;
    std::vector<MPI_Datatype> types_;
};

}  // namespace hcoll
