# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of simulation share: running scripts/simulate."""

import json
import os
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["HCOLL_TEST_BUILD"], os.environ["HCOLL_TEST_SOURCE"]
SIMULATE = os.path.join(SOURCE, "scripts", "simulate")
INFO = os.path.join(BUILD, "bin", "hcoll-info")
SMALL = os.path.join(SOURCE, "simulation", "machines", "test.json")  # 4 ranks on a node, made-up figures


def words(*options):
    command = [option for option in options[:1] if option == "tune"]
    return [sys.executable, SIMULATE, *command, "--build", BUILD, *map(str, options[len(command):])]


def run(*options, seconds=300):
    return subprocess.run(words(*options), capture_output=True, text=True, timeout=seconds, check=False)


def results(*options):
    """The rows of the JSON document, and the document."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = run(*options, "--json", file.name)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        with open(file.name, encoding="utf-8") as written:
            data = json.load(written)
    return data["results"], data
