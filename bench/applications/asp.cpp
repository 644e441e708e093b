// SPDX-License-Identifier: BSD-3-Clause
// ASP: the shortest paths between all pairs of vertices of a graph, by Floyd and Warshall's algorithm on rows of the matrix of distances.
//
//   for k in 0 ... n-1:   whoever has row k sends it to all (MPI_Bcast); each rank: row[i][j] = min(row[i][j], row[i][k] + row_k[j])
//
// Each rank is the root of as many broadcasts as it has rows, in turn; a message is a row, 4 n bytes. The graph is made from --seed,
// and --check compares every distance with a serial run.
//
// Source: Plaat, Bal, Hofman 1999 (ASP); Luo 2020, section 6.3.3.1 and table 6.3.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "application.hpp"

namespace {

using namespace application;

using Distance = std::int32_t;
constexpr Distance no_edge = 1 << 28;  // twice that is a number still

struct Graph {
    int vertices = 0;
    std::uint64_t seed = 1;

    // One edge in four, of a length from 1 to 1000.
    Distance edge(int from, int to) const {
        if (from == to) return 0;
        const std::uint64_t bits =
            mixed(seed ^ mixed(static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(vertices) +
                               static_cast<std::uint64_t>(to)));
        return bits % 4 != 0 ? no_edge : static_cast<Distance>(1 + bits / 4 % 1000);
    }
};

// Rows in blocks: the first ranks have one more where they do not divide.
struct Rows {
    int vertices;
    int ranks;
    int first(int rank) const { return static_cast<int>(static_cast<std::int64_t>(vertices) * rank / ranks); }
    int owner(int row) const {
        int rank = static_cast<int>(static_cast<std::int64_t>(row) * ranks / vertices);
        while (first(rank + 1) <= row) ++rank;
        while (first(rank) > row) --rank;
        return rank;
    }
};

using Matrix = std::vector<std::vector<Distance>>;

Matrix rows_of(const Graph& graph, int first, int last) {
    Matrix rows;
    for (int row = first; row < last; ++row) {
        rows.emplace_back(graph.vertices);
        for (int column = 0; column < graph.vertices; ++column)
            rows.back()[static_cast<std::size_t>(column)] = graph.edge(row, column);
    }
    return rows;
}

void relax(Matrix& rows, int k, const std::vector<Distance>& row_k) {
    for (std::vector<Distance>& row : rows) {
        const Distance to_k = row[static_cast<std::size_t>(k)];
        for (std::size_t j = 0; j < row.size(); ++j) row[j] = std::min(row[j], to_k + row_k[j]);
    }
}

bool is_right(const Graph& graph, const Rows& rows, const Matrix& mine, int rank) {
    Matrix all = rows_of(graph, 0, graph.vertices);
    for (int k = 0; k < graph.vertices; ++k) {
        const std::vector<Distance> row_k = all[static_cast<std::size_t>(k)];
        relax(all, k, row_k);
    }
    return std::equal(mine.begin(), mine.end(), all.begin() + rows.first(rank));
}

int run(int argc, char** argv, int rank, int ranks) {
    Graph graph{.vertices = 1024};
    bool has_check = false;
    CLI::App app("ASP: all shortest paths by broadcasts of rows.");
    app.add_option("--vertices", graph.vertices, "of the graph; a message has four bytes for each")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--seed", graph.seed, "of the graph")->capture_default_str();
    app.add_flag("--check", has_check, "compare with a serial run");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return rank == 0 ? app.exit(error) : error.get_exit_code();
    }
    const Rows rows{.vertices = graph.vertices, .ranks = ranks};
    Matrix mine = rows_of(graph, rows.first(rank), rows.first(rank + 1));
    std::vector<Distance> row_k(static_cast<std::size_t>(graph.vertices));
    Watch communication;
    require(MPI_Barrier(MPI_COMM_WORLD));
    const double begin = now();
    for (int k = 0; k < graph.vertices; ++k) {
        const int owner = rows.owner(k);
        if (owner == rank) row_k = mine[static_cast<std::size_t>(k - rows.first(rank))];
        communication.time(
            [&] { require(MPI_Bcast(row_k.data(), graph.vertices, MPI_INT32_T, owner, MPI_COMM_WORLD)); });
        relax(mine, k, row_k);
    }
    report(rank, fmt::format("ASP of {} vertices", graph.vertices).c_str(), ranks, now() - begin,
           communication.seconds());
    if (!has_check) return 0;
    const int wrong = static_cast<int>(longest(is_right(graph, rows, mine, rank) ? 0 : 1));
    if (rank == 0) std::puts(wrong == 0 ? "all distances are right" : "DISTANCES ARE WRONG");
    return wrong;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
