#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that learn while they run (LIBHCOLL_TUNE): what they report, what they keep (LIBHCOLL_LEARN), and what must never fail a job.

  learning.py FLAVOUR --build DIR
"""

import argparse
import json
import os
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import tables  # noqa: E402
from tables import expect, failures  # noqa: E402

# Calls after which nearly every place is decided, however loaded the machine is (after 900, now and then none is).
enough = "2000"


class Job(tables.Job):
    def learn(self, ranks, *arguments, layout="", settings=(), shim="", limit=300):
        given = [f"LIBHCOLL_TOPOLOGY={layout}"] if layout else []
        preload = self.library + (":" + os.path.join(self.build, "test", "lib", shim) if shim else "")
        return self.run(ranks, os.path.join(self.build, "test", "bin", f"learning.{self.flavour}"), *arguments,
                        settings=[f"LD_PRELOAD={preload}", *given, *settings], preload=False, limit=limit)

    def report(self, folder, ranks, *arguments, settings=(), **others):
        """The report of a job that has to end well."""
        path = os.path.join(folder, "report.json")
        result = self.learn(ranks, *arguments, settings=[f"LIBHCOLL_REPORT={path}", *settings], **others)
        what = f"{ranks} ranks {' '.join(arguments)} {others} {' '.join(settings)}"
        expect(result.returncode == 0, what, result.stdout)
        with open(path, encoding="utf-8") as file:
            return json.load(file), what


def ran(report, because, collective=None):
    return {each["ran"] for each in report["collectives"]
            if because in each["because"] and collective in (None, each["collective"])}


def trying(job, folder):
    """What is tried, on layouts of one node and of several."""
    default, learn, free = (), ("LIBHCOLL_TUNE=learn",), ("LIBHCOLL_BITS=free",)
    for layout, settings in (("2x2", default), ("2x2", learn), ("2x2", free), ("1x4", default), ("4x1", learn), ("2x2:cyclic", free)):
        report, what = job.report(folder, 4, "--calls", "1000", layout=layout, settings=settings)
        tried = ran(report, "being tried")
        expect("vendor" in tried and len(tried) >= 3, f"{what}: candidates are tried, the MPI library among them", str(tried))
        for place in report["learned"]:
            expect(place["candidates"][0]["seconds"] >= 0 and place["nodes"] <= int(layout[0]) and place["calls"] > 0,
                   f"{what}: places are of this layout", str(place))
        blocks = ran(report, "being tried", "allgather")
        of_plans = {each for each in blocks if each != "vendor" and not each.startswith("shared")}
        expect(bool(of_plans) == ("LIBHCOLL_TUNE=learn" in settings), f"{what}: plans of blocks are tried in the first week only", str(blocks))
        if layout == "1x4":
            expect("vendor" in blocks, f"{what}: where a rule has blocks over shared memory, the MPI library is tried", str(blocks))
    # Ranks agree in calls that wait for all, also where a setting has all of these from the MPI library.
    report, what = job.report(folder, 4, "--calls", "1000", layout="2x2", settings=[f"LIBHCOLL_{name}=vendor" for name in ("ALLREDUCE", "BARRIER", "ALLGATHER")])
    for collective in ("bcast", "reduce"):
        expect(len(ran(report, "being tried", collective)) >= 2, f"{what}: {collective} is tried", str(report["collectives"]))
    report, what = job.report(folder, 4, "--calls", "1500", layout="2x2", settings=["LIBHCOLL_TUNE=table"])
    expect(not ran(report, "LIBHCOLL_TUNE") and "learned" not in report, f"{what}: nothing is tried")
    # A few calls cost nothing: nothing is set up for them.
    report, what = job.report(folder, 4, "--calls", "9", layout="2x2")
    expect(not ran(report, "LIBHCOLL_TUNE"), f"{what}: nothing is tried in a short job", str(report))
    expect(all(each["ran"] == "vendor" for each in report["collectives"]), f"{what}: all of it is the MPI library's", str(report))


def bits(job):
    """Unless somebody allows it, what is tried changes no bit of a floating-point sum, in any run."""
    for layout in ("1x4", "2x2"):
        seen = set()
        for _ in range(3):
            result = job.learn(4, "--calls", "900", layout=layout)
            seen |= {line for line in result.stdout.splitlines() if line.startswith("bits ")}
        expect(len(seen) == 1, f"{layout}: the same bits in every run", str(seen))
    lives = [job.learn(5, "--lives", layout="2x4").stdout for _ in range(4)]
    seen = {line for output in lives for line in output.splitlines() if line.startswith("bits ")}
    expect(len(seen) == 1, "when a communicator is set up does not depend on what another one has learned", str(seen))


def late_ranks_and_clocks(job, folder):
    """Costs are those of the algorithms: not of ranks that come late, nor of clocks that are not alike."""
    report, what = job.report(folder, 4, "--calls", enough, "--skew", layout="2x2", shim="libshifted_clock.so",
                              settings=["HCOLL_TEST_CLOCK_NODE=2"])
    expect(bool(report.get("learned")), f"{what}: something is learned", str(report))
    for place in report.get("learned", []):
        for each in place["candidates"]:
            # Clocks are a thousand seconds apart.
            expect(each["seconds"] < 1, f"{what}: costs are on one clock", str(place))


def fast_paths(job, folder):
    """A root that is ahead waits for nobody, and a rank that lets calls go by counts as others do."""
    result = job.learn(2, "--run-ahead", layout="2x1", limit=60)
    expect(result.returncode == 0, "a root runs ahead of broadcasts that are tried", result.stdout)
    report, what = job.report(folder, 2, "--in-place", "--calls", "20000", layout="2x1")
    expect(any(each["collective"] == "reduce" for each in report.get("learned", [])), f"{what}: reductions are learned", str(report.get("learned")))


def kept(job, folder):
    """What was learned is where the next run begins, whatever has become of the file."""
    path = os.path.join(folder, "learned.json")
    keeps = [f"LIBHCOLL_LEARN={path}"]
    job.report(folder, 4, "--calls", enough, layout="2x2", settings=keeps)
    entries = tables.entries_of(path)
    expect(len(entries) >= 3 and all(each["why"].startswith("learned") for each in entries), "what was learned is kept", str(entries))
    drawn = tables.info(job.build, "--table", path)
    expect(drawn.returncode == 0 and "of them learned by programs (*)" in drawn.stdout, "hcoll-info tells it from what was tuned", drawn.stdout)
    report, what = job.report(folder, 4, "--calls", "900", layout="2x2", settings=keeps)
    expect(report.get("table", "").startswith("learned: learned.json, "), f"{what}: the next run begins with it", str(report))
    seen = {line for settings in (keeps, []) for line in job.learn(4, "--calls", "900", layout="2x2", settings=settings).stdout.splitlines()
            if line.startswith("bits ")}
    expect(len(seen) == 1, "what was learned changes no bits", str(seen))
    # Of another layout: both are there.
    job.report(folder, 4, "--calls", enough, layout="1x4", settings=keeps)
    layouts = {(each["nodes"], each["ranks_per_node"]) for each in tables.entries_of(path)}
    expect({(2, 2), (1, 4)} <= layouts, "what other jobs have learned stays", str(layouts))
    expect(not [name for name in os.listdir(folder) if ".new" in name], "nothing is left beside it", str(os.listdir(folder)))
    # It goes on from a table that somebody made, and leaves that alone.
    mine = tables.write(os.path.join(folder, "mine.json"), [dict(tables.entry("bcast", "chain:segment=1k"), nodes=2)])
    job.report(folder, 4, "--calls", "900", layout="2x2", settings=[f"LIBHCOLL_TABLE={mine}", f"LIBHCOLL_LEARN={folder}/other.json"])
    expect(len(tables.entries_of(mine)) == 1, "a table is not written to")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"format": "libhcoll table", "version": 1, "entr')
    report, what = job.report(folder, 4, "--calls", enough, layout="2x2", settings=keeps)
    expect(os.path.exists(path + ".old") and len(tables.entries_of(path)) >= 3, f"{what}: a damaged file is put aside", str(os.listdir(folder)))
    for name, part in ((folder, "is no file"), (os.path.join(folder, "none", "learned.json"), "cannot be opened"), ("/dev/full", "is no file")):
        result = job.learn(4, "--calls", enough, layout="2x2", settings=[f"LIBHCOLL_LEARN={name}"])
        expect(result.returncode == 0 and result.stdout.count(part) >= 1 and "LIBHCOLL_LEARN: " in result.stdout, f"{name}: {part}, and the job is well",
               result.stdout)
    limited = os.path.join(folder, "full")
    os.mkdir(limited)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", limited], check=False, stderr=subprocess.DEVNULL).returncode == 0:
        try:
            with open(os.path.join(limited, "rest"), "w", encoding="utf-8") as file:
                file.write("x" * 4096)
            result = job.learn(4, "--calls", enough, layout="2x2", settings=[f"LIBHCOLL_LEARN={limited}/learned.json"])
            expect(result.returncode == 0 and "No space left on device" in result.stdout and os.listdir(limited) == ["rest"],
                   "a full disk costs what was learned, and nothing else", result.stdout)
        finally:
            subprocess.run(["umount", limited], check=True)
    if os.geteuid() != 0:
        os.chmod(path, stat.S_IRUSR)


def kept_by_many(job, folder):
    """Jobs that end at the same time take turns."""
    path = os.path.join(folder, "shared.json")
    program = os.path.join(job.build, "test", "bin", f"learning.{job.flavour}")
    started = []
    for layout in ("1x4", "2x2", "4x1"):
        command = [os.path.join(tables.SOURCE, "scripts", "mpirun-test"), job.flavour, "4", "-e", f"LD_PRELOAD={job.library}", "-e",
                   f"LIBHCOLL_TOPOLOGY={layout}", "-e", f"LIBHCOLL_LEARN={path}", "--", program, "--calls", enough]
        started.append(subprocess.Popen(command, env=dict(os.environ, HCOLL_TEST_TIMEOUT="300"), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True))
    for each in started:
        output = each.communicate()[0]
        expect(each.returncode == 0 and "is not kept" not in output, "jobs that end at the same time keep what they learned", output)
    layouts = {(each["nodes"], each["ranks_per_node"]) for each in tables.entries_of(path)}
    expect({(1, 4), (2, 2), (4, 1)} <= layouts, "each has added its own", str(layouts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", choices=["try", "keep"], required=True)
    options = parser.parse_args()
    job = Job(options.flavour, options.build)
    with tempfile.TemporaryDirectory(prefix="hcoll_learning_") as folder:
        if options.part == "try":
            trying(job, folder)
            bits(job)
            late_ranks_and_clocks(job, folder)
            fast_paths(job, folder)
        else:
            kept(job, folder)
            kept_by_many(job, folder)
    print(f"{options.flavour} {options.part}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
