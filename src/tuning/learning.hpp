// SPDX-License-Identifier: BSD-3-Clause
// What the places of one communicator have learned, and how its ranks agree on it (LIBHCOLL_TUNE).
//
// Calls of the communicator are numbered: that number is the same on all ranks, whatever its place. Everything that has to happen on all ranks
// at the same time goes by it, or by what was agreed: when ranks agree next, which call is a sample. So a wrong program, whose ranks take one
// call for different places, disturbs that call alone, and what is tried just then: at the next agreement its ranks see that they have counted
// differently, and leave such a place alone from then on.
//
//   call 1 ... 32      agree     ...          agree                agree
//        |               |                      |                    |
//        counted         those called often     a round's costs      samples of what is settled
//                        are tried from here    are known            (every 8th call or so)
//
// Ranks agree by the largest of each number that any of them tells (one Allreduce of most_words words), on a clock that they have in common.
// **The cost of a call** is what the algorithm takes, and not what ranks wait for late ones:
//
//   Bcast, Scatter   the longest time that any rank spends in the call after both it and the root have come. When the root came is agreed
//                    on first, so these costs are known one agreement later
//   all others       from the last arrival to the last exit: nothing can be complete before the last rank has come, where it gives something
//
// Of calls in a row the costs add up to what the slowest rank took for all of them, since each arrives when it has left the call before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tuning/place_learning.hpp"
#include "tuning/trial_candidates.hpp"

namespace hcoll {

// Of a collective and the bytes of its message, up to a power of two (trial_candidates.hpp).
struct PlaceKey {
    Collective collective = Collective::bcast;
    int size_class = 0;

    static PlaceKey of(Collective collective, std::uint64_t bytes) { return {collective, size_class_of_place(bytes)}; }
    std::uint64_t most_bytes() const { return most_bytes_of_place(size_class); }
    friend bool operator==(const PlaceKey&, const PlaceKey&) = default;
};

// Used by one thread at a time. Takes memory when it is made, for places beyond the first few, and for those that are tried; a rank that cannot have it learns
// no more, nor do the others.
class Learning {
public:
    static constexpr std::size_t most_places = 64;
    static constexpr std::size_t first_places = 4;

    // None: nothing is learned, and every call runs what is usual.
    Learning() = default;
    // `usual`: what runs without any trying. Both have to live as long. May throw std::bad_alloc.
    Learning(const std::array<DecisionTable, collective_count>* usual, const TrialTables* tables, TuneMode mode,
             BitsPromise bits);

    bool is_on() const { return tables_ != nullptr; }
    // May it also be calls whose bits depend on the algorithm?
    bool takes_any_bits() const { return takes_any_bits_; }

    // ---- a call, on all ranks ----

    // A call like the last one of that collective that was kept: may it go by without a look? False: look.
    bool may_go_by(Collective collective) {
        if (calls_ + 1 >= (waits_for_all(collective) ? look_at_ : sample_at_)) return false;
        ++calls_;
        is_sample_ = false;
        ++gone_by_[static_cast<std::size_t>(collective)].calls;
        return true;
    }
    // Where it turns out not to be like that: it is counted, and next() is asked for it.
    void take_back(Collective collective) { --gone_by_[static_cast<std::size_t>(collective)].calls; }
    // Is it of the place that the last one of that collective was of, if it may go by? Then `decided` becomes what it runs.
    bool is_as_before(Collective collective, std::uint64_t bytes, const Decision*& decided) const {
        const GoneBy& before = gone_by_[static_cast<std::size_t>(collective)];
        if (before.usual != decided || before.size_class != PlaceKey::of(collective, bytes).size_class) return false;
        if (before.decision != nullptr) decided = before.decision;
        return true;
    }
    // Where every Bcast is the MPI library's, and none is usually anybody else's, the ranks of a node need not tell one another its length: for
    // the next few thousand calls. The same on all ranks.
    bool rests_bcast() const { return calls_ < bcast_rests_until_; }
    // Any other.
    void count_call();
    std::uint64_t calls() const { return calls_; }
    // Shall the ranks agree, in this call, if they all wait for all in it?
    bool is_due() const { return calls_ >= due_; }
    // May the call that comes be one that is timed? Where its place is not yet known.
    bool may_time() const { return is_any_in_round_ || calls_ + 1 >= sample_at_; }

    // What a call runs.
    struct Turn {
        const Decision* decision = nullptr;
        const char* why = nullptr;  // for reports; nullptr: as the decision says
        int place = -1;             // where it is timed: for note()
        int candidate = 0;
        bool may_be_repeated = true;  // the next call like it may go by
    };
    // `decided`: what is usual.
    Turn next(Collective collective, std::uint64_t bytes, const Decision& decided);
    // A call of which nothing is to be learned: those like it that go by are no place's.
    void leave(Collective collective);
    // On this rank it began and ended then, in nanoseconds of the common clock.
    void note(const Turn& turn, bool is_root, std::uint64_t arrival, std::uint64_t exit);

    // ---- agreement ----

