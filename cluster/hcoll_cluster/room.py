# SPDX-License-Identifier: BSD-3-Clause
"""The room where the cluster stands: a process that holds the switch and all nodes, and with which all of it ends.

    front end ---- keeper ---- room: process 1 of a PID namespace; the switch's network namespace
                                |-- delaying switch (if there is a delay)
                                |-- node 0: process 1 of its own PID namespace; network, UTS, IPC, mount namespace
                                '-- node 1: ...

Each process is killed when its parent dies, and with process 1 of a PID namespace the kernel kills everything in it. No
file outside the namespaces' own file systems is ever written, so that nothing can stay behind.
"""

import os
import signal
import socket
import subprocess

from . import network, remote_shell, system
from .description import address_of, name_of
from .node import FOLDER, Server, make_node, private_tmp


class Room:
    """A cluster that this process has started."""

    def __init__(self, cluster, keep, environment, switch):
        self.folder = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        front_end = os.getpid()
        self.keeper = os.fork()
        if self.keeper == 0:
            ours.close()
            _guarded(theirs, lambda: _keep(theirs, front_end, cluster, keep, environment, switch))
        theirs.close()
        answer, _ = remote_shell.receive(ours)
        ours.close()
        if answer is None:
            answer = {"lacking": "the cluster's processes ended while it was being made"}
        if "lacking" in answer:
            os.waitpid(self.keeper, 0)
            raise system.Lacking(answer["lacking"])
        self.process = answer["room"]
        self.folder = folder_of(self.process)

    def end(self):
        """Kills everything, and returns when it is gone."""
        try:
            os.kill(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.keeper, 0)

    def wait(self):
        os.waitpid(self.keeper, 0)


def folder_of(process):
    """The folder with the nodes' sockets, seen from outside."""
    return f"/proc/{process}/root{FOLDER}"


def _guarded(channel, work):
    """Runs a process's work; what goes wrong is told to who started it. Does not return."""
    try:
        work()
    except system.Lacking as error:
        remote_shell.send(channel, {"lacking": str(error)})
    except OSError as error:
        remote_shell.send(channel, {"lacking": f"the kernel refused something that a cluster needs: {error.strerror}"})
    finally:
        os._exit(1)


def _keep(channel, front_end, cluster, keep, environment, switch):
    system.enter_namespaces(system.NEW_MOUNT | system.NEW_NETWORK | system.NEW_PID | system.NEW_IPC)
    system.die_with_parent(front_end)
    system.stay_visible()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    here = os.getpid()
    own, rooms = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    room = os.fork()
    if room == 0:
        own.close()
        channel.close()
        _guarded(rooms, lambda: _stand(rooms, here, cluster, keep, environment, switch))
    rooms.close()
    answer, _ = remote_shell.receive(own)
    if answer is not None and "lacking" not in answer:
        answer = {"room": room}
    remote_shell.send(channel, answer or {"lacking": "the cluster's first process ended while it was being made"})
    channel.close()
    os.waitpid(room, 0)
    os._exit(0)


def _stand(channel, keeper, cluster, keep, environment, switch):
    system.die_with_parent(keeper)
    system.keep_mounts_private()
    private_tmp(keep)
    _mount_proc()
    os.mkdir(FOLDER)
    with open(f"{FOLDER}/hosts", "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n")
        file.writelines(f"{address_of(node)} {name_of(node)}\n" for node in range(cluster.nodes))

    links = [_start_node(cluster, node, keep, environment) for node in range(cluster.nodes)]
    network.cable(cluster, [_answer(link)["node"] for link in links])
    if cluster.rate:
        network.limit_ports(cluster)
    if cluster.delay:
        _start_switch(cluster, switch)
    else:
        network.bridge(cluster)
    for link in links:
        remote_shell.send(link, {"cabled": True})
    for link in links:
        _answer(link)
        link.close()
    remote_shell.send(channel, {"ready": True})
    channel.close()
    _reap_for_ever()


def _mount_proc():
    try:
        system.mount("proc", "/proc", "proc", system.MOUNT_NOSUID | system.MOUNT_NODEV)
    except OSError as error:
        raise system.Lacking("/proc of a new PID namespace cannot be mounted: this container hides parts of /proc "
                             f"({error.strerror})") from error


def _answer(link):
    answer, _ = remote_shell.receive(link)
    if answer is None or "lacking" in answer:
        raise system.Lacking((answer or {}).get("lacking", "a node's first process ended while it was being made"))
    return answer


def _start_node(cluster, node, keep, environment):
    """Process 1 of a new node, which waits for its cable. It is a grandchild: a PID namespace is for children only."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def make():
        system.unshare(system.NEW_MOUNT | system.NEW_NETWORK | system.NEW_UTS | system.NEW_IPC | system.NEW_PID)
        process = os.fork()
        if process != 0:
            remote_shell.send(theirs, {"node": process})
            os._exit(0)
        make_node(cluster, node, keep)
        remote_shell.receive(theirs)
        network.configure_node(cluster, node)
        server = Server(node, environment)
        remote_shell.send(theirs, {"ready": True})
        theirs.close()
        server.serve()

    process = os.fork()
    if process == 0:
        ours.close()
        _guarded(theirs, make)
    theirs.close()
    return ours


def _start_switch(cluster, switch):
    if not os.access(switch, os.X_OK):
        raise system.Lacking(f"a delay needs {switch}, which is not built")
    ports = [network.port_of(node) for node in range(cluster.nodes)]
    process = subprocess.Popen([switch, str(cluster.delay), *ports], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if not process.stdout.readline():
        raise system.Lacking("the switch that delays messages did not start")


def _reap_for_ever():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.pause()
