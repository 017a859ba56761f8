"""One file for each runtime that a model can be run in; the only file that imports it.

`version(options)` names the runtime, or raises ImportError or UnavailableError. `load(model, options)` gives a function
from feeds to outputs, in the order of the graph's; with the option `threads` set to "default" on as many as the runtime
takes unasked, else on one. Whatever they raise is the runtime's answer. These files run in
Pythons that have the runtime and numpy, and none of this package's other dependencies.
"""

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


class AdapterRefusedError(Exception):
    """The runtime does not take the model, and has not raised anything itself."""
