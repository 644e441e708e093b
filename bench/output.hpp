// SPDX-License-Identifier: BSD-3-Clause
// The three forms of the results: a table, JSON, a picture. All on rank 0.
#pragma once

#include <string>
#include <vector>

#include "environment.hpp"
#include "measurement.hpp"
#include "options.hpp"

namespace hcoll::bench {

struct Report {
    Environment environment;
    Options options;
    double latency_seconds = 0;  // one way, 8 bytes; 0 if not measured
    std::vector<Measurement> measurements;
};

// vendor / own of one collective over all its sizes.
struct Summary {
    Collective collective = Collective::bcast;
    double geometric_mean = 0;
    double minimum = 0;
    std::size_t bytes_at_minimum = 0;
};

// Collectives of which both sides were measured, in the order of the measurements.
std::vector<Summary> summarize(const std::vector<Measurement>& measurements);

// The table is printed line by line, while the measurements come in.
void print_table_head(const Report& report);
void print_table_line(const Measurement& measurement);
void print_table_end(const Report& report);

// These return what went wrong, as a sentence for the user; empty if nothing did.
std::string why_not_writable(const std::string& path);
std::string write_json(const Report& report, const std::string& path);

// Whether gnuplot can be started; and the picture.
std::string why_no_gnuplot();
std::string write_plot(const Report& report, const std::string& path);

}  // namespace hcoll::bench
