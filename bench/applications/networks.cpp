// SPDX-License-Identifier: BSD-3-Clause
#include "networks.hpp"

namespace application {

namespace {

std::vector<std::uint64_t> alexnet() {
    // Weights and biases: outputs x (inputs of a group x kernel + 1).
    return {96 * (3 * 11 * 11 + 1),  256 * (48 * 5 * 5 + 1),   384 * (256 * 3 * 3 + 1), 384 * (192 * 3 * 3 + 1),
            256 * (192 * 3 * 3 + 1), 4096 * (256 * 6 * 6 + 1), 4096 * (4096 + 1),       1000 * (4096 + 1)};
}

// A convolution without bias, and its normalization: scale and shift.
void add_convolution(std::vector<std::uint64_t>& layers, std::uint64_t inputs, std::uint64_t outputs,
                     std::uint64_t kernel) {
    layers.push_back(inputs * outputs * kernel * kernel);
    layers.push_back(2 * outputs);
}

std::vector<std::uint64_t> resnet50() {
    std::vector<std::uint64_t> layers;
    add_convolution(layers, 3, 64, 7);
    constexpr int blocks[] = {3, 4, 6, 3};
    std::uint64_t inputs = 64;
    std::uint64_t width = 64;
    for (const int of_stage : blocks) {
        for (int block = 0; block < of_stage; ++block) {
            const std::uint64_t outputs = 4 * width;
            add_convolution(layers, inputs, width, 1);
            add_convolution(layers, width, width, 3);
            add_convolution(layers, width, outputs, 1);
            if (block == 0) add_convolution(layers, inputs, outputs, 1);
            inputs = outputs;
        }
        width *= 2;
    }
    layers.push_back(1000 * (inputs + 1));
    return layers;
}

}  // namespace

std::vector<std::uint64_t> layers_of(std::string_view network) {
    if (network == "alexnet") return alexnet();
    if (network == "resnet50") return resnet50();
    return {300, 7, 5000, 1, 2048, 1000};
}

}  // namespace application
