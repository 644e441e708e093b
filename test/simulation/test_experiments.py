# SPDX-License-Identifier: BSD-3-Clause
"""An experiment of bench/experiments with few ranks, and what the experiments are to show."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from simulation import BUILD, SOURCE, results

EXPERIMENTS = os.path.join(SOURCE, "bench", "experiments")


# Command and options, and what it leaves in the folder of results.
SMALL = {
    "nap": ([], {"nap_ranks.svg", "nap_sizes_256.svg", "nap_ranks_256.json"}),
    "noise": (["--collective", "bcast"], {"noise_bcast.svg", "noise_bcast.json", "noise_bcast_apart_10.json"}),
    "peers": (["--machine", "stampede2", "--collective", "bcast"], {"bcast_stampede2.svg", "bcast_stampede2.json"}),
    "tuning": ([], {"tuning_bcast.json", "tuning_allreduce.svg", "predicted_bcast.svg", "tuning.md"}),
    "scaling": (["--collective", "bcast"], {"scaling_bcast.svg", "scaling_bcast_64.json"}),
}


class Experiments(unittest.TestCase):
    def test_they_run_and_write_what_they_say(self):
        for name, (options, files) in SMALL.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, os.path.join(EXPERIMENTS, name), "--small", "--build", BUILD, "--results",
                                       folder, *options], capture_output=True, text=True, timeout=500, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertLessEqual(files, set(os.listdir(folder)))


class Claims(unittest.TestCase):
    def test_nap_is_ahead_at_powers_of_the_ranks_per_node(self):
        rows, _ = results("--machine", "bluewaters", "--ranks", 256, "--collective", "allreduce", "--bytes", "8,256",
                          "--algorithm", "nap", "--algorithm", "smp", "--algorithm", "recursive_doubling")
        for row in rows:
            self.assertEqual(row["own_algorithm"], "nap", json.dumps(row))

    def test_nap_with_pieces_is_ahead_of_it_whole_and_of_smp(self):
        pieces, *others = names = ("nap:exchange=rabenseifner", "nap", "smp")
        rows, _ = results("--machine", "bluewaters", "--ranks", 256, "--collective", "allreduce", "--bytes", "2k,4k",
                          *[word for name in names for word in ("--algorithm", name)])
        for row in rows:
            for other in others:
                self.assertLess(1.2 * row["own"][pieces], row["own"][other], json.dumps(row))

    def test_a_pause_holds_up_less_where_segments_do_not_wait(self):
        tree = "topology_tree:segment=512k"
        subjects = {f"{tree},sends=8,receives=8": None, f"{tree},sends=1,receives=1,window=1": None}
        rows, data = results("--machine", "cori", "--ranks", 128, "--collective", "bcast", "--bytes", "4M", "--back-to-back",
                             "--repetitions", 50, "--noise", 10, *[word for name in subjects for word in ("--algorithm", name)])
        events, waiting = (rows[0]["own"][name] for name in subjects)
        self.assertTrue(data["options"]["back_to_back"], json.dumps(data["options"]))
        self.assertLess(3 * events, waiting)

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
