// SPDX-License-Identifier: BSD-3-Clause
// The transport over the vendor's point-to-point messages, on a communicator that belongs to the library alone.
//
// Flow control: a rank that runs ahead of a slow peer would fill the peer's memory with messages that nobody has asked for
// yet. Every so many messages or bytes to a peer, the next one is a synchronous send, which completes only when the
// peer has come to receive it: so what a peer may have to keep is bounded, whatever the collectives are. A short one in a blocking
// collective is sent from a copy, and waited for when this rank's part is over: short plans are run in order by ranks of which none may wait for a receiver
// in the middle (progress/engine/in_order.hpp).
//
// Blocking collectives run one at a time; non-blocking ones may be under way in any number beside them. Tags tell them apart:
// each collective has a sequence, half of which are for blocking ones, a quarter for non-blocking and one for persistent ones.
//
//   tags of a communicator   [ blocking ............... | non-blocking .. | persistent .... ]
//   of a sequence            [ channel 0: window | channel 1: window ... ]
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "progress/engine/engine.hpp"
#include "progress/engine/in_order.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// Tags of one communicator's messages, from `first` on; the MPI library guarantees 32767 to all communicators together.
struct TagRange {
    int first = 0;
    int count = 32767;
};

// What peers may have to keep of what this rank has sent, since they last caught up. Used by one thread at a time.
class FlowControl {
public:
    explicit FlowControl(int ranks) : pages_((static_cast<std::size_t>(ranks) + page_peers - 1) / page_peers) {}
    // Does a message of so many bytes fill what the peer may be left to keep? May throw std::bad_alloc. What is large waits for its
    // receiver anyhow.
    bool must_synchronize(int peer, std::uint64_t bytes) {
        const auto number = static_cast<std::size_t>(peer);
        auto& page = pages_[number / page_peers];
        if (page == nullptr) [[unlikely]]
            add_page(page);
        std::uint32_t& ahead = (*page)[number % page_peers];
        ahead += message_weight + static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, most_ahead));
        if (ahead < most_ahead) return false;
        ahead = 0;
        return true;
    }

private:
    // What a peer may be left to keep: so many bytes, a message counting at least its share of 1024, since MPI libraries keep some
    // hundred bytes beside each.
    static constexpr std::uint32_t most_ahead = 1 << 20;
    static constexpr std::uint32_t message_weight = most_ahead / 1024;
    // A rank talks to few of many.
    static constexpr std::size_t page_peers = 256;
    using Page = std::array<std::uint32_t, page_peers>;

    static void add_page(std::unique_ptr<Page>& page);

    std::vector<std::unique_ptr<Page>> pages_;  // by peer; those that were needed
};

// The communicators that carry the messages of a rank: one of all ranks; or, where ranks talk to their neighbors in a ring alone,
// one that it shares with the next rank and one that it shares with the one before, in both of which the lower end has rank 0. A
// message from a rank to the next travels on theirs, also where the next one is the one before, too.
class Carriers {
public:
    struct Carrier {
        MPI_Comm communicator;
        int peer;  // its rank there
    };
    explicit Carriers(MPI_Comm all) : with_next_(all) {}
    Carriers(MPI_Comm with_next, MPI_Comm with_previous, int rank, int ranks)
        : with_next_(with_next),
          with_previous_(with_previous),
          next_((rank + 1) % ranks),
          previous_((rank + ranks - 1) % ranks) {}

    bool is_ring() const { return next_ >= 0; }
    Carrier to(int peer) const {
        if (!is_ring()) [[likely]]
            return {with_next_, peer};
        return peer == next_ ? Carrier{with_next_, 1} : Carrier{with_previous_, 0};
    }
    Carrier from(int peer) const {
        if (!is_ring()) [[likely]]
            return {with_next_, peer};
        return peer == previous_ ? Carrier{with_previous_, 0} : Carrier{with_next_, 1};
    }

private:
    MPI_Comm with_next_;  // or all
    MPI_Comm with_previous_ = MPI_COMM_NULL;
    int next_ = -1;
    int previous_ = -1;
};

// Driven by one thread at a time. Errors are the vendor's codes; the communicator's error handler must return them.
class PointToPoint final : public Transport {
public:
    // More than so many tags are of no use to a communicator.
    static constexpr int most_tags = 2048 * static_cast<int>(tags_per_collective);

    // `leaders`: of the leaders of nodes, in the order of their nodes; MPI_COMM_NULL where there is none, or on ranks that are none.
    PointToPoint(const Carriers& carriers, FlowControl& flow, const TagRange& tags, MPI_Comm leaders);

