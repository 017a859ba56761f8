"""The optimization profile that TensorRT needs to build a model: of a promoted one, with the trtexec flags that say it;
and of one that is built here: the ranges the user gave, and some for what is left open.

For an input with open sizes a profile says which sizes it takes, for one whose values decide shapes (TensorRT's "shape
tensor") which values, even where height and width are static (NVIDIA's developer guide, "Shape Tensor I/O"); each as
smallest, most usual and largest, like trtexec's --minShapes, --optShapes, --maxShapes.

A profile whose smallest and largest sizes and values go together: where they do not, the ranges are narrowed.

TensorRT builds for all that a profile says at once, and refuses one at whose ends the sizes do not fit. A dimension's
name says nothing of that: sizes are followed, and where these do not tell, the promoted model is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from onnx import ModelProto

from resizefix.diagnostics import ResizefixError, UsageError
from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.text import counted
from resizefix.document.values import dims_of
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Form, PromotedInput
from resizefix.runtimes.inputs import TensorInput, Value, model_inputs
from resizefix.runtimes.tensorrt import Bounds, NetworkInput
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.feeds import Feeder
from resizefix.verification.sizing import Role, image_of, roles_of

_USUAL_LENGTH = 64  # of a dynamic axis that nothing is known of
BOUNDS = ("min", "opt", "max")
_GROWTH = (1, 2, 4)  # of open heights and widths, from those that the model was found to run at


@dataclass(frozen=True)
class Range:
    """The smallest, the usual and the largest value of a shape tensor, or shape of a tensor."""

    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]


Profile = Mapping[str, Range | Bounds]


@dataclass(frozen=True)
class ProfilePlan:
    """What to build with. `narrow` leaves the `chosen` inputs one size only, for models that `wide` is too much for."""

    wide: dict[str, Bounds]
    narrow: dict[str, Bounds]
    chosen: tuple[str, ...]


def checked(given: Profile, document: Document) -> dict[str, Bounds]:
    """The user's ranges, complete: `opt` alone stands for all three, as in trtexec.

    Raises UsageError for an input that the model does not have, and for bounds that are missing or out of order.
    """
    inputs = {entry.name: entry for entry in model_inputs(document.proto)}
    profile: dict[str, Bounds] = {}
    for name, bounds in given.items():
        if name not in inputs:
            raise UsageError("library.range-for-no-input", name=name, known=", ".join(inputs) or "none")
        said = vars(bounds) if isinstance(bounds, Range) else bounds
        shapes = {bound: [int(value) for value in said[bound]] for bound in BOUNDS if bound in said}
        if set(shapes) == {"opt"}:
            shapes = dict.fromkeys(BOUNDS, shapes["opt"])
        if set(shapes) != set(BOUNDS):
            missing = ", ".join(bound for bound in BOUNDS if bound not in shapes)
            raise UsageError("library.range-incomplete", name=name, missing=missing)
        rows = [shapes[bound] for bound in BOUNDS]
        ordered = all(low <= high for row, above in pairwise(rows) for low, high in zip(row, above, strict=False))
        if len({len(row) for row in rows}) > 1 or not ordered:
            raise UsageError("library.range-not-ordered", name=name, rows=rows)
        profile[name] = shapes
    return profile


def planned(document: Document, inputs: Sequence[NetworkInput], given: Mapping[str, Bounds]) -> ProfilePlan:
    """The profile for the network's inputs: `given`, and ranges around what the model runs with in onnxruntime.

    Raises UsageError where a given range does not fit its input.
    """
    for entry in inputs:
        if entry.name in given:
            _require_fit(entry, given[entry.name])
    frozen = [name for name in given if name not in {entry.name for entry in inputs}]
    if frozen:
        raise UsageError("library.default-is-constant", frozen=frozen[0])
    unsaid = [entry for entry in inputs if entry.needs_range and entry.name not in given]
    if not unsaid:
        return ProfilePlan(dict(given), dict(given), ())
    feeds = _fitting_feeds(document, inputs, given)
    named = {entry.name: entry for entry in model_inputs(document.proto)}
    wide, narrow = dict(given), dict(given)
    for entry in unsaid:
        usual, grows = _usual(entry, named[entry.name], feeds, document)
        narrow[entry.name] = {bound: list(usual) for bound in BOUNDS}
        wide[entry.name] = {
            bound: [value * times if grown else value for value, grown in zip(usual, grows, strict=True)]
            for bound, times in zip(BOUNDS, _GROWTH, strict=True)
        }
    return ProfilePlan(wide, narrow, tuple(entry.name for entry in unsaid))


def _require_fit(entry: NetworkInput, bounds: Bounds) -> None:
    numbers = bounds["opt"]
    if entry.decides_shapes:
        length = math.prod(size for size in entry.dims if size is not None)
        if None not in entry.dims and len(numbers) != length:
            raise UsageError(
                "library.range-of-shape-input", name=entry.name, count=counted(length, "value"), numbers=numbers
            )
        return
    fixed = [(size, row[axis]) for row in bounds.values() for axis, size in enumerate(entry.dims) if axis < len(row)]
    if len(numbers) != len(entry.dims) or any(size not in (None, given) for size, given in fixed):
        shape = "x".join("?" if size is None else str(size) for size in entry.dims)
        raise UsageError("library.range-does-not-fit", name=entry.name, shape=shape, str="x".join(map(str, numbers)))


def _usual(
    entry: NetworkInput, declared: TensorInput, feeds: Mapping[str, Value], document: Document
) -> tuple[list[int], list[bool]]:
    """The sizes, or values, that the input is taken to have, and which of them may as well be larger."""
    fed = feeds.get(entry.name)
    if not entry.decides_shapes:
        roles = roles_of(declared.shape if declared.shape is not None else entry.dims)
        usual = list(fed.shape) if isinstance(fed, np.ndarray) else [1 if size is None else size for size in entry.dims]
        return usual, [size is None and role is Role.SPATIAL for size, role in zip(entry.dims, roles, strict=True)]
    values = np.ravel(fed).astype(int).tolist() if isinstance(fed, np.ndarray) else [1]
    meaning = _meaning(document, entry.name)
    if meaning is None:
        return values, [False] * len(values)
    form, unit = meaning
    if form is Form.FACTOR:
        return [unit] * len(values), _spatial(len(values), document)
    return values, _spatial(len(values), document)


def _fitting_feeds(
    document: Document, inputs: Sequence[NetworkInput], given: Mapping[str, Bounds]
) -> Mapping[str, Value]:
    """Feeds that the model runs with in onnxruntime; where it runs with none, the most sensible ones."""
    from resizefix.runtimes.limits import OutOfMemoryError
    from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, open_session
    from resizefix.verification.fitting import fit_feeds  # onnxruntime is imported where something is run

    deciding = {entry.name for entry in inputs if entry.decides_shapes}
    shapes = {name: tuple(bounds["opt"]) for name, bounds in given.items() if name not in deciding}
    values: dict[str, object] = {name: bounds["opt"] for name, bounds in given.items() if name in deciding}
    declared = model_inputs(document.proto)
    for name in deciding - given.keys():
        meaning = _meaning(document, name)
        dims = next((entry.dims for entry in inputs if entry.name == name), ())
        if meaning is not None and meaning[0] is Form.FACTOR and None not in dims:
            shape = [size for size in dims if size is not None]
            doubled = [meaning[1] * (2 if grown else 1) for grown in _spatial(math.prod(shape), document)]
            values[name] = np.array(doubled).reshape(shape)
    feeder = Feeder(declared, shapes, hints=values)
    try:
        return fit_feeds(open_session(document, optimized=False), feeder).feeds
    except (CannotLoadError, CannotRunError, OutOfMemoryError):
        return next(feeder.candidates(), {})


def _spatial(count: int, document: Document) -> list[bool]:
    """Which of `count` values fed with an image concern heights and widths: all, or those of its spatial dimensions."""
    image = image_of(model_inputs(document.proto))
    if image is None or image.shape is None or len(image.shape) != count:
        return [True] * count
    return [role is Role.SPATIAL for role in roles_of(image.shape)]


# Operators that pass numbers on as they are; reaching a resize's operand through them alone, the input is that operand.
_PASSING = frozenset(
    {"Cast", "Concat", "Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Unsqueeze"}
)


def _meaning(document: Document, name: str) -> tuple[Form, int] | None:
    """How the main graph uses an integer input: times a size or as scales: a factor, in units of 1 over the second
    number; as sizes: a size; else None."""
    view = ModelView(document)
    scopes, constants = view.scopes, view.constants
    pending, seen, unit, is_factor = [name], {name}, 1, False
    is_size = False
    while pending:
        current = pending.pop()
        for node in scopes.main.body.node:
            if current not in node.input:
                continue
            at = list(node.input).index(current)
            if node.op_type in RESIZES:
                by_sizes = node.op_type == "Resize" and at == 3
                is_size |= by_sizes and not is_factor
                is_factor |= not by_sizes and at > 0
                continue
            if node.op_type == "Mul":
                is_factor = True
            elif node.op_type == "Div" and at == 0:
                divisor = constants.array(scopes.main, node.input[1])
                unit = max(unit, int(divisor.max())) if divisor is not None else unit
            elif node.op_type not in _PASSING:
                continue
            fresh = [output for output in node.output if output and output not in seen]
            seen.update(fresh)
            pending.extend(fresh)
    if is_factor:
        return Form.FACTOR, unit
    return (Form.SIZES, 1) if is_size else None


def profile_of(
    model: ModelProto, inputs: Sequence[PromotedInput], shapes: Mapping[str, Sequence[int]]
) -> dict[str, Range]:
    """A range for every input that needs one: the promoted ones, and those with dynamic sizes.

    `shapes` are the shapes that the model was run at; dynamic axes range from half of that to double, the first (the
    batch) from 1. Scales range from 1 (or half, where they shrink) to double.
    """
    promoted = {source.name: source for source in inputs}
    constants = {tensor.name for tensor in model.graph.initializer}
    ranges: dict[str, Range] = {}
    for value in model.graph.input:
        if value.name in promoted:
            ranges[value.name] = _values(promoted[value.name])
        elif value.name not in constants and value.type.tensor_type.HasField("shape"):
            dims = dims_of(value.type)
            if not all(isinstance(size, int) for size in dims):
                ranges[value.name] = _shapes(dims, shapes.get(value.name))
    return ranges


def _values(source: PromotedInput) -> Range:
    opt = tuple(int(number) for number in source.value)
    driven = source.sites[0]
    if driven.form is Form.SIZES or driven.kind is ExtentKind.SIZES:
        moving = set(driven.scaled)
        low = tuple(max(1, size // 2) if position in moving else size for position, size in enumerate(opt))
        high = tuple(2 * size if position in moving else size for position, size in enumerate(opt))
        return Range(low, opt, high)
    one = driven.denominator or 1
    return Range(tuple(one if n >= one else max(1, n // 2) for n in opt), opt, tuple(2 * n for n in opt))


def _shapes(dims: Sequence[int | str | None], ran: Sequence[int] | None) -> Range:
    opt = [size if isinstance(size, int) else _USUAL_LENGTH if axis else 1 for axis, size in enumerate(dims)]
    if ran is not None and len(ran) == len(dims):
        opt = [int(size) for size in ran]
    low, high = list(opt), list(opt)
    for axis, size in enumerate(dims):
        if not isinstance(size, int):
            low[axis] = max(1, opt[axis] // 2) if axis else 1
            high[axis] = 2 * opt[axis]
    return Range(tuple(low), tuple(opt), tuple(high))


def trtexec_flags(path: str, ranges: Mapping[str, Range]) -> str:
    """The command that builds the model: shapes as 1x3x64x64, the values of shape tensors in the same spelling."""
    flags = [f"--onnx={path}"]
    for bound in BOUNDS:
        specs = (f"{name}:{'x'.join(map(str, getattr(of, bound)))}" for name, of in ranges.items())
        flags.append(f"--{bound}Shapes={','.join(specs)}")
    return " ".join(["trtexec", *flags] if ranges else ["trtexec", flags[0]])


_ENDS = ("min", "max")
_MOST_RUN = 2**20  # elements that are fed: a larger model is not run for its profile
_READINGS = 4  # of small vectors fed with an image


def that_runs(
    ranges: Mapping[str, Range], before: ModelView, promoted: Document, inputs: Sequence[PromotedInput]
) -> dict[str, Range]:
    """The ranges, as wide as the model runs at their ends. `before` is the model that was promoted."""
    driving = {source.name for source in inputs}
    return _widest(ranges, promoted, driving, lambda tried, end: _runs(tried, end, before, promoted, inputs))


def that_runs_with(ranges: Mapping[str, Range], model: Document, driving: Collection[str]) -> dict[str, Range]:
    """The ranges, as wide as onnxruntime runs the model at their ends; `driving` are the inputs whose range is one of
    values."""

    def runs(tried: Mapping[str, Range], end: str) -> bool | None:
        numbers = {name: getattr(of, end) for name, of in tried.items()}
        values = {name: value for name, value in numbers.items() if name in driving}
        return _runs_in_onnxruntime(model, {name: numbers[name] for name in numbers.keys() - driving}, values)

    return _widest(ranges, model, driving, runs)


def _widest(
    ranges: Mapping[str, Range],
    model: Document,
    driving: Collection[str],
    runs: Callable[[Mapping[str, Range], str], bool | None],
) -> dict[str, Range]:
    tried: dict[str, Range] = {}
    for tried in _narrowed(ranges, model, driving):
        if all(runs(tried, end) is not False for end in _ENDS):
            break
    return tried


def _narrowed(ranges: Mapping[str, Range], promoted: Document, driving: Collection[str]) -> Iterator[dict[str, Range]]:
    """All ranges; then the new inputs hold their values; then all but the image their sizes, and the image, too."""
    image = image_of(entry for entry in model_inputs(promoted.proto) if entry.name in ranges)
    others = {name for name in ranges if name not in driving and (image is None or name != image.name)}
    for held in (set(), others, set(driving), others.union(driving), set(ranges)):
        yield {name: Range(of.opt, of.opt, of.opt) if name in held else of for name, of in ranges.items()}


def _runs(
    ranges: Mapping[str, Range], end: str, before: ModelView, promoted: Document, inputs: Sequence[PromotedInput]
) -> bool | None:
    """Whether the model runs at one end of all ranges; None: that is not known."""
    from resizefix.library.coupling import moved_to
    from resizefix.shapes.walk import OldSizesError, SizeFlow

    numbers: dict[str, tuple[int, ...]] = {name: getattr(of, end) for name, of in ranges.items()}
    driving = {source.name for source in inputs}
    sizes = {name: shape for name, shape in numbers.items() if name not in driving}
    with suppress(OldSizesError):
        moved = moved_to({source: numbers[source.name] for source in inputs if source.name in numbers})
        ended = SizeFlow(before, sizes).ends(moved, [0]).get(0)
        if ended is None or ended.fits is not None:
            return ended is None
    values = {name: value for name, value in numbers.items() if name in driving}
    return _runs_in_onnxruntime(promoted, sizes, values)


def _runs_in_onnxruntime(
    promoted: Document, sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, tuple[int, ...]]
) -> bool | None:
    from resizefix.runtimes.ort_session import CannotLoadError, open_session
    from resizefix.verification.feeds import Feeder

    if sum(map(math.prod, sizes.values())) > _MOST_RUN:
        return None
    try:
        session = open_session(promoted, optimized=False)
        feeder = Feeder(session.inputs, sizes, hints=values)
    except (CannotLoadError, UsageError):
        return None
    for feeds in islice(feeder.candidates(), _READINGS):
        with suppress(ResizefixError):
            session.run(session.taken(feeds))
            return True
    return False
