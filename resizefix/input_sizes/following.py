"""A static model's constants as functions of its input's size: what they are at any other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.values import Array
from resizefix.input_sizes.boxes import ask_for_centres, shares_that_stay, with_boxes
from resizefix.input_sizes.decide import decide
from resizefix.input_sizes.flow import MOST_IN_A_TABLE, Flow
from resizefix.input_sizes.loose_positions import loose_positions
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.positions import Positions, may_be_learned, positions_in
from resizefix.input_sizes.refusal import KEEP, READINGS, Assumed, Choices, asked, refuse
from resizefix.input_sizes.rules import SizeRule, broken_at, point_of, rule_of
from resizefix.input_sizes.scalar_use import MixedUse, ScalarUse
from resizefix.input_sizes.scalars import scalars
from resizefix.input_sizes.sequences import Sequence, turned
from resizefix.input_sizes.tables import Grid, Joined, KnownTable, NoGridError, Table, recognised
from resizefix.input_sizes.unread_numbers import unread_numbers
from resizefix.input_sizes.wide_families import in_wide_family
from resizefix.shapes.expression import Dim
from resizefix.shapes.image_axes import ImageInput
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import kernel_length
from resizefix.shapes.reading import AttributeUse
from resizefix.shapes.sizes import Lengths, Sizes
from resizefix.shapes.stored_shapes import ModelView

Symbols = Mapping[str, int]
_SMALL = 2**12  # pixels of all images: a trial of so few costs nothing
_COARSE, _COARSEST = 16, 32  # pixels: the largest strides of usual maps, of small images and of others
_SMALL_SIDE = 128
_TRIALS = 3
_SHOWN = 6


class FollowingNumbers(NamedTuple):
    """What a model's constants are at one size of the input, where they are other numbers than in the file."""

    constants: Mapping[Place, Array]
    attributes: Mapping[tuple[int, str], tuple[float, ...]]


@dataclass
class Following:
    """The constants of a model that follow its input, and how."""

    flow: Flow
    tables: dict[Place, Table | Positions] = field(default_factory=dict)
    scalars: dict[Place, ScalarUse | MixedUse] = field(default_factory=dict)

    @property
    def assumed(self) -> list[Assumed]:
        """The uses of conventions."""
        return self.flow.assumed

    @property
    def approximate(self) -> frozenset[int]:
        """The nodes whose tables of positions are interpolated."""
        return frozenset(place.node for place, table in self.tables.items() if isinstance(table, Positions))

    @property
    def sizes(self) -> Sizes:
        """Every size as a function of the input's."""
        return self.flow.sizes

    def length(self, symbols: Symbols, dim: Dim) -> int:
        """A size at a size of the input."""
        return self._length(point_of(symbols), {}, dim)

    def _length(self, point: Mapping[str, Lengths], memo: dict[Dim, Lengths], dim: Dim) -> int:
        found = self.sizes.at(dim, point, memo)
        if found is None:
            raise refuse("the model", "origins.input-size-data")
        return int(found[0])

    def numbers(self, symbols: Symbols) -> FollowingNumbers:
        """What changes at a size of the input. Raises SizeRefusedError where the model has no such size."""
        length = partial(self._length, point_of(symbols), {})
        constants: dict[Place, Array] = {}
        for place, use in self.flow.operands.lists.items():
            new = use.array.copy()
            for position, dim in enumerate(use.dims):
                if dim is not None:
                    new.flat[position] = length(dim)
            if not np.array_equal(new, use.array):
                constants[place] = new
        for place, table in self.tables.items():
            made = table.make(length)
            old = self.flow.operands.array(self.flow.operands.tables[place].name)
            if old is None or made.shape != old.shape or not np.array_equal(made, old):
                constants[place] = made
        for place, scalar in self.scalars.items():
            old = self.flow.operands.array(self.flow.nodes[place.node].input[place.position])
            number = scalar.make(length)
            if old is None or not np.array_equal(number, old):
                constants[place] = number
        attributes = self._attributes(length)
        self._scales(length, constants, attributes)
        return FollowingNumbers(constants, attributes)

    def _attributes(self, length: partial[int]) -> dict[tuple[int, str], tuple[float, ...]]:
        changed: dict[tuple[int, str], list[float]] = {}
        for use, dim in self.flow.attributes.items():
            old = self._listed(use)
            if length(dim) != old[use.axis]:
                changed.setdefault((use.node, use.name), list(old))[use.axis] = length(dim)
        return {key: tuple(values) for key, values in changed.items()}

    def _listed(self, use: AttributeUse) -> list[float]:
        node = self.flow.nodes[use.node]
        return list(attribute_of(node, use.name))

    def _scales(
        self, length: partial[int], constants: dict[Place, Array], attributes: dict[tuple[int, str], tuple[float, ...]]
    ) -> None:
        for use in self.flow.resizes:
            if not use.is_scale:
                continue
            node = self.flow.nodes[use.node]
            place = Place(use.node, use.position or 0)
            old = (
                np.array(self._listed(AttributeUse(use.node, "scales", 0)), np.float32)
                if use.position is None
                else self.flow.operands.array(node.input[use.position])
            )
            assert old is not None
            new = old.copy()
            for axis, before, after in use.axes:
                at = use.listed.index(axis)
                size, wanted = length(before), length(after)
                if size < 1:
                    raise refuse(use.label, "origins.input-size-empty", length=size)
                if kernel_length(float(old.flat[at]), size) != wanted or self.sizes.fixed(before) is not None:
                    scale = np.float32(wanted) / np.float32(size)
                    if kernel_length(float(scale), size) != wanted:
                        scale = np.nextafter(scale, np.float32(np.inf))
                    if scale < 1 and node.op_type == "Upsample":
                        raise refuse(use.label, "origins.input-size-upsample-shrinks", length=size, made=wanted)
                    new.flat[at] = scale
            if np.array_equal(new, old):
                continue
            if use.position is None:
                attributes[use.node, "scales"] = tuple(float(value) for value in new)
            else:
                constants[place] = new

    def require_fits(self, symbols: Symbols) -> None:
        """Raises SizeRefusedError where sizes that must be equal are not at this size of the input."""
        broken = broken_at(self.flow, symbols)
        if broken is not None:
            rule = self.rule(symbols)
            raise refuse(broken.node, "origins.input-size-misfit", why=broken.why, rule=rule.text)
        for label, cells, stride, side in self.flow.centres:
            if self.length(symbols, cells) * stride != self.length(symbols, side):
                raise ask_for_centres(label, stride)

    def rule(self, symbols: Symbols) -> SizeRule:
        """Which sizes of the input fit, and the nearest to a given one."""
        return rule_of(self.flow, symbols)


