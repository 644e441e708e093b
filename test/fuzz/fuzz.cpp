// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer's side of targets.hpp: HCOLL_FUZZ_TARGET says which one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const hcoll::test::FuzzTarget& target : hcoll::test::fuzz_targets())
        if (target.name == HCOLL_FUZZ_TARGET) target.run({reinterpret_cast<const char*>(data), size});
    return 0;
}
