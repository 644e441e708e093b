// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/block_buffers.hpp"

#include <optional>

namespace hcoll {

int BlockBuffers::take(std::uint64_t scratch_bytes) {
    std::optional<std::byte*> input = nullptr;
    std::optional<std::byte*> output = nullptr;
    if (sides_.sends)
        input =
            find_signature(own_, blocks_.send, sides_.sent, blocks_.send_type, SignatureBytes::Side::input, signature_);
    if (sides_.receives)
        output = find_signature(own_, blocks_.receive, sides_.received, blocks_.receive_type,
                                SignatureBytes::Side::output, signature_);
    const bool packs = !input.has_value();
    unpacks_ = !output.has_value();
    const std::uint64_t packed_bytes = packs ? (sides_.is_scatter ? sides_.ranks : 1) * sides_.block : 0;
    const std::uint64_t unpacked_bytes = unpacks_ ? (sides_.is_scatter ? 1 : sides_.ranks) * sides_.block : 0;
    memory_ = lease_.get(scratch_bytes + packed_bytes + unpacked_bytes);
    std::byte* packed = memory_ + scratch_bytes;
    std::byte* unpacked = packed + packed_bytes;
    input_ = packs ? packed : *input;
    output_ = unpacks_ ? unpacked : *output;
    if (packs)
        if (const int status = pack(blocks_.send, sides_.sent, blocks_.send_type, packed, own_.duplicate);
            status != MPI_SUCCESS)
            return status;
    if (!unpacks_ || !sides_.in_place) return MPI_SUCCESS;
    Extent extent;
    if (const int status = get_extent(blocks_.receive_type, extent); status != MPI_SUCCESS) return status;
    const MPI_Aint own_place =
        static_cast<MPI_Aint>(blocks_.receive_count) * extent.extent * static_cast<MPI_Aint>(sides_.rank);
    return pack(static_cast<const std::byte*>(blocks_.receive) + own_place, blocks_.receive_count, blocks_.receive_type,
                unpacked + sides_.rank * sides_.block, own_.duplicate);
}

int BlockBuffers::give(std::uint64_t block) const {
    if (!unpacks_) return MPI_SUCCESS;
    const std::uint64_t elements = block >= sides_.block ? sides_.received : block / type_size(blocks_.receive_type);
    return unpack(output_, blocks_.receive, elements, blocks_.receive_type, own_.duplicate);
}

}  // namespace hcoll
