# SPDX-License-Identifier: BSD-3-Clause
"""The command line: run, up, rate, down, status."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from . import launch, network, remote_shell, report
from .description import (Cluster, Mistake, name_of, node_of_each_rank, nodes_in_list, parse_delay, parse_rate,
                          ranks_per_node)
from .room import Room, folder_of
from .stacks import print_stacks
from .system import Lacking, join_network

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT_NAME = "cluster"

EPILOG = """examples:
  scripts/cluster run --nodes 4 --ppn 4 --mpi openmpi --rate 200mbit --delay 500us -- ./prog
  scripts/cluster run --ppn 4,1,2 --mpi mpich --layout cyclic --no-preload -- ./prog
  scripts/cluster up --nodes 2; scripts/cluster run --on cluster --ppn 2 --mpi mpich -- ./prog; scripts/cluster down

exit status: the program's; 2 for a mistake on the command line, 77 where this system cannot make a cluster, 124 after
--timeout, 130 after Ctrl-C. Everything about clusters: docs/cluster.md."""


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/cluster", description=sys.modules["__main__"].__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="run | up | rate | down | status")

    shape = argparse.ArgumentParser(add_help=False)
    shape.add_argument("--nodes", type=int, default=0, metavar="N", help="number of nodes (default: what --ppn or --layout list, else 2)")
    shape.add_argument("--rate", default="", metavar="RATE", help="of each node's network interface, each way: 200mbit, 1gbit")
    shape.add_argument("--delay", default="", metavar="TIME", help="from node to node, one way: 500us, 2ms")
    shape.add_argument("--sockets", type=int, default=0, metavar="N", help="sockets that each node pretends to have; ranks are bound")
    shape.add_argument("--cores", type=int, default=0, metavar="N", help="cores of each such socket (default: enough for the ranks)")
    shape.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIR", help="where the library was built")
    shape.add_argument("--keep", action="append", default=[], metavar="PATH", help="a file or folder below /tmp that the nodes are to see")

    run = commands.add_parser("run", parents=[shape], help="run an MPI program, on a cluster of its own or on one that is up")
    run.add_argument("--mpi", choices=launch.MPIS, required=True, help="what the program was built for")
    run.add_argument("--mpiexec", default="", metavar="FILE", help="launcher (default: mpiexec.<mpi>)")
    run.add_argument("--ppn", default="1", metavar="N[,N...]", help="ranks on each node, or on the first, second, ...")
    run.add_argument("--layout", default="block", metavar="LAYOUT", help="block, cyclic, reversed, or the node of each rank: 0,1,1,0")
    run.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the ranks; LIBHCOLL_... of this shell are passed on without it")
    run.add_argument("--preload", action="append", default=[], metavar="FILE", help="(default: libhcoll.so of the build)")
    run.add_argument("--no-preload", action="store_true", help="the MPI library alone")
    run.add_argument("--bytes-json", default="", metavar="FILE", help="write the bytes of each node's interface there")
    run.add_argument("--quiet", action="store_true", help="print no table of bytes")
    run.add_argument("--timeout", type=float, default=0, metavar="SECONDS", help="end the job after this time")
    run.add_argument("--on", default="", metavar="NAME", help="the cluster of that name, which is up")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...")

    for name, text in (("up", "make a cluster that stays"), ("hold", None)):
        options = {"help": text} if text else {}
        up = commands.add_parser(name, parents=[shape], **options)
        up.add_argument("--name", default=DEFAULT_NAME)
        up.add_argument("--ppn", default="1", help="what --sockets is to have room for")
    rate = commands.add_parser("rate", help="change the rate of a cluster that is up, of what nodes receive: also while a program runs on it")
    rate.add_argument("rate", metavar="RATE", help="200mbit, 1gbit")
    rate.add_argument("name", nargs="?", default=DEFAULT_NAME)
    down = commands.add_parser("down", help="end a cluster that is up")
    down.add_argument("name", nargs="?", default=DEFAULT_NAME)
    commands.add_parser("status", help="list the clusters that are up")
    return parser


# ---- What both `run` and `up` need ----

def _shims(build):
    return {name: os.path.join(build, "cluster", f"lib{name}.so") for name in ("idle_yield", "virtual_affinity")}


def _cluster_of(options, counts, nodes):
    cores = options.cores or (-(-max(counts) // options.sockets) if options.sockets else 0)
    if options.cores and not options.sockets:
        raise Mistake("--cores says how many cores a socket has: --sockets is needed as well")
    return Cluster(nodes=nodes, rate=parse_rate(options.rate) if options.rate else 0,
                   delay=parse_delay(options.delay) if options.delay else 0, sockets=options.sockets, cores=cores)


def _seats(options):
    """(ranks per node, node of each rank) of `run`."""
    nodes = options.nodes or nodes_in_list(options.layout) or (0 if "," in options.ppn else 2)
    counts = ranks_per_node(options.ppn, nodes)
    places = node_of_each_rank(options.layout, counts)
    return [places.count(node) for node in range(len(counts))], places


def _kept(options, program=None):
    """What nodes have to see although it may be below /tmp."""
    paths = [SOURCE, os.path.abspath(options.build), *map(os.path.abspath, options.keep)]
    if os.getcwd() == "/tmp":
        print("scripts/cluster: the current folder is /tmp, of which each node has its own", file=sys.stderr)
    else:
        paths.append(os.getcwd())
    if program:
        paths += map(os.path.abspath, filter(os.path.exists, [program, *options.preload]))
    return [os.path.realpath(path) for path in paths]


def _make_room(options, cluster, kept):
    shims = _shims(os.path.abspath(options.build))
    wanted = [shims["idle_yield"]] + ([shims["virtual_affinity"]] if cluster.sockets else [])
    for file in wanted:
        if not os.path.exists(file):
            raise Mistake(f"{file} is not built; build the library first, or name its folder with --build")
    environment = launch.node_environment(cluster, wanted)
    switch = os.path.join(os.path.abspath(options.build), "cluster", "hcoll-cluster-switch")
    return Room(cluster, kept, environment, switch)


# ---- Clusters that are up: nothing but their processes says that they exist ----

def _find(name=None):
    """The clusters of this user that are up: {name: (process, node count)}."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = [word.decode(errors="replace") for word in file.read().split(b"\0")]
            if "hold" not in words or not any(word.endswith("scripts/cluster") for word in words[:4]):
                continue
            options = _parser().parse_args(words[words.index("hold"):-1])
            folder = folder_of(entry)
            sockets = [file for file in os.listdir(folder) if file.startswith("node")]
            # Process 1 of the cluster and of each node see the folder; the one outside of them all does not.
            with open(f"/proc/{entry}/status", encoding="ascii") as file:
                numbers = next(line for line in file if line.startswith("NSpid:")).split()[1:]
            if len(numbers) >= 2 and numbers[-1] == "1":
                previous = found.get(options.name)
                if previous is None or len(numbers) < previous[2]:
                    found[options.name] = (int(entry), len(sockets), len(numbers), options)
        except (OSError, ValueError, StopIteration):
            continue
    if name is None:
        return found
    if name not in found:
        raise Mistake(f"no cluster '{name}' is up" + (f"; there is {', '.join(sorted(found))}" if found else ""))
    return found[name]


