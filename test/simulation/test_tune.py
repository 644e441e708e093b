# SPDX-License-Identifier: BSD-3-Clause
"""scripts/simulate tune: a table that the library then goes by, how near it comes to the best, and mistakes."""

import json
import os
import signal
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
        quick = ["--nodes", "2,4", "--output", self.table, "--collectives", "bcast", "--algorithms", "binomial"]
        late = tune(*quick, "--sizes", "8,4k", "--time", "0.000001")
        self.assertEqual(late.returncode, 1, late.stdout + late.stderr)
        self.assertIn("--resume goes on", late.stdout)
        # Ctrl-C when the second point begins: the first one is kept.
        with subprocess.Popen(simulation.words("tune", "--machine", SMALL, *quick, "--sizes", "8:1M", "--resume"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            begun = [process.stdout.readline().strip() for _ in range(2)]
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0, output + errors)
        self.assertEqual(begun, ["2 x 4 bcast 8", "2 x 4 bcast 16"])
        # Mistakes, too, lose nothing of it.
        wrong = tune(*quick, "--sizes", "1x", "--resume")
        self.assertEqual(wrong.returncode, 2, wrong.stdout + wrong.stderr)
        self.assertIn("--resume goes on", wrong.stderr)
        wrong = tune(*quick, "--sizes", "8:1M", "--resume", "--vendor", "mpich")
        self.assertEqual(wrong.returncode, 2, wrong.stdout + wrong.stderr)
        self.assertIn("and mpich for the vendor's: name another --output", wrong.stderr)
        last = tune(*quick, "--sizes", "8:1M", "--resume")
        self.assertEqual(last.returncode, 0, last.stdout + last.stderr)
        self.assertNotIn(begun[0], last.stdout.splitlines())
        with open(self.table, encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["entries"]), 36)
        self.assertEqual(os.listdir(self.folder.name), ["test.json"])
        # What is whole is not simulated again, and other layouts stay.
        more = tune("--nodes", "2", "--output", self.table, "--collectives", "bcast", "--algorithms", "binomial", "--sizes", "8:2M", "--resume")
        self.assertEqual(more.returncode, 0, more.stdout + more.stderr)
        self.assertEqual(more.stdout.split("\n")[:-1], ["2 x 4 bcast 2M"])
        with open(self.table, encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["entries"]), 37)
        again = tune("--nodes", "2", "--output", self.table, "--collectives", "bcast", "--algorithms", "binomial", "--sizes", "8")
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        with open(self.table + ".old", encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["entries"]), 37)
        # Who forgets --resume finds what an earlier run has left under another name.
        os.makedirs(self.table + ".parts")
        with open(os.path.join(self.table + ".parts", "2x4-known.txt"), "w", encoding="utf-8"):
            pass
        again = tune("--nodes", "2", "--output", self.table, "--collectives", "bcast", "--algorithms", "binomial", "--sizes", "8")
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)),
                         ["test.json", "test.json.old", "test.json.old2", "test.json.parts.old"])

    def test_a_simulation_that_was_killed_left_no_wrong_time(self):
        known = os.path.join(self.folder.name, "known.txt")
        # hcoll-simulate-tune itself: scripts/simulate removes what it has kept when all is done.
        command = [os.path.join(simulation.BUILD, "bin", "hcoll-simulate-tune"), "--machine", SMALL, "--nodes", "2", "--ranks-per-node", "4",
                   "--collectives", "bcast", "--algorithms", "binomial", "--sizes", "8,4k", "--output", self.table, "--known", known]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        with open(known, encoding="utf-8") as file:
            whole = file.read()
        # In the middle of the last number of a line, and of a line that has no number of all ranks.
        for end in (len(whole) - 6, whole.rindex("\t") + 8):
            with open(known, "w", encoding="utf-8") as file:
                file.write(whole[:end])
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            with open(known, encoding="utf-8") as file:
                self.assertEqual(sorted(file), sorted(whole.splitlines(keepends=True)))
        other = subprocess.run([*command, "--vendor", "mpich"], capture_output=True, text=True, check=False)
        self.assertEqual(other.returncode, 2, other.stdout + other.stderr)
        self.assertIn("another machine, layout or vendor", other.stderr)

    def test_explain_simulates_nothing(self):
        done = tune("--nodes", "2", "--output", self.table, "--explain", "--collectives", "bcast", "--sizes", "64k")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("bcast of 64k bytes on 2 x 4: ", done.stdout)
        self.assertIn(" left out: ", done.stdout)
        self.assertNotIn("shared", done.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])

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
        self.assertIsNone(machine["memory_rate"])  # two pairs do not fill it
        self.assertEqual(machine["network"]["eager_below_bytes"], 16384)
        for task in findings["tasks"]:
            hidden = (task["inter"] + task["intra"] - task["together"]) / min(task["inter"], task["intra"])
            self.assertAlmostEqual(task["overlap"], min(max(hidden, 0), 1), places=5)
        self.assertGreater(max(task["overlap"] for task in findings["tasks"]), 0.5)
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
                (["--nodes", "2", "--time", "soon"], "--time: write 90, 10m or 2h"),
                (["--nodes", "2", "--output", "/proc/none/table.json"], "cannot be written")):
            with self.subTest(part):
                done = tune(*options)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(done.stderr.count(part), 1, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
        done = run("--machine", SMALL, "--ranks", 4, "--collective", "bcast", "--algorithm", "binomial", "--table", "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--table, --rules, --vendor and --learn are for --algorithm auto", done.stderr)
        done = run("--machine", SMALL, "--ranks", 4, "--collective", "bcast", "--algorithm", "auto", "--table", "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no table none.json", done.stderr)


if __name__ == "__main__":
    assert simulation.BUILD
    unittest.main()
