from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_bytes import names

from resizefix.diagnostics import CannotWriteError, UnreadableModelError, UsageError
from resizefix.document import atomic_write
from resizefix.document.atomic_write import AtomicWrite
from resizefix.document.source import Source


def write(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    with AtomicWrite() as writing:
        writing.stage(path, [content], overwrite=overwrite)
        writing.commit()


def write_while_another_does(*paths: Path) -> None:
    """Somebody else makes the last of the files between staging and commit."""
    with AtomicWrite() as writing:
        for path in paths:
            writing.stage(path, [b"ours"], overwrite=False)
        paths[-1].write_bytes(b"theirs")
        writing.commit()


def test_a_file_appears_whole_and_alone(tmp_path):
    write(tmp_path / "out", b"content")
    assert (tmp_path / "out").read_bytes() == b"content"
    assert names(tmp_path) == ["out"]


def test_where_no_open_file_can_be_replaced_the_readers_of_the_old_one_let_go(tmp_path, monkeypatch):
    """As on Windows: `--in-place` replaces the model that it has open."""
    path = tmp_path / "model"
    path.write_bytes(b"old content")
    (tmp_path / "other").write_bytes(b"other")
    other = Source(tmp_path / "other")
    source, replace = Source(path), os.replace

    def refusing(old: str, new: Path) -> None:
        if source.unchanged():
            raise PermissionError(13, "Access is denied")
        replace(old, new)

    monkeypatch.setattr(os, "replace", refusing)
    with pytest.raises(CannotWriteError, match="Access is denied"):
        write(path, b"new", overwrite=True)
    assert source.read(0, 3) == b"old"
    monkeypatch.setattr(atomic_write, "_OPEN_FILES_STAY", True)
    write(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    with pytest.raises(UnreadableModelError, match="modified since it was opened"):
        source.read(0, 3)
    assert other.read(0, 5) == b"other"


def test_nothing_is_visible_before_the_commit_and_nothing_remains_without_one(tmp_path):
    with AtomicWrite() as writing:
        temporary = writing.stage(tmp_path / "out", [b"content"], overwrite=False)
        assert not (tmp_path / "out").exists()
        assert temporary.read_bytes() == b"content"
    assert names(tmp_path) == []


@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt])
def test_an_interruption_leaves_the_old_file_and_no_other(tmp_path, interruption):
    (tmp_path / "out").write_bytes(b"old")

    def interrupted() -> None:
        with AtomicWrite() as writing:
            writing.stage(tmp_path / "out", [b"new"], overwrite=True)
            raise interruption

    with pytest.raises(interruption):
        interrupted()
    assert (tmp_path / "out").read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_an_existing_file_is_replaced_only_with_overwrite(tmp_path):
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        write(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"old"
    write(tmp_path / "out", b"new", overwrite=True)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_a_file_that_appears_while_writing_is_not_replaced(tmp_path):
    with pytest.raises(UsageError, match="exists already"):
        write_while_another_does(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"theirs"
    assert names(tmp_path) == ["out"]


def test_where_links_are_not_possible_the_file_is_renamed_and_still_not_replaced(tmp_path, monkeypatch):
    def no_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(atomic_write.os, "link", no_links)
    write(tmp_path / "out", b"one")
    assert (tmp_path / "out").read_bytes() == b"one"
    with pytest.raises(UsageError, match="exists already"):
        write_while_another_does(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == b"theirs"


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no such permissions")
def test_a_replaced_file_keeps_its_permissions_and_a_new_one_gets_the_usual_ones(tmp_path):
    (tmp_path / "out").write_bytes(b"old")
    (tmp_path / "out").chmod(0o640)
    write(tmp_path / "out", b"new", overwrite=True)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
    mask = os.umask(0o027)
    try:
        write(tmp_path / "fresh", b"new")
    finally:
        os.umask(mask)
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("far/target")
    write(tmp_path / "link", b"new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "target").read_bytes() == b"new"
    assert names(tmp_path / "far") == ["target"]


def test_of_hard_links_only_the_named_one_changes(tmp_path):
    (tmp_path / "one").write_bytes(b"old")
    os.link(tmp_path / "one", tmp_path / "two")
    write(tmp_path / "one", b"new", overwrite=True)
    assert (tmp_path / "two").read_bytes() == b"old"


def test_several_files_are_placed_together_or_not_at_all(tmp_path):
    with pytest.raises(UsageError, match="exists already"):
        write_while_another_does(tmp_path / "data", tmp_path / "model")
    assert names(tmp_path) == ["model"]
    assert (tmp_path / "model").read_bytes() == b"theirs"


def test_folders_made_for_a_file_vanish_with_it(tmp_path):
    with AtomicWrite() as writing:
        writing.stage(tmp_path / "a" / "b" / "out", [b"content"], overwrite=False, make_folders=True)
    assert names(tmp_path) == []
    with AtomicWrite() as writing:
        writing.stage(tmp_path / "a" / "b" / "out", [b"content"], overwrite=False, make_folders=True)
        writing.commit()
    assert (tmp_path / "a" / "b" / "out").read_bytes() == b"content"


@pytest.mark.parametrize("name", [os.devnull, "."])
def test_what_is_no_regular_file_is_never_replaced(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"is not a regular file|is a folder"):
        write(Path(name), b"new", overwrite=True)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CannotWriteError, match=r"there is no folder .*missing"):
        AtomicWrite().require_free(tmp_path / "missing" / "out", overwrite=False)
    with pytest.raises(CannotWriteError, match="cannot be written"):
        write(tmp_path / "missing" / "out", b"")


def test_a_name_too_long_for_the_file_system_is_an_error_of_writing(tmp_path):
    with pytest.raises(CannotWriteError, match="cannot be written: File name too long"):
        write(tmp_path / ("x" * 300), b"")
    assert names(tmp_path) == []
    longest = "x" * 255
    write(tmp_path / longest, b"content")
    assert names(tmp_path) == [longest]


IN_A_LIMITED_PROCESS = """
import os, resource, sys
from pathlib import Path
from resizefix.document.atomic_write import AtomicWrite
from resizefix.diagnostics import CannotWriteError
folder = Path(sys.argv[2])
if sys.argv[1] == "full disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
elif os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    with AtomicWrite() as writing:
        writing.stage(folder / "out", [bytes(5000)], overwrite=True)
        writing.commit()
except CannotWriteError as error:
    print(error)
"""


@pytest.mark.parametrize(("cause", "reason"), [("full disk", "File too large"), ("no permission", "Permission denied")])
def test_a_full_disk_and_a_folder_without_permission_leave_the_old_file(tmp_path, cause, reason):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out").write_bytes(b"old")
    if cause == "no permission":
        for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
            parent.chmod(0o755)
        folder.chmod(0o555)
    process = subprocess.run(
        [sys.executable, "-c", IN_A_LIMITED_PROCESS, cause, str(folder)], capture_output=True, text=True, check=True
    )
    assert process.stdout == f"{folder / 'out'}: cannot be written: {reason}. Nothing was changed.\n"
    assert (folder / "out").read_bytes() == b"old"
    assert names(folder) == ["out"]