    // Begins a collective whose units are elements of `type`, of `unit_bytes` bytes each. Collectives that follow one
    // another use different tags, so that a message that is left over by an error is not taken for one of the next. `op` is
    // for collectives among leaders; MPI_OP_NULL where nothing is combined.
    void begin(MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
        begin_as(sequence_ + 1 < blocking_sequences_ ? sequence_ + 1 : 0, type, unit_bytes, op);
        longest_copy_ = longest_in_order;
    }
    // After a run: messages that were sent from copies. They are over when all peers have come to them.
    bool has_copies() const { return !copies_.empty(); }
    Status finish_copies();
    // The same without waiting.
    Status ask_for_copies(bool& are_over);
    // The same for the non-blocking collective of that number on the communicator. Of those, as many as
    // nonblocking_sequences() may be under way at a time: number n only when n less so many is complete here.
    void begin_nonblocking(std::uint64_t number, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op);
    static int nonblocking_sequences(const TagRange& tags);
    // The same for a run of the persistent collective of that number, below persistent_sequences(): they may be started in any
    // order, and none is started again before its last run is complete here.
    void begin_persistent(int number, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op);
    static int persistent_sequences(const TagRange& tags);
    // The first tag of that one's, for messages of this rank to itself, which no plan sends.
    static int persistent_tag(int number, const TagRange& tags);
    // For another message of this rank to itself, on any communicator of the library's: not the tag of one in whose call this one may be sent, nor of a persistent
    // collective. From any thread.
    static int tag_to_self();
    // Among leaders, MPI_Iallreduce takes the place of MPI_Ireduce from now on (or no longer).
    void avoid_ireduce(bool avoid) { avoids_ireduce_ = avoid; }

    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override;
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) override;
    Status collective(Collective which, int root, std::uint64_t order, const std::byte* source, std::byte* target,
                      std::uint64_t units, Token token) override;
    Status progress(std::vector<Token>& completed) override;
    // The vendor's calls that wait, which are its shortest.
    Status send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) override {
        if (flow_.must_synchronize(peer, units * unit_bytes_)) [[unlikely]]
            return synchronize_now(peer, tag, data, units);
        const Carriers::Carrier to = carriers_.to(peer);
        return mpi.Send(data, static_cast<int>(units), type_, to.peer, tag_of(tag), to.communicator);
    }
    Status recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) override {
        const Carriers::Carrier from = carriers_.from(peer);
        const Status status = mpi.Recv(data, static_cast<int>(units), type_, from.peer, tag_of(tag), from.communicator,
                                       MPI_STATUS_IGNORE);
        return status == MPI_SUCCESS ? status : note_truncation(status);
    }
    Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token number) override {
        bool is_over = false;
        return begin_send(peer, tag, data, units, number, is_over);
    }
    Status finish_sends(Token first_left) override;
    // Nobody runs ahead of the others where all exchange messages: they count for nothing in the flow control.
    bool exchanges_with(int, int) const override { return !carriers_.is_ring(); }
    Status exchange_now(const Sent& sent, const Received& received) override {
        const Status status =
            mpi.Sendrecv(sent.data, static_cast<int>(sent.units), type_, sent.peer, tag_of(sent.tag), received.data,
                         static_cast<int>(received.units), type_, received.peer, tag_of(received.tag),
                         carriers_.to(sent.peer).communicator, MPI_STATUS_IGNORE);
        return status == MPI_SUCCESS ? status : note_truncation(status);
    }
    // A message that is longer than what was received into: its receive is complete, with what fits, and the run goes on.
    Status outcome() const override { return outcome_; }

    bool idle() const { return requests_.empty(); }
    // May progress() wait until something completes? In a simulation it must, or time would stand still.
    void may_wait(bool may) { may_wait_ = may; }
    // After an error: ends what is under way, so that nothing is written into anybody's memory afterwards. Receives are cancelled, or
    // waited for where a message has come for them already; what was begun among leaders cannot be cancelled, and is waited for.
    // What is sent may still be read: that memory must not be used again.
    void abandon();

private:
    int tag_of(std::uint32_t tag) const {
        return first_tag_ + sequence_ * static_cast<int>(tags_per_collective) + static_cast<int>(tag);
    }
    struct LeadersCall {
        Collective which;
        int root;
        const std::byte* source;
        std::byte* target;
        int units;
        Token token;
    };

    enum class Kind : std::uint8_t { send, receive, collective };

    void begin_as(int sequence, MPI_Datatype type, std::uint64_t unit_bytes, MPI_Op op) {
        type_ = type;
        op_ = op;
        unit_bytes_ = unit_bytes;
        next_call_ = 0;
        longest_copy_ = 0;
        sequence_ = sequence;
        outcome_ = MPI_SUCCESS;
    }
    // `is_over`: its memory may be used again at once, and nothing will be heard of it.
    Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token,
                      bool& is_over);
    // A synchronous send from a copy; false where there can be none.
    bool send_copy(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Status& status);
    Status synchronize_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units);
    template <typename Post>
    Status post(std::uint64_t units, Token token, Kind kind, Post&& post);
    Status start(const LeadersCall& call);
    void keep(MPI_Request request, Token token, Kind kind);
    Status note_truncation(Status status);
    Status complete(std::size_t index, Status status, std::vector<Token>& completed);
    void forget();
    Status progress_one(std::vector<Token>& completed);
    Status wait_for_one(std::vector<Token>& completed);
    void remove(std::size_t index);

    Carriers carriers_;
    MPI_Comm leaders_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    MPI_Op op_ = MPI_OP_NULL;
    std::uint64_t unit_bytes_ = 1;
    FlowControl& flow_;
    bool avoids_ireduce_ = false;
    bool may_wait_ = false;
    int leader_ = -1;              // this rank's number among them
    std::uint64_t next_call_ = 0;  // of the leaders' collectives: the order of the one to begin next
    std::map<std::uint64_t, LeadersCall> early_calls_;
    int first_tag_;
    int blocking_sequences_;
    int nonblocking_sequences_;
    int sequence_ = 0;
    std::vector<MPI_Request> requests_;
    std::vector<Token> tokens_;  // of the requests, in the same order
    std::vector<Kind> kinds_;    // likewise
    struct Copy {
        MPI_Request request;
        std::unique_ptr<std::byte[]> bytes;
    };
    std::vector<Copy> copies_;  // that are on their way
    std::uint64_t longest_copy_ = 0;
    std::vector<Token> over_at_once_;  // sends that are, since they are copies
    Status outcome_ = MPI_SUCCESS;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
};

}  // namespace hcoll
