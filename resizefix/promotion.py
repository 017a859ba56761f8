"""What a promotion made: which new graph input drives which sites, and how its value becomes their operand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from resizefix.interpolation import ExtentKind
from resizefix.scope_path import Key, ScopePath

LARGEST_DENOMINATOR = 10_000
"""The largest that is proposed: sizes times numerators stay within the 32 bits of TensorRT's older shape tensors."""


def numerator(scale: float, denominator: int) -> int | None:
    """The whole number that, divided by `denominator`, is the float32 `scale`; None: there is none above 0."""
    rounded = round(scale * denominator)
    return rounded if rounded > 0 and np.float32(rounded / denominator) == np.float32(scale) else None


def common_denominator(scales: Collection[float]) -> int | None:
    """The smallest denominator that every scale has a numerator over; None: none up to LARGEST_DENOMINATOR."""
    candidates = range(1, LARGEST_DENOMINATOR + 1)
    return next((one for one in candidates if all(numerator(scale, one) for scale in scales)), None)


class Form(str, Enum):
    """What the new input holds.

    scales: float32[len of the operand], fed straight to the node. spatial: float32[number of scaled axes].
    factor: float32[1], one number for all scaled axes. sizes: int64[len of the operand], the output size.
    """

    SCALES = "scales"
    SPATIAL = "spatial"
    FACTOR = "factor"
    SIZES = "sizes"


@dataclass(frozen=True)
class Integers:
    """Inputs for TensorRT: int64 numerators over `denominator` (None: 1, or 1000 where a scale is fractional)."""

    denominator: int | None = None


@dataclass(frozen=True)
class NewInputs:
    """What is wanted of the new inputs.

    `form` None is scales, or with `integers` what suits the site. `name` is as given where there is one input, with the
    site's index where there are more. `shared`: one input for all sites. `keep_default`: the old value is the default.
    `replaced`: the caller feeds another value at once, so that none has to mean what the file's scales do.
    """

    form: Form | None = None
    name: str | None = None
    shared: bool = False
    keep_default: bool = False
    integers: Integers | None = None
    replaced: bool = False


class Freedom(str, Enum):
    """`free`: the model runs when this site alone takes another scale; `coupled`: it breaks further down; `unknown`:
    sizes alone do not say which."""

    FREE = "free"
    COUPLED = "coupled"
    UNKNOWN = "unknown"


class Coupling(NamedTuple):
    """Whether the scales of one site can change alone; `breaks_at` names the node where the model breaks if not.

    `partner` is the tensor that this node reads beside what moves, and whose sizes stay: a skip connection. `shared`:
    one input for all sites is known to move this one.
    """

    node: str
    verdict: Freedom
    breaks_at: str | None = None
    partner: str | None = None
    shared: bool = False


class InputBinding(NamedTuple):
    """One site that a promoted input drives.

    `base` is the operand (scales or sizes, as `kind` says) at the old value; `entries` are its positions that the input
    sets and `scaled` those that another scale is tried at; `output_dims` are the sizes of the output that no value
    of the input is meant to change (None: it may).
    """

    scope: ScopePath
    input: str
    output: str
    label: str
    form: Form
    kind: ExtentKind
    base: tuple[float, ...] | tuple[int, ...]
    entries: tuple[int, ...]
    scaled: tuple[int, ...]
    output_dims: tuple[int | str | None, ...] | None
    min_scale: float
    resized_dims: tuple[int | None, ...]  # of the input, for each position of the operand
    axes: tuple[int, ...] | None = None  # that the operand's positions stand for; None: all, in order
    denominator: int | None = None  # the input holds int64 numerators over it (TensorRT takes no float input)
    by_shape: bool = False  # the graph multiplies the tensor's shape by the input: the node reads sizes

    @property
    def reads(self) -> ExtentKind:
        """Which of its operands the node reads."""
        return ExtentKind.SIZES if self.by_shape else self.kind

    @property
    def key(self) -> Key:
        """Finds the site's node in any copy of the document."""
        return self.scope, self.output

    def input_value(self, operand: Sequence[float]) -> tuple[float, ...]:
        """What to feed so that the node gets `operand`; numerators are rounded, and 1 at least."""
        if self.denominator is not None:
            operand = [max(1, round(scale * self.denominator)) for scale in operand]
        if self.form is Form.FACTOR:
            return (operand[self.entries[0]],)
        if self.form is Form.SPATIAL:
            return tuple(operand[position] for position in self.entries)
        return tuple(operand)

    def operand(self, value: Sequence[float]) -> tuple[float, ...]:
        """The scales or sizes (as `kind` says) that the node gets when the input is fed `value`."""
        if self.denominator is not None:
            value = [float(np.float32(number / self.denominator)) for number in value]
        if self.form in (Form.SCALES, Form.SIZES):
            return tuple(value)
        full: list[float] = list(self.base)
        for count, position in enumerate(self.entries):
            full[position] = value[0] if self.form is Form.FACTOR else value[count]
        return tuple(full)


class PromotedInput(NamedTuple):
    """A new graph input. Fed `value`, the model computes what it computed before; `optional` if that is its default."""

    name: str
    value: tuple[float, ...] | tuple[int, ...]
    optional: bool
    sites: tuple[InputBinding, ...]

    @property
    def elem_type(self) -> str:
        """`float` or `int64`, in ONNX's spelling."""
        driven = self.sites[0]
        return "int64" if driven.form is Form.SIZES or driven.denominator is not None else "float"

    @property
    def shape(self) -> tuple[int, ...]:
        """Always one-dimensional."""
        return (len(self.value),)
