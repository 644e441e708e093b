// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/own_arithmetic.hpp"

namespace hcoll {

namespace {

constexpr const char* being_tried = "being tried (LIBHCOLL_TUNE)";
constexpr const char* learned = why_of_trials;

// Calls between two agreements: at the beginning, while something is tried, and when all is settled. Then an agreement takes no more than a
// hundredth of the calls between, but for the shortest: a program may go on to longer ones, which nobody tries before. Where nothing is known of how long
// calls take, it may be that few come.
constexpr std::uint64_t at_first = 32;
constexpr std::uint64_t while_trying = 16;
constexpr std::uint64_t when_late = 8;
constexpr std::uint64_t calls_of_rest = 4096;
constexpr std::uint64_t calls_between_rests = 512;
constexpr std::uint64_t fewest_when_settled = 80;
constexpr std::uint64_t most_when_settled = 2048;
constexpr std::uint64_t most_when_unknown = 1024;
constexpr double share = 0.01;
constexpr double most_of_shortest_agreement = 4;

constexpr double seconds_of_nanosecond = 1e-9;

std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ number >> 30U) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ number >> 27U) * 0x94D049BB133111EBULL;
    return number ^ number >> 31U;
}

// Calls between two samples, of which there are about sixteen between two agreements: not in step with a program that makes the same few
// calls in turn. Where no call comes in which the ranks could agree, they become rarer and rarer.
std::uint64_t gap_after(std::uint64_t call, std::uint64_t interval, std::uint64_t late) {
    const std::uint64_t gap = (std::max<std::uint64_t>(interval, fewest_when_settled) + late) / 16;
    return gap / 2 + 1 + mixed(call) % gap;
}

// Of how long a rank takes says nothing, as long as the root has not come.
bool waits_for_root(Collective collective) {
    return collective == Collective::bcast || collective == Collective::scatter;
}

constexpr unsigned int bits_of_check = 48;

// Clocks are a little apart: no call takes less than no time.
PlaceLearning::Cost cost_of(int candidate, std::uint64_t nanoseconds) {
    return {candidate, static_cast<double>(std::max<std::uint64_t>(nanoseconds, 1)) * seconds_of_nanosecond};
}

// One that is tried, or about to be, and has been called since it was told of; or whose costs are yet to be told. A program may have gone on to
// other calls in the middle of a round.
bool is_first_to_tell(const Learning::Place& place) {
    const bool is_called = place.learning.calls() != place.told_calls;
    return place.is_late() || place.learning.is_ready() || (place.learning.is_trying() && is_called);
}

}  // namespace

Learning::Learning(const std::array<DecisionTable, collective_count>* usual, const TrialTables* tables, TuneMode mode,
                   BitsPromise bits)
    : usual_(usual),
      tables_(tables),
      mode_(mode),
      takes_any_bits_(bits == BitsPromise::free),
      due_(at_first),
      sample_at_(at_first),
      interval_(at_first) {
    for (auto& of_collective : index_) of_collective.fill(no_place);
    places_.reserve(first_places);
    set_next();
}

void Learning::count_call() {
    ++calls_;
    is_sample_ = calls_ >= sample_at_;
    if (!is_sample_) [[likely]]
        return;
    sample_at_ = calls_ + gap_after(calls_, interval_, calls_ - std::min(calls_, due_));
    set_next();
}

bool Learning::add_place() {
    try {
        if (lacked_ == 0) {
            places_.emplace_back();
            return true;
        }
    } catch (const std::bad_alloc&) {
        // Others may have it.
    }
    ++lacked_;
    return false;
}

