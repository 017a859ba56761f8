"""How two sets of outputs differ: in nothing, not even a bit; in numbers, and by how much; or in kind. And how far two
optimised runs may lie apart although the models compute the same.

At its default level onnxruntime fuses nodes and changes layouts, and what it fuses depends on the neighbourhood: a node
whose scales became an input is fused otherwise than one with constant scales. Sums are then added up in another order.
With optimisation disabled nothing of this happens, and the demand is equality of bits; there is no bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter, eq
from typing import Any, NamedTuple, cast

import numpy as np
from onnx import helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.text import counted, few
from resizefix.document.values import HALF, Array
from resizefix.outcome import Differences, ErrorBound, TensorDifference
from resizefix.runtimes.inputs import Value

_BLOCK = 1 << 20  # elements that are compared at a time
_NUMBERS = "biufcV"  # kinds of numpy types; V: the types of ml_dtypes
_MOST_KEYS = 3  # of a map, in a message
_SMALL = 2**24  # bytes of arrays that are compared as a whole


@dataclass(frozen=True)
class Sides:
    """How a difference names the two sides."""

    before: str
    after: str


SIDES = Sides("before", "after")


def compare(before: Mapping[str, Value], after: Mapping[str, Value], sides: Sides = SIDES) -> Differences:
    """Compares outputs by name. An output that only one side has is a difference."""
    alike = before.keys() == after.keys()
    if alike and _are_same_small_arrays(list(before.values()), [after[name] for name in before]):
        return _none_in(tuple(before))
    differences = []
    for name in before if alike else dict.fromkeys((*before, *after)):
        if alike or (name in before and name in after):
            differences.append(_difference(name, before[name], after[name], sides))
        else:
            side = sides.before if name in before else sides.after
            reason = Diagnostic("verification.output-of-one", output=name, side=side)
            differences.append(TensorDifference.beyond_numbers(name, reason))
    return Differences(tuple(differences))


def measured(feed: str, tensor: str, before: Value, after: Value) -> TensorDifference:
    """How a tensor differs that was meant to; `feed` is what that is called which was fed."""
    (difference,) = compare({tensor: before}, {tensor: after}).tensors
    largest = difference.largest
    if difference.bitwise and isinstance(before, np.ndarray):
        largest = max((largest_finite(block) for _, block, _ in in_blocks(before, before)), default=0.0)
    return difference._replace(largest=largest, feed=feed)


def allclose(before: Value, after: Value, *, atol: float, rtol: float) -> bool:
    """Whether |after - before| ≤ atol + rtol·|before| for every number, and everything else is equal.

    Numbers that only infinities or NaNs could make equal are so if they are the same one.
    """
    pairs = _pairs(before, after)
    if isinstance(pairs, Sides):
        return False
    return all(
        _distances_within(b, a, atol, rtol) for _, whole_b, whole_a in pairs for _, b, a in in_blocks(whole_b, whole_a)
    )


def _difference(output: str, before: Value, after: Value, sides: Sides) -> TensorDifference:
    pairs = _pairs(before, after)
    if isinstance(pairs, Sides):
        kinds = {"old": pairs.before, "new": pairs.after}
        reason = Diagnostic("verification.output-is-other", output=output, **kinds, **vars(sides))
        return TensorDifference.beyond_numbers(output, reason)
    worst = TensorDifference(output)
    for where, b, a in pairs:
        difference = _array_difference(output, f"output '{output}'{where}", b, a, sides)
        if not difference.bitwise and (worst.bitwise or difference.max_rel_diff > worst.max_rel_diff):
            worst = difference
    return worst


@lru_cache(maxsize=64)
def _none_in(outputs: tuple[str, ...]) -> Differences:
    """No difference: the same outputs are compared in run after run."""
    return Differences(tuple(map(TensorDifference, outputs)))


def _are_same_small_arrays(before: Sequence[Value], after: Sequence[Value]) -> bool:
    """Whether these are arrays of numbers with the same bytes, one by one: the usual case, where a model has thousands
    of small outputs. False where it is not seen at once."""
    if not {np.ndarray}.issuperset(map(type, (*before, *after))):
        return False
    if sum(map(_SIZE, before)) > _SMALL or not _KINDS.issuperset(map(_KIND, before)):
        return False
    if not all(map(eq, map(_FORM, before), map(_FORM, after))):
        return False
    try:
        return b"".join(cast("Any", before)) == b"".join(cast("Any", after))
    except TypeError:  # one is not contiguous
        return False


# Called from C: an array of few numbers is compared in the time that a line of Python takes.
_FORM, _SIZE, _KIND = attrgetter("dtype", "shape"), attrgetter("nbytes"), attrgetter("dtype.kind")
_KINDS = frozenset("biufc")  # whose bytes can be joined


class _Part(NamedTuple):
    """A container in a value, or an array: where it stands, what it is called, and what must be the same of two."""

    where: str
    called: str
    form: object
    array: Array | None = None


def _pairs(before: Value, after: Value) -> list[tuple[str, Array, Array]] | Sides:
    """The arrays to compare, each with where it stands in the value; or what the values are, where they are of two
    kinds: containers of another kind, length or keys, empty ones too."""
    parts_before, parts_after = list(_parts(before)), list(_parts(after))
    for b, a in zip(parts_before, parts_after, strict=False):
        if b.form != a.form:  # the first: behind it nothing need stand at the same place
            both = b.array is not None and a.array is not None
            old, new = (_typed(part) if both else part.called for part in (b, a))
            return Sides(f"at {b.where} {old}" if b.where else old, new)
    return [
        (b.where, b.array, a.array)
        for b, a in zip(parts_before, parts_after, strict=True)
        if b.array is not None and a.array is not None
    ]


def _typed(part: _Part) -> str:
    return "" if part.array is None else f"{part.array.dtype}{list(part.array.shape)}"


def _parts(value: Value, where: str = "") -> Iterator[_Part]:
    """Every container in a value, and every array, outer before inner."""
    if isinstance(value, list):
        yield _Part(where, f"a sequence of {len(value)}", ("sequence", len(value)))
        for index, item in enumerate(value):
            yield from _parts(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        keys = sorted(value)
        shown = few(keys, _MOST_KEYS)
        yield _Part(where, f"a map of {shown}" if keys else "an empty map", ("map", *map(repr, keys)))
        for key in keys:
            yield from _parts(value[key], f"{where}[{key!r}]")
    elif value is None:
        yield _Part(where, "absent", None)
    else:
        array = np.asarray(value)
        yield _Part(where, "a tensor", (array.dtype, array.shape), array)


def _array_difference(output: str, label: str, before: Array, after: Array, sides: Sides) -> TensorDifference:
    """`before` and `after` have the same type and shape."""
    if not _has_numbers(before):
        differing = np.asarray(before != after)
        if not differing.any():
            return TensorDifference(output)
        at = _place(int(np.argmax(differing)), before)
        values = {"old": repr(before[at]), "new": repr(after[at]), "at": list(at)}
        reason = Diagnostic("verification.output-differs", label=label, **values, **vars(sides))
        return TensorDifference.beyond_numbers(output, reason)
    blocks = list(in_blocks(before, after))
    if all(np.array_equal(_bits(b), _bits(a)) for _, b, a in blocks):
        return TensorDifference(output)
    largest, worst, unequal, unequal_bits, reference, total = -1.0, 0, 0, 0, 0.0, 0.0
    for start, b, a in blocks:
        distance = distances(b, a)
        unequal, total = unequal + int(np.count_nonzero(distance)), total + float(distance.sum())
        unequal_bits += int(np.count_nonzero((_bits(b) != _bits(a)).any(axis=-1)))
        reference = max(reference, largest_finite(b))
        if distance.max() > largest:
            largest, worst = float(distance.max()), start + int(np.argmax(distance))
    elements = counted(before.size, "element")
    if largest == 0.0:
        reason = Diagnostic("verification.output-differs-in-bits", label=label, bits=unequal_bits, elements=elements)
        return TensorDifference(output, False, 0.0, 0.0, reason, largest=reference)
    at = _place(worst, before)
    code = "verification.output-differs-by" if np.isfinite(largest) else "verification.output-differs-in"
    values = {"old": str(before[at]), "new": str(after[at]), "at": list(at)}
    reason = Diagnostic(code, label=label, unequal=unequal, elements=elements, most=largest, **values, **vars(sides))
    relative = largest / reference if reference else np.inf
    return TensorDifference(output, False, largest, relative, reason, total / before.size, reference)


def in_blocks(before: Array, after: Array, size: int = _BLOCK) -> Iterator[tuple[int, Array, Array]]:
    """Both arrays in flat pieces, each with where it starts: what comparing takes beside them stays small."""
    flat_before, flat_after = before.reshape(-1), after.reshape(-1)
    for start in range(0, flat_before.size, size):
        yield start, flat_before[start : start + size], flat_after[start : start + size]


def _has_numbers(array: Array) -> bool:
    return array.dtype.kind in _NUMBERS


def _bits(array: Array) -> Array:
    """The bytes of each element, along a last axis."""
    flat = np.ascontiguousarray(array).reshape(*array.shape, 1)
    return flat.view(np.uint8)


def distances(before: Array, after: Array) -> Array:
    """|after - before|: 0 for equal infinities and for NaN against NaN, infinite for NaN against a number."""
    if before.dtype.kind in "iu":
        larger, smaller = np.maximum(before, after), np.minimum(before, after)
        # The wrapped difference of 64-bit integers is the true one, read without a sign.
        return np.asarray(larger.astype(np.uint64) - smaller.astype(np.uint64)).astype(np.float64)
    wide = np.complex128 if before.dtype.kind == "c" else np.float64
    b, a = before.astype(wide), after.astype(wide)
    both_nan = np.isnan(b) & np.isnan(a)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.asarray(np.abs(a - b))
    distance[np.isnan(distance)] = np.inf
    distance[both_nan | (a == b)] = 0.0
    return distance


def _distances_within(before: Array, after: Array, atol: float, rtol: float) -> bool:
    if not _has_numbers(before):
        return bool(np.all(before == after))
    wide = np.complex128 if before.dtype.kind == "c" else np.float64
    size = np.abs(before.astype(wide))
    allowed = atol + rtol * np.where(np.isfinite(size), size, 0.0)
    return bool(np.all(distances(before, after) <= allowed))


def largest_finite(array: Array) -> float:
    """The largest magnitude of the numbers that are finite; 0 where there is none."""
    if not _has_numbers(array):
        return 0.0
    size = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.max(size, where=np.isfinite(size), initial=0.0))


def _place(flat: int, array: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(flat, array.shape))


_NO_NOISE: Mapping[str, float] = {}
FLOAT_BOUND = 2e-5  # of the largest value; measured: ≤ 1.5e-6 from fusing, over 655 models, apart from what follows


# Half precision: two units in the last place of the largest value. A sum in another order is off by 1e-6, which is
# enough to round the last bit the other way, once when a value is stored inside and once at the output.
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
    samples = longest(shapes)
    return max((bound.at(samples) for bound in bounds), default=0.0)


def longest(shapes: Iterable[Sequence[int]]) -> int:
    """The longest axis of these."""
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
