"""How far two optimised runs may lie apart although the models compute the same.

At its default level onnxruntime fuses nodes and changes layouts, and what it fuses depends on the neighbourhood: a node
whose scales became an input is fused otherwise than one with constant scales. Sums are then added up in another order.
With optimisation disabled nothing of this happens, and the demand is equality of bits; there is no bound.

How far a network may move for a change that is exact only to a bound: as far as noise of that size moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import TensorProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.outcome import Differences, ErrorBound
from resizefix.runtimes.inputs import Feeds, Value, shapes_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import MAIN, Key
from resizefix.verification.compare import allclose, compare, largest_finite
from resizefix.verification.engine import Engine

_NO_NOISE: Mapping[str, float] = {}
FLOAT_BOUND = 2e-5  # of the largest value; measured: ≤ 1.5e-6 from fusing, over 655 models, apart from what follows

_FLIPPED = 1e-3  # of the largest value, on average: where single values of a quantised model round the other way

# Half precision: two units in the last place of the largest value. A sum in another order is off by 1e-6, which is
# enough to round the last bit the other way, once when a value is stored inside and once at the output.
HALF = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
_UNITS = {np.dtype(np.float16).name: 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}


def part(relative: float, because: str) -> ErrorBound:
    """At most this part of an output's largest value."""
    return ErrorBound(exact=False, bound=relative, note=because)


def default_level_bounds(
    unoptimized: Mapping[str, Value], optimized: Mapping[str, Value], level: Differences | None = None
) -> dict[str, ErrorBound]:
    """A bound for every output, from two runs of the ORIGINAL model on one feed, at the two optimisation levels.

    2e-5, or the last bits of a half-precision output; or, where fusing alone moves the original further than that
    (quantised models by a step, sigmoids near 0 by much of their size), twice as far as it moves.
    `level` compares the two, where that was done.
    """
    bounds = {}
    in_another_order = Diagnostic("verification.another-order")
    usual = part(FLOAT_BOUND, in_another_order)
    for difference in (level or compare(unoptimized, optimized)).tensors:
        value = unoptimized.get(difference.tensor)
        if difference.bitwise and isinstance(value, np.ndarray) and value.dtype == np.float32:
            bounds[difference.tensor] = usual  # most outputs are so, and a model may have thousands
            continue
        name = value.dtype.name if isinstance(value, np.ndarray) else ""
        floor = _UNITS.get(name, FLOAT_BOUND)
        because = Diagnostic("verification.last-place", kind=name) if name in _UNITS else in_another_order
        moved = 2 * difference.max_rel_diff
        is_count = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype.itemsize > 1
        if floor < moved < np.inf and not is_count:  # no sum in another order makes another size or index
            floor = moved
            because = Diagnostic("verification.original-moves", difference=difference.max_rel_diff)
        bounds[difference.tensor] = part(floor, because)
    return bounds


def relative_bounds(outputs: Mapping[str, Value], relative: float) -> dict[str, ErrorBound]:
    """The bound for rewrites that come near: `relative`, and for half-precision outputs their last bits."""
    bounds = {}
    for output, value in outputs.items():
        name = value.dtype.name if isinstance(value, np.ndarray) else ""
        if relative < _UNITS.get(name, 0.0):
            bounds[output] = part(_UNITS[name], Diagnostic("verification.last-place", kind=name))
        else:
            bounds[output] = part(relative, Diagnostic("verification.other-operators"))
    return bounds


def half_units(elem_types: Iterable[int | None]) -> float:
    """The last bits of what is resized, where that is half precision: they reach the outputs, whatever those are."""
    names = (np.dtype(helper.tensor_dtype_to_np_dtype(kind)).name for kind in elem_types if kind in HALF)
    return max((_UNITS[name] for name in names), default=0.0)


def within(differences: Differences, bound: float | Mapping[str, ErrorBound]) -> bool:
    """Whether no output differs by more than its bound, relative to its largest value. 0: numbers must be equal."""
    for difference in differences.tensors:
        allowed = bound if isinstance(bound, (int, float)) else bound[difference.tensor].bound
        if difference.max_rel_diff > allowed:
            return False
    return True


def flips(before: Document, plain: Mapping[str, Value], optimized: Mapping[str, Value]) -> bool:
    """Whether the model is quantised and optimising lets few of its values round the other way."""
    if not any(node.op_type.startswith(("QuantizeLinear", "QLinear")) for node in before.proto.graph.node):
        return False
    for name, value in plain.items():
        one, other = np.asarray(value), np.asarray(optimized[name])
        if one.shape != other.shape or one.dtype.kind != "f":
            return False
        large = float(np.abs(one).max(initial=0.0))
        if float(np.abs(one.astype(np.float64) - other).mean()) > _FLIPPED * large:
            return False
    return True


def widest(bounds: Mapping[str, ErrorBound]) -> ErrorBound:
    """The largest of the bounds of a model's outputs."""
    return max(bounds.values(), key=lambda bound: bound.bound, default=part(0.0, "no outputs"))


