"""What can go wrong, sorted by what the user can do about it.

Every error a user can cause is a `ResizefixError`; its text is one paragraph that names the file, the node and the
mend.
`exit_code` is what the command line returns for it (see docs/reference: 1 "the answer is no", 2 "unusable input").
"""

from __future__ import annotations

from typing import Any

from resizefix.diagnostics import diagnosed
from resizefix.printable import printable


class DiagnosedError(Exception):
    """An error whose text is a diagnostic: `message` is one, or a code of reports/sentences with its `arguments`.

    No control character of a file reaches the text.
    """

    def __init__(self, message: str, /, **arguments: Any) -> None:
        self.diagnostic = diagnosed(message, arguments)
        super().__init__(printable(self.diagnostic))


class ResizefixError(DiagnosedError):
    """Base of all errors resizefix raises on purpose.

    `node` is the label of the node concerned, `rule` the name of the rule that failed; both may be None.
    `retry_args` are options with which the same command succeeds, where some are known.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        /,
        *,
        node: str | None = None,
        rule: str | None = None,
        retry_args: tuple[str, ...] = (),
        **arguments: Any,
    ) -> None:
        super().__init__(message, **arguments)
        self.node = node
        self.rule = rule
        self.retry_args = retry_args

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from their positional arguments, which leaves out what goes by keyword.
        return _rebuilt, (type(self), self.args, self.__dict__)


class UsageError(ResizefixError):
    """The arguments do not fit: no such node, an input name that is taken, OUT exists. Call again, corrected."""

    exit_code = 2


class UnreadableModelError(ResizefixError):
    """The file is missing, truncated or not an ONNX model. Give another file."""

    exit_code = 2


class CannotWriteError(ResizefixError):
    """The result could not be written (permissions, full disk). The input and any old OUT are untouched."""

    exit_code = 2


class RefusedError(ResizefixError):
    """The model cannot be changed as asked without changing what it computes; the text says which rule forbids it.

    Of a call that changes models, `result` holds the outcomes; its model is the unchanged original.
    """

    result: Any = None


def _rebuilt(kind: type[ResizefixError], arguments: tuple[Any, ...], state: dict[str, Any]) -> ResizefixError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error
