# SPDX-License-Identifier: BSD-3-Clause
"""Placements of communicators, as the library logs them in whole jobs under a real MPI, and as hcoll-info draws them."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from test_job import BUILD, FLAVOUR, INFO, job, lines_of_library, on_rank, skip_where_different

TOPOLOGY = os.path.join(BUILD, "test", "bin", f"topology.{FLAVOUR}")
SETTINGS = {"LIBHCOLL_LOG": "debug", "LIBHCOLL_SETUP_CALLS": "1", "LIBHCOLL_BCAST": "chain"}
BIND = """import os, sys
cores = sys.argv[1].split(",")
rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
os.sched_setaffinity(0, {int(cores[rank % len(cores)])})
os.execv(sys.argv[2], sys.argv[2:])
"""
IN_ORDER, NOT_IN_ORDER = "in rank order", "not in rank order"


class Placements(unittest.TestCase):
    def run_job(self, ranks, case="world", command=None, **settings):
        """The placements logged, as (ranks, text) in the order of the log; and the warnings."""
        command = command or [TOPOLOGY, "--case", case]
        result = job(ranks, command, **{**SETTINGS, **settings})
        if result.returncode == 77:
            self.skipTest(result.stdout)
        if "unable to reach each other" in result.stdout + result.stderr:
            self.skipTest("Open MPI's processes do not reach each other by TCP on this host")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = lines_of_library(result)
        found = [re.search(r"a communicator of (\d+) ranks is set up after \d+ calls: (.*)$", line) for line in lines]
        placements = [(int(match.group(1)), match.group(2)) for match in found if match]
        return placements, [line for line in lines if "warning" in line]

    def check(self, expected, ranks, case="world", **arguments):
        placements, warnings = self.run_job(ranks, case, **arguments)
        self.assertEqual(sorted(placements), sorted(expected))
        self.assertEqual(warnings, [])

    def check_with_one_warning(self, words, ranks, **arguments):
        placements, warnings = self.run_job(ranks, **arguments)
        self.assertEqual(len(warnings), 1, warnings)
        for word in words:
            self.assertIn(word, warnings[0])
        self.check_one_node(placements, ranks)

    def check_one_node(self, placements, ranks):
        """Where these tests really run; how many sockets that has, and who is bound, is the machine's affair."""
        self.assertEqual(len(placements), 1)
        self.assertEqual(placements[0][0], ranks)
        self.assertRegex(placements[0][1], rf"^1 node, \d+ sockets?, {ranks} ranks, ")

    def test_the_real_placement_is_one_node(self):
        placements, warnings = self.run_job(4)
        self.check_one_node(placements, 4)
        self.assertEqual(warnings, [])

    def test_a_grid_is_followed(self):
        for layout, expected in (
                ("4x1x2", f"4 nodes, 1 socket each, 2 ranks per node, {IN_ORDER}"),
                ("4x2", f"4 nodes, 1 socket each, 2 ranks per node, {IN_ORDER}"),
                ("4x1x2:cyclic", f"4 nodes, 1 socket each, 2 ranks per node, {NOT_IN_ORDER}"),
                ("4x2x1:reverse", f"4 nodes, 2 sockets each, 2 ranks per node, {IN_ORDER}"),
                ("3x1x3", f"3 nodes, 1 socket each, 2 to 3 ranks per node, {IN_ORDER}"),
                ("8x1", f"8 nodes, 1 socket each, 1 rank per node, {IN_ORDER}"),
                ("1x2x4", f"1 node, 2 sockets, 8 ranks, {IN_ORDER}")):
            with self.subTest(layout):
                self.check([(8, expected)], 8, LIBHCOLL_TOPOLOGY=layout)

    def test_an_uneven_list_is_followed(self):
        self.check([(5, f"3 nodes, 1 to 2 sockets each, 1 to 3 ranks per node, {NOT_IN_ORDER}")], 5,
                   LIBHCOLL_TOPOLOGY="2.0,1.0,7.0.3,2.1,2.0")

    def test_a_table_of_ranks_is_shared_by_the_node(self):
        for layout, expected in (("2.0,1.0,7.0.3,2.1", ["node"]), ("2x2", [])):
            with self.subTest(layout):
                result = job(4, [TOPOLOGY], **{**SETTINGS, "LIBHCOLL_TOPOLOGY": layout})
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertEqual(re.findall(r"takes a table of \d+ bytes in each (\w+)", result.stderr), expected)

    def test_a_file_that_only_rank_0_can_read_is_followed_by_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layout")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# node socket core\n0 0 0\n1 0 0\n\n1 0 1\n")
            expected = [(3, f"2 nodes, 1 socket each, 1 to 2 ranks per node, {IN_ORDER}")]
            self.check(expected, 3, LIBHCOLL_TOPOLOGY=path)
            self.check(expected, 3, command=on_rank(0, f"LIBHCOLL_TOPOLOGY={path}", [TOPOLOGY]),
                       LIBHCOLL_TOPOLOGY="/nowhere/layout")

    def test_a_layout_that_is_too_small_gives_one_warning_and_the_real_placement(self):
        self.check_with_one_warning(["2 places for 3 ranks"], 3, LIBHCOLL_TOPOLOGY="2x1x1")

    def test_a_file_that_is_missing_or_wrong_gives_one_warning_and_the_real_placement(self):
        self.check_with_one_warning(["/nowhere/layout", "cannot be read", "auto stays in force"], 3,
                                    LIBHCOLL_TOPOLOGY="/nowhere/layout")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("0 0 0\n0 0 1\n1 zero 0\n")
            file.flush()
            self.check_with_one_warning([f"line 3 of the file {file.name}", "'zero'"], 3, LIBHCOLL_TOPOLOGY=file.name)

    def test_a_library_that_is_switched_off_asks_for_no_placement(self):
        self.check([], 3, LIBHCOLL_ENABLE="0", LIBHCOLL_TOPOLOGY="1x1")

    def test_a_duplicate_has_the_placement_of_the_whole(self):
        self.check(2 * [(4, f"2 nodes, 1 socket each, 2 ranks per node, {NOT_IN_ORDER}")], 4, "dup",
                   LIBHCOLL_TOPOLOGY="2x1x2:cyclic")

    def test_a_split_communicator_has_the_places_of_its_own_ranks(self):
        self.check([(8, f"4 nodes, 1 socket each, 2 ranks per node, {IN_ORDER}"),
                    (4, f"4 nodes, 1 socket each, 1 rank per node, {IN_ORDER}"),
                    (4, f"4 nodes, 1 socket each, 1 rank per node, {IN_ORDER}")], 8, "split",
                   LIBHCOLL_TOPOLOGY="4x1x2")
        self.check([(5, f"2 nodes, 1 to 2 sockets each, 1 to 4 ranks per node, {NOT_IN_ORDER}"),
                    (3, f"2 nodes, 1 to 2 sockets each, 1 to 2 ranks per node, {IN_ORDER}"),  # ranks 4 2 0
                    (2, f"1 node, 1 socket, 2 ranks, {IN_ORDER}")], 5, "split",  # ranks 3 1
                   LIBHCOLL_TOPOLOGY="0.0,0.0,0.1,0.0,1.0")

    def test_merged_halves_have_the_places_of_their_ranks(self):
        self.check([(4, f"2 nodes, 1 socket each, 1 to 3 ranks per node, {IN_ORDER}"),  # ranks 0 1 2 | 3
                    (4, f"2 nodes, 1 socket each, 1 to 3 ranks per node, {NOT_IN_ORDER}")], 4, "merge",  # 2 | 3 | 0 1
                   LIBHCOLL_TOPOLOGY="0,0,0,1")

    def are_more_than_cores(self, cores):
        """Does the library find more ranks than cores where two of them are bound to these in turn?"""
        bound = [sys.executable, "-c", BIND, ",".join(str(core) for core in cores), TOPOLOGY]
        result = job(2, bound if cores else [TOPOLOGY], **SETTINGS)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        line = [line for line in lines_of_library(result) if "the ranks of a node share" in line]
        self.assertEqual(len(line), 1, result.stdout + result.stderr)
        return "there are more of them than can run at the same time" in line[0]

    def test_two_ranks_that_are_bound_to_one_core_are_more_than_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        self.assertTrue(self.are_more_than_cores(cores[:1]))
        siblings = f"/sys/devices/system/cpu/cpu{cores[-1]}/topology/thread_siblings_list"
        with open(siblings, encoding="ascii") as file:
            is_other_core = str(cores[0]) not in re.split("[,-]", file.read().strip())
        if len(cores) < 2 or not is_other_core:
            self.skipTest("there is no second core")
        self.assertFalse(self.are_more_than_cores([cores[0], cores[-1]]))
        self.assertFalse(self.are_more_than_cores([]))

    def test_parents_and_children_are_set_up_apart_and_never_together(self):
        # The shared memory of Open MPI 4 does not reach processes that are started later.
        placements, warnings = self.run_job(2, "spawn", OMPI_MCA_btl="self,tcp")
        self.assertEqual(warnings, [])
        self.assertNotIn(4, dict(placements))
        self.assertRegex(dict(placements)[2], r"^1 node, \d+ sockets?, 2 ranks, ")

    @unittest.skipIf(FLAVOUR == "openmpi", "Open MPI 4 has no sessions")
    def test_communicators_of_sessions_are_gathered(self):
        skip_where_different(self, "sessions")
        sessions = [os.path.join(BUILD, "test", "bin", f"sessions.{FLAVOUR}")]
        placements, warnings = self.run_job(3, command=sessions)
        self.assertEqual(warnings, [])
        self.assertEqual(len(placements), 4)
        for placement in placements:
            self.check_one_node([placement], 3)
        placements, warnings = self.run_job(3, command=sessions, LIBHCOLL_TOPOLOGY="2x1x2")
        self.assertEqual(warnings, [])
        self.assertEqual(placements, 4 * [(3, f"2 nodes, 1 socket each, 1 to 2 ranks per node, {IN_ORDER}")])
        # Only rank 0 has the layout; and one that is too small is told once.
        placements, warnings = self.run_job(3, command=on_rank(0, "LIBHCOLL_TOPOLOGY=3x1", sessions))
        self.assertEqual(placements, 4 * [(3, f"3 nodes, 1 socket each, 1 rank per node, {IN_ORDER}")])
        placements, warnings = self.run_job(3, command=sessions, LIBHCOLL_TOPOLOGY="2x1x1")
        self.assertEqual(len(warnings), 1)
        self.check_one_node(placements[:1], 3)


