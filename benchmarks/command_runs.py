"""Two ways to run the resizefix command line on one file after another: a process each, or one process for many."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How one run ended. `exit_code` is None past the time limit, negative for a signal."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float


class Installed:
    """Starts the installed command for each file."""

    def __init__(self, executable: str, limit: float) -> None:
        self.executable, self.limit = executable, limit

    def run(self, arguments: Sequence[str]) -> Ended:
        start = time.perf_counter()
        command = [self.executable, *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=self.limit, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return Ended(None, "", "", time.perf_counter() - start)
        out, err = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return Ended(done.returncode, out, err, time.perf_counter() - start)

    def close(self) -> None:
        """Nothing stays open."""


class Shared:
    """Calls the command's function in a process of its own, started afresh after a crash or a time-out."""

    def __init__(self, entry: str, limit: float) -> None:
        self.entry, self.limit = entry, limit
        self.process: multiprocessing.process.BaseProcess | None = None
        self.connection: Connection | None = None

    def run(self, arguments: Sequence[str]) -> Ended:
        if self.process is None or self.connection is None:
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs, self.entry), daemon=True)
            self.process.start()
            theirs.close()
            try:
                self.connection.recv()  # ready: the start is not part of the first file's time
            except EOFError:
                raise SystemExit(f"cannot import {self.entry}") from None
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("stdout", "stderr")]
            self.connection.send((list(arguments), *paths))
            exit_code: int | None = None
            try:
                if self.connection.poll(self.limit):
                    exit_code = self.connection.recv()
                else:
                    self.close()
            except EOFError:
                self.process.join()
                exit_code = self.process.exitcode
                self.close()
            seconds = time.perf_counter() - start
            out, err = (Path(path).read_text("utf-8", "replace") if Path(path).exists() else "" for path in paths)
        return Ended(exit_code, out, err, seconds)

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None and self.connection is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = self.connection = None


def serve(connection: Connection, entry: str) -> None:
    """The process of `Shared`: one call per message, its two streams going to the files named there."""
    module, _, function = entry.partition(":")
    importlib.import_module("onnx")  # with it loaded, the command works in this process and forks none
    main = getattr(importlib.import_module(module), function)
    connection.send("ready")
    while True:
        try:
            arguments, stdout, stderr = connection.recv()
        except EOFError:
            return
        for descriptor, path in ((1, stdout), (2, stderr)):  # by descriptor, so that C++ libraries are heard too
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, descriptor)
            os.close(opened)
        sys.argv = ["resizefix", *arguments]
        connection.send(exit_code_of(main))


def exit_code_of(main: Any) -> int:
    """What the interpreter would exit with, had it called `main`."""
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # the interpreter's last resort: print it, exit with 1
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return 0 if code is None else int(code)
