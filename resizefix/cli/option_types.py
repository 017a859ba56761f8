"""Values of options as people type them: shapes, sizes, numbers, feeds, targets and nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from resizefix.diagnostics import Diagnostic
from resizefix.errors import ResizefixError, UsageError

Named = tuple[str, tuple[float, ...]]


class Spelled(click.ParamType):  # type: ignore[type-arg]
    """`read` makes the value of its text, or raises ValueError; `why_not` says of a text, quoted, that it is none.

    A value that is no text is there already: click converts the default, too.
    """

    def __init__(self, name: str, read: Callable[[str], Any], why_not: Callable[[str], Diagnostic]) -> None:
        self.name = name
        self._read, self._why_not = read, why_not

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What was typed as the command uses it."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(self._why_not(repr(value)), param, ctx)


def _require(holds: object) -> None:
    if not holds:
        raise ValueError


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.rpartition(":")
    dims = tuple(int(size) for size in sizes.strip("[] ").replace("x", ",").split(",") if size.strip())
    _require(name and all(size >= 0 for size in dims))
    return name, dims


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Input names with their sizes, or their values where those decide shapes."""
    shapes: dict[str, tuple[int, ...]] = {}
    name = ""
    for piece in text.split(","):
        before, separator, sizes = piece.rpartition(":")
        name = before if separator else name
        numbers = tuple(int(size) for size in sizes.strip("[] ").split("x"))
        _require(name and all(number >= 0 for number in numbers))
        shapes[name] = shapes.get(name, ()) + numbers
    return shapes


def _memory(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise ValueError
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def _scales(text: str) -> tuple[float, ...]:
    numbers = _numbers(text)
    _require(all(0 < number < float("inf") for number in numbers))
    return numbers


def _feed(text: str) -> Named:
    name, _, numbers = text.rpartition("=")
    _require(name)
    return name, _numbers(numbers)


def _file_feed(text: str) -> Named | tuple[str, str]:
    """The input's name, and the path of its file or its values; no name for the only image input."""
    try:
        return _feed(text)
    except ValueError:
        pass  # no numbers
    parts = text.split("=")  # a name and a path may hold an `=`, too: the file that is there decides
    ways = [*(("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))), ("", text)]
    found = next((way for way in ways if os.path.isfile(way[1])), ways[0])
    _require(found[1] and (found[0] or os.path.isfile(text)))
    return found


def _height_and_width(text: str) -> tuple[int, int]:
    height, width = map(_positive, text.lower().replace("×", "x").split("x"))
    return height, width


def _sides(text: str) -> tuple[int, ...]:
    """Depth, height and width; height and width; or a length."""
    sides = tuple(map(_positive, text.lower().replace("×", "x").split("x")))
    _require(len(sides) <= 3)
    return sides


def _positive(text: str) -> int:
    _require(text.isdigit() and 0 < int(text) < 1 << 31)
    return int(text)


def _node_reading(text: str) -> tuple[str, str]:
    node, _, name = text.rpartition("=")
    _require(node and name)
    return node, name


def _or_any(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: "any" if text.lower() == "any" else read(text)


def _python(text: str) -> tuple[str, str]:
    from resizefix.runtimes.catalogue import runtime_named

    name, _, path = text.partition("=")
    _require(path)
    return runtime_named(name).name, path


SHAPE = Spelled(
    "NAME:D,D,…", _shape, lambda value: Diagnostic("cli.no-shape", value=value, example="input:1,3,224,224")
)
"""`NAME:1,3,224,224` or `NAME:[1,3,224,224]`, as Polygraphy and trtexec users write shapes."""
SHAPES = Spelled(
    "NAME:DxD…", _shapes, lambda value: Diagnostic("cli.no-shape", value=value, example="input:1x3x224x224")
)
"""`NAME:1x3x224x224,OTHER:2`, as trtexec writes shapes; `NAME:1,3,224,224` means the same."""
MEMORY = Spelled("SIZE", _memory, lambda value: Diagnostic("cli.no-memory-size", value=value))
"""A size of memory in bytes: `2G`, `512M`, or bytes."""
SCALES = Spelled("S[,S…]", _scales, lambda value: Diagnostic("cli.no-scale", value=value))
"""`S` or `H,W`: numbers above zero with commas between."""
FEED = Spelled("INPUT=V,…", _feed, lambda value: Diagnostic("cli.no-feed", value=value, example="scales=1,1,3,3"))
"""The numbers that an input is fed, laid out as its shape."""
FILE_FEED = Spelled(
    "[INPUT=]FILE", _file_feed, lambda value: Diagnostic("cli.no-feed", value=value, example="input=photo.png")
)
"""`INPUT=FILE`, a picture or a .npy file; `FILE` alone for the only image input; or `INPUT=V,…`, numbers."""
SIZE = Spelled("SIZE", _height_and_width, lambda value: Diagnostic("cli.no-size", value=value))
"""HEIGHTxWIDTH."""
SIZE_OR_ANY = Spelled("SIZE", _or_any(_sides), lambda value: Diagnostic("cli.no-size-or-any", value=value))
BATCH = Spelled("N|any", _or_any(_positive), lambda value: Diagnostic("cli.no-batch", value=value))
NODE_READING = Spelled("NODE=READING", _node_reading, lambda value: Diagnostic("cli.no-reading", value=value))
PYTHON = Spelled("NAME=PATH", _python, lambda value: Diagnostic("cli.no-runtime-python", value=value))
"""The Python that has a runtime, by the runtime's name."""


class TargetType(click.ParamType):  # type: ignore[type-arg]
    """The name of a target, as the catalogue reads it; the value is the name of the row that covers it, or `list`."""

    name = "TARGET"

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = only

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name of the row, or `list`."""
        from resizefix.targets.catalogue import target_named

        if value == "list":
            return "list"
        try:
            name = target_named(value).name
        except UsageError as error:
            self.fail(str(error), param, ctx)
        if self._only and name not in self._only:
            self.fail(Diagnostic("cli.no-such-target", value=repr(value), known=", ".join(self._only)), param, ctx)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The targets of the catalogue."""
        from resizefix.targets.catalogue import TARGETS

        names = self._only or [target.name for target in TARGETS]
        return [CompletionItem(name) for name in (*names, "list") if name.startswith(incomplete.lower())]


class NodeType(click.ParamType):  # type: ignore[type-arg]
    """A glob on the names of nodes, or `#K`; the shell completes the names of the model that was typed before."""

    name = "PATTERN"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The labels of the model's sites; none where the model cannot be read."""
        from resizefix.document.document import Document
        from resizefix.operations.sites import find_sites

        # The option lacks its value yet, and there click leaves the arguments unread.
        model = ctx.params.get("model") or next(iter(ctx.args), "")
        try:
            sites = find_sites(Document.open(str(model)))
        except ResizefixError:
            return []
        return [CompletionItem(site.label) for site in sites if site.label.startswith(incomplete)]
