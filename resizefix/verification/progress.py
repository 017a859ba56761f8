"""How far a verification has come, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ProgressCallback = Callable[[int, int, str], None]
"""Called with the steps done, the steps there are as far as is known, and what is being done."""


@dataclass
class Progress:
    """Counts the runs of a model. `tell` None: nothing is reported."""

    tell: ProgressCallback | None = None
    made: int = 0
    total: int = 0

    def expect(self, count: int) -> None:
        """So many more steps are to come."""
        self.total += count

    def done(self, what: str, count: int = 1) -> None:
        """`count` steps were made."""
        self.made += count
        self.total = max(self.total, self.made)
        if self.tell is not None:
            self.tell(self.made, self.total, what)
