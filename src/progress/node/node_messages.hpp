// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of one node through a shared segment: what the steps of plans travel by where no network lies
// between. Bcast, Reduce and Allreduce of one node alone have a shorter way (node_collectives.hpp).
//
//   lane    from every rank to every other: a ring of lines of 64 bytes, one for each fragment; what fits lies in the line
//   cells   a ring of memory of the sender's; a longer message passes through them in fragments of whole elements
//
//   sender 0   cells: [ ... | fragment | ... ]      copied in once,
//              lane to 1: | tag, cell |             and copied out by all that it is for: equal sends to several ranks,
//              lane to 2: | tag, cell |             posted without a progress() between, are one message
//
// Every line and cell has one writer, but for the number of those that still have to read a cell, which they count down.
//
// Nothing is ever held up by a message of the same collective that nobody has asked for. The first fragment of a message goes
// ahead; the others wait until the receiver has matched that one, and says so (a grant). A receiver moves what it has not
// asked for out of a sender's cells when that one runs short of them: at most one cell for each message that a plan has in
// flight. Where one of several receivers of a message has not asked for it, and the cells that wait for it are missing
// elsewhere, the sender takes them back: that receiver's is a message of its own from then on.
//
// A message of a later collective stays where it is, in its lane, until the receiver comes to that one: a rank that runs ahead
// is held back by its lanes and cells, and nobody keeps anything for it. It has nothing more to say in the collectives that
// others are still in, so nobody waits for it there. What is left over from an earlier one, by an error, is dropped.
//
// A message need not be as long as who receives it thinks: every fragment is held against what is left of the room before it is
// copied, what does not fit is dropped, and the message is complete with the fragment that its sender calls the last one.
//
// Memory: ranks * 4.1 KB of lanes and grants, and the cells, for each rank; pages that no message has touched cost nothing (touch_cells).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "progress/engine/engine.hpp"
#include "progress/node/node_peers.hpp"
#include "progress/node/node_sizes.hpp"

namespace hcoll {

// Between elements with gaps and the bytes of their signature, side by side. Returns the transport's status.
class Packing {
public:
    virtual ~Packing() = default;
    virtual Status pack(const std::byte* elements, std::uint64_t count, std::byte* bytes) = 0;
    virtual Status unpack(const std::byte* bytes, std::byte* elements, std::uint64_t count) = 0;
};

// The units of a message: how many bytes of signature each has, how far they lie apart, and who packs them; without
// gaps nobody.
struct Elements {
    std::uint64_t bytes = 1;
    std::ptrdiff_t stride = 1;
    Packing* packing = nullptr;
};

// Driven by one thread of each rank at a time. Ranks are numbered within the node. It knows no MPI.
class NodeMessages {
public:
    // How a segment is divided, by the bytes that each rank may have for its cells.
    static std::size_t segment_bytes(int ranks, std::size_t buffer_bytes);
    // What a rank writes of it.
    struct Part {
        std::size_t offset, bytes;
    };
    static Part own_part(int ranks, int rank, std::size_t buffer_bytes);

    // `base` is zeroed memory of segment_bytes(ranks, buffer_bytes) bytes, page-aligned, that all ranks share. With `peers`,
    // which outlive this, who waits for a rank that is gone learns of it.
    NodeMessages(std::byte* base, std::size_t buffer_bytes, int ranks, int rank, NodePeers* peers = nullptr);

    // Does an element of so many bytes fit into a cell? Otherwise it has to go another way; the same on all ranks.
    bool carries(std::uint64_t element_bytes) const { return element_bytes <= cell_bytes_; }

    // Has the system find memory for this rank's cells, so that nobody waits for that later. At any time; once is enough.
    void touch_cells();

    // Begins a collective: its messages have tags from `first_tag` to first_tag + tags_per_collective - 1 (modulo 2^32). Those
    // of the next one follow.
    void begin(std::uint32_t first_tag);

