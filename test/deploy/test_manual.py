# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and completions: nothing that roff stumbles over, and everything that the programs say is in them."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import termios
import time
import unittest

import installed

MADE = installed.BUILD / "deploy"
HEAD = r'^\.TH \S+ \d "" "libhcoll \d'


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **more).stdout


def typed_in_bash(completion, folder, line):
    """What stands in the line of an interactive bash after it was typed, with a tab behind it."""
    left, right = pty.openpty()
    tty_settings = termios.tcgetattr(right)
    tty_settings[3] &= ~termios.ECHO
    termios.tcsetattr(right, termios.TCSANOW, tty_settings)
    environment = {**os.environ, "TERM": "dumb", "PS1": "", "HISTFILE": "", "INPUTRC": "/dev/null"}
    shell = subprocess.Popen(["bash", "--noprofile", "--norc", "-i"], stdin=right, stdout=right, stderr=subprocess.DEVNULL, cwd=folder, env=environment,
                             start_new_session=True)
    os.close(right)
    # What readline has made of the line is given to a function of the shell, which tells it between two marks.
    os.write(left, f"source '{completion}'; tell() {{ printf '<%s>\\n' \"$READLINE_LINE\"; READLINE_LINE=; }}; bind -x '\"\\C-g\": tell'\n".encode())
    os.write(left, f"echo re''ady\n".encode())
    said = b""
    limit = time.monotonic() + 30
    is_typed = False
    try:
        while time.monotonic() < limit:
            if select.select([left], [], [], 1)[0]:
                said += os.read(left, 4096)
            if b"ready" in said and not is_typed:
                is_typed = True
                os.write(left, line.encode() + b"\t\x07")
            found = re.search(rb"<(hcollrun.*?)>", said)
            if is_typed and found:
                return found.group(1).decode()
    finally:
        shell.kill()
        shell.wait()
        os.close(left)
    raise AssertionError(f"bash does not answer: {said!r}")


class Manual(unittest.TestCase):
    def pages(self):
        pages = sorted((MADE / "man").glob("*.[17]"))
        self.assertEqual({page.name for page in pages} >= {"libhcoll.7", "hcoll-info.1", "hcollrun.1"}, True, pages)
        return pages

    def test_every_setting_stands_in_libhcoll_7(self):
        text = (MADE / "man" / "libhcoll.7").read_text(encoding="utf-8")
        settings = json.loads(output(installed.BUILD / "bin" / "hcoll-info", "--json", env=installed.environment()))["settings"]
        self.assertGreater(len(settings), 20)
        for setting in settings:
            self.assertIn(f".BR {setting['name']} ", text)

    def test_every_option_stands_in_the_page_of_its_program(self):
        # Programs of the standard ABI find what they were linked to, which has the names of functions.
        names = {**os.environ, "LD_LIBRARY_PATH": str(installed.BUILD / "mpi_abi_names")}
        for page in self.pages():
            # Of that name is a program in bin that the one with the manual page starts.
            program = installed.BUILD / ("simulation" if page.stem == "hcoll-simulate" else "bin") / page.stem
            if page.suffix == ".1" and program.exists():
                led_to = re.match(r"\.so man1/(.*)", page.read_text(encoding="utf-8"))
                text = (MADE / "man" / led_to.group(1) if led_to else page).read_text(encoding="utf-8").replace("\\-", "-")
                options = set(re.findall(r"(?m)^ {2,}(?:-\w,)?(--[\w-]+)", output(program, "--help", env=names)))
                self.assertGreater(len(options), 5)
                for option in options:
                    self.assertIn(option, text, page)

    def test_roff_has_no_complaint(self):
        for page in self.pages():
            text = page.read_text(encoding="utf-8")
            if not text.startswith(".so man1/"):
                self.assertRegex(text.splitlines()[1], HEAD)
        if shutil.which("man") is None:
            self.skipTest("there is no man (Debian's man-db)")
        for page in self.pages():
            if page.read_text(encoding="utf-8").startswith(".so "):
                continue
            result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True, timeout=60,
                                    env=installed.environment(MANROFFSEQ="", MANWIDTH="100", LC_ALL="C.UTF-8"))
            self.assertEqual((result.returncode, result.stderr), (0, ""), page)


class Completions(unittest.TestCase):
    def test_bash_completes_options_and_the_command_behind_hcollrun(self):
        def completed(program, *words):
            script = f'source "{MADE}/completion/bash/{program}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{program.replace("-", "_")}; ' \
                     'printf "%s\\n" "${COMPREPLY[@]}"'
            return output("bash", "--noprofile", "--norc", "-c", script, "bash", program, *words).split()

        self.assertEqual(completed("hcollrun", "--re"), ["--report"])
        self.assertEqual(completed("hcoll-info", "--to"), ["--topology"])
        self.assertIn("/usr/bin/env", completed("hcoll-info", "/usr/bin/en"))
        self.assertEqual(set(completed("hcollrun", "basenam")), {"basename"})

    def test_bash_completes_in_a_terminal(self):
        """As a user types it: bash parts words at =, and there may be no bash-completion."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "simulation_input").touch()
            pathlib.Path(folder, "report_one.json").touch()

            def typed(line):
                return typed_in_bash(MADE / "completion" / "bash" / "hcollrun", folder, line)

            self.assertEqual(typed("hcollrun --rep"), "hcollrun --report ")
            self.assertEqual(typed("hcollrun basenam"), "hcollrun basename ")
            self.assertEqual(typed("hcollrun --report=r.json basenam"), "hcollrun --report=r.json basename ")
            self.assertEqual(typed("hcollrun --verify=100 basenam"), "hcollrun --verify=100 basename ")
            self.assertEqual(typed("hcollrun --set LIBHCOLL_BCAST=vendor basenam"), "hcollrun --set LIBHCOLL_BCAST=vendor basename ")
            self.assertEqual(typed("hcollrun --report=report_o"), "hcollrun --report=report_one.json ")
            self.assertEqual(typed("hcollrun --set=A=B --library=simulation_input basenam"), "hcollrun --set=A=B --library=simulation_input basename ")
            self.assertEqual(typed("hcollrun --library simul"), "hcollrun --library simulation_input ")
            self.assertEqual(typed("hcollrun --quiet basename simul"), "hcollrun --quiet basename simulation_input ")

    def test_zsh_takes_its_files(self):
        if shutil.which("zsh") is None:
            self.skipTest("there is no zsh")
        for file in pathlib.Path(MADE / "completion" / "zsh").iterdir():
            self.assertTrue(file.read_text(encoding="utf-8").startswith("#compdef "))
            output("zsh", "-n", file)


if __name__ == "__main__":
    if not (MADE / "man").exists():
        installed.skip("manual pages are not made in this build")
    unittest.main(verbosity=2)
