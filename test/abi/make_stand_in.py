# SPDX-License-Identifier: BSD-3-Clause
"""An MPI library of the standard ABI for tests: makes its source, which calls the MPI library that is installed.

usage: make_stand_in.py ABI_HEADER FOLDER OUTPUT

FOLDER is where that library's mpi.h is. Each function of ABI_HEADER that is declared there, too, becomes one that translates what it is given (handles, statuses, numbers and
addresses that mean something), calls the other by its address, and translates what comes back. By the type of a parameter and, of numbers, by
its name in the standard: see `NUMBERS`. What needs more than that is in stand_in_by_hand.hpp.
"""

import os
import re
import sys

HANDLES = ("Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win")

# In stand_in_by_hand.hpp, or left out: no test needs it.
BY_HAND = {"Abi_get_info", "Abi_get_version", "Comm_create_errhandler", "Comm_create_keyval", "Comm_fromint", "Comm_toint",
           "Comm_spawn_multiple", "Grequest_start", "Op_create", "Op_toint", "Pcontrol", "Type_create_keyval", "Type_get_contents",
           "Type_get_contents_c", "Type_get_envelope_c", "Type_toint"}

# What the numbers of each table are, by the beginning of their names in ABI_HEADER.
TABLES = {
    "Errors": r"MPI_(SUCCESS|ERR_(?!CODES_IGNORE|LASTCODE)\w+)",
    "Ranks": r"MPI_(ANY_SOURCE|PROC_NULL|ROOT|UNDEFINED)",
    "Tags": r"MPI_ANY_TAG",
    "Counts": r"MPI_UNDEFINED",
    "Levels": r"MPI_THREAD_\w+",
    "Comparisons": r"MPI_(IDENT|CONGRUENT|SIMILAR|UNEQUAL)",
    "Splits": r"MPI_COMM_TYPE_\w+",
    "Keys": r"MPI_(KEYVAL_INVALID|TAG_UB|IO|HOST|WTIME_IS_GLOBAL|APPNUM|LASTUSEDCODE|UNIVERSE_SIZE)",
    "Combiners": r"MPI_COMBINER_\w+",
    "Arrays": r"MPI_(ORDER_\w+|DISTRIBUTE_\w+)",
    "Modes": r"MPI_MODE_\w+",
}

# Parameters by their names in the standard: the table of their numbers.
NUMBERS = {"source": "Ranks", "dest": "Ranks", "root": "Ranks", "rank": "Ranks", "ranks": "Ranks", "ranks1": "Ranks", "ranks2": "Ranks",
           "tag": "Tags", "sendtag": "Tags", "recvtag": "Tags", "required": "Levels", "provided": "Levels", "result": "Comparisons",
           "split_type": "Splits", "comm_keyval": "Keys", "type_keyval": "Keys", "color": "Counts", "indx": "Counts", "outcount": "Counts",
           "errorcode": "Errors", "errorclass": "Errors", "combiner": "Combiners", "order": "Arrays", "array_of_distribs": "Arrays",
           "array_of_dargs": "Arrays", "amode": "Modes"}
BUFFERS = {"buffer", "buf", "sendbuf", "recvbuf", "inbuf", "outbuf", "inoutbuf"}
WEIGHTS = {"weights", "sourceweights", "destweights"}
# How many elements an array has, where it is not `count` or `incount`.
LENGTHS = {"array_of_distribs": "ndims", "array_of_dargs": "ndims", "ranks": "n", "ranks1": "n", "ranks2": "n"}


