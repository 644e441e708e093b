# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages: what is in which, that each installs beside the others and is gone afterwards, and lintian."""

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import installed


def output(*command, **more):
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, **more)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stdout}{result.stderr}")
    return result.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        output("cpack", "-G", "DEB", "-B", str(cls.folder), cwd=installed.BUILD)
        cls.packages = {re.sub(r"_.*", "", package.name): package for package in cls.folder.glob("*.deb")}

    def contents(self, name):
        return {line.split()[-1] for line in output("dpkg-deb", "--contents", str(self.packages[name])).splitlines()}

    def test_each_has_its_part(self):
        self.assertEqual(set(self.packages), {"libhcoll", "libhcoll-tools", "libhcoll-doc"})
        library, tools, documents = (self.contents(name) for name in ("libhcoll", "libhcoll-tools", "libhcoll-doc"))
        self.assertLessEqual({"./usr/lib/libhcoll.so", "./usr/include/hcoll/hcoll.h"}, library)
        for flavour in [*installed.FLAVOURS, "mpi-abi"]:
            self.assertIn(f"./usr/lib/libhcoll-{flavour}.so", library)
        self.assertLessEqual({"./usr/bin/hcollrun", "./usr/bin/hcoll-info"}, tools)
        self.assertTrue(any(name.endswith("settings.md") or name.endswith("settings.md.gz") for name in documents))
        files = [{name for name in part if not name.endswith("/")} for part in (library, tools, documents)]
        for i, part in enumerate(files):
            for other in files[:i]:
                self.assertEqual(part & other, set())

    def test_unpacked_it_works(self):
        root = self.folder / "root"
        for package in self.packages.values():
            output("dpkg-deb", "-x", str(package), str(root))
        self.assertIn("build", output(str(root / "usr/bin/hcoll-info"), "--version", env=installed.environment()))
        self.assertIn("hcollrun", output(str(root / "usr/bin/hcollrun"), "--help"))

    def test_dpkg_installs_and_removes_them(self):
        if os.geteuid() != 0:
            self.skipTest("dpkg needs root, in a root of its own, too")
        root = self.folder / "system"
        for folder in ("info", "updates"):
            (root / "var/lib/dpkg" / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        dpkg = ["dpkg", "--root", str(root), "--force-not-root", "--force-depends", "--log", str(self.folder / "dpkg.log")]
        output(*dpkg, "--install", *map(str, self.packages.values()))
        self.assertTrue((root / "usr/lib/libhcoll.so").exists())
        output(*dpkg, "--purge", *self.packages)
        self.assertEqual([path for path in root.glob("usr/**/*") if "hcoll" in path.name], [])

    def test_the_rpm_has_every_file_once(self):
        if shutil.which("rpmspec") is None:
            self.skipTest("there is no rpmspec (Debian's rpm)")
        spec = str(installed.SOURCE / "deploy/rpm/libhcoll.spec")
        output("rpmspec", "-P", spec)
        wanted = [line.strip() for line in re.split(r"(?m)^%changelog", (installed.SOURCE / "deploy/rpm/libhcoll.spec").read_text(encoding="utf-8"))[0]
                  .partition("%files\n")[2].splitlines() if line.startswith("%{")]
        places = {name: output("rpm", "--define", "_libdir /usr/lib", "--define", "_prefix /usr", "--define", "_docdir /usr/share/doc", "--eval", name).strip()
                  for name in {re.match(r"%\{\w+\}", line).group() for line in wanted}}
        globs = [re.sub(r"%\{\w+\}", lambda match: places[match.group()], line) for line in wanted]
        with installed.installation() as prefix:
            files = ["/usr/" + str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()]
        for each in globs:
            self.assertTrue(any(self.is_of(file, each) for file in files), f"{each} names nothing that is installed")
        for file in files:
            self.assertEqual(len([each for each in globs if self.is_of(file, each)]), 1, file)

    @staticmethod
    def is_of(file, pattern):
        return file.startswith(pattern) if pattern.endswith("/") else fnmatch.fnmatchcase(file, pattern)

    def test_lintian_is_content(self):
        if shutil.which("lintian") is None:
            self.skipTest("there is no lintian")
        output("lintian", "--allow-root", "--fail-on", "error,warning", *map(str, self.packages.values()))


if __name__ == "__main__":
    if shutil.which("dpkg-deb") is None:
        installed.skip("there is no dpkg")
    unittest.main(verbosity=2)
