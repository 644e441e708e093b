# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

import argparse
import os
import sys

from . import candidates, output, runs, tune
from .machines import SOURCE, Machine, Mistake, machine_file, machine_names

PEERS = ("ompi", "mvapich2", "impi", "mpich")
DESCRIPTION = "Collectives of thousands of ranks on a simulated machine, beside those of other MPI libraries."
SUFFIXES = {"k": 10, "m": 20, "g": 30}

EPILOG = """examples:
  {name} --machine stampede2 --ranks 1536 --collective bcast --bytes 4M --algorithm han:network=two_tree,node=flat --peers ompi,mvapich2,impi
  {name} --machine shaheen2 --ranks 4096 --collective allreduce --bytes 8:1M:8 --best --peers ompi --plot allreduce.png
  {name} --machine cori --ranks 64 --collective reduce --bytes 64k --algorithm han --check
  {name} --machine stampede2 --ranks 1536 --collective bcast --bytes 8:4M:4 --algorithm auto --table stampede2.json
  {name} tune --machine stampede2 --nodes 1,2,4,8 --ranks-per-node 48 --output stampede2.json

{name} tune is hcoll-tune on a simulated machine: {name} tune --help says with which options.

exit status: 0, 1 for a wrong result (--check) or a subject of the library's that has none, 2 for a mistake on the command line,
130 after Ctrl-C. A simulation is deterministic: the same command prints the same numbers. All about it: simulation.md of the documents."""


def read_size(text):
    digits, suffix = (text[:-1], text[-1].lower()) if text and text[-1].lower() in SUFFIXES else (text, "")
    if not digits.isdigit() or int(digits) == 0:
        raise Mistake(f"'{text}' is no size; write for example 8, 64k, 4M, or first:last[:factor]")
    return int(digits) << SUFFIXES.get(suffix, 0)


def read_sizes(text):
    sizes = set()
    for item in text.split(","):
        parts = item.split(":")
        if len(parts) > 3:
            raise Mistake(f"'{item}' is no range; write first:last[:factor]")
        numbers = [read_size(part) for part in parts]
        if len(numbers) == 1:
            sizes.add(numbers[0])
            continue
        size, last, factor = numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 2
        if factor < 2:
            raise Mistake("the factor of a range is at least 2")
        while size <= last:
            sizes.add(size)
            size *= factor
    return sorted(sizes)


def _parser(name, build, version):
    parser = argparse.ArgumentParser(prog=name, description=DESCRIPTION, epilog=EPILOG.replace("{name}", name),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("--machine", required=True, metavar="NAME", help=f"{', '.join(machine_names())}, or a file (a name with a /)")
    parser.add_argument("--ranks", type=int, required=True, metavar="N", help="they fill node after node")
    parser.add_argument("--collective", required=True, metavar="NAME", help="bcast, reduce, allreduce or barrier")
    parser.add_argument("--bytes", default="8", metavar="SIZES", help="8,64k,4M or first:last[:factor] (default: 8)")
    parser.add_argument("--algorithm", action="append", default=[], metavar="NAME[:key=value,...]",
                        help="of the library; may be given several times")
    parser.add_argument("--ranks-per-node", type=int, default=0, metavar="N", help="(default: as many as the machine has)")
    parser.add_argument("--table", default="", metavar="FILE", help="that --algorithm auto goes by (default: none)")
    parser.add_argument("--rules", default="", metavar="NAME", help="measured or model, for --algorithm auto (LIBHCOLL_RULES)")
    parser.add_argument("--vendor", default="", metavar="NAME", help="the peer that runs what --algorithm auto leaves to the MPI library")
    parser.add_argument("--learn", type=int, default=0, metavar="CALLS", help="of each size before, on which candidates are tried, for --algorithm auto")
    parser.add_argument("--best", action="store_true", help="try the configurations of the library that some size may want")
    parser.add_argument("--peers", default="", metavar="NAMES", help=f"algorithms as these choose them: {', '.join(PEERS)}")
    parser.add_argument("--root", type=int, default=0, metavar="RANK", help="of Bcast and Reduce (default: 0)")
    parser.add_argument("--rotate-root", action="store_true", help="each repetition has another root, evenly over all ranks")
    parser.add_argument("--compute", type=float, default=0, metavar="SECONDS", help="that ranks compute before each call; not counted")
    parser.add_argument("--repetitions", type=int, default=1, metavar="N", help="calls whose mean is taken (default: 1)")
    parser.add_argument("--warmup", type=int, default=1, metavar="N", help="calls before (default: 1)")
    parser.add_argument("--back-to-back", action="store_true", help="time all repetitions as one: ranks do not meet between calls")
    parser.add_argument("--noise", type=float, default=0, metavar="PERCENT", help="of each rank's time, ten times a second")
    parser.add_argument("--noise-together", action="store_true", help="all ranks' pauses begin at the same time")
    parser.add_argument("--check", action="store_true", help="move real data and check every rank's result; for small jobs")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="subjects that run at once (default: 1)")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for each subject (default: 600)")
    parser.add_argument("--json", default="", metavar="FILE", help="write the results there")
    parser.add_argument("--plot", default="", metavar="FILE", help="draw them there: .png or .svg (gnuplot)")
    parser.add_argument("--build", default=build, metavar="DIR", help="where the library was built")
    return parser


