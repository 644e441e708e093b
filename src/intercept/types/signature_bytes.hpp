// SPDX-License-Identifier: BSD-3-Clause
// Elements with gaps, as memory that plans can run on: the bytes of their signature, as if they lay side by side.
//
//   elements   |aaaa....bbbb....cccc....|      (. a gap)
//   addresses  |aaaabbbbcccc|                  imaginary: only read, write and copy know what lies there
//
// So a plan packs what it sends, and unpacks what it receives, a segment at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "intercept/types/type_layout.hpp"
#include "progress/engine/scattered_bytes.hpp"

namespace hcoll {

// What one run works on. Not changed while it runs; then used by who moves it.
class SignatureBytes : public ScatteredBytes {
public:
    // What a plan reads only, and what it writes, too.
    enum class Side : std::uint8_t { input, output };

    // The address of the first byte of the elements at `elements`, as many as there are. The type may be freed meanwhile.
    std::byte* describe(Side side, const void* elements, const TypeLayout& layout);
    bool is_empty() const { return sides_[0].layout == nullptr && sides_[1].layout == nullptr; }

    static bool is_imaginary(const void* address) {
        return (reinterpret_cast<std::uintptr_t>(address) & imaginary) != 0;
    }
    // Between any memory and any other, `bytes` bytes that do not overlap; addresses of real memory are taken as they are.
    void read(const std::byte* source, std::uint64_t bytes, std::byte* target) const override;
    void write(const std::byte* source, std::uint64_t bytes, std::byte* target) const override;
    void copy(const std::byte* source, std::uint64_t bytes, std::byte* target) const;

private:
    // No address of a process has this bit on any processor that the library runs on: it is a copy of the bit above, the kernel's.
    static constexpr std::uintptr_t imaginary = std::uintptr_t{1} << 55U;
    // The second side's bytes.
    static constexpr std::uintptr_t second = std::uintptr_t{1} << 54U;

    struct Elements {
        std::byte* first = nullptr;
        std::shared_ptr<const TypeLayout> layout;
    };
    const Elements& elements_at(const std::byte* address) const;
    static std::uint64_t position_of(const std::byte* address);

    std::array<Elements, 2> sides_;  // by Side
};

}  // namespace hcoll
