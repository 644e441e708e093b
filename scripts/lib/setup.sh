# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts/demo, scripts/test and scripts/format: what is missing is installed, what is built is up to date.
#
#   hcoll_require SET...       packages of the sets build, demo, test, deploy, aarch64, fuzz; does nothing if all are there
#   hcoll_build [PRESET]       cmake --preset PRESET (default: release) and build, quietly; logs in build/log/
#   hcoll_mpiexec_openmpi N [NAME=VALUE...] -- COMMAND...
#   hcoll_mpiexec_mpich   N [NAME=VALUE...] -- COMMAND...     put into the array HCOLL_LAUNCH what runs COMMAND on N
#                                                             ranks of this machine, with the variables set in the
#                                                             ranks only, not in the launcher
#   say, die STATUS, title     output
#
# Exit status 2: something is missing that cannot be installed from here; the message names it.
# shellcheck shell=bash

HCOLL_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
HCOLL_LOG=$HCOLL_ROOT/build/log
HCOLL_CORES=$(nproc)

say() { printf '%s\n' "$*"; }
title() { printf '\n== %s ==\n' "$*"; }
die() {
    local status=$1
    shift
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit "$status"
}

# Prints the comment block at the head of a script, as its help.
show_head_comment() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); if (!/^SPDX/) print }' "$1"; }

# One line per package: Debian's name (alternatives that serve as well after |), and for systems without dpkg how to
# see that it is there: a command, a pkg-config module or a header.
packages_of_set() {
    case $1 in
    build)
        cat <<'LIST'
g++                      command:g++
cmake                    command:cmake
ninja-build              command:ninja
pkg-config|pkgconf       command:pkg-config
libhwloc-dev             module:hwloc
libspdlog-dev            module:spdlog
libfmt-dev               module:fmt
libcli11-dev             header:CLI/CLI.hpp
nlohmann-json3-dev       header:nlohmann/json.hpp
libgtest-dev             module:gtest
libgmock-dev             module:gmock
mpich                    command:mpiexec.mpich
libmpich-dev             command:mpicc.mpich
openmpi-bin              command:mpiexec.openmpi
libopenmpi-dev           command:mpicc.openmpi
binutils                 command:readelf
LIST
        ;;
    demo)
        cat <<'LIST'
hpcc                     command:hpcc
scalapack-mpi-test       file:/usr/lib/*/scalapack/mpich-tests/xdlu
gnuplot-nox|gnuplot-qt|gnuplot-x11 command:gnuplot
python3                  command:python3
LIST
        ;;
    test)
        cat <<'LIST'
git                      command:git
python3                  command:python3
gfortran                 command:gfortran
python3-mpi4py           python:mpi4py
python3-numpy            python:numpy
valgrind                 command:valgrind
gdb                      command:gdb
iproute2                 command:ip
libsimgrid-dev           header:smpi/mpi.h
clang-format             command:clang-format
clang-tidy               command:clang-tidy
libbenchmark-dev         module:benchmark
gnuplot-nox|gnuplot-qt|gnuplot-x11 command:gnuplot
g++-aarch64-linux-gnu    command:aarch64-linux-gnu-g++
qemu-user|qemu-user-static command:qemu-aarch64
LIST
        ;;
    deploy) # what tests of packages and of other programs take: such tests are skipped, and say so, where it is missing
        cat <<'LIST'
environment-modules      file:/usr/share/modules/init/bash
lintian                  command:lintian
locales                  file:/usr/share/i18n/locales/tr_TR
man-db                   command:man
mkdocs                   command:mkdocs
musl-tools               command:musl-gcc
rpm                      command:rpmbuild
slurm-client             command:srun
slurmctld                command:slurmctld
slurmd                   command:slurmd
slurm-wlm-basic-plugins  file:/usr/lib/*/slurm-wlm/auth_none.so
zsh                      command:zsh
LIST
        if [ "$(uname -m)" = x86_64 ]; then echo "libc6-i386 file:/lib32/libc.so.6"; fi
        ;;
    aarch64) # from another processor: to compile and run what is built, and other releases' programs in a chroot
        cat <<'LIST'
g++-aarch64-linux-gnu    command:aarch64-linux-gnu-g++
qemu-user                command:qemu-aarch64
qemu-user-static         command:qemu-aarch64-static
debootstrap              command:debootstrap
LIST
        ;;
    fuzz)
        cat <<'LIST'
