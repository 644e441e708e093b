# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm that hcoll-info knows, with real data on simulated ranks: every rank's result is compared."""

import json
import subprocess
import sys
import unittest

from simulation import INFO, SMALL, run

RANKS = sys.argv.pop(1)
# Elements that no segment or chunk divides, a message in one piece, and one by rendezvous.
SIZES = {"bcast": "1,1000,4099,40000", "reduce": "8,1000,4104,40000", "allreduce": "8,1000,4104,40000", "barrier": "8"}
# Both roots for all sizes with few ranks; with more of them each root has half of the sizes.
BOTH_ROOTS = int(RANKS) <= 12


def algorithms():
    listed = json.loads(subprocess.run([INFO, "--json"], capture_output=True, text=True, check=True, timeout=60).stdout)
    for algorithm in listed["algorithms"]:
        if algorithm["collective"] in SIZES:
            has_segment = any(parameter["name"] == "segment" for parameter in algorithm["parameters"])
            yield algorithm["collective"], algorithm["name"] + (":segment=1k" if has_segment else "")


class Results(unittest.TestCase):
    def test_every_algorithm_gives_the_right_result(self):
        by_collective = {}
        for collective, text in algorithms():
            by_collective.setdefault(collective, []).append(text)
        self.assertEqual(set(by_collective), set(SIZES))
        for collective, texts in by_collective.items():
            self.assertGreaterEqual(len(texts), 4)
            sizes = SIZES[collective]
            by_root = {"0": sizes}
            if collective in ("bcast", "reduce"):
                each = sizes.split(",")
                by_root = {"0": sizes, "5": sizes} if BOTH_ROOTS else {"0": ",".join(each[::2]), "5": ",".join(each[1::2])}
            for root, sizes in by_root.items():
                with self.subTest(collective=collective, root=root):
                    options = [word for text in texts for word in ("--algorithm", text)]
                    done = run("--machine", SMALL, "--ranks", RANKS, "--collective", collective, "--bytes", sizes, "--root", root, "--check", *options)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_peers_give_the_right_result(self):
        for collective in ("bcast", "reduce", "allreduce"):
            # SimGrid's impi aborts in some Allreduces.
            peers = "ompi,mvapich2" if collective == "allreduce" else "ompi,mvapich2,impi"
            done = run("--machine", SMALL, "--ranks", RANKS, "--collective", collective, "--bytes", SIZES[collective],
                       "--peers", peers, "--check")
            for word in ("wrong", "ended", "no result", "for ever"):
                self.assertNotIn(word, done.stdout + done.stderr)


unittest.main()
