# SPDX-License-Identifier: BSD-3-Clause
"""Results as a table, as JSON, and as a picture."""

import json
import shutil
import subprocess

from .machines import Mistake


def size_text(size):
    for shift, suffix in ((30, "G"), (20, "M"), (10, "k")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{suffix}"
    return str(size)


def mean(seconds):
    return sum(seconds) / len(seconds)


def microseconds(seconds):
    return f"{seconds * 1e6:,.2f}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def rows(machine, collective, ranks, sizes, runs):
    """One for each size: the bound, the best of the library's configurations, and every subject's time."""
    found = []
    for size in sizes:
        own = [(mean(run.seconds[size]), run.subject) for run in runs if run.own and size in run.seconds]
        peers = {run.subject: mean(run.seconds[size]) for run in runs if not run.own and size in run.seconds}
        best = min(own) if own else None
        found.append({
            "bytes": size,
            "bound_seconds": machine.bound(collective, ranks, size),
            "network_bound_seconds": machine.network_bound(collective, ranks, size),
            "own_seconds": best[0] if best else None,
            "own_algorithm": best[1] if best else None,
            "own": {subject: seconds for seconds, subject in own},
            # What the library has chosen by itself, where it was asked to.
            "chosen": next((run.choices[size] for run in runs if run.own and run.subject == "auto" and size in run.choices), None),
            "learned": next((run.learned[size] for run in runs if size in run.learned), None),
            "peers": peers,
        })
    return found


def document(machine, collective, ranks, options, found, runs):
    return {
        "machine": machine.name, "ranks": ranks, "ranks_per_node": machine.ranks_per_node, "collective": collective,
        "options": options, "results": found,
        "problems": {run.subject: run.problem for run in runs if run.problem},
    }


def table(data):
    peers = sorted({name for row in data["results"] for name in row["peers"]})
    head = ["bytes", "bound us", "own us", "of bound", *(f"{name} us (x own)" for name in peers), "best own"]
    lines = []
    for row in data["results"]:
        own, bound = row["own_seconds"], row["bound_seconds"]
        cells = [size_text(row["bytes"]), microseconds(bound),
                 microseconds(own) if own else "-",
                 f"{own / bound:.2f}" if own and bound > 1e-6 else "-"]
        for name in peers:
            peer = row["peers"].get(name)
            ratio = f" ({peer / own:.2f})" if peer and own else ""
            cells.append(microseconds(peer) + ratio if peer else "-")
        best = row["own_algorithm"] or "-"
        lines.append([*cells, f"auto: {row['chosen']}" if best == "auto" else best])
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    aligned = ["  ".join(cell.ljust(width) if i == len(head) - 1 else cell.rjust(width)
                         for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in [head, *lines]]
    nodes = -(-data["ranks"] // data["ranks_per_node"])
    title = (f"{data['collective']} on {data['machine']}, {data['ranks']} ranks, "
             f"{nodes} {'node' if nodes == 1 else 'nodes'}, simulated")
    problems = [f"{subject}: {problem}" for subject, problem in data["problems"].items()]
    return "\n".join([title, *aligned, *problems]) + "\n"


def write_json(data, path):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    except OSError as problem:
        raise Mistake(f"{path} cannot be written: {problem.strerror}") from None


def merged(data, more):
    """`data` of the same job (or None) with the sizes of `more`, which replace what is there."""
    if data is None:
        return more
    fresh = {row["bytes"] for row in more["results"]}
    rows_there = [row for row in data["results"] if row["bytes"] not in fresh]
    return {**data, "results": sorted([*rows_there, *more["results"]], key=lambda row: row["bytes"])}


def markdown(data):
    """The table for documents; a peer with how many times longer it takes than the library."""
    peers = sorted({name for row in data["results"] for name in row["peers"]})
    lines = ["| " + " | ".join(["bytes", "bound", "library", "of bound", *peers, "best configuration"]) + " |",
             "| " + " | ".join(["---"] * (5 + len(peers))) + " |"]
    last = None
    for row in data["results"]:
        own, bound, best = row["own_seconds"], row["bound_seconds"], row["own_algorithm"]
        cells = [size_text(row["bytes"]), microseconds(bound) if bound > 1e-6 else "",
                 microseconds(own) if own else "-", f"{own / bound:.2f}" if own and bound > 1e-5 else ""]
        for name in peers:
            peer = row["peers"].get(name)
            cells.append(f"{microseconds(peer)} ({peer / own:.2f})" if peer and own else "-")
        cells.append("the same" if best == last else f"`{best}`")
        last = best
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


COLOURS = ("#0060ad", "#c04000", "#2a8a2a", "#8a2a8a", "#8a6a00")


def plot(data, path):
    """Time over size, the library's best and every peer, and the bound."""
    if shutil.which("gnuplot") is None:
        raise Mistake("gnuplot is missing (Debian's package gnuplot-nox)")
    terminal = {"png": "pngcairo size 900,600", "svg": "svg size 900,600 background '#ffffff'"}.get(path.rsplit(".", 1)[-1])
    if terminal is None:
        raise Mistake(f"{path} is neither .png nor .svg")
    peers = sorted({name for row in data["results"] for name in row["peers"]})

    def number(value):
        return f"{value * 1e6:.6g}" if value else "NaN"

    lines = [f"{row['bytes']} {number(row['own_seconds'])} {number(row['bound_seconds'])} "
             + " ".join(number(row["peers"].get(name)) for name in peers) for row in data["results"]]
    curves = [f"$data using 1:2 with linespoints lc rgb '{COLOURS[0]}' lw 2 pt 7 ps 0.6 title 'libhcoll'",
              "$data using 1:3 with lines lc rgb '#888888' dt 2 title 'bytes over rates'"]
    curves += [f"$data using 1:{4 + i} with linespoints lc rgb '{COLOURS[1 + i % 4]}' pt 5 ps 0.6 title '{name}'"
               for i, name in enumerate(peers)]
    script = "\n".join([
        f"set terminal {terminal}", f"set output '{path}'",
        f"set title '{data['collective']} on {data['machine']}, {data['ranks']} ranks (simulated)'",
        "set xlabel 'bytes'", "set ylabel 'microseconds'", "set logscale x 2", "set logscale y", "set key top left",
        "set format x '%.0b%B'", "set grid", "$data << END", *lines, "END", "plot " + ", ".join(curves)]) + "\n"
    result = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    if result.returncode != 0:
        raise Mistake(f"gnuplot failed: {result.stderr.strip().splitlines()[-1] if result.stderr.strip() else 'no reason given'}")
