#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What LIBHCOLL_TRACE writes, and what hcoll-info --trace says of it, under an MPI library.

  trace.py FLAVOUR --build DIR
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKS = 4
NAME = 'the "traced" <one>'
ROUNDS = 20
failures = []


def expect(is_so, what, output=""):
    if not is_so:
        failures.append(what)
        print(f"FAIL: {what}\n{output}", file=sys.stderr)


class Job:
    def __init__(self, arguments, folder, settings=(), program=(), shim=None):
        self.folder = folder
        preload = os.path.join(arguments.build, "lib", "libhcoll.so")
        if shim is not None:
            preload = os.path.join(arguments.build, "test", "lib", shim) + ":" + preload
        command = [os.path.join(SOURCE, "scripts", "mpirun-test"), arguments.flavour, str(RANKS)]
        for setting in [f"LD_PRELOAD={preload}", f"LIBHCOLL_TRACE={folder}",
                        "LIBHCOLL_SETUP_CALLS=1", *settings]:
            command += ["-e", setting]
        command += ["--", os.path.join(arguments.build, "test", "bin", f"traced.{arguments.flavour}"), *program]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=dict(os.environ, HCOLL_TEST_TIMEOUT="60"))
        self.status = done.returncode
        self.output = done.stdout

    def files(self, ending):
        return sorted(each for each in os.listdir(self.folder) if each.endswith(ending)) if os.path.isdir(self.folder) else []


