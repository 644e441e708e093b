// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/packing_transport.hpp"

#include <new>

#include "progress/network/vendor.hpp"

namespace hcoll {

namespace {

// No exception passes through a transport.
template <typename Call>
Status in_memory(Call&& call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return MPI_ERR_NO_MEM;
    }
}

}  // namespace

std::size_t PackingTransport::take_block(std::uint64_t bytes) {
    std::size_t found = none;
    for (std::size_t i = 0; i < blocks_.size() && (found == none || blocks_[found].capacity < bytes); ++i)
        if (blocks_[i].users == 0) found = i;
    if (found == none) {
        found = blocks_.size();
        blocks_.emplace_back();
    }
    Block& block = blocks_[found];
    if (block.capacity < bytes) {
        block.capacity = 0;
        block.memory.reset();
        block.memory.reset(new std::byte[bytes]);
        block.capacity = bytes;
    }
    block.bytes = bytes;
    block.packed_from = nullptr;
    block.users = 1;
    return found;
}

// What is sent to several peers is packed once.
std::size_t PackingTransport::pack(const std::byte* data, std::uint64_t bytes) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[i];
        if (block.users == 0 || block.packed_from != data || block.bytes != bytes) continue;
        ++block.users;
        return i;
    }
    const std::size_t number = take_block(bytes);
    bytes_->read(data, bytes, blocks_[number].memory.get());
    blocks_[number].packed_from = data;
    return number;
}

void PackingTransport::keep(Token token, const UnderWay& what) {
    under_way_[token] = what;
    ++messages_;
}

Status PackingTransport::send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) {
    if (!is_imaginary(data)) [[likely]]
        return below_.send(peer, tag, data, units, token);
    return in_memory([&] {
        if (under_way_.size() <= token) under_way_.resize(token + 1);
        const std::size_t source = pack(data, units);
        keep(token, {.source = source});
        return below_.send(peer, tag, blocks_[source].memory.get(), units, token);
    });
}

Status PackingTransport::recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) {
    if (!is_imaginary(data)) [[likely]]
        return below_.recv(peer, tag, data, units, token);
    return in_memory([&] {
        if (under_way_.size() <= token) under_way_.resize(token + 1);
        const std::size_t target = take_block(units);
        keep(token, {.target = target, .address = data});
        return below_.recv(peer, tag, blocks_[target].memory.get(), units, token);
    });
}

Status PackingTransport::collective(Collective which, int root, std::uint64_t order, const std::byte* source,
                                    std::byte* target, std::uint64_t units, Token token) {
    const bool packs = is_imaginary(source);
    const bool unpacks = is_imaginary(target);
    if (!packs && !unpacks) return below_.collective(which, root, order, source, target, units, token);
    return in_memory([&] {
        if (under_way_.size() <= token) under_way_.resize(token + 1);
        UnderWay what{.address = target};
        if (packs) what.source = pack(source, units);
        if (unpacks) what.target = take_block(units);
        keep(token, what);
        return below_.collective(which, root, order, packs ? blocks_[what.source].memory.get() : source,
                                 unpacks ? blocks_[what.target].memory.get() : target, units, token);
    });
}

void PackingTransport::complete(Token token) {
    if (token >= under_way_.size()) return;
    UnderWay& what = under_way_[token];
    if (what.source == none && what.target == none) return;
    if (what.target != none) {
        Block& block = blocks_[what.target];
        bytes_->write(block.memory.get(), block.bytes, what.address);
        --block.users;
    }
    if (what.source != none) --blocks_[what.source].users;
    what = {};
    --messages_;
}

Status PackingTransport::progress(std::vector<Token>& completed) {
    const std::size_t before = completed.size();
    const Status status = below_.progress(completed);
    if (messages_ != 0)
        for (std::size_t i = before; i < completed.size(); ++i) complete(completed[i]);
    return status;
}

void PackingTransport::abandon() {
    for (Block& block : blocks_)
        if (block.users != 0) (void)block.memory.release();
    blocks_.clear();
    under_way_.clear();
    messages_ = 0;
    bytes_ = nullptr;
}

}  // namespace hcoll
