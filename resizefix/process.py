"""Child processes: how one is started, bounded and ended.

The one that a command works in is forked before anything heavy is loaded, bounded in time and memory, and watched.
Others are started for work that may crash or must be ended (`worker.py`).

Whatever a model makes onnx or onnxruntime do, it happens in this process. The one that watches holds no model, so it
answers Ctrl-C at once, and it has a sentence for a process that had to be ended or that crashed.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

DEFAULT_TIMEOUT = 600.0
"""Seconds that a command may take unless `--timeout` says otherwise."""
GRACE = 10.0
"""Seconds on top of the timeout, for the node that runs when time is up to come to its end."""
_UNTIL_KILLED = 0.3  # seconds that a process has to remove what it has not finished writing
# Beside the tensors that --memory-limit is about: what the interpreter and onnxruntime take themselves; and results are
# kept and compared beside those of the run.
_OWN = 512 * 2**20
_TIMES = 4
_LEAST = 2**30  # of memory for the process, however little is free
_USUAL_FREE = 8 * 2**30  # where the system does not say how much memory is free
_HEAVY = ("numpy", "onnx", "onnxruntime")  # they start threads, and a process with threads is not forked safely
_SOME = 2**26
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_BOARD_SIZE = 1 << 16


INTERRUPTED = "interrupted; nothing was written"


class AskedToEnd(BaseException):
    """The watching process wants this one to end. Not a KeyboardInterrupt, for which libraries have words of their
    own."""


class Ended(NamedTuple):
    """How the process ended that a command worked in: its exit code, and why it gave no answer, None where it did."""

    code: int
    why: str | None = None


_board: mmap.mmap | None = None  # what the process that works notes for the one that watches
_noted: dict[str, Any] = {}
_tell: Callable[[dict[str, Any]], None] | None = None  # a worker sends its notes to the process that asked it
_watched = False


def is_watched() -> bool:
    """Whether the user gets a sentence whatever happens to this process."""
    return _watched


def be_watched(tell: Callable[[dict[str, Any]], None] | None = None) -> None:
    """To be called in a process that was started to be watched by the one that started it, which gets its notes by
    `tell`."""
    global _tell, _watched
    _tell, _watched = tell, True
    _end_with_parent()


def note(**facts: Any) -> None:
    """Tell the watching process: `answered` (the exit code; the answer is being printed), `staged` (files that are to
    be removed should this process be killed), `placing` (they are whole, and get their names now), `placed` (files have
    their names), `temporary` (a folder to be removed), `outcome` (of the model that is saved next), `until_killed` (the
    seconds that this process needs to report what it did)."""
    if _tell is not None:
        _tell(facts)
    elif _board is not None:
        _noted.update(facts)
        text = json.dumps(_noted).encode()
        if len(text) < _BOARD_SIZE:
            _board[: len(text) + 1] = text + b"\n"


def fork_and_wait() -> Ended | None:
    """Fork: the child goes on with None; the parent waits for it and returns how it ended.

    Also None where this process cannot be forked: on Windows, and where threads or heavy libraries are there already.
    """
    global _board, _watched
    if not hasattr(os, "fork") or threading.active_count() > 1 or any(name in sys.modules for name in _HEAVY):
        return None
    ends = {number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if _is_default(number)}
    signal.pthread_sigmask(signal.SIG_BLOCK, {*ends, signal.SIGCHLD})
    try:
        _board = mmap.mmap(-1, _BOARD_SIZE)
        child = os.fork()
    except (OSError, MemoryError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*ends, signal.SIGCHLD})
        _board = None
        return None
    if child != 0:
        return _wait(child, ends)
    _watched = True
    # Only the watching process says when to end: a Ctrl-C on a terminal reaches every process at once.
    for number in ends - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_here)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*ends, signal.SIGCHLD})
    return None


def end(code: int) -> NoReturn:
    """End with this exit code. In a process of its own all is written, and the modules need not be taken down one by
    one, which is a tenth of the time of a short command."""
    if _board is not None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _end_here(*_: object) -> NoReturn:
    raise AskedToEnd


def _is_default(number: int) -> bool:
    """Not ignored, as under nohup, and not handled by the caller."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _wait(child: int, ends: set[signal.Signals]) -> Ended:
    """Wait for the child, whom Ctrl-C, SIGTERM and SIGHUP end."""
    signal.signal(signal.SIGCHLD, lambda *_: None)  # some systems keep no pending signal that is ignored
    while True:
        number = signal.sigwait({*ends, signal.SIGCHLD})
        status = _status(child) if number == signal.SIGCHLD else _end(child)
        if status is not None:
            break
    facts = _facts()
    has_written = settle(facts)
    code = os.waitstatus_to_exitcode(status)
    if number == signal.SIGINT:
        why = "interrupted; the result is written" if has_written else INTERRUPTED
        return Ended(130, None if "answered" in facts else why)
    if number != signal.SIGCHLD:
        _die_of(number)
    if code == 0 or "answered" in facts:
        return Ended(code if code >= 0 else facts["answered"])
    why = why_ended(code, facts.get("seconds"), facts.get("memory"))
    return Ended(facts.get("code", 2), f"{why}. Nothing was written.")


