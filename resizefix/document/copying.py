"""Moves bytes into an open file, those of other files by way of the kernel where the system offers one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from resizefix.document.pieces import Piece, Span, coalesced, size_of
from resizefix.document.source import Source
from resizefix.errors import UnreadableModelError

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