def trial_sizes(found: Following, growth: int) -> list[dict[str, int]]:
    """A few sizes of the input that the model takes: larger ones, of other shapes, odd ones where it takes odd ones.

    None has more than `growth` times the pixels of the old one, unless it is small all the same.
    """
    symbols = found.sizes.symbols
    rule = found.rule(symbols)
    steps = {name: max(1, rule.steps.get(name) or 1) for name in symbols}
    odd = {name: 7 if step == 1 else step for name, step in steps.items()}
    chosen: list[dict[str, int]] = []
    for first, second, third in ((1, 0, 1), (0, 3, 2), (2, 1, 0), (0, 1, 1), (1, 0, 0), (-1, 1, 2)):
        moves = dict(zip(("height", "width", "batch"), (first, second, third), strict=True))
        made = {name: old + odd[name] * moves.get(name, first) for name, old in symbols.items()}
        pixels = np.prod([made[name] / old for name, old in symbols.items()])
        too_large = pixels > growth and np.prod(list(made.values())) > _SMALL
        if made == dict(symbols) or min(made.values()) < 1 or too_large or made in chosen:
            continue
        if broken_at(found.flow, made) is None:
            chosen.append(made)
        if len(chosen) == _TRIALS:
            break
    return chosen


def by_whole_strides(found: Following) -> list[dict[str, int]]:
    """A larger image whose coarsest maps lie as those of the old one, where the model takes it."""
    sides = {name: old for name, old in found.sizes.symbols.items() if name != "batch"}
    step = _COARSE if min(sides.values()) < _SMALL_SIDE else _COARSEST
    made = {**found.sizes.symbols, **{name: old + step for name, old in sides.items()}}
    return [made] if broken_at(found.flow, made) is None else []


def follow(
    view: ModelView, images: list[ImageInput], symbols: Symbols, choices: Choices, *, tied: bool = False
) -> Following:
    """How the constants follow `symbols` (the old sizes that may change, by name); `tied`: height and width are equal,
    and stay so. Raises SizeRefusedError."""
    flow = Flow(view, images, dict(symbols), choices, tied)
    flow.walk()
    decide(flow)
    found = Following(flow)
    known = KnownTable()
    tables = flow.operands.tables
    moving = [place for place, use in tables.items() if any(flow.sizes.fixed(dim) is None for dim in use.dims)]
    # The largest first: what is certain of them decides about the small ones.
    for place in sorted(moving, key=lambda place: -int(np.prod(flow.operands.shape_of(tables[place].name)))):
        found.tables[place] = table = _table(flow, place, known)
        shares = sorted({f"{value:.4g}" for value in shares_that_stay(table)})
        if shares:
            flow.assume(
                flow.labels[place.node],
                "shares-in-a-table-stay",
                reading=KEEP,
                others=(),
                numbers=", ".join(shares[:_SHOWN]),
            )
    formulas = {place: table for place, table in found.tables.items() if not isinstance(table, Positions)}
    found.scalars.update(scalars(flow, formulas))
    found.scalars.update(loose_positions(flow))
    unread_numbers(flow, found.scalars)
    return found


