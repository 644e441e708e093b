/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that hands every packet on after the same time. For kernels without netem, which are many.
 *
 * usage: hcoll-cluster-switch MICROSECONDS PORT...
 *
 * Runs in the network namespace that holds one end of each node's cable. The port of a packet's receiver is told by the
 * last byte of its hardware address: 1 is the first port. Packets are read and written as the kernel has them, with
 * their offload header (PACKET_VNET_HDR), so that large frames stay whole and checksums are left to whoever computes
 * them. Since the delay is the same for all, each port's packets leave in the order of their arrival: one queue a port.
 * What limits a port's rate (tc) comes after the queue. Prints a line once packets are taken. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    max_ports = 255,
    offload_header = 10, /* struct virtio_net_hdr */
    frame_bytes = offload_header + 14 + 65536,
    socket_buffer = 64 << 20,
    packets_at_once = 64
};

typedef struct Packet {
    struct Packet* next;
    uint64_t due;
    size_t bytes;
    unsigned char data[];
} Packet;

typedef struct {
    int socket;
    int is_full; /* the kernel took no more: wait until it does */
    Packet* head;
    Packet** tail;
} Port;

static Port ports[max_ports];
static int port_count;

static _Noreturn void fail(const char* what) {
    fprintf(stderr, "hcoll-cluster-switch: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* As much as the system allows: what does not fit is lost, and TCP would take it for congestion. */
static void set_buffer(int descriptor, int forced, int polite) {
    const int bytes = socket_buffer;
    if (setsockopt(descriptor, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0)
        setsockopt(descriptor, SOL_SOCKET, polite, &bytes, sizeof bytes);
}

static void open_port(Port* port, const char* name) {
    /* This protocol alone: with all of them a port would also see what is written to it. Addresses are not asked for. */
    port->socket = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
    if (port->socket < 0) fail("a packet socket cannot be had");
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
    address.sll_ifindex = (int)if_nametoindex(name);
    if (address.sll_ifindex == 0) fail(name);
    const int on = 1;
    if (setsockopt(port->socket, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0) fail("PACKET_VNET_HDR");
    set_buffer(port->socket, SO_RCVBUFFORCE, SO_RCVBUF);
    set_buffer(port->socket, SO_SNDBUFFORCE, SO_SNDBUF);
    if (bind(port->socket, (struct sockaddr*)&address, sizeof address) != 0) fail(name);
    port->tail = &port->head;
}

static void take_packets(const Port* from, uint64_t delay) {
    static unsigned char frame[frame_bytes];
    for (int i = 0; i < packets_at_once; ++i) {
        const ssize_t bytes = recv(from->socket, frame, sizeof frame, 0);
        if (bytes < 0) return;
        if (bytes < offload_header + ETH_HLEN) continue;
        const int receiver = frame[offload_header + ETH_ALEN - 1] - 1;
        if (receiver < 0 || receiver >= port_count) continue;
        Packet* packet = malloc(sizeof *packet + (size_t)bytes);
        if (packet == NULL) continue;
        packet->next = NULL;
        packet->due = now() + delay;
        packet->bytes = (size_t)bytes;
        memcpy(packet->data, frame, (size_t)bytes);
        *ports[receiver].tail = packet;
        ports[receiver].tail = &packet->next;
    }
}

static void hand_on(Port* port, uint64_t time) {
    while (port->head != NULL && port->head->due <= time) {
        Packet* packet = port->head;
        const ssize_t sent = send(port->socket, packet->data, packet->bytes, 0);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            port->is_full = 1;
            return;
        }
        port->head = packet->next;
        if (port->head == NULL) port->tail = &port->head;
        free(packet);
    }
    port->is_full = 0;
}

int main(int count, char** words) {
    if (count < 3 || count - 2 > max_ports) {
        fprintf(stderr, "usage: hcoll-cluster-switch MICROSECONDS PORT...\n");
        return 2;
    }
    const uint64_t delay = strtoull(words[1], NULL, 10) * 1000U;
    port_count = count - 2;
    for (int i = 0; i < port_count; ++i) open_port(&ports[i], words[i + 2]);

    /* Before all ranks, where that is allowed: there are more of them than cores. */
    const struct sched_param priority = {.sched_priority = 20};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    prctl(PR_SET_TIMERSLACK, 1);
    puts("ready");
    fflush(stdout);

    for (;;) {
        struct pollfd ready[max_ports];
        uint64_t next = UINT64_MAX;
        for (int i = 0; i < port_count; ++i) {
            hand_on(&ports[i], now());
            ready[i] = (struct pollfd){ports[i].socket, POLLIN, 0};
            if (ports[i].is_full)
                ready[i].events |= POLLOUT;
            else if (ports[i].head != NULL && ports[i].head->due < next)
                next = ports[i].head->due;
        }
        const uint64_t time = now();
        const uint64_t left = next > time ? next - time : 0;
        const struct timespec limit = {(time_t)(left / 1000000000U), (long)(left % 1000000000U)};
        if (ppoll(ready, (nfds_t)port_count, next == UINT64_MAX ? NULL : &limit, NULL) <= 0) continue;
        for (int i = 0; i < port_count; ++i)
            if (ready[i].revents & POLLIN) take_packets(&ports[i], delay);
    }
}
