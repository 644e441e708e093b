# SPDX-License-Identifier: BSD-3-Clause
"""libhcoll.so without an MPI: arguments arrive untouched, and whatever it does not know it leaves alone, in one line."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, FOLDER = os.environ["HCOLL_TEST_LIBRARY"], os.environ["HCOLL_TEST_FOLDER"]
EXPECTED = ("Reduce 0x1 0x2 3 34359738368 85899345920 6 240518168576\n= 12\n"
            "Bcast 0x1 2 3 4 5\nBcast 0x6 7 8 9 10\n= 22\n"
            "Pcontrol 7 text 2.500\nPcontrol 484800\nPcontrol 484801\nPcontrol 484802\nPcontrol 484799\n")


def run(program, *arguments, preload=LIBRARY, cwd=None, **environment):
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("LIBHCOLL_", "PMI", "OMPI_", "SLURM_", "MPI_LOCAL"))}
    return subprocess.run([os.path.join(FOLDER, program) if "/" not in program else program, *arguments],
                          env={**variables, "LD_PRELOAD": preload, **environment}, cwd=cwd, capture_output=True,
                          text=True, timeout=60)


class Stub(unittest.TestCase):
    def expect(self, result, error_words, lines=1):
        self.assertEqual(result.stdout, EXPECTED)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), lines, result.stderr)
        for word in error_words:
            self.assertIn(word, result.stderr)

    def test_an_unknown_mpi_gets_its_arguments_untouched_and_one_line_says_so(self):
        self.expect(run("fake_program.unknown"), ["libhcoll: ", "Some other MPI 1.0"])

    def test_only_one_rank_speaks(self):
        self.expect(run("fake_program.unknown", PMI_RANK="1"), [], lines=0)
        self.expect(run("fake_program.unknown", PMI_RANK="0"), ["Some other MPI"])

    def test_the_standard_abi_has_a_backend_of_its_own_whoever_made_the_library(self):
        self.expect(run("fake_program.abi"), ["stay with the MPI library", "fake_mpi_abi", "PMPI_"])
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(LIBRARY, folder)
            self.expect(run("fake_program.abi", preload=alone), [folder + "/libhcoll-mpi-abi.so"])

    def test_another_version_of_the_standard_abi_is_left_alone(self):
        self.expect(run("fake_program.next_abi"), ["not one that libhcoll knows"])

    def test_a_known_mpi_that_lacks_functions_stays_in_charge(self):
        self.expect(run("fake_program.lacking"), ["stay with the MPI library", "PMPI_"])

    def test_a_module_that_was_loaded_locally_finds_its_own_mpi(self):
        self.expect(run("fake_loader", os.path.join(FOLDER, "fake_module.so")), ["Some other MPI 1.0"])

    def test_a_missing_backend_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(LIBRARY, folder)
            self.expect(run("fake_program.lacking", preload=alone), [folder + "/libhcoll-openmpi.so"])

    def test_what_is_wrong_on_a_node_is_said_there(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(LIBRARY, folder)
            self.expect(run("fake_program.lacking", preload=alone, PMI_RANK="3", MPI_LOCALRANKID="0"), [folder + "/libhcoll-openmpi.so", f"(on {os.uname().nodename})"])
            self.expect(run("fake_program.lacking", preload=alone, PMI_RANK="3", MPI_LOCALRANKID="1"), [], lines=0)
            self.expect(run("fake_program.lacking", preload=alone, PMI_RANK="3"), [], lines=0)
        self.expect(run("fake_program.lacking", PMI_RANK="3", MPI_LOCALRANKID="0"), ["stay with the MPI library", "PMPI_", "(on "])

    def test_a_backend_of_another_build_is_refused_before_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            mixed = shutil.copy(LIBRARY, folder)
            backend = shutil.copy(os.path.join(os.path.dirname(LIBRARY), "libhcoll-openmpi.so"), folder)
            with open(backend, "rb") as file:
                code = file.read()
            with open(backend, "wb") as file:
                file.write(re.sub(rb"(\d+\.\d+\.\d+-)[0-9a-f]{12}\0", rb"\g<1>000000000000\0", code))
            self.expect(run("fake_program.lacking", preload=mixed), [backend + " is of another build (", "-000000000000) than libhcoll.so"])
            for length, whole in ((0, 0), (100, 0), (len(code) // 2, 0), (len(code) - 1, 0), (len(code) // 2, len(code))):
                os.truncate(backend, length)
                os.truncate(backend, max(length, whole))
                self.expect(run("fake_program.lacking", preload=mixed), [backend + " is there in part only"])
                with open(backend, "wb") as file:
                    file.write(code)

    def test_of_two_that_are_preloaded_one_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            other = shutil.copy(LIBRARY, folder)
            self.expect(run("fake_program.unknown", preload=f"{LIBRARY} {other}"), [other + " is preloaded, too", "not one that libhcoll knows"], lines=2)
            self.expect(run("fake_program.unknown", preload=f"{LIBRARY} {LIBRARY}"), ["not one that libhcoll knows"])
            renamed = shutil.copy(LIBRARY, os.path.join(folder, "faster.so"))
            self.expect(run("fake_program.unknown", preload=f"{LIBRARY} {renamed}"), [renamed + " is preloaded, too", "not one that libhcoll knows"], lines=2)

    def test_a_setting_says_what_the_mpi_library_is(self):
        self.expect(run("fake_program.unknown", LIBHCOLL_MPI="mpich"), ["has no PMPI_"])
        for name in ("openmpi", "OpenMPI"):
            self.expect(run("fake_program.unnamed", LIBHCOLL_MPI=name), ["has no PMPI_"])
        self.expect(run("fake_program.abi", LIBHCOLL_MPI="abi"), ["has no PMPI_"])
        self.expect(run("fake_program.lacking", LIBHCOLL_MPI="none"), [], lines=0)
        self.expect(run("fake_program.lacking", LIBHCOLL_MPI="auto"), ["has no PMPI_"])
        # What it could be is said by whoever reads the settings, and the MPI library is recognized as ever.
        self.expect(run("fake_program.lacking", LIBHCOLL_MPI="mpich2"), ["has no PMPI_"])

    def test_an_abi_that_the_mpi_library_cannot_have_is_refused(self):
        for program, names in (("unknown", ("openmpi", "abi")), ("unnamed", ("mpich", "abi")), ("abi", ("mpich", "openmpi")), ("next_abi", ("mpich", "openmpi", "abi"))):
            for name in names:
                self.expect(run(f"fake_program.{program}", LIBHCOLL_MPI=name), [f"LIBHCOLL_MPI={name} names an ABI that this MPI library has not", "stay with it"])

    def test_a_relative_preload_finds_its_backend_after_chdir(self):
        folder, name = os.path.split(LIBRARY)
        self.expect(run("fake_program.lacking", "chdir", preload="./" + name, cwd=folder), ["has no PMPI_"])

    def test_a_function_that_the_mpi_lacks_ends_the_program_as_the_loader_would(self):
        result = run("fake_program.missing")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stdout, EXPECTED)
        self.assertIn("called MPI_Bcast_c, which this MPI library does not have", result.stderr)

    def test_a_stand_in_for_mpi_without_a_version_is_left_alone(self):
        self.expect(run("fake_program.stand_in"), ["has no MPI_Get_library_version", "stay with it"])

    def test_a_call_without_any_mpi_ends_the_program(self):
        result = run("fake_program.none")
        self.assertEqual(result.returncode, 127)
        self.assertIn("no MPI library is loaded", result.stderr)

    def test_a_process_without_mpi_notices_nothing(self):
        for command in (["/bin/true"], ["/bin/sh", "-c", "exit 0"], [sys.executable, "-c", "pass"]):
            result = run(*command, LIBHCOLL_REPORT="1", LIBHCOLL_BCAST="nonsense")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), command)


if __name__ == "__main__":
    unittest.main(verbosity=2)