    // As Transport has them. Messages between two ranks whose tags are equal are never in flight at the same time unless they
    // arrive in the order in which they were sent.
    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, const Elements& elements,
                Token token);
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, const Elements& elements,
                Token token);
    Status progress(std::vector<Token>& completed);
    // The shortest way for a message without gaps, where nothing else is under way between the two: false where it is none, or has
    // to wait, and nothing has been done.
    bool send_line(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t bytes);
    bool take_line(int peer, std::uint32_t tag, std::byte* data, std::uint64_t bytes);
    // Until one of the others has sent something, for so long at the most; sooner where it may be that nobody will say so.
    void sleep(long nanoseconds);
    // status_truncated where a message of this collective was longer than what it was received into; otherwise 0.
    Status outcome() const { return outcome_; }

    // After an error: forgets what is under way.
    void abandon();

    static constexpr std::uint64_t cells = node_sizes::cells;
    static constexpr std::size_t inline_bytes = 48;

private:
    static constexpr std::size_t line_bytes = 64;
    static constexpr std::uint64_t lane_lines = node_sizes::lane_lines;
    static constexpr std::uint64_t grants = node_sizes::grants;
    static constexpr std::uint64_t most_cells_of_message = node_sizes::cells_of_message;
    static constexpr std::uint8_t no_cell = 0xff;
    static constexpr std::uint8_t nothing = 0xfe;  // of a line that carries nothing
    static_assert(cells < nothing);

    struct alignas(line_bytes) Line {
        std::atomic<std::uint64_t> number;  // from 1; of the fragment that the rest belongs to
        std::uint32_t tag;
        std::uint16_t bytes;  // of the fragment
        std::uint8_t cell;    // no_cell: the fragment is in the line
        bool is_last;         // of its message
        std::array<std::byte, inline_bytes> data;
    };
    struct Lane {
        Line lines[lane_lines];
    };
    // What the receiver of a lane says to its sender.
    struct alignas(line_bytes) Receipts {
        std::atomic<std::uint64_t> taken;  // so many lines
        // By number of the first fragment: the number of the last grant. No two messages that wait for one share a place.
        alignas(line_bytes) std::atomic<std::uint64_t> granted[grants];
    };
    struct alignas(line_bytes) Readers {
        std::atomic<std::uint32_t> left;
    };
    // Rung by who sends to a rank that sleeps. It may sleep past a ring, for a short time.
    struct alignas(line_bytes) Bell {
        std::atomic<std::uint32_t> rings;
        std::atomic<std::uint32_t> sleepers;
    };
    struct Area {
        alignas(line_bytes) std::atomic<std::uint32_t> is_short_of_cells;
        Bell bell;
        Readers readers[cells];
    };

    struct Destination {
        int peer;
        std::uint32_t tag;
        Token token;
        std::uint64_t next = 0;   // fragment to be announced
        std::uint64_t first = 0;  // the number of the first one's line
        bool granted = false;
    };
    struct Outgoing {
        const std::byte* data;
        std::uint64_t units;
        Elements elements;
        std::uint64_t fragments;
        std::uint64_t filled;  // so many are, or were, in cells
        bool open;             // others may join; holds its cells meanwhile
        std::array<std::uint8_t, most_cells_of_message> cell_of;
        std::vector<Destination> destinations;
    };
    struct Posted {
        std::uint32_t tag;
        std::byte* data;
        std::uint64_t units;
        std::uint64_t done;
        Elements elements;
        Token token;
        bool has_begun = false;
        bool is_complete = false;
    };
    // A fragment as its line describes it.
    struct Fragment {
        std::uint64_t number;
        std::uint32_t tag;
        std::uint16_t bytes;
        std::uint8_t cell;
        bool is_last;
    };
    struct Unexpected {
        Fragment fragment;
        std::vector<std::byte> data;  // where it is in no cell (any more)
    };
    // What there is only of peers from which this rank has asked for something, or got what it had not asked for: few of many.
    struct Incoming {
        bool expected = false;
        std::vector<Posted> posted;
        std::vector<Unexpected> unexpected;
    };
    struct Peer {
        std::uint64_t pushed = 0;
        std::uint64_t known_taken = 0;
        std::uint64_t taken = 0;
        std::unique_ptr<Incoming> incoming;

        bool has_incoming() const {
            return incoming != nullptr && !(incoming->posted.empty() && incoming->unexpected.empty());
        }
    };

    static std::size_t head_bytes(int ranks);
    static std::size_t cell_bytes_of(std::size_t buffer_bytes);
    static std::size_t area_bytes(int ranks, std::size_t buffer_bytes);

    std::byte* area_base(int rank) const;
    Area& area(int rank) const { return *reinterpret_cast<Area*>(area_base(rank)); }
    Lane& lane(int from, int to) const;
    Receipts& receipts(int of, int from) const;
    std::byte* cell(int rank, std::uint8_t index) const;
    Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    Incoming& incoming(int from) {
        std::unique_ptr<Incoming>& of_peer = peer(from).incoming;
        if (of_peer == nullptr) [[unlikely]]
            of_peer = make_incoming();
        return *of_peer;
    }
    static std::unique_ptr<Incoming> make_incoming();

    std::uint64_t units_of_fragment(const Elements& elements) const { return cell_bytes_ / elements.bytes; }
    bool has_room(int to);
    bool has_news() const;
    void ring(int to) const;
    const Line& next_line(int from, const Peer& sender) const {
        return lane(from, rank_).lines[sender.taken % lane_lines];
    }
    std::uint64_t push(int to, std::uint32_t tag, std::uint64_t bytes, std::uint8_t cell, bool is_last,
                       const std::byte* data);
    std::uint8_t find_cell();
    Outgoing& add_outgoing();
    Status copy_in(const Outgoing& message, std::uint64_t fragment, std::byte* target, std::uint64_t& bytes) const;
    Status fill(Outgoing& message, bool& moved);
    bool is_granted(const Destination& destination) const;
    bool waits_at(int to, std::uint64_t number);
    bool announce(Outgoing& message, Destination& destination);
    Status advance(Outgoing& message);
    void close(Outgoing& message);
    bool holds_up_others(Outgoing& message);
    void take_back_unasked();
    void take_back(std::size_t message, std::uint64_t announced);
    Status advance_all();

    Status poll(int from);
    bool is_earlier(std::uint32_t tag) const { return static_cast<std::int32_t>(tag - first_tag_) < 0; }
    bool is_later(std::uint32_t tag) const { return !is_earlier(tag) && tag - first_tag_ >= tags_per_collective; }
    Status take(int from, const Line& line);
    Status deliver(int from, Posted& posted, const Fragment& fragment, const std::byte* data);
    Status deliver_unexpected(int from, Posted& posted);
    void grant(int from, std::uint64_t number) const;
    void drop(int from, const Fragment& fragment) const;
    void move_out_of_cells(int from);
    void release(int from, std::uint8_t cell) const;

    std::byte* base_;
    std::size_t area_bytes_;
    std::size_t head_bytes_;
    std::size_t cell_bytes_;
    bool are_cells_touched_ = false;
    int ranks_;
    int rank_;
    std::uint32_t first_tag_ = 0;
    std::size_t unexpected_ = 0;  // of all peers
    std::uint8_t next_cell_ = 0;
    bool is_short_ = false;
    std::uint64_t idle_ = 0;
    NodePeers* peers_of_node_;
    Status outcome_ = 0;
    std::vector<Peer> peers_;
    std::vector<int> expected_;       // from whom something is expected
    std::vector<Outgoing> outgoing_;  // the first active_ are in use
    std::size_t active_ = 0;
    std::vector<Token> finished_;
};

}  // namespace hcoll
