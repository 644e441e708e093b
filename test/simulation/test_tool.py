# SPDX-License-Identifier: BSD-3-Clause
"""scripts/simulate itself: times that can be worked out by hand, the same in every run, output, and mistakes."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import simulation
from simulation import SMALL, SOURCE, results, run, words

# The figures of simulation/machines/test.json.
NETWORK_LATENCY, NETWORK_RATE, NETWORK_OVERHEAD = 1e-6, 5e9, 0.2e-6
NODE_LATENCY, NODE_RATE, NODE_OVERHEAD, MEMORY_RATE = 0.3e-6, 8e9, 0.05e-6, 32e9
COPY_RATE, REDUCE_RATE = 10e9, 5e9
ENVELOPE = 16  # bytes that SimGrid adds to each message


def own_seconds(*options):
    rows, _ = results("--machine", SMALL, *options)
    return [row["own_seconds"] for row in rows]


class Times(unittest.TestCase):
    """One message, as the machine's figures say."""

    def test_a_short_message_between_nodes(self):
        # Five ranks, of which rank 4 is alone on its node, and the root's first child.
        (seconds,) = own_seconds("--ranks", 5, "--collective", "bcast", "--bytes", 8, "--algorithm", "flat")
        one = 2 * (NETWORK_OVERHEAD + 8 / COPY_RATE) + NETWORK_LATENCY + (8 + ENVELOPE) / NETWORK_RATE
        self.assertAlmostEqual(seconds, one, delta=1e-9)

    def test_a_long_message_inside_a_node(self):
        size = 1 << 20
        (seconds,) = own_seconds("--ranks", 2, "--collective", "bcast", "--bytes", size, "--algorithm", "flat:segment=0")
        self.assertAlmostEqual(seconds, NODE_OVERHEAD + NODE_LATENCY + (size + ENVELOPE) / NODE_RATE, delta=1e-9)

    def test_copies_end_at_the_limit_of_each_level(self):
        with open(SMALL, encoding="utf-8") as file:
            machine = json.load(file)
        machine["network"]["eager_bytes"]["value"] = 4000
        machine["node"]["eager_bytes"]["value"] = 1000
        size = 2000
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(machine, file)
            file.flush()

            def seconds(ranks, algorithm):
                rows, _ = results("--machine", file.name, "--ranks", ranks, "--collective", "bcast", "--bytes", size,
                                  "--algorithm", algorithm)
                return rows[0]["own_seconds"]
            # Inside a node the sender has nothing to copy either, but the message leaves before it is asked for.
            inside = 2 * NODE_OVERHEAD + NODE_LATENCY + (size + ENVELOPE) / NODE_RATE
            self.assertAlmostEqual(seconds(2, "flat"), inside, delta=1e-9)
            between = 2 * (NETWORK_OVERHEAD + size / COPY_RATE) + NETWORK_LATENCY + (size + ENVELOPE) / NETWORK_RATE
            self.assertAlmostEqual(seconds(5, "flat"), between, delta=1e-9)

    def test_a_node_shares_its_memory(self):
        # Three receivers at 8 GB/s each are within 32 GB/s; with rate for one, nobody waits for anybody.
        size = 1 << 20
        (three,) = own_seconds("--ranks", 4, "--collective", "bcast", "--bytes", size, "--algorithm", "flat:segment=0")
        self.assertAlmostEqual(three, 3 * NODE_OVERHEAD + NODE_LATENCY + (size + ENVELOPE) / NODE_RATE, delta=1e-8)

    def test_a_reduction_is_charged(self):
        size = 1 << 20
        (seconds,) = own_seconds("--ranks", 2, "--collective", "reduce", "--bytes", size, "--algorithm", "flat:segment=0")
        one = NODE_OVERHEAD + NODE_LATENCY + (size + ENVELOPE) / NODE_RATE
        self.assertGreater(seconds, one + size / REDUCE_RATE - 1e-9)
        self.assertLess(seconds, one + size / REDUCE_RATE + size / COPY_RATE + 1e-9)

    def test_the_same_numbers_in_every_run(self):
        options = ("--ranks", 22, "--collective", "allreduce", "--bytes", "8,1k,100000", "--algorithm", "nap",
                   "--algorithm", "ring", "--peers", "ompi,mvapich2")
        first, _ = results("--machine", SMALL, *options)
        second, _ = results("--machine", SMALL, *options)
        self.assertEqual(first, second)

    def test_calls_before_teach(self):
        rows, _ = results("--machine", SMALL, "--ranks", 22, "--collective", "allreduce", "--bytes", 8, "--algorithm", "auto", "--learn", 100,
                          "--vendor", "ompi", "--check")
        learned = rows[0]["learned"]
        self.assertIn(learned["settled_after"], range(20, 101))
        self.assertGreaterEqual(len(learned["candidates"]), 2)
        self.assertIn(rows[0]["chosen"], [each["choice"] for each in learned["candidates"]])

    def test_noise_costs_time(self):
        quiet = own_seconds("--ranks", 16, "--collective", "bcast", "--bytes", "1M", "--algorithm", "binary",
                            "--repetitions", 100)
        noisy = own_seconds("--ranks", 16, "--collective", "bcast", "--bytes", "1M", "--algorithm", "binary",
                            "--repetitions", 100, "--noise", 10)
        self.assertGreater(noisy[0], 1.02 * quiet[0])
        self.assertLess(noisy[0], 10 * quiet[0])


