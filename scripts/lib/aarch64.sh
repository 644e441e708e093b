# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts/aarch64 and scripts/release, after setup.sh: AArch64 from another processor.
#
#   hcoll_aarch64_packages     Debian's packages for AArch64 in build-aarch64/sysroot, where cmake/aarch64-linux-gnu.cmake looks for them
#   hcoll_run_aarch64          from now on the kernel runs programs for AArch64 under qemu, also in a chroot; ends the script where it cannot
#   hcoll_end_aarch64          as it was before (to be trapped)
#
# shellcheck shell=bash

HCOLL_AARCH64=$HCOLL_ROOT/build-aarch64
HCOLL_AARCH64_KNOWN=/proc/sys/fs/binfmt_misc

# apt for another architecture and with folders of its own: it neither needs nor changes what is installed here.
fetch_aarch64_packages() {
    local folder=$HCOLL_AARCH64/packages
    mkdir -p "$folder"/{state/lists/partial,cache/archives/partial}
    touch "$folder/state/status"
    cat >"$folder/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$folder/state";
Dir::State::status "$folder/state/status";
Dir::Cache "$folder/cache";
CONF
    local -x APT_CONFIG=$folder/apt.conf
    apt-get -q update
    apt-get -q -y --download-only install libhwloc-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev \
        libgtest-dev libgmock-dev libbenchmark-dev libmpich-dev libopenmpi-dev
    local package
    for package in "$folder"/cache/archives/*.deb; do dpkg -x "$package" "$HCOLL_AARCH64/sysroot"; done
    apt-get clean
}

# Links to absolute paths lead out of the folder.
mend_aarch64_links() {
    local link target
    while IFS= read -r -d '' link; do
        target=$HCOLL_AARCH64/sysroot$(readlink "$link")
        if [ -e "$target" ]; then ln -sfn "$(realpath -s --relative-to="$(dirname "$link")" "$target")" "$link"; fi
    done < <(find "$HCOLL_AARCH64/sysroot" -type l -lname '/*' -print0)
}

# What HcollMpiFlavours.cmake asks: the packages' own wrappers are for AArch64, as the launchers are.
write_aarch64_wrapper() { # FLAVOUR INCLUDES LIBRARIES LIBRARY
    local folder=$HCOLL_AARCH64/sysroot/mpi/$1
    mkdir -p "$folder"
    printf '#!/bin/sh\necho aarch64-linux-gnu-gcc -I%s/%s -L%s/%s -l%s\n' "$HCOLL_AARCH64/sysroot" "$2" "$HCOLL_AARCH64/sysroot" "$3" "$4" >"$folder/mpicc"
    chmod +x "$folder/mpicc"
    ln -sf "$(command -v "mpiexec.$1")" "$folder/mpiexec"
}

make_aarch64_sysroot() {
    fetch_aarch64_packages
    mend_aarch64_links
    local libraries=usr/lib/aarch64-linux-gnu
    write_aarch64_wrapper mpich usr/include/aarch64-linux-gnu/mpich "$libraries" mpich
    write_aarch64_wrapper openmpi "$libraries/openmpi/include" "$libraries/openmpi/lib" mpi
    touch "$HCOLL_AARCH64/sysroot/complete"
}

hcoll_aarch64_packages() {
    command -v apt-get >/dev/null || die 2 "needs Debian's packages for AArch64"
    if [ ! -e "$HCOLL_AARCH64/sysroot/complete" ]; then logged_step "Fetching packages for AArch64" aarch64-packages.log make_aarch64_sysroot; fi
}

# Where the system has not done it itself, as Debian's does with systemd or binfmt-support: heads of files (ELF, 64 bits, little-endian, a program or a
# library, AArch64), and the emulator, which the kernel keeps open (F), so that a chroot needs none.
hcoll_run_aarch64() {
    local known=$HCOLL_AARCH64_KNOWN emulator
    if [ "$(uname -m)" = aarch64 ]; then return; fi
    emulator=$(command -v qemu-aarch64-static) || die 2 "qemu is missing; on Debian: apt-get install --no-install-recommends qemu-user-static"
    if [ ! -e "$known/register" ]; then mount -t binfmt_misc binfmt_misc "$known" || die 2 "the kernel runs no other processor's programs (binfmt_misc)"; fi
    if grep -qs '^flags:.*F' "$known"/*aarch64*; then return; fi
    printf '%s' ":hcoll-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$emulator:F" \
        >"$known/register" || die 2 "the kernel takes no emulator for AArch64 ($known)"
    hcoll_aarch64_is_ours=1
}

hcoll_end_aarch64() {
    if [ "${hcoll_aarch64_is_ours:-0}" = 1 ]; then echo -1 >"$HCOLL_AARCH64_KNOWN/hcoll-aarch64"; fi
}