class Drawings(unittest.TestCase):
    def info(self, *arguments, **settings):
        launched = ("LIBHCOLL_", "PMI_", "OMPI_COMM_WORLD_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(launched)}
        return subprocess.run([INFO, "--topology", *arguments], env={**environment, **settings}, capture_output=True,
                              text=True, timeout=60)

    def test_a_layout_is_drawn_without_a_job(self):
        expected = ("node 0: 3 ranks\n  socket 0: ranks 0,2 on cores 0,1\n  socket 1: rank 4 on core 2\n"
                    "node 1: 2 ranks\n  socket 0: ranks 1,3 on cores 0,1\n\n"
                    "2 nodes, 1 to 2 sockets each, 2 to 3 ranks per node, not in rank order\n")
        for result in (self.info("--layout", "2x2x2:cyclic", "--ranks", "5"),
                       self.info("--ranks", "5", LIBHCOLL_TOPOLOGY="2x2x2:cyclic")):
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, ""))
        self.assertIn("2 nodes, 1 socket each, 128 ranks per node", self.info("--layout", "2x128").stdout)

    def test_without_a_layout_this_process_is_drawn(self):
        result = self.info()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^node 0 \(host .+\): 1 rank\n  socket 0: rank 0 on ")

    def test_mistakes_are_told(self):
        for arguments, words in ((["--layout", "4"], "is no layout"), (["--ranks", "3"], "--layout"),
                                 (["--layout", "2x2", "--ranks", "5"], "4 places for 5 ranks"),
                                 (["--layout", "/nowhere/layout"], "cannot be read")):
            result = self.info(*arguments)
            self.assertEqual((result.returncode, result.stdout), (1, ""), arguments)
            self.assertIn(words, result.stderr)
        result = self.info(LIBHCOLL_TOPOLOGY="4x")
        self.assertEqual(result.returncode, 0)
        self.assertIn("auto stays in force", result.stderr)

    def test_a_job_is_drawn_by_rank_0(self):
        result = job(3, [INFO, "--topology"], preload=None)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^node 0 \(host [^)]+\): 3 ranks\n")
        self.assertEqual(len(re.findall("1 node, ", result.stdout)), 1)
        result = job(3, [INFO, "--topology", "--json"], preload=None, LIBHCOLL_TOPOLOGY="2x2:reverse")
        document = json.loads(result.stdout)
        self.assertTrue(document["virtual"])
        self.assertEqual([(rank["rank"], rank["node"], rank["core"]) for rank in document["placement"]],
                         [(0, 0, 0), (1, 1, 1), (2, 1, 0)])
        result = job(3, [INFO, "--topology"], preload=None, LIBHCOLL_TOPOLOGY="1x1")
        self.assertIn("1 place for 3 ranks", result.stderr)
        self.assertIn("3 ranks", result.stdout)

    def test_the_list_of_ranks_has_their_nodes(self):
        document = json.loads(job(3, [INFO, "--json"], preload=None).stdout)
        self.assertEqual([rank["node"] for rank in document["ranks"]], [0, 0, 0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
