#include "tuning/learning.hpp"

#include <algorithm>
#include <utility>

namespace hcoll {

namespace {

constexpr const char* being_tried = "being tried (LIBHCOLL_TUNE)";
constexpr const char* learned = why_of_trials;

// Calls between two agreements: at the beginning, while something is tried, and when all is settled. Then an agreement takes no more than a
// hundredth of the calls between.
constexpr std::uint64_t at_first = 32;
constexpr std::uint64_t while_trying = 24;
constexpr std::uint64_t fewest_when_settled = 128;
constexpr std::uint64_t most_when_settled = 1024;
constexpr double share = 0.01;

constexpr double seconds_of_nanosecond = 1e-9;

std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ number >> 30U) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ number >> 27U) * 0x94D049BB133111EBULL;
    return number ^ number >> 31U;
}

// Calls between two samples, of which there are about eight between two agreements: not in step with a program that makes the same few
// calls in turn.
std::uint64_t gap_after(std::uint64_t call, std::uint64_t interval) {
    const std::uint64_t gap = std::max<std::uint64_t>(interval, fewest_when_settled) / 8;
    return gap / 2 + 1 + mixed(call) % gap;
}

}  // namespace

Learning::Learning(const TrialTables* tables, TuneMode mode, BitsPromise bits)
    : tables_(tables), mode_(mode), takes_any_bits_(bits == BitsPromise::free), interval_(at_first) {
    for (auto& of_collective : index_) of_collective.fill(no_place);
    places_.reserve(most_places);
    due_ = at_first;
    sample_at_ = at_first;
    set_next();
}

void Learning::set_next() { look_at_ = is_agreeing_ || is_any_tried_ ? 0 : std::min(due_, sample_at_); }

Learning::Place* Learning::find(Collective collective, std::uint64_t bytes, const Decision& decided) {
    const PlaceKey key = PlaceKey::of(collective, bytes);
    std::uint8_t& index = index_[static_cast<std::size_t>(collective)][static_cast<std::size_t>(key.size_class)];
    if (index != no_place) [[likely]] {
        places_[index].usual = &decided;
        return &places_[index];
    }
    if (places_.size() == most_places) return nullptr;
    const std::vector<Decision>& others = others_at((*tables_)[static_cast<std::size_t>(collective)], key.fewest_bytes());
    const std::size_t count = std::min(others.size() + 1, PlaceLearning::most_candidates);
    if (count == 1) return nullptr;
    index = static_cast<std::uint8_t>(places_.size());
    Place& place = places_.emplace_back();
    place.key = key;
    place.others = &others;
    place.usual = &decided;
    int vendor = PlaceLearning::usual;
    for (std::size_t i = 1; i < count; ++i)
        if (!others[i - 1].is_own()) vendor = static_cast<int>(i);
    place.learning.begin(static_cast<int>(count), vendor, key.fewest_bytes(), mode_);
    return &place;
}

