"""scripts/simulate tune: a table that the library then goes by, how near it comes to the best, and mistakes."""

import json
import os
import subprocess
import tempfile
import unittest

import simulation
from simulation import INFO, SMALL, results, run

QUICK = ["--collectives", "bcast,allreduce", "--sizes", "8,64,512,4k,32k,1M", "--algorithms", "han,nap,multi_leader,binomial"]


def tune(*options):
    return run("tune", "--machine", SMALL, *options)


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.table = os.path.join(self.folder.name, "test.json")

    def test_what_was_tuned_is_chosen_and_never_slower_than_the_vendor(self):
        done = tune("--nodes", "2,4", "--output", self.table, *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.table, encoding="utf-8") as file:
            table = json.load(file)
        self.assertEqual(len(table["entries"]), 24)
        self.assertTrue(table["command"].startswith("scripts/simulate tune"), table["command"])
        drawn = subprocess.run([INFO, "--table", self.table], capture_output=True, text=True, check=False)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertIn("4 x 4", drawn.stdout)
        self.assertEqual(os.listdir(self.folder.name), ["test.json"])
        # Also between the lengths that were tuned, and at a number of nodes that was not.
        for ranks in (8, 12, 16):
            for collective in ("bcast", "allreduce"):
                rows, _ = results("--machine", SMALL, "--ranks", ranks, "--collective", collective, "--bytes", "8,1536,4k,24k,1M",
                                  "--algorithm", "auto", "--table", self.table, "--vendor", "ompi", "--peers", "ompi")
                for row in rows:
                    # What was not measured is interpolated.
                    near = 1.001 if ranks != 12 and row["bytes"] in (8, 4096, 1 << 20) else 1.05
                    self.assertLessEqual(row["own_seconds"], near * row["peers"]["ompi"], json.dumps(row))
                self.assertNotEqual(rows[-1]["chosen"], "vendor")
                self.assertLess(1.2 * rows[-1]["own_seconds"], rows[-1]["peers"]["ompi"])

    def test_resume_goes_on_where_it_ended(self):
        quick = ["--nodes", "2", "--output", self.table, "--collectives", "bcast", "--algorithms", "binomial", "--sizes"]
        first = tune(*quick, "8,4k", "--time", "0.000001")
        self.assertEqual(first.returncode, 1, first.stdout + first.stderr)
        self.assertIn("--resume goes on", first.stdout)
        second = tune(*quick, "8,4k", "--resume")
        self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
        with open(self.table, encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["entries"]), 2)

    def test_without_a_table_the_vendor_keeps_what_is_only_modelled(self):
        common = ["--machine", SMALL, "--ranks", 16, "--collective", "bcast", "--bytes", "8,1M", "--algorithm", "auto"]
        rows, _ = results(*common, "--vendor", "ompi", "--peers", "ompi")
        for row in rows:
            self.assertEqual(row["chosen"], "vendor")
            self.assertAlmostEqual(row["own_seconds"], row["peers"]["ompi"], delta=1e-12)
        rows, _ = results(*common, "--rules", "model")
        self.assertTrue(all(row["chosen"] != "vendor" for row in rows), json.dumps(rows))


class Methods(unittest.TestCase):
    def test_by_tasks_it_comes_as_near_the_best_as_exhaustively_in_a_fraction_of_the_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            done = tune("--nodes", "8", "--compare", "--report", path, "--output", os.path.join(folder, "none.json"), "--collectives",
                        "bcast", "--algorithms", "han", "--sizes", "4:16M:8", "--vary", "segment=0/16k/64k/512k", "--vary",
                        "network=flat/chain/binary/binomial/two_tree", "--vary", "node=flat/chain/binomial", "--vary", "in_turn=no")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        exhaustive, _, task, both = report["compared"]
        self.assertLess(task["seconds"], 0.5 * exhaustive["seconds"])
        self.assertLess(both["seconds"], 0.2 * exhaustive["seconds"])
        for way, near in ((task, 1.15), (both, 1.25)):
            for point in way["points"]:
                self.assertLessEqual(point["seconds"], near * point["best"], json.dumps(point))
        (findings,) = report["layouts"]
        # What the machine's file says.
        machine = findings["machine"]
        self.assertAlmostEqual(machine["network"]["seconds_per_byte"], 1 / 5e9, delta=2e-12)
        self.assertAlmostEqual(machine["injection_rate"], 10e9, delta=0.5e9)
        self.assertAlmostEqual(machine["memory_rate"] or 16e9, 16e9, delta=1e9)
        self.assertEqual(machine["eager_below_bytes"], 16384)
        self.assertTrue(all(0 <= task["overlap"] <= 1 for task in findings["tasks"]))
        self.assertTrue(findings["tasks"])


class Mistakes(unittest.TestCase):
    def test_each_is_one_sentence(self):
        for options, part in (
                (["--nodes", "0"], "--nodes takes numbers from 1 on"),
                (["--nodes", "two"], "--nodes takes numbers with commas between"),
                (["--nodes", "1", "--ranks-per-node", "1"], "one rank has no collectives to tune"),
                (["--nodes", "2", "--ranks-per-node", "5"], "room for 1 to 4 ranks"),
                (["--nodes", "2", "--collectives", "gather"], "gather is no collective that is simulated"),
                (["--nodes", "2", "--vendor", "none"], "is no selector of SimGrid"),
                (["--nodes", "2", "--sizes", "1x"], "is no size"),
                (["--nodes", "2", "--output", "/proc/none/table.json"], "cannot be written")):
            with self.subTest(part):
                done = tune(*options)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(done.stderr.count(part), 1, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
        done = run("--machine", SMALL, "--ranks", 4, "--collective", "bcast", "--algorithm", "binomial", "--table", "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--table, --rules and --vendor are for --algorithm auto", done.stderr)
        done = run("--machine", SMALL, "--ranks", 4, "--collective", "bcast", "--algorithm", "auto", "--table", "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no table none.json", done.stderr)


if __name__ == "__main__":
    assert simulation.BUILD
    unittest.main()
