#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of collectives (campaign.cpp) under random settings, layouts, tables and learning: every result is compared with the MPI library's. Half of
them with LIBHCOLL_CHECK, half with LIBHCOLL_VERIFY. A program that fails is shrunk, by itself, to the fewest collectives, ranks and settings with which it
still fails.

  campaign.py FLAVOUR --build DIR [--first NUMBER] [--programs N | --seconds S | --collectives N] [--ledger FILE]
  campaign.py FLAVOUR --build DIR --self-test   a defect on purpose is found and shrunk
  campaign.py --table FILE                      what a ledger has counted, for docs/results/campaign.md

The ledger counts what ran, of rank 0: collectives by algorithm and family of layouts, from each program's report; those of the first communicator's layout and of its parts. With one, programs run what it has seen least of, and most of them mostly the collective that lacks most.
For hours: campaign.py openmpi --build build --collectives 10000000 --ledger ledger.json
"""

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

import random_settings
from random_settings import SOURCE, draw_algorithm

LEAST = 10_000  # of each algorithm and family that a campaign is to see
PATIENCE = 1200 if "HCOLL_TEST_UNDER" in os.environ else 120  # under valgrind all takes long
TOO_SLOW = "an end that came while a hang was being looked at"  # on a machine that has other work
# Layouts that seat eight ranks or more, each with the ranks from which on it is what it is called.
FAMILIES = {"one node": [("1x12", 1), ("auto", 1)], "a rank per node": [("8x1", 2)], "several ranks per node": [("4x2", 3), ("2x4", 5), ("3x4", 5)],
            "sockets": [("2x2x2", 3), ("2x2x3", 4), ("1x2x4", 5)], "cyclic or in reverse": [("4x2:cyclic", 3), ("2x8:cyclic", 3), ("3x4:reverse", 3)],
            "uneven": [("0,1,1,1,1,1,2,2", 3), ("0,0,0,1,1,2,2,2", 4), ("1,0,0,1,2,0,0,2", 3), ("0,0,0,0,0,0,0,1", 8)]}
BLOCKING = {**random_settings.SETTINGS, "gather": "LIBHCOLL_GATHER", "scatter": "LIBHCOLL_SCATTER", "allgather": "LIBHCOLL_ALLGATHER"}
BACKGROUND = {"i" + collective: setting for collective, setting in random_settings.NONBLOCKING.items()}
BLOCKING_OF = {"i" + collective: collective for collective in random_settings.NONBLOCKING}


def algorithms_of(build):
    return {collective: dict(each) for collective, each in random_settings.known_algorithms(build, BLOCKING).items()}


def blocking_of(collective):
    """Of a collective as reports have it, "ireduce" or "reduce_init"."""
    collective = collective.removesuffix("_init")
    return BLOCKING_OF.get(collective, collective)


class Ledger:
    """What has run, by flavour; kept in a file where there is one."""

    def __init__(self, path, flavour):
        self.path = path
        self.all = {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.all = json.load(file)
        self.own = self.all.setdefault(flavour, {"programs": 0, "collectives": 0, "by the library": 0, "checked": 0, "verified": 0, "seconds": 0, "firsts": [], "failed": [], "cells": {}})

    def count(self, collective, algorithm, family):
        return self.own["cells"].get(f"{collective} {algorithm} / {family}", 0)

    def lacking(self, algorithms, family):
        """Of each collective, how many calls are to come."""
        lacks = {}
        kinds = {kind.split(" ")[0] for kind in self.own["cells"] if kind.split(" ")[0].endswith("_init")}  # where there are any
        for collective in [*BLOCKING, *BACKGROUND, *sorted(kinds)]:
            names = list(algorithms[blocking_of(collective)])
            if collective in BLOCKING and family != "a rank per node":
                names.append("shared")
            lacks[collective] = sum(max(LEAST - self.count(collective, name, family), 0) for name in names)
        return lacks

    def add(self, job, run):
        self.own["programs"] += 1
        self.own["collectives"] += run.collectives
        self.own["seconds"] += run.seconds
        every = int(job.settings["LIBHCOLL_VERIFY"])
        for row in run.rows:
            algorithm = row["ran"].split(":")[0]
            if algorithm == "vendor":
                continue
            self.own["by the library"] += row["calls"]
            self.own["checked"] += row["calls"] if job.settings["LIBHCOLL_CHECK"] != "0" else 0
            self.own["verified"] += row["calls"] // every if every != 0 else 0
            cell = f"{row['collective']} {algorithm} / {job.family}"
            self.own["cells"][cell] = self.own["cells"].get(cell, 0) + row["calls"]

    def save(self):
        if not self.path:
            return
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.all, file, indent=1, sort_keys=True)
        os.replace(self.path + ".new", self.path)


class Job:
    """One program and its settings. The same for the same number, flavour, algorithms and ledger."""

    without = ""  # of all: what this MPI library has wrong by itself

    def __init__(self, number, flavour, algorithms, ledger):
        draw = self.draw = random.Random(f"campaign {number}")
        self.number = number
        self.preload = []
        self.is_alone = False  # with the MPI library
        self.table = None
        self.ranks = draw.choice([2, 2, 3, 3, 3, 4, 4, 4, draw.choice([1, 5, 6, 7, 8])])
        self.options = {}
        self.flags = []
        possible = [family for family, layouts in FAMILIES.items() if layouts[0][1] <= self.ranks]
        # What has been seen least of, and whatever else.
        self.family = draw.choice(possible)
        if draw.random() < 0.7:
            self.family = min(possible, key=lambda family: sum(min(ledger.count(collective, name, family), LEAST) for collective in BLOCKING for name in algorithms[collective]))
        self.mostly = None
        if ledger.path and self.ranks > 1 and draw.random() < 0.8:
            lacking = {family: ledger.lacking(algorithms, family) for family in possible}
            self.family = max(possible, key=lambda family: sum(lacking[family].values()))
            if sum(lacking[self.family].values()) != 0:
                self.mostly = max(lacking[self.family], key=lacking[self.family].get)
                self.options["--mostly"] = self.mostly
        self.settings = {"LIBHCOLL_TOPOLOGY": draw.choice([layout for layout, least in FAMILIES[self.family] if least <= self.ranks])}
        learns = draw.random() < 0.25 and self.mostly is None
        for collective, setting in BLOCKING.items():
            self.settings[setting] = "auto" if learns else self.algorithm(collective, collective, algorithms, ledger)
        for collective, setting in BACKGROUND.items():
            counted = self.mostly if self.mostly == blocking_of(collective) + "_init" else collective
            self.settings[setting] = self.algorithm(counted, blocking_of(collective), algorithms, ledger)
        if learns:
            self.settings.update({"LIBHCOLL_TUNE": draw.choice(["learn", "auto"]), "LIBHCOLL_BITS": draw.choice(["fixed", "free"]),
                                  "LIBHCOLL_RULES": draw.choice(["model", "measured"])})
            if draw.random() < 0.5:
                self.table = self.draw_table(algorithms)
        self.settings["LIBHCOLL_SHARED_BUFFER"] = draw.choice(random_settings.BUFFERS)
        self.settings["LIBHCOLL_SHARED_MEMORY"] = draw.choice(["1", "1", "1", "0"])
        self.settings["LIBHCOLL_SETUP_CALLS"] = draw.choice(["0", "1", "3", "auto"])
        self.settings["LIBHCOLL_PROGRESS"] = draw.choice(["thread", "calls", "calls", "auto"])
        self.settings["LIBHCOLL_COMMUNICATORS"] = draw.choice(["64", "64", "4"])
        self.settings["LIBHCOLL_CHECK"] = draw.choice(["0", "1"])
        self.settings["LIBHCOLL_VERIFY"] = draw.choice(["0", "0", "1", "7"])
        self.options["--max-bytes"] = draw.choice([2_000, 20_000, 20_000, 100_000, 1_000_000])
        self.options["--steps"] = {2_000: 6000, 20_000: 3000, 100_000: 1000, 1_000_000: 200}[self.options["--max-bytes"]]
        self.options["--late"] = draw.choice([0, 0, 200])
        self.options["--thread-level"] = draw.choice([0, 1, 3])
        self.options["--threads"] = draw.choice([1, 1, 2, 3]) if self.options["--thread-level"] == 3 else 1
        if self.mostly is not None:
            self.dwell()
        if "threads" in self.without:
            self.settings["LIBHCOLL_PROGRESS"] = "calls"
            self.options.update({"--thread-level": 0, "--threads": 1})
        # They share cores.
        if self.options["--threads"] > 1 or self.ranks > 4:
            self.options["--steps"] //= 5
        # There blocking collectives on others move nothing (docs/architecture.md).
        if self.settings["LIBHCOLL_PROGRESS"] == "calls" and flavour == "mpich":
            self.flags.append("--plain")
        # MPICH 4.0.2's launcher starts none.
        self.options["--spawn"] = draw.choice([0] * 7 + [2]) if flavour != "mpich" and "spawn" not in self.without and self.mostly is None else 0

    def dwell(self):
        """Nothing that leaves to the MPI library what is lacking, and nobody is late; short messages, so many."""
        self.options["--max-bytes"] = self.draw.choice([2_000, 2_000, 2_000, 20_000, 20_000, 100_000])
        self.options["--steps"] = {2_000: 18_000, 20_000: 6_000, 100_000: 1000}[self.options["--max-bytes"]]
        if self.mostly.endswith("_init"):
            self.options["--steps"] //= 6  # each is started many times
        self.options.update({"--late": 0, "--threads": 1})
        self.settings.update({"LIBHCOLL_SETUP_CALLS": self.draw.choice(["0", "1"]), "LIBHCOLL_COMMUNICATORS": "64"})
        self.settings["LIBHCOLL_PROGRESS"] = self.draw.choice(["calls", "calls", "calls", "thread"])  # threads share cores
        if self.settings.get(BLOCKING.get(self.mostly), "").startswith("shared"):
            self.settings["LIBHCOLL_SHARED_MEMORY"] = "1"
            if self.family != "one node" and not (self.family == "sockets" and self.ranks < 5):
                self.flags.append("--parts")  # which may be of one node

    def algorithm(self, collective, of, algorithms, ledger):
        names = list(algorithms[of])
        in_background = collective != of
        is_aimed_at = collective == self.mostly
        # It runs on communicators of one node, which are parts of the others.
        lacks_shared = self.family != "a rank per node" and ledger.count(collective, "shared", self.family) < LEAST
        if self.draw.random() < (0.5 if lacks_shared and is_aimed_at else 0.3 if lacks_shared else 0.1) and not in_background:
            return "shared" + ("" if of == "barrier" or self.draw.random() < 0.5 else ":single_copy=" + self.draw.choice(random_settings.SINGLE_COPIES))
        name = min(names, key=lambda each: (ledger.count(collective, each, self.family), self.draw.random())) if is_aimed_at or self.draw.random() < 0.7 else self.draw.choice(names)
        return self.with_parameters(name, algorithms[of][name], of != "barrier", in_background)

    def with_parameters(self, name, parameters, has_message, in_background):
        while True:
            text = draw_algorithm(self.draw, [(name, parameters)], has_message, in_background)
            if text.split(":")[0] == name:
                return text

    def draw_table(self, algorithms):
        entries = []
        for collective in BLOCKING:
            for nodes in (1, 2, 3, 4, 8):
                edges = [0, *sorted(self.draw.sample([64, 1000, 5000, 40_000], 2)), None]
                for smallest, largest in zip(edges, edges[1:]):
                    name = self.draw.choice(list(algorithms[collective]))
                    entries.append({"collective": collective, "nodes": nodes, "ranks_per_node": [1, None], "bytes": [smallest, largest],
                                    "choice": self.draw.choice(["vendor", self.with_parameters(name, algorithms[collective][name], collective != "barrier", False)])})
        return {"format": "libhcoll table", "version": 1, "entries": entries}

    def topology(self):
        """For these ranks: where each has a seat, nodes are numbered without gaps."""
        layout = self.settings["LIBHCOLL_TOPOLOGY"]
        if "," not in layout:
            return layout
        seats = layout.split(",")[:self.ranks]
        numbers = sorted(set(seats))
        return ",".join(str(numbers.index(seat)) for seat in seats)

    def command(self, flavour, build, folder):
        command = [os.path.join(SOURCE, "scripts", "mpirun-test"), flavour, str(self.ranks)]
        preload = ":".join([*self.preload, os.path.join(build, "lib", "libhcoll.so")])
        settings = {"LD_PRELOAD": preload, **self.settings, "HCOLL_TEST_SEED": self.number}
        if folder is not None:
            settings["LIBHCOLL_REPORT"] = os.path.join(folder, "report.json")
        if "LIBHCOLL_TOPOLOGY" in settings:
            settings["LIBHCOLL_TOPOLOGY"] = self.topology()
        spawning = {}
        if self.options.get("--spawn", 0) != 0:
            spawning["OMPI_MCA_btl"] = "self,tcp"  # processes of two jobs share no memory
        if self.is_alone:
            settings = {"HCOLL_TEST_SEED": self.number}
        elif self.table is not None:
            settings["LIBHCOLL_TABLE"] = os.path.join(folder, "table.json")
            with open(settings["LIBHCOLL_TABLE"], "w", encoding="utf-8") as file:
                json.dump(self.table, file)
        for name, value in {**settings, **spawning}.items():
            command += ["-e", f"{name}={value}"]
        command += ["--", os.path.join(build, "test", "bin", f"campaign.{flavour}")]
        for name, value in self.options.items():
            command += [name, str(value)]
        if self.without:
            command += ["--without", self.without]
        return command + self.flags


class Run:
    """What came of one run of a job."""

    def __init__(self, job, flavour, build, patience):
        with tempfile.TemporaryDirectory() as folder:
            environment = random_settings.environment_of_jobs(build, patience)
            self.command = shlex.join(job.command(flavour, build, folder))
            start = time.monotonic()
            done = subprocess.run(shlex.split(self.command), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  check=False)
            self.seconds = time.monotonic() - start
            self.output = done.stdout
            ended = re.search(r"^ok campaign: \d+ ranks, (\d+) collectives as the MPI library's,", self.output, re.MULTILINE)
            self.collectives = int(ended.group(1)) if ended else 0
            self.kind = self.judge(done.returncode, ended)
            self.rows = []
            report = os.path.join(folder, "report.json")
            if not self.kind and not job.is_alone:
                if os.path.exists(report):
                    with open(report, encoding="utf-8") as file:
                        self.rows = json.load(file)["collectives"]
                # Else all could pass without the library, or beside itself.
                calls = sum(row["calls"] for row in self.rows if not row["collective"].endswith("_init"))
                self.kind = "the library has no report" if not self.rows else "the library has more calls than the program" if calls > self.collectives else ""
            self.fails = self.kind != ""

    def judge(self, status, ended):
        """What kind of failure it is, "" where it is none."""
        if "HANG" in self.output:
            return "a hang" if ended is None else TOO_SLOW
        if said := random_settings.SAID.search(self.output):
            return f"LIBHCOLL_{said.group(1)}"
        # So a check ends that fails; launchers lose its text now and then.
        if "FAIL campaign" in self.output or status == 1:
            return "a wrong result"
        return "" if status == 0 and ended is not None else f"an end with {status}"


class Shrinking:
    """Leaves out of a job that fails all that it fails without."""

    def __init__(self, job, kind, flavour, build, seconds):
        self.job = job
        self.kind = kind  # another failure is another one's
        self.flavour = flavour
        self.build = build
        self.end = time.monotonic() + seconds
        self.tries = 1
        self.runs = 0
        self.last = None

    def still_fails(self):
        for _ in range(self.tries):
            if time.monotonic() > self.end:
                return False
            self.runs += 1
            run = Run(self.job, self.flavour, self.build, 20)
            if run.kind == self.kind:
                self.last = run
                return True
        return False

    def with_change(self, values, name, value):
        """Keeps the change where the job fails with it."""
        absent = object()
        before = values.get(name, absent)
        if value is None and before is absent or before == value:
            return True
        if value is None:
            del values[name]
        else:
            values[name] = value
        if self.still_fails():
            return True
        if before is absent:
            del values[name]
        else:
            values[name] = before
        return False

    def keep(self, ranges):
        return self.with_change(self.job.options, "--keep", ",".join(f"{first}-{last}" if first != last else str(first) for first, last in ranges))

    def shrink(self):
        """The run of what is left; None where the job does not fail again."""
        self.tries = 3
        if not self.still_fails():
            return None
        # One that fails now and then needs more looks.
        self.tries = 1 if all(self.still_fails() for _ in range(2)) else 4
        for name, value in (("--spawn", None), ("--threads", 1), ("--late", None), ("--thread-level", 0)):
            self.with_change(self.job.options, name, value)
        self.shrink_collectives()
        if self.job.table is not None:
            self.with_attribute("table", None)
        for name in list(self.job.settings):
            self.with_change(self.job.settings, name, None)
        any(self.with_attribute("ranks", ranks) for ranks in range(1, self.job.ranks))
        for most in (16, 1000, 10_000):
            if self.with_change(self.job.options, "--max-bytes", most):
                break
        return self.last

    def with_attribute(self, name, value):
        before = getattr(self.job, name)
        setattr(self.job, name, value)
        if self.still_fails():
            return True
        setattr(self.job, name, before)
        return False

    def shrink_collectives(self):
        told = re.search(r"collective (\d+): ", self.last.output)
        if told and self.keep([(int(told.group(1)),) * 2]):
            return
        # The shortest beginning that fails, then the shortest end of that, then what lies between.
        highest = 64 * int(self.job.options["--steps"])
        low, high = 0, int(told.group(1)) if told and self.keep([(0, int(told.group(1)))]) else highest
        while low < high and self.last is not None and time.monotonic() < self.end:
            middle = (low + high) // 2
            if self.keep([(0, middle)]):
                high = middle
            else:
                low = middle + 1
        first, last = 0, high
        while first < last and time.monotonic() < self.end:
            middle = (first + last + 1) // 2
            if self.keep([(middle, high)]):
                first = middle
            else:
                last = middle - 1
        pieces = [(first, high)]
        while time.monotonic() < self.end:
            halves = []
            for low, high in pieces:
                middle = (low + high) // 2
                halves += [(low, middle), (middle + 1, high)] if low < high else [(low, high)]
            if len(halves) == len(pieces) or len(halves) > 64:
                break
            for half in list(halves):
                fewer = [each for each in halves if each != half]
                if fewer and self.keep(fewer):
                    halves = fewer
            pieces = halves


def tell_failure(job, run, flavour, build, seconds):
    # Its table stays there.
    folder = None if job.table is None else tempfile.mkdtemp(prefix=f"hcoll-campaign-{job.number}-")

    def replay():
        environment = random_settings.environment_of_jobs(build, PATIENCE)
        known = [f"{name}={environment[name]}" for name in ("HCOLL_TEST_IDLE_YIELD", "HCOLL_MPIEXEC", "HCOLL_TEST_TIMEOUT") if name in environment]
        return shlex.join(["env", *known, *job.command(flavour, build, folder)])

    print(f"program {job.number} fails: {run.kind}\n{replay()}\n{run.output[-6000:]}", flush=True)
    shrinking = Shrinking(job, run.kind, flavour, build, seconds)
    left = shrinking.shrink()
    if left is None:
        print(f"It does not fail so again in {shrinking.runs} runs.", flush=True)
        return job, None
    print(f"Shrunk in {shrinking.runs} runs to\n{replay()}\n{left.output[-6000:]}", flush=True)
    if not job.is_alone:
        job.is_alone = True
        alone = [Run(job, flavour, build, 30).fails for _ in range(3)]
        job.is_alone = False
        print(f"Without the library it fails in {sum(alone)} of {len(alone)} runs.", flush=True)
    return job, left


def campaign(arguments, build):
    algorithms = algorithms_of(build)
    ledger = Ledger(arguments.ledger, arguments.flavour)
    first = arguments.first if arguments.first is not None else int(time.time()) % 1_000_000 * 1000
    print(f"campaign.py: programs from {first} on", flush=True)
    ledger.own["firsts"].append(first)
    start = time.monotonic()
    programs = collectives = 0
    failed = []

    def goes_on():
        if arguments.programs is not None:
            return programs < arguments.programs
        if arguments.collectives is not None:
            return ledger.own["collectives"] < arguments.collectives
        return time.monotonic() - start < arguments.seconds

    while goes_on() and len(failed) < arguments.most_failures:
        job = Job(first + programs, arguments.flavour, algorithms, ledger)
        job.is_alone = arguments.alone
        run = Run(job, arguments.flavour, build, PATIENCE)
        programs += 1
        if run.kind == TOO_SLOW:
            print(f"program {job.number} took {run.seconds:.0f} s, and ended", flush=True)
            ledger.own["too slow"] = ledger.own.get("too slow", 0) + 1
        elif run.fails:
            failed.append(job.number)
            ledger.own["failed"].append(job.number)
            ledger.save()
            tell_failure(job, run, arguments.flavour, build, arguments.shrink_seconds)
        else:
            collectives += run.collectives
            ledger.add(job, run)
        if programs % 20 == 0:
            ledger.save()
    ledger.save()
    print(f"{programs} programs from {first} on, {collectives} collectives as the MPI library's, {len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed or collectives == 0 else 0


def self_test(arguments, build):
    """A library between the program and this one spoils each Allreduce of sums of doubles on rank 1."""
    algorithms = algorithms_of(build)
    number = 4
    while True:
        job = Job(number, arguments.flavour, algorithms, Ledger(None, arguments.flavour))
        if job.ranks >= 3 and job.options["--max-bytes"] == 20_000 and job.options["--threads"] == 1:
            break
        number += 1
    job.preload = [os.path.join(build, "test", "lib", f"libspoiled_allreduce.{arguments.flavour}.so")]
    job.settings["LIBHCOLL_VERIFY"] = "0"
    run = Run(job, arguments.flavour, build, PATIENCE)
    if not run.fails:
        print(f"the defect was not found\n{run.output}")
        return 1
    job, left = tell_failure(job, run, arguments.flavour, build, 300)
    is_small = left is not None and job.options.get("--keep", "-").isdigit() and not job.settings and job.ranks <= 3
    print("It is shrunk to one collective without any setting" if is_small else "It is not shrunk to one collective without any setting")
    if not is_small:
        return 1
    # Launchers lose what an aborting rank says, now and then.
    outputs = [left.output]
    while "FAIL campaign" not in outputs[-1] and len(outputs) < 10:
        outputs.append(Run(job, arguments.flavour, build, PATIENCE).output)
    if "Allreduce" in outputs[-1] and "MPI_SUM" in outputs[-1]:
        return 0
    print(f"the last run says another thing\n{outputs[-1]}")
    return 1


def table_of(path):
    with open(path, encoding="utf-8") as file:
        ledger = json.load(file)
    lines = ["| | " + " | ".join(ledger) + " |", "|---|" + "---:|" * len(ledger)]
    for name in ("programs", "collectives", "by the library", "checked", "verified"):
        lines.append(f"| {name} | " + " | ".join(f"{of[name]:,}" for of in ledger.values()) + " |")
    for flavour, of in ledger.items():
        cells = {}
        for cell, count in of["cells"].items():
            what, family = cell.split(" / ")
            cells.setdefault(what, {})[family] = count
        lines += ["", f"**{flavour}**", "", "| collective, algorithm | " + " | ".join(FAMILIES) + " |", "|---|" + "---:|" * len(FAMILIES)]
        for what in sorted(cells):
            lines.append(f"| {what} | " + " | ".join(f"{cells[what].get(family, 0):,}" for family in FAMILIES) + " |")
    print("\n".join(lines))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour", nargs="?")
    parser.add_argument("--build")
    parser.add_argument("--first", type=int, default=None, help="the first program (default: any)")
    parser.add_argument("--programs", type=int, default=None)
    parser.add_argument("--collectives", type=int, default=None, help="until the ledger has so many")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ledger", default=None)
    parser.add_argument("--shrink-seconds", type=float, default=300)
    parser.add_argument("--most-failures", type=int, default=5)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without the library: what the MPI library itself does wrong")
    parser.add_argument("--without", default="", metavar="LIST", help="what programs leave out, as campaign.cpp has it")
    parser.add_argument("--table", default=None, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.alone and arguments.ledger:
        parser.error("a ledger counts what the library runs")
    if arguments.table:
        return table_of(arguments.table)
    if not arguments.flavour or not arguments.build:
        parser.error("FLAVOUR and --build DIR are needed")
    build = os.path.abspath(arguments.build)
    Job.without = arguments.without
    return self_test(arguments, build) if arguments.self_test else campaign(arguments, build)


if __name__ == "__main__":
    sys.exit(main())
