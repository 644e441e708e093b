// SPDX-License-Identifier: BSD-3-Clause
// What is wrong, in one sentence, where a user of hcoll-info reads it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace hcoll::info {

// The exit status of a program that was asked for what it cannot do.
constexpr int wrong_use = 2;
// That of one whose question is right, and which cannot answer.
constexpr int no_answer = 1;

inline int mistake(const std::string& problem, int status) {
    fmt::print(stderr, "hcoll-info: {}\n", problem);
    return status;
}

}  // namespace hcoll::info
