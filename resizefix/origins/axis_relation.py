"""What one entry of a computed operand says of one axis: a multiple of the input's size, a number, or another thing."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.text import listed
from resizefix.document.values import Array
from resizefix.equivalences.kernel_arithmetic import scale_for_size
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation
from resizefix.origins.entries import DimResolver, Entry
from resizefix.origins.fit import EVERY_SIZE, Multiple, fit
from resizefix.shapes.expression import Computed, Expression, Number, Size
from resizefix.shapes.output_size import inference_lengths, kernel_lengths, robust_scale

_INFIX = {"Add": "+", "Sub": "−", "Mul": "×", "Div": "/", "Mod": "mod"}
_TIGHT = frozenset({"Mul", "Div", "Mod"})
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})


def written(expression: Expression, name: Callable[[Size], str]) -> str:
    """The expression as a formula; `name` gives a size's. Casts are left out, but rounding is shown."""
    if isinstance(expression, Number):
        return figure(expression.value, expression.dtype)
    if isinstance(expression, Size):
        return name(expression)
    assert isinstance(expression, Computed)  # sizes that are followed are not written
    operands = expression.operands
    if expression.operator == "Cast":
        rounds = expression.dtype in _INTEGERS and not _is_whole(operands[0])
        return f"floor({written(operands[0], name)})" if rounds else written(operands[0], name)
    if expression.operator == "Div" and expression.dtype in _INTEGERS:
        return f"floor({_infix(expression, name)})"
    if expression.operator in _INFIX:
        return _infix(expression, name)
    return f"{expression.operator.lower()}({', '.join(written(operand, name) for operand in operands)})"


def _infix(expression: Computed, name: Callable[[Size], str]) -> str:
    sign, operands = _INFIX[expression.operator], list(expression.operands)
    if expression.operator in ("Add", "Mul"):  # 2 × n, n + 1
        operands.sort(key=lambda operand: isinstance(operand, Number) == (expression.operator == "Add"))
    last = operands[-1]
    if expression.operator == "Add" and isinstance(last, Number) and last.value < 0:
        sign, operands[-1] = "−", Number(-last.value, last.dtype)
    parts = []
    for position, operand in enumerate(operands):
        inner = without_casts(operand)
        text = written(operand, name)
        if isinstance(inner, Computed) and inner.operator in _INFIX and not text.startswith("floor("):
            loose = inner.operator not in _TIGHT
            if (expression.operator in _TIGHT and loose) or (position and sign in "−/"):
                text = f"({text})"
        parts.append(text)
    return f" {sign} ".join(parts)


def without_casts(expression: Expression) -> Expression:
    """The expression inside any casts."""
    while isinstance(expression, Computed) and expression.operator == "Cast":
        expression = expression.operands[0]
    return expression


def _is_whole(expression: Expression) -> bool:
    if expression.dtype in _INTEGERS or expression.dtype == "bool":
        return True
    inner = without_casts(expression)
    return inner.dtype in _INTEGERS or (isinstance(inner, Computed) and inner.operator in ("Floor", "Ceil", "Round"))


def figure(value: float, dtype: str = "float32") -> str:
    """A number as people write it: 2, 1.8 (of float32(1.8), too)."""
    if float(value).is_integer():
        return str(int(value))
    return str(np.dtype(dtype).type(value)) if dtype.startswith("float") else str(value)


def axis_names(axes: Sequence[int], rank: int) -> str:
    """Axes as people call them: height and width in NCHW, else by number."""
    if rank == 4 and set(axes) <= {2, 3}:
        return listed(["height" if axis == 2 else "width" for axis in axes])
    word = "axis" if len(axes) == 1 else "axes"
    return f"{word} {listed([str(axis) for axis in axes])}"


_OWN_SIZE = "the input's"
# A scale that the chain made by dividing what it aims at is that quotient to within float32.
_QUOTIENT = 1e-6


