# SPDX-License-Identifier: BSD-3-Clause
"""What is built, installed into a folder that is gone after the tests."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["HCOLL_TEST_BUILD"])
SOURCE = pathlib.Path(os.environ["HCOLL_TEST_SOURCE"])
FLAVOURS = os.environ["HCOLL_TEST_FLAVOURS"].split()
MPIEXEC = {flavour: os.environ[f"HCOLL_MPIEXEC_{flavour}"] for flavour in FLAVOURS}


def skip(reason):
    """Ends the whole test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(77)


@contextlib.contextmanager
def installation():
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "anywhere"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
        yield prefix


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LIBHCOLL_", "LD_PRELOAD", "SLURM_", "PMI", "OMPI_"))}
    return {**kept, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}
