# SPDX-License-Identifier: BSD-3-Clause
"""Programs that libhcoll.so is not made for, under the same preload: static ones, of 32 bits, of another processor, of another C library. They run."""

import errno
import os
import shutil
import subprocess
import tempfile
import unittest

LIBRARY, SOURCE = os.environ["HCOLL_TEST_LIBRARY"], os.path.dirname(os.path.realpath(__file__))
HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n'
# Of 32 bits there is no C library to compile with, only one to run with.
EXIT_32 = 'void _start(void) { __asm__ volatile("int $0x80" ::"a"(1), "b"(3)); __builtin_unreachable(); }\n'


def needs(*commands):
    missing = [command for command in commands if shutil.which(command) is None]
    return unittest.skipIf(missing, f"there is no {', no '.join(missing)}")


class OtherPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def made(self, text, compiler, *options):
        source, program = os.path.join(self.folder, "program.c"), os.path.join(self.folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([*compiler, source, "-o", program, *options], check=True)
        return program

    def run_preloaded(self, *command):
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("LIBHCOLL_", "PMI", "OMPI_", "SLURM_"))}
        return subprocess.run(command, env={**variables, "LD_PRELOAD": LIBRARY, "LIBHCOLL_REPORT": "1"}, cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False)

    @needs("gcc")
    def test_a_static_one_does_not_notice(self):
        done = self.run_preloaded(self.made(HELLO, ["gcc", "-static"]))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "hello\n", ""))

    @needs("gcc")
    @unittest.skipIf(os.uname().machine != "x86_64" or not os.path.exists("/lib32/libc.so.6"), "there is no C library of 32 bits (Debian's libc6-i386)")
    def test_one_of_32_bits_has_the_loaders_message(self):
        program = self.made(EXIT_32, ["gcc", "-m32", "-nostdlib", "-no-pie"], "-Wl,--no-as-needed,-dynamic-linker,/lib/ld-linux.so.2", "/lib32/libc.so.6")
        try:
            done = self.run_preloaded(program)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            self.skipTest("this kernel runs no programs of 32 bits")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn("cannot be preloaded", done.stderr)

    @needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    @unittest.skipIf(os.uname().machine == "aarch64", "AArch64 is this processor")
    def test_one_of_another_processor_has_the_loaders_message(self):
        program = self.made(HELLO, ["aarch64-linux-gnu-gcc"])
        done = self.run_preloaded("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_PRELOAD={LIBRARY}", program)
        self.assertEqual((done.returncode, done.stdout), (3, "hello\n"), done.stderr)
        self.assertIn("cannot be preloaded", done.stderr)

    @needs("musl-gcc")
    def test_one_of_another_c_library_has_its_mpi_library_alone(self):
        done = self.run_preloaded(self.made(HELLO, ["musl-gcc"]))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "hello\n", ""))
        subprocess.run(["musl-gcc", "-shared", "-fPIC", '-DFAKE_TEXT="MPICH Version: 4.0"', os.path.join(SOURCE, "fake_mpi.c"), "-o",
                        os.path.join(self.folder, "libfake_mpi.so")], check=True)
        program = os.path.join(self.folder, "mpi_program")
        subprocess.run(["musl-gcc", os.path.join(SOURCE, "fake_program.c"), "-o", program, "-L", self.folder, "-lfake_mpi", f"-Wl,-rpath,{self.folder}"],
                       check=True)
        alone = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
        done = self.run_preloaded(program)
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)
        self.assertIn("Reduce 0x1 0x2 3", done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("this C library is not glibc", done.stderr)
        # With its MPI library loaded by a module, for itself.
        module, loader = os.path.join(self.folder, "module.so"), os.path.join(self.folder, "loader")
        subprocess.run(["musl-gcc", "-shared", "-fPIC", "-DMODULE", os.path.join(SOURCE, "fake_program.c"), "-o", module, "-L", self.folder, "-lfake_mpi",
                        f"-Wl,-rpath,{self.folder}"], check=True)
        subprocess.run(["musl-gcc", os.path.join(SOURCE, "fake_loader.c"), "-o", loader], check=True)
        done = self.run_preloaded(loader, module)
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