    static constexpr std::size_t most_slots = 4;
    static constexpr std::size_t most_samples = PlaceLearning::most_in_round;
    static constexpr std::size_t words_of_slot =
        2 + 2 * most_samples;  // of a sample: arrival, and exit or what was spent
    enum Head : std::size_t { number, inverse_number, inverse_nanoseconds, wants_clock, head_words };
    static constexpr std::size_t most_words = head_words + most_slots * words_of_slot;
    using Words = std::array<std::uint64_t, most_words>;

    // This rank cannot go on learning: so none will, from the next agreement on.
    void end_at_agreement() { cannot_go_on_ = true; }
    // What this rank knows and no other. `nanoseconds`: how long the last agreement took it; `wants_clock`: clocks should be compared.
    void tell(Words& words, std::uint64_t nanoseconds, bool wants_clock);
    struct Outcome {
        bool has_changed = false;  // calls may run something else from now on
        bool wants_clock = false;  // somebody does
        // The ranks are out of step, or speak of different places, or one lacks memory: nothing is learned any more.
        bool is_over = false;
    };
    // `all`: the largest of what the ranks have told, each word by itself.
    Outcome learn(const Words& all);

    // ---- for reports ----

    struct Place {
        PlaceKey key;
        const std::vector<Decision>* others = nullptr;
        const Decision* usual = nullptr;
        std::uint64_t bytes = 0;       // of the last call
        bool is_left_alone = false;    // the ranks have counted differently
        bool is_in_round = false;      // its calls are timed
        bool has_news = false;         // the last agreement has changed what it runs
        int told_as = -1;              // what it ran when it was settled last
        std::uint64_t told_calls = 0;  // how many there were when it was told of last
        PlaceLearning learning{};
        struct Sample {
            std::uint8_t candidate;
            bool is_root;
            std::uint64_t arrival;
            std::uint64_t exit;
        };
        // Of calls whose root's arrival is agreed on, what this rank spent in them since.
        struct Late {
            std::uint8_t samples = 0;
            std::size_t position = 0;
            std::uint64_t calls = 0;
            std::array<std::uint8_t, most_samples> candidate{};
            std::array<std::uint64_t, most_samples> nanoseconds{};
        };
        // Calls that are timed. Most places are only counted: nullptr until it is told of first.
        struct Timed {
            std::uint8_t samples = 0;
            std::array<Sample, most_samples> sample{};
            Late late{};
            PlaceLearning::Costs costs{};
        };
        std::unique_ptr<Timed> timed = nullptr;

        bool has_samples() const { return timed != nullptr && timed->samples != 0; }
        bool is_late() const { return timed != nullptr && timed->late.samples != 0; }
        const Decision& decision(int candidate) const {
            return candidate == PlaceLearning::usual ? *usual : (*others)[static_cast<std::size_t>(candidate - 1)];
        }
    };
    std::span<const Place> places() const { return places_; }
    void forget_news() {
        for (Place& place : places_) place.has_news = false;
    }

private:
    static constexpr std::uint8_t no_place = 0xff;
    static constexpr std::uint8_t lacking = 0xfe;  // one that other ranks may have
    static constexpr std::size_t size_classes = 66;

    // `decided` becomes what such calls run until something is found out.
    Place* find(Collective collective, std::uint64_t bytes, const Decision*& decided);
    std::uint64_t check_of(const Place& place) const;
    static void note_roots(Place::Timed& timed, std::uint64_t calls, std::size_t position, const std::uint64_t* words);
    void choose_slots();
    bool take_memory_for_slots();
    void note_round_of(Place& place);
    bool add_place();
    void add_gone_by();
    bool is_every_bcast_the_vendors() const;
    void set_next() { look_at_ = std::min(due_, sample_at_); }

    const std::array<DecisionTable, collective_count>* usual_ = nullptr;
    const TrialTables* tables_ = nullptr;
    TuneMode mode_ = TuneMode::automatic;
    bool takes_any_bits_ = false;
    std::uint64_t calls_ = 0;
    std::uint64_t look_at_ = ~std::uint64_t{0};    // the first call to be looked at, of those in which all wait for all
    std::uint64_t due_ = ~std::uint64_t{0};        // the ranks agree in the first call from here on that may
    std::uint64_t sample_at_ = ~std::uint64_t{0};  // the next call that is a sample
    bool is_sample_ = false;                       // this one is
    std::uint64_t interval_ = 0;
    double shortest_agreement_ = 0;  // seconds; 0: none was timed
    bool is_any_in_round_ = false;
    // Calls that went by, by collective, and the place that they are of.
    struct GoneBy {
        std::uint64_t calls = 0;
        std::uint8_t place = no_place;
        int size_class = -1;                 // where it is not in the middle of a round
        const Decision* usual = nullptr;     // then
        const Decision* decision = nullptr;  // nullptr: what is usual
    };
    std::array<GoneBy, collective_count> gone_by_{};
    std::array<std::array<std::uint8_t, size_classes>, collective_count> index_{};
    std::vector<Place> places_;
    std::size_t lacked_ = 0;  // places that this rank has no memory for
    bool cannot_go_on_ = false;
    std::uint64_t bcast_rests_until_ = 0;
    std::size_t first_told_ = 0;
    // What was told, until it is agreed on.
    struct Told {
        std::size_t place = 0;
        std::size_t position = 0;
        std::uint64_t calls = 0;
    };
    std::array<Told, most_slots> told_{};
    std::size_t slots_ = 0;
};

}  // namespace hcoll
