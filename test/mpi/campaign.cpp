// SPDX-License-Identifier: BSD-3-Clause
// A random program of collectives of every kind and form (any_collective.hpp), each beside the MPI library's own result for the same operands, bit by bit: on
// MPI_COMM_WORLD, duplicates, parts, communicators that come and go, of a session, between groups, with processes that it
// has started; by several threads.
//
// It goes in bursts: the MPI library runs all collectives of one first; then they run as the program makes them, one upon the other, with
// some under way at a time; then the buffers are compared, with all that lies around them.
//
//   --steps N         collectives of each thread (default 500)
//   --max-bytes B     the longest message (default 100000)
//   --late U          a rank comes up to U microseconds late, now and then (default 0)
//   --thread-level L  asked of MPI_Init_thread (default 0)
//   --threads T       (default 1); more than one need --thread-level 3
//   --spawn N         starts N more processes, and goes on with them
//   --mostly KIND     three of four are of this kind, as reports have it (gather, ireduce, reduce_init), within one group
//   --parts           those on parts of the ranks
//   --plain           on communicators within MPI_COMM_WORLD alone: none between groups, none of a session
//   --without LIST    what the MPI library itself has wrong: sessions, background_between_groups (collectives that do not block), real16 (the type);
//                     long_double (these types), which valgrind makes shorter
//   --keep LIST       of all the collectives' numbers those alone, as in 64-90,130: what the others would do is left out
//   --say             each rank tells each collective before it is made
// The collectives are the same for the same seed. campaign.py draws such programs, with settings, runs them, and shrinks what fails.
#include "../support/any_collective.hpp"
#include "../support/communicator_set.hpp"
#include "../support/layouts.hpp"
#include "../support/mpi_features.hpp"
#include "../support/predefined_types.hpp"
#include "../support/random_layouts.hpp"
#include "../support/spawn.hpp"
#if HCOLL_TEST_HAS_SESSIONS
#include "../support/session_communicator.hpp"
#endif

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

using namespace hcoll::test;
using any::By;
using any::Form;
using any::Place;
using any::What;

namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_of(const std::string& text) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string range = text.substr(at, end - at);
        const std::size_t dash = range.find('-');
        const std::uint64_t first = std::stoull(range.substr(0, dash));
        ranges.emplace_back(first, dash == std::string::npos ? first : std::stoull(range.substr(dash + 1)));
        at = end + 1;
    }
    return ranges;
}

// What a report calls a row of its table.
struct Kind {
    What what;
    Form form;

    explicit Kind(std::string name) : form(Form::blocking) {
        if (name.ends_with("_init")) {
            form = Form::persistent;
            name.resize(name.rfind('_'));
        } else if (name.starts_with('i')) {
            form = Form::nonblocking;
            name.erase(0, 1);
        }
        const auto* const found =
            std::find_if(std::begin(any::what_names), std::end(any::what_names), [&](std::string of) {
                of[0] = static_cast<char>(std::tolower(of[0]));
                return of == name;
            });
        require(found != std::end(any::what_names), "--mostly names no collective");
        what = static_cast<What>(found - std::begin(any::what_names));
    }
};

std::optional<Kind> kind_of(const std::string& name) { return name.empty() ? std::nullopt : std::optional<Kind>(name); }

struct Shape {
    std::int64_t steps;
    std::int64_t max_bytes;
    std::uint64_t late;
    bool says;
    bool on_parts;
    std::string mostly_as_told;
    std::optional<Kind> mostly = kind_of(mostly_as_told);
    std::string without;  // as told
    bool is_background_between_groups = without.find("background_between_groups") == std::string::npos;
    std::string kept_as_told;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> kept = ranges_of(kept_as_told);  // empty: all

    [[nodiscard]] bool keeps(std::uint64_t number) const {
        return kept.empty() || std::any_of(kept.begin(), kept.end(), [&](const auto& range) {
                   return range.first <= number && number <= range.second;
               });
    }
};

