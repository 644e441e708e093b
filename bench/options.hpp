// SPDX-License-Identifier: BSD-3-Clause
// The command line of hcoll-bench.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "acceptance.hpp"
#include "subject.hpp"

namespace hcoll::bench {

struct Options {
    std::vector<Collective> collectives;
    std::vector<std::size_t> sizes;  // ascending, in bytes, each once
    ElementType type = ElementType::float64;
    Operator op = Operator::sum;
    int root = 0;
    bool in_place = false;
    bool sync = false;
    bool overlap = false;
    bool verify = false;
    AcceptanceOptions acceptance;
    bool bound = true;
    bool own_only = false;
    bool vendor_only = false;
    double block_seconds = 0.002;
    int repetitions = 15;
    int warmup = 10;
    int learn = 320;
    int min_iterations = 2;
    int max_iterations = 20000;
    std::string json_file;
    std::string plot_file;
};

struct CommandLine {
    Options options;
    bool wants_help = false;  // or the version
    std::string help;         // the text of --help, when it is wanted
    std::string error;        // one sentence for the user; empty if all is well
};

CommandLine parse_command_line(int argc, char** argv);

}  // namespace hcoll::bench