def _counted_as_chosen(flow: Flow, label: str, table: Table, array: Array) -> Table:
    """The table, its steps counted as the user says. Raises SizeRefusedError where they may be counted from the first
    position, from the middle or from the last."""
    if isinstance(table, Joined):
        ends = np.cumsum([part.make(lambda dim: dim.old or 0).shape[table.axis] for part in table.parts])[:-1]
        pieces = np.split(array, ends, table.axis)
        parts = zip(table.parts, pieces, strict=True)
        return table._replace(parts=tuple(_counted_as_chosen(flow, label, part, piece) for part, piece in parts))
    if not isinstance(table, Grid) or table.merged:
        return table
    lengths = [table.dims[axis].old or 0 for axis in table.moving]
    said, channels = flow.choices.of(label), []
    for one in table.channels:
        ways: list[Sequence] = []
        if one.sequence is not None and one.axis is not None:
            row = one.sequence.make(lengths[one.axis], array.dtype)
            ways = turned(one.sequence, row)
            _refuse_step(flow, label, table, one.sequence, row)
            plain = not ways and one.sequence.form == "steps" and said is None
            if plain and abs(one.sequence.offset) > abs(one.sequence.factor):  # nobody counts from such a number
                raise asked(label, row[:_SHOWN].tolist(), "origins.input-size-ramp", {"first": _meaning("first")})
        if ways and said is None:
            named = {"first": _meaning("first"), **{way.form: _meaning(way.form) for way in ways}}
            raise asked(label, row[:_SHOWN].tolist(), "origins.input-size-ramp", named)
        chosen = next((way for way in ways if way.form == said), None)
        channels.append(one if chosen is None else one._replace(sequence=chosen))
    return table._replace(channels=tuple(channels))


def _refuse_step(flow: Flow, label: str, table: Grid, sequence: Sequence, row: Array) -> None:
    """Raises SizeRefusedError for steps that a simple factor makes of a size, and for shares of an unusual length, as
    both of which one over 0.8 times the width counts pixels, where nobody has decided."""
    name = "of-map" if not sequence.is_absolute else "first" if sequence.form == "steps" else sequence.form
    step = np.array([abs(sequence.factor)], row.dtype)
    turns = (float(step[0]), float(step[0]) / np.pi)
    usual = not step[0] or any(abs(one - round(one)) < _WHOLE for turn in turns for one in (turn, 1 / turn))
    strides = {stride for dim in table.dims if (stride := flow.sizes.stride(dim)) is not None}
    counts_on = sequence.is_absolute and step[0] > 1 and step[0] == np.floor(step[0]) and step[0] not in strides
    if counts_on and flow.choices.of(label) is None:
        shown = row[:_SHOWN].tolist()
        raise asked(label, shown, "origins.input-size-ramp-step", {"first": _meaning("first")}, step=float(step[0]))
    if usual or name not in READINGS or flow.choices.of(label) is not None:
        return
    lengths = {*(dim.old or 0 for dim in table.dims), *(dim.old or 0 for dim in flow.sizes.sides)}
    if not sequence.is_absolute or in_wide_family(step, lengths, ()):
        shown = float(f"{abs(float(row[1] - row[0])):.4g}")
        readings = {name: _meaning(name)}
        raise asked(label, row[:_SHOWN].tolist(), "origins.input-size-ramp-step", readings, step=shown)


_WHOLE = 1e-5
_MOVING = frozenset({"Reshape", "Transpose", "Identity", "Cast", "Unsqueeze", "Squeeze"})
_SUMMING = frozenset({"MatMul", "Gemm", "Conv", "Einsum"})


def _meaning(form: str) -> str:
    return Diagnostic(READINGS[form])


def _table(flow: Flow, place: Place, known: KnownTable) -> Table | Positions:
    use = flow.operands.tables[place]
    label = flow.labels[place.node]
    array = flow.operands.array(use.name)
    dims = tuple(flow.sizes.resolve(dim) for dim in use.dims)
    try:
        if array is None or array.size > MOST_IN_A_TABLE:
            raise NoGridError
        table = recognised(flow.sizes, array, dims, known)
        table = with_boxes(flow, label, _counted_as_chosen(flow, label, table, array), array)
        if not np.array_equal(table.make(lambda dim: dim.old or 0), array):
            raise NoGridError
    except NoGridError:
        wished = flow.choices.interpolate and not _is_summed_over(flow, flow.nodes[place.node])
        learned = array if wished and array is not None and may_be_learned(array) else None
        positions = None if learned is None else positions_in(flow.sizes, learned, dims)
        if positions is not None:
            return positions
        shape = list(flow.operands.shape_of(use.name))
        raise refuse(label, "origins.input-size-table", name=use.name, shape=shape) from None
    return table


def _is_summed_over(flow: Flow, node: NodeProto) -> bool:
    """Whether a table is weights here: a sum over more positions is a larger one, and no approximation."""
    if node.op_type in _MOVING:
        return any(_is_summed_over(flow, reader) for reader in flow.operands.readers(node.output[0]))
    return node.op_type in _SUMMING
