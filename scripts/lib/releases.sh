# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts/release, scripts/newest and scripts/recipes, after setup.sh: other releases of Debian, and of Ubuntu, in folders.
#
#   hcoll_require_roots            ends the script where no such root can be made
#   hcoll_root RELEASE FOLDER PACKAGE...    makes the root if it is not there; installs what is missing in it. It is for the processor that
#                                  HCOLL_ROOT_ARCHITECTURE names as Debian does (arm64), else for this one
#   hcoll_in_root FOLDER SCRIPT ARGUMENT... runs the text of a script there, as sh does; the tree is /source, to be read
#   HCOLL_STANDARD_ABI             text for such a script: functions about libraries of MPI's standard ABI, and last_line_of COMMAND...
#
# shellcheck shell=bash

# shellcheck disable=SC2016,SC2034
HCOLL_STANDARD_ABI='
# Runs a command and prints the last line that it has said; where it fails, all of them.
last_line_of() {
    if said=$("$@"); then
        printf "%s\n" "$said" | tail -n 1
    else
        printf "%s\n" "$said"
        return 1
    fi
}
# Has the MPI library $1 one of the standard ABI? A folder in which that has its common name, for LD_LIBRARY_PATH.
standard_abi_of() {
    for file in /usr/lib/*/libmpi_abi_"$1".so.1*; do
        if [ ! -e "$file" ]; then return 1; fi
        mkdir -p "/tmp/standard-abi/$1"
        ln -sf "$file" "/tmp/standard-abi/$1/libmpi_abi.so.1"
        echo "/tmp/standard-abi/$1"
        return 0
    done
}
# Its header.
standard_header_of() {
    ls /usr/lib/*/"mpi_abi_$1"/include/mpi.h /usr/lib/*/"$1"/include/standard_abi/mpi.h 2>/dev/null | head -n 1
}
'

hcoll_require_roots() {
    [ "$(id -u)" = 0 ] || die 2 "other releases are run in a chroot, which needs root"
    command -v debootstrap >/dev/null || die 2 "debootstrap is missing; on Debian: apt-get install --no-install-recommends debootstrap"
}

hcoll_root() {
    local release=$1 root=$2 keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg scripts=/usr/share/debootstrap/scripts
    local -a options=(--variant=minbase) source=()
    shift 2
    if [ ! -e "$root/made" ]; then
        # What debootstrap is too old to know is taken for one of Ubuntu's, which are all made alike.
        if [ ! -e "$scripts/$release" ]; then
            source=(http://archive.ubuntu.com/ubuntu "$scripts/gutsy")
            if [ -n "${HCOLL_ROOT_ARCHITECTURE:-}" ]; then source[0]=http://ports.ubuntu.com/ubuntu-ports; fi
        fi
        if [ -n "${HCOLL_ROOT_ARCHITECTURE:-}" ]; then options+=("--arch=$HCOLL_ROOT_ARCHITECTURE"); fi
        if grep -qs "$keyring" "${source[1]:-$scripts/$release}"; then
            # Ubuntu has its MPI libraries, as most of what Debian has, in a component of its own.
            options+=("--components=main,universe")
            if [ ! -e "$keyring" ]; then
                echo "$release is one of Ubuntu's, whose keys are in Debian's package ubuntu-keyring (13 or newer)"
                return 1
            fi
        fi
        rm -rf "$root"
        mkdir -p "$(dirname "$root")"
        debootstrap "${options[@]}" "$release" "$root" "${source[@]}" || return 1
        touch "$root/made"
    fi
    # MPICH looks for its own host by name.
    if ! grep -qs "$(hostname)" "$root/etc/hosts"; then
        printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >>"$root/etc/hosts"
    fi
    if chroot "$root" dpkg-query -W "$@" >/dev/null 2>&1; then return 0; fi
    # shellcheck disable=SC2016
    chroot "$root" sh -c 'export DEBIAN_FRONTEND=noninteractive
        apt-get -q update -o Acquire::Check-Valid-Until=false && apt-get -q -y install --no-install-recommends "$@"' apt "$@"
}

# In a mount namespace of its own, so that nothing stays mounted. The root of a process has to be a mount point.
hcoll_in_root() {
    local root=$1
    shift
    mkdir -p "$root/source"
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c 'root=$1 source=$2
        shift 2
        mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
            mount --bind -o ro "$source" "$root/source" && exec chroot "$root" sh -c "$@"' sh "$root" "$HCOLL_ROOT" "$@"
}
