# SPDX-License-Identifier: BSD-3-Clause
"""hcoll-tune on a simulated machine: one process for each layout, whose tables become one."""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import threading
import time

from . import runs
from .machines import Machine, Mistake, machine_file, machine_names

EPILOG = """examples:
  {name} tune --machine stampede2 --nodes 1,2,4,8,16,32 --ranks-per-node 48 --output stampede2.json
  {name} tune --machine shaheen2 --nodes 64 --ranks-per-node 12 --collectives bcast --compare --report methods.json

All options that are not named here are hcoll-tune's: --sizes, --method, --heuristics, --algorithms, --vary.
The table is used by {name} --algorithm auto --table FILE, or LIBHCOLL_TABLE=FILE. All about it: docs/tuning.md."""

INCOMPLETE = 4  # exit status of hcoll-simulate-tune: an interrupt, or the time was over


def _numbers(text, name):
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise Mistake(f"{name} takes numbers with commas between, not '{text}'") from None
    if numbers[0] < 1:
        raise Mistake(f"{name} takes numbers from 1 on")
    return numbers


def _seconds(text):
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smh]?)", text)
    if not found or float(found[1]) == 0:
        raise Mistake("--time: write 90, 10m or 2h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def _parser(name, build):
    parser = argparse.ArgumentParser(prog=name + " tune", description=__doc__, epilog=EPILOG.replace("{name}", name),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", required=True, metavar="NAME", help=f"{', '.join(machine_names())}, or a file (a name with a /)")
    parser.add_argument("--nodes", default="1,2,4,8", metavar="NUMBERS", help="(default: 1,2,4,8)")
    parser.add_argument("--ranks-per-node", default="", metavar="NUMBERS", help="(default: as many as the machine has)")
    parser.add_argument("--collectives", default="bcast,reduce,allreduce,barrier", metavar="NAMES", help="(default: bcast,reduce,allreduce,barrier)")
    parser.add_argument("--vendor", default="ompi", metavar="NAME", help="whose choice is the MPI library's: ompi, mvapich2 or impi")
    parser.add_argument("--output", default="libhcoll-table.json", metavar="FILE", help="the table to write")
    parser.add_argument("--report", default="", metavar="FILE", help="write all that was measured and predicted there, as JSON")
    parser.add_argument("--compare", action="store_true", help="both methods, with and without heuristics")
    parser.add_argument("--resume", action="store_true", help="go on with what an earlier run has left")
    parser.add_argument("--explain", action="store_true", help="say what would be simulated and what is left out, and simulate nothing")
    parser.add_argument("--time", default="", metavar="TIME", help="end after so long, with what there is by then: 90, 10m, 2h")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="layouts that are simulated at once (default: 1)")
    parser.add_argument("--build", default=build, metavar="DIR", help="where the library was built")
    return parser


class Layout:
    """One process, and the files in which it keeps what it has found."""

    def __init__(self, folder, nodes, ranks_per_node):
        self.nodes, self.ranks_per_node = nodes, ranks_per_node
        name = os.path.join(folder, f"{nodes}x{ranks_per_node}")
        self.table, self.report, self.known = name + ".json", name + "-report.json", name + "-known.txt"

    def run(self, binary, machine, options, passed_on, until, stop):
        """Its exit status, and the last line of what it had to say against it."""
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                return INCOMPLETE, ""
            passed_on = [*passed_on, "--time", f"{left:f}"]
        line = [binary, "--machine", machine, "--nodes", str(self.nodes), "--ranks-per-node", str(self.ranks_per_node),
                "--vendor", options.vendor, "--collectives", options.collectives, "--output", self.table, "--known", self.known, *passed_on]
        if options.report:
            line += ["--report", self.report]
        line += ["--" + flag for flag in ("compare", "resume", "explain") if getattr(options, flag)]
        process = stop.start(line)
        if process is None:
            return INCOMPLETE, ""
        errors = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
        reader.start()
        for text in process.stdout:
            print(text, end="", flush=True)
        process.wait()
        stop.ended(process)
        reader.join()
        sentences = [text.strip() for text in errors if text.strip() and not text.startswith("Run with --help")]
        return process.returncode, sentences[-1] if sentences else ""


def _load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _write(data, path):
    try:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)
    except OSError as problem:
        raise Mistake(f"{path} cannot be written: {problem.strerror}") from None


def _merge(paths, lists):
    """The documents as one: the first one, with the lists of all."""
    documents = [_load(path) for path in paths if os.path.exists(path)]
    if not documents:
        return None
    return {**documents[0], **{name: [entry for document in documents for entry in document.get(name, [])]
                               for name in lists if name in documents[0]}}


def _free_name(path):
    """The first of path.old, path.old2, ... that is free."""
    name, number = path + ".old", 2
    while os.path.exists(name):
        name, number = f"{path}.old{number}", number + 1
    return name


def _mistake_of(folder, before, subject):
    return Mistake(f"{folder} holds what was simulated of {before}, and this is {subject}: name another --output")


