"""Why another input size cannot be had, and what the user says of numbers that admit two readings."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from resizefix.diagnostics import Diagnostic


class SizeRefusedError(Exception):
    """The node at which another size fails, and why; `retry_args`: options that decide."""

    def __init__(self, node: str, reason: Diagnostic, retry_args: tuple[str, ...] = ()) -> None:
        super().__init__(node, reason)
        self.node, self.reason, self.retry_args = node, reason, retry_args


def refuse(node: str, code: str, /, **arguments: object) -> SizeRefusedError:
    """The error with the sentence of `code`."""
    return SizeRefusedError(node, Diagnostic(code, **arguments))


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
