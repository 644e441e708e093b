#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the manual pages, from what programs say of themselves.

usage: manual.py FOLDER VERSION INFO NAME[,OTHER...]=PROGRAM...

Writes libhcoll.7, whose settings INFO (hcoll-info) lists, NAME.1 for each program, and OTHER.1, which leads to it; and each of them compressed.
"""

import gzip
import json
import pathlib
import re
import subprocess
import sys

import help_text

ABOUT = """
.B libhcoll.so
is preloaded into the ranks of an unmodified MPI program and runs its collectives on algorithms of its own where these are known to be
faster, and leaves them to the MPI library where they are not. It serves MPICH and what has its ABI (Intel MPI, Cray MPICH, MVAPICH), Open MPI, and programs of the standard ABI of MPI 5.0 under any library of it.
.PP
Every rank of a job must have it, or none. Open MPI's launcher passes the preload on by
.BR "\\-x LD_PRELOAD" ,
MPICH's by
.BR \\-genv ;
.BR hcollrun (1)
knows how.
.PP
Beside it there has to be a library for the MPI's ABI,
.BR libhcoll\\-mpich.so ", " libhcoll\\-openmpi.so " or " libhcoll\\-mpi\\-abi.so ,
of the same build. A process without MPI does not notice it.
"""

AFTER = """
.SH LEVELS OF MPI_Pcontrol
A program may switch while it runs (<hcoll/hcoll.h>):
.B HCOLL_PCONTROL_VENDOR
leaves collectives of the calling rank to the MPI library until
.BR HCOLL_PCONTROL_OWN ;
all ranks have to do so alike.
.SH DIAGNOSTICS
Lines on standard error begin with
.BR "libhcoll: " .
What is wrong with a setting, a table or the place of its own files is said once, by one rank, and the job goes on.
.B LIBHCOLL_REPORT=1
says at the end what was called, what it ran and why; no report: it was not loaded.
"""


def escaped(text):
    """Text as roff takes it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.splitlines())


def page(name, section, version, one_line, body):
    head = f'.\\" Made by deploy/manual.py.\n.TH {name.upper()} {section} "" "libhcoll {version}"\n'
    return f"{head}.SH NAME\n{escaped(name)} \\- {escaped(one_line)}\n{body.strip()}\n"


def settings_page(version, info):
    known = json.loads(subprocess.run([*help_text.command_of(info), "--json"], check=True, capture_output=True, text=True, timeout=60).stdout)
    body = [".SH SYNOPSIS\n.B LD_PRELOAD=/path/libhcoll.so mpirun\n.I program\n.SH DESCRIPTION", ABOUT.strip(), ".SH ENVIRONMENT"]
    for setting in known["settings"]:
        whose = "" if setting["agreed_by_all_ranks"] else " Each process has its own."
        body.append(f".TP\n.BR {escaped(setting['name'])} \" ({escaped(setting['type'])}; default: {escaped(setting['default']) or 'none'})\"\n"
                    f"{escaped(setting['help'])}.{whose} Valid: {escaped(setting['range'])}.")
    body.append(AFTER.strip())
    body.append(".SH SEE ALSO\n.BR hcollrun (1),\n.BR hcoll\\-info (1),\n.BR hcoll\\-bench (1),\n.BR hcoll\\-tune (1),\n.BR hcoll\\-simulate (1)")
    return page("libhcoll", 7, version, "faster MPI collectives for unmodified programs", "\n".join(body))


def program_page(version, program):
    first, _, more = program.about.partition("\n")
    sentence = re.split(r"(?<=\.)\s", first.strip(), maxsplit=1)
    usage = re.search(r"usage: \S+ (.*)", program.after)
    words = f".I {escaped(usage.group(1))}" if usage else ".RI [ options ]"
    body = [f".SH SYNOPSIS\n.B {escaped(program.name)}\n{words}", ".SH DESCRIPTION", escaped(" ".join(sentence))]
    if more.strip():
        body.append(f".PP\n.nf\n{escaped(more.strip())}\n.fi")
    if program.options and not program.after.startswith("usage:"):
        body.append(".SH OPTIONS")
        for option in program.options:
            names = ", ".join(escaped(name) for name in option.names)
            body.append(f".TP\n.BI \"{names}\" \" {escaped(option.value)}\"\n{escaped(option.text)}")
        examples, _, notes = program.after.partition("\n\n") if program.after.startswith("examples:") else ("", "", program.after)
        if examples:
            body.append(f".SH EXAMPLES\n.nf\n{escaped(examples.partition(chr(10))[2])}\n.fi")
        if notes:
            body.append(f".SH NOTES\n{escaped(notes)}")
    else:
        body.append(f".SH USAGE\n.nf\n{escaped(program.after)}\n.fi")
    body.append(".SH SEE ALSO\n.BR libhcoll (7)")
    return page(program.name, 1, version, sentence[0].rstrip(".")[:1].lower() + sentence[0].rstrip(".")[1:], "\n".join(body))


def main(arguments):
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    folder, version, info = pathlib.Path(arguments[0]), arguments[1], arguments[2]
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"libhcoll.7": settings_page(version, info)}
    for argument in arguments[3:]:
        names, _, program = argument.partition("=")
        name, *others = names.split(",")
        pages[f"{name}.1"] = program_page(version, help_text.of_program(name, program))
        pages.update({f"{other}.1": f".so man1/{name}.1\n" for other in others})
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
