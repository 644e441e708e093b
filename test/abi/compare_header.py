# SPDX-License-Identifier: BSD-3-Clause
"""Compares src/mpi_abi/mpi.h with the header of an MPI library of the standard ABI.

usage: compare_header.py ABI_HEADER OTHER_HEADER [COMPILER]

Every number of ABI_HEADER that OTHER_HEADER has, too, must be the same there; every function must be declared alike; statuses and integer types
must be of one layout. Both are compiled (COMPILER, default: cc). Says what OTHER_HEADER lacks. Exit status: 0 if nothing differs.
"""

import os
import re
import subprocess
import sys
import tempfile


def functions(path, compiler):
    """Each function's prototype without the names of its parameters."""
    text = subprocess.run([compiler, "-E", "-P", "-x", "c", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for result, name, parameters in re.findall(r"\b(int|double|MPI_\w+)\s+(MPI_\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*)?;", text):
        kinds = []
        for parameter in parameters.split(","):
            match = re.fullmatch(r"\s*(const\s+)?(\w+)((?:\s*\*(?:\s*const)?)*)\s*(\w*)\s*((?:\[\s*\d*\s*\])*)\s*", parameter)
            if not match:
                kinds.append(" ".join(parameter.split()))
                continue
            stars = match[3].count("*") + match[5].count("[")
            # Of what is passed by value `const` says nothing.
            kinds.append(("const " if match[1] and stars else "") + match[2] + "*" * stars)
        found[name] = (result, kinds)
    return found


def values(path, names, compiler):
    """What each of these is, where the header has it. Handles as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/values.c", "w", encoding="utf-8") as file:
            file.write(f'#include <stdio.h>\n#include <stddef.h>\n#include "{path}"\nint main(void) {{\n')
            for name in names:
                file.write(f'#if HCOLL_HAS_{name}\n    printf("{name} %lld\\n", (long long)(ptrdiff_t){name});\n#endif\n')
            for kind in ("MPI_Status", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Comm"):
                file.write(f'    printf("sizeof({kind}) %zu\\n", sizeof({kind}));\n')
            for field in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"):
                file.write(f'    printf("{field} %zu\\n", offsetof(MPI_Status, {field}));\n')
            file.write("    return 0;\n}\n")
        macros = subprocess.run([compiler, "-E", "-dM", "-x", "c", path], check=True, capture_output=True, text=True).stdout
        text = macros + subprocess.run([compiler, "-E", "-P", "-x", "c", path], check=True, capture_output=True, text=True).stdout
        known = [f"-DHCOLL_HAS_{name}=1" for name in names if re.search(r"\b%s\b" % name, text)]
        subprocess.run([compiler, "-w", "-c", *known, f"{folder}/values.c", "-o", f"{folder}/values.o"], check=True)
        subprocess.run([compiler, f"{folder}/values.o", "-o", f"{folder}/values"], check=True)
        out = subprocess.run([f"{folder}/values"], check=True, capture_output=True, text=True).stdout
    return dict(line.rsplit(" ", 1) for line in out.splitlines())


def compare(own, other, theirs):
    """Says what is missing or different in `other`, which is of the header `theirs`. How many are different."""
    differences = 0
    for name, value in own.items():
        if name not in other:
            print(f"{theirs} has no {name}")
        elif value != other[name]:
            differences += 1
            print(f"{name} is {value}, and {other[name]} in {theirs}")
    return differences


def main():
    ours, theirs = (os.path.abspath(path) for path in sys.argv[1:3])
    compiler = sys.argv[3] if len(sys.argv) > 3 else "cc"
    with open(ours, encoding="utf-8") as file:
        names = re.findall(r"^#define (MPI_\w+) ", file.read(), flags=re.M)
    differences = compare(values(ours, names, compiler), values(theirs, names, compiler), theirs)
    own = functions(ours, compiler)
    differences += compare(own, functions(theirs, compiler), theirs)
    print(f"{len(names)} numbers and {len(own)} functions, {differences} of them different")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
