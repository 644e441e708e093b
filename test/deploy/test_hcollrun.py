# SPDX-License-Identifier: BSD-3-Clause
"""hcollrun: launchers that it knows get their options, others an environment; real jobs under each MPI."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import installed

HCOLLRUN = installed.BUILD / "bin" / "hcollrun"
LIBRARY = installed.BUILD / "lib" / "libhcoll.so"
# A launcher that says which it is, and else what it was called with.
FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo '{version}'; exit 0; fi
for word; do echo "word: $word"; done
env | grep -E '^(LD_PRELOAD|LIBHCOLL_|SLURM_)' | sort
exit 7
"""


class Launchers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_it(self, name, *arguments, options=(), version="", **environment):
        """(words that the launcher got, its environment)"""
        launcher = pathlib.Path(self.folder.name) / name
        launcher.write_text(FAKE.format(version=version), encoding="utf-8")
        launcher.chmod(0o755)
        result = subprocess.run([HCOLLRUN, *options, launcher, *arguments], capture_output=True, text=True, timeout=60,
                                env=installed.environment(**environment))
        self.assertEqual(result.returncode, 7, result.stderr)
        self.said = result.stderr
        lines = result.stdout.splitlines()
        return [line[6:] for line in lines if line.startswith("word: ")], [line for line in lines if not line.startswith("word: ")]

    def test_each_gets_its_own_options_and_stays_without_the_library(self):
        program = ["-n", "4", "./app", "--export=mine", "two words", ""]
        expected = {
            ("mpirun", "HYDRA build details:"): ["-genv", "LD_PRELOAD", str(LIBRARY), "-genv", "LIBHCOLL_REPORT", "1"],
            ("mpiexec", "Intel(R) MPI Library for Linux* OS"): ["-genv", "LD_PRELOAD", str(LIBRARY), "-genv", "LIBHCOLL_REPORT", "1"],
            ("mpirun", "mpirun (Open MPI) 4.1.4"): ["-x", f"LD_PRELOAD={LIBRARY}", "-x", "LIBHCOLL_REPORT=1"],
            ("mpiexec.x", "mpiexec.x (OpenRTE) 4.1.4"): ["-x", f"LD_PRELOAD={LIBRARY}", "-x", "LIBHCOLL_REPORT=1"],
            ("prun", "prun (PRRTE) 3.0.2"): ["-x", f"LD_PRELOAD={LIBRARY}", "-x", "LIBHCOLL_REPORT=1"],
            ("prterun", ""): ["-x", f"LD_PRELOAD={LIBRARY}", "-x", "LIBHCOLL_REPORT=1"],
            ("aprun", ""): ["-e", f"LD_PRELOAD={LIBRARY}", "-e", "LIBHCOLL_REPORT=1"],
            ("jsrun", ""): ["-E", f"LD_PRELOAD={LIBRARY}", "-E", "LIBHCOLL_REPORT=1"],
        }
        for (name, version), options in expected.items():
            words, environment = self.run_it(name, *program, options=["--report"], version=version)
            self.assertEqual(words, [*options, *program])
            self.assertEqual(environment, [])
            self.assertIn("LIBHCOLL_REPORT=1", self.said)

    def test_flux_gets_them_behind_its_command(self):
        words, _ = self.run_it("flux", "run", "-n2", "./app")
        self.assertEqual(words, ["run", f"--env=LD_PRELOAD={LIBRARY}", "-n2", "./app"])
        words, _ = self.run_it("flux", "--parent", "mini", "run", "-n2", "./app")
        self.assertEqual(words, ["--parent", "mini", "run", f"--env=LD_PRELOAD={LIBRARY}", "-n2", "./app"])

    def test_srun_passes_on_what_it_has_and_what_its_export_names(self):
        settings = [f"LD_PRELOAD={LIBRARY}", "LIBHCOLL_TOPOLOGY=0,1,1"]
        words, environment = self.run_it("srun", "-n", "3", "-l", "--", "./app", LIBHCOLL_TOPOLOGY="0,1,1")
        self.assertEqual((words, environment), (["-n", "3", "-l", "--", "./app"], settings))
        ours = "LD_PRELOAD,LIBHCOLL_TOPOLOGY"
        for given, wanted in ((["--export=ALL,A=1"], [f"--export=ALL,A=1,{ours}"]), (["--export", "NONE"], ["--export", ours]),
                              (["-l", "--exclusive"], ["-l", "--exclusive"]), (["--x11"], ["--x11"]), (["--bcast"], ["--bcast"]), (["--time", "5", "-n4"], ["--time", "5", "-n4"])):
            words, environment = self.run_it("srun", "-n", "3", *given, "./app", "--export=mine", "--export", "x", LIBHCOLL_TOPOLOGY="0,1,1")
            self.assertEqual(words, ["-n", "3", *wanted, "./app", "--export=mine", "--export", "x"])
            self.assertEqual(environment, settings)
        words, _ = self.run_it("srun", "-n", "1", "./a", ":", "--export=NONE", "./b", LIBHCOLL_TOPOLOGY="0,1,1")
        self.assertEqual(words, ["-n", "1", "./a", ":", f"--export={ours}", "./b"])
        _, environment = self.run_it("srun", "./a", SLURM_EXPORT_ENV="A,B")
        self.assertIn("SLURM_EXPORT_ENV=A,B,LD_PRELOAD", environment)

    def test_several_programs_have_the_options_in_front_of_each(self):
        parts = ["-n", "1", "./a", ":", "-n", "1", "./b", "x:", ":", "./c"]
        for name, version, options in (("mpirun", "mpirun (Open MPI) 4", ["-x", f"LD_PRELOAD={LIBRARY}"]), ("aprun", "", ["-e", f"LD_PRELOAD={LIBRARY}"])):
            words, _ = self.run_it(name, *parts, version=version)
            self.assertEqual(words, [*options, *parts[:4], *options, *parts[4:9], *options, parts[9]])
        words, _ = self.run_it("mpirun", *parts, version="HYDRA")
        self.assertEqual(words, ["-genv", "LD_PRELOAD", str(LIBRARY), *parts])

    def test_an_unknown_launcher_gets_an_environment_and_it_is_said(self):
        words, environment = self.run_it("lrun", "-n", "4", "./app", options=["--trace=there"])
        self.assertEqual(words, ["-n", "4", "./app"])
        self.assertEqual(environment, [f"LD_PRELOAD={LIBRARY}", "LIBHCOLL_TRACE=there"])
        self.assertIn("no launcher that hcollrun knows", self.said)

    def test_switches_are_settings_and_the_last_one_holds(self):
        _, environment = self.run_it("lrun", options=["--verify=100", "--check", "--tune=file", "--watchdog", "--set", "LIBHCOLL_BCAST=a:b=c",
                                                      "--set=LIBHCOLL_REPORT=0", "--report"], LIBHCOLL_VERIFY="7", LIBHCOLL_LOG="info")
        self.assertEqual(environment[1:], ["LIBHCOLL_BCAST=a:b=c", "LIBHCOLL_CHECK=1", "LIBHCOLL_LEARN=file", "LIBHCOLL_LOG=info",
                                           "LIBHCOLL_REPORT=1", "LIBHCOLL_TUNE=learn", "LIBHCOLL_VERIFY=100", "LIBHCOLL_WATCHDOG=60s"])

    def test_what_is_preloaded_already_comes_first_and_nothing_twice(self):
        tool = "/usr/lib/x86_64-linux-gnu/libm.so.6" if os.path.exists("/usr/lib/x86_64-linux-gnu/libm.so.6") else "libm.so.6"
        words, _ = self.run_it("aprun", options=["--quiet"], LD_PRELOAD=tool)
        self.assertEqual(words, ["-e", f"LD_PRELOAD={tool}:{LIBRARY}"])
        words, _ = self.run_it("aprun", LD_PRELOAD=f"{LIBRARY} {tool}")
        self.assertEqual(words, ["-e", f"LD_PRELOAD={LIBRARY} {tool}"])


