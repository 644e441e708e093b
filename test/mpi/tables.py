#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables from both ends: hcoll-tune writes one, hcoll-info reads it, and a job runs what it says; and what is wrong with either is said in a
sentence, and the job runs on.

  tables.py FLAVOUR --build DIR
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failures = []


def expect(is_so, what, output=""):
    if not is_so:
        failures.append(what)
        print(f"FAIL: {what}\n{output}", file=sys.stderr)


class Job:
    def __init__(self, flavour, build):
        self.flavour = flavour
        self.build = build
        self.library = os.path.join(build, "lib", "libhcoll.so")

    def run(self, ranks, program, *arguments, settings=(), preload=True, limit=120):
        command = [os.path.join(SOURCE, "scripts", "mpirun-test"), self.flavour, str(ranks)]
        for setting in ([f"LD_PRELOAD={self.library}"] if preload else []) + list(settings):
            command += ["-e", setting]
        command += ["--", program, *arguments]
        environment = dict(os.environ, HCOLL_TEST_TIMEOUT=str(limit))
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def tune(self, ranks, *arguments, **others):
        return self.run(ranks, os.path.join(self.build, "bin", f"hcoll-tune.{self.flavour}"), *arguments, **others)

    def tune_with_settings_of_ranks(self, settings, ranks, *arguments):
        """`settings`: for the shell, which knows its rank as $rank."""
        program = os.path.join(self.build, "bin", f"hcoll-tune.{self.flavour}")
        script = f'rank=${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}; {settings}; exec "$0" "$@"'
        return self.run(ranks, "sh", "-c", script, program, *arguments, preload=False)

    def use(self, table, ranks=4, settings=()):
        """A program with collectives on several communicators, and the report of what ran."""
        return self.run(ranks, os.path.join(self.build, "test", "bin", f"random_traffic.{self.flavour}"), "--calls", "300",
                        settings=[f"LIBHCOLL_TABLE={table}", "HCOLL_TEST_SEED=4", "LIBHCOLL_REPORT=1", "LIBHCOLL_SETUP_CALLS=0", *settings])


