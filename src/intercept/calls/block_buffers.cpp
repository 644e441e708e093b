// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/block_buffers.hpp"

#include <algorithm>
#include <optional>

namespace hcoll {

int BlockBuffers::take(std::uint64_t scratch_bytes) {
    std::optional<std::byte*> input = nullptr;
    std::optional<std::byte*> output = nullptr;
    const std::uint64_t sent = sides_.blocks_sent() * blocks_.send_count;
    if (sides_.sends)
        input = find_signature(own_, blocks_.send, sent, blocks_.send_type, SignatureBytes::Side::input, signature_);
    if (sides_.receives) {
        const std::uint64_t received = sides_.blocks_received() * blocks_.receive_count;
        const bool fits = !sides_.sends || sides_.block == sides_.room;
        output = !fits ? std::nullopt
                       : find_signature(own_, blocks_.receive, received, blocks_.receive_type,
                                        SignatureBytes::Side::output, signature_);
    }
    const bool packs = !input.has_value();
    unpacks_ = !output.has_value();
    const std::uint64_t packed_bytes = packs ? sides_.blocks_sent() * sides_.block : 0;
    const std::uint64_t unpacked_bytes = unpacks_ ? sides_.blocks_received() * sides_.block : 0;
    memory_ = lease_.get(scratch_bytes + packed_bytes + unpacked_bytes);
    std::byte* packed = memory_ + scratch_bytes;
    std::byte* unpacked = packed + packed_bytes;
    input_ = packs ? packed : *input;
    output_ = unpacks_ ? unpacked : *output;
    if (packs)
        if (const int status = pack(blocks_.send, sent, blocks_.send_type, packed, own_.duplicate);
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
    if (!sides_.receives) return MPI_SUCCESS;
    const int fits = block <= sides_.room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    if (!unpacks_) return fits;
    if (block == sides_.room) {
        const std::uint64_t received = sides_.blocks_received() * blocks_.receive_count;
        return unpack(output_, blocks_.receive, received, blocks_.receive_type, own_.duplicate);
    }
    Extent extent;
    if (const int status = get_extent(blocks_.receive_type, extent); status != MPI_SUCCESS) return status;
    const std::uint64_t type_bytes = type_size(blocks_.receive_type);
    const std::uint64_t elements = type_bytes == 0 ? 0 : std::min(block, sides_.room) / type_bytes;
    auto* place = static_cast<std::byte*>(blocks_.receive);
    for (std::uint64_t i = 0; i < sides_.blocks_received(); ++i) {
        const int status = unpack(output_ + i * sides_.block, place, elements, blocks_.receive_type, own_.duplicate);
        if (status != MPI_SUCCESS) return status;
        place += static_cast<MPI_Aint>(blocks_.receive_count) * extent.extent;
    }
    return fits;
}

}  // namespace hcoll
