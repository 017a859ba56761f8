"""Commands in processes and on streams of their own, without the time that imports take.

One process imports the package and forks for each command. What is forked has the streams that it is given, and works
as a fresh interpreter does: it forks the process that does the work and watches it, and ends as the interpreter ends.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Not onnxruntime, which starts a thread: a process with threads is not forked safely.
COMMANDS = ("inspect", "check", "diff", "verify", "promote_scales", "freeze_scales", "trt_legacy", "legalize")
LOADED = (
    *("onnx.checker", "onnx.shape_inference", "resizefix.faults.table", "resizefix.origins.recover"),
    *(f"resizefix.cli.{name}" for name in COMMANDS),
    *(
        f"resizefix.library.{name}"
        for name in ("check", "diff", "freeze_scales", "legalize", "plans", "promote_scales", "trt_legacy")
    ),
    *(f"resizefix.operations.{name}" for name in ("legalize", "promote_scales", "repair", "sites", "trt_legacy")),
    *(f"resizefix.reports.{name}" for name in ("html", "json", "markdown", "survey", "terminal", "text")),
)
MODEL = str(Path(__file__).parents[1] / "fixtures" / "srcnn_x3_opset11.onnx")
UNVERIFIED = ("--dry-run", "--no-verify")
FIRST = (
    ("inspect", MODEL),
    ("check", MODEL, "--target", "tensorrt-10"),
    ("promote-scales", MODEL, *UNVERIFIED),
    ("legalize", MODEL, "--target", "tensorrt-5.0", "--allow-inexact", *UNVERIFIED),
)
"""Commands whose work is done once before any fork: onnx registers its operators at the first question about one."""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, and what it wrote where no stream was given."""

    code: int
    stdout: str
    stderr: str


class Commands:
    """The process that forks. Use as a context manager."""

    def __enter__(self) -> Commands:
        self._channel, theirs = socket.socketpair()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._process.wait()

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        stdout: int | None = None,
        stderr: int | None = None,
        settings: Mapping[str, str] | None = None,
        before: str = "",
        meanwhile: Callable[[], None] | None = None,
    ) -> Done:
        """Runs one command in `folder`. `stdout` and `stderr` are descriptors, closed here once it has them, else what
        is written comes back; `settings` is all of its environment; `before` is Python that is executed first, and
        `meanwhile` is called while it works."""
        written = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 -- closed below
        given = [file.fileno() if one is None else one for file, one in zip(written, (stdout, stderr), strict=True)]
        job = {"arguments": list(arguments), "folder": str(folder), "before": before}
        job["environment"] = dict(os.environ if settings is None else settings)
        socket.send_fds(self._channel, [json.dumps(job).encode()], given)
        for one in {stdout, stderr} - {None}:
            os.close(one)
        if meanwhile is not None:
            meanwhile()
        code = int(self._channel.recv(100))
        said = []
        for file in written:
            file.seek(0)
            said.append(file.read().decode())
            file.close()
        return Done(code, *said)


class Terminal:
    """A terminal: `theirs` is the descriptor that a command writes to. Use as a context manager."""

    def __enter__(self) -> Terminal:
        import pty  # which Windows does not have

        self._ours, self.theirs = pty.openpty()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._ours)

    def read(self) -> str:
        """All that is written, until no command holds it any more."""
        seen = b""
        with contextlib.suppress(OSError):  # how Linux says that the other side is closed
            while piece := os.read(self._ours, 4096):
                seen += piece
        return seen.decode()


def load(modules: Sequence[str]) -> None:
    """All that commands load, and what they make at their first call, in the process that is forked for each."""
    for module in modules:
        importlib.import_module(module)
    from resizefix.cli import main

    for arguments in FIRST:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(list(arguments))


def _serve(channel: socket.socket) -> None:
    load(LOADED)
    threads = Path("/proc/self/task")  # Linux has it
    assert not threads.exists() or len(os.listdir(threads)) == 1
    while True:
        message, streams, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not message:
            return
        child = os.fork()
        if child == 0:
            channel.close()
            _work(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def _work(job: dict[str, object], streams: Sequence[int]) -> None:
    from resizefix import process
    from resizefix.cli import main

    os.chdir(str(job["folder"]))
    os.environ.clear()
    os.environ.update(job["environment"])  # type: ignore[call-overload]
    for number, stream in zip((0, 1, 2), (os.open(os.devnull, os.O_RDONLY), *streams), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout = sys.__stdout__ = _opened(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _opened(2)  # type: ignore[misc]
    process._HEAVY = ()  # no threads were started: forked from here as from an interpreter without them
    sys.argv = ["resizefix", *job["arguments"]]  # type: ignore[misc]
    exec(str(job["before"]), {})
    main()
    sys.exit()


def _opened(number: int) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    binary = open(number, "wb", buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    line_buffering = number == 2 or os.isatty(number)
    return io.TextIOWrapper(binary, "utf-8", line_buffering=line_buffering, write_through=unbuffered)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    _serve(socket.socket(fileno=int(sys.argv[1])))
