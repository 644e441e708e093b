# SPDX-License-Identifier: BSD-3-Clause
"""Whole jobs under a real MPI: settings, their mistakes, agreement between ranks, reports, hcoll-info and hcoll-bench."""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest

FLAVOUR = os.environ["HCOLL_TEST_FLAVOUR"]
BUILD, SOURCE = os.environ["HCOLL_TEST_BUILD"], os.environ["HCOLL_TEST_SOURCE"]
LIBRARY = os.path.join(BUILD, "lib", "libhcoll.so")
COLLECTIVES = os.path.join(BUILD, "test", "bin", f"collectives.{FLAVOUR}")
ORACLE = os.path.join(BUILD, "test", "bin", f"random_oracle.{FLAVOUR}")
BENCH = os.path.join(BUILD, "bin", f"hcoll-bench.{FLAVOUR}")
INFO = os.path.join(BUILD, "bin", "hcoll-info")
SWEEP = [COLLECTIVES, "--quick", "--one-in", "8", "--segment", "64", "--seed", "1"]
OWN = {"LIBHCOLL_BCAST": "binomial", "LIBHCOLL_REDUCE": "binomial", "LIBHCOLL_ALLREDUCE": "recursive_doubling",
       "LIBHCOLL_BARRIER": "dissemination"}


def job(ranks, command, preload=LIBRARY, **settings):
    launch = [os.path.join(SOURCE, "scripts", "mpirun-test"), FLAVOUR, str(ranks)]
    if preload:
        settings["LD_PRELOAD"] = preload
    for name, value in settings.items():
        launch += ["-e", f"{name}={value}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBHCOLL_")}
    return subprocess.run([*launch, "--", *command], env=environment, capture_output=True, text=True, timeout=170)


def on_rank(rank, assignment, command):
    """The command, with one more environment variable on one rank alone."""
    script = (f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = {rank} ]; then export {assignment}; fi; exec "$@"')
    return ["/bin/sh", "-c", script, "sh", *command]


# What this MPI library does otherwise by itself, as test/mpi/Differences.cmake has it: reasons by name.
DIFFERENCES = dict(each.split("=", 1) for each in os.environ.get("HCOLL_TEST_DIFFERENCES", "").split("|") if each)


def skip_where_different(test, name):
    if name in DIFFERENCES:
        test.skipTest(DIFFERENCES[name])


def lines_of_library(result):
    return [line for line in result.stderr.splitlines() if "libhcoll" in line]


