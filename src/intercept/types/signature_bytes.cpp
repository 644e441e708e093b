// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/signature_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace hcoll {

std::byte* SignatureBytes::describe(Side side, const void* elements, const TypeLayout& layout) {
    sides_[static_cast<std::size_t>(side)] = {static_cast<std::byte*>(const_cast<void*>(elements)),
                                              layout.shared_from_this()};
    return reinterpret_cast<std::byte*>(side == Side::input ? imaginary : imaginary + second);
}

const SignatureBytes::Elements& SignatureBytes::elements_at(const std::byte* address) const {
    return sides_[(reinterpret_cast<std::uintptr_t>(address) & second) != 0 ? 1 : 0];
}

std::uint64_t SignatureBytes::position_of(const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address) & (second - 1);
}

void SignatureBytes::read(const std::byte* source, std::uint64_t bytes, std::byte* target) const {
    if (!is_imaginary(source)) {
        if (bytes != 0) std::memcpy(target, source, bytes);
        return;
    }
    const Elements& elements = elements_at(source);
    elements.layout->pack(elements.first, position_of(source), bytes, target);
}

void SignatureBytes::write(const std::byte* source, std::uint64_t bytes, std::byte* target) const {
    if (!is_imaginary(target)) {
        if (bytes != 0) std::memcpy(target, source, bytes);
        return;
    }
    const Elements& elements = elements_at(target);
    elements.layout->unpack(elements.first, position_of(target), bytes, source);
}

void SignatureBytes::copy(const std::byte* source, std::uint64_t bytes, std::byte* target) const {
    if (source == target) return;
    if (!is_imaginary(source)) return write(source, bytes, target);
    if (!is_imaginary(target)) return read(source, bytes, target);
    std::array<std::byte, 4096> piece;
    for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
        const std::uint64_t now = std::min<std::uint64_t>(piece.size(), bytes - done);
        read(source + done, now, piece.data());
        write(piece.data(), now, target + done);
    }
}

}  // namespace hcoll
