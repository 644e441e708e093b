# SPDX-License-Identifier: BSD-3-Clause
"""Documents: every link leads to a file that is there, and to a heading that is in it."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import installed

SKIPPED_FOLDERS = {"build", "build-asan", "build-tsan", "build-fuzz", "build-aarch64", ".git"}


def documents():
    for path in installed.SOURCE.rglob("*.md"):
        if not SKIPPED_FOLDERS & set(path.relative_to(installed.SOURCE).parts):
            yield path


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^```.*?^```", "", text))


def anchor(heading):
    """As forges make them of headings: small letters, no punctuation, - for each space."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(path):
    return {anchor(heading) for heading in re.findall(r"(?m)^#+ +(.*)$", re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8")))}


class Links(unittest.TestCase):
    def test_each_leads_somewhere(self):
        count = 0
        for path in documents():
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8"))):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(document=str(path.relative_to(installed.SOURCE)), link=target):
                    count += 1
                    name, _, heading = target.partition("#")
                    there = (path.parent / name).resolve() if name else path
                    self.assertTrue(there.exists())
                    self.assertTrue(there.is_relative_to(installed.SOURCE))
                    if heading and there.suffix == ".md":
                        self.assertIn(heading, anchors(there))
        self.assertGreater(count, 50)

    def test_the_table_of_documents_is_complete(self):
        readme = (installed.SOURCE / "README.md").read_text(encoding="utf-8")
        for path in (installed.SOURCE / "docs").glob("*.md"):
            self.assertIn(f"(docs/{path.name})", readme)


class Version(unittest.TestCase):
    """CMakeLists.txt has it; what cannot be made from that has the same."""

    def setUp(self):
        self.version = re.search(r"project\(libhcoll VERSION (\S+)", (installed.SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)

    def test_it_is_the_same_everywhere(self):
        for name, patterns in {"CITATION.cff": [r"(?m)^version: (\S+)"], "CHANGELOG.md": [r"(?m)^## (\S+)"],
                               "deploy/rpm/libhcoll.spec": [r"(?m)^Version: +(\S+)", r"libhcoll-([\d.]+)\.tar", r"(?m)^\* .*> - ([\d.]+)-"],
                               f"deploy/easybuild/libhcoll-{self.version}-gompi-2024a.eb": [r"(?m)^version = '(.*)'", r"eb libhcoll-([\d.]+)-"],
                               "docs/installation.md": [r"libhcoll-(\d[\d.]+)-linux"]}.items():
            text = (installed.SOURCE / name).read_text(encoding="utf-8")
            for pattern in patterns:
                # Of a list of versions the first is the newest.
                found = re.findall(pattern, text)[:1] if name == "CHANGELOG.md" else re.findall(pattern, text)
                self.assertEqual(set(found), {self.version}, (name, pattern))

    def test_every_program_says_it(self):
        programs = [*(installed.BUILD / "bin").glob("hcoll-bench.*"), *(installed.BUILD / "bin").glob("hcoll-tune.*"), installed.BUILD / "bin/hcoll-info",
                    installed.BUILD / "bin/hcollrun"]
        if (installed.BUILD / "simulation/hcoll-simulate").exists():
            programs.append(installed.BUILD / "simulation/hcoll-simulate")
        self.assertGreater(len(programs), 3)
        for program in programs:
            # Programs of the standard ABI find what they were linked to, which has the names of functions.
            done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False,
                                  env=installed.environment(LD_LIBRARY_PATH=str(installed.BUILD / "mpi_abi_names")))
            self.assertEqual(done.returncode, 0, (program, done.stderr))
            self.assertTrue(done.stdout.startswith(self.version), (program, done.stdout))

    def test_what_is_inside_is_named_with_its_licence(self):
        text = (installed.SOURCE / "THIRD-PARTY.md").read_text(encoding="utf-8")
        for name in ("hwloc", "fmt", "spdlog", "JSON for Modern C++", "CLI11", "libstdc++"):
            self.assertIn(name, text)
        with installed.installation() as prefix:
            self.assertTrue((prefix / "share/doc/libhcoll/THIRD-PARTY.md").exists())

    def test_the_citation_names_the_five_sources(self):
        text = (installed.SOURCE / "CITATION.cff").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r"(?m)^  - type: ", text)), 5)


class Site(unittest.TestCase):
    def test_it_is_made_without_a_complaint(self):
        if shutil.which("mkdocs") is None:
            self.skipTest("there is no mkdocs")
        # It leaves its pages in the tree's build folder: from a copy, so that a source folder may be read-only.
        with tempfile.TemporaryDirectory() as folder:
            for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff"):
                shutil.copy(installed.SOURCE / name, folder)
            for name in ("docs", "scripts"):
                shutil.copytree(installed.SOURCE / name, pathlib.Path(folder) / name)
            result = subprocess.run([pathlib.Path(folder) / "scripts" / "site"], capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            site = pathlib.Path(folder) / "build" / "site"
            self.assertIn("hcollrun", (site / "installation.html").read_text(encoding="utf-8"))
            shown = set()
            for page in site.rglob("*.html"):
                text = page.read_text(encoding="utf-8")
                shown |= set(re.findall(r'<img [^>]*src="([^"]*[.]svg)"', text))
                for link in re.findall(r'(?:href|src)="([^"]*)"', text):
                    path = urllib.parse.unquote(link.split("#")[0].split("?")[0])
                    if "://" in link or not path or link.startswith(("mailto:", "data:")) or page.name == "404.html":
                        continue
                    self.assertTrue((page.parent / path).exists(), f"{page.relative_to(site)} leads to {link}, which is not there")
            pictures = {picture.name for picture in (installed.SOURCE / "docs" / "results").glob("*.svg")}
            self.assertGreater(len(pictures), 10)
            self.assertLessEqual(pictures, {name.rsplit("/", 1)[-1] for name in shown})


if __name__ == "__main__":
    unittest.main(verbosity=2)
