"""A file held open for reading, which stays the same file whatever happens to its name.

What a file to be written is made of: bytes, and spans of files that are already on disk.

Spans let a payload travel from the old file to the new one inside the kernel, where the system offers a way; Python
sees only its offsets.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.wire import encode_header

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
    sources = [source for source in _sources if source._close.alive and source.is_at(path)]
    for source in sources:
        source._close()
    return bool(sources)


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


class Span(NamedTuple):
    """The bytes `start` to `end` of a file that is held open."""

    source: Source
    start: int
    end: int

    def is_same_place(self, other: Span) -> bool:
        """Whether these are the same bytes of the same file."""
        return self.source.token == other.source.token and self[1:] == other[1:]


Piece = bytes | Span


def size_of(pieces: Iterable[Piece]) -> int:
    """How many bytes the pieces make."""
    return sum(piece.end - piece.start if isinstance(piece, Span) else len(piece) for piece in pieces)


def as_bytes(pieces: Iterable[Piece]) -> bytes:
    """The pieces joined, spans read from their files."""
    return b"".join(piece.source.read(piece.start, piece.end) if isinstance(piece, Span) else piece for piece in pieces)


def part_of(piece: Piece, start: int, end: int) -> Piece:
    """The bytes `start` to `end` of a piece, as far as it has them."""
    if isinstance(piece, bytes):
        return piece[start:end]
    return Span(piece.source, min(piece.start + start, piece.end), min(piece.start + end, piece.end))


def framed(number: int, content: list[Piece]) -> list[Piece]:
    """The pieces of a length-delimited record of field `number` around `content`."""
    return [encode_header(number, size_of(content)), *content]


def coalesced(pieces: Iterable[Piece]) -> list[Piece]:
    """The same bytes in as few pieces as possible: neighbouring spans and neighbouring bytes become one."""
    out: list[Piece] = []
    literal: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            literal.append(piece)
            continue
        if literal:
            out.append(b"".join(literal))
            literal = []
        last = out[-1] if out else None
        if isinstance(last, Span) and last.source is piece.source and last.end == piece.start:
            out[-1] = Span(piece.source, last.start, piece.end)
        elif piece.start < piece.end:
            out.append(piece)
    if literal:
        out.append(b"".join(literal))
    return out


_CHUNK = 1 << 20
# The kernel takes at most this much in one call (2 GiB less a page); less keeps the call interruptible.
_LARGEST_CALL = 1 << 28
_PAGE = 4096
# Where the two files are out of step by a part of a page, the kernel (through a pipe of 16 pages) fills the target's
# pages in fragments, at a third of the speed; not if each call begins and ends where a few whole pages of it do.
_OUT_OF_STEP_CALL = 8 * _PAGE
# How much is copied before the kernel is asked to write it.
_BEGUN_AT_ONCE = 1 << 26
# The call is missing, forbidden, or not made for this pair of files; reading and writing still works.
_UNSUPPORTED = {
    errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOTSOCK, errno.EPERM, errno.EBADF
}  # fmt: skip


def write_pieces(descriptor: int, pieces: list[Piece]) -> None:
    """Writes the pieces at the current position.

    Raises OSError if writing fails, UnreadableModelError if reading does.
    """
    for piece in coalesced(pieces):
        if isinstance(piece, bytes):
            _write_all(descriptor, piece)
        else:
            _copy(descriptor, piece)


def is_already(path: Path, pieces: list[Piece]) -> bool:
    """Whether the file `path` exists and consists of these pieces."""
    try:
        existing = Source(path)
    except UnreadableModelError:
        return False
    if existing.size != size_of(pieces):
        return False
    position = 0
    for chunk in _chunks(pieces):
        if existing.read(position, position + len(chunk)) != chunk:
            return False
        position += len(chunk)
    return True


def first_difference(before: Piece, after: Piece) -> int | None:
    """The first byte in which two pieces differ, or at which one of them ends; None if they are the same."""
    if isinstance(before, Span) and isinstance(after, Span) and before.is_same_place(after):
        return None
    position = 0
    for old, new in zip_longest(_chunks([before]), _chunks([after]), fillvalue=b""):
        if old != new:
            return position + _equal_length(old, new)
        position += len(old)
    return None


def _equal_length(old: bytes, new: bytes) -> int:
    """How many bytes two different texts have in common at their beginning."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def _chunks(pieces: list[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        if isinstance(piece, bytes):
            yield from (piece[start : start + _CHUNK] for start in range(0, len(piece), _CHUNK))
        else:
            for start in range(piece.start, piece.end, _CHUNK):
                yield piece.source.read(start, min(start + _CHUNK, piece.end))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:_LARGEST_CALL]) :]


def _copy(descriptor: int, span: Span) -> None:
    position = span.start
    begun = position
    shift = os.lseek(descriptor, 0, os.SEEK_CUR) - position
    for step in _kernel_calls(span.source.descriptor, descriptor):
        try:
            while position < span.end:
                copied = step(position, min(span.end - position, _size_of_call(position + shift, shift)))
                if copied == 0:
                    break
                position += copied
                if position - begun >= _BEGUN_AT_ONCE:
                    _begin_writing(descriptor, begun + shift, position - begun)
                    begun = position
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    while position < span.end:
        chunk = span.source.read(position, min(span.end, position + _CHUNK))
        _write_all(descriptor, chunk)
        position += len(chunk)


def _begin_writing(descriptor: int, offset: int, count: int) -> None:
    """Let the kernel bring these bytes to the disk while others are copied, so that the sync at the end is short."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, count, os.POSIX_FADV_DONTNEED)


def _size_of_call(target: int, shift: int) -> int:
    """How much to move at once to the position `target`, which is `shift` bytes from that in the source."""
    return _LARGEST_CALL if shift % _PAGE == 0 else _OUT_OF_STEP_CALL - target % _OUT_OF_STEP_CALL


def _kernel_calls(source: int, target: int) -> list[Callable[[int, int], int]]:
    calls: list[Callable[[int, int], int]] = []
    if hasattr(os, "copy_file_range"):
        calls.append(lambda offset, count: os.copy_file_range(source, target, count, offset))
    if hasattr(os, "sendfile"):
        calls.append(lambda offset, count: os.sendfile(target, source, offset, count))
    return calls
