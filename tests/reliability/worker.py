"""Command lines run in processes that may die: one process loads the package once and forks a child for each job.

A job is a list of command lines, run one after the other in one child under limits of time and memory. What each said
is written down as it ends, so a child that is killed has lost only its last. Speaks JSON, a job and its report a line.
"""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watching import tell_what_is_touched

HERE = Path(__file__).parent
PROVING = (
    *("numpy.random", "resizefix.library.repair", "resizefix.library.verify", "resizefix.runtimes.limits"),
    *(f"resizefix.verification.{name}" for name in ("promoted_runs", "proof", "verify")),
)
sys.path.append(str(HERE.parent))

from forked_commands import LOADED, load  # noqa: E402

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Run:
    """One command line: `error` is the traceback of an exception that nobody caught; `code` None if it never ended."""

    arguments: list[str]
    code: int | None
    stdout: str
    stderr: str
    error: str | None
    seconds: float  # of computing: how long it takes depends on what else runs


@dataclass(frozen=True)
class Report:
    """What became of a job: `signal` killed the child (SIGALRM: too slow), `calls` is where faults could strike,
    `touched` what was opened outside of the folder or started."""

    runs: list[Run]
    signal: int | None
    peak_megabytes: float
    calls: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)

    @property
    def last(self) -> Run:
        return self.runs[-1]


class Worker:
    """The process that forks. Use as a context manager."""

    def __enter__(self) -> "Worker":
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run(
        self,
        *command_lines: list[str],
        folder: Path,
        folders: Sequence[Path] = (),
        seconds: int = 90,
        megabytes: int = 1500,
        file_bytes: int | None = None,
        unprivileged: bool = False,
        fault: dict[str, Any] | None = None,
        environment: dict[str, str] | None = None,
    ) -> Report:
        """Run the command lines in `folder`, or each in its own of `folders` below it, under limits of time, of address
        space beside what is loaded, and of how large a file may become; `unprivileged`: held to permissions, be it
        root's process. `fault`: see faults.py."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {
            "runs": command_lines,
            "folder": str(folder),
            "folders": [str(each) for each in folders or [folder] * len(command_lines)],
            "seconds": seconds,
            "megabytes": megabytes,
            "file_bytes": file_bytes,
            "unprivileged": unprivileged,
            "fault": fault,
            "environment": environment or {},
        }
        print(json.dumps(job), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        runs = [Run(**run) for run in answer.pop("runs")]
        return Report(runs=runs, **answer)


def _serve() -> None:
    load((*LOADED, *PROVING))  # once, for all children
    for line in sys.stdin:
        job = json.loads(line)
        with tempfile.TemporaryDirectory() as place:
            child = os.fork()
            if child == 0:
                _child(job, Path(place))
            _, status, usage = os.wait4(child, 0)
            runs = [json.loads(text) for text in (Path(place) / "runs").read_text().splitlines()]
            if len(runs) < len(job["runs"]) and not os.WIFEXITED(status):
                runs.append(_ended(job["runs"][len(runs)], None, Path(place), None, 0.0))
            calls, touched = Path(place) / "calls", Path(place) / "touched"
            report = {
                "runs": runs,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "peak_megabytes": usage.ru_maxrss / 1024,
                "calls": calls.read_text().splitlines() if calls.exists() else [],
                "touched": sorted(set(touched.read_text().splitlines())),
            }
            print(json.dumps(report), flush=True)


def _child(job: dict[str, Any], place: Path) -> None:
    import resource  # which Windows does not have

    from resizefix.cli import main

    os.environ.update(job["environment"])
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + job["megabytes"] * MEGABYTE, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job["file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_bytes"], resource.RLIM_INFINITY))
    if job["unprivileged"]:
        _be_held_to_permissions()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    real_open = os.open
    log = os.open(place / "runs", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    touched = os.open(place / "touched", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    tell_what_is_touched(sorted({*map(Path, job["folders"])}), lambda line: _append(touched, line + "\n"))
    if job["fault"]:
        import faults

        faults.install(job["fault"], place / "calls")
    for arguments, folder in zip(job["runs"], job["folders"], strict=True):
        os.chdir(folder)
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            file = real_open(place / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
            os.dup2(file, descriptor)
            os.close(file)
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))  # noqa: SIM115
        code, error, start = None, None, time.process_time()
        signal.alarm(job["seconds"])
        try:
            main(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        except BaseException:
            error = traceback.format_exc()
        signal.alarm(0)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except ValueError:
            error = error or traceback.format_exc()
        seconds = time.process_time() - start
        _append(log, json.dumps(_ended(arguments, code, place, error, seconds)) + "\n")
    os._exit(0)


def _be_held_to_permissions() -> None:
    """Give up the capabilities by which root may write where nobody may; capset(2)."""
    if os.getuid() == 0 and sys.platform == "linux":
        header, none = struct.pack("Ii", 0x20080522, 0), bytes(24)
        if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
            raise OSError(ctypes.get_errno(), "capset")


def _append(descriptor: int, text: str, write: Callable[[int, bytes], int] = os.write) -> None:
    write(descriptor, text.encode())  # the function from before any fault was installed


def _ended(arguments: list[str], code: int | None, place: Path, error: str | None, seconds: float) -> dict[str, Any]:
    texts = {name: (place / name).read_bytes().decode("utf-8", "backslashreplace") for name in ("stdout", "stderr")}
    return {"arguments": arguments, "code": code, **texts, "error": error, "seconds": seconds}


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    _serve()
