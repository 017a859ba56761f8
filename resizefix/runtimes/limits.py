"""How long and how large a verification may become."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from resizefix.errors import ResizefixError
from resizefix.process import DEFAULT_TIMEOUT, free_memory


class BrokenOffError(ResizefixError):
    """A verification came to no end. What was compared until then stands."""


class TimeIsUpError(BrokenOffError):
    """The time that it was given is over."""


class OutOfMemoryError(BrokenOffError):
    """There was not the memory to run the model, whatever the estimate said."""


@dataclass(frozen=True)
class Limits:
    """`ends` is when time is up, on the clock of `time.monotonic`, None: never; `memory` what the tensors of a run may
    take, in bytes, None: half of the memory that is free."""

    seconds: float | None = None
    ends: float | None = None
    memory: int | None = None

    @classmethod
    def starting_now(cls, seconds: float | None, memory: int | None) -> Limits:
        """The limits of a verification that begins; `seconds` None: those of every command."""
        seconds = DEFAULT_TIMEOUT if seconds is None else seconds
        return cls(seconds, time.monotonic() + seconds, memory)

    @property
    def bytes(self) -> int:
        """What the tensors of a run may take."""
        return free_memory() // 2 if self.memory is None else self.memory

    def left(self) -> float | None:
        """The seconds that are left; None: without end. Raises TimeIsUpError when there are none."""
        if self.ends is None:
            return None
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeIsUpError("runtimes.time-is-up", seconds=self.seconds)
        return left

    @contextmanager
    def breaking_off(self, options: Any) -> Iterator[None]:
        """Set `options.terminate`, which onnxruntime looks at between two nodes, if time is up during this run.

        Raises TimeIsUpError if it is up already.
        """
        run = self.ends, options
        _WATCH.begin(run)  # before `left`, so that one of the two sees the end of the time
        try:
            self.left()
            yield
        finally:
            _WATCH.runs.remove(run)


class _Watch:
    """One thread, which sleeps until the time of a run is up and breaks it off."""

    def __init__(self) -> None:
        self.runs: list[tuple[float | None, Any]] = []
        self._wakes = math.inf
        self._changes = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, run: tuple[float | None, Any]) -> None:
        """Watch a run from now on until it is removed."""
        ends = math.inf if run[0] is None else run[0]
        with self._changes:
            self.runs.append(run)
            if ends >= self._wakes:
                return
            self._wakes = ends
            self._changes.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        with self._changes:
            while True:
                now = time.monotonic()
                timed = [(ends, options) for ends, options in tuple(self.runs) if ends is not None]
                for ends, options in timed:
                    if ends <= now:
                        options.terminate = True
                self._wakes = min((ends for ends, _ in timed if ends > now), default=math.inf)
                self._changes.wait(None if self._wakes == math.inf else self._wakes - now)


_WATCH = _Watch()


def in_words(size: int) -> str:
    """A size of memory as people say it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
