"""Workers: processes that answer requests, for work that may crash, hang or must be ended.

A bounded call of the library and one of several models work in this package's own Python; a runtime may work in another
one, which has neither this package nor onnx (`Foreign`).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from resizefix import process

if TYPE_CHECKING:  # costly to import for the many calls that need no worker
    import queue
    import subprocess

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_OWN = (
    f"import sys; sys.path.append({os.path.dirname(_PACKAGE)!r}); "
    "from resizefix.worker import serve; serve(%r, notes=True)"
)
# Another Python gets the modules of this package and nothing else from here: no folder that holds our dependencies, and
# no module out of its working folder.
_STUB = (
    "import sys, types; sys.path[:] = filter(None, sys.path); "
    "package = sys.modules['resizefix'] = types.ModuleType('resizefix'); "
    f"package.__path__ = [{_PACKAGE!r}]; from resizefix.worker import serve; serve(%r)"
)
_MOST_PRINTED = 1 << 14
_PIPE_HOLDS = 1 << 12  # bytes, on every system
_UNTIL_READ = 2.0  # seconds that what a process printed may take to arrive
_UNTIL_ENDED = 1.0
_DONE = ()  # a message is a tuple of one
_END_OF_PRINT = b"\0"


class WorkerEndedError(Exception):
    """A worker ended, with `code`, before it had answered.

    `notes` are what it noted for this request (`process.note`): `begun` is there if the request had reached it.
    `has_written`: whether a file that it wrote has its name, and is whole.
    """

    def __init__(self, code: int, notes: Mapping[str, Any], has_written: bool) -> None:
        super().__init__(process.why_ended(code))
        self.code = code
        self.notes = notes
        self.has_written = has_written


class Foreign(NamedTuple):
    """Where a worker runs that is not to be trusted: the Python, its working folder, and its environment.

    It leads a process group that ends with it. Its messages are plain data, and what it prints is kept.
    """

    python: str
    folder: str
    environment: Mapping[str, str]


class Worker(contextlib.AbstractContextManager["Worker"]):
    """A process that answers requests by calling a function of some module, `"package.module:function"`.

    The function is called with the request and with `say`, which sends one message back. The process is started with
    the first request, and anew after it ended. Its stdout and stderr are closed to what libraries print.
    """

    def __init__(self, function: str, foreign: Foreign | None = None) -> None:
        self._function = function
        self._foreign = foreign
        self._running: _Running | None = None
        self._printed = bytearray()
        self._all_read = threading.Event()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def printed(self) -> str:
        """The end of what a foreign worker has printed since the last request."""
        self._all_read.wait(_UNTIL_READ)
        return bytes(self._printed).replace(_END_OF_PRINT, b"").decode("utf-8", "replace")

    def close(self) -> None:
        """End the process."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def start(self) -> None:
        """Start the process if there is none, or if the last one ended while it waited."""
        if self._running is not None and self._running.process.poll() is not None:
            self.close()
        if self._running is None:
            self._running = self._start()

    def ask(self, request: object, seconds: float | None = None) -> Iterator[Any]:
        """The messages that answer a request. Raises WorkerEndedError, and TimeoutError when time is up."""
        import queue

        until = None if seconds is None else time.monotonic() + seconds
        if self._running is None:
            self._running = self._start()
        asked = self._running
        asked.notes.clear()
        self._printed.clear()
        self._all_read.clear()
        _send(request, asked.process)
        while True:
            try:
                message = asked.messages.get(timeout=None if until is None else max(until - time.monotonic(), 0.0))
            except queue.Empty:
                self.close()
                raise TimeoutError from None
            if message is None:
                code, has_written = self._ended(asked)
                raise WorkerEndedError(code, asked.notes, has_written)
            if message == _DONE:
                return
            yield message[0]

    def _ended(self, asked: _Running) -> tuple[int, bool]:
        """How a process ended that sends no more; one that has not ended, for it sent what is no message, is ended."""
        import subprocess

        with contextlib.suppress(subprocess.TimeoutExpired):
            asked.process.wait(_UNTIL_ENDED)
        self.close()
        has_written = asked.end()
        return int(asked.process.returncode), has_written

    def _start(self) -> _Running:
        import subprocess

        pipe, foreign = subprocess.PIPE, self._foreign
        if foreign is None:
            command = [sys.executable, "-c", _OWN % self._function]
            return _Running(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL), False)
        started = subprocess.Popen(
            [foreign.python, "-c", _STUB % self._function],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=foreign.folder,
            env=dict(foreign.environment),
            start_new_session=True,
        )
        threading.Thread(target=self._read_printed, args=(started.stderr,), daemon=True).start()
        return _Running(started, True)

    def _read_printed(self, stream: Any) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while piece := stream.read1(_MOST_PRINTED):
                self._printed += piece
                del self._printed[:-_MOST_PRINTED]
                if _END_OF_PRINT in piece:
                    self._all_read.set()
        self._all_read.set()


