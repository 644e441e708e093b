# SPDX-License-Identifier: BSD-3-Clause
"""What the libraries export, need and are called: read with readelf and nm."""

import os
import re
import subprocess
import unittest

FOLDER = os.environ["HCOLL_TEST_LIBRARY_FOLDER"]
BACKENDS = [f"libhcoll-{abi}.so" for abi in os.environ["HCOLL_TEST_ABIS"].split()]
PROGRAM = os.environ["HCOLL_TEST_PROGRAM"]
# Those that are linked to an MPI library.
MPI_PROGRAMS = sorted(os.path.join(os.path.dirname(PROGRAM), name) for name in os.listdir(os.path.dirname(PROGRAM))
                      if re.match(r"hcoll-(bench|tune)\.", name))
PORTABLE = os.environ["HCOLL_TEST_PORTABLE"] == "1"
FUNCTIONS = os.environ["HCOLL_TEST_FUNCTIONS"]
LIBC = os.environ["HCOLL_TEST_LIBC"]  # of the processor that they are for; empty: this one's


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", output("readelf", "-dW", os.path.join(FOLDER, library)))


def symbols(library, *options):
    lines = output("nm", "-D", *options, os.path.join(FOLDER, library)).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def libraries_of_functions(path):
    """Where it was linked to find each function: {(name, library)}. glibc before 2.30 looks no further."""
    library = None
    library_of = {}  # by the number that the file gives a version
    for line in output("readelf", "-VW", path).splitlines():
        if named := re.search(r"File: (\S+)", line):
            library = named.group(1)
        elif library and (version := re.search(r"Name: \S+ .*Version: (\d+)", line)):
            library_of[version.group(1)] = library
    undefined = re.findall(r" UND (\w+)@\S+ \((\d+)\)", output("readelf", "--dyn-syms", "-W", path))
    return {(name, library_of[number]) for name, number in undefined}


def functions_that_changed_in_libc():
    """Those that the system's libc.so.6 has got a new version of since 2.28: nearly all have moved into it."""
    libc = LIBC
    if not libc:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            libc = re.search(r"(/\S*/libc\.so\.6)", maps.read()).group(1)
    names = re.findall(r" (\w+)@@GLIBC_2\.(\d+)", output("nm", "-D", "--defined-only", libc))
    return {name for name, version in names if int(version) > 28}


class Libraries(unittest.TestCase):
    def test_the_names_are_ours_and_carry_no_version(self):
        for library in ["libhcoll.so", *BACKENDS]:
            self.assertEqual(dynamic(library, "SONAME"), [library])

    def test_the_preloaded_library_needs_libc_only(self):
        # libdl is a part of it, and empty since glibc 2.34.
        self.assertLessEqual(set(dynamic("libhcoll.so", "NEEDED")), {"libc.so.6", "libdl.so.2"})

    def test_it_exports_each_function_of_the_table_under_both_names_and_nothing_else(self):
        with open(FUNCTIONS, encoding="utf-8") as table:
            names = re.findall(r"^HCOLL_(\w*)FUNCTION\((\w+)\)", table.read(), re.MULTILINE)
        self.assertGreater(len(names), 10)
        expected = {f"{letter}MPI{'X' if kind == 'EXTENSION_' else ''}_{name}" for kind, name in names
                    for letter in ("", "P")}
        self.assertEqual(symbols("libhcoll.so", "--defined-only"), expected)

    def test_it_has_no_constructor(self):
        dump = output("readelf", "-dW", os.path.join(FOLDER, "libhcoll.so"))
        for size in re.findall(r"\(INIT_ARRAYSZ\)\s+(\d+)", dump):
            self.assertLessEqual(int(size), 8, "more than the compiler's own frame_dummy")

    def test_backends_export_two_symbols_and_need_no_mpi(self):
        for library in BACKENDS:
            self.assertEqual(symbols(library, "--defined-only"), {"hcoll_backend_build", "hcoll_backend_open"})
            undefined = symbols(library, "--undefined-only")
            self.assertFalse([name for name in undefined if re.match(r"P?MPIX?_|ompi_|MPIR_", name)])

    def test_what_they_need_every_system_has(self):
        # libgcc_s: exceptions of the application pass through, so there must be one unwinder. glibc loads it itself.
        glibc = r"^(libc|libm|libdl|libpthread|ld-linux.*|libgcc_s)\.so"
        # Where there was no archive of hwloc, or a sanitizer, which brings its own.
        more = r"^(libhwloc|libstdc\+\+|lib[atu]\w*san)\.so"
        for path in [*(os.path.join(FOLDER, library) for library in BACKENDS), PROGRAM]:
            for needed in dynamic(path, "NEEDED"):
                self.assertRegex(needed, glibc if PORTABLE else f"{glibc}|{more}", path)

    def test_the_preloaded_library_calls_nothing_that_is_glibcs_alone(self):
        for name in symbols(os.path.join(FOLDER, "libhcoll.so"), "--undefined-only"):
            self.assertNotRegex(name, r"_chk(@|$)|^__isoc")

    @unittest.skipUnless(PORTABLE, "libraries are of this machine alone (HCOLL_PORTABLE)")
    def test_they_run_with_glibc_2_28(self):
        newest = {"GLIBC": (2, 28), "GCC": (7, 0, 0)}  # of RHEL 8, whose compiler is GCC 8
        self.assertTrue(MPI_PROGRAMS)
        for path in [*(os.path.join(FOLDER, library) for library in ["libhcoll.so", *BACKENDS]), PROGRAM, *MPI_PROGRAMS]:
            versions = re.findall(r"@(\w+)_([\d.]+)\b", output("nm", "-D", "--undefined-only", path))
            self.assertTrue(versions)
            for name, version in versions:
                self.assertIn(name, newest, f"{path} needs {name}_{version}")
                self.assertLessEqual(tuple(int(part) for part in version.split(".")), newest[name], path)

    @unittest.skipUnless(PORTABLE, "libraries are of this machine alone (HCOLL_PORTABLE)")
    def test_functions_are_looked_for_where_glibc_2_28_has_them(self):
        changed = functions_that_changed_in_libc() - {"__libc_start_main"}
        for path in [*(os.path.join(FOLDER, library) for library in ["libhcoll.so", *BACKENDS]), PROGRAM, *MPI_PROGRAMS]:
            found = libraries_of_functions(path)
            if path not in MPI_PROGRAMS:
                self.assertIn(("dlopen", "libdl.so.2"), found, path)
            self.assertFalse({name for name, library in found if library == "libc.so.6"} & changed, path)

    def test_nothing_of_what_is_inside_can_be_met_from_outside(self):
        for library in BACKENDS:
            dump = output("readelf", "--dyn-syms", "-W", os.path.join(FOLDER, library))
            self.assertNotRegex(dump, r"\bUNIQUE\b")
        self.assertFalse([name for name in symbols(PROGRAM, "--defined-only") if re.match(r"hwloc|_ZN3fmt|_ZNSt", name)])

    def test_no_stack_may_be_executed_and_no_text_is_relocated(self):
        for library in ["libhcoll.so", *BACKENDS]:
            path = os.path.join(FOLDER, library)
            self.assertRegex(output("readelf", "-lW", path), r"GNU_STACK\s.*\sRW\s")
            self.assertNotIn("TEXTREL", output("readelf", "-dW", path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