// The datatypes and operations that all threads draw from; not changed once it is made.
class Kinds {
public:
    Kinds(std::uint64_t seed, const Shape& shape) : predefined_(predefined_types(false)), derived_(derived_layouts()) {
        if (shape.without.find("real16") != std::string::npos)
            std::erase_if(predefined_, [](const TestType& type) { return type.name == "MPI_REAL16"; });
        if (shape.without.find("long_double") != std::string::npos)
            std::erase_if(predefined_,
                          [](const TestType& type) { return type.name.find("LONG_DOUBLE") != std::string::npos; });
        RandomLayouts random(seed, vendor_packs_empty_parts);
        for (int i = 0; i < 40; ++i) random_.push_back(random.next());
        check(MPI_Op_create(any::combine_by_handle<Op::user_sum>, 1, &sum_.handle));
        check(MPI_Op_create(any::combine_by_handle<Op::user_affine>, 0, &affine_.handle));
        for (const Layout& layout : derived_) any::types_by_handle()[layout.type().handle] = &layout.type();
    }
    ~Kinds() {
        MPI_Op_free(&sum_.handle);
        MPI_Op_free(&affine_.handle);
    }
    Kinds(const Kinds&) = delete;
    Kinds& operator=(const Kinds&) = delete;

    void draw(any::Call& call, Random& random) const {
        if (call.what == What::bcast && random.chance(3)) {
            call.type = &random_[random.below(random_.size())].type();
        } else if (random.chance(4)) {
            call.type = &derived_[random.below(derived_.size())].type();
            call.operation = random.chance(2) ? sum_ : affine_;
        } else {
            for (std::size_t i = random.below(predefined_.size());; ++i) {
                call.type = &predefined_[i % predefined_.size()];
                if (!any::is_reduction(call.what) || !call.type->ops.empty()) break;
            }
            if (!call.type->ops.empty())
                call.operation = predefined_operation(call.type->ops[random.below(call.type->ops.size())]);
        }
        if (!any::is_reduction(call.what)) call.operation = {};
    }

private:
    std::vector<TestType> predefined_;
    std::vector<Layout> derived_;
    std::vector<Layout> random_;  // for broadcasts
    Operation sum_{Op::user_sum, "user sum", MPI_OP_NULL};
    Operation affine_{Op::user_affine, "user affine map (not commutative)", MPI_OP_NULL};
};

// What a thread makes collectives on.
class Places {
public:
    // Of MPI_COMM_WORLD; threads need duplicates, all but one.
    Places(CommunicatorSet::Of of, bool is_plain, bool has_session) : set_(std::in_place, of) {
        const auto& list = set_->list();
        for (const NamedCommunicator& each : list) list_.push_back(any::place_of(each.name, each.comm));
        const NamedCommunicator& all = list.front();
        const NamedCommunicator& part = list[3];  // odd or even ranks
        if (all.size > 1 && !is_plain) add_inter(all.comm, part.comm, all.rank % 2);
        if (has_session) add_session();
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(all.comm, &comm));
        add("a duplicate that comes and goes", comm);
    }
    // Processes of a job and what they have started; the inter-communicator is not freed here.
    Places(MPI_Comm inter, int group) {
        list_.push_back(any::place_of("parents and children", inter, group));
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Intercomm_merge(inter, group, &comm));
        add("parents and children, merged", comm);
        check(MPI_Comm_dup(comm, &comm));
        add("a duplicate that comes and goes", comm);
    }
    ~Places() {
        for (auto it = made_.rbegin(); it != made_.rend(); ++it) MPI_Comm_free(&(*it)->comm);
#if HCOLL_TEST_HAS_SESSIONS
        if (session_ != MPI_SESSION_NULL) MPI_Session_finalize(&session_);
#endif
    }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    [[nodiscard]] const Place& operator[](std::size_t i) const { return list_[i]; }
    [[nodiscard]] std::size_t size() const { return list_.size(); }
    // The first three have all ranks, two more each a part of them, where there are so many. By number: sizes differ between ranks.
    [[nodiscard]] const Place* likely(Random& random, bool is_part) const {
        return is_part && list_.size() > 4 ? &list_[3 + random.below(2)] : &list_[random.below(3)];
    }
    // The last one is freed, and made again.
    void renew() {
        MPI_Comm old = list_.back().comm;
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(old, &comm));
        check(MPI_Comm_free(&old));
        list_.back().comm = comm;
    }

private:
    void add(const char* name, MPI_Comm comm, int group = 0) {
        made_.push_back(&list_.emplace_back(any::place_of(name, comm, group)));
    }
    void add_inter(MPI_Comm all, MPI_Comm part, int group) {
        constexpr int tag = 4711;
        MPI_Comm inter = MPI_COMM_NULL;
        check(MPI_Intercomm_create(part, 0, all, 1 - group, tag, &inter));
        add("between odd and even ranks", inter, group);
    }
    void add_session() {
#if HCOLL_TEST_HAS_SESSIONS
        const int rank = failure_context().rank;
        check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session_));
        add("a session's communicator", communicator_of(session_, "mpi://WORLD").comm);
        failure_context().rank = rank;
