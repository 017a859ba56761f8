"""What a process that holds a foreign runtime may not do: write outside one folder, reach a network, take all memory.

Linux enforces it whatever the runtime's native code tries: Landlock for files (since 5.13), a seccomp filter for
sockets. Elsewhere an audit hook stops what Python code tries, and no more. Reading is free.
Runs in other Pythons than this package's own: the standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
from typing import Any

# <linux/landlock.h>; the system calls have one number on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GIVE_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3
_NO_NEW_PRIVILEGES = 38  # <linux/prctl.h>

# <linux/seccomp.h>, <linux/filter.h>, <linux/audit.h>
_SET_SECCOMP, _FILTER = 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 13  # EACCES
_SOCKET_CALL = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
_INTERNET = (2, 10)  # AF_INET, AF_INET6

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Of the arguments of an audit event: those that name what is changed.
_CHANGING = {
    **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod"), (0,)),
    **dict.fromkeys(("os.link", "os.symlink"), (1,)),
    "os.rename": (0, 1),
}
_REACHING = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}


def confine(folder: str, memory: int) -> None:
    """Hold this process, and those it starts, to writing in `folder`, to `memory` bytes, and to no network.

    To be called before anything starts a thread.
    """
    folder = os.path.realpath(folder)
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses limits at times
            resource.setrlimit(
                resource.RLIMIT_DATA, (memory if hard == resource.RLIM_INFINITY else min(memory, hard), hard)
            )
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _write_only_in(libc, folder)
        _open_no_internet_socket(libc)
    sys.addaudithook(_watch(folder))


def _write_only_in(libc: Any, folder: str) -> None:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GIVE_VERSION)
    if version < 1:
        return
    rights = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = libc.syscall(_CREATE_RULESET, struct.pack("Q", rights), ctypes.c_size_t(8), 0)
    if rules < 0:
        return
    for path, allowed in ((folder, rights), ("/dev", _WRITE_FILE), ("/dev/shm", rights)):
        opened = os.open(path, os.O_PATH | os.O_DIRECTORY) if os.path.isdir(path) else -1
        if opened >= 0:
            libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, opened), 0)
            os.close(opened)
    libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)


def _open_no_internet_socket(libc: Any) -> None:
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if machine not in _SOCKET_CALL:
        return
    architecture, call = _SOCKET_CALL[machine]
    # struct seccomp_data: the call's number at 0, the architecture at 4, the first argument at 16.
    steps = [
        (_LOAD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, 6, architecture),
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 0, 4, call),
        (_LOAD, 0, 0, 16),
        (_JUMP_IF_EQUAL, 1, 0, _INTERNET[0]),
        (_JUMP_IF_EQUAL, 0, 1, _INTERNET[1]),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0)


def _watch(folder: str) -> Any:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REACHING:
            raise PermissionError(f"no network: {event}")
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if flags & _WRITING:
                require_inside(arguments[0])
        for position in _CHANGING.get(event, ()):
            if isinstance(arguments[position], (str, bytes)):
                require_inside(arguments[position])

    def require_inside(path: str | bytes) -> None:
        whole = os.path.realpath(os.fsdecode(path))
        here, allowed = os.path.normcase(whole), os.path.normcase(folder)
        is_device = here.startswith("/dev/") or os.path.normcase(os.fsdecode(path)) == os.path.normcase(os.devnull)
        if not (is_device or here == allowed or here.startswith(allowed + os.sep)):
            raise PermissionError(f"no file outside {folder} is written: {whole}")

    return hook