class Parts:
    """The folder beside the output in which each layout's process keeps what it has found, of one machine and vendor."""

    def __init__(self, output, subject):
        self.output, self.subject = output, subject
        self.folder = output + ".parts"
        self.note = os.path.join(self.folder, "subject.txt")

    def _layouts(self, ending):
        """Those of which a file is there: (nodes, ranks of each)."""
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        found = (re.fullmatch(r"(\d+)x(\d+)" + re.escape(ending), name) for name in names)
        return sorted((int(each[1]), int(each[2])) for each in found if each)

    def tables(self):
        return [os.path.join(self.folder, f"{nodes}x{ranks}.json") for nodes, ranks in self._layouts(".json")]

    def simulated(self):
        return self._layouts("-known.txt")

    def open(self, is_resumed, table_subject):
        """Anew: what is there is kept under another name. Resumed: it is gone on with, and what the output has besides, too."""
        try:
            if not is_resumed and os.path.isdir(self.folder) and not self.remove_unused():
                os.replace(self.folder, _free_name(self.folder))
            os.makedirs(self.folder, exist_ok=True)
            if not os.path.exists(self.note):
                with open(self.note, "w", encoding="utf-8") as file:
                    file.write(self.subject)
            with open(self.note, encoding="utf-8") as file:
                before = file.read()
            if before != self.subject:
                raise _mistake_of(self.folder, before, self.subject)
            if is_resumed and os.path.isfile(self.output):
                self._take_over(table_subject)
        except OSError as problem:
            raise Mistake(f"{self.folder} cannot be written: {problem.strerror}") from None

    def _take_over(self, table_subject):
        try:
            table = _load(self.output)
            before = (table["cluster"], table["mpi_version"])
            entries = {}
            for entry in table["entries"]:
                entries.setdefault((entry["nodes"], entry["ranks_per_node"]), []).append(entry)
        except (ValueError, KeyError, TypeError):
            self.remove_unused()
            raise Mistake(f"{self.output} is no table of scripts/simulate tune; name another --output") from None
        if before != table_subject:
            self.remove_unused()
            raise _mistake_of(self.output, ", ".join(map(str, before)), ", ".join(table_subject))
        for (nodes, ranks), of_layout in entries.items():
            path = os.path.join(self.folder, f"{nodes}x{ranks}.json")
            if not os.path.exists(path):
                _write({**table, "entries": of_layout}, path)

    def remove_unused(self):
        """Where nothing was found. Is it gone?"""
        if os.path.isdir(self.folder) and os.listdir(self.folder) in ([], ["subject.txt"]):
            shutil.rmtree(self.folder, ignore_errors=True)
        return not os.path.isdir(self.folder)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def tune(options, passed_on, name):
    path = machine_file(options.machine)
    machine = Machine(path)
    binary = runs.program(options.build, "hcoll-simulate-tune")
    if options.jobs < 1:
        raise Mistake("--jobs is a number from 1 on")
    ranks = _numbers(options.ranks_per_node, "--ranks-per-node") if options.ranks_per_node else [machine.ranks_per_node]
    until = time.monotonic() + _seconds(options.time) if options.time else None
    with open(path, "rb") as file:
        content = hashlib.sha256(file.read()).hexdigest()[:16]
    parts = Parts(options.output, f"{machine.name} ({content}), and {options.vendor} for the vendor's")
    layouts = [Layout(parts.folder, nodes, each) for nodes in _numbers(options.nodes, "--nodes") for each in ranks if nodes * each > 1]
    if not layouts:
        raise Mistake("one rank has no collectives to tune")
    if not options.explain:
        parts.open(options.resume, (machine.name, f"simulated, {options.vendor} for the vendor's"))
    done = runs.for_each(layouts, options.jobs, lambda layout, stop: layout.run(binary, path, options, passed_on, until, stop))
    for status, said in done:
        if status not in (0, INCOMPLETE):
            sentence = said.removeprefix("hcoll-simulate-tune: ") or f"a simulation ended with status {status}"
            raise Mistake(sentence if parts.remove_unused() else f"{sentence}; what is there is in {parts.folder}, and --resume goes on")
    if options.explain:
        return 0
    if not options.compare and (table := _merge(parts.tables(), ["entries"])) is not None:
        table["command"] = " ".join([name, *sys.argv[1:]])
        if not options.resume and os.path.isfile(options.output):
            os.replace(options.output, _free_name(options.output))
        _write(table, options.output)
    if options.report and (report := _merge([layout.report for layout in layouts], ["layouts", "compared"])) is not None:
        _write(report, options.report)
    if any(status != 0 for status, _ in done):
        print("not all points are there; --resume goes on")
        return 1
    # Layouts that another run has not done with may be there.
    if set(parts.simulated()) <= {(layout.nodes, layout.ranks_per_node) for layout in layouts}:
        parts.remove()
    return 0


def main(arguments, name, build):
    options, passed_on = _parser(name, build).parse_known_args(arguments)
    return tune(options, passed_on, name)
