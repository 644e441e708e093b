// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing the small words of settings: sizes, yes and no, names and what was probably meant by them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hcoll {

// "0.25", "4.31e-07", with a point whatever the application's locale has; nothing for anything else.
std::optional<double> parse_real(std::string_view text);

// "4096", "4k", "16M", "1G" (powers of 1024, in either case, with or without a B); nothing for anything else.
std::optional<std::uint64_t> parse_size(std::string_view text);

// The shortest form that parse_size reads back.
std::string size_text(std::uint64_t bytes);

// "500ms", "60s" or "60", "5m", "1h", in whole numbers; nothing for anything else.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The shortest form that parse_duration reads back.
std::string duration_text(std::chrono::milliseconds duration);

// 1 0 yes no on off true false, in any case.
std::optional<bool> parse_switch(std::string_view text);

// The candidate with the fewest letters to change, where that is near enough to have been meant; empty otherwise.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

std::vector<std::string_view> split(std::string_view text, char separator);

// "a, b or c"
std::string alternatives(std::span<const std::string_view> words);

}  // namespace hcoll
