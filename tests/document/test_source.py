from __future__ import annotations

import os

import pytest

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.source import Source


def test_a_file_stays_readable_after_its_name_was_given_to_another(tmp_path):
    (tmp_path / "model").write_bytes(b"the old one")
    source = Source(tmp_path / "model")
    (tmp_path / "new").write_bytes(b"another")
    os.replace(tmp_path / "new", tmp_path / "model")
    assert source.read(4, 7) == b"old"
    assert source.unchanged()
    assert not source.is_at(tmp_path / "model")


def test_a_file_written_to_since_is_noticed(tmp_path):
    (tmp_path / "model").write_bytes(b"content")
    source = Source(tmp_path / "model")
    assert source.is_at(tmp_path / "model")
    with (tmp_path / "model").open("ab") as file:
        file.write(b"more")
    assert not source.is_at(tmp_path / "model")
    with pytest.raises(UnreadableModelError, match="was modified since it was opened; open it again"):
        source.require_unchanged()
    with pytest.raises(UnreadableModelError, match="was modified"), source.mapped():
        pass


def test_a_file_is_found_under_each_of_its_names(tmp_path):
    (tmp_path / "model").write_bytes(b"content")
    os.link(tmp_path / "model", tmp_path / "hard")
    (tmp_path / "soft").symlink_to("model")
    source = Source(tmp_path / "model")
    assert source.is_at(tmp_path / "hard")
    assert source.is_at(tmp_path / "soft")
    assert not source.is_at(tmp_path / "missing")


def test_the_descriptor_is_closed_with_the_last_reference(tmp_path):
    (tmp_path / "model").write_bytes(b"content")
    source = Source(tmp_path / "model")
    descriptor = source.descriptor
    os.fstat(descriptor)
    del source
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipe has a name here")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableModelError, match="is not a regular file"):
        Source(tmp_path / "pipe")
    with pytest.raises(UnreadableModelError, match="is a folder"):
        Source(tmp_path)
    with pytest.raises(UnreadableModelError, match="there is no such file"):
        Source(tmp_path / "missing")
    with pytest.raises(UnreadableModelError, match="cannot be opened: Not a directory"):
        Source(tmp_path / "pipe" / "inside")


def test_reading_beyond_the_end_says_where_the_end_is(tmp_path):
    (tmp_path / "model").write_bytes(b"content")
    with pytest.raises(UnreadableModelError, match="ends at byte 7; 3 more bytes were expected"):
        Source(tmp_path / "model").read(2, 10)
