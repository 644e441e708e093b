"""hcoll-tune on a simulated machine: one process for each layout, whose tables become one."""

import argparse
import json
import os
import re
import shutil
import sys
import threading
import time

from . import runs
from .machines import SOURCE, Machine, Mistake, machine_file, machine_names

EPILOG = """examples:
  scripts/simulate tune --machine stampede2 --nodes 1,2,4,8,16,32 --ranks-per-node 48 --output stampede2.json
  scripts/simulate tune --machine shaheen2 --nodes 64 --ranks-per-node 12 --collectives bcast --compare --report methods.json

All options that are not named here are hcoll-tune's: --sizes, --method, --heuristics, --algorithms, --vary.
The table is used by scripts/simulate --algorithm auto --table FILE, or LIBHCOLL_TABLE=FILE. All about it: docs/tuning.md."""

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


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/simulate tune", description=__doc__, epilog=EPILOG,
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
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIR", help="where the library was built")
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


def _merge(layouts, attribute, lists):
    """The documents of all layouts as one: the first one, with the lists of all."""
    documents = [_load(getattr(layout, attribute)) for layout in layouts if os.path.exists(getattr(layout, attribute))]
    if not documents:
        return None
    return {**documents[0], **{name: [entry for document in documents for entry in document.get(name, [])]
                               for name in lists if name in documents[0]}}


def _open(folder, subject):
    """Of one machine and vendor: times of two compare nothing."""
    note = os.path.join(folder, "subject.txt")
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(note):
            with open(note, "w", encoding="utf-8") as file:
                file.write(subject)
        with open(note, encoding="utf-8") as file:
            before = file.read()
    except OSError as problem:
        raise Mistake(f"{folder} cannot be written: {problem.strerror}") from None
    if before != subject:
        raise Mistake(f"{folder} holds what was simulated of {before}, and this is {subject}: name another --output")


def _remove_unused(folder):
    """Where nothing was found. Is it gone?"""
    if os.path.isdir(folder) and os.listdir(folder) in ([], ["subject.txt"]):
        shutil.rmtree(folder, ignore_errors=True)
    return not os.path.isdir(folder)


def tune(options, passed_on):
    path = machine_file(options.machine)
    machine = Machine(path)
    binary = runs.program(options.build, "hcoll-simulate-tune")
    if options.jobs < 1:
        raise Mistake("--jobs is a number from 1 on")
    ranks = _numbers(options.ranks_per_node, "--ranks-per-node") if options.ranks_per_node else [machine.ranks_per_node]
    until = time.monotonic() + _seconds(options.time) if options.time else None
    folder = options.output + ".parts"
    layouts = [Layout(folder, nodes, each) for nodes in _numbers(options.nodes, "--nodes") for each in ranks if nodes * each > 1]
    if not layouts:
        raise Mistake("one rank has no collectives to tune")
    goes_on = options.resume and os.path.isdir(folder)
    if not options.resume and not options.explain:
        shutil.rmtree(folder, ignore_errors=True)
    _open(folder, f"{machine.name}, and {options.vendor} for the vendor's")
    done = runs.for_each(layouts, options.jobs, lambda layout, stop: layout.run(binary, path, options, passed_on, until, stop))
    for status, said in done:
        if status not in (0, INCOMPLETE):
            sentence = said.removeprefix("hcoll-simulate-tune: ") or f"a simulation ended with status {status}"
            raise Mistake(sentence if _remove_unused(folder) else f"{sentence}; what is there is in {folder}, and --resume goes on")
    if options.explain:
        _remove_unused(folder)
        return 0
    if not options.compare and (table := _merge(layouts, "table", ["entries"])) is not None:
        table["command"] = " ".join(["scripts/simulate tune", *sys.argv[2:]])
        if not goes_on and os.path.isfile(options.output):
            os.replace(options.output, options.output + ".old")
        _write(table, options.output)
    if options.report and (report := _merge(layouts, "report", ["layouts", "compared"])) is not None:
        _write(report, options.report)
    if all(status == 0 for status, _ in done):
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    print("not all points are there; --resume goes on")
    return 1


def main(arguments):
    options, passed_on = _parser().parse_known_args(arguments)
    return tune(options, passed_on)