def reported(
    bound: ErrorBound,
    before: Mapping[str, Value],
    differences: Differences,
    least: float = 0.0,
    noise: Mapping[str, float] = _NO_NOISE,
) -> float:
    """The largest difference that is allowed, as a part of the largest value of an output, `least` at any rate."""
    parts = [bound.rtol, least, *(each.bound for each in output_bounds(bound, before, noise).values())]
    if bound.atol:
        largest = (largest_finite(value) for value in before.values() if isinstance(value, np.ndarray))
        parts += [bound.rtol + bound.atol / size for size in largest if size]
    return max(parts)


def output_bounds(
    bound: ErrorBound, before: Mapping[str, Value], noise: Mapping[str, float] = _NO_NOISE
) -> dict[str, ErrorBound]:
    """The bound for every output; none where every bit must agree, or each number has its own.

    `noise`: what outputs may differ by where that is more: twice what noise of a rewrite's size moves them.
    """
    if bound.exact or bound.is_elementwise:
        return {}
    bounds = relative_bounds(before, bound.bound)
    for name, far in noise.items():
        if name in bounds and far > bounds[name].bound:
            bounds[name] = part(far, Diagnostic("verification.noise-moves", difference=far / 2))
    return bounds


def allows(
    bound: ErrorBound,
    before: Mapping[str, Value],
    after: Mapping[str, Value],
    differences: Differences,
    noise: Mapping[str, float] = _NO_NOISE,
) -> bool:
    """Whether outputs that differ as `differences` says may be so far apart."""
    if bound.is_elementwise:
        return before.keys() == after.keys() and all(
            allclose(before[name], after[name], atol=bound.atol, rtol=bound.rtol) for name in before
        )
    return differences.bitwise or (not bound.exact and within(differences, output_bounds(bound, before, noise)))


def largest_bound(bounds: Iterable[ErrorBound], shapes: Iterable[Sequence[int]]) -> float:
    """The largest of the bounds at axes as long as the longest of these."""
    samples = _longest(shapes)
    return max((bound.at(samples) for bound in bounds), default=0.0)


def _longest(shapes: Iterable[Sequence[int]]) -> int:
    return max((size for shape in shapes for size in shape), default=1)


def narrowed(allowed: ErrorBound, stated: float | None, data: Value | None, before: Mapping[str, Value]) -> ErrorBound:
    """What one node may differ by, as a part of its output's largest value: `allowed`, and where that is wide no more
    than is `stated` as a part of the largest value that it reads."""
    outputs = [value for value in before.values() if isinstance(value, np.ndarray)]
    if not stated or not isinstance(data, np.ndarray) or len(outputs) != 1 or allowed.exact:
        return allowed
    largest = largest_finite(outputs[0]) or 1.0
    near = max(stated * largest_finite(data) / largest, FLOAT_BOUND)
    return replace(allowed, bound=min(allowed.bound, near))


_DRAWS = 2
_TIMES = 2  # what noise does, so much a change may do


def moved_by_noise(
    engine: Engine,
    original: Document,
    bounds: Mapping[Key, ErrorBound],
    feeds: Feeds,
    inner: Sequence[str] = (),
) -> dict[str, float]:
    """For each output, and each of the tensors `inner`, how far it may differ, as a part of its largest value.

    That is twice as far as it moves when noise of the size of their bounds is added to what nodes of the main graph
    make. Empty where that cannot be run.
    """
    names = [name for (path, name), bound in bounds.items() if path == MAIN and bound.bound > 0]
    if not names:
        return {}
    generator = np.random.default_rng(0)
    allowed: dict[str, float] = {}
    try:
        seen = engine.run(original, feeds, extra_outputs=list(dict.fromkeys((*names, *inner))))
        shown = dict.fromkeys((*(value.name for value in original.proto.graph.output), *inner))
        outputs = {name: seen[name] for name in shown}
        for _ in range(_DRAWS):
            noise = {}
            for name in names:
                value = seen[name]
                if not isinstance(value, np.ndarray) or value.dtype != np.float32:
                    return {}
                samples = _longest([*shapes_of(feeds).values(), value.shape])
                size = bounds[MAIN, name].at(samples) * largest_finite(value)
                noise[_noise(name)] = generator.uniform(-size, size, value.shape).astype(np.float32)
            moved_outputs = engine.run(_noisy(original, names), {**feeds, **noise}, extra_outputs=list(inner))
            moved = compare(outputs, {name: moved_outputs[name] for name in shown})
            for difference in moved.tensors:
                far = _TIMES * difference.max_rel_diff
                allowed[difference.tensor] = max(allowed.get(difference.tensor, 0.0), far)
    except (CannotLoadError, CannotRunError):
        return {}
    return {name: far for name, far in allowed.items() if np.isfinite(far)}


def _noise(name: str) -> str:
    return f"{name}__noise"


def _noisy(original: Document, names: list[str]) -> Document:
    """A copy whose nodes' results have an input added to them."""
    copy = original.copy()
    graph = copy.proto.graph
    for name in names:
        index = next(index for index, node in enumerate(graph.node) if name in node.output)
        node = graph.node[index]
        node.output[list(node.output).index(name)] = f"{name}__before"
        graph.node.insert(index + 1, helper.make_node("Add", [f"{name}__before", _noise(name)], [name]))
        graph.input.append(helper.make_tensor_value_info(_noise(name), TensorProto.FLOAT, None))
    return copy
