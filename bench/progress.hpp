// SPDX-License-Identifier: BSD-3-Clause
// What is running and how far it is: one line on a terminal, overwritten; nothing where the output is kept.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace hcoll::bench {

class Progress {
public:
    explicit Progress(int rank) : shown_(rank == 0 && isatty(STDERR_FILENO) == 1) {}

    void show(std::string_view text) const {
        if (!shown_) return;
        fmt::print(stderr, "\r{}\x1b[K", text);
        std::fflush(stderr);
    }

    // Makes room for a line of the table.
    void clear() const { show(""); }

private:
    bool shown_;
};

}  // namespace hcoll::bench
