# SPDX-License-Identifier: BSD-3-Clause
"""LIBHCOLL_WATCHDOG over several nodes: processes ask one another over the network, and name who is waited for on another node.

usage: test_watch.py FLAVOUR
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import cluster
from cluster import BUILD, LIBRARY, environment, launcher, program, words

FLAVOUR = sys.argv[1]


class Watch(unittest.TestCase):
    def test_a_rank_of_another_node_is_named(self):
        # Nodes have a /tmp of their own.
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            until = os.path.join(folder, "go-on")
            line = words("run", "--mpi", FLAVOUR, *launcher(FLAVOUR), "--timeout", "60", "--preload", LIBRARY, "--nodes", "3", "--ppn", "2", "--quiet")
            for setting in ["LIBHCOLL_SETUP_CALLS=1", "LIBHCOLL_WATCHDOG=300ms", "LIBHCOLL_ALLREDUCE=han"]:
                line += ["--env", setting]
            line += ["--", program("hanging", FLAVOUR), "--case", "late", "--until", until]
            with subprocess.Popen(line, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True) as job:
                text = ""
                while "What is waited for" not in text:
                    said = job.stdout.readline()
                    self.assertTrue(said, text)
                    text += said
                with open(until, "w", encoding="utf-8"):
                    pass
                text += job.stdout.read()
                self.assertEqual(job.wait(), 0, text)
            # Who has only just come waits for nobody yet: while all are such, a report says so, and another one follows.
            self.assertEqual(text.count("LIBHCOLL_WATCHDOG"), 1 + text.count("No rank waits"), text)
            self.assertEqual(text.count("What is waited for"), 1, text)
            self.assertRegex(text, r"has been in MPI_Allreduce for .* 6 ranks:")
            self.assertRegex(text, r"ranks 0-4: in MPI_Allreduce of MPI_SUM.*running han")
            self.assertRegex(text, r"rank 5: in no call that is watched")
            self.assertRegex(text, r"What is waited for: rank 5\n")
            # Over the network: nobody is silent.
            self.assertFalse(re.search("does not answer|is gone", text), text)


if __name__ == "__main__":
    cluster.main()
