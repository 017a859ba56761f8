"""What the options of the library's calls may hold: one row for each name, checked before any work is done."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
import reprlib
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from resizefix.errors import UsageError
from resizefix.faults.fault import COORDINATES, EXTENTS
from resizefix.opsets.newest import NEWEST_RAISED
from resizefix.printable import printable
from resizefix.promotion import Form
from resizefix.runtimes.catalogue import runtime_named
from resizefix.verification.conditions import DEFAULTS, RunOptions

F = TypeVar("F", bound=Callable[..., Any])
Reader = Callable[[Any], Any]  # the value as the call uses it; raises ValueError or TypeError for another

_LARGEST_FLOAT32 = 3.4028234663852886e38
RUNTIMES = ("onnxruntime", "tensorrt")


def checked(function: F) -> F:
    """Makes a call raise UsageError for an option whose type or value it cannot use, before it looks at the model."""

    @functools.wraps(function)
    @np.errstate(all="ignore")  # as `bounded`
    def call(*models: Any, **options: Any) -> Any:
        return function(*models, **checked_options(options, function.__name__))

    return call  # type: ignore[return-value]


def checked_options(options: Mapping[str, Any], call: str = "") -> dict[str, Any]:
    """The options with their values as the calls use them. Raises UsageError, which says what an option takes.

    `call` is the name of the call, where it has an option of its own meaning.
    """
    found = dict(options)
    own = _rows_of(call)
    rows = {**_OPTIONS, **own}
    for name, value in options.items():
        if name in rows and not (value is None and (name in _NONE or name in own)):
            read, wanted = rows[name]
            try:
                found[name] = read(value)
            except UsageError:
                raise
            except Exception as error:  # whatever a foreign object's own methods raise
                raise UsageError("library.option-takes", name=name, value=reprlib.repr(value), wanted=wanted) from error
    return found


def with_run_options(function: Callable[..., Any]) -> inspect.Signature:
    """Gives a call whose options end with `**run` a signature that lists them, for help() and completion."""
    given = inspect.signature(function)
    own = [one for one in given.parameters.values() if one.kind is not one.VAR_KEYWORD]
    types = {name: reference.__forward_arg__ for name, reference in RunOptions.__annotations__.items()}
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, kind, default=DEFAULTS[name], annotation=types[name]) for name in DEFAULTS]
    found = given.replace(parameters=[*own, *added])
    vars(function)["__signature__"] = found
    return found


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _flag(value: Any) -> bool:
    _require(isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"))
    return bool(value)


def _whole(least: int, most: int = (1 << 63) - 1) -> Reader:
    def read(value: Any) -> int:
        _require(isinstance(value, numbers.Integral) and not isinstance(value, bool))
        found = int(value)
        _require(least <= found <= most)
        return found

    return read


def _number(least: float, most: float, *, above: bool = False) -> Reader:
    def read(value: Any) -> float:
        _require(isinstance(value, numbers.Real) and not isinstance(value, bool))
        found = float(value)
        _require(math.isfinite(found) and least <= found <= most and not (above and found == least))
        return found

    return read


def _text(value: Any) -> str:
    _require(isinstance(value, str) and value != "" and printable(value) == value)
    return str(value)


def _one_of(*words: str) -> Reader:
    def read(value: Any) -> str:
        _require(isinstance(value, str) and value in words)
        return str(value)

    return read


def _path(value: Any) -> str:
    return os.fsdecode(value)


def _each(read: Reader, alone: tuple[type, ...] = ()) -> Reader:
    """A sequence of what `read` reads; a value of the types `alone` is one of them."""

    def read_all(value: Any) -> tuple[Any, ...]:
        values = (value,) if isinstance(value, alone) else value
        _require(isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)))
        return tuple(read(each) for each in values)

    return read_all


def _by_name(read: Reader) -> Reader:
    def read_all(value: Any) -> dict[str, Any]:
        _require(isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
        return {name: read(each) for name, each in value.items()}

    return read_all


def _ranges(value: Any) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = _by_name(_each(_whole(0)))(value)
    _require(found.keys() <= {"min", "opt", "max"})
    return found


def _target(value: Any) -> str:
    from resizefix.targets.catalogue import target_named  # with the rules of all runtimes

    return target_named(value).name


def _preferences(value: Any) -> tuple[str, ...]:
    words: tuple[str, ...] = _each(_text, (str,))(value)
    _require(set(words) <= {*EXTENTS, *COORDINATES})
    _require(not set(EXTENTS) <= set(words) and not set(COORDINATES) <= set(words))
    return words


def _fixed_size(value: Any) -> tuple[int, int]:
    height, width = _each(_whole(1))(value)
    return height, width


def _sides(value: Any) -> tuple[int, ...]:
    sides: tuple[int, ...] = _each(_whole(1), (int,))(value)
    _require(1 <= len(sides) <= 3)
    return sides


def _pair(value: Any) -> tuple[str, str]:
    node, name = map(_text, value)
    return node, name


def _or_any(read: Reader) -> Reader:
    return lambda value: "any" if value == "any" else read(value)


def _callable(value: Any) -> Any:
    _require(callable(value))
    return value


_SCALE = _number(0, _LARGEST_FLOAT32, above=True)
_FLOAT = _number(-_LARGEST_FLOAT32, _LARGEST_FLOAT32)
_NONE = frozenset({
    "form", "batch", "input_name", "prefer", "opset", "denominator", "shape", "timeout", "memory_limit", "progress",
    "profile", "runs", "set", "feed", "runtime", "runtime_python", "size", "was", "like",
})  # fmt: skip
_FLAGS = (
    "shared", "keep_default", "allow_coupled", "verify", "hybrid", "allow_inexact", "lower", "fastest", "live", "build",
    "remove_identity", "interpolate_positions", "keep_overridable",
)  # fmt: skip
_OPTIONS: dict[str, tuple[Reader, str]] = {
    **dict.fromkeys(_FLAGS, (_flag, "True or False")),
    "form": (Form, f"one of {', '.join(form.value for form in Form)}"),
    "input_name": (_text, "a name: text, not empty, without control characters"),
    "for_": (_one_of(*RUNTIMES), " or ".join(RUNTIMES)),
    "runtime": (lambda value: runtime_named(value).name, ""),
    "runtime_python": (_by_name(_path), 'the Python of a runtime by its name, as {"opencv-4": "/path/to/python"}'),
    "opset": (_whole(9, NEWEST_RAISED), f"an opset from 9 to {NEWEST_RAISED}"),
    "prefer": (_preferences, "'scales' or 'sizes', 'half_pixel' or 'asymmetric', or a list of one of each"),
    "denominator": (_whole(1, (1 << 31) - 1), "a whole number from 1 to 2147483647"),
    "node": (_each(_text, (str,)), 'a glob on names of nodes, or "#K", or a list of them'),
    "at": (_each(_each(_SCALE, (numbers.Real,))), "a list of scales above 0, as [4, (2, 3)]"),
    "shape": (_by_name(_each(_whole(0))), 'the sizes of inputs, as {"input": (1, 3, 224, 224)}'),
    "seed": (_whole(0), "a whole number from 0"),
    "custom_op_library": (_each(_path, (str, bytes, os.PathLike)), "a path, or a list of paths"),
    "timeout": (_number(0, threading.TIMEOUT_MAX / 2, above=True), "a number of seconds above 0"),
    "memory_limit": (_whole(1, 1 << 60), "a number of bytes above 0"),
    "progress": (_callable, "what can be called with three arguments"),
    "on_refusal": (_one_of("raise", "return"), "'raise' or 'return'"),
    "target": (_target, ""),
    "profile": (_by_name(_ranges), 'ranges as {"input": {"min": (1, 3, 8, 8), "opt": …, "max": …}}'),
    "size": (_or_any(_fixed_size), 'height and width, as (720, 1280), or "any"'),
    "like": (lambda value: value, "a path or a model"),
    "was": (_fixed_size, "height and width, as (720, 1280)"),
    "assume": (_one_of("usual", "none"), "'usual' or 'none'"),
    "read": (_each(_pair), 'pairs of a glob on names of nodes and a reading, as [("Slice_4", "keep")]'),
    "batch": (_or_any(_whole(1)), 'a whole number from 1, or "any"'),
    "input": (_each(_text, (str,)), "the name of an input, or a list of them"),
    **dict.fromkeys(("keep", "follow_input"), (_each(_text, (str,)), "a glob on names of nodes, or a list of them")),
    "set": (_by_name(_each(_FLOAT)), 'numbers for inputs, as {"scales": (1, 1, 2, 2)}'),
    "feed": (_by_name(lambda value: value), 'values for inputs, as {"scales": (1, 1, 2, 2)}'),
    "runs": (_whole(1, 1 << 31), "a whole number from 1"),
    "atol": (_number(0, math.inf), "a number from 0"),
    "rtol": (_number(0, math.inf), "a number from 0"),
}

_SIZE_BEFORE = (_fixed_size, "height and width, as (720, 1280)")
_OF_ONE_CALL: dict[str, dict[str, tuple[Reader, str]]] = {
    "trt_legacy": {"size": _SIZE_BEFORE},
    "freeze_scales": {"size": _SIZE_BEFORE},
    "input_size": {
        "size": (_or_any(_sides), 'height and width, as (720, 1280), depth, height and width, a length, or "any"')
    },
    "legalize": {"size": _SIZE_BEFORE, "target": (_target, "")},
}


def _rows_of(call: str) -> Mapping[str, tuple[Reader, str]]:
    """Options of one call, some of which are another call's word for something else; all may be None."""
    if call != "set_interpolation":
        return _OF_ONE_CALL.get(call, {})
    from resizefix.operations.settings import ALIASES, READERS, read  # which know all lowerings

    return {name: (partial(read, name), "") for name in (*READERS, *ALIASES)}
