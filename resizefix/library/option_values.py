"""What options hold: how a value is typed on the command line, and what the library's calls take."""

from __future__ import annotations

import math
import numbers
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from resizefix.diagnostics import UsageError
from resizefix.printable import printable

Reader = Callable[[Any], Any]
"""Gives the value as the call uses it; raises ValueError or TypeError for another."""
Named = tuple[str, tuple[float, ...]]

_LARGEST_FLOAT32 = 3.4028234663852886e38


class OptionKind(NamedTuple):
    """The values of an option.

    `check` reads a value of the library, and `takes` says what that is. `read` reads a typed text; what it refuses has
    the sentence `refusal`, a code with its arguments. Without `read` click reads `choices`, or a `number` from `least`
    (with `above`, more than that), or any text; of a wrong word, the nearest of the `choices` is proposed. `metavar`
    stands for the value in `--help`.
    """

    check: Reader
    takes: str = ""
    metavar: str | None = None
    read: Callable[[str], Any] | None = None
    refusal: tuple[str, Mapping[str, str]] = ("", {})
    choices: tuple[str, ...] = ()
    number: type | None = None
    least: float | None = None
    above: bool = False


def require(holds: object) -> None:
    """Raises ValueError where it does not hold."""
    if not holds:
        raise ValueError


def _flag(value: Any) -> bool:
    require(isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"))
    return bool(value)


def _whole(least: int, most: int = (1 << 63) - 1) -> Reader:
    def read(value: Any) -> int:
        require(isinstance(value, numbers.Integral) and not isinstance(value, bool))
        require(least <= int(value) <= most)
        return int(value)

    return read


def _opset(least: int) -> OptionKind:
    def read(value: Any) -> int:
        from resizefix.opsets.newest import NEWEST_RAISED  # which imports onnx

        opset: int = _whole(least, NEWEST_RAISED)(value)
        return opset

    return OptionKind(read, f"an opset from {least} to the newest of the installed onnx", "N", number=int)


def _number(least: float, most: float, *, above: bool = False) -> Reader:
    def read(value: Any) -> float:
        require(isinstance(value, numbers.Real) and not isinstance(value, bool))
        number = float(value)
        require(math.isfinite(number) and least <= number <= most and not (above and number == least))
        return number

    return read


def _text(value: Any) -> str:
    require(isinstance(value, str) and value != "" and printable(value) == value)
    return str(value)


def _path(value: Any) -> str:
    return os.fsdecode(value)


def _each(read: Reader, alone: tuple[type, ...] = ()) -> Reader:
    """A sequence of what `read` reads; a value of the types `alone` is one of them."""

    def read_all(value: Any) -> tuple[Any, ...]:
        values = (value,) if isinstance(value, alone) else value
        require(isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)))
        return tuple(read(each) for each in values)

    return read_all


def _by_name(read: Reader) -> Reader:
    def read_all(value: Any) -> dict[str, Any]:
        require(isinstance(value, Mapping) and all(isinstance(name, str) for name in value))
        return {name: read(each) for name, each in value.items()}

    return read_all


def _arrays(value: Any) -> Any:
    """A path, or values by name."""
    return os.fsdecode(value) if isinstance(value, (str, bytes, os.PathLike)) else _by_name(lambda each: each)(value)


def _feeds(value: Any) -> Any:
    """Values by input; a path alone has the name ""."""
    given = _arrays(value)
    return {"": given} if isinstance(given, str) else given


def _ranges(value: Any) -> dict[str, tuple[int, ...]]:
    ranges: dict[str, tuple[int, ...]] = _by_name(_each(_whole(0)))(value)
    require(ranges.keys() <= {"min", "opt", "max"})
    return ranges


def _form(value: Any) -> Any:
    from resizefix.promotion import Form

    return Form(value)


def _target(value: Any) -> str:
    from resizefix.targets.catalogue import target_named  # with the rules of all runtimes

    return target_named(value).typed


def _runtime(value: Any) -> str:
    from resizefix.runtimes.catalogue import runtime_named

    return runtime_named(value).name


