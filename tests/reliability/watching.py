"""What a command opens: seen from inside the process by an audit hook, and from outside by the system.

The hook sees what Python opens, with the path; libraries written in C++ open files behind its back. So the kernel is
asked too, where it has inotify: whether a given file was opened at all, by whomever.
"""

import ctypes
import os
import site
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_OPENED, _READ = 0x20, 0x01  # IN_OPEN, IN_ACCESS of inotify(7)
_NOT_BLOCKING = getattr(os, "O_NONBLOCK", 0)
_EVENT = struct.Struct("iIII")

# Where Python and its packages lie, and what the system tells of itself.
_OWN = (
    *{path for path in (*sysconfig.get_paths().values(), *site.getsitepackages(), sys.prefix, sys.base_prefix) if path},
    *filter(None, sys.path),  # a .pth file may name further folders
    str(Path(__file__).resolve().parents[2]),
    "/proc",
    "/sys",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/null",
    "/dev/urandom",
)
_FORBIDDEN = frozenset(
    {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "pickle.find_class"}
)


def tell_what_is_touched(homes: Sequence[Path], tell: Callable[[str], None]) -> None:
    """From now on `tell` gets a line for each file outside of `homes` that Python opens, and each program it starts.

    Where `model.onnx` of a home leads, if it is a link, is what the user named.
    """
    models = (home / "model.onnx" for home in homes)
    allowed = tuple(os.path.realpath(path) for path in (*homes, *models, *_OWN))
    around = {os.path.dirname(path) for path in allowed[: len(homes)]}
    temporary = os.path.realpath(tempfile.gettempdir())

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN:
            tell(f"{event} {arguments[0]!r}")
        if event != "open" or not isinstance(arguments[0], (str, bytes)):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        inside = any(path == place or path.startswith(place + os.sep) for place in allowed)
        # Folders of our own making, such as those for a chain that is measured.
        own = os.path.dirname(path).startswith(temporary + os.sep) and not path.startswith(tuple(around))
        if not inside and not own:
            tell(f"opened {path}")

    sys.addaudithook(hook)


class Watch:
    """Counts how often a file is opened or read, by anybody, while the `with` block lasts; Linux only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @staticmethod
    def is_possible() -> bool:
        """Whether this system has inotify."""
        return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "inotify_init1")

    def __enter__(self) -> "Watch":
        system = ctypes.CDLL(None, use_errno=True)
        self._descriptor = system.inotify_init1(_NOT_BLOCKING)
        if self._descriptor < 0 or system.inotify_add_watch(
            self._descriptor, os.fsencode(self._path), _OPENED | _READ
        ) < 0:  # fmt: skip
            raise OSError(ctypes.get_errno(), f"cannot watch {self._path}")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def count(self) -> int:
        """How often it was opened or read since the last time this was asked."""
        try:
            events = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return 0
        count = position = 0
        while position < len(events):
            position += _EVENT.size + _EVENT.unpack_from(events, position)[3]
            count += 1
        return count
