#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the shells' completions, from what programs say of themselves.

usage: completion.py FOLDER NAME=PROGRAM...

Writes FOLDER/bash/NAME and FOLDER/zsh/_NAME: options, files after them, and for hcollrun the command that it starts. NAME may be several names
(hcoll-bench.mpich,hcoll-bench.openmpi): each has a file for bash, which looks for that; the first of them names that for zsh.
"""

import pathlib
import re
import sys

import help_text


def long_names(program):
    return [(name, option) for option in program.options for name in option.names if name.startswith("--")]


def of_bash(names, program):
    """Bash takes --name=value and NAME=VALUE for three words, and where the = is the last of them for one and a half."""
    words = " ".join(name for name, _ in long_names(program))
    function = "_" + re.sub(r"\W", "_", names[0])
    lines = ["# Made by deploy/completion.py.", f"{function}() {{", '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}',
             "    local i=0"]
    if names[0] == "hcollrun":
        with_value = "|".join(name for name, option in long_names(program) if option.value and not option.may_lack_value)
        lines += ["    for ((i = 1; i < COMP_CWORD; ++i)); do", "        case ${COMP_WORDS[i]} in", "        =) ((++i)) ;;",
                  f"        {with_value.replace('|', ' | ')}) if [[ ${{COMP_WORDS[i + 1]}} != = ]]; then ((++i)); fi ;;", "        -*) ;;", "        *)", "            # The launcher: it completes what it can, or bash does.",
                  "            if declare -F _command_offset >/dev/null; then _command_offset $i 2>/dev/null; fi", "            return", "            ;;",
                  "        esac", "    done"]
    lines += ['    if [[ $word == = || $before == = ]] || ((i > COMP_CWORD)); then', '        mapfile -t COMPREPLY < <(compgen -f -- "${word#=}")', "        return", "    fi",
              '    if [[ $word == -* ]]; then', f'        mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")', "    else",
              f'        mapfile -t COMPREPLY < <(compgen -{"c" if names[0] == "hcollrun" else "f"} -- "$word")', "    fi", "}",
              f"complete -o filenames -o default -F {function} {' '.join(names)}"]
    return "\n".join(lines) + "\n"


def of_zsh(names, program):
    lines = [f"#compdef {' '.join(names)}", "# Made by deploy/completion.py.", "_arguments \\"]
    for name, option in long_names(program):
        text = re.sub(r"(['\[\]:\\`$])", lambda match: "'\\''" if match.group() == "'" else "\\" + match.group(), option.text)
        value = ("=-" if option.may_lack_value else "=") if option.value else ""
        colon = "::" if option.may_lack_value else ":"
        lines.append(f"    '{name}{value}[{text}]{colon + option.value.split('=')[0].split(':')[0].lower() + ':_files' if option.value else ''}' \\")
    lines.append("    '*::command:_normal'" if names[0] == "hcollrun" else "    '*:file:_files'")
    return "\n".join(lines) + "\n"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0])
    for shell, prefix, made in (("bash", "", of_bash), ("zsh", "_", of_zsh)):
        (folder / shell).mkdir(parents=True, exist_ok=True)
        for argument in arguments[1:]:
            names, _, program = argument.partition("=")
            names = names.split(",")
            text = made(names, help_text.of_program(names[0], program))
            for name in names if shell == "bash" else names[:1]:
                (folder / shell / (prefix + name)).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
