"""What inputs are fed, as options spell it: numbers, pictures, .npy files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError


class FeedOption(click.ParamType):  # type: ignore[type-arg]
    """`INPUT=V,…`: the numbers that an input is fed, laid out as its shape."""

    name = "INPUT=V,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[float, ...]]:
        """The input's name and its values."""
        if isinstance(value, tuple):
            return value
        name, separator, numbers = str(value).rpartition("=")
        try:
            values = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            values = ()
        if not separator or not name or not values:
            self.fail(Diagnostic("cli.no-feed", value=repr(value), example="scales=1,1,3,3"), param, ctx)
        return name, values


class FileFeedOption(click.ParamType):  # type: ignore[type-arg]
    """`INPUT=FILE`, a picture or a .npy file; `FILE` alone for the only image input; or `INPUT=V,…`, numbers."""

    name = "[INPUT=]FILE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str | tuple[float, ...]]:
        """The input's name, and the path of its file or its values."""
        if isinstance(value, tuple):
            return value
        name, separator, what = str(value).partition("=")
        if not separator and os.path.isfile(name):
            return "", name
        if not separator or not name or not what:
            self.fail(Diagnostic("cli.no-feed", value=repr(value), example="input=photo.png"), param, ctx)
        try:
            return name, tuple(float(number) for number in what.split(","))
        except ValueError:
            return name, what


def fed_once(feeds: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Values by input. Raises UsageError for an input that is fed twice."""
    found: dict[str, Any] = {}
    for name, value in feeds:
        if name in found:
            raise UsageError("interop.feed-twice", name=name or value)
        found[name] = value
    return found