// Nullptr where nothing is tried: no candidates, or it is usually something else that runs than for the longest messages of the place (a table
// may change its choice between them).
Learning::Place* Learning::find(Collective collective, std::uint64_t bytes, const Decision*& decided) {
    const PlaceKey key = PlaceKey::of(collective, bytes);
    const auto of = static_cast<std::size_t>(collective);
    std::uint8_t& index = index_[of][static_cast<std::size_t>(key.size_class)];
    if (index < most_places) [[likely]] {
        Place& place = places_[index];
        if (place.usual != decided) return nullptr;
        place.bytes = bytes;
        return &place;
    }
    if (decided != &decide((*usual_)[of], key.most_bytes())) return nullptr;
    if (index == no_place && places_.size() + lacked_ == most_places) return nullptr;
    const TrialRange* range = trials_at((*tables_)[of], key.most_bytes());
    if (range == nullptr || range->others.empty()) return nullptr;
    const std::size_t count = std::min(range->others.size() + 1, PlaceLearning::most_candidates);
    // A rank that cannot have one more tells the others when they agree, before anything is tried there; then none learns any more. Until then it
    // runs what they begin with.
    if (index == no_place && !add_place()) index = lacking;
    if (index == lacking) {
        if (range->first != PlaceLearning::usual) decided = &range->others[static_cast<std::size_t>(range->first - 1)];
        return nullptr;
    }
    index = static_cast<std::uint8_t>(places_.size() - 1);
    Place& place = places_.back();
    place.key = key;
    place.others = &range->others;
    place.usual = decided;
    place.bytes = bytes;
    int vendor = PlaceLearning::usual;
    for (std::size_t i = 1; i < count; ++i)
        if (!range->others[i - 1].is_own()) vendor = static_cast<int>(i);
    place.learning.begin(static_cast<int>(count), vendor, key.most_bytes(), mode_, range->first,
                         waits_for_all(collective));
    return &place;
}

Learning::Turn Learning::next(Collective collective, std::uint64_t bytes, const Decision& decided) {
    const Decision* first = &decided;
    Place* place = find(collective, bytes, first);
    GoneBy& gone_by = gone_by_[static_cast<std::size_t>(collective)];
    if (gone_by.calls != 0) add_gone_by();
    if (place == nullptr || place->is_left_alone) {
        gone_by = {};
        return {.decision = first};
    }
    const PlaceLearning::State state = place->learning.state();
    const bool is_in_round = place->learning.is_in_round();
    const PlaceLearning::Turn turn = place->learning.next(is_sample_);
    note_round_of(*place);
    const auto index = static_cast<std::uint8_t>(place - places_.data());
    const Decision& decision = place->decision(turn.candidate);
    gone_by = {.place = index,
               .size_class = is_in_round ? -1 : place->key.size_class,
               .usual = &decided,
               .decision = turn.candidate == PlaceLearning::usual ? nullptr : &decision};
    return {.decision = &decision,
            .why = state == PlaceLearning::State::tried     ? being_tried
                   : turn.candidate != PlaceLearning::usual ? learned
                                                            : nullptr,
            .place = turn.is_timed ? index : -1,
            .candidate = turn.candidate,
            .may_be_repeated = !is_in_round};
}

// In the middle of a round calls are timed, also where a program comes back to it that was elsewhere when the ranks agreed; when it is over, there is
// nothing to be timed until they agree.
void Learning::note_round_of(Place& place) {
    if (place.is_in_round == place.learning.is_in_round()) [[likely]]
        return;
    place.is_in_round = !place.is_in_round;
    is_any_in_round_ = std::any_of(places_.begin(), places_.end(), [](const Place& each) { return each.is_in_round; });
}

// Also of lengths that were not seen yet.
bool Learning::is_every_bcast_the_vendors() const {
    bool is_any = false;
    for (const SizeRange& each : (*usual_)[static_cast<std::size_t>(Collective::bcast)])
        if (each.decision.is_own()) return false;
    for (const Place& each : places_) {
        if (each.key.collective != Collective::bcast) continue;
        const PlaceLearning& learned = each.learning;
        if (learned.vendor() != PlaceLearning::usual || learned.state() != PlaceLearning::State::settled ||
            learned.chosen() != learned.vendor() || each.is_left_alone)
            return false;
        is_any = true;
    }
    return is_any;
}

void Learning::leave(Collective collective) {
    add_gone_by();
    gone_by_[static_cast<std::size_t>(collective)] = {};
}

void Learning::add_gone_by() {
    for (GoneBy& each : gone_by_)
        if (const std::uint64_t calls = std::exchange(each.calls, 0); each.place != no_place)
            places_[each.place].learning.add_calls(calls);
}

void Learning::note(const Turn& turn, bool is_root, std::uint64_t arrival, std::uint64_t exit) {
    Place& place = places_[static_cast<std::size_t>(turn.place)];
    Place::Timed& timed = *place.timed;
    // In a settled place the last ones count.
    if (timed.samples == most_samples) {
        std::copy(timed.sample.begin() + 1, timed.sample.end(), timed.sample.begin());
        --timed.samples;
    }
    timed.sample[timed.samples++] = {static_cast<std::uint8_t>(turn.candidate), is_root, arrival, exit};
}

