// SPDX-License-Identifier: BSD-3-Clause
#include "acceptance.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "mpi.hpp"
#include "payload.hpp"
#include "progress.hpp"
#include "tuner/allocation.hpp"
#include "tuner/mpi_job.hpp"
#include "tuning/candidates.hpp"

namespace hcoll::bench {

namespace {

constexpr int most_told = 20;
constexpr std::size_t pair_bytes = 2 * sizeof(std::uint32_t);
// Both are exact: their sizes are whole numbers of all types.
constexpr std::array<std::size_t, 4> message_sizes = {8, 1000, (64 << 10) + 8, (1 << 20) + 8};
constexpr std::array<std::size_t, 3> block_sizes = {8, 1000, (16 << 10) + 8};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// x -> factor x + summand, modulo 2^32: an operation whose order matters.
struct Line {
    std::uint32_t factor;
    std::uint32_t summand;
    friend bool operator==(const Line&, const Line&) = default;
};
Line line_of(int rank, std::size_t element, std::uint32_t key) {
    const auto mixed =
        static_cast<std::uint32_t>(element * 2654435761U + static_cast<std::uint32_t>(rank) * 40503U + key);
    return {mixed | 1U, mixed >> 7U};
}
Line after(const Line& left, const Line& right) {
    return {left.factor * right.factor, left.factor * right.summand + left.summand};
}
void compose(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
    const auto* first = static_cast<const Line*>(left);
    auto* second = static_cast<Line*>(right);
    for (int i = 0; i < *count; ++i) second[i] = after(first[i], second[i]);
}

// One part of the job, and what its ranks run there.
class Part {
public:
    Part(MPI_Comm communicator, std::size_t most_bytes)
        : communicator_(communicator), input_(most_bytes), output_(most_bytes) {
        check(PMPI_Comm_rank(communicator, &rank_));
        check(PMPI_Comm_size(communicator, &ranks_));
        check(PMPI_Comm_dup(communicator, &meeting_));
        check(PMPI_Comm_split_type(meeting_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host_));
        check(PMPI_Op_create(compose, 0, &in_order_));
        check(PMPI_Type_contiguous(2, MPI_UINT32_T, &pair_));
        check(PMPI_Type_commit(&pair_));
    }
    ~Part() {
        check(PMPI_Type_free(&pair_));
        check(PMPI_Op_free(&in_order_));
        check(PMPI_Comm_free(&host_));
        check(PMPI_Comm_free(&meeting_));
        check(MPI_Comm_free(&communicator_));
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    int ranks() const { return ranks_; }

    void choose(const TableCall& call, const std::string& choice) {
        MPI_Info info = MPI_INFO_NULL;
        check(PMPI_Info_create(&info));
        check(PMPI_Info_set(info, fmt::format("libhcoll_{}", call.name()).c_str(), choice.c_str()));
        check(MPI_Comm_set_info(communicator_, info));
        check(PMPI_Info_free(&info));
    }

    // Several calls of it. How many, and how many of them were wrong on any rank, which the first such rank tells.
    struct Count {
        int calls = 0;
        int wrong = 0;
    };
    Count run(const TableCall& call, std::size_t bytes, const std::string& what) {
        Count count;
        const int last = ranks_ - 1;
        const auto one = [&](const std::string& variant, const std::function<std::string()>& work) {
            ++key_;
            std::string error = work();
            int first = error.empty() ? ranks_ : rank_;
            check(PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, meeting_));
            ++count.calls;
            if (first == ranks_) return;
            ++count.wrong;
            if (first == rank_ && told_++ < most_told)
                fmt::print(stderr, "hcoll-bench: WRONG: {}, {}: rank {}: {}\n", what, variant, rank_, error);
        };
        switch (call.collective) {
            case hcoll::Collective::barrier:
                for (const int late : {0, last})
                    one(fmt::format("rank {} comes late", late), [&] { return barrier(late); });
                break;
            case hcoll::Collective::bcast:
                one("root 0", [&] { return bcast(call, bytes, 0); });
                one(fmt::format("root {}, a type with gaps", last), [&] { return bcast_with_gaps(call, bytes, last); });
                break;
            case hcoll::Collective::reduce:
            case hcoll::Collective::allreduce:
                one("sum of double, root 0",
                    [&] { return reduction(call, bytes, ElementType::float64, Operator::sum, 0, false); });
                one(fmt::format("max of int in place, root {}", last),
                    [&] { return reduction(call, bytes, ElementType::integer, Operator::max, last, true); });
                one(fmt::format("product of float, root {}", ranks_ / 2),
                    [&] { return reduction(call, bytes, ElementType::float32, Operator::prod, ranks_ / 2, false); });
                one(fmt::format("an operation in the order of ranks, root {}", last),
                    [&] { return ordered_reduction(call, bytes, last); });
                break;
            default:
                for (const bool in_place : {false, true})
                    for (const int root : {0, last})
                        one(fmt::format("root {}{}", root, in_place ? ", in place" : ""),
                            [&] { return blocks(call.collective, bytes, root, in_place); });
        }
        return count;
    }

private:
    // Of the blocking or the non-blocking form.
    template <typename Blocking, typename Begin>
    void carry_out(const TableCall& call, const Blocking& blocking, const Begin& begin) {
        if (!call.is_nonblocking) return check(blocking());
        MPI_Request request = MPI_REQUEST_NULL;
        check(begin(&request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    static std::string text_of(const std::optional<Mismatch>& mismatch) {
        if (!mismatch) return {};
        return fmt::format("element {} is {} instead of {}", mismatch->element, mismatch->found, mismatch->expected);
    }

    // Nobody leaves before the last has come: of those on one host, which have a clock in common.
    std::string barrier(int late) const {
        constexpr timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
        if (rank_ == late) nanosleep(&pause, nullptr);
        double entered = seconds();
        check(MPI_Barrier(communicator_));
        const double left = seconds();
        check(PMPI_Allreduce(MPI_IN_PLACE, &entered, 1, MPI_DOUBLE, MPI_MAX, host_));
        return left >= entered ? std::string()
                               : fmt::format("it was left {:.6f} s before the last rank had come", entered - left);
    }

    std::string bcast(const TableCall& call, std::size_t bytes, int root) {
        void* message = output_.data();
        if (rank_ == root)
            fill_bytes(message, bytes, key_);
        else
            poison(message, bytes);
        const auto count = static_cast<int>(bytes);
        carry_out(
            call, [&] { return MPI_Bcast(message, count, MPI_BYTE, root, communicator_); },
            [&](MPI_Request* request) { return MPI_Ibcast(message, count, MPI_BYTE, root, communicator_, request); });
        return text_of(find_byte_mismatch(message, bytes, key_));
    }

    // Two of three numbers belong to the message; what lies between stays as it was.
    std::string bcast_with_gaps(const TableCall& call, std::size_t bytes, int root) {
        constexpr std::uint32_t gap = 0x5a5a5a5a;
        const std::size_t groups = bytes / pair_bytes;
        auto* numbers = reinterpret_cast<std::uint32_t*>(output_.data());
        const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(i * 2654435761U) ^ key_; };
        for (std::size_t i = 0; i < 3 * groups; ++i)
            numbers[i] = i % 3 == 2 ? gap : rank_ == root ? number(i) : ~number(i);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check(PMPI_Type_vector(static_cast<int>(groups), 2, 3, MPI_UINT32_T, &type));
        check(PMPI_Type_commit(&type));
        carry_out(
            call, [&] { return MPI_Bcast(numbers, 1, type, root, communicator_); },
            [&](MPI_Request* request) { return MPI_Ibcast(numbers, 1, type, root, communicator_, request); });
        check(PMPI_Type_free(&type));
        for (std::size_t i = 0; i < 3 * groups; ++i)
            if (const std::uint32_t expected = i % 3 == 2 ? gap : number(i); numbers[i] != expected)
                return fmt::format("number {} is {:#x} instead of {:#x}", i, numbers[i], expected);
        return {};
    }

    void reduce(const TableCall& call, const void* send, int count, MPI_Datatype type, MPI_Op op, int root) {
        void* receive = output_.data();
        const bool is_allreduce = call.collective == hcoll::Collective::allreduce;
        carry_out(
            call,
            [&] {
                return is_allreduce ? MPI_Allreduce(send, receive, count, type, op, communicator_)
                                    : MPI_Reduce(send, receive, count, type, op, root, communicator_);
            },
            [&](MPI_Request* request) {
                return is_allreduce ? MPI_Iallreduce(send, receive, count, type, op, communicator_, request)
                                    : MPI_Ireduce(send, receive, count, type, op, root, communicator_, request);
            });
    }
    bool has_result(const TableCall& call, int root) const {
        return call.collective == hcoll::Collective::allreduce || rank_ == root;
    }

    std::string reduction(const TableCall& call, std::size_t bytes, ElementType type, Operator op, int root,
                          bool in_place) {
        const std::array<MPI_Datatype, 3> types = {MPI_FLOAT, MPI_DOUBLE, MPI_INT};
        const std::array<MPI_Op, 4> ops = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};
        const std::size_t elements = bytes / element_size(type);
        const bool in_place_here = in_place && has_result(call, root);
        void* operand = in_place_here ? output_.data() : input_.data();
        if (!in_place_here) poison(output_.data(), bytes);
        fill(operand, type, elements, contribution(op, rank_), key_);
        reduce(call, in_place_here ? MPI_IN_PLACE : operand, static_cast<int>(elements),
               types[static_cast<std::size_t>(type)], ops[static_cast<std::size_t>(op)], root);
        std::string error;
        if (has_result(call, root))
            error = text_of(find_mismatch(output_.data(), type, elements, combination(op, ranks_), key_));
        if (error.empty() && !in_place_here) {
            error = text_of(find_mismatch(operand, type, elements, contribution(op, rank_), key_));
            if (!error.empty()) error = "the operand was changed: " + error;
        }
        return error;
    }

    std::string ordered_reduction(const TableCall& call, std::size_t bytes, int root) {
        const std::size_t elements = bytes / pair_bytes;
        auto* operand = reinterpret_cast<Line*>(input_.data());
        for (std::size_t i = 0; i < elements; ++i) operand[i] = line_of(rank_, i, key_);
        poison(output_.data(), bytes);
        reduce(call, operand, static_cast<int>(elements), pair_, in_order_, root);
        if (!has_result(call, root)) return {};
        const auto* result = reinterpret_cast<const Line*>(output_.data());
        for (std::size_t i = 0; i < elements; ++i) {
            Line expected = line_of(0, i, key_);
            for (int rank = 1; rank < ranks_; ++rank) expected = after(expected, line_of(rank, i, key_));
            if (result[i] != expected)
                return fmt::format("element {} is ({}, {}) instead of ({}, {})", i, result[i].factor, result[i].summand,
                                   expected.factor, expected.summand);
        }
        return {};
    }

    // Gather, Scatter, Allgather: each rank's block is of its own.
    std::string blocks(hcoll::Collective collective, std::size_t block, int root, bool in_place) {
        const auto count = static_cast<int>(block);
        const bool is_root = collective == hcoll::Collective::allgather || rank_ == root;
        const auto key_of = [&](int rank) { return key_ * 65537U + static_cast<std::uint32_t>(rank); };
        std::byte* const all = output_.data();
        const auto block_of = [&](int rank) { return all + static_cast<std::size_t>(rank) * block; };
        std::byte* const own = input_.data();
        std::byte* const own_in_place = block_of(rank_);
        const bool in_place_here = in_place && is_root;
        if (collective == hcoll::Collective::scatter) {
            if (is_root)
                for (int rank = 0; rank < ranks_; ++rank) fill_bytes(block_of(rank), block, key_of(rank));
            poison(own, block);
            check(MPI_Scatter(all, count, MPI_BYTE, in_place_here ? MPI_IN_PLACE : own, count, MPI_BYTE, root,
                              communicator_));
            return text_of(find_byte_mismatch(in_place_here ? own_in_place : own, block, key_of(rank_)));
        }
        if (is_root) poison(all, block * static_cast<std::size_t>(ranks_));
        fill_bytes(in_place_here ? own_in_place : own, block, key_of(rank_));
        const void* send = in_place_here ? MPI_IN_PLACE : own;
        if (collective == hcoll::Collective::gather)
            check(MPI_Gather(send, count, MPI_BYTE, all, count, MPI_BYTE, root, communicator_));
        else
            check(MPI_Allgather(send, count, MPI_BYTE, all, count, MPI_BYTE, communicator_));
        for (int rank = 0; is_root && rank < ranks_; ++rank)
            if (const auto mismatch = find_byte_mismatch(block_of(rank), block, key_of(rank)))
                return fmt::format("block {}: {}", rank, text_of(mismatch));
        return {};
    }

    MPI_Comm communicator_;
    MPI_Comm meeting_ = MPI_COMM_NULL;  // the same ranks, for all that is not under test
    MPI_Comm host_ = MPI_COMM_NULL;     // those of this host
    MPI_Op in_order_ = MPI_OP_NULL;
    MPI_Datatype pair_ = MPI_DATATYPE_NULL;
    std::vector<std::byte> input_;
    std::vector<std::byte> output_;
    int rank_ = 0;
    int ranks_ = 1;
    std::uint32_t key_ = 0;  // counts the calls, alike on all ranks
    int told_ = 0;
};

// What is run at one point: one call and length in one layout.
struct Point {
    TableCall call;
    std::size_t bytes = 0;
    std::vector<std::string> choices{};
    std::vector<std::string_view> algorithms{};  // of the choices
};

class Acceptance {
public:
    Acceptance(const Job& job, const Settings& settings, Placement allocation, std::vector<TableCall> calls,
               std::vector<std::size_t> sizes)
        : job_(job),
          allocation_(std::move(allocation)),
          calls_(std::move(calls)),
          sizes_(std::move(sizes)),
          may_share_memory_(settings.shared_memory),
          progress_(job.rank),
          layouts_(sub_layouts(allocation_, {}, {})) {}

