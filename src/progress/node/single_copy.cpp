// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/single_copy.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "progress/node/memory_units.hpp"
#include "progress/node/nested_combination.hpp"

namespace hcoll {

namespace {

// What a rank reads of others at once stays in its second-level cache, with what it gives; a call that copies less than the smallest piece is
// mostly call. So of many ranks it reads a few at a time.
constexpr std::size_t all_pieces_bytes = 256 << 10;
constexpr std::size_t smallest_piece_bytes = 32 << 10;
constexpr int most_at_once = all_pieces_bytes / smallest_piece_bytes;
constexpr std::size_t accumulator_bytes = 8 << 10;
// Of a broadcast along levels: a call that copies as many bytes is mostly copying.
constexpr std::size_t passed_on_bytes = 64 << 10;

std::size_t piece_bytes_of(int ranks) {
    return all_pieces_bytes / static_cast<std::size_t>(std::min(ranks, most_at_once)) / page_bytes * page_bytes;
}
// The memory that pieces take: one of each rank that is read at once, the result, and what the ranks before them gave; and what ranks could not do, since
// no rank may run out of memory when the others rely on it.
class Pieces {
public:
    Pieces(std::byte* memory, int ranks)
        : memory_(memory), bytes_(piece_bytes_of(ranks)), at_once_(std::min(ranks, most_at_once)) {}
    static std::size_t bytes(int ranks) {
        const Pieces all(nullptr, ranks);
        return all.bytes_ * static_cast<std::size_t>(all.at_once_ + 2) + accumulator_bytes +
               static_cast<std::size_t>(ranks) * sizeof(SingleCopy::Rest);
    }
    std::byte* of(int number) const { return memory_ + bytes_ * static_cast<std::size_t>(number); }
    std::byte* result() const { return of(at_once_); }
    std::byte* before() const { return of(at_once_ + 1); }
    std::byte* accumulator() const { return of(at_once_ + 2); }
    std::byte* rests() const { return accumulator() + accumulator_bytes; }

private:
    std::byte* memory_;
    std::size_t bytes_;
    int at_once_;
};

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

// A word of the probe of a rank: the first is its secret, the others are the answers of the ranks.
std::size_t probe_bytes(int ranks) {
    return rounded_up(sizeof(std::uint64_t) * (static_cast<std::size_t>(ranks) + 1), page_bytes);
}
std::uint64_t answer_of(int rank, std::uint64_t secret) { return secret ^ (static_cast<std::uint64_t>(rank) + 1); }

}  // namespace

struct SingleCopy::Desk {
    // With so many messages' buffers: where they are is in the line of the flag.
    alignas(cache_line_bytes) Flag offered;
    std::uint64_t input;
    std::uint64_t output;
    std::uint64_t bytes;  // that are there
    // Of message k: 2 k + 1 when the rank's own copies are over; 2 k + 2, after a failure, when it has looked at all desks.
    alignas(cache_line_bytes) Flag done;
    // The last one in which they failed, plus 1. Who failed stays until everybody has seen it, so the others need not look at
    // what stands here for other messages.
    std::atomic<std::uint64_t> failed;
    std::atomic<std::uint64_t> delivered;
    std::atomic<std::uint64_t> combined;
    // The last one that it left before its time, plus 1.
    std::atomic<std::uint64_t> left;
    // So many pieces of all broadcasts along levels are in its buffer, or will not be (see `failed`).
    alignas(cache_line_bytes) Flag here;
    // For the test.
    alignas(cache_line_bytes) ProvenMemory::Identity identity;
    std::uint64_t probe;
    std::uint64_t secret;
};

SingleCopy::SingleCopy(std::byte* desks, std::size_t stride, int ranks, int rank, const NodeLevels& levels,
                       Waiting& waiting)
    : desks_(desks), stride_(stride), rank_(rank), ranks_(ranks), levels_(levels), waiting_(waiting) {
    static_assert(sizeof(Desk) <= desk_bytes);
    operands_.reserve(most_at_once + 1);
}

SingleCopy::Desk& SingleCopy::desk(int rank) const {
    return *reinterpret_cast<Desk*>(desks_ + static_cast<std::size_t>(rank) * stride_);
}

SingleCopy::~SingleCopy() = default;

// ---- the test ----

// Whose memory a rank looks at when single copies are set up: the next rank's, so that each is looked at, and that of the first, so that ranks of
// different containers or users notice. Whatever else is used is proven then (ProvenMemory).
bool SingleCopy::is_tested(int reader, int owner) const {
    return reader != owner && (owner == (reader + 1) % ranks_ || owner == 0);
}

bool SingleCopy::prove(std::shared_ptr<PeerMemory> memory, const std::function<bool(bool)>& agree) {
    const std::size_t bytes = probe_bytes(ranks_);
    constexpr int protection = PROT_READ | PROT_WRITE;
    void* probe = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool has_probe = probe != MAP_FAILED;
    const std::shared_ptr<ProvenMemory> proven = has_probe ? identified(std::move(memory)) : nullptr;
    if (proven != nullptr) desk(rank_).identity = proven->identity();
    bool is_good = agree(proven != nullptr);
    for (int each = 0; each < ranks_ && is_good; ++each) proven->learn(each, desk(each).identity);
    if (is_good) is_good = test_words(*proven, static_cast<std::byte*>(probe), agree);
    if (is_good) {
        // Other memory at the same address: who has mapped it must see that.
        const void* replaced = mmap(probe, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        is_good = agree(replaced != MAP_FAILED) && test_words(*proven, static_cast<std::byte*>(probe), agree);
    }
    if (is_good) is_good = agree(has_pieces(*proven));
    if (is_good) adopt(proven);
    if (has_probe) munmap(probe, bytes);
    return is_good;
}

// nullptr where there is no memory for it, or no word that nobody else knows.
std::shared_ptr<ProvenMemory> SingleCopy::identified(std::shared_ptr<PeerMemory> memory) const {
    std::uint64_t word = 0;
    if (memory == nullptr || getrandom(&word, sizeof word, 0) != sizeof word) return nullptr;
    try {
        return std::make_shared<ProvenMemory>(std::move(memory), word, ranks_);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool SingleCopy::has_pieces(PeerMemory& memory) const {
    try {
        return memory.pieces(Pieces::bytes(ranks_)) != nullptr;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void SingleCopy::adopt(std::shared_ptr<PeerMemory> memory) {
    check(has_pieces(*memory), "what was proven has its pieces");
    pieces_ = memory->pieces(Pieces::bytes(ranks_));
    memory_ = std::move(memory);
}

bool SingleCopy::test_words(PeerMemory& memory, std::byte* probe, const std::function<bool(bool)>& agree) {
    Desk& own = desk(rank_);
    std::uint64_t secret = 0;
    const bool has_secret = getrandom(&secret, sizeof secret, 0) == sizeof secret;
    std::memcpy(probe, &secret, sizeof secret);
    own.probe = address_of(probe);
    own.secret = secret;
    if (!agree(has_secret)) return false;
    bool is_good = true;
    for (int each = 0; each < ranks_ && is_good; ++each) {
        if (!is_tested(rank_, each)) continue;
        const Desk& theirs = desk(each);
        is_good = memory.word_at(each, theirs.probe) == theirs.secret;
        if (!is_good) continue;
        const std::uint64_t answer = answer_of(rank_, theirs.secret);
        const std::uint64_t place = theirs.probe + sizeof answer * (static_cast<std::uint64_t>(rank_) + 1);
        is_good = memory.write(each, place, reinterpret_cast<const std::byte*>(&answer), sizeof answer) == 0;
    }
    if (!agree(is_good)) return false;
    for (int each = 0; each < ranks_; ++each) {
        std::uint64_t answer = 0;
        std::memcpy(&answer, probe + sizeof answer * (static_cast<std::size_t>(each) + 1), sizeof answer);
        is_good = is_good && (!is_tested(each, rank_) || answer == answer_of(each, secret));
    }
    return agree(is_good);
}

// ---- messages ----

// From the offer to the end of a message.
class SingleCopy::Leaving {
public:
    Leaving(SingleCopy& copies, std::uint64_t message) : copies_(copies), message_(message) {}
    ~Leaving() {
        if (is_over_) return;
        copies_.waiting_.break_off(NodeBreak::unwound);
        // Whoever has offered by then is waited for; whoever does it later sees that this rank has left.
        copies_.desk(copies_.rank_).left.store(message_ + 1, std::memory_order_seq_cst);
        for (int each = 0; each < copies_.ranks_; ++each)
            while (may_copy(each)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    void end() { is_over_ = true; }

private:
    bool may_copy(int rank) const {
        const Desk& theirs = copies_.desk(rank);
        return rank != copies_.rank_ && theirs.offered.value.load(std::memory_order_seq_cst) == message_ + 1 &&
               theirs.done.value.load(std::memory_order_acquire) < 2 * message_ + 1 &&
               theirs.left.load(std::memory_order_acquire) != message_ + 1 && !copies_.waiting_.is_gone(rank);
    }

    SingleCopy& copies_;
    std::uint64_t message_;
    bool is_over_ = false;
};

void SingleCopy::offer(std::uint64_t message, const std::byte* input, const std::byte* output, std::size_t bytes) {
    Desk& own = desk(rank_);
    own.input = address_of(input);
    own.output = address_of(output);
    own.bytes = bytes;
    own.offered.value.store(message + 1, std::memory_order_seq_cst);  // before a look at who has left
    raise(own.offered, message + 1);
}

const SingleCopy::Desk& SingleCopy::wait_for_offer(int rank, std::uint64_t message) {
    Desk& theirs = desk(rank);
    waiting_.until(theirs.offered, message + 1);
    // Who has left may have offered long ago: its buffers are the application's again.
    waiting_.check();
    if (theirs.left.load(std::memory_order_seq_cst) == message + 1) [[unlikely]]
        waiting_.give_up_like_others();
    return theirs;
}

void SingleCopy::conclude(std::uint64_t message, bool is_good, Progress progress) {
    Desk& own = desk(rank_);
    if (!is_good) {
        own.delivered.store(progress.delivered, std::memory_order_relaxed);
        own.combined.store(progress.combined, std::memory_order_relaxed);
        own.failed.store(message + 1, std::memory_order_relaxed);
    }
    raise(own.done, 2 * message + 1);
}

bool SingleCopy::is_good(int rank, std::uint64_t message) {
    Desk& theirs = desk(rank);
    waiting_.until(theirs.done, 2 * message + 1);
    return theirs.failed.load(std::memory_order_relaxed) != message + 1;
}

// False where one is not to be had. Then those to whom this rank would pass them on are told so.
bool SingleCopy::read_pieces(std::uint64_t message, int sender, std::byte* data, std::size_t bytes,
                             std::size_t capacity) {
    Desk& own = desk(rank_);
    const Desk& source = wait_for_offer(sender, message);
    const std::size_t wanted = std::min(bytes, capacity);
    const std::uint64_t first = pieces_passed_on_;
    const std::uint64_t pieces = (bytes + passed_on_bytes - 1) / passed_on_bytes;
    bool good = data != nullptr && source.input != 0 && source.bytes >= wanted;
    for (std::uint64_t piece = 0; good && piece < pieces; ++piece) {
        Flag& theirs = desk(sender).here;
        waiting_.until(theirs, first + piece + 1);
        const std::size_t offset = piece * passed_on_bytes;
        const std::size_t end = std::min(offset + passed_on_bytes, wanted);
        good = source.failed.load(std::memory_order_relaxed) != message + 1;
        if (good && offset < end) good = memory_->read(sender, source.input + offset, data + offset, end - offset) == 0;
        if (good) raise(own.here, first + piece + 1);
    }
    if (good) return true;
    own.failed.store(message + 1, std::memory_order_relaxed);
    raise(own.here, first + pieces);
    return false;
}

// Who has a piece passes it on before all are there; who has not, and those to whom it would have passed it on, have it from blocks.
bool SingleCopy::bcast_along_levels(int root, std::byte* data, std::size_t bytes, std::size_t capacity) {
    const std::uint64_t message = messages_++;
    offer(message, data, data, capacity);
    Leaving leaving(*this, message);
    const int sender = levels_.pass_on(root, [](int) {});
    bool good = data != nullptr;
    if (rank_ != root) good = read_pieces(message, sender, data, bytes, capacity);
    pieces_passed_on_ += (bytes + passed_on_bytes - 1) / passed_on_bytes;
    if (rank_ == root) raise(desk(root).here, pieces_passed_on_);
    conclude(message, good, {});
    // Nobody reads it any more when it returns; the root knows of all whether they have it.
    levels_.pass_on(root, [&](int reader) { is_good(reader, message); });
    for (int each = 0; each < ranks_ && rank_ == root; ++each)
        if (each != root && !is_good(each, message)) good = false;
    waiting_.drive();
    leaving.end();
    return good;
}

bool SingleCopy::bcast(int root, std::byte* data, std::size_t bytes, std::size_t capacity) {
    if (levels_.is_divided()) return bcast_along_levels(root, data, bytes, capacity);
    const std::uint64_t message = messages_++;
    const std::size_t last_part = waiting_.is_oversubscribed() ? 0 : bytes / static_cast<std::size_t>(ranks_);
    const std::size_t written_from = rounded_up(bytes - last_part, page_bytes);
    const bool root_writes = written_from < bytes;
    const std::size_t read_bytes = root_writes ? written_from : bytes;
    offer(message, data, data, capacity);
    Leaving leaving(*this, message);
    bool good = data != nullptr;
    if (rank_ != root) {
        const Desk& source = wait_for_offer(root, message);
        const std::size_t wanted = std::min({read_bytes, capacity, static_cast<std::size_t>(source.bytes)});
        if (source.input == 0) good = false;
        if (good && wanted != 0) good = memory_->read(root, source.input, data, wanted) == 0;
        if (root_writes && !is_good(root, message)) good = false;
        conclude(message, good, {});
    } else {
        const std::size_t written_to = std::min(bytes, capacity);
        for (int step = 1; step < ranks_ && root_writes; ++step) {
            const int each = (root + step) % ranks_;
            const Desk& target = wait_for_offer(each, message);
            const std::size_t end = std::min(written_to, static_cast<std::size_t>(target.bytes));
            if (end <= written_from) continue;
            if (memory_->write(each, target.output + written_from, data + written_from, end - written_from) != 0)
                good = false;
        }
        conclude(message, good, {});
        for (int each = 0; each < ranks_; ++each)
            if (each != root && !is_good(each, message)) good = false;
    }
    waiting_.drive();
    leaving.end();
    return good;
}

bool SingleCopy::has_moved(int rank) const { return desk(rank).failed.load(std::memory_order_relaxed) != messages_; }

// What a desk says of this message has been read.
void SingleCopy::settle_gather(int root) {
    const std::uint64_t message = messages_ - 1;
    if (rank_ == root)
        raise(desk(root).done, 2 * message + 2);
    else
        waiting_.until(desk(root).done, 2 * message + 2);
}

// `move(desk)` moves the portion of a rank other than the root, at the root's desk, and says whether it could.
template <typename Move>
bool SingleCopy::move_portions(int root, const std::byte* input, const std::byte* output, std::size_t offered,
                               Move&& move) {
    const std::uint64_t message = messages_++;
    offer(message, input, output, offered);
    Leaving leaving(*this, message);
    bool good = rank_ == root || move(wait_for_offer(root, message));
    conclude(message, good, {});
    for (int each = 0; rank_ == root && each < ranks_; ++each)
        if (each != root && !is_good(each, message)) good = false;
    waiting_.drive();
    leaving.end();
    return good;
}

bool SingleCopy::gather(int root, const std::byte* portion, std::byte* whole, std::size_t bytes) {
    const std::size_t begin = bytes * static_cast<std::size_t>(rank_);
    return move_portions(root, portion, whole, whole == nullptr ? 0 : bytes * static_cast<std::size_t>(ranks_),
                         [&](const Desk& target) {
                             return portion != nullptr && begin + bytes <= target.bytes &&
                                    memory_->write(root, target.output + begin, portion, bytes) == 0;
                         });
}

bool SingleCopy::scatter(int root, const std::byte* whole, std::byte* portion, std::size_t bytes,
                         std::size_t capacity) {
    const std::size_t begin = bytes * static_cast<std::size_t>(rank_);
    return move_portions(root, whole, portion, whole == nullptr ? 0 : bytes * static_cast<std::size_t>(ranks_),
                         [&](const Desk& source) {
                             return portion != nullptr && begin + bytes <= source.bytes &&
                                    memory_->read(root, source.input + begin, portion, std::min(bytes, capacity)) == 0;
                         });
}

bool SingleCopy::allgather(const std::byte* portion, std::byte* whole, std::size_t bytes) {
    const std::uint64_t message = messages_++;
    offer(message, portion, whole, portion == nullptr ? 0 : bytes);
    Leaving leaving(*this, message);
    bool good = whole != nullptr && portion != nullptr;
    levels_.visit_others([&](int each) {
        if (!good) return;
        const Desk& source = wait_for_offer(each, message);
        good = source.bytes >= bytes &&
               memory_->read(each, source.input, whole + bytes * static_cast<std::size_t>(each), bytes) == 0;
    });
    conclude(message, good, {});
    for (int each = 0; each < ranks_; ++each)
        if (!is_good(each, message)) good = false;
    waiting_.drive();
    leaving.end();
    return good;
}

SingleCopy::Share SingleCopy::share(int rank, int root, std::size_t elements, std::size_t element_bytes) const {
    const bool root_alone = root != no_root && waiting_.is_oversubscribed();
    // What a rank does for a byte of its share, in copies: it reads the operands of the others and, but for a Reduce's root,
    // writes the result to somebody. Shares are inverse to that.
    const auto weight_of = [&](int each) -> std::size_t {
        if (root == no_root) return 1;
        if (root_alone) return each == root ? 1 : 0;
        return static_cast<std::size_t>(each == root ? ranks_ : ranks_ - 1);
    };
    std::size_t before = 0;
    for (int each = 0; each < rank; ++each) before += weight_of(each);
    std::size_t all = before + weight_of(rank);
    for (int each = rank + 1; each < ranks_; ++each) all += weight_of(each);
    // Whole pages, where elements divide them.
    const std::size_t grain = page_bytes % element_bytes == 0 ? page_bytes / element_bytes : 1;
    const std::size_t grains = (elements + grain - 1) / grain;
    const auto position = [&](std::size_t weight) {
        const std::size_t parts = std::max(all, std::size_t{1});
        const std::size_t whole = grains / parts * weight + grains % parts * weight / parts;
        return std::min(whole * grain, elements) * element_bytes;
    };
    return {position(before), position(before + weight_of(rank))};
}

bool SingleCopy::deliver(int root, const std::byte* result, std::size_t offset, std::size_t bytes) {
    for (int step = 1; step < ranks_; ++step) {
        const int each = (rank_ + step) % ranks_;
        if (root != no_root && each != root) continue;
        if (memory_->write(each, desk(each).output + offset, result, bytes) != 0) return false;
    }
    return true;
}

// A part of a rank's operand, which may be read until `place` is used again. A null pointer where it cannot be read.
const std::byte* SingleCopy::look(int rank, std::uint64_t message, const std::byte* input, std::size_t offset,
                                  std::size_t bytes, std::byte* place) {
    if (rank == rank_) return input + offset;
    return memory_->look(rank, wait_for_offer(rank, message).input + offset, bytes, place);
}

// The same as combine_piece(), in the order of the node's parts. Of the places, half are for what is not over.
bool SingleCopy::combine_parts(std::uint64_t message, const std::byte* input, std::byte* result, std::size_t offset,
                               std::size_t bytes, const Combine& combine) {
    const Pieces pieces(pieces_, ranks_);
    constexpr int looks = most_at_once - static_cast<int>(NodeLevels::most_levels);
    static_assert(looks > 0);
    NestedCombination::Places places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = pieces.of(looks + static_cast<int>(i));
    NestedCombination nested(levels_, combine, bytes / combine.element_bytes, places);
    for (int position = 0; position < ranks_; ++position) {
        if (position % looks == 0) nested.let_go();
        const std::byte* operand =
            look(levels_.rank_at(position), message, input, offset, bytes, pieces.of(position % looks));
        if (operand == nullptr) return false;
        nested.add(position, operand);
    }
    nested.finish(result);
    return true;
}

// That part of all operands, in the order of ranks; result may be this rank's own. Of many ranks a few at a time: what those before gave is the
// first operand of the next. False where one could not be read; then result is as it was.
bool SingleCopy::combine_piece(std::uint64_t message, const std::byte* input, std::byte* result, std::size_t offset,
                               std::size_t bytes, const Combine& combine) {
    if (levels_.is_divided()) return combine_parts(message, input, result, offset, bytes, combine);
    const Pieces pieces(pieces_, ranks_);
    operands_.clear();
    for (int begin = 0; begin < ranks_; begin += most_at_once) {
        const int end = std::min(begin + most_at_once, ranks_);
        for (int each = begin; each < end; ++each) {
            const std::byte* operand = look(each, message, input, offset, bytes, pieces.of(each - begin));
            if (operand == nullptr) return false;
            operands_.push_back(operand);
        }
        std::byte* target = end == ranks_ ? result : pieces.before();
        combine_in_order(operands_, target, bytes, combine, pieces.accumulator(), accumulator_bytes);
        operands_.assign(1, target);
    }
    return true;
}

bool SingleCopy::combine_share(const Share& share, std::uint64_t message, int root, const std::byte* input,
                               std::byte* output, const Combine& combine, Progress& progress) {
    const std::size_t step = piece_bytes_of(ranks_) / combine.element_bytes * combine.element_bytes;
    const bool wants_result = root == no_root || root == rank_;
    while (progress.combined < share.end) {
        const std::size_t offset = progress.combined;
        const std::size_t bytes = std::min(step, share.end - offset);
        std::byte* result = wants_result ? output + offset : Pieces(pieces_, ranks_).result();
        if (!combine_piece(message, input, result, offset, bytes, combine)) return false;
        progress.combined = offset + bytes;
        if (root != rank_ && !deliver(root, result, offset, bytes)) return false;
        progress.delivered = progress.combined;
        waiting_.drive();
    }
    return true;
}

std::span<const SingleCopy::Rest> SingleCopy::reduce(int root, const std::byte* input, std::byte* output,
                                                     std::size_t elements, const Combine& combine) {
    const std::uint64_t message = messages_++;
    const auto share_of = [&](int rank) { return share(rank, root, elements, combine.element_bytes); };
    offer(message, input, output, elements * combine.element_bytes);
    Leaving leaving(*this, message);
    const Share own = share_of(rank_);
    Progress progress{own.begin, own.begin};
    conclude(message, combine_share(own, message, root, input, output, combine, progress), progress);
    const Pieces pieces(pieces_, ranks_);
    auto* rests = reinterpret_cast<Rest*>(pieces.rests());
    std::size_t count = 0;
    for (int each = 0; each < ranks_; ++each) {
        const Share theirs = share_of(each);
        if (theirs.begin == theirs.end || is_good(each, message)) continue;
        const std::size_t delivered = desk(each).delivered.load(std::memory_order_relaxed);
        const std::size_t combined = desk(each).combined.load(std::memory_order_relaxed);
        std::byte* result = nullptr;
        if (each == rank_) result = root == no_root || root == rank_ ? output + delivered : pieces.result();
        new (rests + count++) Rest{each, delivered, combined, theirs.end, result};
    }
    leaving.end();
    if (count == 0) return {};
    raise(desk(rank_).done, 2 * message + 2);
    for (int each = 0; each < ranks_; ++each) waiting_.until(desk(each).done, 2 * message + 2);
    return {rests, count};
}

}  // namespace hcoll
