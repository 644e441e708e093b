// SPDX-License-Identifier: BSD-3-Clause
// Synchronous data-parallel training: each rank computes the gradients of its share of the samples, layer by layer from the output to the
// input; gradients are collected in buckets, each of which is summed over all ranks when it is full; then all ranks make the same step.
//
//   compute layer L ... | full: MPI_Allreduce(bucket) | compute ... | MPI_Allreduce(bucket) | ... | weights -= sum
//   with --overlap: MPI_Iallreduce, and MPI_Wait for all before the step
//
// The network has the layers of a real one; what stands for its computing is arithmetic on every gradient (--work times). Gradients are
// small whole numbers that depend on rank, parameter, step and weight, so that every sum is exact in any order, and --check compares
// weights with a serial run.
//
// Source: Luo 2020, section 6.3.3.2 and figure 6.8 (Horovod, AlexNet); buckets as PyTorch's and Horovod's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "application.hpp"
#include "networks.hpp"

namespace {

using namespace application;

struct Options {
    std::string network = "resnet50";
    std::uint64_t bucket_bytes = 25 << 20;
    int steps = 3;
    int work = 1;
    bool has_overlap = false;
    bool has_check = false;
};

// From -4 to 3, and it follows the weight back to 0.
float gradient(int rank, std::uint64_t parameter, int step, float weight) {
    const std::uint64_t bits =
        mixed(parameter * 1000003 + static_cast<std::uint64_t>(rank) * 31 + static_cast<std::uint64_t>(step));
    const float noise = static_cast<float>(static_cast<int>(bits % 8) - 4);
    return weight > 0 ? noise + 1 : noise;
}

// From the layer at the output to that at the input: parameters [begin, end) whose gradients are summed in one call.
struct Bucket {
    std::uint64_t begin;
    std::uint64_t end;
};
std::vector<Bucket> buckets_of(const std::vector<std::uint64_t>& layers, std::uint64_t bytes) {
    std::vector<Bucket> buckets;
    std::uint64_t end = std::accumulate(layers.begin(), layers.end(), std::uint64_t{0});
    std::uint64_t begin = end;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
        begin -= *layer;
        if ((end - begin) * sizeof(float) < bytes && begin != 0) continue;
        buckets.push_back({begin, end});
        end = begin;
    }
    return buckets;
}

class Training {
public:
    Training(const Options& options, int rank)
        : options_(options),
          rank_(rank),
          layers_(layers_of(options.network)),
          buckets_(buckets_of(layers_, options.bucket_bytes)),
          weights_(std::accumulate(layers_.begin(), layers_.end(), std::uint64_t{0})),
          gradients_(weights_.size()) {}

    void step(int number) {
        std::vector<MPI_Request> requests;
        for (const Bucket& bucket : buckets_) {
            compute(bucket, number);
            communication_.time([&] { sum(bucket, requests); });
        }
        communication_.time(
            [&] { require(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE)); });
        for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= gradients_[i];
    }

    // Parameters do not depend on each other, so that a serial run need not do all of them.
    bool is_right(int ranks) const {
        constexpr std::size_t stride = 89;
        for (std::size_t i = 0; i < weights_.size(); i += stride) {
            float weight = 0;
            for (int number = 0; number < options_.steps; ++number) {
                float sum = 0;
                for (int rank = 0; rank < ranks; ++rank) sum += gradient(rank, i, number, weight);
                weight -= sum;
            }
            if (weight != weights_[i]) return false;
        }
        return true;
    }

    double communication() const { return communication_.seconds(); }
    std::size_t parameters() const { return weights_.size(); }
    std::size_t buckets() const { return buckets_.size(); }

private:
    void compute(const Bucket& bucket, int number) {
        for (int turn = 0; turn < options_.work; ++turn)
            for (std::uint64_t i = bucket.begin; i < bucket.end; ++i)
                gradients_[i] = gradient(rank_, i, number, weights_[i]);
    }

    void sum(const Bucket& bucket, std::vector<MPI_Request>& requests) {
        float* data = gradients_.data() + bucket.begin;
        const auto count = static_cast<int>(bucket.end - bucket.begin);
        if (options_.has_overlap)
            require(MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                   &requests.emplace_back(MPI_REQUEST_NULL)));
        else
            require(MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    }

    const Options& options_;
    int rank_;
    std::vector<std::uint64_t> layers_;
    std::vector<Bucket> buckets_;
    std::vector<float> weights_;
    std::vector<float> gradients_;
    Watch communication_;
};

int run(int argc, char** argv, int rank, int ranks) {
    Options options;
    CLI::App app("Synchronous data-parallel training: sums of gradients in buckets, and computing between.");
    app.add_option("--network", options.network, "alexnet, resnet50 or small")
        ->check(CLI::IsMember({"alexnet", "resnet50", "small"}))
        ->capture_default_str();
    app.add_option("--bucket", options.bucket_bytes, "bytes of gradients that are summed in one call, at least")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{4}, std::uint64_t{1} << 30))
        ->capture_default_str();
    app.add_option("--steps", options.steps)->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--work", options.work, "how often each gradient is computed")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_flag("--overlap", options.has_overlap, "sum while the next bucket is computed (MPI_Iallreduce)");
    app.add_flag("--check", options.has_check, "compare with a serial run");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return rank == 0 ? app.exit(error) : error.get_exit_code();
    }
    Training training(options, rank);
    require(MPI_Barrier(MPI_COMM_WORLD));
    const double begin = now();
    for (int number = 0; number < options.steps; ++number) training.step(number);
    report(rank,
           fmt::format("SGD of {} ({} parameters, {} buckets, {} steps)", options.network, training.parameters(),
                       training.buckets(), options.steps)
               .c_str(),
           ranks, now() - begin, training.communication());
    if (!options.has_check) return 0;
    const int wrong = static_cast<int>(longest(training.is_right(ranks) ? 0 : 1));
    if (rank == 0) std::puts(wrong == 0 ? "all weights are right" : "WEIGHTS ARE WRONG");
    return wrong;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