    int run() {
        std::vector<std::vector<Point>> points;
        for (const SubLayout& layout : layouts_) {
            points.push_back(points_of(layout));
            for (const Point& each : points.back()) all_ += each.choices.size();
        }
        for (std::size_t i = 0; i < layouts_.size(); ++i) run(layouts_[i], points[i]);
        progress_.clear();
        const SubLayout largest = layouts_.empty() ? SubLayout{} : layouts_.back();
        const std::string line = fmt::format(
            "hcoll-bench --verify: {} calls, {} collectives by {} algorithms with {} choices in all, {} layouts up to "
            "{} x {}: {} ({:.0f} s)\n",
            count_.calls, calls_.size(), algorithms_.size(), all_, layouts_.size(), largest.nodes,
            largest.ranks_per_node,
            count_.wrong == 0 ? std::string("all right") : fmt::format("{} WRONG", count_.wrong), seconds() - begin_);
        if (job_.speaks()) fmt::print("{}", line);
        return count_.wrong == 0 ? 0 : 1;
    }

private:
    std::vector<Point> points_of(const SubLayout& layout) {
        const Placement placement = placement_of(allocation_, ranks_of(allocation_, layout));
        std::vector<Point> points;
        for (const TableCall& call : calls_)
            for (const std::size_t bytes : sizes_of(call)) {
                Point point{.call = call, .bytes = bytes};
                const auto candidates =
                    find_candidates({.call = call,
                                     .placement = &placement,
                                     .bytes = bytes,
                                     .has_shared_memory = may_share_memory_ && placement.nodes() == 1});
                std::set<std::string_view> known;
                // What a tuner would try, and of every other algorithm one that it would not.
                for (const bool left_out : {false, true})
                    for (const Candidate& each : candidates) {
                        if (each.choice.kind == AlgorithmChoice::Kind::vendor || each.left_out.empty() == left_out)
                            continue;
                        const std::string_view name =
                            each.choice.algorithm != nullptr ? each.choice.algorithm->name : "shared";
                        if (!known.insert(name).second && left_out) continue;
                        algorithms_.insert(name);
                        point.choices.push_back(each.text);
                    }
                points.push_back(std::move(point));
            }
        return points;
    }
    std::vector<std::size_t> sizes_of(const TableCall& call) const {
        if (!has_message(call.collective)) return {0};
        if (!sizes_.empty()) return sizes_;
        return has_blocks(call.collective) ? std::vector<std::size_t>(block_sizes.begin(), block_sizes.end())
                                           : std::vector<std::size_t>(message_sizes.begin(), message_sizes.end());
    }

