// SPDX-License-Identifier: BSD-3-Clause
// Where the calls of the application go that do not run here.
//
// To the vendor (`mpi`), as the library's own calls do; but where a profiling tool lies below whose functions reach the vendor past
// this library (they look for PMPI_X beyond it, so that they cannot be called first), to the tool's function.
#pragma once

#include "progress/network/vendor.hpp"

namespace hcoll {

// Filled where `mpi` is.
extern Vendor onward;

// A function of such a tool. A tool may, for all that is known, come back here: then its call is for the vendor.
template <auto member>
class ToolBelow;
template <typename... Arguments, int (*Vendor::*member)(Arguments...)>
class ToolBelow<member> {
public:
    // From now on, calls of this function go to `function`.
    static void lies_below(void* function) {
        function_ = reinterpret_cast<int (*)(Arguments...)>(function);
        onward.*member = call;
    }

private:
    static int call(Arguments... arguments) {
        static thread_local bool is_inside = false;
        if (is_inside) return (mpi.*member)(arguments...);
        struct Inside {
            Inside() { is_inside = true; }
            ~Inside() { is_inside = false; }
        };
        const Inside inside;
        return function_(arguments...);
    }
    static inline int (*function_)(Arguments...) = nullptr;
};

}  // namespace hcoll
