# SPDX-License-Identifier: BSD-3-Clause
"""The command lines with which MPICH and Open MPI start a job on the nodes of a cluster."""

import collections
import os
import shlex
import shutil
import sys

from .description import Mistake, name_of
from .node import FOLDER

MPIS = ("mpich", "openmpi")


def launcher_of(mpi):
    path = shutil.which(f"mpiexec.{mpi}") or shutil.which("mpiexec")
    if path is None:
        raise Mistake(f"mpiexec.{mpi} is not on the PATH; --mpiexec says where the launcher is")
    return path


def remote_shell_script():
    """Launchers take one word for ssh, not a command with arguments."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "remote_shell.py")
    return f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(program)} \"$@\"\n"


def node_environment(cluster, shims):
    """What every process on a node has in its environment."""
    environment = {"TMPDIR": "/tmp", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if cluster.sockets:
        environment["HWLOC_SYNTHETIC"] = f"pack:{cluster.sockets} core:{cluster.cores} pu:1"
        environment["HWLOC_THISSYSTEM"] = "1"
        environment["HCOLL_CLUSTER_CPUS"] = str(cluster.sockets * cluster.cores)
    if shims:
        environment["LD_PRELOAD"] = ":".join(shims)
    return environment


def core_of_each_rank(places, cluster):
    """Each node's ranks on its cores in order, as virtual_affinity.c reads them; empty where nobody is bound."""
    if not cluster.sockets:
        return ""
    taken = collections.Counter()
    cores = []
    for node in places:
        cores.append(taken[node])
        taken[node] += 1
    if max(cores) >= cluster.sockets * cluster.cores:
        raise Mistake(f"a node has {cluster.sockets * cluster.cores} cores and is to run {max(cores) + 1} ranks")
    return ",".join(map(str, cores))


def _runs(places):
    """[node, how many ranks in a row] for each run of neighbours on one node."""
    runs = []
    for node in places:
        if runs and runs[-1][0] == node:
            runs[-1][1] += 1
        else:
            runs.append([node, 1])
    return runs


def _one_turn(runs):
    """The first turn, if the runs go round and round the same nodes; else all of them."""
    for length in range(1, len(runs) + 1):
        if len({node for node, _ in runs[:length]}) < length:
            break
        if len(runs) % length == 0 and runs == runs[:length] * (len(runs) // length):
            return runs[:length]
    return runs


class Job:
    """A command line for node 0, and the files that it needs in a folder of its own below FOLDER."""

    def __init__(self, mpi, launcher, places, settings, command, name):
        self.name = name
        self.files = {"remote_shell": remote_shell_script()}
        self.environment = {}
        self._folder = f"{FOLDER}/{name}"
        # Variables for the ranks alone, not for the launcher, which each MPI would do in its own way.
        ranks = ["env", *(f"{variable}={value}" for variable, value in settings.items()), *command]
        self.command = (self._mpich if mpi == "mpich" else self._open_mpi)(launcher, places, ranks)

    def write_files(self, folder):
        """Into the cluster's folder, as it is seen from outside."""
        os.mkdir(os.path.join(folder, self.name))
        for name, text in self.files.items():
            path = os.path.join(folder, self.name, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)

    def _mpich(self, launcher, places, command):
        # UCX would take nodes with the same boot for one machine; inside a node MPICH shares memory without it.
        self.environment = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
        # Hydra goes round and round its list of hosts. It takes one that comes again in the list for another node, and
        # tells the ranks so: then they have to find out by themselves (idle_yield.c).
        hosts = _one_turn(_runs(places))
        if len({node for node, _ in hosts}) < len(hosts):
            self.environment["HCOLL_CLUSTER_NODES_BY_NAME"] = "1"
        self.files["hosts_of_ranks"] = "".join(f"{name_of(node)}:{ranks}\n" for node, ranks in hosts)
        return [launcher, "-launcher", "ssh", "-launcher-exec", f"{self._folder}/remote_shell", "-iface", "eth0", "-f",
                f"{self._folder}/hosts_of_ranks", "-n", str(len(places)), *command]

    def _open_mpi(self, launcher, places, command):
        # Rank after rank on the next line's host.
        self.files["hosts_of_ranks"] = "".join(f"{name_of(node)}\n" for node in places)
        words = [launcher, "-n", str(len(places)), "--hostfile", f"{self._folder}/hosts_of_ranks", "--map-by",
                 "seq:OVERSUBSCRIBE", "--bind-to", "none"]
        for name, value in (("plm_rsh_agent", f"{self._folder}/remote_shell"), ("plm_rsh_no_tree_spawn", "1"),
                            ("oob_tcp_if_include", "eth0"), ("btl_tcp_if_include", "eth0"), ("pml", "ob1"),
                            ("btl", "self,vader,tcp"), ("mpi_yield_when_idle", "1")):
            words += ["--mca", name, value]
        return words + command