// All that has to be alike on all ranks for a place's samples to be of the same calls.
std::uint64_t Learning::check_of(const Place& place) const {
    std::uint64_t check = mixed(place.learning.calls());
    const Place::Timed& timed = *place.timed;
    check = mixed(check) ^ (place.learning.position() << 16U | timed.late.samples << 8U | timed.samples);
    for (std::size_t i = 0; i < timed.samples; ++i) check = mixed(check) ^ timed.sample[i].candidate;
    for (std::size_t i = 0; i < timed.late.samples; ++i) check = mixed(check) ^ timed.late.candidate[i];
    // Which place it is stands in front, so that the largest of all ranks tells whether they mean the same one.
    const auto key =
        1 + (static_cast<std::uint64_t>(place.key.collective) << 8U | static_cast<unsigned>(place.key.size_class));
    return key << bits_of_check | mixed(check) >> (64U - bits_of_check);
}

// Whom something is to be agreed of: those that are tried or about to be, then others that have samples.
void Learning::choose_slots() {
    slots_ = 0;
    const auto choose = [&](auto&& wants) {
        for (std::size_t i = 0; i < places_.size() && slots_ < most_slots; ++i) {
            const std::size_t at = (first_told_ + i) % places_.size();
            if (!places_[at].is_left_alone && wants(places_[at])) told_[slots_++].place = at;
        }
    };
    choose([](const Place& place) { return is_first_to_tell(place); });
    choose([](const Place& place) {
        return !is_first_to_tell(place) && place.learning.state() == PlaceLearning::State::settled &&
               place.has_samples();
    });
}

