"""What Windows does otherwise with stdout, as far as it can be said here."""

import errno
import io
import os

import pytest

from resizefix.cli import streams


def test_a_pipe_whose_reader_has_gone_is_no_error_on_windows(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    outlet = streams._Outlet(writing, "w")
    gone = OSError(errno.EINVAL, "Invalid argument")
    monkeypatch.setattr(streams, "_ON_WINDOWS", True)
    assert streams._reader_has_gone(gone)
    assert outlet.write(b"x") == 1
    assert outlet.error is None
    monkeypatch.setattr(streams, "_ON_WINDOWS", False)
    assert not streams._reader_has_gone(gone)
    outlet.close()


@pytest.mark.parametrize("windows", [True, False])
def test_a_windows_console_keeps_its_stream_that_takes_characters(windows, monkeypatch):
    class Console(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    console = Console(os.fdopen(os.open(os.devnull, os.O_WRONLY), "wb"), encoding="utf-8")
    monkeypatch.setattr(streams, "_ON_WINDOWS", windows)
    monkeypatch.setattr(streams, "is_watched", lambda: False)
    made = streams.Streams.__new__(streams.Streams)
    made._outlets = []
    assert (made._through_an_outlet(console) is console) == windows
    assert console.errors == ("backslashreplace" if windows else "strict")