clang                    command:clang++
libclang-rt-14-dev       file:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
LIST
        ;;
    *) die 2 "unknown package set '$1'" ;;
    esac
}

is_installed_package() {
    local status
    status=$(dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null) && grep -qx installed <<<"$status"
}

is_installed_alternative() {
    local name
    for name in ${1//|/ }; do
        if is_installed_package "$name"; then return 0; fi
    done
    return 1
}

is_present() { # kind:name, where there is no dpkg to ask
    local name=${1#*:}
    case $1 in
    command:*) command -v "$name" >/dev/null ;;
    module:*) pkg-config --exists "$name" 2>/dev/null ;;
    header:*) [ -e "/usr/include/$name" ] || [ -e "/usr/local/include/$name" ] ;;
    file:*) compgen -G "$name" >/dev/null ;;
    python:*) python3 -c "import $name" >/dev/null 2>&1 ;;
    esac
}

hcoll_require() {
    local debian=0
    if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then debian=1; fi

    local set names probe
    local -a missing=() missing_probes=()
    while read -r names probe; do
        if [ "$debian" = 1 ]; then
            if is_installed_alternative "$names"; then continue; fi
        elif is_present "$probe"; then
            continue
        fi
        missing+=("${names%%|*}")
        missing_probes+=("${probe#*:} (Debian's package ${names%%|*})")
    done < <(for set in "$@"; do if [ "$set" != deploy ] || [ "$debian" = 1 ]; then packages_of_set "$set"; fi; done | sort -u)
    if [ "${#missing[@]}" = 0 ]; then return 0; fi

    if [ "$debian" = 0 ]; then
        say "Missing on this system:" >&2
        printf '  %s\n' "${missing_probes[@]}" >&2
        say "Install them with this system's package manager and start $(basename "$0") again." >&2
        say "On Debian 12 it would be: apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 2
    fi

    local -a privilege=()
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            privilege=(sudo -n)
        else
            say "Missing packages: ${missing[*]}" >&2
            say "Install them and start $(basename "$0") again:" >&2
            say "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
            exit 2
        fi
    fi

    mkdir -p "$HCOLL_LOG"
    local log=$HCOLL_LOG/apt.log start=$SECONDS
    local -a apt=("${privilege[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
    printf 'Installing %d packages (%s) ... ' "${#missing[@]}" "${missing[*]}"
    if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } \
        </dev/null >"$log" 2>&1; then
        say "failed"
        tail -n 20 "$log" >&2
        die 2 "apt-get could not install: ${missing[*]} (full log: $log)"
    fi
    say "done in $((SECONDS - start)) s"
}

# Runs a step of the build with its output in a log; shows the end of the log if it fails.
logged_step() {
    local name=$1 log=$HCOLL_LOG/$2 start=$SECONDS
    shift 2
    mkdir -p "$HCOLL_LOG"
    printf '%s ... ' "$name"
    if ! "$@" </dev/null >"$log" 2>&1; then
        say "failed after $((SECONDS - start)) s"
        tail -n 80 "$log" >&2
        die 1 "$name failed (full log: $log)"
    fi
    say "done in $((SECONDS - start)) s"
}

hcoll_build() {
    local preset=${1:-release}
    cd "$HCOLL_ROOT" || exit 1
    logged_step "Configuring (preset $preset)" configure.log cmake --preset "$preset"
    logged_step "Building" build.log cmake --build build --parallel "$HCOLL_CORES"
}

# Open MPI yields the core while it waits only if told to: needed once ranks outnumber cores.
hcoll_mpiexec_openmpi() {
    local ranks=$1 with_yield=0
    shift
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if [ "$ranks" -gt "$HCOLL_CORES" ]; then with_yield=1; fi
    HCOLL_LAUNCH=(mpiexec.openmpi -n "$ranks" --oversubscribe --bind-to none --mca mpi_yield_when_idle "$with_yield")
    while [ "$1" != -- ]; do
        HCOLL_LAUNCH+=(-x "$1")
        shift
    done
    shift
    HCOLL_LAUNCH+=("$@")
}

# MPICH 4.0 spins without yielding while it waits: with more ranks than cores it is a thousand times slower.
hcoll_mpiexec_mpich() {
    HCOLL_LAUNCH=(mpiexec.mpich -n "$1")
    shift
    while [ "$1" != -- ]; do
        HCOLL_LAUNCH+=(-genv "${1%%=*}" "${1#*=}")
        shift
    done
    shift
    HCOLL_LAUNCH+=("$@")
}
