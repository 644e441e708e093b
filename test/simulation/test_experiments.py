"""An experiment of bench/experiments with few ranks, and what the experiments are to show."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from simulation import BUILD, SOURCE, results

EXPERIMENTS = os.path.join(SOURCE, "bench", "experiments")


class Experiments(unittest.TestCase):
    def test_it_runs_and_writes_what_it_says(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, os.path.join(EXPERIMENTS, "nap"), "--small", "--build", BUILD, "--results",
                                   folder], capture_output=True, text=True, timeout=500, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("nap is ahead by", done.stdout)
            self.assertLessEqual({"nap_ranks.svg", "nap_sizes.svg", "nap_ranks_256.json"}, set(os.listdir(folder)))


class Claims(unittest.TestCase):
    def test_nap_is_ahead_at_powers_of_the_ranks_per_node(self):
        rows, _ = results("--machine", "bluewaters", "--ranks", 256, "--collective", "allreduce", "--bytes", "8,256",
                          "--algorithm", "nap", "--algorithm", "smp", "--algorithm", "recursive_doubling")
        for row in rows:
            self.assertEqual(row["own_algorithm"], "nap", json.dumps(row))

    def test_a_long_bcast_is_ahead_of_every_peer(self):
        rows, _ = results("--machine", "stampede2", "--ranks", 192, "--collective", "bcast", "--bytes", "4M", "--best",
                          "--peers", "ompi,mvapich2,impi")
        self.assertEqual(len(rows[0]["peers"]), 3)
        self.assertLess(rows[0]["own_seconds"], min(rows[0]["peers"].values()))
        self.assertLess(rows[0]["own_seconds"], 1.3 * rows[0]["bound_seconds"])

    def test_a_long_allreduce_is_ahead_of_every_peer(self):
        rows, _ = results("--machine", "stampede2", "--ranks", 96, "--collective", "allreduce", "--bytes", "4M", "--algorithm",
                          "multi_leader:leaders=16,node=binomial,segment=0", "--peers", "ompi,mvapich2,impi")
        self.assertEqual(len(rows[0]["peers"]), 3)
        self.assertLess(rows[0]["own_seconds"], min(rows[0]["peers"].values()))
        self.assertLess(rows[0]["own_seconds"], 1.3 * rows[0]["bound_seconds"])


unittest.main()
