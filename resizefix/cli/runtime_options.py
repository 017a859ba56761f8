"""Options of commands that ask runtimes."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.options import F
from resizefix.diagnostics import Diagnostic


class PythonOption(click.ParamType):  # type: ignore[type-arg]
    """`NAME=PATH`: the Python that has a runtime."""

    name = "NAME=PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The runtime's name and the path."""
        if isinstance(value, tuple):
            return value
        from resizefix.errors import UsageError
        from resizefix.runtimes.catalogue import runtime_named

        name, separator, path = str(value).partition("=")
        if not separator or not path:
            self.fail(Diagnostic("cli.no-runtime-python", value=repr(value)), param, ctx)
        try:
            return runtime_named(name).name, path
        except UsageError as error:
            self.fail(str(error), param, ctx)


def runtime_python(function: F) -> F:
    """Where runtimes are that are not installed beside this package."""
    return click.option(
        "--runtime-python",
        type=PythonOption(),
        multiple=True,
        help="The Python that has a runtime, such as opencv-4=/path/to/bin/python (repeatable).",
    )(function)