def info(arguments, *options):
    done = subprocess.run([os.path.join(arguments.build, "bin", "hcoll-info"), *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def check_files(job, what):
    """The text of each rank, as a viewer takes it."""
    expect([name[:11] for name in job.files(".json")] == [f"rank-{rank:06}" for rank in range(RANKS)], f"{what}: a text of each rank",
           str(os.listdir(job.folder)))
    expect(not job.files(".events"), f"{what}: nothing else is left")
    for rank, name in enumerate(job.files(".json")):
        with open(os.path.join(job.folder, name), encoding="utf-8") as file:
            document = json.load(file)
        events = [event for event in document["traceEvents"] if event["ph"] == "X"]
        expect(all(event["pid"] == rank and event["dur"] >= 0 for event in events), f"{what}: rank {rank}'s events are its own")
        calls = [event for event in events if event["cat"] == "collective" and NAME in event["args"]["communicator"]]
        expect(len(calls) == 6 * ROUNDS, f"{what}: all collectives of rank {rank}", str(len(calls)))
        numbers = [event["args"]["number"] for event in calls]
        expect(numbers == list(range(1, 6 * ROUNDS + 1)), f"{what}: they are in order", str(numbers))
        expect(all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(calls, calls[1:])), f"{what}: one after another")
        # Rows do not overlap: viewers would draw them within one another.
        rows = {}
        for event in events:
            rows.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        for row, spans in rows.items():
            if row >= 1000:
                spans.sort()
                expect(all(a[1] <= b[0] + 0.002 for a, b in zip(spans, spans[1:])), f"{what}: a row's steps follow one another")


def explained(arguments, job, what, most_incomplete=0):
    status, text, errors = info(arguments, "--trace", job.folder, "--json")
    expect(status == 0, f"{what}: hcoll-info --trace", errors)
    if status != 0:
        return None
    document = json.loads(text)
    expect(document["traced_ranks"] == RANKS and document["incomplete"] <= most_incomplete, f"{what}: all ranks' calls are put together", text)
    return document


def check_late_rank(document, what):
    """The last rank is late in each Allreduce, by far longer than ranks wait for a core."""
    late = document["late_ranks"][0]
    expect(late["rank"] == RANKS - 1, f"{what}: who is late", json.dumps(document["late_ranks"]))
    expect(all(place["seconds_waiting_for_late_ranks"] <= place["seconds"] for place in document["places"]),
           f"{what}: no more waiting than time", json.dumps(document["places"]))


def run_plans(arguments, folder):
    """Over four nodes of one rank each, all that there is runs by plans."""
    settings = ["LIBHCOLL_TOPOLOGY=2x1x2", "LIBHCOLL_ALLREDUCE=recursive_multiplying", "LIBHCOLL_BCAST=binomial",
                "LIBHCOLL_REDUCE=binomial", "LIBHCOLL_BARRIER=dissemination", "LIBHCOLL_ALLGATHER=bruck", "LIBHCOLL_IALLREDUCE=reduce_bcast",
                "LIBHCOLL_PROGRESS=thread"]
    job = Job(arguments, os.path.join(folder, "plans"), settings)
    expect(job.status == 0, "plans: the job goes on", job.output)
    check_files(job, "plans")
    document = explained(arguments, job, "plans")
    check_late_rank(document, "plans")
    levels = {level["level"]: level for level in document["levels"]}
    expect(levels["network"]["messages"] > 0 and levels["network"]["bytes"] > 0, "plans: messages over the network", json.dumps(levels))
    expect(levels["socket"]["messages"] > 0, "plans: messages within nodes", json.dumps(levels))
    functions = {place["function"] for place in document["places"]}
    expect({"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Barrier", "MPI_Allgather", "MPI_Iallreduce"} <= functions,
           "plans: all collectives", str(functions))
    background = [place for place in document["places"] if place["function"] == "MPI_Iallreduce"]
    expect(any(place["runs"] == "reduce_bcast" and place["seconds"] > 0 for place in background), "plans: runs in the background", json.dumps(background))
    expect(any(place["critical_path_seconds"]["message"] > 0 for place in document["places"]), "plans: messages on critical paths",
           json.dumps(document["places"]))
    status, text, errors = info(arguments, "--trace", job.folder)
    expect(status == 0 and "waiting for late ranks" in text and f"for rank {RANKS - 1}" in text, "plans: in words", text + errors)
    # A call of the second half, which runs here.
    call = str(6 * (ROUNDS - 2) + 1)
    status, text, errors = info(arguments, "--trace", job.folder, "--call", call, "--communicator", NAME)
    expect(status == 0 and "MPI_Allreduce" in text and "recursive_multiplying" in text and "has not come, and others have" in text,
           "plans: one call", text + errors)
    status, text, errors = info(arguments, "--trace", job.folder, "--call", call, "--communicator", NAME, "--svg")
    expect(status == 0, "plans: a picture", errors)
    picture = xml.etree.ElementTree.fromstring(text)
    expect(len([each for each in picture.iter() if each.get("class") == "path"]) > 0, "plans: the critical path is drawn")
    status, text, errors = info(arguments, "--trace", job.folder, "--merge")
    merged = json.loads(text)
    expect(status == 0 and {event["pid"] for event in merged["traceEvents"]} == set(range(RANKS)), "plans: merged", errors)
    status, text, errors = info(arguments, "--trace", job.folder, "--call", "100000")
    expect(status == 2 and "there is no collective 100000" in errors, "plans: a call that is not there", errors)


def run_shared(arguments, folder):
    """On one node, as it comes: shared memory, learning, the MPI library; into a folder below one that is not there, by another thread's settings."""
    job = Job(arguments, os.path.join(folder, "shared", "below"), ["LIBHCOLL_WATCHDOG=60s"])
    expect(job.status == 0 and "LIBHCOLL" not in job.output, "shared: the job goes on", job.output)
    check_files(job, "shared")
    check_late_rank(explained(arguments, job, "shared"), "shared")


def run_vendor(arguments, folder):
    """The MPI library alone, for comparison: nothing runs here, and all is traced."""
    job = Job(arguments, os.path.join(folder, "vendor"), ["LIBHCOLL_ENABLE=0"])
    expect(job.status == 0 and "LIBHCOLL" not in job.output, "vendor: the job goes on", job.output)
    check_files(job, "vendor")
    document = explained(arguments, job, "vendor")
    check_late_rank(document, "vendor")
    expect({place["runs"] for place in document["places"]} == {"vendor"}, "vendor: nothing else runs", json.dumps(document["places"]))


def run_report(arguments, folder):
    """The report has the same split, without a trace."""
    path = os.path.join(folder, "report.json")
    for rounds in (ROUNDS, 2000):  # all of them, or a part of very many
        late = RANKS - 1 if rounds == ROUNDS else -1
        job = Job(arguments, "off", [f"LIBHCOLL_REPORT={path}"], ["--rounds", str(rounds), "--late", str(late)])
        expect(job.status == 0 and "LIBHCOLL" not in job.output, "report: the job goes on", job.output)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        rows = document["collectives"]
        looked_at = {name: sum(row["calls_looked_at"] for row in rows if row["collective"] == name)
                     for name in ("allreduce", "bcast", "reduce", "barrier", "allgather", "iallreduce")}
        if rounds == ROUNDS:
            expect(all(looked_at[name] == ROUNDS for name in looked_at if name != "iallreduce"), "report: all calls", str(looked_at))
            expect(document["late_ranks"][0]["rank"] == late, "report: who is late", json.dumps(document["late_ranks"]))
        expect(all(looked_at[name] > rounds / 50 for name in looked_at if name != "iallreduce"), "report: calls of each kind", str(looked_at))
        expect(sum(looked_at.values()) <= 8192, "report: no more than there is room for", str(looked_at))
        expect(looked_at["iallreduce"] == 0, "report: what does not block is not split", str(looked_at))
        expect(all(0 <= row["seconds_waiting_for_late_ranks"] <= row["seconds_of_all_ranks"] for row in rows),
               "report: no more waiting than time", json.dumps(rows))
    job = Job(arguments, "off", ["LIBHCOLL_REPORT=1"])
    expect("waiting for late ranks: " in job.output and f"for rank {RANKS - 1}, in " in job.output, "report: in words", job.output)


def run_clocks(arguments, folder):
    """Clocks of two nodes that are a thousand seconds apart, and drift apart by 50 ppm."""
    path = os.path.join(folder, "clocks.json")
    job = Job(arguments, os.path.join(folder, "clocks"), ["LIBHCOLL_TOPOLOGY=2x2", "HCOLL_TEST_CLOCK_NODE=2", f"LIBHCOLL_REPORT={path}"],
              shim="libshifted_clock.so")
    expect(job.status == 0 and "LIBHCOLL" not in job.output, "clocks: the job goes on", job.output)
    document = explained(arguments, job, "clocks")
    check_late_rank(document, "clocks")
    expect(document["seconds"] < 100, "clocks: times are those of one clock", json.dumps(document)[:400])
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    expect(report["late_ranks"][0]["rank"] == RANKS - 1, "clocks: the report, too", json.dumps(report["late_ranks"]))
    expect(sum(row["seconds_of_all_ranks"] for row in report["collectives"]) < 100, "clocks: the report's times", json.dumps(report))


def run_little_memory(arguments, folder):
    """The oldest records give way."""
    job = Job(arguments, os.path.join(folder, "little"), ["LIBHCOLL_TRACE_MEMORY=64k"], ["--rounds", "2000", "--late", "-1"])
    expect(job.status == 0, "little memory: the job goes on", job.output)
    document = json.loads(info(arguments, "--trace", job.folder, "--json")[1])
    expect(document["overwritten_records"] > 1000, "little memory: what gave way is counted", json.dumps(document)[:400])
    for name in job.files(".json"):
        expect(os.path.getsize(os.path.join(job.folder, name)) < 1024 * 400 + 10000, "little memory: files are short")


def run_deaths(arguments, folder):
    """A rank that is killed, or aborts, leaves what it has noted, and hcoll-info reads it."""
    for end in ("kill", "abort"):
        job = Job(arguments, os.path.join(folder, end), (), ["--end", end])
        # MPICH 4.2's launcher says now and then that all is well where ranks have aborted.
        expect(job.status != 0 or "Abort(" in job.output, f"{end}: the job ends", job.output)
        left = job.files(".json") + job.files(".events")
        # One that is killed between the two has left both.
        expect(len({name.split(".")[0] for name in left}) == RANKS, f"{end}: something of each rank is left", str(left))
        # The call that one of them does not come to.
        document = explained(arguments, job, end, 1)
        if document is not None:
            expect(document["collectives"] >= 6 * ROUNDS, f"{end}: all collectives", json.dumps(document)[:400])
            check_late_rank(document, end)


def run_several_jobs(arguments, folder):
    """Jobs that write into one folder at the same time: each has files of its own, and the last one is explained unless another is asked for."""
    place = os.path.join(folder, "several")
    jobs = [threading.Thread(target=lambda: ends.append(Job(arguments, place).status)) for _ in range(3)]
    ends = []
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    names = os.listdir(place)
    numbers = sorted({name.split(".")[1] for name in names})
    expect(ends == [0, 0, 0] and len(names) == 3 * RANKS and len(numbers) == 3, "several jobs: all go on, and each has files of its own",
           f"{ends} {sorted(names)}")
    for number in numbers:
        status, text, errors = info(arguments, "--trace", place, "--json", "--job", number)
        expect(status == 0 and json.loads(text)["traced_ranks"] == RANKS, "several jobs: each is explained", errors)
    status, _, errors = info(arguments, "--trace", place)
    expect(status == 0 and "other jobs" in errors and "--job" in errors, "several jobs: one of them is, and it is said", errors)
    status, _, errors = info(arguments, "--trace", place, "--job", "xyz")
    expect(status == 2, "several jobs: what is no number", errors)


def run_exit(arguments, folder):
    """Ranks that end without MPI_Finalize write, too. The folder is where the job was started, wherever the program goes."""
    if arguments.flavour == "mpich":
        job = Job(arguments, os.path.join(folder, "exit"), (), ["--end", "exit"])
        # The launcher ends the others as soon as it sees that.
        expect(len({name[:11] for name in os.listdir(job.folder)}) == RANKS, "exit: something of each rank", job.output + str(os.listdir(job.folder)))
        explained(arguments, job, "exit")
    start = os.getcwd()
    os.makedirs(os.path.join(folder, "start"))
    try:
        os.chdir(os.path.join(folder, "start"))
        job = Job(arguments, "relative", (), ["--go-to", folder])
    finally:
        os.chdir(start)
    job.folder = os.path.join(folder, "start", "relative")
    expect(job.status == 0 and not os.path.exists(os.path.join(folder, "relative")), "another folder: it is where the job was started", job.output)
    check_files(job, "another folder")


def run_mistakes(arguments, folder):
    place = os.path.join(folder, "file")
    with open(place, "w", encoding="utf-8") as file:
        file.write("in the way")
    job = Job(arguments, place)
    expect(job.status == 0 and job.output.count("LIBHCOLL_TRACE") == 1 and f"{RANKS} of {RANKS} ranks trace nothing" in job.output,
           "no folder: one line, and the job goes on", job.output)
    job = Job(arguments, os.path.join(folder, "sparse"), ["LIBHCOLL_SPARSE=1"])
    expect(job.status == 0 and job.output.count("LIBHCOLL_TRACE: nothing is traced") == 1, "sparse: the job goes on", job.output)
    job = Job(arguments, "1")
    expect(job.status == 0 and "'1' is neither off nor the name of a folder" in job.output, "no name: it is said", job.output)
    status, _, errors = info(arguments, "--trace", os.path.join(folder, "nowhere"))
    expect(status == 2 and "nowhere" in errors, "hcoll-info: no such folder", errors)
    os.makedirs(os.path.join(folder, "empty"))
    status, _, errors = info(arguments, "--trace", os.path.join(folder, "empty"))
    expect(status == 2 and "has no trace" in errors, "hcoll-info: an empty folder", errors)
    for wrong, text in (("cut", '{"traceEvents": ['), ("other", '{"traceEvents": []}')):
        os.makedirs(os.path.join(folder, wrong))
        with open(os.path.join(folder, wrong, "rank-000000.json"), "w", encoding="utf-8") as file:
            file.write(text)
        status, _, errors = info(arguments, "--trace", os.path.join(folder, wrong))
        expect(status == 2 and "rank-000000.json" in errors, f"hcoll-info: a file that is {wrong}", errors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory() as folder:
        for part in (run_plans, run_shared, run_report, run_clocks, run_vendor, run_little_memory, run_deaths, run_several_jobs, run_exit, run_mistakes):
            part(arguments, folder)
    print("PASS" if not failures else f"FAIL: {len(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
