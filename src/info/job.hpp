// SPDX-License-Identifier: BSD-3-Clause
// Finds the MPI library that a program started like this one would run on, and asks its backend about the job.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hcoll::info {

struct MpiLibrary {
    std::string path;
    std::string version;  // its own words, the first line
    std::string flavour;  // of libhcoll; empty where there is no backend for it
};

struct Job {
    std::vector<MpiLibrary> libraries;  // one, when started by a launcher; otherwise all that are found
    bool is_launched = false;
    bool prints = true;            // this process is rank 0, or alone
    nlohmann::ordered_json ranks;  // every rank's place, with the number of its node
    std::string problem;           // why there is less than there should be; empty otherwise
};

// Was this process started by a launcher of an MPI library?
bool is_launched();

// `wanted` names an MPI library; empty: the one that fits the launcher, or all that are found.
Job examine_job(const std::string& wanted);

}  // namespace hcoll::info
