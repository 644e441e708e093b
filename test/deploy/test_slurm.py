# SPDX-License-Identifier: BSD-3-Clause
"""hcollrun and Slurm itself: two nodes of a cluster that this test starts on this machine, and ends."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import installed

MISSING = [name for name in ("slurmctld", "slurmd", "srun", "sinfo", "sbatch") if shutil.which(name) is None]
# What Slurm is told to start each MPI library's ranks by.
INTERFACE = {"mpich": "pmi2", "openmpi": "pmix"}
CONFIGURATION = """
ClusterName=hcoll
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
SlurmctldPort={ports[0]}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4
"""


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for each in taken:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        contexts = contextlib.ExitStack()
        cls.addClassCleanup(contexts.close)
        cls.folder = pathlib.Path(contexts.enter_context(tempfile.TemporaryDirectory()))
        cls.prefix = contexts.enter_context(installed.installation())
        (cls.folder / "state").mkdir()
        configuration = cls.folder / "slurm.conf"
        host = socket.gethostname().split(".")[0]
        configuration.write_text(CONFIGURATION.format(host=host, folder=cls.folder, ports=free_ports(3)), encoding="utf-8")
        cls.environment = installed.environment(SLURM_CONF=str(configuration))
        cls.daemons = []
        cls.addClassCleanup(cls.end_daemons)
        for name, *arguments in (("slurmctld", "-D"), ("slurmd", "-D", "-N", "n1"), ("slurmd", "-D", "-N", "n2")):
            with open(cls.folder / f"{name}.{arguments[-1]}.log", "w", encoding="utf-8") as log:
                cls.daemons.append(subprocess.Popen([name, *arguments, "-f", configuration], stdout=log, stderr=subprocess.STDOUT))
        until = time.monotonic() + 60
        while not cls.is_up():
            if time.monotonic() > until:
                said = "; ".join(cls.last_lines())
                cls.end_daemons()
                contexts.close()
                installed.skip(f"Slurm does not start here: {said}")
            time.sleep(0.2)

    @classmethod
    def is_up(cls):
        nodes = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%t"], capture_output=True, text=True, env=cls.environment)
        return nodes.stdout.split() == ["idle", "idle"]

    @classmethod
    def last_lines(cls):
        return [(log.read_text(encoding="utf-8").splitlines() or ["nothing said"])[-1] for log in cls.folder.glob("*.log")]

    @classmethod
    def end_daemons(cls):
        subprocess.run(["scancel", "--user", "root"], capture_output=True, env=cls.environment, timeout=60)
        for each in cls.daemons:
            each.terminate()
        for each in cls.daemons:
            try:
                each.wait(timeout=30)
            except subprocess.TimeoutExpired:
                each.kill()

    def run_here(self, *words, **more):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, env={**self.environment, **more})

    def hcollrun(self, *words, **more):
        return self.run_here(self.prefix / "bin" / "hcollrun", *words, **more)

    def bench(self, flavour):
        return ["--mpi=" + INTERFACE[flavour], "-n", "2", self.prefix / "bin" / f"hcoll-bench.{flavour}", "--verify", "--sizes", "8,4k"]

    def test_jobs_of_each_mpi_have_the_library(self):
        known = self.run_here("srun", "--mpi=list")
        for flavour in installed.FLAVOURS:
            with self.subTest(flavour):
                if INTERFACE[flavour] not in (known.stdout + known.stderr).split():
                    self.skipTest(f"this Slurm has no {INTERFACE[flavour]}")
                result = self.hcollrun("--report", "srun", *self.bench(flavour))
                said = result.stdout + result.stderr
                self.assertEqual(result.returncode, 0, said)
                self.assertRegex(said, "all right")
                self.assertRegex(said, r"[1-9]\d* collectives on own algorithms")

    def test_what_a_job_does_not_export_is_exported(self):
        library = f"{self.prefix.resolve()}/lib/libhcoll.so"
        say = "echo $LD_PRELOAD,$LIBHCOLL_REPORT,$MINE,$OTHER"
        mine = {"MINE": "1", "OTHER": "2"}
        for options, more, expected in ([[], {}, ",1,2"], [["--export=ALL"], {}, ",1,2"], [["--export=NONE"], {}, ",,"], [["--export=MINE"], {}, ",1,"],
                                        [["--export", "MINE=3"], {}, ",3,"], [[], {"SLURM_EXPORT_ENV": "MINE"}, ",1,"],
                                        [[], {"SLURM_EXPORT_ENV": "NONE"}, ",,"]):
            with self.subTest(options=options, more=more):
                result = self.hcollrun("--quiet", "--report", "srun", *options, "-N2", "-n", "2", "/bin/sh", "-c", say, **mine, **more)
                self.assertEqual(result.stdout.split(), [f"{library},1{expected}"] * 2, result.stderr)

    def test_in_a_batch_job(self):
        script = self.folder / "job"
        out = self.folder / "out"
        script.write_text(f"#!/bin/sh\n{self.prefix}/bin/hcollrun --quiet srun -N2 -n 2 printenv LD_PRELOAD\n", encoding="utf-8")
        result = self.run_here("sbatch", "--wait", "-N2", "-n", "2", f"--output={out}", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(out.read_text(encoding="utf-8").split(), [f"{self.prefix.resolve()}/lib/libhcoll.so"] * 2)


if __name__ == "__main__":
    if MISSING:
        installed.skip(f"there is no {MISSING[0]} (Debian's slurmctld, slurmd, slurm-client)")
    if os.geteuid() != 0:
        installed.skip("slurmd needs root")
    unittest.main(verbosity=2)