    void run(const SubLayout& layout, const std::vector<Point>& points) {
        const std::vector<int> ranks = ranks_of(allocation_, layout);
        const bool is_in = std::find(ranks.begin(), ranks.end(), job_.rank) != ranks.end();
        std::size_t most = 1;
        for (const Point& each : points)
            most = std::max(most, has_blocks(each.call.collective) ? each.bytes * ranks.size() : each.bytes * 3 / 2);
        MPI_Comm communicator = MPI_COMM_NULL;
        check(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, job_.rank, &communicator));
        std::array<int, 2> found{};
        if (is_in) {
            Part part(communicator, most);
            for (const Point& point : points)
                for (const std::string& choice : point.choices) {
                    const std::string what = fmt::format("{} by {}, {} bytes, {} nodes x {} ranks", point.call.name(),
                                                         choice, point.bytes, layout.nodes, layout.ranks_per_node);
                    show(what);
                    part.choose(point.call, choice);
                    const Part::Count count = part.run(point.call, point.bytes, what);
                    found[0] += count.calls;
                    found[1] += count.wrong;
                }
        }
        wait_for_all();
        check(PMPI_Bcast(found.data(), 2, MPI_INT, ranks.front(), MPI_COMM_WORLD));
        count_.calls += found[0];
        count_.wrong += found[1];
    }