def settle(facts: Mapping[str, Any]) -> bool:
    """Remove what an ended process left unfinished, by its notes; whether its result has its name, and is whole."""
    staged = facts.get("staged", ())
    has_written = bool(facts.get("placed") or (facts.get("placing") and all(map(_has_a_name, staged))))
    for path in staged:
        with contextlib.suppress(OSError):
            os.unlink(path)
    if os.path.isdir(facts.get("temporary", "")):
        import shutil

        shutil.rmtree(facts["temporary"], ignore_errors=True)
    return has_written


def _has_a_name(temporary: str) -> bool:
    """Whether a whole file got its name: it was renamed, or linked and has two."""
    try:
        return os.stat(temporary).st_nlink > 1
    except OSError:
        return True


def why_ended(code: int, seconds: float | None = None, memory: float | None = None) -> str:
    """The sentence for a process that ended with `code` and gave no answer, under these bounds."""
    if code >= 0:
        return f"the process that worked on it ended with status {code}"
    if seconds is not None and -code == getattr(signal, "SIGALRM", None):
        return f"time was up after {seconds:g} s (--timeout)"
    allowed = "" if memory is None else f"; it was allowed {memory / 2**30:.1f} GiB of memory (--memory-limit)"
    return f"the process that worked on it was ended by signal {-code}{allowed}"


def _status(child: int) -> int | None:
    ended, status = os.waitpid(child, os.WNOHANG)
    return status if ended else None


def _end(child: int) -> int:
    """End it, by force if it does not end by itself, and return its status."""
    os.kill(child, signal.SIGTERM)
    until = time.monotonic() + _facts().get("until_killed", _UNTIL_KILLED)
    while time.monotonic() < until:
        status = _status(child)
        if status is not None:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _die_of(number: int) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)


def _facts() -> dict[str, Any]:
    assert _board is not None
    try:
        facts: dict[str, Any] = json.loads(_board[: _board.find(b"\n")])
    except ValueError:
        return {}
    return facts


def bound(seconds: float | None, memory: int | None, code: int) -> None:
    """Hold this process to limits that nothing it runs can pass, and let it end with the process that watches it.

    `seconds` and `memory` (bytes of tensors) are what the user said, `code` the exit code where one ends it.
    Does nothing in a process that is not watched.
    """
    if not _watched:
        return
    _end_with_parent()
    seconds = DEFAULT_TIMEOUT if seconds is None else seconds
    if sys.platform == "win32":  # which has neither: the watching process alone keeps the time
        note(seconds=seconds, code=code)
        return
    signal.setitimer(signal.ITIMER_REAL, min(seconds + GRACE, 2.0**30))
    import resource

    size = max(free_memory() * 3 // 4, _LEAST) if memory is None else _TIMES * memory + _OWN
    # Private memory alone: weights are mapped from their file.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))
    except (OSError, ValueError):  # macOS refuses limits at times
        note(seconds=seconds, code=code)
    else:
        note(seconds=seconds, memory=size, code=code)


def unbound() -> None:
    """Stop the clock of `bound`: what this process was asked for is done, and it waits for more."""
    if _watched and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def memory_is_out() -> bool:
    """Whether this process gets no more of it. Few libraries raise MemoryError for that, and each what it likes."""
    try:
        bytearray(_SOME)
    except MemoryError:
        return True
    return False


def free_memory() -> int:
    """The bytes of memory that are free on this machine, or left to this container or process."""
    try:
        with open("/proc/meminfo", encoding="ascii") as meminfo:
            fields = dict(line.split(":", 1) for line in meminfo)
        return min(int(fields["MemAvailable"].split()[0]) * 1024, _left_to_container(), _left_to_process())
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return _USUAL_FREE


def _left_to_container() -> int:
    """What cgroup v2 allows besides what is in use, caches of files aside; no limit: more than there is."""
    folder = "/sys/fs/cgroup/memory."
    try:
        with open(f"{folder}max", encoding="ascii") as most, open(f"{folder}stat", encoding="ascii") as used:
            return max(int(most.read()) - int(next(line for line in used if line.startswith("anon ")).split()[1]), 0)
    except (OSError, ValueError, StopIteration):
        return sys.maxsize


def _left_to_process() -> int:
    """The bytes of address space that `ulimit -v` still allows; without a limit, more than any machine has."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    with open("/proc/self/statm", encoding="ascii") as pages:
        return max(most - int(pages.read().split()[0]) * resource.getpagesize(), 0)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """What stands in the block is done whole before a Ctrl-C ends the process."""
    asked: list[int] = []
    handled: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        both = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        handled = {number: handler for number, handler in both.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
    for number in asked:
        handled[number](number, None)