def _up(options):
    if options.name in _find():
        raise Mistake(f"a cluster '{options.name}' is up already")
    counts = ranks_per_node(options.ppn, options.nodes)
    cluster = _cluster_of(options, counts, options.nodes or len(counts))
    words = [sys.executable, os.path.join(SOURCE, "scripts", "cluster"), "hold", "--name", options.name]
    for name in ("nodes", "rate", "delay", "sockets", "cores", "build", "ppn"):
        value = cluster.nodes if name == "nodes" else getattr(options, name)
        if value:
            words += [f"--{name}", str(value)]
    for path in options.keep:
        words += ["--keep", path]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout.readline().strip() != "ready":
        sys.stderr.write(process.stderr.read())
        return process.wait()
    print(f"cluster '{options.name}' is up: {cluster.summary()}")
    return 0


def _hold(options):
    """The process behind `up`. Not in a session of its own: see idle_yield.c."""
    counts = ranks_per_node(options.ppn, options.nodes)
    cluster = _cluster_of(options, counts, options.nodes)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    report_to = os.dup(1)
    os.dup2(nothing, 1)
    os.set_inheritable(report_to, False)
    room = None
    kept = _kept(options)
    saved_errors = os.dup(2)
    os.dup2(nothing, 2)
    try:
        room = _make_room(options, cluster, kept)
    except (Lacking, Mistake):
        os.dup2(saved_errors, 2)
        raise
    os.write(report_to, b"ready\n")
    os.close(report_to)
    os.close(saved_errors)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    room.wait()
    return 0


def _down(options):
    process, _, _, _ = _find(options.name)
    os.kill(process, signal.SIGKILL)
    limit = time.monotonic() + 10
    while options.name in _find() and time.monotonic() < limit:
        time.sleep(0.02)
    return 0


def _rate(options):
    process, nodes, _, made = _find(options.name)
    if not made.rate:
        raise Mistake(f"cluster '{options.name}' has no rate to change; give `up` one with --rate")
    rate = parse_rate(options.rate)
    try:
        join_network(process)
    except OSError as error:
        raise Lacking(f"the network of cluster '{options.name}' cannot be entered ({error.strerror})") from error
    network.change_rate(Cluster(nodes=nodes, rate=rate, delay=0, sockets=0, cores=0))
    return 0


def _status():
    found = _find()
    if not found:
        print("no cluster is up")
    for name, (process, nodes, _, options) in sorted(found.items()):
        cluster = _cluster_of(options, ranks_per_node(options.ppn, options.nodes), nodes)
        print(f"{name}: {cluster.summary()}; process {process}")
    return 0


