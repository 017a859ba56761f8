"""Files that appear whole or not at all: written next to their target under another name, then renamed.

Several files of one result are all written before the first is renamed, in the order they were staged.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from resizefix import process
from resizefix.diagnostics import CannotWriteError, UsageError
from resizefix.document.source import Piece, release, write_pieces

_OPEN_FILES_STAY = os.name == "nt"  # a name cannot be given to another file while one of that name is open


class _Staged(NamedTuple):
    temporary: Path
    target: Path
    named: Path
    overwrite: bool


class AtomicWrite:
    """A set of files being written: `stage` each, then `commit`. Leaving the `with` block removes the uncommitted."""

    def __init__(self) -> None:
        self._staged: list[_Staged] = []
        self._placed: list[Path] = []
        self._folders: list[Path] = []

    def __enter__(self) -> AtomicWrite:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._staged:  # what has its name and is not committed loses it
            process.note(placing=False)
        for staged in self._staged:
            with suppress(OSError):
                staged.temporary.unlink()
        for path in self._placed:
            with suppress(OSError):
                path.unlink()
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()

    def require_free(self, path: Path, *, overwrite: bool) -> None:
        """Raises what `stage` would raise for the name alone, before any work is done."""
        _existing(path, Path(os.path.realpath(path)), overwrite)
        if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise CannotWriteError("document.no-such-folder", path=path, parent=path.parent)

    def stage(self, path: Path, pieces: list[Piece], *, overwrite: bool, make_folders: bool = False) -> Path:
        """Writes the pieces next to `path` (to its target, if it is a link) and returns where they lie until then.

        An existing file keeps its permissions, and its owner where the system lets us; a new one gets those of any new
        file. Raises UsageError if `path` exists and may not be replaced, CannotWriteError if writing fails.
        """
        target = Path(os.path.realpath(path))
        existing = _existing(path, target, overwrite)
        temporary = target.parent / f".resizefix-{os.urandom(8).hex()}.tmp"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            if make_folders:
                self._make_folder(target.parent)
            self._staged.append(_Staged(temporary, target, path, overwrite))
            process.note(staged=[str(staged.temporary) for staged in self._staged])
            descriptor = os.open(temporary, flags, 0o666)
            try:
                if existing is not None:
                    _take_over(descriptor, existing)
                write_pieces(descriptor, pieces)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return temporary

    def make_folder(self, folder: Path) -> None:
        """Makes a folder that is not there yet; it goes again if nothing is committed. Raises CannotWriteError."""
        try:
            self._make_folder(folder)
        except OSError as error:
            raise _cannot_write(folder, error) from error

    def commit(self) -> None:
        """Gives the staged files their names. Raises UsageError, CannotWriteError; then no new file is left behind."""
        with process.uninterrupted():
            process.note(placing=True)
            for staged in self._staged:
                try:
                    self._place(staged)
                except OSError as error:
                    raise _cannot_write(staged.named, error) from error
            folders = {staged.target.parent for staged in self._staged}
            self._placed, self._folders = [], []
            process.note(placed=True, staged=[])
        for folder in folders:
            _sync_folder(folder)

    def _make_folder(self, folder: Path) -> None:
        if not folder.exists():
            self._make_folder(folder.parent)
            folder.mkdir()
            self._folders.append(folder)

    def _place(self, staged: _Staged) -> None:
        if staged.overwrite:
            existed = os.path.lexists(staged.target)
            try:
                os.replace(staged.temporary, staged.target)
            except PermissionError:
                if not (_OPEN_FILES_STAY and release(staged.target)):
                    raise
                os.replace(staged.temporary, staged.target)
            if not existed:
                self._placed.append(staged.target)
            return
        try:
            # Unlike a rename, a link fails if the name was taken in the meantime.
            os.link(staged.temporary, staged.target)
        except FileExistsError:
            raise _exists(staged.named) from None
        except OSError:
            if os.path.lexists(staged.target):
                raise _exists(staged.named) from None
            os.replace(staged.temporary, staged.target)
        else:
            # The file stands, whole: that a second name for it remains is no reason to fail; the end tries again.
            with suppress(OSError):
                os.unlink(staged.temporary)
        self._placed.append(staged.target)


def _existing(path: Path, target: Path, overwrite: bool) -> os.stat_result | None:
    if not os.path.lexists(path):
        return None
    if os.path.isdir(path):
        raise UsageError("document.out-is-folder", path=path)
    if not overwrite:
        raise _exists(path)
    try:
        status = os.stat(target)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError("document.out-is-no-file", path=path)
    return status


def _take_over(descriptor: int, existing: os.stat_result) -> None:
    if not hasattr(os, "fchown"):
        return
    # Only root may give a file away, and anybody to a group of theirs. First, since it takes permissions away.
    for owner in (existing.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, existing.st_gid)
            break
    os.fchmod(descriptor, existing.st_mode & 0o777)


def _exists(path: Path) -> UsageError:
    return UsageError("document.file-exists", path=path)


def _cannot_write(path: Path, error: OSError) -> CannotWriteError:
    return CannotWriteError("document.cannot-write", path=path, strerror=error.strerror or error)


def _sync_folder(folder: Path) -> None:
    # Not every system and file system can; the files themselves are synced.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
