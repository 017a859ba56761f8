"""What a runtime is given to load, and how it says that it is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Options = Mapping[str, Any]
Arrays = Mapping[str, Any]
"""Arrays of numpy by name. Its types are not named here: a runtime's Python may have an older one."""
Run = Callable[[Arrays], Sequence[Any]]
"""From feeds to outputs, in the order of `ModelToLoad.outputs`."""


@dataclass(frozen=True)
class ModelToLoad:
    """An ONNX file, and the feeds of its first run, for runtimes that fix sizes when they load.

    `folder` is where files may be written.
    """

    path: str
    folder: str
    feeds: Arrays
    outputs: tuple[str, ...]


class UnavailableError(Exception):
    """The runtime is not there, or another version of it."""


class RefusedError(Exception):
    """The runtime does not take the model, and has not raised anything itself."""
