# SPDX-License-Identifier: BSD-3-Clause
"""compare_header.py sees numbers, layouts and functions that differ, and names what is missing.

usage: test_compare_header.py ABI_HEADER
"""

import os
import subprocess
import sys
import tempfile
import unittest

HEADER = sys.argv.pop(1)
COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_header.py")


class CompareHeader(unittest.TestCase):
    def compare(self, *changes):
        """With a copy in which each of `changes` (a text and what takes its place) is made."""
        with open(HEADER, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/mpi.h", "w", encoding="utf-8") as file:
                file.write(text)
            job = subprocess.run([sys.executable, COMPARE, HEADER, f"{folder}/mpi.h"], capture_output=True, text=True, check=False)
        self.assertEqual(job.stderr, "")
        return job.returncode, job.stdout

    def test_alike(self):
        status, text = self.compare()
        self.assertEqual(status, 0, text)
        self.assertEqual(len(text.splitlines()), 1, text)

    def test_a_number(self):
        status, text = self.compare(("((MPI_Datatype)0x209)", "((MPI_Datatype)0x20a)"), ("#define MPI_ROOT (-4)", "#define MPI_ROOT (-5)"))
        self.assertEqual(status, 1)
        self.assertIn("MPI_INT is 521, and 522 in", text)
        self.assertIn("MPI_ROOT is -4, and -5 in", text)
        self.assertIn("2 of them different", text)

    def test_the_layout_of_a_status(self):
        status, text = self.compare(("    int MPI_TAG;\n    int MPI_ERROR;\n", "    int MPI_ERROR;\n    int MPI_TAG;\n"))
        self.assertEqual(status, 1)
        self.assertIn("MPI_TAG is 4, and 8 in", text)

    def test_a_function(self):
        status, text = self.compare(("Bcast, (void* buffer, int count,", "Bcast, (void* buffer, MPI_Count count,"))
        self.assertEqual(status, 1)
        self.assertIn("MPI_Bcast is", text)

    def test_what_is_missing_is_named_and_no_difference(self):
        status, text = self.compare(("#define MPI_ERR_ABI 62\n", ""), ("HCOLL_MPI_FUNCTION(double, Wtime, (void))\n", ""))
        self.assertEqual(status, 0, text)
        self.assertIn("has no MPI_ERR_ABI", text)
        self.assertIn("has no MPI_Wtime", text)


if __name__ == "__main__":
    unittest.main()