class Settings(unittest.TestCase):
    def check(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_misspelt_setting_gives_one_warning_from_one_rank(self):
        result = job(3, SWEEP, LIBHCOLL_BCAST="chian", LIBHCOLL_REPROT="1")
        self.check(result)
        warnings = lines_of_library(result)
        self.assertEqual(len(warnings), 2, result.stderr)
        self.assertTrue(any("did you mean chain?" in line for line in warnings))
        self.assertTrue(any("did you mean LIBHCOLL_REPORT?" in line for line in warnings))

    def test_an_abi_that_is_not_the_mpi_librarys_is_refused_in_one_line(self):
        for name in {"mpich", "openmpi", "abi"} - {FLAVOUR}:
            result = job(3, SWEEP, LIBHCOLL_MPI=name)
            self.check(result)
            (line,) = lines_of_library(result)
            self.assertIn(f"LIBHCOLL_MPI={name} names an ABI that this MPI library has not", line)
        result = job(3, SWEEP, LIBHCOLL_MPI=FLAVOUR)
        self.check(result)
        self.assertEqual(lines_of_library(result), [])

    def test_settings_of_the_other_library_of_that_name_are_not_looked_at(self):
        result = job(2, SWEEP, HCOLL_ENABLE_MCAST="1", HCOLL_MAIN_IB="mlx5_0:1")
        self.check(result)
        self.assertEqual(lines_of_library(result), [])

    def test_rank_0_decides_whatever_the_others_were_told(self):
        for rank, assignment in ((0, "LIBHCOLL_BCAST=chain:segment=64"), (1, "LIBHCOLL_BCAST=chain:segment=64"),
                                 (0, "LIBHCOLL_ENABLE=0"), (2, "LIBHCOLL_ENABLE=0"), (1, "LIBHCOLL_SETUP_CALLS=1"),
                                 (0, "LIBHCOLL_COMMUNICATORS=1"), (1, "LIBHCOLL_ALLREDUCE=nonsense")):
            result = job(3, on_rank(rank, assignment, SWEEP), **OWN)
            self.assertEqual(result.returncode, 0, (rank, assignment, result.stdout, result.stderr))
            self.assertEqual(lines_of_library(result), [], (rank, assignment))

    @unittest.skipIf(FLAVOUR == "openmpi", "Open MPI 4 has no sessions, in which ranks have no common start")
    def test_ranks_without_a_common_start_agree_on_each_communicator(self):
        skip_where_different(self, "sessions")
        sessions = os.path.join(BUILD, "test", "bin", f"sessions.{FLAVOUR}")
        for assignment in ("LIBHCOLL_SETUP_CALLS=9", "LIBHCOLL_ENABLE=0", "LIBHCOLL_BCAST=chain:segment=64",
                           "LIBHCOLL_COMMUNICATORS=0", "LIBHCOLL_ALLREDUCE=nonsense"):
            for rank in (0, 1):
                result = job(2, on_rank(rank, assignment, [sessions]), **OWN)
                self.assertEqual(result.returncode, 0, (rank, assignment, result.stdout, result.stderr))

    def test_bits_that_cannot_be_reproducible_give_a_warning(self):
        result = job(2, SWEEP, LIBHCOLL_REPRODUCIBLE="1", LIBHCOLL_COMMUNICATORS="1")
        self.check(result)
        warnings = [line for line in lines_of_library(result) if "in spite of LIBHCOLL_REPRODUCIBLE=1" in line]
        self.assertTrue(warnings, result.stderr)
        self.assertIn("LIBHCOLL_COMMUNICATORS", warnings[0])

    def test_logging_can_be_switched_off_and_up(self):
        self.assertEqual(lines_of_library(job(2, SWEEP, LIBHCOLL_BCAST="chian", LIBHCOLL_LOG="off")), [])
        self.assertTrue(any("is set up after" in line for line in
                            lines_of_library(job(2, SWEEP, LIBHCOLL_LOG="debug", **OWN))))


SHARED = {"LIBHCOLL_BCAST": "shared", "LIBHCOLL_REDUCE": "shared", "LIBHCOLL_ALLREDUCE": "shared",
          "LIBHCOLL_BARRIER": "shared"}


class Duplicates(unittest.TestCase):
    def test_all_ranks_free_them_in_the_same_order(self):
        life = os.path.join(BUILD, "test", "bin", f"communicator_life.{FLAVOUR}")
        result = job(4, [life, "--case", "free_order"], LIBHCOLL_LOG="debug", LIBHCOLL_SETUP_CALLS="1", **OWN)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        freed = {}
        for rank, number in re.findall(r"rank (\d+) of MPI_COMM_WORLD frees duplicate (\d+)", result.stderr):
            freed.setdefault(rank, []).append(int(number))
        self.assertEqual(len(freed), 4, result.stderr)
        for rank, numbers in freed.items():
            self.assertGreater(len(numbers), 3, rank)
            self.assertEqual(len(numbers), len(set(numbers)), rank)
            for others in freed.values():
                self.assertEqual([each for each in numbers if each in others],
                                 [each for each in others if each in numbers])
        # A number is the same communicator's on all ranks: each has 3 of the 4, and MPI_COMM_WORLD all of them.
        everywhere = [number for numbers in freed.values() for number in numbers]
        self.assertTrue(all(everywhere.count(number) in (3, 4) for number in everywhere), freed)

    def places(self, **settings):
        """By duplicate, the first tags of the communicators on it; and how many may be on one."""
        program = os.path.join(BUILD, "test", "bin", f"communicators.{FLAVOUR}")
        result = job(2, [program, "--only", "hold", "--hold", "60"],
                     **{**OWN, "LIBHCOLL_LOG": "debug", "LIBHCOLL_SETUP_CALLS": "1", **settings})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        found = re.findall(r"its messages have tags from (\d+) on, on duplicate (\d+), where there are tags for (\d+) ", result.stderr)
        self.assertGreaterEqual(len(found), 60, result.stderr)
        tags = {}
        for first, duplicate, _ in found:
            tags.setdefault(duplicate, []).append(int(first))
        self.assertEqual(len({places for _, _, places in found}), 1, found)
        return tags, int(found[0][2])

    def can_revoke(self):
        libraries = subprocess.run(["ldd", COLLECTIVES], capture_output=True, text=True, check=True).stdout
        path = re.search(r"=> (\S*/libmpi\w*\.so\S*)", libraries).group(1)
        with open(path, "rb") as library:
            return b"PMPIX_Comm_revoke" in library.read()

    def test_communicators_of_the_same_processes_share_them(self):
        for memory in ("0", "1"):
            tags, places = self.places(LIBHCOLL_SHARED_MEMORY=memory)
            if places == 1:
                self.skipTest("the MPI library has too few tags")
            together = sum(len(each) for each in tags.values())
            self.assertEqual(len(tags), -(-together // places), tags)
            for first in tags.values():
                self.assertEqual(len(set(first)), len(first), "two communicators have the same tags")

    def test_where_tags_cannot_tell_calls_apart_each_has_one(self):
        # Collectives of the MPI library that nobody waits for; calls of several threads at a time; one that may be revoked.
        settings = [{"LIBHCOLL_VERIFY": "7"}, {"LIBHCOLL_PROGRESS": "thread"}]
        if self.can_revoke():
            settings.append({"OMPI_MCA_mpi_ft_enable": "1"})  # MPICH 4.0 ends the job where its own is set
        for each in settings:
            tags, places = self.places(**each)
            self.assertEqual(places, 1, each)
            self.assertTrue(all(first == [0] for first in tags.values()), tags)


class SharedMemory(unittest.TestCase):
    def test_where_one_rank_cannot_have_it_all_send_messages(self):
        skip_where_different(self, "refused_memory")
        for refused in ({0: "create"}, {1: "connect"}, {2: "connect"}, {0: "offer", 2: "open"}):
            result = self.job_with(refused)
            warnings = [line for line in lines_of_library(result) if "cannot share memory" in line]
            self.assertTrue(warnings, result.stderr)
            self.assertRegex(warnings[0], "not permitted|denied")

    def test_where_one_rank_may_not_open_it_that_is_handed_it(self):
        skip_where_different(self, "refused_memory")
        for refused in ({1: "open"}, {2: "open"}, {1: "open", 2: "open"}):
            result = self.job_with(refused)
            self.assertNotIn("cannot share memory", result.stderr, refused)
            self.assertRegex(result.stderr, r"allreduce .* shared .* setting LIBHCOLL_ALLREDUCE")

    def job_with(self, refused):
        """`refused`: what of shared memory the system refuses, by rank."""
        shim = os.path.join(BUILD, "test", "lib", "libno_shared_memory.so")
        command = SWEEP
        for rank, what in refused.items():
            command = on_rank(rank, f"HCOLL_TEST_REFUSE={what}", command)
        result = job(3, command, preload=f"{LIBRARY}:{shim}", LIBHCOLL_REPORT="1", **SHARED)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def test_it_can_be_switched_off_for_all_that_uses_it(self):
        mixed = {**SHARED, "LIBHCOLL_BCAST": "binomial"}
        # The lengths of broadcasts by messages are announced, and rules have blocks over shared memory.
        reductions = {**OWN, **{f"LIBHCOLL_{name}": "vendor" for name in ("BCAST", "GATHER", "SCATTER", "ALLGATHER")}}
        for switch, settings, expected in (("1", SHARED, {"collectives"}), ("1", reductions, {"messages"}),
                                           ("1", OWN, {"collectives and messages"}),
                                           ("1", mixed, {"collectives and messages"}), ("0", mixed, set())):
            result = job(2, SWEEP, LIBHCOLL_LOG="debug", LIBHCOLL_SHARED_MEMORY=switch, **settings)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            found = set(re.findall(r"the ranks of a node share \d+ KB for (.*)$", result.stderr, re.MULTILINE))
            self.assertEqual(found, expected, (switch, settings))

    def test_communicators_of_the_same_processes_share_segments_also_beside_a_rank_alone(self):
        life = os.path.join(BUILD, "test", "bin", f"communicator_life.{FLAVOUR}")
        for layout in ("0,0,0,0", "0,0,0,1", "0,0,1,2"):
            result = job(4, [life, "--case", "interleaved"], LIBHCOLL_LOG="debug", LIBHCOLL_SETUP_CALLS="1", LIBHCOLL_TOPOLOGY=layout,
                         LIBHCOLL_ALLREDUCE="recursive_doubling", LIBHCOLL_COMMUNICATORS="100")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            segments = len(re.findall(r"the ranks of a node share \d+ KB", result.stderr))
            # 30 communicators and MPI_COMM_WORLD, of which eight share one.
            self.assertTrue(1 <= segments <= 6, (layout, segments))

    def test_where_one_rank_may_not_copy_from_others_none_does(self):
        shim = os.path.join(BUILD, "test", "lib", "libno_single_copy.so")
        refused = "HCOLL_TEST_SINGLE_COPY=refused"
        sweep = [COLLECTIVES, "--quick", "--segment", "16384", "--seed", "1", "--only", "allreduce"]
        once = {name: "shared:single_copy=9k" for name in SHARED}
        for command, words in ((sweep, "may copy from one another's memory (cma)"),
                               (on_rank(1, refused, sweep), "may not copy from one another's memory (cma)"),
                               (["env", refused, *sweep], "may not copy from one another's memory (cma)")):
            result = job(3, command, preload=f"{LIBRARY}:{shim}", LIBHCOLL_LOG="info", **once)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn(f"3 ranks of one node {words}", result.stderr)
            # Of two ranks that are not refused, a communicator of their own may.
            other = "may not copy" if words.startswith("may copy") else "may copy"
            self.assertNotIn(f"3 ranks of one node {other}", result.stderr)

    def test_a_runtime_that_tells_nothing_of_buffers_counts_where_there_is_a_device(self):
        skip_where_different(self, "foreign_level_zero")
        runtime = os.path.join(BUILD, "test", "lib", "libze_loader.so.1")
        preload = on_rank(1, f'LD_PRELOAD="$LD_PRELOAD:{runtime}"', [*SWEEP, "--only", "bcast"])
        # No device of Intel's is here, and one is said to be.
        for use, stays in (("auto", os.path.exists("/dev/dri")), ("on", True), ("off", False)):
            result = job(2, preload, LIBHCOLL_REPORT="1", LIBHCOLL_SETUP_CALLS="0", LIBHCOLL_GPU=use, **SHARED)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual("a GPU runtime is loaded" in result.stderr, stays, (use, result.stderr))
            self.assertEqual("setting LIBHCOLL_BCAST" in result.stderr, not stays, use)

    def test_a_killed_rank_ends_the_job_and_leaves_nothing_behind(self):
        before = set(os.listdir("/dev/shm"))
        killed = job(3, ["/bin/sh", "-c", f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ]; then exec timeout -s KILL 2 "$@"; '
                         f'fi; exec "$@"', "sh", ORACLE, "--seconds", "60"], **SHARED)
        self.assertNotEqual(killed.returncode, 0)
        left = [name for name in set(os.listdir("/dev/shm")) - before if "hcoll" in name]
        self.assertEqual(left, [])


class Reports(unittest.TestCase):
    def test_rank_0_prints_what_ran_and_why(self):
        result = job(2, SWEEP, LIBHCOLL_REPORT="1", **OWN)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("libhcoll report:"), 1)
        own = re.search(r"([\d]+) collectives on own algorithms", result.stderr)
        self.assertGreater(int(own.group(1)), 100)
        for words in ("binomial:segment=512k", "setting LIBHCOLL_REDUCE", "setting LIBHCOLL_BARRIER", "dissemination:radix=2", "one rank only", "the first calls on a"):
            self.assertIn(words, result.stderr)

    def test_a_file_takes_the_report_as_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            result = job(2, SWEEP, LIBHCOLL_REPORT=path, **OWN)
            self.assertEqual((result.returncode, lines_of_library(result)), (0, []))
            with open(path, encoding="utf-8") as file:
                entries = json.load(file)["collectives"]
        for collective in ("bcast", "reduce", "allreduce", "barrier"):
            own = [entry for entry in entries if entry["collective"] == collective and entry["ran"] != "vendor"]
            self.assertTrue(own, collective)
            for entry in own:
                self.assertGreater(entry["calls"], 0)
                self.assertGreater(entry["seconds"], 0)
                self.assertEqual(entry["because"], f"setting LIBHCOLL_{collective.upper()}")
                self.assertLessEqual(entry["smallest_bytes"] * entry["calls"], entry["bytes"])

    def test_an_operation_that_the_algorithm_cannot_order_is_the_vendors_and_the_report_says_so(self):
        reason = "does not commute"
        for layout, algorithm, passed_on in (("2x2:cyclic", "nap", True), ("2x2", "nap", False), ("2x2", "ring", True),
                                             ("2x2:cyclic", "recursive_doubling", False)):
            result = job(4, [*SWEEP, "--only", "allreduce"], LIBHCOLL_REPORT="1", LIBHCOLL_SETUP_CALLS="1",
                         LIBHCOLL_TOPOLOGY=layout, **{**OWN, "LIBHCOLL_ALLREDUCE": algorithm})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(reason in result.stderr, passed_on, (layout, algorithm, result.stderr))

    def test_reproducible_bits_begin_with_the_first_call(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            command = [COLLECTIVES, "--bits-file", os.path.join(folder, "bits"), "--seed", "1"]
            result = job(3, command, LIBHCOLL_REPORT=path, LIBHCOLL_REPRODUCIBLE="1", LIBHCOLL_ALLREDUCE="han")
            self.assertEqual(result.returncode, 0, result.stderr)
            warnings = lines_of_library(result)
            self.assertEqual(len(warnings), 1, result.stderr)
            self.assertIn("runs reproducible instead", warnings[0])
            with open(path, encoding="utf-8") as file:
                entries = [entry for entry in json.load(file)["collectives"] if entry["collective"] == "allreduce"]
        self.assertTrue(entries)
        for entry in entries:
            self.assertTrue(entry["ran"].startswith("reproducible"), entry)
            self.assertEqual(entry["because"], "setting LIBHCOLL_REPRODUCIBLE")

    def test_a_report_that_cannot_be_written_is_printed(self):
        result = job(2, SWEEP, LIBHCOLL_REPORT="/nowhere/report.json", **OWN)
        self.assertEqual(result.returncode, 0)
        self.assertIn("cannot be written to /nowhere/report.json", result.stderr)
        self.assertIn("collectives on own algorithms", result.stderr)

    def test_a_library_that_is_switched_off_runs_nothing(self):
        result = job(2, SWEEP, LIBHCOLL_REPORT="1", LIBHCOLL_ENABLE="0", **OWN)
        self.assertEqual(result.returncode, 0)
        self.assertIn("0 collectives on own algorithms", result.stderr)


class Programs(unittest.TestCase):
    def test_hcoll_info_shows_the_job(self):
        result = job(3, [INFO, "--json"], preload=None, LIBHCOLL_BCAST="chain:sends=7")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertTrue(document["launched"])
        self.assertEqual([rank["rank"] for rank in document["ranks"]], [0, 1, 2])
        self.assertTrue(all(rank["host"] and rank["cores"] > 0 for rank in document["ranks"]))
        self.assertEqual([library["flavour"] for library in document["mpi_libraries"]], [FLAVOUR])
        bcast = next(setting for setting in document["settings"] if setting["name"] == "LIBHCOLL_BCAST")
        self.assertIn("sends=7", bcast["value"])

    def test_hcoll_info_works_alone_and_warns_of_mistakes(self):
        environment = {**os.environ, "LIBHCOLL_BCAST": "chian"}
        result = subprocess.run([INFO], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ("did you mean chain?", "LIBHCOLL_SETUP_CALLS=auto", "recursive_doubling", "MPI libraries found"):
            self.assertIn(words, result.stdout)

    def test_the_settings_reference_is_what_the_code_says(self):
        result = subprocess.run([INFO, "--reference"], capture_output=True, text=True, timeout=60, check=True)
        with open(os.path.join(SOURCE, "docs", "settings.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), result.stdout, "write it anew: hcoll-info --reference > docs/settings.md")

    def test_hcoll_bench_compares_both_and_checks_both(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bench.json")
            command = [BENCH, "--sizes", "8,1k", "--repetitions", "3", "--block-time", "0.2ms", "--no-bound", "--json", path]
            result = job(2, command, **OWN)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                json.load(file)
        self.assertRegex(result.stdout, r"barrier\s+-\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+")
        self.assertRegex(result.stdout, r"allreduce\s+1024\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+")

    def test_hcoll_bench_has_no_reduction_to_do_in_place(self):
        result = job(2, [BENCH, "--collectives", "gather,bcast", "--in-place"], **OWN)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual((result.stdout + result.stderr).count("--in-place is of reduce and allreduce, and --collectives names neither"), 1)

    def test_hcoll_bench_says_so_when_the_library_is_not_there(self):
        result = job(2, [BENCH, "--sizes", "8", "--repetitions", "3", "--block-time", "0.2ms", "--no-bound"], preload=None)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("not preloaded", (result.stdout + result.stderr).lower())


class Tools(unittest.TestCase):
    """A profiling tool whose calls go past what was preloaded before it."""
    TOOL = os.path.join(BUILD, "test", "lib", f"libprofiler-past-{FLAVOUR}.so")
    PROGRAM = [os.path.join(BUILD, "test", "bin", f"profiled.{FLAVOUR}")]
    SETTINGS = {"LIBHCOLL_SETUP_CALLS": "1", "LIBHCOLL_PROGRESS": "thread", "LIBHCOLL_TOPOLOGY": "2x1",
                "LIBHCOLL_REPORT": "1", "LIBHCOLL_LOG": "debug"}

    def run_with(self, preload, **settings):
        result = job(2, self.PROGRAM, preload=":".join(preload), **{**self.SETTINGS, **settings})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn("warning", result.stderr)
        self.assertIn("calls: 2 nodes", result.stderr)  # LIBHCOLL_TOPOLOGY
        self.assertIn("inits=1", result.stdout)
        past = [line for line in lines_of_library(result) if "past libhcoll.so" in line]
        allreduces = int(re.search(r"allreduces=(\d+)", result.stdout).group(1))
        own = int(re.search(r"(\d+) collectives on own algorithms", result.stderr).group(1))
        return past, allreduces, own

    def test_below_the_library_it_sees_what_is_passed_on_and_that_is_said_once(self):
        past, allreduces, own = self.run_with([LIBRARY, self.TOOL], **OWN)
        self.assertEqual(len(past), 1)
        self.assertIn(os.path.basename(self.TOOL), past[0])
        self.assertEqual((allreduces, own), (0, 40))
        _, allreduces, own = self.run_with([LIBRARY, self.TOOL], **{**OWN, "LIBHCOLL_ALLREDUCE": "vendor"})
        self.assertEqual((allreduces, own), (10, 30))

    def test_above_the_library_it_sees_all(self):
        self.assertEqual(self.run_with([self.TOOL, LIBRARY], **OWN), ([], 10, 40))

    def test_tools_that_call_by_name_see_all_from_below(self):
        tool = os.path.join(BUILD, "test", "lib", f"libmpiprofiler-{FLAVOUR}.so")
        result = job(2, self.PROGRAM, preload=f"{LIBRARY}:{tool}", **OWN)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(lines_of_library(result), [])
        self.assertIn("allreduce=10", result.stdout)


class Faults(unittest.TestCase):
    def test_a_killed_rank_ends_the_job(self):
        suicide = ('if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]; then timeout -s KILL 2 "$@"; kill -9 $$; fi; '
                   'exec "$@"')
        begin = time.monotonic()
        result = job(3, ["/bin/sh", "-c", suicide, "sh", ORACLE, "--seconds", "100"], **OWN)
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("HANG", result.stdout + result.stderr)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertFalse([name for name in os.listdir("/dev/shm") if "hcoll" in name])


if __name__ == "__main__":
    unittest.main(verbosity=2)
