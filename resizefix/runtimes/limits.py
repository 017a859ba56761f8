"""How long and how large a verification may become."""

from __future__ import annotations

import _thread
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
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

        Raises TimeIsUpError where it is up before.
        """
        run = self.ends, options
        _under_way.append(run)  # first: what is seen neither by the watch nor by `left` would have no end
        try:
            if self.ends is not None:
                _watch(self.ends)
            self.left()
            yield
        finally:
            _under_way.remove(run)


_under_way: list[tuple[float | None, Any]] = []  # the runs, each with when its time is up


@lru_cache
def _watch(ends: float) -> None:
    """Start the thread that sleeps until then, and breaks off the runs whose time is up."""

    def work() -> None:
        time.sleep(max(0.0, ends - time.monotonic()))
        for until, options in tuple(_under_way):
            if until == ends:
                options.terminate = True

    _thread.start_new_thread(work, ())


def in_words(size: int) -> str:
    """A size of memory as people say it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
