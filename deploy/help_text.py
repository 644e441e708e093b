# SPDX-License-Identifier: BSD-3-Clause
"""What programs say of themselves (--help), taken apart: manual pages and completions are made from it, so that nothing is said twice."""

import dataclasses
import os
import re
import subprocess


@dataclasses.dataclass
class Option:
    names: list  # -h, --help
    value: str  # what it takes, as TEXT; empty for a switch
    text: str
    may_lack_value: bool = False


@dataclasses.dataclass
class Program:
    name: str
    about: str
    options: list
    after: str  # what follows the list of options


def command_of(program):
    """What runs a program that was built: one for another processor, through the emulator that the build names (HCOLL_EMULATOR, words parted by |)."""
    with open(program, "rb") as file:
        emulator = [word for word in os.environ.get("HCOLL_EMULATOR", "").split("|") if word] if file.read(4) == b"\x7fELF" else []
    return [*emulator, program]


def _options_of(lines):
    """CLI11's list, and argparse's: two spaces, the names, and after at least two more (or on the next line) the text, which may go on below."""
    options = []
    for line in lines:
        line = re.sub(r"^  (-\w), --", r"  \1,--", line)
        begin = re.match(r"  (-\S+)(.*)$", line)
        if begin:
            rest = re.match(r"(.*?)(?:\s{2,}(.*))?$", begin.group(2))
            value = re.sub(r"\s*Needs:.*", "", rest.group(1)).strip()
            options.append(Option(begin.group(1).split(","), value, (rest.group(2) or "").strip()))
        elif options and line.strip():
            options[-1].text = f"{options[-1].text} {line.strip()}".strip()
    return options


def _head_options_of(text):
    """Those of a script, whose help is the comment at its head: indented, options, and after at least two spaces the text."""
    options = []
    for line in text.splitlines():
        begin = re.match(r" {2,}(--.*?)(?: {2,}(.*))?$", line)
        for name, bracket, value in re.findall(r"(--[\w-]+)(?:(\[?)[= ]([A-Zw]\S*))?", begin.group(1) if begin else ""):
            options.append(Option([name], value.rstrip("],"), re.sub(r" {2,}", "; ", begin.group(2) or ""), bracket == "["))
    return options


def of_program(name, program):
    """Program, from what `program --help` prints."""
    text = subprocess.run([*command_of(program), "--help"], check=True, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "1000"}).stdout
    if listing := re.search(r"\n(options|optional arguments):\n", text):  # argparse: the usage, what it is about, options, and what follows
        before, rest = text[:listing.start()], text[listing.end():]
        listed, _, after = rest.partition("\n\n")
        return Program(name, before.partition("\n\n")[2].strip(), _options_of(listed.splitlines()), after.strip())
    if "\nOptions:\n" not in text:
        about, _, rest = text.partition("\n\n")
        return Program(name, about.strip(), _head_options_of(rest), rest)
    about, _, rest = text.partition("\nOptions:\n")
    listed, _, after = rest.partition("\n\n")
    return Program(name, re.sub(r"\n?Usage:.*", "", about).strip(), _options_of(listed.splitlines()), after.strip())