def prototypes(header):
    """(type of the result, name without MPI_, list of (type, name, is an array)) of each function."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for result, name, parameters in re.findall(r"^HCOLL_MPI_FUNCTION\((\w+),\s*(\w+),\s*\((.*?)\)\)$", text, flags=re.M | re.S):
        listed = []
        for parameter in re.split(r"\s*,\s*", re.sub(r"\s*(\*+)\s*", r"\1 ", " ".join(parameters.split()))):
            if parameter == "void":
                continue
            match = re.fullmatch(r"(.*?)(\w+)(\[\])?", parameter)
            listed.append((match[1].strip(), match[2], match[3] is not None) if match else ("...", "", False))
        yield result, name, listed


class Function:
    def __init__(self, result, name, parameters, own):
        self.result, self.name, self.parameters, self.own = result, name, parameters, own
        self.names = [name for _, name, _ in parameters]
        self.before, self.after, self.arguments = [], [], []
        for parameter in parameters:
            self.translate(*parameter)

    def length(self, name):
        if name in LENGTHS:
            return LENGTHS[name]
        return next(other for other in ("count", "incount") if other in self.names)

    def translate(self, kind, name, is_array):
        handle = re.fullmatch(r"(const )?MPI_(\w+)(\*)?", kind)
        is_const = kind.startswith("const ")
        if handle and handle[2] in HANDLES:
            if is_array:
                self.array(name, f"abi::{handle[2]}", is_const)
            elif handle[3]:
                self.before.append(f"auto own_{name} = in(*{name});")
                self.after.append(f"*{name} = out<abi::{handle[2]}>(own_{name});")
                self.arguments.append(f"&own_{name}")
            else:
                self.arguments.append(f"in({name})")
        elif kind in ("MPI_Status*", "const MPI_Status*") and name != "array_of_statuses":
            self.before.append(f"OneStatus own_{name}(const_cast<abi::Status*>({name}));")
            if not is_const:
                self.after.append(f"own_{name}.give_back();")
            self.arguments.append(f"own_{name}.address()")
        elif name == "array_of_statuses":
            used = "*outcount" if "outcount" in self.names else self.length(name)
            self.before.append(f"ManyStatuses own_{name}({name}, {self.length(name)});")
            self.after.append(f"own_{name}.give_back({used}, code);")
            self.arguments.append(f"own_{name}.address()")
        elif name in NUMBERS and kind in ("int", "int*", "const int") and (name in LENGTHS or not is_array):
            self.number(kind, name, is_array, NUMBERS[name])
        elif self.name == "Get_count" and name == "count":
            self.number(kind, name, False, "Counts")
        elif name in BUFFERS:
            self.arguments.append(f"in_buffer({name})")
        elif name in WEIGHTS:
            self.arguments.append(f"in_weights({name})")
        elif name == "array_of_errcodes":
            self.arguments.append(f"{name} == nullptr ? MPI_ERRCODES_IGNORE : {name}")
        elif kind == "MPI_Count" and self.own in (f"MPI_{self.name}"[:-2], f"MPIX_{self.name}"[:-2]):
            self.arguments.append(f"static_cast<int>({name})")
        else:
            self.arguments.append(name)

    def array(self, name, kind, is_const):
        self.before.append(f"auto own_{name} = all_in({name}, {self.length(name)});")
        if not is_const:
            self.after.append(f"all_out<{kind}>(own_{name}, {name});")
        self.arguments.append(f"own_{name}.data()")

    def number(self, kind, name, is_array, table):
        if is_array:
            self.before.append(f"auto own_{name} = all_in<{table}>({name}, {self.length(name)});")
            if not kind.startswith("const"):
                self.after.append(f"all_out<{table}>(own_{name}, {name});")
            self.arguments.append(f"own_{name}.data()")
        elif kind == "int*":
            self.before.append(f"int own_{name} = in<{table}>(*{name});")
            self.after.append(f"*{name} = out<{table}>(own_{name});")
            self.arguments.append(f"&own_{name}")
        else:
            self.arguments.append(f"in<{table}>({name})")

    def text(self):
        declared = ", ".join(self.in_abi(kind) + " " + name + ("[]" if is_array else "") for kind, name, is_array in self.parameters)
        call = f"VENDOR({self.own})({', '.join(self.arguments)})"
        if self.result != "int":
            return f"FUNCTION({self.result}, {self.name}, ({declared}))\n{{\n    return {call};\n}}\n"
        lines = self.before + [f"const int code = {call};"] + self.after + ["return out_error(code);"]
        return f"FUNCTION(int, {self.name}, ({declared}))\n{{\n    " + "\n    ".join(lines) + "\n}\n"

    @staticmethod
    def in_abi(kind):
        return re.sub(r"MPI_(%s|Status)\b" % "|".join(HANDLES), r"abi::\1", kind)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        abi = file.read()
    vendor = ""
    for folder, _, names in os.walk(sys.argv[2]):
        for name in sorted(names):
            if re.fullmatch(r"mpi(_proto|ext_\w+)?\.h", name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    vendor += file.read()
    lines = ["// Made by make_stand_in.py.", '#include "stand_in.hpp"', ""]
    for kind in HANDLES:
        lines.append(f"template <> const Predefined<abi::{kind}>::List Predefined<abi::{kind}>::list = {{")
        for name, value in re.findall(r"#define (\w+) \(\(MPI_%s\)(0x\w+)\)" % kind, abi):
            null = f"MPI_{kind.upper()}_NULL"
            lines += [f"#if defined({name})", f"    {{{value}, bits({name})}},", f"#elif defined({null})", f"    {{{value}, bits({null})}},", "#endif"]
        lines.append("};")
    numbers = re.findall(r"#define (\w+) \(?(-?\d+)\)?$", abi, flags=re.M)
    for table, pattern in TABLES.items():
        lines.append(f"const NumberTable {table}::table = {{")
        # Enumerators, or macros.
        lines += [f"    {{{value}, {name}}}," for name, value in numbers if re.fullmatch(pattern, name) and re.search(r"\b%s\b" % name, vendor)]
        lines.append("};")
    lines.append("")
    for result, name, parameters in prototypes(abi):
        if name in BY_HAND:
            continue
        # As an extension, or with counts of int, where the library is older than MPI 4.
        candidates = [f"MPI_{name}", f"MPIX_{name}"]
        if name.endswith("_c"):
            candidates += [candidate[:-2] for candidate in candidates]
        for own in candidates:
            if re.search(r"\b%s\s*\(" % own, vendor):
                lines.append(Function(result, name, parameters, own).text())
                break
    lines.append('#include "stand_in_by_hand.hpp"')
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