class Machines(unittest.TestCase):
    def test_every_machine_runs_and_says_where_its_figures_are_from(self):
        folder = os.path.join(SOURCE, "simulation", "machines")
        names = sorted(os.listdir(folder))
        self.assertLessEqual({"bluewaters.json", "cori.json", "shaheen2.json", "stampede2.json"}, set(names))
        for name in names:
            rows, data = results("--machine", os.path.join(folder, name), "--ranks", 64, "--collective", "bcast",
                                 "--bytes", "8,1M", "--algorithm", "binomial")
            self.assertTrue(data["machine"])
            self.assertGreater(rows[0]["own_seconds"], 1e-6)  # somebody is on another node
            self.assertLess(rows[0]["own_seconds"], 1e-4)

    def test_a_figure_that_cannot_be_is_named_with_its_place(self):
        def no_source(machine):
            del machine["network"]["latency_us"]["source"]

        def no_limit(machine):
            del machine["node"]["eager_bytes"]

        def value(path, figure):
            def change(machine):
                *sections, name = path.split(".")
                for section in sections:
                    machine = machine[section]
                machine[name]["value"] = figure
            return change

        def no_copies(machine):
            value("network.eager_bytes", 64)(machine)
            value("node.eager_bytes", 0)(machine)

        def fabric(*shape):
            def change(machine):
                machine["network"]["fabric"].update(kind="torus", shape=list(shape))
            return change

        for change, sentence in ((fabric(4, -1), "'network.fabric.shape' has numbers other than whole ones from 1 to 1000000"),
                                 (fabric(10_000, 10_000), "the fabric has room for more than 1000000 nodes"),
                                 (value("network.pair_rate_gb_per_s", 1e305), "'network.pair_rate_gb_per_s' is above"),
                                 (no_source, "'network.latency_us' does not say where its value is from"),
                                 (no_limit, "'node.eager_bytes' is missing"),
                                 (value("network.eager_bytes", 1e30), "'network.eager_bytes' is no whole number from 0 to"),
                                 (no_copies, "'network.eager_bytes' and 'node.eager_bytes' are both below 1024"),
                                 (value("ranks_per_node", 2.5), "'ranks_per_node' is no whole number from 1 to 1024"),
                                 (value("sockets_per_node", 0.5), "'sockets_per_node' is no whole number from 1 to 1024")):
            with self.subTest(sentence):
                with open(SMALL, encoding="utf-8") as file:
                    machine = json.load(file)
                change(machine)
                with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                    json.dump(machine, file)
                    file.flush()
                    done = run("--machine", file.name, "--ranks", 4, "--collective", "bcast", "--algorithm", "binomial")
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


