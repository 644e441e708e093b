# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments share: where things are, and running scripts/simulate."""

import argparse
import json
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
RESULTS = os.path.join(SOURCE, "docs", "results")
sys.path.insert(0, os.path.join(SOURCE, "simulation"))

from hcoll_simulation.runs import end_with_this_program  # noqa: E402


def parser(text):
    made = argparse.ArgumentParser(description=text)
    made.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIR", help="where the library was built")
    made.add_argument("--results", default=RESULTS, metavar="DIR", help="where results and pictures go")
    made.add_argument("--timeout", type=float, default=1200, metavar="SECONDS", help="for each subject")
    made.add_argument("--jobs", type=int, default=1, metavar="N", help="simulations that run at once")
    made.add_argument("--small", action="store_true", help="few ranks and sizes, to see that everything runs")
    return made


def simulate(options, name, *words):
    """One table, with its data and picture in the results; prints it and returns the data."""
    os.makedirs(options.results, exist_ok=True)
    path = os.path.join(options.results, name)
    line = [sys.executable, os.path.join(SOURCE, "scripts", "simulate"), "--build", options.build, "--timeout",
            str(options.timeout), "--jobs", str(options.jobs), "--json", path + ".json", *map(str, words)]
    done = subprocess.run(line, check=False, preexec_fn=end_with_this_program)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    with open(path + ".json", encoding="utf-8") as file:
        return json.load(file)
