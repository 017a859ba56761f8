"""Sequences that a table of positions is made of, and which one a row of a table is: bit by bit, or none.

A row of n numbers is a grid if one of these formulas gives its very bits. `absolute` ones do not depend on n: pixels
and strides. The others span the map, whatever its size.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[Any]
FUSED = ("fused", "vectors")
TURNED = ("centred", "middle", "down")
"""Steps that are not counted from the first position."""
LANES = 8


class Sequence(NamedTuple):
    """A formula over the position i and the length n, in the arithmetic of `dtype`.

    `form` is one of "steps": i·factor + offset, "centred" and "middle": the same of i - (n - 1) / 2 and of i - n // 2,
    "down": of n - 1 - i, "shares": (i + centre) / n · factor + offset, "span":
    i / (n - 1) · factor + offset, "spaced": i · (factor / (n - 1)) + offset, "linspace": as torch.linspace, from both
    ends, "fused": the same where product and sum are rounded once, "vectors": so for the first of each 8 numbers, and
    steps are added for the others, "inner": as "linspace" between the middles of the first and the last of n parts of
    -1 to 1, as torch's affine_grid.
    """

    form: str
    dtype: str
    factor: float = 1.0
    offset: float = 0.0
    centre: float = 0.0

    @property
    def is_absolute(self) -> bool:
        """Whether a longer map has the same numbers and more."""
        return self.form in ("steps", *TURNED)

    def make(self, length: int, dtype: np.dtype[np.generic]) -> Row:
        """The sequence for a map of `length`."""
        kind = np.dtype(self.dtype).type
        i, n = np.arange(length).astype(kind), kind(length)
        factor, offset, centre = kind(self.factor), kind(self.offset), kind(self.centre)
        with np.errstate(all="ignore"):
            if self.form in TURNED:
                i = _turned(self.form, length).astype(kind)
                found = i * factor + offset
            elif self.form == "steps":
                found = i * factor + offset
            elif self.form == "shares":
                found = (i + centre) / n * factor + offset
            elif self.form == "span":
                found = i / (n - kind(1)) * factor + offset
            elif self.form == "spaced":
                found = i * (factor / (n - kind(1))) + offset
            elif self.form in FUSED:
                found = _fused(length, offset, offset + factor, factor, vectors=self.form == "vectors")
            else:
                end = offset + factor
                if self.form == "inner":
                    end = (n - kind(1)) / n
                    offset, factor = -end, end - -end
                step = factor / (n - kind(1))
                found = np.where(np.arange(length) < length // 2, offset + step * i, end - step * (n - kind(1) - i))
        return np.asarray(found).astype(dtype)


def _turned(form: str, length: int) -> npt.NDArray[Any]:
    i = np.arange(length)
    if form == "down":
        return length - 1 - i
    return i - length // 2 if form == "middle" else i - (length - 1) / 2


def first_of_vector(i: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """The position at which the vector of eight begins that holds a position; torch computes the last few singly."""
    return np.where(i < length - length % (2 * LANES), i // LANES * LANES, i)


def _fused(length: int, begin: Any, end: Any, span: Any, *, vectors: bool) -> Row:
    """torch.linspace with fused products (2.x), and in vectors of eight (1.5 to 2.0)."""
    i, last = np.arange(length), length - 1
    first = first_of_vector(i, length) if vectors else i
    step = span / np.float32(last)
    up, down = np.float64(begin) + np.float64(step) * first, np.float64(end) - np.float64(step) * (last - first)
    made = np.where(first < length // 2, up, down).astype(np.float32) + step * (i - first).astype(np.float32)
    return np.asarray(made)


def readings(row: Row) -> list[Sequence]:
    """Every formula that gives these very numbers, those first that are written most often."""
    length = len(row)
    if length < 2 or row.dtype.kind not in "fiu":
        return []
    first, last = float(row[0]), float(row[-1])
    step = (last - first) / (length - 1)
    if step == 0 or not np.isfinite(step):
        return []
    found: list[Sequence] = []
    for candidate in _candidates(length, first, step, row.dtype):
        if candidate not in found and np.array_equal(candidate.make(length, row.dtype), row):
            found.append(candidate)
    return found


def turned(sequence: Sequence, row: Row) -> list[Sequence]:
    """The other ways to count in the same steps that give these very numbers."""
    if sequence.form != "steps":
        return []
    found = []
    for form in TURNED:
        factor = -sequence.factor if form == "down" else sequence.factor
        at = _turned(form, len(row))
        for dtype in dict.fromkeys((sequence.dtype, "float64", "float32")):
            offset = float(row[0]) - float(at[0]) * factor
            made = Sequence(form, dtype, factor, offset)
            usual = offset == 0 or (form == "down" and abs(offset) <= abs(factor))
            if usual and np.array_equal(made.make(len(row), row.dtype), row):
                found.append(made)
                break
    return found


def _candidates(length: int, first: float, step: float, dtype: np.dtype[np.generic]) -> list[Sequence]:
    kinds = ("float32", "float64") if dtype.kind == "f" else ("int64",)
    made: list[Sequence] = []
    for kind in kinds:
        if _is_plain(step) and _is_plain(first / step):
            made.append(Sequence("steps", kind, step, first))
        if kind == "int64":
            continue
        whole, inner = round(step * length, 6), round(step * (length - 1), 6)
        for centre in (0.0, 0.5):
            offset = round(first - centre * step, 6)
            if _spans(whole, offset, step):
                made.append(Sequence("shares", kind, whole, offset, centre))
            if (whole, offset, centre) == (2.0, -1.0, 0.5):
                made.append(Sequence("inner", kind, whole, offset, centre))
        if _spans(inner, round(first, 6), step):
            forms = ("span", "spaced", "linspace", *(FUSED if kind == "float32" else ()))
            made += [Sequence(form, kind, inner, round(first, 6)) for form in forms]
    return made


def _spans(factor: float, offset: float, step: float) -> bool:
    """Whether a map is spanned so: over 0 to 1 or -1 to 1; over other numbers only in steps that are not plain."""
    usual = (factor, offset) in ((1.0, 0.0), (2.0, -1.0), (1.0, -0.5), (-2.0, 1.0))
    return usual or (_is_plain(factor) and _is_plain(offset) and not _is_plain(step))


def _is_plain(value: float) -> bool:
    """A number that somebody wrote: an integer, or one over a power of two."""
    return value == 0 or (abs(value) < 2**20 and (abs(value) * 16) == int(abs(value) * 16))


def chosen(row: Row, known: list[Sequence], kind: str | None = None) -> Sequence | None:
    """The one formula for a row; None where none fits, or two that part at another length.

    `known` are formulas of longer rows of the same model: they decide where a short row fits several. `kind`: only
    formulas in this type's arithmetic.
    """
    found = [one for one in readings(row) if kind in (None, one.dtype)]
    found.sort(key=lambda one: one not in known)
    if not found:
        return None
    apart = {_behaviour(candidate, len(row), row.dtype) for candidate in found}
    if len(apart) == 1:
        return found[0]
    decided = [candidate for candidate in found if any(_alike(candidate, other) for other in known)]
    if decided and len({_behaviour(candidate, len(row), row.dtype) for candidate in decided}) == 1:
        return decided[0]
    absolute = [candidate for candidate in found if candidate.is_absolute]
    if len(row) > 3 and absolute and abs(absolute[0].factor) >= 1:
        return absolute[0]
    spanning = [candidate for candidate in found if not candidate.is_absolute]
    if len(row) > 3 and spanning and len({_behaviour(one, len(row), row.dtype) for one in spanning}) == 1:
        return spanning[0]
    return None


def _behaviour(candidate: Sequence, length: int, dtype: np.dtype[np.generic]) -> bytes:
    """What it makes at other lengths, to the precision at which two formulas are one."""
    made = [candidate.make(other, np.dtype(np.float64)) for other in (2 * length, 3 * length + 1)]
    return np.concatenate([np.round(row.astype(np.float64), 5) + 0.0 for row in made]).tobytes()


def _alike(one: Sequence, other: Sequence) -> bool:
    """Whether they are of one kind; steps below 1 may be shares of a map, unless another row counts in them."""
    same = one.form == other.form or {one.form, other.form} <= {"span", "spaced", "linspace", *FUSED}
    if one.is_absolute:
        return same and (abs(one.factor) >= 1 or abs(one.factor) == abs(other.factor))
    return same and (one.factor, one.offset, one.centre) == (other.factor, other.offset, other.centre)
