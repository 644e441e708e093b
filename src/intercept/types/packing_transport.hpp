// SPDX-License-Identifier: BSD-3-Clause
// Between an engine and a transport that moves plain memory: what is sent from imaginary addresses is packed when it is sent, and
// what comes in is unpacked when it is complete. Its memory is what a plan has in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "intercept/types/signature_bytes.hpp"
#include "progress/engine/engine.hpp"

namespace hcoll {

// Driven by one thread at a time. Where all addresses are real ones it only passes on.
class PackingTransport : public Transport {
public:
    explicit PackingTransport(Transport& below) : below_(below) {}

    // What the addresses of the next run mean, whose units are bytes; must outlive it.
    void begin(const SignatureBytes& bytes) { bytes_ = &bytes; }
    // After a run: gives its memory back.
    void end() {
        blocks_.clear();
        bytes_ = nullptr;
    }
    // After an error: forgets the memory of what is under way without freeing it, since messages may still be written to it.
    void abandon();

    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override;
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) override;
    Status collective(Collective which, int root, std::uint64_t order, const std::byte* source, std::byte* target,
                      std::uint64_t units, Token token) override;
    Status progress(std::vector<Token>& completed) override;
    // Of addresses that are real ones: short plans are run in order only there.
    Status send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) override {
        return below_.send_now(peer, tag, data, units);
    }
    Status recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) override {
        return below_.recv_now(peer, tag, data, units);
    }
    Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token number) override {
        return below_.begin_send(peer, tag, data, units, number);
    }
    Status finish_sends(Token first_left) override { return below_.finish_sends(first_left); }
    bool exchanges_with(int to, int from) const override { return below_.exchanges_with(to, from); }
    Status exchange_now(const Sent& sent, const Received& received) override {
        return below_.exchange_now(sent, received);
    }
    Status outcome() const override { return below_.outcome(); }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    struct Block {
        std::unique_ptr<std::byte[]> memory;
        std::uint64_t capacity = 0;
        std::uint64_t bytes = 0;
        const std::byte* packed_from = nullptr;  // what it holds, where it is sent
        int users = 0;                           // messages under way; 0 where it is free
    };
    // By token: what is to be done when that is complete.
    struct UnderWay {
        std::size_t source = none;  // of blocks_
        std::size_t target = none;
        std::byte* address = nullptr;  // of what comes in
    };

    // Where no run has begun, any address is a real one: that of scratch for elements that lie at absolute addresses wraps around, and has any bits.
    bool is_imaginary(const void* address) const { return bytes_ != nullptr && SignatureBytes::is_imaginary(address); }
    std::size_t take_block(std::uint64_t bytes);
    std::size_t pack(const std::byte* data, std::uint64_t bytes);
    void keep(Token token, const UnderWay& what);
    void complete(Token token);

    Transport& below_;
    const SignatureBytes* bytes_ = nullptr;
    std::vector<Block> blocks_;
    std::vector<UnderWay> under_way_;
    std::size_t messages_ = 0;  // of those
};

}  // namespace hcoll
