# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: copy it to <repository>/packages/libhcoll/package.py.
from spack.package import *


class Libhcoll(CMakePackage):
    """Faster collectives for unmodified MPI programs: one library to preload."""

    homepage = "https://example.invalid/libhcoll"
    git = "https://example.invalid/libhcoll.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("simulation", default=False, description="hcoll-simulate: the library on simulated machines (SimGrid)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("mpi")
    depends_on("hwloc@2:")
    depends_on("fmt")
    depends_on("spdlog")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("simgrid@3.32: +smpi", when="+simulation")

    conflicts("%gcc@:10", msg="C++20 is needed")

    def cmake_args(self):
        return [
            self.define("HCOLL_MPI", self.spec["mpi"].prefix),
            # Spack's hwloc is a shared library, and so is its C++ run-time: found by the paths that Spack writes into what it builds.
            self.define("HCOLL_PORTABLE", False),
            self.define("HCOLL_TESTS", False),
            self.define("HCOLL_ABI_PROGRAMS", False),
            self.define_from_variant("HCOLL_SIMULATION", "simulation"),
        ]

    @run_after("install", when="+simulation")
    def install_simulation(self):
        cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
        cmake("--install", self.build_directory, "--component", "simulation")

    def setup_run_environment(self, env):
        env.append_path("LD_PRELOAD", join_path(self.prefix.lib, "libhcoll.so"))
