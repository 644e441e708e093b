# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel is asked for and Python's library does not have: namespaces, mounts, a signal when the parent dies."""

import ctypes
import errno
import os
import shutil

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

MOUNT_NOSUID, MOUNT_NODEV, MOUNT_BIND, MOUNT_RECURSIVE, MOUNT_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_libc = ctypes.CDLL(None, use_errno=True)


class Lacking(Exception):
    """This system cannot do what a cluster needs; the text is one sentence that says what is missing."""


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def mount(source, target, kind, flags=0, options=None):
    encoded = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount on {target}")


def keep_mounts_private():
    """What is mounted from here on is seen by nobody outside of this mount namespace."""
    try:
        mount("none", "/", None, MOUNT_RECURSIVE | MOUNT_PRIVATE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise Lacking("the root of this process is no mount point, as in a chroot: bind it to itself first (mount --bind ROOT ROOT, then chroot ROOT)") from error


def join_network(process):
    """This process goes on in the network of another one, and in its user namespace where that is a different one."""
    def differs(kind):
        return os.stat(f"/proc/self/ns/{kind}").st_ino != os.stat(f"/proc/{process}/ns/{kind}").st_ino

    for kind in ("user", "net") if differs("user") else ("net",):
        file = os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY)
        _check(_libc.setns(file, 0), f"setns to the {kind} namespace of process {process}")
        os.close(file)


def die_with_parent(parent):
    """SIGKILL when the parent dies. To be called after namespaces were changed, which would undo it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl")
    # A process in a new PID namespace sees its parent as 0.
    if os.getppid() not in (parent, 0):
        os._exit(1)


def stay_visible():
    """Lets others of this user look into /proc/<pid>/root, which a new user namespace takes away."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


def tool(name, package):
    """The path of a system administrator's command, which need not be on a user's PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Lacking(f"the command {name} is missing (Debian's package {package})")
    return path


def _setting(name):
    try:
        with open(os.path.join("/proc/sys", name), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _why_no_user_namespace():
    if _setting("user/max_user_namespaces") == "0":
        return "user.max_user_namespaces is 0"
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return "kernel.unprivileged_userns_clone is 0"
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "kernel.apparmor_restrict_unprivileged_userns is 1"
    return "perhaps a container's seccomp filter"


def enter_namespaces(flags):
    """New namespaces; for those who may not make them, in a user namespace in which this user is root."""
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(flags)
        return
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise Lacking("no more namespaces are allowed here; the limits are in /proc/sys/user") from error
        if error.errno != errno.EPERM:
            raise Lacking(f"this kernel makes no new namespaces ({os.strerror(error.errno)})") from error
    try:
        unshare(NEW_USER | flags)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except OSError as error:
        raise Lacking("neither namespaces nor a user namespace that allows them can be made here "
                      f"({_why_no_user_namespace()}); try as root") from error
