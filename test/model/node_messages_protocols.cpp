// SPDX-License-Identifier: BSD-3-Clause
// Lanes, cells and grants of NodeMessages, with two lines, three cells and two places for grants each.
#include <algorithm>
#include <cstring>
#include <memory>

#include "node_segment.hpp"
#include "progress/node/node_messages.hpp"
#include "protocols.hpp"

namespace hcoll::model {
namespace {

constexpr std::size_t buffer_bytes = 1;  // cells of 1 KB, the smallest
constexpr std::size_t cell_bytes = 1024;
constexpr std::uint32_t first_tag = 0xffffffff;  // of two collectives; the second one's tags have begun again

// What a rank does, one thing after another.
struct Act {
    enum class What { send, receive, send_at_once, take_at_once, wait, next_collective };
    What what;
    int peer = 0;
    std::uint32_t tag = 0;
    std::size_t bytes = 0;
};
using Script = std::vector<Act>;

Act send(int to, std::uint32_t tag, std::size_t bytes) { return {Act::What::send, to, tag, bytes}; }
Act receive(int from, std::uint32_t tag, std::size_t bytes) { return {Act::What::receive, from, tag, bytes}; }
// The shortest way, tried until it goes.
Act send_at_once(int to, std::uint32_t tag, std::size_t bytes) { return {Act::What::send_at_once, to, tag, bytes}; }
Act take_at_once(int from, std::uint32_t tag, std::size_t bytes) { return {Act::What::take_at_once, from, tag, bytes}; }
const Act wait{Act::What::wait};  // for all before
const Act next_collective{Act::What::next_collective};

// The same for all that a rank sends with as many bytes: such messages to several ranks are one.
std::byte content(int from, std::size_t bytes, std::size_t at) {
    return static_cast<std::byte>(1 + from * 64 + bytes % 16 + at / 128);
}

class Rank {
public:
    Rank(int ranks, int rank) : messages_(segment.data(), buffer_bytes, ranks, rank), rank_(rank) {
        messages_.begin(first_tag);
    }

    void run(const Script& script) {
        received_.reserve(script.size());
        for (const Act& act : script) {
            if (act.what == Act::What::send)
                begin(messages_.send(act.peer, first_tag_ + act.tag, sent(act.bytes), act.bytes, {}, token()));
            else if (act.what == Act::What::receive)
                begin(messages_.recv(act.peer, first_tag_ + act.tag, room_for(act), act.bytes, {}, token()));
            else if (act.what == Act::What::send_at_once)
                while (!messages_.send_line(act.peer, first_tag_ + act.tag, sent(act.bytes), act.bytes)) give_turn();
            else if (act.what == Act::What::take_at_once)
                take_at_once(act);
            else
                complete();
            if (act.what == Act::What::next_collective) messages_.begin(first_tag_ += tags_per_collective);
        }
        complete();
    }

private:
    struct Received {
        int from;
        std::vector<std::byte> bytes;
    };
    Token token() { return static_cast<Token>(++begun_); }
    static void begin(Status status) { require(status == 0, "a message cannot be begun"); }
    const std::byte* sent(std::size_t bytes) {
        auto found = std::find_if(sent_.begin(), sent_.end(), [&](const auto& each) { return each->size() == bytes; });
        if (found != sent_.end()) return (*found)->data();
        auto& made = sent_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes));
        for (std::size_t i = 0; i < bytes; ++i) (*made)[i] = content(rank_, bytes, i);
        return made->data();
    }
    std::byte* room_for(const Act& act) {
        return received_.emplace_back(act.peer, std::vector<std::byte>(act.bytes)).bytes.data();
    }
    void take_at_once(const Act& act) {
        std::byte* room = room_for(act);
        while (!messages_.take_line(act.peer, first_tag_ + act.tag, room, act.bytes)) give_turn();
    }
    // Until everything that was begun is over.
    void complete() {
        while (completed_.size() < begun_) {
            const std::size_t before = completed_.size();
            const std::uint64_t writes_before = writes();
            require(messages_.progress(completed_) == 0, "messages fail");
            if (completed_.size() == before && writes() == writes_before) give_turn();
        }
        for (const Received& each : received_)
            for (std::size_t i = 0; i < each.bytes.size(); ++i)
                require(each.bytes[i] == content(each.from, each.bytes.size(), i), "a message is wrong");
        received_.clear();
        completed_.clear();
        begun_ = 0;
        require(messages_.outcome() == 0, "a message has another length");
    }

    NodeMessages messages_;
    int rank_;
    std::uint32_t first_tag_ = first_tag;
    std::size_t begun_ = 0;
    std::vector<Token> completed_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> sent_;
    std::vector<Received> received_;
};