class AxisRelation(NamedTuple):
    """How long the output is on one axis.

    `text` completes "height is …"; `scale` is the recovered float32 scale, None where the size is no constant multiple;
    `value` is the operand's entry where the sizes it depends on are fixed in the file. `exact` is a scale that, written
    as a constant, gives the same size and the same samples at every size the file allows; where there is none, `why`
    completes "its scales/sizes …". `caveat` says at which size runtimes disagree on `scale`.
    """

    axis: int
    text: str
    scale: float | None
    value: float | int | None
    exact: float | None
    why: str | None = None
    caveat: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the output is as long as the input, as it is on axes that are not resized."""
        return self.text == _OWN_SIZE


class Subject(NamedTuple):
    """What the statements are about."""

    kind: ExtentKind
    interpolation: Interpolation
    meanings: DimResolver
    rank: int

    @property
    def crops(self) -> bool:
        """Whether the output shows a part of the input, as large as its regions of interest say."""
        mode = self.interpolation.coordinate_transformation_mode
        return mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE


def state(subject: Subject, entry: Entry, axis: int) -> AxisRelation:
    """The statement that `entry` makes of `axis` (counted from 0)."""
    own, fixed = subject.meanings.own(axis), subject.meanings.fixed(axis)
    value = _value_in_file(subject, entry)
    if not entry.depends:
        assert value is not None
        return _constant(subject, axis, value, fixed)
    if entry.depends == {own}:
        multiple = _multiple(subject, entry, own)
        if multiple is not None and multiple.scale > 0:
            return _of_multiple(subject, axis, entry, multiple, value, fixed)
    text, why = _formula(subject, entry, axis, own)
    if value is not None and fixed is not None:
        exact = _at_fixed(subject, value, fixed)
        scale = exact if subject.kind is ExtentKind.SCALES else _robust(value, fixed)
        if subject.kind is ExtentKind.SCALES:
            why = _why_unusable(value, axis_names([axis], subject.rank)) or why
        return AxisRelation(axis, text, scale, value, exact, None if exact is not None else why)
    return AxisRelation(axis, text, None, value, None, why)


def _value_in_file(subject: Subject, entry: Entry) -> float | int | None:
    lengths: dict[Size, Array] = {}
    for size in entry.depends:
        owners = [axis for axis in range(subject.rank) if subject.meanings.own(axis) == size]
        fixed = next((length for axis in owners if (length := subject.meanings.fixed(axis)) is not None), None)
        if fixed is None:
            return None
        lengths[size] = np.array(fixed, np.int64)
    value: float | int = entry.at(lengths).item()
    return value


def _constant(subject: Subject, axis: int, value: float | int, fixed: int | None) -> AxisRelation:
    name = axis_names([axis], subject.rank)
    refused = _why_unusable(value, name)
    if refused is not None:
        return AxisRelation(axis, figure(value), None, value, None, refused)
    if subject.kind is ExtentKind.SCALES:
        return AxisRelation(axis, _multiple_text(value), value, value, value)
    if fixed is None:
        return AxisRelation(axis, str(value), None, value, None, _whatever_the_input(name, str(value)))
    exact = _at_fixed(subject, value, fixed)
    text = _OWN_SIZE if value == fixed else str(value)
    why = None if exact is not None else _no_scale_at(subject, value, fixed)
    return AxisRelation(axis, text, _robust(value, fixed), value, exact, why)


def _why_unusable(value: float | int, name: str) -> Diagnostic | None:
    """Why no axis can be resized by, or to, a number; a division by a size of 0 makes those that are not finite."""
    if not np.isfinite(value):
        return Diagnostic("origins.not-finite", value=figure(value), axis=name)
    return Diagnostic("origins.not-above-zero", value=figure(value), axis=name) if value <= 0 else None


def _no_scale_at(subject: Subject, value: float | int, fixed: int) -> str:
    """Why no scale stands for the size that the chain makes of the one that the file fixes."""
    if subject.crops:
        return Diagnostic("origins.crop-reads-otherwise", fixed=fixed, value=value)
    return Diagnostic("origins.no-float32-scale", fixed=fixed, value=value)


def _whatever_the_input(name: str, length: str) -> str:
    return Diagnostic("origins.whatever-the-input", axis=name, length=length)


def _at_fixed(subject: Subject, value: float | int, fixed: int) -> float | None:
    """The scale that says the same as the entry for the one size that the file allows."""
    if subject.kind is ExtentKind.SCALES:
        return float(np.float32(value)) if 0 < value < np.inf else None
    if value < 1 or fixed < 1 or subject.crops:
        return None
    read = subject.interpolation
    form = read.coordinate_transformation_mode, read.nearest_mode
    return scale_for_size(fixed, int(value), read.mode, form, antialias=read.antialias)


def _robust(value: float | int, fixed: int) -> float | None:
    return robust_scale(fixed, int(value)) if value >= 1 and fixed >= 1 else None


def _multiple(subject: Subject, entry: Entry, own: Size) -> Multiple | None:
    values = entry.at({own: EVERY_SIZE})
    if subject.kind is ExtentKind.SIZES:
        return fit(values, values, entry.hints)
    if not np.all(np.isfinite(values)):
        return None
    lengths = kernel_lengths(values, EVERY_SIZE)
    product = values.astype(np.float64) * EVERY_SIZE
    meant = np.rint(product)
    aims = bool(np.all(np.abs(product - meant) <= _QUOTIENT * np.abs(product)))
    return fit(meant.astype(np.int64) if aims else lengths, lengths, entry.hints)


def _of_multiple(
    subject: Subject, axis: int, entry: Entry, multiple: Multiple, value: float | int | None, fixed: int | None
) -> AxisRelation:
    text = _multiple_text(multiple.scale)
    caveat = _caveat(multiple)
    if fixed is not None and value is not None:
        exact = _at_fixed(subject, value, fixed)
        why = None if exact is not None else _no_scale_at(subject, value, fixed)
        return AxisRelation(axis, text, multiple.scale, value, exact, why, caveat)
    differs_at = _samples_differ_at(subject, entry, multiple)
    if differs_at is None:
        return AxisRelation(axis, text, multiple.scale, value, multiple.robust, caveat=caveat)
    size, sampled = differs_at
    example = {"size": size, "sampled": sampled, "scale": figure(multiple.scale)}
    why = Diagnostic("origins.samples-differ", axis=axis_names([axis], subject.rank), length=text, **example)
    return AxisRelation(axis, text, multiple.scale, value, None, why, caveat)


def _samples_differ_at(subject: Subject, entry: Entry, multiple: Multiple) -> tuple[int, str] | None:
    """A size at which the chain and the constant scale sample or measure differently, and by what the chain samples."""
    scale = multiple.scale if multiple.robust is None else multiple.robust
    own = next(iter(entry.depends))
    values = entry.at({own: EVERY_SIZE})
    quotients = subject.kind is ExtentKind.SIZES
    with np.errstate(divide="ignore", invalid="ignore"):
        sampled = values.astype(np.float32) / EVERY_SIZE.astype(np.float32) if quotients else values.astype(np.float32)
    differing = sampled != np.float32(scale)
    if subject.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.ALIGN_CORNERS:
        differing[:] = False
    elif quotients and subject.crops:
        differing[:] = True
    if quotients:
        differing &= values > 0  # nothing is sampled for an empty output
    if multiple.robust is None:
        lengths = values if quotients else kernel_lengths(values, EVERY_SIZE)
        differing |= (kernel_lengths(scale, EVERY_SIZE) != lengths) | (inference_lengths(scale, EVERY_SIZE) != lengths)
    if not differing.any():
        return None
    # A size that is not tiny reads better as an example.
    first = int(np.flatnonzero(differing)[np.argmax(EVERY_SIZE[differing] >= 32)])
    size = int(EVERY_SIZE[first])
    return size, f"{int(values[first])}/{size}" if quotients else figure(float(sampled[first]))


def _multiple_text(scale: float) -> str:
    if scale == 1:
        return _OWN_SIZE
    text = f"{figure(scale)} × {_OWN_SIZE}"
    return text if float(scale).is_integer() else f"floor({text})"


def _caveat(multiple: Multiple) -> str | None:
    size = multiple.inference_differs_at if multiple.kernel_differs_at is None else multiple.kernel_differs_at
    if size is None:
        return None
    lengths = np.array([size], np.int64)
    kernel, inferred = (int(rule(multiple.scale, lengths)[0]) for rule in (kernel_lengths, inference_lengths))
    numbers = {"scale": figure(multiple.scale), "size": size, "kernel": kernel, "chain": multiple.made(size)}
    if kernel == inferred:
        return Diagnostic("origins.constant-rounds", **numbers)
    return Diagnostic("origins.constant-rounds-twice", inferred=inferred, **numbers)


def _formula(subject: Subject, entry: Entry, axis: int, own: Size) -> tuple[str, str]:
    """The text for a size that is no multiple, and why no constant can stand for it."""
    name = axis_names([axis], subject.rank)
    others = sorted({size.tensor[1] for size in entry.depends if size.tensor != own.tensor})
    aim = _aim(subject, entry.expression, own)
    if isinstance(aim, Size) and aim.tensor != own.tensor:
        text = f"the size of {aim.tensor[1]!r}" + ("" if aim.axis == axis else f" on axis {aim.axis}")
    elif aim is None:
        tensors = listed([repr(other) for other in others] or ["the input"])
        text = Diagnostic("origins.computed-from-sizes", tensors=tensors)
    else:
        text = written(aim, lambda size: _size_name(size, axis, own, subject.rank))
    if others:
        why: str = Diagnostic("origins.follows-another", others=listed(map(repr, others)))
    elif isinstance(aim, Number):
        why = _whatever_the_input(name, text)
    else:
        why = Diagnostic("origins.no-multiple", axis=name, length=text)
    return text, why


def _aim(subject: Subject, expression: Expression | None, own: Size) -> Expression | None:
    """What the chain wants as output size: of scales that are a quotient by the input's size, the dividend."""
    if expression is None:
        return None
    plain = without_casts(expression)
    if subject.kind is ExtentKind.SIZES:
        return plain
    if isinstance(plain, Computed) and plain.operator == "Div" and without_casts(plain.operands[1]) == own:
        return without_casts(plain.operands[0])
    return Computed("Mul", plain.dtype, (plain, own))


def _size_name(size: Size, axis: int, own: Size, rank: int) -> str:
    if size == own:
        return _OWN_SIZE
    if size.tensor == own.tensor:
        return f"the input's {axis_names([size.axis], rank)}"
    return f"{size.tensor[1]!r}[{size.axis}]"


def says(statements: Sequence[AxisRelation], rank: int) -> str:
    """All statements in one sentence, axes that say the same together, axes that are not resized left out."""
    moving = [statement for statement in statements if not statement.is_plain]
    if not moving:
        return Diagnostic("origins.as-large-as-input")
    groups: dict[str, list[int]] = {}
    for statement in moving:
        groups.setdefault(statement.text, []).append(statement.axis)
    clauses = [f"{axis_names(axes, rank)} {'is' if len(axes) == 1 else 'are'} {text}" for text, axes in groups.items()]
    caveats = list(dict.fromkeys(statement.caveat for statement in statements if statement.caveat is not None))
    return "; ".join([", ".join(clauses), *caveats])
