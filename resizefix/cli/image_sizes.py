"""Sizes of images as options spell them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from resizefix.diagnostics import Diagnostic

F = TypeVar("F", bound=Callable[..., Any])


class SizeType(click.ParamType):  # type: ignore[type-arg]
    """HEIGHTxWIDTH, or `any` where that is meant."""

    name = "SIZE"

    def __init__(self, *, any_size: bool = True) -> None:
        self._any = any_size

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The two numbers, or the word."""
        if isinstance(value, tuple) or (self._any and str(value).lower() == "any"):
            return value if isinstance(value, tuple) else "any"
        parts = str(value).lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.isdigit() and 0 < int(part) < 1 << 31 for part in parts):
            code = "cli.no-size-or-any" if self._any else "cli.no-size"
            self.fail(Diagnostic(code, value=repr(value)), param, ctx)
        return int(parts[0]), int(parts[1])


class BatchType(click.ParamType):  # type: ignore[type-arg]
    """A number from 1, or `any`."""

    name = "N|any"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        if isinstance(value, int) or str(value).lower() == "any":
            return value if isinstance(value, int) else "any"
        if not str(value).isdigit() or not 0 < int(value) < 1 << 31:
            self.fail(Diagnostic("cli.no-batch", value=repr(value)), param, ctx)
        return int(value)


def size_option(function: F) -> F:
    """`--size HxW`: a dynamic model is given this input size first."""
    text = "First set the open height and width of the image inputs to HxW, such as 720x1280."
    return click.option("--size", type=SizeType(any_size=False), metavar="HxW", help=text)(function)