#endif
    }

    std::optional<CommunicatorSet> set_;
    std::deque<Place> list_;
    std::vector<Place*> made_;  // those of the list that are freed here
#if HCOLL_TEST_HAS_SESSIONS
    MPI_Session session_ = MPI_SESSION_NULL;
#endif
};

// One collective on its way: what it works on, and what has to become of that.
struct Step {
    Step(std::uint64_t of_number, any::Call of_call)
        : number(of_number), call(std::move(of_call)), buffers(call), expected(buffers) {}

    std::uint64_t number;
    any::Call call;
    any::Buffers buffers;
    any::Buffers expected;
    MPI_Request request = MPI_REQUEST_NULL;

    void compare() const {
        const std::string which = "collective " + std::to_string(number) + ": " + describe(call) + ": ";
        if (const auto difference = buffers.send.difference(expected.send))
            fail(which + "the send buffer changed: " + *difference);
        if (const auto difference = buffers.receive.difference(expected.receive))
            fail(which + "other than the MPI library: " + *difference);
    }
};

// The collectives of one thread.
class Stream {
public:
    Stream(const Kinds& kinds, Places& places, const Shape& shape, std::uint64_t seed, int rank)
        : kinds_(kinds),
          places_(places),
          shape_(shape),
          seed_(seed),
          own_(mix({seed, 0x6f776eU, static_cast<std::uint64_t>(rank)})) {}

    // Returns how many collectives ran.
    std::int64_t run() {
        std::int64_t done = 0;
        std::int64_t drawn = 0;
        for (std::uint64_t burst = 0; drawn < shape_.steps; ++burst) {
            const auto [of_burst, run_of_burst] = run_burst(burst);
            drawn += of_burst;
            done += run_of_burst;
        }
        return done;
    }

private:
    static constexpr std::uint64_t most_of_burst = 64;

    // How many collectives it has, and how many of those are kept.
    std::pair<std::int64_t, std::int64_t> run_burst(std::uint64_t burst) {
        Random random(mix({seed_, burst}));
        const std::uint64_t steps = 1 + random.below(random.chance(2) ? 4 : most_of_burst);
        const bool renews = random.chance(12);
        steps_.clear();
        std::int64_t bytes = 0;
        bool is_kept = false;
        for (std::uint64_t i = 0; i < steps; ++i) {
            const std::uint64_t number = burst * most_of_burst + i;
            any::Call call = draw(number);
            // As many on all ranks: the halves of a communicator have different roots, which some defects come with.
            bytes += call.count * call.type->extent;
            if (bytes > 4 * shape_.max_bytes) break;
            if (!shape_.keeps(number)) continue;
            is_kept = true;
            if (any::vendor_fails(call)) continue;
            steps_.push_back(std::make_unique<Step>(number, std::move(call)));
        }
        if (!is_kept) return {static_cast<std::int64_t>(steps), 0};
        if (renews) places_.renew();
        for (const auto& step : steps_) {
            say(*step, "MPI library: ");
            check(run_blocking(step->call, step->expected, By::vendor));
        }
        for (const auto& step : steps_) {
            come_late();
            run(*step);
            if (own_.chance(4)) complete_some();
        }
        complete_all();
        for (const auto& step : steps_) step->compare();
        // Few of them can be at a time.
        const std::uint64_t more = shape_.mostly && shape_.mostly->form == Form::persistent ? 8 : 0;
        for (const auto& step : steps_)
            if (step->call.form == Form::persistent) run_again(*step, 1 + step->call.seed % 2 + more);
        return {static_cast<std::int64_t>(steps), static_cast<std::int64_t>(steps_.size())};
    }

    [[nodiscard]] any::Call draw(std::uint64_t number) const {
        Random random(mix({seed_, number, 0x63616c6cU}));
        any::Call call;
        const bool is_aimed_at = shape_.mostly && !random.chance(4);
        do
            call.on = is_aimed_at && !random.chance(3) ? places_.likely(random, shape_.on_parts)
                                                       : &places_[random.below(places_.size())];
        while (is_aimed_at && call.on->is_inter());
        call.what = random.chance(8) ? What::barrier : static_cast<What>(random.below(random.chance(2) ? 3 : 7));
        if (is_aimed_at) call.what = shape_.mostly->what;
        kinds_.draw(call, random);
        call.count = draw_count(call, random);
        if (call.on->is_inter()) {
            call.root_group = static_cast<int>(random.below(2));
            // Drawn from the whole range first: sizes differ between ranks.
            call.root = static_cast<int>(random.next() % 1'000'003) % call.on->size_of(call.root_group);
        } else {
            call.root_group = call.on->group;
            call.root = static_cast<int>(random.next() % 1'000'003) % call.on->size;
        }
        call.in_place = random.chance(3);
        call.form = is_aimed_at ? shape_.mostly->form : draw_form(call, random);
        if (call.form == Form::persistent && !any::has_persistent()) call.form = Form::nonblocking;
        if (call.form == Form::fortran) call.in_place = false;
        call.seed = random.next();
        return call;
    }