Learning::Turn Learning::next(Collective collective, std::uint64_t bytes, const Decision& decided) {
    const bool is_sample = calls_ >= sample_at_;
    if (is_sample) {
        sample_at_ = calls_ + gap_after(calls_, interval_);
        set_next();
    }
    Place* place = find(collective, bytes, decided);
    GoneBy& gone_by = gone_by_[static_cast<std::size_t>(collective)];
    if (gone_by.calls != 0) add_gone_by();
    if (place == nullptr || place->is_left_alone) {
        gone_by = {.size_class = PlaceKey::of(collective, bytes).size_class};
        return {.decision = &decided};
    }
    const PlaceLearning::State state = place->learning.state();
    const PlaceLearning::Turn turn = place->learning.next(is_sample);
    const auto index = static_cast<std::uint8_t>(place - places_.data());
    const Decision& decision = place->decision(turn.candidate);
    gone_by = {.place = index,
               .size_class = state == PlaceLearning::State::settled ? place->key.size_class : -1,
               .decision = turn.candidate == PlaceLearning::usual ? nullptr : &decision};
    return {.decision = &decision,
            .why = state == PlaceLearning::State::tried                                                  ? being_tried
                   : state == PlaceLearning::State::settled && turn.candidate != PlaceLearning::usual ? learned
                                                                                                       : nullptr,
            .place = turn.is_timed ? index : -1,
            .candidate = turn.candidate,
            .may_be_repeated = state == PlaceLearning::State::settled};
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

void Learning::note(const Turn& turn, std::uint64_t arrival, std::uint64_t exit) {
    Place& place = places_[static_cast<std::size_t>(turn.place)];
    // In a settled place the last ones count.
    if (place.samples == most_samples) {
        std::copy(place.sample.begin() + 1, place.sample.end(), place.sample.begin());
        --place.samples;
    }
    place.sample[place.samples++] = {static_cast<std::uint8_t>(turn.candidate), arrival, exit};
}

// All that has to be alike on all ranks for a place's samples to be of the same calls.
std::uint64_t Learning::check_of(const Place& place, std::size_t samples) const {
    std::uint64_t check = static_cast<std::uint64_t>(place.key.collective) << 8U | static_cast<unsigned>(place.key.size_class);
    check = mixed(check) ^ place.learning.calls();
    check = mixed(check) ^ (place.learning.position() << 8U | samples);
    for (std::size_t i = 0; i < samples; ++i) check = mixed(check) ^ place.sample[i].candidate;
    return mixed(check) | 1U;
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
    choose([](const Place& place) { return place.learning.is_trying() || place.learning.is_ready(); });
    choose([](const Place& place) {
        return place.learning.state() == PlaceLearning::State::settled && place.samples != 0;
    });
}

void Learning::tell(Words& words, std::uint64_t nanoseconds, bool asks_for_clock) {
    words.fill(0);
    words[number] = calls_;
    words[inverse_number] = ~calls_;
    words[inverse_nanoseconds] = ~nanoseconds;
    words[wants_clock] = asks_for_clock ? 1 : 0;
    add_gone_by();
    choose_slots();
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        Told& told = told_[slot];
        Place& place = places_[told.place];
        told.samples = place.samples;
        told.position = place.learning.position();
        told.calls = place.learning.calls();
        const std::uint64_t check = check_of(place, told.samples);
        std::uint64_t* word = words.data() + head_words + slot * words_of_slot;
        *word++ = check;
        *word++ = ~check;
        for (std::size_t i = 0; i < told.samples; ++i) {
            told.candidate[i] = place.sample[i].candidate;
            *word++ = place.sample[i].arrival;
            *word++ = place.sample[i].exit;
        }
        place.samples = 0;
    }
    // Until that is agreed on, every call is looked at: it is used in the same one on all ranks.
    due_ = ~std::uint64_t{0};
    look_at_ = 0;
    is_agreeing_ = true;
}

Learning::Outcome Learning::learn(const Words& all) {
    if (all[number] != ~all[inverse_number]) {
        *this = Learning();
        return {.has_changed = true, .is_over = true};
    }
    Outcome outcome{.wants_clock = all[wants_clock] != 0};
    const double agreeing = static_cast<double>(~all[inverse_nanoseconds]) * seconds_of_nanosecond;
    double seconds = 0;  // in what was told of, since the last agreement
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        const Told& told = told_[slot];
        Place& place = places_[told.place];
        const std::uint64_t* word = all.data() + head_words + slot * words_of_slot;
        const bool is_alike = word[0] == ~word[1];
        if (!is_alike) {
            place.is_left_alone = true;
            outcome.has_changed = true;
            continue;
        }
        word += 2;
        std::array<PlaceLearning::Cost, most_samples> costs{};
        for (std::size_t i = 0; i < told.samples; ++i, word += 2) {
            // Clocks are a little apart: no call takes less than no time.
            const std::uint64_t nanoseconds = word[1] > word[0] ? word[1] - word[0] : 1;
            costs[i] = {told.candidate[i], static_cast<double>(nanoseconds) * seconds_of_nanosecond};
        }
        const double before = place.learning.seconds();
        if (place.learning.is_trying()) place.learning.add_regret(agreeing / static_cast<double>(slots_));
        const bool has_changed =
            place.learning.learn({costs.data(), told.samples}, told.calls, told.position);
        outcome.has_changed |= has_changed;
        const bool is_settled = has_changed && place.learning.state() == PlaceLearning::State::settled;
        place.has_news = is_settled && place.learning.chosen() != place.told_as;
        if (is_settled) place.told_as = place.learning.chosen();
        seconds += place.learning.seconds() - before;
    }
    const bool is_any_tried =
        std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.learning.is_trying(); });
    is_any_tried_ = is_any_tried;
    is_agreeing_ = false;
    for (GoneBy& each : gone_by_) each = {};
    if (!places_.empty() && slots_ != 0) first_told_ = (told_[slots_ - 1].place + 1) % places_.size();
    const std::uint64_t before = interval_;
    if (is_any_tried)
        interval_ = while_trying;
    else if (seconds > 0)
        interval_ = static_cast<std::uint64_t>(
            std::clamp(static_cast<double>(before) * agreeing / (share * seconds),
                       static_cast<double>(fewest_when_settled), static_cast<double>(most_when_settled)));
    else
        interval_ = std::clamp(2 * before, fewest_when_settled, most_when_settled);
    due_ = all[number] + interval_;
    set_next();
    slots_ = 0;
    return outcome;
}

}  // namespace hcoll