# ---- run ----

def _settings(options):
    """Environment of the ranks."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("LIBHCOLL_")}
    for text in options.env:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Mistake(f"--env {text}: NAME=VALUE is needed")
        settings[name] = value
    return settings


def _preloads(options, cluster):
    shims = _shims(os.path.abspath(options.build))
    own = [] if options.no_preload else [os.path.abspath(file) for file in options.preload] or [
        os.path.join(os.path.abspath(options.build), "lib", "libhcoll.so")]
    for file in own:
        if not os.path.exists(file):
            raise Mistake(f"{file}, which is to be preloaded, does not exist")
    return own + [shims["idle_yield"]] + ([shims["virtual_affinity"]] if cluster.sockets else [])


def _run(options):
    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        raise Mistake("there is no program to run; it is written after --")
    if options.on:
        process, nodes, _, held = _find(options.on)
        options.nodes = nodes
        options.sockets, options.cores = held.sockets, held.cores
    counts, places = _seats(options)
    program = shutil.which(command[0])
    if program is None:
        raise Mistake(f"the program {command[0]} does not exist or cannot be executed")
    launcher = options.mpiexec or os.environ.get("HCOLL_MPIEXEC") or launch.launcher_of(options.mpi)
    if options.on:
        cluster = _cluster_of(options, ranks_per_node(held.ppn, nodes), nodes)
        room, folder = None, folder_of(process)
        if not os.path.exists(f"/proc/{process}/root{os.path.abspath(program)}"):
            raise Mistake(f"the nodes of '{options.on}' do not see {program}: they have a /tmp of their own; "
                          "up --keep PATH shows them more")
    else:
        cluster = _cluster_of(options, counts, len(counts))
    settings = _settings(options)
    settings["LD_PRELOAD"] = ":".join(_preloads(options, cluster))
    cores = launch.core_of_each_rank(places, cluster)
    if cores:
        settings["HCOLL_CLUSTER_CORES"] = cores
    job = launch.Job(options.mpi, launcher, places, settings, command,
                     f"job.{os.getpid()}.{time.time_ns()}")
    if not options.on:
        room = _make_room(options, cluster, _kept(options, program))
        folder = room.folder
    try:
        return _run_job(options, cluster, folder, job)
    finally:
        if room is not None:
            room.end()


def _run_job(options, cluster, folder, job):
    names = [name_of(node) for node in range(cluster.nodes)]
    job.write_files(folder)
    before = [remote_shell.ask(folder, name, {"counters": True}) for name in names]
    try:
        with remote_shell.connect(folder, names[0]) as channel:
            remote_shell.send(channel, {"run": job.command, "folder": os.getcwd(), "job": job.name,
                                        "environment": {**os.environ, **job.environment}}, (0, 1, 2))
            status = _wait_for(channel, options.timeout, job)
        after = [remote_shell.ask(folder, name, {"counters": True}) for name in names]
    finally:
        with contextlib.suppress(OSError):  # the cluster may have ended first
            for name in names:
                remote_shell.ask(folder, name, {"end": job.name})
        shutil.rmtree(os.path.join(folder, job.name), ignore_errors=True)
    rows = report.differences(names, before, after)
    if options.bytes_json:
        with open(options.bytes_json, "w", encoding="utf-8") as file:
            json.dump({"nodes": rows}, file, indent=1)
            file.write("\n")
    if not options.quiet:
        print(report.table(rows), file=sys.stderr)
    return status


def _wait_for(channel, seconds, job):
    channel.settimeout(seconds or None)
    try:
        answer, _ = remote_shell.receive(channel)
    except TimeoutError:
        print(f"scripts/cluster: HANG: no end after {seconds:g} s: {' '.join(job.command)}", file=sys.stderr)
        print_stacks(job.name)
        return 124
    except ConnectionError:
        answer = None
    except KeyboardInterrupt:
        # A terminal has told the launcher too, which needs a moment to end its ranks.
        channel.settimeout(1)
        try:
            remote_shell.receive(channel)
        except (TimeoutError, KeyboardInterrupt):
            pass
        return 130
    if answer is None:
        raise Lacking("the cluster was ended while the program was running")
    return answer["status"]


def main(words):
    options = _parser().parse_args(words)
    # An end by TERM or HUP is an orderly one as well.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signal_number, frame: sys.exit(128 + signal_number))
    try:
        if options.command == "run":
            return _run(options)
        if options.command == "up":
            return _up(options)
        if options.command == "hold":
            return _hold(options)
        if options.command == "rate":
            return _rate(options)
        return _down(options) if options.command == "down" else _status()
    except Mistake as error:
        print(f"scripts/cluster: {error}", file=sys.stderr)
        return 2
    except Lacking as error:
        print(f"scripts/cluster: no cluster can be made here: {error}", file=sys.stderr)
        return 77
    except KeyboardInterrupt:
        return 130