def info(build, *arguments):
    return subprocess.run([os.path.join(build, "bin", "hcoll-info"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def entry(collective, choice, size=(0, None)):
    """For any number of ranks on one node."""
    return {"collective": collective, "nodes": 1, "ranks_per_node": [1, None], "bytes": list(size), "choice": choice}


def write(path, entries, **others):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "libhcoll table", "version": 1, "entries": entries, **others}, file, indent=1)
    return path


def entries_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["entries"]


def tuned_tables(job, folder):
    path = os.path.join(folder, "tuned.json")
    quick = ["--output", path, "--sizes", "8,4k", "--collectives", "bcast,allreduce,barrier,gather", "--ranks-per-node", "2"]
    result = job.tune(2, *quick)
    expect(result.returncode == 0 and "vendor/chosen" in result.stdout, "hcoll-tune ends well", result.stdout)
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    expect(len(table["entries"]) == 7, "a table has an entry for each call and length", str(table))
    expect(table["mpi"] == job.flavour and "command" in table and "date" in table, "a table says where it is from")
    for each in table["entries"]:
        expect(each["choice"] == "vendor" or each["vendor_seconds"] > 0, "the vendor's time stands beside a choice", str(each))
    drawn = info(job.build, "--table", path)
    expect(drawn.returncode == 0 and "1 x 2" in drawn.stdout and "allreduce" in drawn.stdout, "hcoll-info draws it", drawn.stdout)
    # What is there is not measured again: times would differ.
    result = job.tune(2, *quick, "--resume")
    expect(result.returncode == 0 and entries_of(path) == table["entries"], "a table that is whole stays as it is", result.stdout)
    write(path, table["entries"][:3], mpi=table["mpi"])
    result = job.tune(2, *quick, "--resume")
    expect(result.returncode == 0 and entries_of(path)[:3] == table["entries"][:3] and len(entries_of(path)) == 7,
           "what is missing is measured", result.stdout)
    write(path, table["entries"], mpi={"mpich": "openmpi", "openmpi": "mpich"}[job.flavour])
    result = job.tune(2, *quick, "--resume")
    expect(result.returncode == 2 and result.stdout.count("name another --output") == 1 and entries_of(path) == table["entries"],
           "a table of another library is not gone on with", result.stdout)
    # Two nodes of two ranks; the time is over before it begins.
    result = job.tune(4, "--output", path, "--sizes", "8", "--collectives", "bcast", "--nodes", "2", "--time", "0.000001",
                      settings=["LIBHCOLL_TOPOLOGY=2x2"])
    expect(result.returncode == 0 and "--resume goes on" in result.stdout, "a time limit ends it well", result.stdout)
    result = job.tune(4, "--output", path, "--sizes", "8,64k", "--collectives", "bcast", "--nodes", "2", "--ranks-per-node", "2",
                      "--algorithms", "han", "--vary", "segment=8k/16k,network=binomial/chain,node=flat",
                      settings=["LIBHCOLL_TOPOLOGY=2x2"])
    expect(result.returncode == 0 and "bcast" in info(job.build, "--table", path).stdout, "two nodes are tuned", result.stdout)
    # Ranks of one host that the MPI library takes for two nodes are on one, for the library and for hcoll-tune alike.
    if job.flavour == "mpich":
        os.remove(path)
        apart = ["MPIR_CVAR_NOLOCAL=1"]
        result = job.tune(2, "--output", path, "--sizes", "8", "--collectives", "bcast,allreduce", settings=apart)
        places = {(each["nodes"], each["ranks_per_node"]) for each in entries_of(path)}
        expect(result.returncode == 0 and (1, 2) in places and (2, 1) not in places, "ranks of one host are tuned as one node", result.stdout)
    # Rank 0, which writes, is not among those that are measured: its node has one rank.
    os.remove(path)
    result = job.tune(3, "--output", path, "--sizes", "8", "--collectives", "bcast,barrier", "--nodes", "1", "--ranks-per-node", "2",
                      settings=["LIBHCOLL_TOPOLOGY=0.0.0,1.0.0,1.0.1"])
    with open(path, encoding="utf-8") as file:
        expect(result.returncode == 0 and len(json.load(file)["entries"]) == 2, "a layout without rank 0 is written", result.stdout)
    # Without --collectives all calls that run here.
    for progress, has_nonblocking in [("thread", True), ("calls", True), ("off", False)]:
        result = job.tune(2, "--output", path, "--sizes", "8", settings=[f"LIBHCOLL_PROGRESS={progress}"])
        named = {each["collective"] for each in entries_of(path)}
        expect(result.returncode == 0 and len(named) == (10 if has_nonblocking else 7) and ("iallreduce" in named) == has_nonblocking,
               f"progress {progress}: non-blocking calls are tuned where something moves them", result.stdout)
        expect(("nothing would move non-blocking calls" in result.stdout) != has_nonblocking, f"progress {progress}: else it says so",
               result.stdout)
    result = job.tune(2, "--output", path, "--collectives", "ibcast", settings=["LIBHCOLL_PROGRESS=off"])
    expect(result.returncode == 2 and "nothing would move non-blocking calls" in result.stdout, "who asks for them is told", result.stdout)
    # What is timed is what was asked for. A communicator that has to stay with the MPI library ends it; what was measured before is kept.
    os.remove(path)
    result = job.tune(4, "--output", path, "--sizes", "64k", "--collectives", "allreduce", settings=["LIBHCOLL_TOPOLOGY=2x2", "LIBHCOLL_COMMUNICATORS=1"])
    kept = {(each["nodes"], each["ranks_per_node"]) for each in entries_of(path)} if os.path.exists(path) else set()
    expect(result.returncode == 1 and result.stdout.count("does not run here: LIBHCOLL_COMMUNICATORS reached") == 1 and (2, 2) not in kept,
           "times of the MPI library's are nobody else's", result.stdout)
    # Where ranks of a node turn out to share no memory, nothing that needs it is tried.
    refusing = os.path.join(job.build, "test", "lib", "libno_shared_memory.so")
    result = job.tune(2, "--output", path, "--sizes", "8,64k", "--collectives", "bcast,allreduce", preload=False,
                      settings=[f"LD_PRELOAD={job.library}:{refusing}", "HCOLL_TEST_REFUSE=create"])
    expect(result.returncode == 0 and not any("shared" in json.dumps(each) for each in entries_of(path)), "what needs shared memory is not in the table",
           result.stdout)
    result = job.tune(2, "--compare", "--sizes", "4k", "--collectives", "bcast", "--algorithms", "binomial,chain")
    expect(result.returncode == 0 and result.stdout.count("exhaustive") == 2 and "100.0%" in result.stdout, "methods are compared",
           result.stdout)
    result = job.tune(2, "--explain", "--sizes", "64k", "--collectives", "bcast")
    expect(result.returncode == 0 and "left out: a line or a ring of neighbors" in result.stdout, "what is left out has a reason",
           result.stdout)


def mistakes_of_users(job, folder):
    path = os.path.join(folder, "none.json")
    for arguments, ranks, preload, part in [
            (["--output", path], 2, False, "libhcoll.so is not preloaded"),
            (["--output", path], 1, True, "a job of one rank has no collectives to tune"),
            (["--output", "/proc/none/table.json"], 2, True, "cannot be written"),
            (["--output", folder], 2, True, "is a folder"),
            (["--collectives", "bcats"], 2, True, "did you mean bcast?"),
            (["--sizes", "1x"], 2, True, "is no size"),
            (["--vary", "segmnt=8k"], 2, True, "no algorithm has a parameter 'segmnt'"),
            (["--algorithms", "hahn"], 2, True, "there is no algorithm 'hahn'"),
            (["--nodes", "9"], 2, True, "none of the layouts")]:
        result = job.tune(ranks, *arguments, preload=preload)
        expect(result.returncode != 0 and result.stdout.count(part) == 1, f"hcoll-tune {' '.join(arguments)}: {part}", result.stdout)
    result = job.tune(2, "--output", path, settings=["LIBHCOLL_ENABLE=0"])
    expect(result.returncode == 2 and result.stdout.count("LIBHCOLL_ENABLE=0 leaves every call to the MPI library") == 1,
           "there is nothing to tune where the library is off", result.stdout)
    for setting in ("LIBHCOLL_VERIFY=100", "LIBHCOLL_CHECK=1"):
        result = job.tune(2, "--output", path, settings=[setting])
        expect(result.returncode == 2 and result.stdout.count("would be measured with it") == 1, f"nothing is tuned with {setting}", result.stdout)
    expect(not os.path.exists(path), "nothing was measured")
    # Settings are rank 0's, as in the library.
    runtime = os.environ.get("HCOLL_TEST_RUNTIME")  # of sanitizers, which comes first
    preload = f"{runtime}:{job.library}" if runtime else job.library
    result = job.tune_with_settings_of_ranks(f"export LD_PRELOAD={preload}:$LD_PRELOAD; test $rank = 1 || export LIBHCOLL_TOPOLOGY=2x1", 2, "--output", path,
                                             "--collectives", "barrier")
    expect(result.returncode == 0 and "2 nodes with up to 1 ranks" in result.stdout, "all ranks know the same nodes", result.stdout)


def tables_in_use(job, folder):
    path = write(os.path.join(folder, "mine.json"),
                 [entry("bcast", "chain:segment=1k"), entry("allreduce", "ring"), entry("reduce", "binomial", size=(0, 100))])
    result = job.use(path)
    expect(result.returncode == 0 and "table mine.json (rule)" in result.stdout and "chain" in result.stdout, "a table is followed",
           result.stdout)
    expect("  table: mine.json, 3 entries\n" in result.stdout, "the report names the table", result.stdout)
    result = job.use(path, settings=["LIBHCOLL_BCAST=binomial"])
    expect(result.returncode == 0 and "setting LIBHCOLL_BCAST" in result.stdout, "a setting goes before a table", result.stdout)
    wrong = os.path.join(folder, "wrong.json")
    write(wrong, [entry("bcast", "chain:segment=1k"), entry("bcats", "chain"), entry("allreduce", "rong")])
    result = job.use(wrong)
    expect(result.returncode == 0 and "table wrong.json (rule)" in result.stdout, "what is right of a table is in force", result.stdout)
    expect(result.stdout.count("'bcats' is no collective") == 1 and result.stdout.count("did you mean ring?") == 1,
           "a mistake in a table is said once", result.stdout)
    expect("  table: wrong.json, 1 entries; what is wrong in it is not used\n" in result.stdout, "the report says so", result.stdout)
    other = {"mpich": "openmpi", "openmpi": "mpich"}[job.flavour]
    for name, text, part in [("empty.json", "", "is empty"), ("cut.json", open(path, encoding="utf-8").read()[:90], "is no JSON"),
                             ("version.json", '{"format": "libhcoll table", "version": 7, "entries": []}', '"version" has to be 1'),
                             ("large.json", "x" * (17 << 20), "a table has 16M at most"), ("../" + os.path.basename(folder), None, "is a folder"),
                             ("missing.json", None, "cannot be read")]:
        file = os.path.join(folder, name)
        if text is not None:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        result = job.use(file)
        # A warning, and in the report.
        expect(result.returncode == 0 and result.stdout.count(part) == 2 and "  table: " in result.stdout, f"{name}: {part}, and the job runs on",
               result.stdout)
    result = job.use(write(os.path.join(folder, "other.json"), [entry("bcast", "chain")], mpi=other))
    expect(result.returncode == 0 and result.stdout.count("under another MPI library") == 2 and "table other" not in result.stdout,
           "a table of another MPI library is not used", result.stdout)
    result = job.use("off")
    expect(result.returncode == 0 and "table" not in result.stdout, "off is none", result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour")
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", choices=["tune", "use"], required=True)
    options = parser.parse_args()
    job = Job(options.flavour, options.build)
    with tempfile.TemporaryDirectory(prefix="hcoll_tables_") as folder:
        if options.part == "tune":
            tuned_tables(job, folder)
            mistakes_of_users(job, folder)
        else:
            tables_in_use(job, folder)
    print(f"{options.flavour} {options.part}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