Protocol protocol(const std::string& name, const std::vector<Script>& scripts) {
    const int ranks = static_cast<int>(scripts.size());
    Protocol result{name + ", " + std::to_string(ranks) + " ranks", {}};
    result.program.set_up = [ranks] { begin_segment(NodeMessages::segment_bytes(ranks, buffer_bytes)); };
    for (int rank = 0; rank < ranks; ++rank)
        result.program.threads.emplace_back([=] { Rank(ranks, rank).run(scripts[static_cast<std::size_t>(rank)]); });
    return result;
}

}  // namespace

std::vector<Protocol> protocols_of_node_messages() {
    constexpr std::size_t in_line = 8;
    constexpr std::size_t one_cell = 64;
    constexpr std::size_t four_cells = 3 * cell_bytes + 8;
    constexpr std::size_t two_cells = cell_bytes + 8;
    constexpr std::size_t three_cells = 2 * cell_bytes + 8;
    const auto large = [](Protocol made) {
        made.is_large = true;
        return made;
    };
    return {
        protocol("lines of a lane",
                 {{send(1, 0, in_line), send(1, 1, in_line), send(1, 2, in_line), send(1, 3, in_line)},
                  {receive(0, 0, in_line), receive(0, 1, in_line), receive(0, 2, in_line), receive(0, 3, in_line)}}),
        protocol("lines there and back", {{send(1, 0, in_line), receive(1, 1, in_line), wait, send(1, 2, in_line)},
                                          {receive(0, 0, in_line), wait, send(0, 1, in_line), receive(0, 2, in_line)}}),
        protocol("lines at once", {{send_at_once(1, 0, in_line), send_at_once(1, 1, in_line),
                                    send_at_once(1, 2, in_line), send_at_once(1, 3, in_line)},
                                   {take_at_once(0, 0, in_line), take_at_once(0, 1, in_line),
                                    take_at_once(0, 2, in_line), take_at_once(0, 3, in_line)}}),
        large(protocol("grants in the same place",
                       {{send(1, 0, two_cells), send(1, 1, in_line), send(1, 2, two_cells + 8)},
                        {receive(0, 1, in_line), wait, receive(0, 2, two_cells + 8), receive(0, 0, two_cells)}})),
        large(protocol(
            "cells that were taken back",
            {{send(1, 0, two_cells), send(2, 0, two_cells), send(1, 1, one_cell), send(1, 2, one_cell)},
             {receive(0, 0, two_cells), receive(0, 1, one_cell), receive(0, 2, one_cell), wait, send(2, 1, in_line)},
             {receive(1, 1, in_line), wait, receive(0, 0, two_cells)}})),
        protocol("a cell", {{send(1, 0, one_cell)}, {receive(0, 0, one_cell)}}),
        protocol("a message of three cells", {{send(1, 0, three_cells)}, {receive(0, 0, three_cells)}}),
        large(protocol("a message of four cells", {{send(1, 0, four_cells)}, {receive(0, 0, four_cells)}})),
        large(protocol("a message of three cells for two", {{send(1, 0, three_cells), send(2, 0, three_cells)},
                                                            {receive(0, 0, three_cells)},
                                                            {receive(0, 0, three_cells)}})),
        protocol(
            "cells of four messages",
            {{send(1, 0, one_cell), send(1, 1, one_cell), wait, send(1, 2, one_cell), wait, send(1, 3, one_cell)},
             {receive(0, 0, one_cell), receive(0, 1, one_cell), receive(0, 2, one_cell), receive(0, 3, one_cell)}}),
        protocol("a message for two",
                 {{send(1, 0, one_cell), send(2, 0, one_cell)}, {receive(0, 0, one_cell)}, {receive(0, 0, one_cell)}}),
        protocol("a long message that is asked for late", {{send(1, 0, two_cells), send(1, 1, in_line)},
                                                           {receive(0, 1, in_line), wait, receive(0, 0, two_cells)}}),
        protocol("cells run short",
                 {{send(1, 0, one_cell), send(1, 1, one_cell + 1), send(1, 2, one_cell + 2)},
                  {receive(0, 2, one_cell + 2), wait, receive(0, 0, one_cell), receive(0, 1, one_cell + 1)}}),
        protocol("a message for two, one of which asks late",
                 {{send(1, 0, two_cells), send(2, 0, two_cells)},
                  {receive(0, 0, two_cells), wait, send(2, 1, in_line)},
                  {receive(1, 1, in_line), wait, receive(0, 0, two_cells)}}),
        protocol("two collectives, one rank ahead",
                 {{send(1, 0, in_line), wait, next_collective, send(1, 0, in_line)},
                  {receive(0, 0, in_line), wait, next_collective, receive(0, 0, in_line)}}),
        protocol("long messages both ways", {{send(1, 0, two_cells), receive(1, 0, two_cells)},
                                             {send(0, 0, two_cells), receive(0, 0, two_cells)}}),
    };
}

}  // namespace hcoll::model
