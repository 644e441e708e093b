// SPDX-License-Identifier: BSD-3-Clause
// Processes that were not started together, some with the library and some without: nothing of the library's may reach those that do
// not have it, and nobody may wait for what they do not know of.
//
//   --case spawn     starts two processes, with LD_PRELOAD as --child says (the same, none or the path of the library), and
//                    merges with them; skipped where this MPI cannot start any
//   --case bridge    rank 0 alone starts them and merges with them; then all ranks are joined to them over that communicator
//   --case accept --port-file FILE      waits for another job to connect, and merges with it
//   --case connect --port-file FILE     the other job
//   --case join      ranks 0 and 1 meet over a socket that they have made
#include "../support/program.hpp"
#include "../support/spawn.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <thread>

using namespace hcoll::test;

namespace {

// More calls than any limit by which communicators are set up, of all kinds.
void use(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    for (int round = 0; round < 60; ++round) {
        const std::int64_t mine = std::int64_t{rank} + round;
        std::int64_t sum = -1;
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm));
        require(sum == std::int64_t{size} * (size - 1) / 2 + std::int64_t{size} * round, "a wrong sum");
        int word = rank == round % size ? round : -1;
        check(MPI_Bcast(&word, 1, MPI_INT, round % size, comm));
        require(word == round, "a wrong word");
        check(MPI_Barrier(comm));
    }
}

void merge_and_use(MPI_Comm inter, int high) {
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Comm again = MPI_COMM_NULL;
    check(MPI_Intercomm_merge(inter, high, &merged));
    use(merged);
    check(MPI_Comm_dup(merged, &again));
    use(again);
    check(MPI_Comm_free(&again));
    check(MPI_Comm_free(&merged));
    use(MPI_COMM_WORLD);
    check(MPI_Comm_disconnect(&inter));
}

void spawn(const std::string& preload) {
    std::vector<std::string> words = {"-u", "LD_PRELOAD", "LIBHCOLL_SETUP_CALLS=1",
                                      "LIBHCOLL_ALLREDUCE=recursive_doubling"};
    if (!preload.empty()) words.push_back("LD_PRELOAD=" + preload);
    MPI_Comm inter = MPI_COMM_NULL;
    const int status = start_children(2, words, {"--case", "child"}, inter);
    if (status != MPI_SUCCESS) skip("this MPI's launcher starts no processes: " + error_text(status));
    merge_and_use(inter, 0);
}

void bridge(const Program& program) {
    MPI_Comm started = MPI_COMM_NULL;
    MPI_Comm bridge = MPI_COMM_NULL;
    int status = MPI_SUCCESS;
    if (program.rank() == 0)
        status = start_children(2, {"-u", "LD_PRELOAD"}, {"--case", "bridged"}, started, MPI_COMM_SELF);
    check(MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (status != MPI_SUCCESS) skip("this MPI's launcher starts no processes: " + error_text(status));
    if (program.rank() == 0) {
        check(MPI_Intercomm_merge(started, 0, &bridge));
        use(bridge);
    }
    MPI_Comm inter = MPI_COMM_NULL;
    check(MPI_Intercomm_create(MPI_COMM_WORLD, 0, bridge, 1, 0, &inter));
    merge_and_use(inter, 0);
    if (program.rank() != 0) return;
    check(MPI_Comm_free(&bridge));
    check(MPI_Comm_disconnect(&started));
}

// What the other side of it does.
void be_bridged() {
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm bridge = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    check(MPI_Comm_get_parent(&parent));
    check(MPI_Intercomm_merge(parent, 1, &bridge));
    use(bridge);
    check(MPI_Intercomm_create(MPI_COMM_WORLD, 0, bridge, 0, 0, &inter));
    merge_and_use(inter, 1);
    check(MPI_Comm_free(&bridge));
    check(MPI_Comm_disconnect(&parent));
}

void accept_other(const Program& program, const std::string& file) {
    std::string port(MPI_MAX_PORT_NAME, '\0');
    int can = 1;
    if (program.rank() == 0) {
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        can = MPI_Open_port(MPI_INFO_NULL, port.data()) == MPI_SUCCESS ? 1 : 0;
        std::ofstream(file + ".new") << (can != 0 ? port.c_str() : "none");
        require(std::rename((file + ".new").c_str(), file.c_str()) == 0, "the port cannot be told");
    }
    check(MPI_Bcast(&can, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (can == 0) skip("this MPI opens no ports");
    MPI_Comm inter = MPI_COMM_NULL;
    const int status = MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    if (status != MPI_SUCCESS) skip("this MPI's jobs cannot connect: " + error_text(status));
    merge_and_use(inter, 0);
}

void connect_other(const Program& program, const std::string& file) {
    std::string port;
    int can = 1;
    if (program.rank() == 0) {
        while (!std::getline(std::ifstream(file), port)) std::this_thread::yield();
        can = port == "none" ? 0 : 1;
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    }
    check(MPI_Bcast(&can, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (can == 0) skip("this MPI opens no ports");
    MPI_Comm inter = MPI_COMM_NULL;
    const int status = MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    if (status != MPI_SUCCESS) skip("this MPI's jobs cannot connect: " + error_text(status));
    merge_and_use(inter, 1);
}

// A connected socket between ranks 0 and 1.
int meet(const Program& program) {
    int made = socket(AF_INET, SOCK_STREAM, 0);
    require(made >= 0, "no socket can be had");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (program.rank() == 0) {
        require(bind(made, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(made, 1) == 0 &&
                    getsockname(made, reinterpret_cast<sockaddr*>(&address), &length) == 0,
                "no socket can listen");
        check(MPI_Send(&address.sin_port, 2, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        const int connected = accept(made, nullptr, nullptr);
        close(made);
        return connected;
    }
    check(MPI_Recv(&address.sin_port, 2, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    require(connect(made, reinterpret_cast<sockaddr*>(&address), length) == 0, "no socket can be connected");
    return made;
}

void join(const Program& program) {
    if (program.rank() < 2) {
        const int connected = meet(program);
        MPI_Comm inter = MPI_COMM_NULL;
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        const int status = MPI_Comm_join(connected, &inter);
        if (status != MPI_SUCCESS || inter == MPI_COMM_NULL) skip("this MPI cannot join: " + error_text(status));
        MPI_Comm merged = MPI_COMM_NULL;
        check(MPI_Intercomm_merge(inter, program.rank(), &merged));
        use(merged);
        check(MPI_Comm_free(&merged));
        check(MPI_Comm_disconnect(&inter));
        close(connected);
    }
    use(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "strangers");
    const std::string which = program.options().text("--case", "join");
    const std::string child = program.options().text("--child", "");
    const std::string file = program.options().text("--port-file", "");
    program.options().reject_rest();
    if (which == "child") {
        MPI_Comm parent = MPI_COMM_NULL;
        check(MPI_Comm_get_parent(&parent));
        merge_and_use(parent, 1);
    } else if (which == "bridged") {
        be_bridged();
    } else if (which == "spawn") {
        spawn(child);
    } else if (which == "bridge") {
        bridge(program);
    } else if (which == "accept") {
        accept_other(program, file);
    } else if (which == "connect") {
        connect_other(program, file);
    } else {
        join(program);
    }
    return program.finish(which);
}
