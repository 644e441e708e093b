# SPDX-License-Identifier: BSD-3-Clause
"""Documents: every link leads to a file that is there, and to a heading that is in it."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

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
            page = (pathlib.Path(folder) / "build" / "site" / "installation.html").read_text(encoding="utf-8")
            self.assertIn("hcollrun", page)
            self.assertTrue(list((pathlib.Path(folder) / "build" / "site" / "results").glob("*.svg")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
