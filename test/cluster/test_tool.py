# SPDX-License-Identifier: BSD-3-Clause
"""scripts/cluster itself: what a node has of its own, what is passed on, and that nothing stays behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import cluster
from cluster import BUILD, CLUSTER, FLAVOURS, SOURCE, run, words

FLAVOUR = FLAVOURS[0]
PLAIN = ["--no-preload", "--quiet"]


def shell(script, *options, flavour=FLAVOUR, **arguments):
    return run(flavour, [*PLAIN, *options], ["/bin/sh", "-c", script], **arguments)


def processes_with(mark):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if mark.encode() in file.read() and int(entry) != os.getpid():
                    found.append(int(entry))
        except OSError:
            pass
    return found


def what_could_stay():
    """Other tests have files in these folders as well."""
    found = {name for folder in ("/tmp", "/dev/shm", "/run", "/sys/fs/cgroup", "/sys/fs/cgroup/cpu") if os.path.isdir(folder)
             for name in os.listdir(folder) if "cluster" in name}
    return found | {name for name in os.listdir("/sys/class/net") if name == "switch" or name.startswith("port")}


class Nodes(unittest.TestCase):
    def test_each_node_has_its_own_of_everything(self):
        kinds = ("net", "uts", "ipc", "mnt", "pid")
        script = ("touch /tmp/mine.$(hostname) /dev/shm/mine.$(hostname); sleep 0.5; echo seen: $(hostname) "
                  "$(cd /tmp; ls mine*) $(cd /dev/shm; ls mine*) "
                  + " ".join(f"$(readlink /proc/self/ns/{kind})" for kind in kinds))
        result = shell(script, "--nodes", "3", "--ppn", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = sorted({line for line in result.stdout.splitlines() if line.startswith("seen:")})
        self.assertEqual(len(lines), 3, result.stdout)
        for node, line in enumerate(lines):
            self.assertTrue(line.startswith(f"seen: node{node} mine.node{node} mine.node{node} "), line)
        here = {os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}
        everywhere = [word for line in lines for word in line.split() if "[" in word] + list(here)
        self.assertEqual(len(everywhere), len(set(everywhere)), everywhere)

    def test_rate_and_delay_hold(self):
        probe = [sys.executable, os.path.join(SOURCE, "test", "cluster", "network_probe.py"), str(5_000_000)]
        result = run(FLAVOUR, [*PLAIN, "--nodes", "2", "--rate", "50mbit", "--delay", "3ms"], probe)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        measured = dict(re.findall(r"(\w+) ([\d.]+)", result.stdout))
        self.assertGreaterEqual(float(measured["shortest_round_trip_us"]), 6000)
        self.assertLess(float(measured["round_trip_us"]), 25000)  # the machine may be busy
        self.assertLess(float(measured["mbit_per_s"]), 52)
        self.assertGreater(float(measured["mbit_per_s"]), 15)

    def test_jobs_at_the_same_time_do_not_meet(self):
        line = [*words("run", "--mpi", FLAVOUR, *PLAIN, "--nodes", "2"), "--", "/bin/sh", "-c",
                "touch /tmp/$(hostname).$$; sleep 1; ls /tmp"]
        jobs = [subprocess.Popen(line, env=cluster.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for job in jobs:
            output, errors = job.communicate(timeout=100)
            self.assertEqual(job.returncode, 0, errors)
            self.assertEqual(len(re.findall(r"^node\d\.", output, re.MULTILINE)), 2, output)


class Passing(unittest.TestCase):
    def test_status_output_and_input(self):
        for flavour in FLAVOURS:
            with self.subTest(flavour):
                result = shell("echo out; echo err >&2", "--nodes", "2", flavour=flavour)
                self.assertEqual((result.stdout.count("out"), result.stderr.count("err\n")), (2, 2))
                # Launchers end the other ranks with the first that fails, whatever those have yet to say.
                self.assertEqual(shell("exit 7", "--nodes", "2", flavour=flavour).returncode, 7)
                line = [*words("run", "--mpi", flavour, *PLAIN, "--nodes", "1"), "--", "cat"]
                result = subprocess.run(line, env=cluster.environment(), input="some text\n", capture_output=True,
                                        text=True, timeout=60)
                self.assertEqual(result.stdout, "some text\n")

    def test_settings_reach_ranks_on_every_node(self):
        for flavour in FLAVOURS:
            with self.subTest(flavour):
                line = [*words("run", "--mpi", flavour, "--quiet", "--nodes", "2", "--preload", cluster.LIBRARY, "--env",
                               "OF_MINE=a b"), "--", "/bin/sh", "-c", 'echo "$LIBHCOLL_BCAST; $OF_MINE; $LD_PRELOAD"']
                result = subprocess.run(line, env={**cluster.environment(), "LIBHCOLL_BCAST": "han"}, text=True,
                                        capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.count(f"han; a b; {cluster.LIBRARY}:"), 2, result.stdout)

    def test_a_table_of_bytes_is_printed(self):
        result = run(FLAVOUR, ["--nodes", "2", "--no-preload"], ["true"])
        self.assertRegex(result.stderr, r"node +received bytes +sent bytes.*\nnode0 +[\d,]+ +[\d,]+.*\nnode1 +[\d,]+")

    def test_mistakes_are_told(self):
        for options, told in ((["--nodes", "2", "--ppn", "1,2,3"], "is for 3 nodes"), (["--rate", "fast"], "200mbit"),
                              (["--delay", "5"], "500us"), (["--layout", "0,7", "--nodes", "2"], "node 7"),
                              (["--ppn", "0"], "at least 1"), (["--cores", "2"], "--sockets"),
                              (["--on", "nothing"], "no cluster 'nothing'")):
            result = run(FLAVOUR, [*PLAIN, *options], ["true"])
            self.assertEqual((result.returncode, result.stdout), (2, ""), options)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(told, result.stderr)


class Ends(unittest.TestCase):
    def test_nothing_stays_behind_however_it_ends(self):
        before = what_could_stay()
        for flavour in FLAVOURS:
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(flavour=flavour, signal=number.name):
                    mark = f"hcoll-mark-{os.getpid()}-{flavour}-{number.name}"
                    line = [*words("run", "--mpi", flavour, *PLAIN, "--nodes", "2", "--delay", "50us"), "--", "/bin/sh", "-c",
                            "echo running; sleep 100; true", mark]
                    job = subprocess.Popen(line, env=cluster.environment(), stdin=subprocess.DEVNULL, text=True,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                    self.assertIn("running", job.stdout.readline())
                    job.send_signal(number)
                    job.wait(timeout=20)
                    limit = time.monotonic() + 10
                    while processes_with(mark) and time.monotonic() < limit:
                        time.sleep(0.05)
                    job.stdout.close()
                    self.assertEqual(processes_with(mark), [])
        self.assertEqual(what_could_stay(), before)

    def test_a_job_that_hangs_is_ended(self):
        result = run(FLAVOUR, [*PLAIN, "--nodes", "2"], ["sleep", "100"], seconds=2)
        self.assertEqual(result.returncode, 124)
        self.assertIn("no end after 2 s", result.stderr)


class Staying(unittest.TestCase):
    def test_a_cluster_stays_up_until_it_is_taken_down(self):
        status = [sys.executable, CLUSTER, "status"]
        with cluster.Up("--nodes", "2", "--rate", "1gbit") as up:
            listed = subprocess.run(status, capture_output=True, text=True, check=True, timeout=60).stdout
            self.assertIn(f"{up.name}: 2 nodes, 1000 Mbit/s", listed)
            self.assertEqual(shell("touch /tmp/left", "--on", up.name).returncode, 0)
            self.assertEqual(shell("ls /tmp", "--on", up.name).stdout.count("left"), 2)
            again = subprocess.run(words("up", "--name", up.name, "--nodes", "2"), capture_output=True, text=True,
                                   check=False, timeout=60)
            self.assertEqual(again.returncode, 2)
        listed = subprocess.run(status, capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertNotIn(up.name, listed)

    def test_its_rate_is_changed(self):
        def shaped(process):
            line = ["nsenter", "--target", process, "--net", "tc", "class", "show", "dev", "port1"]
            return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout

        with cluster.Up("--nodes", "2", "--rate", "1gbit") as up:
            status = subprocess.run([sys.executable, CLUSTER, "status"], capture_output=True, text=True, check=True, timeout=60).stdout
            process = re.search(rf"^{up.name}: .*process (\d+)$", status, re.MULTILINE).group(1)
            if os.getuid() == 0:
                self.assertIn("ceil 1Gbit", shaped(process))
            done = subprocess.run([sys.executable, CLUSTER, "rate", "50mbit", up.name], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            if os.getuid() == 0:
                self.assertNotIn("1Gbit", shaped(process))
                self.assertIn("ceil 50Mbit", shaped(process))
            self.assertEqual(shell("true", "--on", up.name).returncode, 0)
        with cluster.Up("--nodes", "2") as up:
            done = subprocess.run([sys.executable, CLUSTER, "rate", "50mbit", up.name], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn("has no rate to change", done.stderr)


class Privileges(unittest.TestCase):
    def test_without_privileges(self):
        python = "/usr/bin/python3"
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"] if os.getuid() == 0 else []
        plain = {"PATH": "/usr/bin:/bin", "HOME": "/"}
        probe = [*nobody, python, "-c", f"open({cluster.LIBRARY!r}, 'rb'); open({CLUSTER!r})"]
        if subprocess.run(probe, env=plain, capture_output=True, check=False).returncode != 0:
            self.skipTest("another user may not read the build")
        for flavour in FLAVOURS:
            with self.subTest(flavour):
                line = [*nobody, python, CLUSTER, "run", "--build", BUILD, "--mpi", flavour, *cluster.launcher(flavour),
                        "--preload", cluster.LIBRARY, "--quiet", "--nodes", "2", "--ppn", "2", "--rate", "100mbit", "--delay",
                        "100us", "--sockets", "2", "--timeout", "60", "--env", "LIBHCOLL_BCAST=han", "--env",
                        "LIBHCOLL_LOG=debug", "--env", "LIBHCOLL_SETUP_CALLS=1", "--", cluster.program("topology", flavour)]
                result = subprocess.run(line, env=plain, cwd="/", capture_output=True, text=True, timeout=120,
                                        stdin=subprocess.DEVNULL)
                if result.returncode == 77:
                    self.skipTest(result.stderr.strip())
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn("2 nodes, 2 sockets each, 2 ranks per node, in rank order", result.stderr)

    def test_a_kernel_that_refuses_is_told_in_one_line(self):
        if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], check=False,
                                                             capture_output=True).returncode != 0:
            self.skipTest("no user namespace to try it in")
        script = 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"'
        line = ["unshare", "-Ur", "/bin/sh", "-c", script, "sh",
                *words("run", "--mpi", FLAVOUR, *PLAIN, "--nodes", "2", "--", "true")]
        result = subprocess.run(line, env=cluster.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("no cluster can be made here: no more namespaces are allowed", result.stderr)


if __name__ == "__main__":
    cluster.main()