    // A bar, how much of it is over, and what runs.
    void show(const std::string& what) {
        constexpr std::size_t width = 30;
        const std::size_t full = all_ == 0 ? width : width * done_ / all_;
        progress_.show(fmt::format("[{:#<{}}{:.<{}}] {} of {}  {}", "", full, "", width - full, done_, all_, what));
        ++done_;
    }

    const Job& job_;
    Placement allocation_;
    std::vector<TableCall> calls_;
    std::vector<std::size_t> sizes_;
    bool may_share_memory_;
    Progress progress_;
    std::vector<SubLayout> layouts_;
    std::set<std::string_view> algorithms_;
    std::size_t all_ = 0;
    std::size_t done_ = 0;
    Part::Count count_;
    double begin_ = seconds();
};

void say(const Job& job, std::string_view sentence) {
    if (job.speaks()) fmt::print(stderr, "hcoll-bench: {}\n", sentence);
}

}  // namespace

int run_acceptance(const AcceptanceOptions& options) {
    constexpr int cannot = 2;
    const Job job = this_job();
    const Settings settings = agreed_settings();
    if (agree(preloaded_library().empty() ? 1 : 0) != 0) {
        say(job, "--verify: libhcoll is not preloaded");
        return cannot;
    }
    if (const std::string_view why = what_chooses_already(settings); !why.empty()) {
        say(job, fmt::format("--verify: {}", why));
        return cannot;
    }
    if (job.ranks < 2) {
        say(job, "--verify: at least two ranks");
        return cannot;
    }
    std::vector<TableCall> calls;
    for (const std::string& name : options.calls) {
        const auto call = TableCall::of(name);
        if (!call) {
            say(job, fmt::format("--collectives: '{}' is not known", name));
            return cannot;
        }
        calls.push_back(*call);
    }
    const std::string no_background = why_no_background(settings);
    if (calls.empty()) {
        for (std::size_t i = 0; i < collective_count; ++i) calls.push_back({static_cast<hcoll::Collective>(i), false});
        for (std::size_t i = 0; i < nonblocking_count && no_background.empty(); ++i)
            calls.push_back({static_cast<hcoll::Collective>(i), true});
        if (!no_background.empty()) say(job, no_background + ", and they are not verified");
    }
    std::vector<std::size_t> sizes;
    for (const std::size_t size : options.sizes)
        if (const std::size_t whole = (size + pair_bytes - 1) / pair_bytes * pair_bytes;
            sizes.empty() || sizes.back() != whole)
            sizes.push_back(whole);
    return Acceptance(job, settings, find_allocation(job, settings), std::move(calls), std::move(sizes)).run();
}

}  // namespace hcoll::bench
