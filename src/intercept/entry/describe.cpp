// SPDX-License-Identifier: BSD-3-Clause
// What hcoll-info asks of a backend: the MPI library's own word, and where every rank of this job runs.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "intercept/calls/wrappers.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/gather_places.hpp"
#include "topology/place_json.hpp"

namespace hcoll {

namespace {

// Every rank's text at rank 0, in the order of ranks.
int gather_texts(const std::string& mine, int rank, int size, std::vector<std::string>& all) {
    int length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(size));
    std::vector<int> offsets(static_cast<std::size_t>(size));
    int status = mpi.Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status != MPI_SUCCESS) return status;
    int total = 0;
    if (rank == 0)
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            offsets[i] = total;
            total += lengths[i];
        }
    std::string texts(static_cast<std::size_t>(total), ' ');
    status = mpi.Gatherv(mine.data(), length, MPI_CHAR, texts.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
                         MPI_COMM_WORLD);
    if (rank == 0 && status == MPI_SUCCESS)
        for (std::size_t i = 0; i < lengths.size(); ++i)
            all.push_back(texts.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
    return status;
}

}  // namespace

int describe_job(char** json_text) {
    *json_text = nullptr;
    int status = mpi.Init(nullptr, nullptr);
    if (status != MPI_SUCCESS) return status;
    int rank = 0;
    int size = 1;
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    std::vector<std::string> places;
    status = gather_texts(place_json(local_place()).dump(), rank, size, places);
    std::vector<RankPlace> nodes;  // none where they cannot be told
    if (status == MPI_SUCCESS) {
        const ErrorsReturn errors_return(MPI_COMM_WORLD);
        gather_places(MPI_COMM_WORLD, local_place(), nodes);
    }
    if (rank == 0 && status == MPI_SUCCESS) {
        nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
        for (std::size_t i = 0; i < places.size(); ++i) {
            nlohmann::ordered_json entry = {{"rank", i}};
            entry.update(nlohmann::ordered_json::parse(places[i]));
            entry["node"] = nodes.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(nodes[i].node);
            ranks.push_back(entry);
        }
        *json_text = strdup(ranks.dump().c_str());
    }
    const int finalized = mpi.Finalize();
    return status != MPI_SUCCESS ? status : finalized;
}

}  // namespace hcoll
