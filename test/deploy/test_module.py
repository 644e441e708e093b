# SPDX-License-Identifier: BSD-3-Clause
"""The module file, under Environment Modules and Lmod: what `module load` sets, `module unload` takes away."""

import glob
import os
import shutil
import subprocess
import unittest

import installed

# How a shell gets `module`.
SYSTEMS = {"Environment Modules": ["/usr/share/modules/init/bash", "/usr/share/Modules/init/bash"],
           "Lmod": ["/usr/share/lmod/lmod/init/bash"]}
FOUND = {system: init for system, inits in SYSTEMS.items() for init in inits if os.path.exists(init)}
SCRIPT = """
source "$0" >/dev/null 2>&1
module use "$1"
export LD_PRELOAD=/tool/libtool.so
module {command}
echo "preload=$LD_PRELOAD"
echo "info=$(LD_PRELOAD= command -v hcoll-info)"
echo "root=$LIBHCOLL_ROOT"
unset LD_PRELOAD
echo "warnings=$(hcoll-info --topology 2>&1 >/dev/null)"
echo "manual=$(man -w libhcoll 2>/dev/null)"
man -w man >/dev/null 2>&1 && echo "others=there"
"""


def shell(init, folder, command):
    result = subprocess.run(["bash", "--noprofile", "--norc", "-c", SCRIPT.replace("{command}", command), init, folder], capture_output=True,
                            text=True, timeout=60, env=installed.environment())
    return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line), result.stderr


class Module(unittest.TestCase):
    def test_it_is_loaded_and_unloaded(self):
        with installed.installation() as prefix:
            folder = str(prefix / "share" / "modulefiles")
            self.assertEqual(len(glob.glob(folder + "/libhcoll/*")), 1)
            library = str(prefix / "lib" / "libhcoll.so")
            for system, init in FOUND.items():
                with self.subTest(system):
                    loaded, errors = shell(init, folder, "load libhcoll")
                    self.assertEqual(loaded.get("preload"), f"/tool/libtool.so:{library}", errors)
                    self.assertEqual(loaded["info"], str(prefix / "bin" / "hcoll-info"))
                    self.assertEqual(loaded["root"], str(prefix))
                    self.assertEqual(loaded["warnings"], "")
                    self.assertTrue(os.path.exists(library))
                    if shutil.which("man") is not None and (prefix / "share" / "man").exists():
                        self.assertIn(str(prefix), loaded["manual"])
                        before, _ = shell(init, folder, "avail")
                        self.assertEqual(loaded.get("others"), before.get("others"))
                    twice, _ = shell(init, folder, "load libhcoll; module load libhcoll")
                    self.assertEqual(twice, loaded)
                    gone, _ = shell(init, folder, "load libhcoll; module unload libhcoll")
                    self.assertEqual([gone[name] for name in ("preload", "info", "root", "manual")], ["/tool/libtool.so", "", "", ""])
                    print(f"{system}: well")


if __name__ == "__main__":
    if not FOUND:
        installed.skip("neither Environment Modules nor Lmod is here (Debian's environment-modules, lmod)")
    unittest.main(verbosity=2)