class Installed(unittest.TestCase):
    def test_it_runs_from_anywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "--install", simulation.BUILD, "--component", "simulation", "--prefix", os.path.join(folder, "prefix")],
                           capture_output=True, check=True)
            moved = os.path.join(folder, "moved")
            os.rename(os.path.join(folder, "prefix"), moved)
            program = os.path.join(moved, "bin", "hcoll-simulate")
            done = subprocess.run([program, "--machine", "stampede2", "--ranks", "96", "--collective", "bcast", "--algorithm", "binomial"],
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertIn("stampede2", done.stdout.lower())
            done = subprocess.run([program, "tune", "--machine", "nowhere"], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith("hcoll-simulate tune: 'nowhere' is no machine"), done.stderr)


class Memory(unittest.TestCase):
    def test_peers_share_what_nobody_looks_at(self):
        # Each rank of it takes 64 MB for what it receives: 6 GB together.
        binary = os.path.join(simulation.BUILD, "bin", "hcoll-simulate")
        file = os.path.join(SOURCE, "simulation", "machines", "stampede2.json")
        done = subprocess.run(["bash", "-c", 'ulimit -v 4000000; exec "$0" "$@"', binary, "--machine", file, "--ranks", "96",
                               "--collective", "allreduce", "--bytes", str(64 << 20), "--selector", "mvapich2"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["seconds"][0], 64e-3)


class Output(unittest.TestCase):
    def test_table_json_and_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            picture, file = os.path.join(folder, "a.svg"), os.path.join(folder, "a.json")
            done = run("--machine", SMALL, "--ranks", 8, "--collective", "bcast", "--bytes", "8:8k:32", "--algorithm",
                       "binomial", "--peers", "ompi", "--json", file, "--plot", picture)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), 5, done.stdout)
            with open(file, encoding="utf-8") as written:
                data = json.load(written)
            with open(picture, encoding="utf-8") as drawn:
                self.assertIn("ompi", drawn.read())
        self.assertEqual([row["bytes"] for row in data["results"]], [8, 256, 8192])
        for row in data["results"]:
            self.assertEqual(row["own_algorithm"], "binomial")
            self.assertGreater(row["peers"]["ompi"], 0)


class Mistakes(unittest.TestCase):
    def check(self, sentence, *options, status=2):
        done = run(*options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_each_is_one_sentence(self):
        job = ("--ranks", 8, "--collective", "bcast")
        self.check("'foo' is no machine; machines are ", "--machine", "foo", *job, "--algorithm", "han")
        self.check("did you mean han?", "--machine", SMALL, *job, "--algorithm", "hann")
        self.check("'gather' is no collective", "--machine", SMALL, "--ranks", 8, "--collective", "gather", "--algorithm", "x")
        self.check("'foo' is no peer", "--machine", SMALL, *job, "--peers", "foo")
        self.check("'4q' is no size", "--machine", SMALL, *job, "--algorithm", "han", "--bytes", "4q")
        self.check("has room for", "--machine", "bluewaters", "--ranks", 99999, "--collective", "bcast", "--algorithm", "han")
        self.check("shared memory cannot be simulated", "--machine", SMALL, *job, "--algorithm", "shared")
        self.check("there is nothing to run", "--machine", SMALL, *job)

    def test_a_build_without_simgrid(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*words("--machine", SMALL, "--ranks", 8, "--collective", "bcast", "--algorithm", "han"),
                                   "--build", folder], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is built where SimGrid 3.32 is there", done.stderr)

    def test_a_subject_that_takes_too_long(self):
        done = run("--machine", "stampede2", "--ranks", 1536, "--collective", "bcast", "--bytes", "64M", "--algorithm",
                   "binomial:segment=1k", "--timeout", 1)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no result within 1 s", done.stdout)

    def test_nothing_goes_on_without_the_tool(self):
        mark = "123457"

        def simulations():
            return [entry for entry in filter(str.isdigit, os.listdir("/proc")) if is_of(entry)]

        def is_of(process):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                return False
            return b"hcoll-simulate" in line and mark.encode() in line

        def wait_until(holds):
            deadline = time.monotonic() + 60
            while not holds():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

        for ending, status in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(ending=ending):
                job = subprocess.Popen(words("--machine", "stampede2", "--ranks", 1536, "--collective", "bcast", "--bytes", mark,
                                             "--algorithm", "binomial:segment=1k", "--repetitions", 1000),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                try:
                    wait_until(simulations)
                    job.send_signal(ending)
                    _, errors = job.communicate(timeout=60)
                    self.assertEqual(job.returncode, status, errors)
                    self.assertEqual("interrupted" in errors, ending == signal.SIGINT, errors)
                    wait_until(lambda: not simulations())
                finally:  # what a failed test leaves takes a core from all that follow
                    job.kill()
                    job.communicate()
                    for left in simulations():
                        os.kill(int(left), signal.SIGKILL)


if __name__ == "__main__":
    assert simulation.BUILD
    unittest.main()
