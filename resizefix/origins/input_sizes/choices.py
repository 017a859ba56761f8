"""What the user says of numbers that admit two readings."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple


class Choices(NamedTuple):
    """Patterns of nodes whose numbers stay as they are, and of those whose numbers follow the input."""

    keep: Sequence[str] = ()
    follow: Sequence[str] = ()
    interpolate: bool = False
    """Whether learned tables of positions are interpolated, which is an approximation."""

    def of(self, label: str) -> str | None:
        """ "keep", "follow", or None."""
        for name, patterns in (("keep", self.keep), ("follow", self.follow)):
            if any(fnmatchcase(label, pattern) for pattern in patterns):
                return name
        return None