    [[nodiscard]] std::int64_t draw_count(const any::Call& call, Random& random) const {
        if (call.what == What::barrier || random.chance(16)) return 0;
        const std::int64_t most = std::max<std::int64_t>(shape_.max_bytes / call.type->extent, 1);
        const auto magnitude = static_cast<double>(random.below(1001)) / 1000;
        // Short ones more often than not.
        if (!random.chance(3)) return std::min<std::int64_t>(static_cast<std::int64_t>(random.below(24)), most);
        return static_cast<std::int64_t>(std::pow(static_cast<double>(most), magnitude));
    }

    [[nodiscard]] Form draw_form(const any::Call& call, Random& random) const {
        constexpr Form forms[] = {Form::blocking,   Form::blocking,    Form::blocking,
                                  Form::blocking,   Form::nonblocking, Form::nonblocking,
                                  Form::persistent, Form::fortran,     Form::large};
        const Form form = forms[random.below(std::size(forms))];
        const bool is_in_background = form == Form::nonblocking || form == Form::persistent;
        if (is_in_background && !any::may_be_in_background(call.what)) return Form::blocking;
        if (is_in_background && call.on->is_inter() && !shape_.is_background_between_groups) return Form::blocking;
        if (form == Form::persistent && (!any::has_persistent() || call.on->is_inter())) return Form::nonblocking;
        if (form == Form::fortran && (!any::has_fortran() || call.on->is_inter())) return Form::blocking;
        return form;
    }

    void come_late() {
        if (shape_.late == 0 || !own_.chance(16)) return;
        std::this_thread::sleep_for(std::chrono::microseconds(own_.below(shape_.late)));
    }

    void say(const Step& step, const char* what) const {
        if (!shape_.says) return;
        std::fprintf(stderr, "rank %d: %s%llu %s\n", failure_context().rank, what,
                     static_cast<unsigned long long>(step.number), describe(step.call).c_str());
    }

    void run(Step& step) {
        say(step, "");
        switch (step.call.form) {
            case Form::blocking: return check(run_blocking(step.call, step.buffers, By::program));
            case Form::large: return check(run_large(step.call, step.buffers));
            case Form::fortran: return check(run_fortran(step.call, step.buffers));
            case Form::nonblocking: check(begin(step.call, step.buffers, &step.request)); break;
            case Form::persistent:
                check(make_persistent(step.call, step.buffers, &step.request));
                check(MPI_Start(&step.request));
                break;
        }
        under_way_.push_back(&step);
    }

    void wait(Step& step) {
        say(step, "waits for ");
        check(MPI_Wait(&step.request, MPI_STATUS_IGNORE));
    }