class _Running:
    """A process of a worker: what it has sent, and how it is ended. Messages of a foreign one are plain data."""

    def __init__(self, started: subprocess.Popen[bytes], is_foreign: bool) -> None:
        import queue

        self.process = started
        self.messages: queue.Queue[Any] = queue.Queue()
        self.notes: dict[str, Any] = {}
        self._is_foreign = is_foreign
        self._ending = threading.Lock()
        self._has_written: bool | None = None
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def end(self) -> bool:
        """End the process and remove what it left unfinished; whether a file that it wrote has its name."""
        with self._ending:
            if self._has_written is None:
                self._kill()
                self._has_written = process.settle(self.notes)
            return self._has_written

    def _kill(self) -> None:
        if self._is_foreign and hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, 9)
        self.process.kill()
        self.process.wait()
        self._listener.join(_UNTIL_READ)  # its last notes are read
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]

    def _listen(self) -> None:
        import pickle

        # What comes out of a process that may have been broken by a model must not name classes to be made.
        reader: Any = _plain_unpickler() if self._is_foreign else pickle.Unpickler
        with contextlib.suppress(EOFError, pickle.UnpicklingError, OSError, ValueError, KeyError, IndexError):
            while True:
                message = reader(self.process.stdout).load()
                if isinstance(message, dict) and not self._is_foreign:
                    self.notes.update(message)
                else:
                    self.messages.put(message)
        self.messages.put(None)


def _send(request: object, asked: subprocess.Popen[bytes]) -> None:
    """Send a request; of one that a pipe may not hold, a thread does: a process that does not read must not hold up the
    one that counts the seconds."""
    import pickle

    message = pickle.dumps(request)
    if len(message) <= _PIPE_HOLDS:
        _write(message, asked)
    else:
        threading.Thread(target=_write, args=(message, asked), daemon=True).start()


def _write(message: bytes, asked: subprocess.Popen[bytes]) -> None:
    assert asked.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it has ended, which the answer says
        asked.stdin.write(message)
        asked.stdin.flush()


def _plain_unpickler() -> Any:
    import pickle

    class PlainUnpickler(pickle.Unpickler):
        """Numbers, text, bytes, and lists, tuples and dictionaries of them."""

        def find_class(self, module: str, name: str) -> Any:
            """No class."""
            raise pickle.UnpicklingError(f"{module}.{name}")

    return PlainUnpickler


def serve(function: str, notes: bool = False) -> None:
    """Answer requests on stdin until it ends: the work of a worker's process. With `notes`, what is noted for the
    process that watches is sent to the one that asked."""
    import gc
    import importlib
    import itertools
    import pickle

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    def send(message: tuple[Any, ...] | dict[str, Any]) -> None:
        answers.write(pickle.dumps(message, protocol=4))
        answers.flush()

    process.be_watched(send if notes else None)

    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    for number in itertools.count():
        if number == 1:
            gc.freeze()  # modules and what they remember stay: searching them for garbage is a tenth of the time
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        process.note(begun=True)
        work(request, lambda message: send((message,)))
        process.unbound()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.write(2, _END_OF_PRINT)
        send(_DONE)
