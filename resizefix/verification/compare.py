"""How two sets of outputs differ: in nothing, not even a bit; in numbers, and by how much; or in kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter, eq
from typing import Any, NamedTuple, cast

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.outcome import Differences, TensorDifference
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
        shown = ", ".join(map(repr, keys[:_MOST_KEYS])) + (", …" if len(keys) > _MOST_KEYS else "")
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
