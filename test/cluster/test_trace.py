# SPDX-License-Identifier: BSD-3-Clause
"""LIBHCOLL_TRACE over several nodes: hosts have names of their own, messages cross the network, and a late rank of another node is named.

usage: test_trace.py FLAVOUR
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import cluster
from cluster import BUILD, LIBRARY, environment, launcher, program, words

FLAVOUR = sys.argv[1]


class Trace(unittest.TestCase):
    def test_late_ranks_and_levels_over_three_nodes(self):
        # Nodes have a /tmp of their own.
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            line = words("run", "--mpi", FLAVOUR, *launcher(FLAVOUR), "--timeout", "60", "--preload", LIBRARY, "--nodes", "3", "--ppn", "2", "--quiet")
            for setting in ["LIBHCOLL_SETUP_CALLS=1", f"LIBHCOLL_TRACE={folder}/trace", "LIBHCOLL_ALLREDUCE=han", "LIBHCOLL_TUNE=off",
                            f"LIBHCOLL_REPORT={folder}/report.json"]:
                line += ["--env", setting]
            # Late by more than any rank that waits for a core, where other programs compute beside this one.
            line += ["--", program("traced", FLAVOUR), "--late", "4", "--late-by", "60"]
            job = subprocess.run(line, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, check=False)
            self.assertEqual(job.returncode, 0, job.stdout)
            self.assertNotIn("LIBHCOLL", job.stdout)
            info = subprocess.run([os.path.join(BUILD, "bin", "hcoll-info"), "--trace", f"{folder}/trace", "--json"], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(info.returncode, 0, info.stderr)
            document = json.loads(info.stdout)
            self.assertEqual((document["ranks"], document["traced_ranks"], document["nodes"], document["incomplete"]), (6, 6, 3, 0))
            self.assertEqual(document["late_ranks"][0]["rank"], 4, document["late_ranks"])
            levels = {level["level"]: level["messages"] for level in document["levels"]}
            self.assertGreater(levels["network"], 0)
            self.assertGreater(levels["socket"] + levels["node"], 0)
            hosts = set()
            for name in os.listdir(f"{folder}/trace"):
                with open(f"{folder}/trace/{name}", encoding="utf-8") as file:
                    hosts.add(json.load(file)["otherData"]["host"])
            self.assertEqual(len(hosts), 3, hosts)
            with open(f"{folder}/report.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["late_ranks"][0]["rank"], 4)


if __name__ == "__main__":
    cluster.main()