class Mistakes(unittest.TestCase):
    def expect(self, status, words, *arguments):
        result = subprocess.run([HCOLLRUN, *arguments], capture_output=True, text=True, timeout=60, env=installed.environment())
        self.assertEqual(result.returncode, status)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(words, result.stderr)

    def test_each_is_named_in_one_line(self):
        self.expect(2, "what is to be started?")
        self.expect(2, "what is to be started?", "--report")
        self.expect(2, "there is no option --reprot", "--reprot", "mpirun")
        for text in ("A", "A-B=c", "A B=c", "=c", "1A=c"):
            self.expect(2, f"'{text}' is not NAME=VALUE", "--set", text, "mpirun")
        self.expect(2, "what is to be preloaded, too, belongs into the environment", "--set", "LD_PRELOAD=/x.so", "mpirun")
        self.expect(2, "there is no file /nowhere/libhcoll.so", "--library", "/nowhere/libhcoll.so", "mpirun")
        self.expect(2, "there is no file /tmp;", "--library", "/tmp", "mpirun")
        self.expect(2, "--library needs a file", "--library=", "mpirun")
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libhcoll.so"
            whole = LIBRARY.read_bytes()
            for length in (0, 100, 5000, len(whole) // 4):
                library.write_bytes(whole[:length])
                self.expect(2, f"the loader does not take {library}", "--library", library, "mpirun")
        # What else is preloaded is somebody else's.
        result = subprocess.run([HCOLLRUN, "--dry-run", "true"], capture_output=True, text=True, timeout=60,
                                env=installed.environment(LD_PRELOAD="/nowhere/libtool.so"))
        self.assertEqual(result.returncode, 0, result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder) / "mpirun_rsh"
            launcher.symlink_to(shutil.which("true"))
            self.expect(2, f"mpirun_rsh its options LD_PRELOAD={LIBRARY} LIBHCOLL_REPORT=1 program", "--report", launcher, "-np", "2", "./app")
        self.expect(127, "there is no program type", "type", "true")
        self.expect(127, "there is no program nowhere", "nowhere", "-n", "2")


class Jobs(unittest.TestCase):
    def test_an_installed_one_finds_its_library_and_runs_a_job_under_each_mpi(self):
        with installed.installation() as prefix, tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "hcollrun"
            link.symlink_to(prefix / "bin" / "hcollrun")
            for flavour in installed.FLAVOURS:
                result = subprocess.run(
                    [link, "--report", "--set", "LIBHCOLL_ALLREDUCE=shared", installed.MPIEXEC[flavour], "-n", "2",
                     prefix / "bin" / f"hcoll-bench.{flavour}", "--collectives", "allreduce", "--sizes", "8", "--repetitions", "3", "--no-bound"],
                    capture_output=True, text=True, timeout=120, env=installed.environment())
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stderr, rf"hcollrun: by {'-x' if flavour == 'openmpi' else '-genv'}, ")
                self.assertIn(f"{prefix.resolve()}/lib", result.stderr)
                self.assertRegex(result.stdout + result.stderr, r"[1-9]\d* collectives on own algorithms")

    @unittest.skipUnless("openmpi" in installed.FLAVOURS, "there is no Open MPI")
    def test_two_programs_have_it_both(self):
        # A job in which some ranks lack it computes wrong results.
        job = [installed.MPIEXEC["openmpi"], "--oversubscribe", "-n", "1", "printenv", "LD_PRELOAD", ":", "-n", "1", "printenv", "LD_PRELOAD"]
        options = {"capture_output": True, "text": True, "timeout": 120}
        with installed.installation() as prefix:
            alone = subprocess.run([name.replace("LD_PRELOAD", "HOME") for name in job], env=installed.environment(), **options)
            if alone.returncode != 0:
                self.skipTest(f"Open MPI's mpiexec itself fails with two programs ({alone.returncode})")
            result = subprocess.run([prefix / "bin" / "hcollrun", "--quiet", *job], env=installed.environment(), **options)
            self.assertEqual(result.stdout.split(), [f"{prefix.resolve()}/lib/libhcoll.so"] * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
