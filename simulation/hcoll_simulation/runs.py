# SPDX-License-Identifier: BSD-3-Clause
"""Running hcoll-simulate, once for each subject: an algorithm of the library, or a peer's selector."""

import concurrent.futures
import ctypes
import json
import os
import signal
import subprocess
import threading

from .machines import Mistake

# Exit statuses of hcoll-simulate.
WRONG_RESULT, BAD_OPTION, NO_SIMULATION = 1, 2, 3


def program(build, name="hcoll-simulate"):
    path = os.path.join(build, "bin", name)
    if os.path.isfile(path):
        return path
    if not os.path.isdir(build):
        raise Mistake(f"there is no build in {build}; build with cmake --preset release && cmake --build --preset release")
    raise Mistake(f"{build} has no {name}: it is built where SimGrid 3.32 is there (Debian's package libsimgrid-dev)")


# Looked up here: between fork and exec is no place for it.
PRCTL = ctypes.CDLL(None).prctl
PR_SET_PDEATHSIG = 1


def end_with_this_program():
    """In the child: however this program ends, the simulation does not go on for nobody."""
    PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)


class Stop:
    """Ends all simulations at once, those that have not begun too."""

    def __init__(self):
        self.lock = threading.RLock()  # a signal's handler may find its own thread inside
        self.is_set = False
        self.running = set()

    def start(self, line):
        """None after set()."""
        with self.lock:
            if self.is_set:
                return None
            # A session of its own: Ctrl-C reaches this program alone, which then ends the simulation.
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       start_new_session=True, preexec_fn=end_with_this_program)
            self.running.add(process)
            return process

    def ended(self, process):
        with self.lock:
            self.running.discard(process)

    def set(self):
        with self.lock:
            self.is_set = True
            for process in self.running:
                process.kill()


def for_each(items, jobs, work):
    """work(item, stop) for all items, `jobs` at a time: what they returned, in order. If one raises, the others end.

    Ctrl-C ends all and is raised at last: as an exception out of the middle of a pool of threads it could be lost. A signal may
    also reach a thread that is not the main one, which learns of it only when it wakes.
    """
    stop = Stop()
    signals = []

    def interrupt(*_):
        signals.append(signal.SIGINT)
        stop.set()

    def one(item):
        try:
            return work(item, stop)
        except BaseException:
            stop.set()
            raise

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(one, item) for item in items]
            while concurrent.futures.wait(futures, timeout=0.2).not_done:
                pass
    finally:
        signal.signal(signal.SIGINT, before)
    if signals:
        raise KeyboardInterrupt
    return [future.result() for future in futures]


class Run:
    """What one process has found: seconds by size, and what went wrong, in one sentence."""

    def __init__(self, subject, own):
        self.subject, self.own = subject, own
        self.seconds = {}
        self.choices = {}  # of the library, by size
        self.learned = {}  # what trying has found out, by size (--learn)
        self.problem = None


def run(path, machine, ranks, collective, sizes, subject, own, timeout, options, automatic, stop):
    """`automatic`: options for a subject that is `auto`."""
    line = [path, "--machine", machine, "--ranks", str(ranks), "--collective", collective,
            "--bytes", ",".join(map(str, sizes)), "--algorithm" if own else "--selector", subject, *options]
    if own and subject == "auto":
        line += automatic
    result = Run(subject, own)
    process = stop.start(line)
    if process is None:
        result.problem = "not begun"
        return result
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
    reader.start()
    late = threading.Event()

    def end():
        late.set()
        process.kill()

    timer = threading.Timer(timeout, end)
    timer.start()
    try:
        for text in process.stdout:
            found = json.loads(text)
            result.seconds[found["bytes"]] = found["seconds"]
            result.choices[found["bytes"]] = found["choice"]
            if "learned" in found:
                result.learned[found["bytes"]] = found["learned"]
        process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
        stop.ended(process)
    reader.join()
    said = [text for text in errors[0].splitlines() if text.startswith("hcoll-simulate: ")]
    sentence = said[-1][len("hcoll-simulate: "):] if said else ""
    if process.returncode == BAD_OPTION:
        raise Mistake(sentence)
    if late.is_set():
        result.problem = f"no result within {timeout:g} s"
    elif process.returncode != 0:
        ended = (f"ended by {signal.Signals(-process.returncode).name}" if process.returncode < 0
                 else f"ended with status {process.returncode}")
        result.problem = sentence or ended
    return result
