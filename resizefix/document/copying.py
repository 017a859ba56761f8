"""Moves bytes into an open file, those of other files by way of the kernel where the system offers one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from resizefix.document.pieces import Piece, Span, coalesced

_CHUNK = 1 << 20
# The kernel takes at most this much in one call (2 GiB less a page); less keeps the call interruptible.
_LARGEST_CALL = 1 << 28
# The call is missing, forbidden, or not made for this pair of files; reading and writing still works.
_UNSUPPORTED = {
    errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EBADF, errno.ETXTBSY
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


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:_LARGEST_CALL]) :]


def _copy(descriptor: int, span: Span) -> None:
    position = span.start
    for step in _kernel_calls(span.source.descriptor, descriptor):
        try:
            while position < span.end:
                copied = step(position, min(span.end - position, _LARGEST_CALL))
                if copied == 0:
                    break
                position += copied
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
    while position < span.end:
        chunk = span.source.read(position, min(span.end, position + _CHUNK))
        _write_all(descriptor, chunk)
        position += len(chunk)


def _kernel_calls(source: int, target: int) -> list[Callable[[int, int], int]]:
    calls: list[Callable[[int, int], int]] = []
    if hasattr(os, "copy_file_range"):
        calls.append(lambda offset, count: os.copy_file_range(source, target, count, offset))
    if hasattr(os, "sendfile"):
        calls.append(lambda offset, count: os.sendfile(target, source, offset, count))
    return calls
