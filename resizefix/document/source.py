"""A file held open for reading, which stays the same file whatever happens to its name."""

from __future__ import annotations

import mmap
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from resizefix.errors import UnreadableModelError

TOKEN_PREFIX = "resizefix:"
_sources: weakref.WeakSet[Source] = weakref.WeakSet()


class Source:
    """An open regular file: its descriptor, its size, and what it looked like when it was opened.

    The descriptor keeps the bytes reachable after the name was given to another file, so a model can be saved over
    itself and saved again. It is closed with the last reference to the object. Raises UnreadableModelError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # O_NONBLOCK: opening a pipe must fail below, not wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            self.descriptor = os.open(path, flags)
        except FileNotFoundError:
            raise _missing(path) from None
        except OSError as error:
            raise UnreadableModelError(
                "document.cannot-be-opened", path=path, strerror=error.strerror or error
            ) from error
        self._close = weakref.finalize(self, os.close, self.descriptor)
        _sources.add(self)
        status = os.fstat(self.descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise UnreadableModelError("document.model-is-folder", path=path)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableModelError("document.model-is-no-file", path=path)
        self.size = status.st_size
        self._identity = _identity(status)
        # The same for the same file however often it is opened, different for any other file.
        self.token = TOKEN_PREFIX + ".".join(f"{number:x}" for number in self._identity)

    def unchanged(self) -> bool:
        """Whether the file still has the size and modification time it was opened with; not once it was released."""
        return self._close.alive and _identity(os.fstat(self.descriptor)) == self._identity

    def require_unchanged(self) -> None:
        """Raises UnreadableModelError if the file was written to since it was opened."""
        if not self.unchanged():
            raise UnreadableModelError("document.changed-since-opened", path=self.path)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether `path` leads to this very file, unchanged."""
        try:
            return _identity(os.stat(path)) == self._identity
        except OSError:
            return False

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`. Raises UnreadableModelError if the file no longer has them."""
        if not self._close.alive:
            self.require_unchanged()
        chunks = []
        while start < end:
            try:
                chunk = _read_at(self.descriptor, min(end - start, 1 << 30), start)
            except OSError as error:
                raise UnreadableModelError(
                    "document.cannot-be-read", path=self.path, strerror=error.strerror or error
                ) from error
            if not chunk:
                raise UnreadableModelError("document.file-is-cut", path=self.path, start=start, end=end - start)
            chunks.append(chunk)
            start += len(chunk)
        return b"".join(chunks)

    @contextmanager
    def mapped(self) -> Iterator[mmap.mmap]:
        """The file as one indexable object whose pages are read only where they are touched."""
        # A shrunken file would not raise but kill the process on access.
        self.require_unchanged()
        try:
            mapping = mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UnreadableModelError(
                "document.cannot-be-mapped", path=self.path, strerror=error.strerror or error
            ) from error
        with mapping:
            yield mapping


def release(path: str | os.PathLike[str]) -> bool:
    """Close every source that reads the file `path`, for systems that replace no file that is open. Whether there was
    one: what it has not read yet is lost."""
    found = [source for source in _sources if source._close.alive and source.is_at(path)]
    for source in found:
        source._close()
    return bool(found)


def _missing(path: Path) -> UnreadableModelError:
    """The error for a file that is not there; for a link, with what it leads to."""
    if os.path.islink(path):
        return UnreadableModelError("document.link-leads-nowhere", path=path, target=os.path.realpath(path))
    return UnreadableModelError("document.no-such-file", path=path)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read_at(descriptor: int, count: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)