def _subjects(options, sizes):
    """(subject, is it the library's, sizes) of each run."""
    own = {algorithm: sizes for algorithm in options.algorithm}
    if options.best:
        for algorithm, some in candidates.candidates(options.collective, sizes).items():
            own.setdefault(algorithm, some)
    peers = [name for name in options.peers.split(",") if name]
    for name in peers:
        if name not in PEERS:
            raise Mistake(f"'{name}' is no peer; peers are {', '.join(PEERS)}")
    if not own and not peers:
        raise Mistake("there is nothing to run; name an --algorithm, --best or --peers")
    return [(name, True, some) for name, some in own.items()] + [(name, False, sizes) for name in peers]


def simulate(options):
    if options.collective not in candidates.CANDIDATES:
        raise Mistake(f"'{options.collective}' is no collective that is simulated; those are {', '.join(candidates.CANDIDATES)}")
    if options.jobs < 1:
        raise Mistake("--jobs is a number from 1 on")
    sizes = [0] if options.collective == "barrier" else read_sizes(options.bytes)
    subjects = _subjects(options, sizes)
    path = machine_file(options.machine)
    machine = Machine(path, options.ranks_per_node)
    binary = runs.program(options.build)
    passed_on = ["--root", str(options.root), "--repetitions", str(options.repetitions), "--warmup", str(options.warmup)]
    if options.noise:
        passed_on += ["--noise", str(options.noise / 100)]
    if options.compute:
        passed_on += ["--compute", str(options.compute)]
    for flag in ("back_to_back", "noise_together", "rotate_root"):
        if getattr(options, flag):
            passed_on.append("--" + flag.replace("_", "-"))
    if options.check:
        passed_on.append("--check")
    if options.ranks_per_node:
        passed_on += ["--ranks-per-node", str(options.ranks_per_node)]
    automatic = [word for name in ("table", "rules", "vendor") if getattr(options, name) for word in ("--" + name, getattr(options, name))]
    if options.learn:
        automatic += ["--learn", str(options.learn)]
    if automatic and "auto" not in options.algorithm:
        raise Mistake("--table, --rules, --vendor and --learn are for --algorithm auto")
    # Barrier has no bytes, but the option must be a size.
    asked = {True: [8], False: None}[options.collective == "barrier"]
    done = runs.for_each(subjects, options.jobs,
                         lambda each, stop: runs.run(binary, path, options.ranks, options.collective, asked or each[2], each[0], each[1],
                                                     options.timeout, passed_on, automatic, stop))
    found = output.rows(machine, options.collective, options.ranks, sizes, done)
    data = output.document(machine, options.collective, options.ranks,
                           {"root": options.root, "repetitions": options.repetitions, "warmup": options.warmup,
                            "back_to_back": options.back_to_back, "noise_percent": options.noise,
                            "noise_together": options.noise_together}, found, done)
    sys.stdout.write(output.table(data))
    if options.json:
        output.write_json(data, options.json)
    if options.plot:
        output.plot(data, options.plot)
    return 1 if any(run.problem for run in done if run.own) else 0


def main(arguments, name="scripts/simulate", build=os.path.join(SOURCE, "build"), version="of the source tree"):
    """`name` is what it was called by; the programs that simulate are in `build`/bin."""
    is_tune = arguments[:1] == ["tune"]
    try:
        return tune.main(arguments[1:], name, build) if is_tune else simulate(_parser(name, build, version).parse_args(arguments))
    except Mistake as mistake:
        print(f"{name + ' tune' * is_tune}: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name + ' tune' * is_tune}: interrupted; {'--resume goes on' if is_tune else 'the simulation was ended'}", file=sys.stderr)
        return 130
