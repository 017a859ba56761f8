"""Whatever happens while a file is written, the input is as it was and OUT the old file or the complete new one."""

import pytest
from exhaustive import EXHAUSTIVE
from saves import SAVES, before_and_after, files, is_old_or_new, prepared, run

ERRORS = ("ENOSPC", "EIO", "EROFS", "EACCES", "EDQUOT", "EFBIG", "EPERM", "EXDEV", "ENOSYS", "EINVAL")


def some(calls):
    """All calls, or of several in a row of the same kind the first and the last."""
    ends = {0, len(calls) - 1}
    turning = {i for i in range(1, len(calls)) if calls[i] != calls[i - 1]}
    return range(len(calls)) if EXHAUSTIVE else sorted(ends | turning)


each_save = pytest.mark.parametrize(
    "name", SAVES if EXHAUSTIVE else ["new", "in place", "replacing, with a data file", "away, replacing"]
)


@each_save
def test_a_process_killed_at_any_call_leaves_the_old_file_or_the_new_one(worker, tmp_path, name):
    save = SAVES[name]
    old, new, calls = before_and_after(worker, tmp_path, save)
    seen = set()
    for at in some(calls):
        for how in ("kill", "kill half", "kill after") if EXHAUSTIVE else ("kill", "kill half"):
            if how == "kill half" and calls[at] not in ("write", "copy_file_range", "sendfile"):
                continue
            folder = prepared(tmp_path, save)
            report = run(worker, folder, save, at=at, how=how)
            assert report.signal == 9
            seen.add(is_old_or_new(files(folder), save, old, new))
            again = [*save.command, *(["--force"] if "--in-place" not in save.command else [])]
            if EXHAUSTIVE and files(folder).get(save.out) == old.get(save.out):
                assert run(worker, folder, save._replace(command=again)).last.code == 0
                assert is_old_or_new(files(folder), save, old, new) == "new"
    assert seen == {"old", "new"}


@each_save
@pytest.mark.parametrize("forever", [False, True])
def test_an_error_at_any_call_leaves_everything_as_it_was_or_does_not_matter(worker, tmp_path, name, forever):
    save = SAVES[name]
    old, new, calls = before_and_after(worker, tmp_path, save)
    for at in some(calls):
        for how in ERRORS if EXHAUSTIVE else ERRORS[:1]:
            folder = prepared(tmp_path, save)
            report = run(worker, folder, save, at=at, how=how, forever=forever)
            found = files(folder)
            state = is_old_or_new(found, save, old, new)
            where = f"{how} at {at} ({calls[at]})"
            assert report.last.error is None, report.last.error
            if report.last.code == 0:
                assert state == "new", where
            else:
                assert report.last.code == 2, where
                assert "cannot be written" in report.last.stderr, where
                assert state == "old", where
            if not (forever or calls[at] == "unlink"):  # what cannot be removed remains
                assert found in (old, new), where


@pytest.mark.parametrize("name", SAVES)
def test_calls_that_write_less_than_asked_are_repeated(worker, tmp_path, name):
    save = SAVES[name]
    _, new, _ = before_and_after(worker, tmp_path, save)
    folder = prepared(tmp_path, save)
    report = run(worker, folder, save, how="short")
    assert report.last.code == 0
    assert files(folder) == new
