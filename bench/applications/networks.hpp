// SPDX-License-Identifier: BSD-3-Clause
// How many parameters the layers of well-known neural networks have: what data-parallel training sums in every step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace application {

// From input to output. AlexNet: Krizhevsky, Sutskever, Hinton 2012 (two groups): 60,965,224. ResNet-50: He, Zhang, Ren, Sun 2016, with
// batch normalization: 25,557,032. `small` is for tests.
std::vector<std::uint64_t> layers_of(std::string_view network);

}  // namespace application
