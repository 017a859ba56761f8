"""Why another input size cannot be had."""

from __future__ import annotations

from resizefix.diagnostics import Diagnostic


class SizeRefusedError(Exception):
    """The node at which another size fails, and why; `retry_args`: options that decide."""

    def __init__(self, node: str, reason: Diagnostic, retry_args: tuple[str, ...] = ()) -> None:
        super().__init__(node, reason)
        self.node, self.reason, self.retry_args = node, reason, retry_args


def refuse(node: str, code: str, /, **arguments: object) -> SizeRefusedError:
    """The error with the sentence of `code`."""
    return SizeRefusedError(node, Diagnostic(code, **arguments))
