"""Faults in the system calls that change files: installed in a child process, before it runs a command.

Every call to one of the functions below counts, in order; at call number `at` (from 0) happens `how`:
`kill` (SIGKILL instead of the call), `kill after` (right after it), `kill half` (a write gets half of its bytes out),
or the name of an errno, which is raised instead; from there on each further call too if `forever`. How `short`: no
fault, but no write takes more than 1000 bytes, as a system may do at any time. Without `how` calls are only counted.
"""

import contextlib
import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGING = (
    "link",
    "unlink",
    "replace",
    "rename",
    "mkdir",
    "rmdir",
    "fchmod",
    "fchown",
    "fsync",
    "truncate",
    "ftruncate",
)
# The position of the argument that says how much, and whether that is data rather than a number.
MOVING = {"write": (1, True), "copy_file_range": (2, False), "sendfile": (3, False)}


def install(fault: dict[str, Any], log: Path) -> None:
    """Replace the functions in `os`; the names of the calls made go to `log`, a line each."""
    descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    write = os.write
    count = 0

    def counted(name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal count
        number, count = count, count + 1
        write(descriptor, f"{name}\n".encode())
        how = fault.get("how")
        if how == "short" and name in MOVING:
            return call(*_at_most(name, arguments, 1000), **options)
        struck = number == fault.get("at") or (fault.get("forever") and number > fault.get("at", 0))
        if how is None or how == "short" or not struck:
            return call(*arguments, **options)
        if not how.startswith("kill"):
            code = getattr(errno, how)
            raise OSError(code, os.strerror(code))
        if how == "kill half" and name in MOVING:
            call(*_at_most(name, arguments, _amount(name, arguments) // 2), **options)
        elif how == "kill after":
            with contextlib.suppress(OSError):  # what it removes may be gone already
                call(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: counted(name, call, *arguments, **options)

    for name in (*CHANGING, *MOVING):
        if hasattr(os, name):
            setattr(os, name, wrapped(name, getattr(os, name)))
    real_open = os.open

    def opening(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if not flags & os.O_CREAT:
            return real_open(path, flags, *arguments, **options)
        made: int = counted("open", real_open, path, flags, *arguments, **options)
        return made

    os.open = opening


def _amount(name: str, arguments: tuple[Any, ...]) -> int:
    position, is_data = MOVING[name]
    return len(arguments[position]) if is_data else int(arguments[position])


def _at_most(name: str, arguments: tuple[Any, ...], limit: int) -> tuple[Any, ...]:
    position, is_data = MOVING[name]
    given = arguments[position]
    less = given[:limit] if is_data else min(given, limit)
    return (*arguments[:position], less, *arguments[position + 1 :])
