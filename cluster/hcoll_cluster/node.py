# SPDX-License-Identifier: BSD-3-Clause
"""One node: a process that makes it, is process 1 of it, and starts commands on it for those who ask (remote_shell.py)."""

import os
import selectors
import signal
import socket
import time

from . import network, remote_shell, system
from .description import name_of

FOLDER = "/tmp/.hcoll-cluster"  # the same in all nodes of a cluster, and nowhere else


def private_tmp(keep):
    """An empty /tmp, in which the files and folders `keep` and what belongs to the cluster can be seen as before."""
    visible = []
    for path in sorted({*keep, FOLDER}):
        if path.startswith("/tmp/") and os.path.exists(path):
            visible.append((path, os.path.isdir(path), os.open(path, os.O_PATH | os.O_CLOEXEC)))
    system.mount("tmpfs", "/tmp", "tmpfs", system.MOUNT_NOSUID | system.MOUNT_NODEV, "mode=1777")
    for path, is_folder, descriptor in visible:
        if not os.path.exists(path):
            os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
            if not is_folder:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            system.mount(f"/proc/self/fd/{descriptor}", path, None, system.MOUNT_BIND | system.MOUNT_RECURSIVE)
        os.close(descriptor)


def _mount_own(kind, target, flags, options, what):
    try:
        system.mount(kind, target, kind, flags, options)
    except OSError as error:
        raise system.Lacking(f"a node's own {target} cannot be mounted: {what} ({error.strerror})") from error


def make_node(cluster, node, keep):
    """File systems and names, in namespaces that are new already."""
    system.keep_mounts_private()
    private_tmp(keep)
    careful = system.MOUNT_NOSUID | system.MOUNT_NODEV
    _mount_own("proc", "/proc", careful, None, "this container hides parts of /proc")
    _mount_own("sysfs", "/sys", careful, None, "this container hides parts of /sys")
    _mount_own("tmpfs", "/dev/shm", careful, "mode=1777", "no tmpfs")
    system.mount(f"{FOLDER}/hosts", "/etc/hosts", None, system.MOUNT_BIND)
    socket.sethostname(name_of(node))


class Server:
    """Answers requests until the cluster ends. Process 1 of the node: it also reaps whom others have left."""

    def __init__(self, node, environment):
        self._name = name_of(node)
        self._environment = environment  # of every command
        self._commands = {}  # process -> its channel
        self._jobs = {}  # channel -> the job of its command
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._listener.bind(os.path.join(FOLDER, self._name))
        self._listener.listen(64)
        self._woken, waker = socket.socketpair()
        self._woken.setblocking(False)
        waker.setblocking(False)
        self._waker = waker
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what a terminal sends is for the launcher
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)

    def serve(self):
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)
        while True:
            for key, _ in self._selector.select():
                key.data()

    def _accept(self):
        channel, _ = self._listener.accept()
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._read(channel))

    def _read(self, channel):
        try:
            message, descriptors = remote_shell.receive(channel)
        except OSError:
            message, descriptors = None, []
        if message is None:
            self._asker_is_gone(channel)
        elif "run" in message:
            self._start(channel, message, descriptors)
        elif "counters" in message:
            remote_shell.send(channel, network.counters())
        elif "end" in message:
            self._end_job(message["end"])
            remote_shell.send(channel, {})
        for descriptor in descriptors:
            os.close(descriptor)

    def _forget(self, channel):
        self._selector.unregister(channel)
        self._jobs.pop(channel, None)
        channel.close()

    def _start(self, channel, message, descriptors):
        environment = {**os.environ, **(message.get("environment") or {}), **self._environment,
                       "HCOLL_CLUSTER_FOLDER": FOLDER, "HCOLL_CLUSTER_JOB": message["job"]}
        process = os.fork()
        if process == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                for wanted, descriptor in enumerate(descriptors):
                    os.dup2(descriptor, wanted)
                try:
                    os.chdir(message["folder"])
                except OSError:
                    os.chdir("/")
                os.execvpe(message["run"][0], message["run"], environment)
            except OSError as error:
                os.write(2, f"{self._name}: {message['run'][0]} cannot be started: {error.strerror}\n".encode())
            os._exit(127)
        self._commands[process] = channel
        self._jobs[channel] = message["job"]

    def _reap(self):
        self._woken.recv(4096)
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            channel = self._commands.pop(process, None)
            if channel is not None and channel.fileno() >= 0:
                code = os.waitstatus_to_exitcode(status)
                try:
                    remote_shell.send(channel, {"status": code if code >= 0 else 128 - code})
                except OSError:
                    pass  # nobody waits for it any more
                self._forget(channel)

    def _asker_is_gone(self, channel):
        job = self._jobs.get(channel)
        self._forget(channel)
        if job:
            self._end_job(job)

    def _end_job(self, job):
        """Kills all processes of a job, which is told by an environment variable that all of them inherit."""
        mark = f"HCOLL_CLUSTER_JOB={job}".encode()
        for _ in range(3):  # one that was being started may have been missed
            found = False
            for entry in os.listdir("/proc"):
                if not entry.isdigit() or int(entry) == os.getpid():
                    continue
                try:
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        if mark in file.read().split(b"\0"):
                            os.kill(int(entry), signal.SIGKILL)
                            found = True
                except OSError:
                    pass
            if not found:
                return
            time.sleep(0.02)
