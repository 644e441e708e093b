// SPDX-License-Identifier: BSD-3-Clause
// XPMEM: the pages of another process, mapped into this one.
//
// Mapping costs more than copying, so attachments are kept, a few for each peer. That the owner frees memory under one, and
// gets other memory at the same address later, is no danger where the kernel module does what is expected of it: it is told
// of pages that go, drops them from attachments, and looks them up anew when they are touched. SingleCopy::prove changes a
// page under an attachment to see that it does. An attachment is touched only where a message is, and only between its
// offer and its end, or where ProvenMemory has its word, so that there is always memory behind it.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <vector>

#include "base/shared_copy.hpp"
#include "progress/node/peer_memory.hpp"

namespace hcoll {

namespace {

// As <xpmem.h> has it, which need not be there.
using SegmentId = std::int64_t;
using AccessId = std::int64_t;
struct XpmemAddress {
    AccessId access;
    std::int64_t offset;
};
constexpr int permit_mode = 1;
constexpr int read_write = 2;
constexpr auto all_memory = static_cast<std::size_t>(-1);

struct Xpmem {
    SegmentId (*make)(void* address, std::size_t bytes, int permit_type, void* permit_value) = nullptr;
    int (*remove)(SegmentId) = nullptr;
    AccessId (*get)(SegmentId, int flags, int permit_type, void* permit_value) = nullptr;
    int (*release)(AccessId) = nullptr;
    void* (*attach)(XpmemAddress, std::size_t bytes, void* where) = nullptr;
    int (*detach)(void*) = nullptr;
};

// nullptr where it cannot be loaded. It stays loaded.
const Xpmem* load_xpmem() {
    static const Xpmem* const loaded = []() -> const Xpmem* {
        void* handle = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) handle = dlopen("libxpmem.so", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return nullptr;
        static Xpmem functions;
        bool has_all = true;
        const auto find = [&](auto& function, const char* symbol) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
            has_all = has_all && function != nullptr;
        };
        find(functions.make, "xpmem_make");
        find(functions.remove, "xpmem_remove");
        find(functions.get, "xpmem_get");
        find(functions.release, "xpmem_release");
        find(functions.attach, "xpmem_attach");
        find(functions.detach, "xpmem_detach");
        return has_all ? &functions : nullptr;
    }();
    return loaded;
}

class XpmemMemory : public PeerMemory {
public:
    XpmemMemory(const Xpmem& functions, SegmentId own, int ranks)
        : xpmem_(functions), own_(own), peers_(static_cast<std::size_t>(ranks)) {}
    ~XpmemMemory() override {
        for (Peer& peer : peers_) {
            for (const Attachment& each : peer.attachments) xpmem_.detach(each.here);
            if (peer.access >= 0) xpmem_.release(peer.access);
        }
        xpmem_.remove(own_);
    }

    [[nodiscard]] Key key() const override {
        return {.process = static_cast<std::uint64_t>(getpid()), .segment = static_cast<std::uint64_t>(own_)};
    }
    int connect(int rank, const Key& key) override {
        AccessId& access = peers_[static_cast<std::size_t>(rank)].access;
        access = xpmem_.get(static_cast<SegmentId>(key.segment), read_write, permit_mode, nullptr);
        return access >= 0 ? 0 : EACCES;
    }
    int read(int rank, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        const std::byte* there = map(rank, address, bytes);
        if (there == nullptr) return EFAULT;
        copy_shared(to, there, bytes);
        return 0;
    }
    int write(int rank, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        std::byte* there = map(rank, address, bytes);
        if (there == nullptr) return EFAULT;
        copy_shared(there, from, bytes);
        return 0;
    }
    const std::byte* look(int rank, std::uint64_t address, std::size_t bytes, std::byte*) override {
        return map(rank, address, bytes);
    }

private:
    struct Attachment {
        std::uint64_t begin, end;  // of whole windows, in the peer
        std::byte* here;
    };
    struct Peer {
        AccessId access = -1;
        std::list<Attachment> attachments;  // the one that was used last first
    };
    static constexpr std::size_t most_attachments = 8;  // to a peer
    static constexpr std::uint64_t window = 4 << 20;    // a multiple of any page

    std::byte* map(int rank, std::uint64_t address, std::size_t bytes) {
        auto& [access, attachments] = peers_[static_cast<std::size_t>(rank)];
        const auto found = std::find_if(attachments.begin(), attachments.end(), [&](const Attachment& each) {
            return each.begin <= address && address + bytes <= each.end;
        });
        if (found != attachments.end()) {
            attachments.splice(attachments.begin(), attachments, found);
        } else {
            // Whole windows, so that the next piece or message is likely to lie in one that is there. Nothing need be behind
            // what is not touched.
            const std::uint64_t begin = address / window * window;
            const std::uint64_t end = (address + bytes + window - 1) / window * window;
            if (attachments.size() == most_attachments) {
                xpmem_.detach(attachments.back().here);
                attachments.pop_back();
            }
            void* here = xpmem_.attach({access, static_cast<std::int64_t>(begin)}, end - begin, nullptr);
            if (here == nullptr || here == reinterpret_cast<void*>(-1))
                return nullptr;  // NOLINT(performance-no-int-to-ptr)
            attachments.push_front({begin, end, static_cast<std::byte*>(here)});
        }
        return attachments.front().here + (address - attachments.front().begin);
    }

    const Xpmem& xpmem_;
    SegmentId own_;
    std::vector<Peer> peers_;
};

}  // namespace

std::unique_ptr<PeerMemory> make_xpmem_memory(int ranks) {
    const Xpmem* functions = load_xpmem();
    if (functions == nullptr) return nullptr;
    constexpr std::uintptr_t owner_alone = 0600;
    const SegmentId own = functions->make(nullptr, all_memory, permit_mode,
                                          reinterpret_cast<void*>(owner_alone));  // NOLINT(performance-no-int-to-ptr)
    if (own < 0) return nullptr;
    return std::make_unique<XpmemMemory>(*functions, own, ranks);
}

}  // namespace hcoll
