from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from resizefix.diagnostics import UnreadableModelError
from resizefix.document import source as pieces
from resizefix.document.source import Source, Span, coalesced, framed, is_already, size_of, write_pieces

CONTENT = bytes(range(256)) * 40_000  # ten megabytes, more than one chunk


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "in").write_bytes(CONTENT)
    return Source(tmp_path / "in")


def written(path: Path, pieces: list[bytes | Span]) -> bytes:
    with path.open("wb", buffering=0) as file:
        write_pieces(file.fileno(), pieces)
    return path.read_bytes()


def pieces_of(source: Source) -> list[bytes | Span]:
    return [b"head", Span(source, 3, 9_000_000), b"", b"middle", Span(source, 5, 5), Span(source, 0, 7), b"tail"]


EXPECTED = b"head" + CONTENT[3:9_000_000] + b"middle" + CONTENT[:7] + b"tail"


def test_pieces_are_written_in_order(tmp_path, source):
    assert written(tmp_path / "out", pieces_of(source)) == EXPECTED
    assert size_of(pieces_of(source)) == len(EXPECTED)


@pytest.mark.parametrize("missing", [["copy_file_range"], ["copy_file_range", "sendfile"]])
def test_a_system_without_copying_in_the_kernel_writes_the_same(tmp_path, source, monkeypatch, missing):
    for name in missing:
        monkeypatch.delattr(pieces.os, name, raising=False)
    assert written(tmp_path / "out", pieces_of(source)) == EXPECTED


in_the_kernel = pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="the call is Linux's")


@in_the_kernel
@pytest.mark.parametrize("after", [0, 1])
def test_a_kernel_that_refuses_at_once_or_midway_is_replaced_by_reading(tmp_path, source, monkeypatch, after):
    calls = []
    real = os.copy_file_range

    def refusing(source: int, target: int, count: int, offset: int) -> int:
        calls.append(count)
        if len(calls) > after:
            raise OSError(errno.EXDEV, "not across devices")
        return real(source, target, min(count, 1000), offset)

    monkeypatch.setattr(pieces.os, "copy_file_range", refusing)
    monkeypatch.delattr(pieces.os, "sendfile", raising=False)
    assert written(tmp_path / "out", pieces_of(source)) == EXPECTED
    assert len(calls) > after


def test_an_error_of_the_disk_is_not_taken_for_a_missing_call(tmp_path, source, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pieces.os, "copy_file_range", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        written(tmp_path / "out", pieces_of(source))


def test_a_file_that_lost_its_end_is_an_error_and_no_short_copy(tmp_path, source):
    os.truncate(tmp_path / "in", 100)
    with pytest.raises(UnreadableModelError, match="ends at byte 100"):
        written(tmp_path / "out", pieces_of(source))


def test_neighbouring_pieces_become_one(source):
    pieces = [Span(source, 0, 3), Span(source, 3, 5), b"a", b"", b"b", Span(source, 5, 6), Span(source, 8, 9)]
    assert coalesced(pieces) == [Span(source, 0, 5), b"ab", Span(source, 5, 6), Span(source, 8, 9)]


def test_a_frame_states_the_length_of_what_it_holds(source):
    assert framed(5, [b"ab", Span(source, 0, 300)])[0] == b"\x2a\xae\x02"


def test_a_file_is_recognised_as_already_written(tmp_path, source):
    (tmp_path / "out").write_bytes(EXPECTED)
    assert is_already(tmp_path / "out", pieces_of(source))
    assert not is_already(tmp_path / "out", [*pieces_of(source), b"more"])
    assert not is_already(tmp_path / "missing", pieces_of(source))
    (tmp_path / "out").write_bytes(EXPECTED[:-1] + b"L")
    assert not is_already(tmp_path / "out", pieces_of(source))


@in_the_kernel
@pytest.mark.parametrize(("shift", "largest"), [(0, 9_000_000), (4096, 9_000_000), (3, 32 * 1024), (-8, 32 * 1024)])
def test_files_that_are_out_of_step_are_copied_in_whole_pages_of_the_target(
    tmp_path, source, monkeypatch, shift, largest
):
    calls = []
    real = os.copy_file_range

    def watched(origin: int, target: int, count: int, offset: int) -> int:
        calls.append((os.lseek(target, 0, os.SEEK_CUR), count))
        return real(origin, target, count, offset)

    monkeypatch.setattr(pieces.os, "copy_file_range", watched)
    head = bytes(8192 + shift)
    assert written(tmp_path / "out", [head, Span(source, 8192, 9_000_000)]) == head + CONTENT[8192:9_000_000]
    assert max(count for _, count in calls) == min(largest, 9_000_000 - 8192)
    assert all(position % 4096 == 0 for position, _ in calls[1:])