bool Learning::take_memory_for_slots() {
    try {
        for (std::size_t slot = 0; slot < slots_; ++slot) {
            Place& place = places_[told_[slot].place];
            if (place.timed != nullptr) continue;
            place.timed = std::make_unique<Place::Timed>();
            place.learning.keep_costs_in(place.timed->costs);
        }
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void Learning::tell(Words& words, std::uint64_t nanoseconds, bool asks_for_clock) {
    words.fill(0);
    add_gone_by();
    choose_slots();
    if (!take_memory_for_slots()) {
        cannot_go_on_ = true;
        slots_ = 0;
    }
    words[number] = lacked_ != 0 || cannot_go_on_ ? ~std::uint64_t{0} : calls_;  // the first is nobody's
    words[inverse_number] = ~calls_;
    words[inverse_nanoseconds] = ~nanoseconds;
    words[wants_clock] = asks_for_clock ? 1 : 0;
    for (std::size_t slot = slots_; slot < most_slots; ++slot)
        words[head_words + slot * words_of_slot + 1] = ~std::uint64_t{0};
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        Told& told = told_[slot];
        const Place& place = places_[told.place];
        const Place::Timed& timed = *place.timed;
        told.position = place.learning.position();
        told.calls = place.learning.calls();
        const std::uint64_t check = check_of(place);
        std::uint64_t* word = words.data() + head_words + slot * words_of_slot;
        *word++ = check;
        *word++ = ~check;
        const bool goes_by_root = waits_for_root(place.key.collective);
        for (std::size_t i = 0; i < most_samples; ++i, word += 2) {
            if (i < timed.samples) {
                word[0] = !goes_by_root || timed.sample[i].is_root ? timed.sample[i].arrival : 0;
                word[1] = goes_by_root ? 0 : timed.sample[i].exit;
            }
            if (i < timed.late.samples) word[1] = timed.late.nanoseconds[i];
        }
    }
}

// When the roots came is agreed on: what this rank has spent in those calls since.
void Learning::note_roots(Place::Timed& timed, std::uint64_t calls, std::size_t position, const std::uint64_t* words) {
    timed.late = {.samples = timed.samples, .position = position, .calls = calls};
    for (std::size_t i = 0; i < timed.samples; ++i) {
        const Place::Sample& each = timed.sample[i];
        const std::uint64_t begin = std::max(each.arrival, words[2 * i]);
        timed.late.candidate[i] = each.candidate;
        timed.late.nanoseconds[i] = each.exit > begin ? each.exit - begin : 0;
    }
}

Learning::Outcome Learning::learn(const Words& all) {
    const OwnArithmetic own;
    bool is_in_step = all[number] == ~all[inverse_number];
    for (std::size_t slot = 0; slot < most_slots; ++slot) {
        const std::uint64_t* word = all.data() + head_words + slot * words_of_slot;
        is_in_step &= word[0] >> bits_of_check == ~word[1] >> bits_of_check;
    }
    if (!is_in_step) {
        *this = Learning();
        return {.has_changed = true, .is_over = true};
    }
    Outcome outcome{.wants_clock = all[wants_clock] != 0};
    // That of the agreement before. The first one may have connected ranks, and any one may have met something: no place is to learn less for that, or later.
    const double took = static_cast<double>(~all[inverse_nanoseconds]) * seconds_of_nanosecond;
    const double agreeing =
        shortest_agreement_ == 0 ? 0 : std::min(took, most_of_shortest_agreement * shortest_agreement_);
    if (took > 0) shortest_agreement_ = shortest_agreement_ == 0 ? took : std::min(took, shortest_agreement_);
    bool is_any_late = false;
    bool is_any_tried = false;  // and called
    is_any_in_round_ = false;
    for (Place& each : places_) each.is_in_round = false;
    double seconds = 0;  // in what was told of, since the last agreement
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        const Told& told = told_[slot];
        Place& place = places_[told.place];
        Place::Timed& timed = *place.timed;
        const std::uint64_t* word = all.data() + head_words + slot * words_of_slot;
        const bool is_alike = word[0] == ~word[1];
        if (!is_alike) {
            place.is_left_alone = true;
            outcome.has_changed = true;
            continue;
        }
        word += 2;
        std::array<PlaceLearning::Cost, most_samples> costs{};
        const double before = place.learning.seconds();
        if (place.learning.is_trying()) place.learning.add_regret(agreeing / static_cast<double>(slots_));
        bool has_changed = false;
        if (waits_for_root(place.key.collective)) {
            const Place::Late known = timed.late;
            for (std::size_t i = 0; i < known.samples; ++i) costs[i] = cost_of(known.candidate[i], word[2 * i + 1]);
            note_roots(timed, told.calls, told.position, word);
            // What is known is of a while ago; where that is nothing, there is time.
            if (known.samples != 0)
                has_changed = place.learning.learn({costs.data(), known.samples}, known.calls, known.position);
            else if (!place.learning.is_trying())
                has_changed = place.learning.learn({}, told.calls, told.position);
            else if (timed.samples == 0)
                place.learning.repeat_round();
            if (has_changed) timed.late.samples = 0;
            // In a settled place what is known now is enough until the next look.
            is_any_late |= timed.late.samples != 0 && (known.samples == 0 || place.learning.is_trying());
        } else {
            for (std::size_t i = 0; i < timed.samples; ++i, word += 2)
                costs[i] = cost_of(timed.sample[i].candidate, word[1] > word[0] ? word[1] - word[0] : 0);
            has_changed = place.learning.learn({costs.data(), timed.samples}, told.calls, told.position);
        }
        timed.samples = 0;
        outcome.has_changed |= has_changed;
        const bool is_settled = has_changed && place.learning.state() == PlaceLearning::State::settled;
        place.has_news = is_settled && place.learning.chosen() != place.told_as;
        if (is_settled) place.told_as = place.learning.chosen();
        seconds += place.learning.seconds() - before;
        const bool is_tried = place.learning.is_trying() && told.calls != place.told_calls;
        is_any_tried |= is_tried;
        place.is_in_round = is_tried && place.learning.is_in_round();
        is_any_in_round_ |= place.is_in_round;
        place.told_calls = told.calls;
    }
    for (GoneBy& each : gone_by_) each = {};
    // Meanwhile nothing is learned of Bcasts, of no length: so there are calls between two rests.
    if (!is_every_bcast_the_vendors())
        bcast_rests_until_ = std::min(bcast_rests_until_, calls_);
    else if (calls_ >= bcast_rests_until_ + calls_between_rests)
        bcast_rests_until_ = calls_ + calls_of_rest;
    if (!places_.empty() && slots_ != 0) first_told_ = (told_[slots_ - 1].place + 1) % places_.size();
    const std::uint64_t before = interval_;
    if (is_any_tried)
        interval_ = while_trying;
    else if (seconds > 0)
        interval_ = static_cast<std::uint64_t>(std::clamp(static_cast<double>(before) * agreeing / (share * seconds),
                                                          static_cast<double>(fewest_when_settled),
                                                          static_cast<double>(most_when_settled)));
    else
        interval_ = std::clamp(2 * before, fewest_when_settled, most_when_unknown);
    // From this call on, which is the same on all ranks. What waits for no further call needs none.
    due_ = calls_ + (is_any_late ? std::min(interval_, when_late) : interval_);
    sample_at_ = std::min(sample_at_, calls_ + gap_after(calls_, interval_, 0));
    set_next();
    slots_ = 0;
    return outcome;
}

}  // namespace hcoll
