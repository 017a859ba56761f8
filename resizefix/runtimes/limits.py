"""How long and how large a verification may become."""

from __future__ import annotations

import time
from dataclasses import dataclass

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


def in_words(size: int) -> str:
    """A size of memory as people say it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
