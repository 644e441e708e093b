// SPDX-License-Identifier: BSD-3-Clause
// By which backend an MPI library is met: the texts are as the libraries' users quote them, since those of some could not be had (docs/other_mpis.md).
#include <gtest/gtest.h>

#include <string>

#include "intercept/entry/flavour.h"

namespace hcoll::test {
namespace {

std::string flavour_of(const char* text, const char* set = nullptr, bool has_openmpi_objects = false, int abi = 0) {
    const hcoll_mpi_library library = {
        .version_text = text, .abi_version = abi, .has_openmpi_objects = has_openmpi_objects ? 1 : 0};
    const hcoll_flavour flavour = hcoll_flavour_of(&library, set);
    if (flavour.is_refused != 0) return "refused";
    return flavour.name == nullptr ? "none" : flavour.name;
}

TEST(Flavour, IsToldByWhatLibrariesSayOfThemselves) {
    EXPECT_EQ(flavour_of("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n"), "mpich");
    EXPECT_EQ(flavour_of("Intel(R) MPI Library 2021.11 for Linux* OS\n"), "mpich");
    EXPECT_EQ(flavour_of("Intel(R) MPI Library 5.1.3 for Linux* OS\n"), "mpich");
    EXPECT_EQ(flavour_of("MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\nMPI BUILD INFO : (git hash)"),
              "mpich");
    EXPECT_EQ(flavour_of("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02 22:00:00 EST 2022\n"),
              "mpich");
    EXPECT_EQ(flavour_of("MVAPICH Version      :\t3.0\nMVAPICH Release date :\t02/12/2024\n"), "mpich");
    EXPECT_EQ(flavour_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", nullptr, true), "openmpi");
    EXPECT_EQ(flavour_of("Open MPI v5.0.7, package: Debian OpenMPI", nullptr, true), "openmpi");
    EXPECT_EQ(flavour_of("FUJITSU MPI Library 4.0.1"), "none");
    EXPECT_EQ(flavour_of("MPICH Version: 5.0.2", nullptr, false, 1), "mpi-abi");
    EXPECT_EQ(flavour_of("MPICH Version: 6.0", nullptr, false, 2), "none");
}

TEST(Flavour, IsWhatTheSettingSaysWhereTheLibraryCanHaveIt) {
    EXPECT_EQ(flavour_of("Site MPI 1.0", "mpich"), "mpich");
    EXPECT_EQ(flavour_of("Site MPI 1.0", "openmpi", true), "openmpi");
    EXPECT_EQ(flavour_of("Site MPI 1.0", "abi", false, 1), "mpi-abi");
    EXPECT_EQ(flavour_of("MPICH Version: 4.0.2", "none"), "none");
    EXPECT_EQ(flavour_of("MPICH Version: 4.0.2", "openmpi"), "refused");
    EXPECT_EQ(flavour_of("Open MPI v4.1.4", "mpich", true), "refused");
    EXPECT_EQ(flavour_of("MPICH Version: 4.0.2", "abi"), "refused");
    EXPECT_EQ(flavour_of("MPICH Version: 4.0.2", "lam"), "mpich");  // somebody else's to complain about
}

}  // namespace
}  // namespace hcoll::test