def _height_and_width(value: Any) -> tuple[int, int]:
    height, width = _each(_whole(1))(value)
    return height, width


def _sides(value: Any) -> tuple[int, ...]:
    sides: tuple[int, ...] = _each(_whole(1), (int,))(value)
    require(1 <= len(sides) <= 3)
    return sides


def _images(value: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Names of inputs, each with its shape, empty where none is given."""
    if isinstance(value, Mapping):
        return tuple((_text(name), _each(_whole(1))(dims)) for name, dims in value.items())
    pairs = (each if isinstance(each, tuple) else (each, ()) for each in ([value] if isinstance(value, str) else value))
    return tuple((_text(name), _each(_whole(1))(dims)) for name, dims in pairs)


def _pair(value: Any) -> tuple[str, str]:
    node, name = map(_text, value)
    return node, name


def _or_any(read: Reader) -> Reader:
    return lambda value: "any" if value == "any" else read(value)


def _or_none(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _callable(value: Any) -> Any:
    require(callable(value))
    return value


def _preferences(value: Any) -> tuple[str, ...]:
    words: tuple[str, ...] = _each(_text, (str,))(value)
    require(set(words) <= {*EXTENTS, *COORDINATES, *FRAMEWORKS})
    require(not set(EXTENTS) <= set(words) and not set(COORDINATES) <= set(words))
    return words


def _typed_numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))


def _typed_shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.rpartition(":")
    dims = tuple(int(size) for size in sizes.strip("[] ").replace("x", ",").split(",") if size.strip())
    require(name and all(size >= 0 for size in dims))
    return name, dims


def _typed_image(text: str) -> tuple[str, tuple[int, ...]]:
    """A name with the shape that the input gets; without one, which has at least two numbers, the name alone."""
    try:
        name, dims = _typed_shape(text)
    except ValueError:
        return _text(text), ()
    return (name, dims) if len(dims) > 1 else (text, ())


def _typed_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Input names with their sizes, or their values where those decide shapes."""
    shapes: dict[str, tuple[int, ...]] = {}
    name = ""
    for piece in text.split(","):
        before, separator, sizes = piece.rpartition(":")
        name = before if separator else name
        dims = tuple(int(size) for size in sizes.strip("[] ").split("x"))
        require(name and all(size >= 0 for size in dims))
        shapes[name] = shapes.get(name, ()) + dims
    return shapes


def _typed_memory(text: str) -> int:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if size is None or float(size[1]) == 0:
        raise ValueError
    return int(float(size[1]) * 1024 ** " KMGT".index(size[2].upper() or " "))


def _typed_scales(text: str) -> tuple[float, ...]:
    scales = _typed_numbers(text)
    require(all(0 < scale < float("inf") for scale in scales))
    return scales


def _typed_feed(text: str) -> Named:
    name, _, values = text.rpartition("=")
    require(name)
    return name, _typed_numbers(values)


def _typed_file_feed(text: str) -> Named | tuple[str, str]:
    """The input's name, and the path of its file or its values; no name for the only image input."""
    try:
        return _typed_feed(text)
    except ValueError:
        pass  # no numbers
    parts = text.split("=")  # a name and a path may hold an `=`, too: the file that is there decides
    ways = [*(("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))), ("", text)]
    name, path = next((way for way in ways if os.path.exists(way[1])), ways[0])
    require(path and (name or os.path.exists(text) or _is_array_file(text)))
    return name, path


def _is_array_file(text: str) -> bool:
    """Whether a path that is not there was meant to be one, and not a feed without a name."""
    return text.lower().endswith((".npz", ".npy", ".pb"))


def _typed_size(text: str) -> tuple[int, int]:
    height, width = map(_typed_positive, text.lower().replace("×", "x").split("x"))
    return height, width


def _typed_sides(text: str) -> tuple[int, ...]:
    """Depth, height and width; height and width; or a length."""
    sides = tuple(map(_typed_positive, text.lower().replace("×", "x").split("x")))
    require(len(sides) <= 3)
    return sides


def _typed_reading(text: str) -> tuple[str, str]:
    node, _, name = text.rpartition("=")
    require(node and name)
    return node, name


def _typed_positive(text: str) -> int:
    require(text.isdigit() and 0 < int(text) < 1 << 31)
    return int(text)


def _typed_or_any(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: "any" if text.lower() == "any" else read(text)


def _typed_python(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    require(path)
    return _runtime(name), path


def pairs_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by input. Raises UsageError for an input that is fed twice."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise UsageError("interop.feed-twice", name=name or value)
        values[name] = value
    return values


def one_of(*words: str) -> OptionKind:
    """One of these words."""

    def read(value: Any) -> str:
        require(isinstance(value, str) and value in words)
        return str(value)

    return OptionKind(read, " or ".join(words), choices=words)


def whole_number(least: int, most: int, takes: str, metavar: str = "NUMBER", *, bounds: bool = True) -> OptionKind:
    """A whole number; with `bounds`, click refuses one below `least` itself."""
    return OptionKind(_whole(least, most), takes, metavar, number=int, least=least if bounds else None)


EXTENTS = "scales", "sizes"
COORDINATES = "half_pixel", "asymmetric"
FRAMEWORKS = ("pytorch",)
_FORMS = "scales", "spatial", "factor", "sizes"
_LEGACY = ("tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0", "tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2")
TARGETS = (
    *_LEGACY, "tensorrt-8.0", "tensorrt-8.4", "tensorrt-8.5", "tensorrt-9", "tensorrt-10", "tensorrt-rtx",
    "onnxruntime", "openvino", "opencv-4", "opencv-5", "ncnn", "mnn", "tract", "tvm", "coreml", "directml",
    "edge-tpu", "ethos-u", "horizon", "kneron", "kneron-520", "kneron-720", "migraphx", "nnapi", "qnn", "rknn",
    "tidl", "webgl",
)  # fmt: skip
"""The names of the catalogue, so that one is known to be right without the rules of all runtimes."""
_LARGEST_WHOLE = (1 << 63) - 1

FLAG = OptionKind(_flag, "True or False")
FILE = OptionKind(_path, "a path", "FILE")
NAME = OptionKind(_text, "a name: text, not empty, without control characters", "NAME")
PATTERN = OptionKind(_each(_text, (str,)), 'a glob on names of nodes, or "#K", or a list of them', "PATTERN")
NAME_PATTERN = OptionKind(_each(_text, (str,)), "a glob on names of nodes, or a list of them", "PATTERN")
PATHS = OptionKind(_each(_path, (str, bytes, os.PathLike)), "a path, or a list of paths", "PATH")
FORM = OptionKind(_form, f"one of {', '.join(_FORMS)}", choices=_FORMS)
PREFERENCES = OptionKind(_preferences, "'scales' or 'sizes', 'half_pixel' or 'asymmetric', or a list of one of each",
    choices=(*EXTENTS, *COORDINATES, *FRAMEWORKS))  # fmt: skip
RUNTIME = OptionKind(_runtime, metavar="NAME")
PYTHONS = OptionKind(
    _by_name(_path), 'the Python of a runtime by its name, as {"opencv-4": "/path/to/python"}', "NAME=PATH",
    _typed_python, ("cli.no-runtime-python", {}))  # fmt: skip
TARGET = OptionKind(_target, metavar="TARGET", choices=TARGETS)
LEGACY_TARGET = OptionKind(_target, metavar="TARGET", choices=_LEGACY)
ANY_OPSET = _opset(7)
OPSET = _opset(9)
SEED = whole_number(0, _LARGEST_WHOLE, "a whole number from 0", bounds=False)
DENOMINATOR = whole_number(1, (1 << 31) - 1, "a whole number from 1 to 2147483647")
COUNT = whole_number(1, 1 << 31, "a whole number from 1")
TOLERANCE = OptionKind(_number(0, math.inf), "a number from 0", "NUMBER", number=float, least=0)
SECONDS = OptionKind(_number(0, threading.TIMEOUT_MAX / 2, above=True), "a number of seconds above 0", "SECONDS",
    number=float, least=0, above=True)  # fmt: skip
# `2G`, `512M`, or bytes.
MEMORY = OptionKind(_whole(1, 1 << 60), "a number of bytes above 0", "SIZE", _typed_memory, ("cli.no-memory-size", {}))
# `S` or `H,W`: numbers above zero with commas between.
SCALES = OptionKind(_each(_each(_number(0, _LARGEST_FLOAT32, above=True), (numbers.Real,))),
    "a list of scales above 0, as [4, (2, 3)]", "S[,S…]", _typed_scales, ("cli.no-scale", {}))  # fmt: skip
# `NAME:1,3,224,224` or `NAME:[1,3,224,224]`, as Polygraphy and trtexec users write shapes.
SHAPE = OptionKind(_by_name(_each(_whole(0))), 'the sizes of inputs, as {"input": (1, 3, 224, 224)}', "NAME:D,D,…",
    _typed_shape, ("cli.no-shape", {"example": "input:1,3,224,224"}))  # fmt: skip
# `NAME:1x3x224x224,OTHER:2`, as trtexec writes shapes; `NAME:1,3,224,224` means the same.
SHAPES = OptionKind(_by_name(_each(_whole(0))), "", "NAME:DxD…", _typed_shapes,
    ("cli.no-shape", {"example": "input:1x3x224x224"}))  # fmt: skip
# `NAME`, or `NAME:1,3,192,640` for the shape that it gets; `input:0` is a name.
IMAGES = OptionKind(_images, 'the name of an input, a list of them, or {"input": (1, 3, 192, 640)}', "NAME[:D,D,…]",
    _typed_image, ("cli.empty-option", {}))  # fmt: skip
PROFILE = OptionKind(_by_name(_ranges), 'ranges as {"input": {"min": (1, 3, 8, 8), "opt": …, "max": …}}')
# The numbers that an input is fed, laid out as its shape.
VALUES = OptionKind(_by_name(_each(_number(-_LARGEST_FLOAT32, _LARGEST_FLOAT32))),
    'numbers for inputs, as {"scales": (1, 1, 2, 2)}', "INPUT=V,…", _typed_feed,
    ("cli.no-feed", {"example": "scales=1,1,3,3"}))  # fmt: skip
# `INPUT=FILE`, a picture or a .npy file; `FILE` alone for the only image input, or an .npz file or a folder of ONNX's
# tests for all inputs; or `INPUT=V,…`, numbers.
FEED = OptionKind(_feeds, 'values for inputs, as {"scales": (1, 1, 2, 2)}, or the path of an .npz file', "[INPUT=]FILE",
    _typed_file_feed, ("cli.no-feed", {"example": "input=photo.png"}))  # fmt: skip
# An .npz or .npy file, or a folder of ONNX's tests.
EXPECTED = OptionKind(_arrays, 'the path of an .npz file, or arrays by name, as {"output": array}', "FILE")
SIZE = OptionKind(_height_and_width, "height and width, as (720, 1280)", "HxW", _typed_size, ("cli.no-size", {}))
OLD_SIZE = OptionKind(_or_none(_sides), "the old height and width, as (720, 1280), all sides, or a length", "SIZE",
    _typed_sides, ("cli.no-size", {}))  # fmt: skip
SIZE_OR_ANY = OptionKind(
    _or_none(_or_any(_sides)),
    'height and width, as (720, 1280), depth, height and width, a length, or "any"',
    "SIZE",
    _typed_or_any(_typed_sides),
    ("cli.no-size-or-any", {}),
    ("any",),
)
BATCH = OptionKind(_or_any(_whole(1)), 'a whole number from 1, or "any"', "N|any", _typed_or_any(_typed_positive),
    ("cli.no-batch", {}), ("any",))  # fmt: skip
READINGS = OptionKind(_each(_pair), 'pairs of a glob on names of nodes and a reading, as [("Slice_4", "keep")]',
    "NODE=READING", _typed_reading, ("cli.no-reading", {}))  # fmt: skip
ANY_MODEL = OptionKind(lambda value: value, "a path or a model", "FILE")
CALLBACK = OptionKind(_callable, "what can be called with three arguments")
ON_REFUSAL = OptionKind(one_of("raise", "return").check, "'raise' or 'return'")