    // In an order of this rank's.
    void complete_some() {
        while (!under_way_.empty() && !own_.chance(3)) {
            const std::size_t which = own_.below(under_way_.size());
            Step& step = *under_way_[which];
            int is_done = 0;
            if (own_.chance(2)) {
                check(MPI_Test(&step.request, &is_done, MPI_STATUS_IGNORE));
                if (is_done == 0) return;
            } else {
                wait(step);
            }
            under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }

    void complete_all() {
        if (own_.chance(2)) {
            std::vector<MPI_Request> requests;
            for (const Step* step : under_way_) requests.push_back(step->request);
            check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
            for (std::size_t i = 0; i < requests.size(); ++i) under_way_[i]->request = requests[i];
        } else {
            for (Step* step : under_way_) wait(*step);
        }
        under_way_.clear();
    }

    // The same operands in the same memory.
    static void run_again(Step& step, std::uint64_t times) {
        const any::Buffers operands(step.call);
        for (std::uint64_t i = 0; i < times; ++i) {
            step.buffers = operands;
            check(MPI_Start(&step.request));
            check(MPI_Wait(&step.request, MPI_STATUS_IGNORE));
            step.compare();
        }
        check(MPI_Request_free(&step.request));
    }

    const Kinds& kinds_;
    Places& places_;
    const Shape& shape_;
    std::uint64_t seed_;
    Random own_;  // differs between ranks
    std::vector<std::unique_ptr<Step>> steps_;
    std::vector<Step*> under_way_;
};

// MPI_COMM_NULL where none can be started.
MPI_Comm start_more(int children, const Program& program, const Shape& shape) {
    std::vector<std::string> environment = environment_for_children();
    std::erase_if(environment, [](const std::string& variable) { return variable.starts_with("LIBHCOLL_REPORT="); });
    MPI_Comm inter = MPI_COMM_NULL;
    const int status =
        start_children(children, std::move(environment),
                       {"--child", "--seed", std::to_string(program.seed()), "--steps", std::to_string(shape.steps),
                        "--max-bytes", std::to_string(shape.max_bytes), "--mostly", shape.mostly_as_told, "--keep",
                        shape.kept_as_told, "--without", shape.without},
                       inter);
    if (status == MPI_SUCCESS) return inter;
    if (program.rank() == 0)
        std::printf("note: this MPI's launcher starts no processes: %s\n", error_text(status).c_str());
    return MPI_COMM_NULL;
}

std::int64_t run_with(MPI_Comm inter, int group, const Kinds& kinds, const Shape& shape, const Program& program) {
    std::int64_t done = 0;
    {
        Places places(inter, group);
        done = Stream(kinds, places, shape, mix({program.seed(), 0x737061776eU}), places[1].rank).run();
    }
    check(MPI_Comm_disconnect(&inter));
    return done;
}

}  // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    for (int i = 1; i + 1 < argc; ++i)
        if (std::string_view(argv[i]) == "--thread-level") level = std::stoi(argv[i + 1]);
    Program program(argc, argv, "campaign", level);
    (void)program.options().number("--thread-level", 0);
    const bool is_child = program.options().flag("--child");
    Shape shape{.steps = program.options().number("--steps", 500),
                .max_bytes = program.options().number("--max-bytes", 100'000),
                .late = static_cast<std::uint64_t>(program.options().number("--late", 0)),
                .says = program.options().flag("--say"),
                .on_parts = program.options().flag("--parts"),
                .mostly_as_told = program.options().text("--mostly", ""),
                .without = program.options().text("--without", ""),
                .kept_as_told = program.options().text("--keep", "")};
    std::int64_t threads = program.options().number("--threads", 1);
    const bool is_plain = program.options().flag("--plain");
    const auto children = static_cast<int>(program.options().number("--spawn", 0));
    program.options().reject_rest();
    if (program.thread_level() < MPI_THREAD_MULTIPLE) threads = 1;

    std::int64_t done = 0;
    if (is_child) {
        const Kinds kinds(program.seed(), shape);
        MPI_Comm parent = MPI_COMM_NULL;
        check(MPI_Comm_get_parent(&parent));
        require(parent != MPI_COMM_NULL, "--child is for what this program starts by itself");
        done = run_with(parent, 1, kinds, shape, program);
    } else {
        const Kinds kinds(program.seed(), shape);
        const bool has_sessions = HCOLL_TEST_HAS_SESSIONS != 0 && shape.without.find("sessions") == std::string::npos;
        Places first(CommunicatorSet::Of::world, is_plain, has_sessions && !is_plain);
        std::deque<Places> others;
        std::vector<std::int64_t> done_by(static_cast<std::size_t>(threads), 0);
        std::vector<std::thread> running;
        for (std::int64_t thread = 1; thread < threads; ++thread)
            others.emplace_back(CommunicatorSet::Of::duplicates, is_plain, false);
        for (std::int64_t thread = 1; thread < threads; ++thread)
            running.emplace_back([&, thread] {
                const auto number = static_cast<std::size_t>(thread);
                done_by[number] = Stream(kinds, others[number - 1], shape,
                                         mix({program.seed(), static_cast<std::uint64_t>(thread)}), program.rank())
                                      .run();
            });
        done_by[0] = Stream(kinds, first, shape, program.seed(), program.rank()).run();
        for (std::thread& each : running) each.join();
        for (const std::int64_t each : done_by) done += each;
        if (children != 0) {
            const MPI_Comm inter = start_more(children, program, shape);
            if (inter != MPI_COMM_NULL) done += run_with(inter, 0, kinds, shape, program);
        }
    }
    return program.finish(std::to_string(done) + " collectives as the MPI library's" +
                          (is_child ? " with parents" : ""));
}
