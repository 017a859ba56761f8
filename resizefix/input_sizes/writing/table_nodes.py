"""Tables and single numbers that follow the input, computed when the model runs: the same bits as `tables` makes."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from resizefix.document.edits import NodeBuilder
from resizefix.input_sizes.following import Following
from resizefix.input_sizes.positions import Positions
from resizefix.input_sizes.refusal import refuse
from resizefix.input_sizes.scalar_use import EVERY_FORM, MixedUse, ScalarUse
from resizefix.input_sizes.sequences import FUSED, LANES, Sequence
from resizefix.input_sizes.tables import Channel, Grid, Joined, Share, Table, WindowMasks
from resizefix.input_sizes.writing.size_nodes import Samples, SizeNodes

_BOTH_ENDS = ("linspace", "inner", *FUSED)
_FIRST_RANGE = 11
_FIRST_NONZERO = 9  # before Range, positions are those of the ones in a list of ones, as torch wrote them


class TableNodes:
    """Adds the nodes for one use of a table or number."""

    def __init__(self, found: Following, builder: NodeBuilder, sizes: SizeNodes, samples: Samples, label: str) -> None:
        self._found = found
        self._builder, self._sizes, self._samples, self._label = builder, sizes, samples, label

    def table(self, table: Table | Positions) -> str:
        """A table. Raises SizeRefusedError where its formula has no nodes."""
        if isinstance(table, Positions):
            return self._positions(table)
        if self._builder.opset < _FIRST_NONZERO:
            raise refuse(self._label, "origins.input-size-no-range")
        if isinstance(table, Joined):
            return self._builder.add("Concat", *(self.table(part) for part in table.parts), axis=table.axis)
        return self._masks(table) if isinstance(table, WindowMasks) else self._grid(table)

    def _masks(self, table: WindowMasks) -> str:
        """For each window the mask of the last or of all others."""
        made = self._builder.value(np.ascontiguousarray(table.masks), "masks", table.masks.dtype)
        for axis in table.moving:
            size = self._sizes.one(table.dims[axis], self._label)
            last = self._builder.add("Equal", self._positions_up_to(size), self._builder.add("Sub", size, self._one()))
            made = self._builder.add("Gather", made, self._builder.as_type(last, np.int64), axis=axis)
        return self._merged(made, table)

    def _positions(self, table: Positions) -> str:
        """A learned table, resized when the model runs."""
        if self._builder.opset < _FIRST_RANGE:
            raise refuse(self._label, "origins.input-size-no-range")
        count = 1 if table.merged else 2
        rows = np.moveaxis(table.array, range(table.axis, table.axis + count), range(count))
        plane = rows[table.tokens :].reshape(table.height.old or 1, table.width.old or 1, -1).transpose(2, 0, 1)[None]
        add, value, kind = self._builder.add, self._builder.value, table.array.dtype
        one, channels = self._found.sizes.const(1), self._found.sizes.const(plane.shape[1])
        sizes = self._sizes.vector([one, channels, table.height, table.width], self._label)
        nothing = value([], "no_scales", np.float32)
        roi = nothing if self._builder.opset < 13 else ""
        made = add("Resize", value(np.ascontiguousarray(plane), "positions", kind), roi, roi, sizes, mode="cubic")
        made = add("Transpose", made, perm=[0, 2, 3, 1])
        rest = list(rows.shape[count:])
        if not table.merged:
            area = self._sizes.vector([table.height, table.width], self._label)
            made = add("Reshape", made, add("Concat", area, value(rest, "rest", np.int64), axis=0))
        else:
            made = self._builder.reshape(made, [-1, *rest])
            if table.tokens:
                made = add("Concat", value(np.ascontiguousarray(rows[: table.tokens]), "tokens", kind), made, axis=0)
        order = list(range(len(rest) + count))
        back = [*order[count : count + table.axis], *order[:count], *order[count + table.axis :]]
        return made if back == order else add("Transpose", made, perm=back)

    def scalar(self, use: ScalarUse | MixedUse) -> str:
        """A single number, or a short list of them."""
        if isinstance(use, MixedUse):
            return self._mixed(use)
        add, value, dtype = self._builder.add, self._builder.value, use.array.dtype
        fixed = any(dim is None for dim in use.dims)
        if fixed and use.form != "whole":
            raise refuse(self._label, "origins.input-size-no-range")
        dims = [
            self._found.sizes.const(int(number) + use.less) if dim is None else dim
            for dim, number in zip(use.dims, use.array.flat, strict=False)
        ]
        size = self._sizes.vector(dims, self._label)
        if use.less:
            size = add("Sub", size, value([use.less], "less", np.int64))
        made = self._builder.as_type(size, dtype) if dtype != np.int64 else size
        form = EVERY_FORM[use.form]
        kind = np.dtype(np.float64) if form.is_precise else dtype
        made = self._builder.as_type(made, kind) if form.is_precise else made
        for operator, number in form.steps:
            made = self._step(operator, number, made, kind)
        made = self._builder.as_type(made, dtype) if form.is_precise else made
        shape = use.array.shape
        if len(dims) < use.array.size:
            return add("Expand", made, value(shape, "shape", np.int64))
        return self._builder.reshape(made, shape) if shape != (len(dims),) else made

    def _step(self, operator: str, number: int, made: str, dtype: np.dtype[np.generic]) -> str:
        """One step of a form."""
        if operator == "Square":
            return self._builder.add("Mul", made, made)
        if operator == "OverLess":
            less = self._builder.add("Sub", made, self._builder.value([number], "number", dtype))
            return self._builder.add("Div", made, less)
        if operator not in ("Mul", "Div", "Over"):
            return self._builder.add(operator, made)
        other = self._builder.value([number], "number", dtype)
        return self._builder.add("Div", other, made) if operator == "Over" else self._builder.add(operator, made, other)

    def _mixed(self, use: MixedUse) -> str:
        dtype = use.array.dtype
        parts = [
            self._builder.value([number.item()], "number", dtype) if part is None else self.scalar(part)
            for part, number in zip(use.parts, use.array.flat, strict=True)
        ]
        return self._builder.reshape(self._builder.add("Concat", *parts, axis=0), use.array.shape)

    def _grid(self, grid: Grid) -> str:
        if grid.merged:
            made = self._cast(self._line(grid, 0, grid.channels[0].sequence, count=self._whole(grid)), grid)
            made = self._builder.add("Reshape", made, self._sizes.vector(list(grid.dims), self._label))
            return self._merged(made, grid)
        terms = [self._term(grid, at) for at in range(len(grid.moving)) if self._channels_along(grid, at)]
        made = terms[0] if terms else ""
        for term in terms[1:]:
            made = self._builder.add("Add", made, term)
        offsets = self._coefficients(grid, self._offsets(grid))
        kind = self._kind(grid)
        if made and np.any(offsets):
            made = self._builder.add("Add", made, self._builder.value(offsets, "offsets", kind))
        elif not made:
            made = self._builder.value(offsets, "offsets", kind)
        made = self._cast(made, grid)
        if any(one.share is not None and one.sequence is None for one in grid.channels):
            made = self._builder.add("Add", made, self._builder.as_type(self._shares(grid), grid.dtype))
        if len(terms) < len(grid.moving):
            lengths = self._sizes.vector(list(grid.dims), self._label)
            made = self._builder.add("Expand", made, lengths)
        return self._merged(made, grid)

    def _shares(self, grid: Grid) -> str:
        """The channels that are pixels over a side of the image, 0 for the others: in float64."""
        shares = [one.share if one.sequence is None else None for one in grid.channels]
        made, double = "", np.dtype(np.float64)
        for side in dict.fromkeys(one.side for one in shares if one is not None):
            pixels = [one.pixels if one is not None and one.side is side else 0.0 for one in shares]
            numbers = self._builder.value(self._coefficients(grid, pixels), "pixels", double)
            size = self._builder.as_type(self._sizes.one(side, self._label), double)
            part = self._builder.add("Div", numbers, size)
            made = self._builder.add("Add", made, part) if made else part
        (most,) = {one.most for one in shares if one is not None}
        return made if most is None else self._builder.add("Min", made, self._builder.value([most], "most", double))

    def _whole(self, grid: Grid) -> str:
        made = self._sizes.one(grid.dims[grid.moving[0]], self._label)
        for axis in grid.moving[1:]:
            made = self._builder.add("Mul", made, self._sizes.one(grid.dims[axis], self._label))
        return made

    def _merged(self, made: str, grid: Grid | WindowMasks) -> str:
        """The factors of axes put together again."""
        if all(len(factors) == 1 for factors in grid.shape):
            return made
        shape: list[int] = []
        for factors in grid.shape:
            numbers = [self._samples.number(dim) for dim in factors]
            shape.append(-1 if None in numbers else int(np.prod([n for n in numbers if n is not None], initial=1)))
        if shape.count(-1) <= 1:
            return self._builder.reshape(made, shape)
        lengths = [self._found.sizes.product(factors) for factors in grid.shape]
        return self._builder.add("Reshape", made, self._sizes.vector(lengths, self._label))

    def _channels_along(self, grid: Grid, at: int) -> list[Sequence]:
        return [c.sequence for c in grid.channels if c.axis == at and c.sequence is not None]

    def _kind(self, grid: Grid) -> np.dtype[np.generic]:
        kinds = {c.sequence.dtype for c in grid.channels if c.sequence is not None}
        if len(kinds) > 1:
            raise refuse(self._label, "origins.input-size-no-range")
        return np.dtype(kinds.pop()) if kinds else grid.dtype

    def _offsets(self, grid: Grid) -> list[float]:
        return [
            _offset(c) if c.sequence is None else 0.0 if c.sequence.form in _BOTH_ENDS else c.sequence.offset
            for c in grid.channels
        ]

    def _coefficients(self, grid: Grid, values: list[float]) -> np.ndarray:
        """One number for each channel, in the rank of all factors."""
        shape = [1 if axis in grid.moving else (dim.old or 1) for axis, dim in enumerate(grid.dims)]
        return np.array(values).reshape(shape)

    def _term(self, grid: Grid, at: int) -> str:
        """The part of all channels that counts along one axis."""
        sequences = self._channels_along(grid, at)
        if len({(one.form, one.centre) for one in sequences}) != 1:
            raise refuse(self._label, "origins.input-size-no-range")
        kind = self._kind(grid)
        if sequences[0].form in _BOTH_ENDS:
            return self._linspace(grid, at, sequences, kind)
        shares = {c.share for c in grid.channels if c.axis == at and c.sequence is not None}
        if len(shares) != 1:
            raise refuse(self._label, "origins.input-size-no-range")
        made = self._line(grid, at, sequences[0], share=shares.pop())
        factors = [c.sequence.factor if c.axis == at and c.sequence is not None else 0.0 for c in grid.channels]
        scale = self._builder.value(self._coefficients(grid, factors), "factors", kind)
        if sequences[0].form == "spaced":
            scale = self._builder.add("Div", scale, self._last(grid, at, kind))
        elif all(factor == 1 for factor in factors):
            return made
        return self._builder.add("Mul", made, scale)

    def _linspace(self, grid: Grid, at: int, sequences: list[Sequence], kind: np.dtype[np.generic]) -> str:
        """As torch.linspace: the first half counted from the start, the second from the end."""
        if len(set(sequences)) != 1:
            raise refuse(self._label, "origins.input-size-no-range")
        add, value = self._builder.add, self._builder.value
        positions = self._line(grid, at, Sequence("steps", "int64"))
        size = self._sizes.one(grid.dims[grid.moving[at]], self._label)
        last = add("Sub", size, self._one())
        begin, end, span = self._ends(sequences[0], size, last, kind)
        cast = self._builder.as_type
        step = add("Div", span, cast(last, kind))
        if sequences[0].form in FUSED:
            return self._chosen_channels(grid, at, self._fused(sequences[0], (positions, size, last, step)))
        up, down = (add("Mul", step, cast(count, kind)) for count in (positions, add("Sub", last, positions)))
        first = add("Less", positions, add("Div", size, value([2], "two", np.int64)))
        return self._chosen_channels(grid, at, add("Where", first, add("Add", begin, up), add("Sub", end, down)))

    def _fused(self, sequence: Sequence, parts: tuple[str, str, str, str]) -> str:
        """The same with products and sums that are rounded once: float64 holds the product of two float32."""
        add, value, cast, double = self._builder.add, self._builder.value, self._builder.as_type, np.dtype(np.float64)
        positions, size, last, step = parts
        first = positions
        if sequence.form == "vectors":
            lanes, both = value([LANES], "lanes", np.int64), value([2 * LANES], "vectors", np.int64)
            whole = add("Mul", add("Div", size, both), both)
            started = add("Mul", add("Div", positions, lanes), lanes)
            first = add("Where", add("Less", positions, whole), started, positions)
        begin = np.float32(sequence.offset)
        ends = [value([float(one)], "end", double) for one in (begin, begin + np.float32(sequence.factor))]
        wide = cast(step, double)
        up, down = (add("Mul", wide, cast(count, double)) for count in (first, add("Sub", last, first)))
        half = add("Less", first, add("Div", size, value([2], "two", np.int64)))
        made = cast(add("Where", half, add("Add", ends[0], up), add("Sub", ends[1], down)), np.float32)
        if first == positions:
            return made
        return add("Add", made, add("Mul", step, cast(add("Sub", positions, first), np.float32)))

    def _chosen_channels(self, grid: Grid, at: int, made: str) -> str:
        """A line for those channels that count along this axis, 0 for the others."""
        sequences, kind = self._channels_along(grid, at), self._kind(grid)
        if len(sequences) == len(grid.channels):
            return made
        chosen = [1.0 if c.axis == at and c.sequence is not None else 0.0 for c in grid.channels]
        channels = self._builder.value(self._coefficients(grid, chosen), "channels", kind)
        return self._builder.add("Mul", made, channels)

    def _ends(self, sequence: Sequence, size: str, last: str, kind: np.dtype[np.generic]) -> tuple[str, str, str]:
        """The first and last number of a linspace, and what lies between them."""
        add, value = self._builder.add, self._builder.value
        if sequence.form == "inner":
            end = add("Div", self._builder.as_type(last, kind), self._builder.as_type(size, kind))
            return add("Neg", end), end, add("Add", end, end)
        begin, span = kind.type(sequence.offset), kind.type(sequence.factor)
        return value([begin], "begin", kind), value([begin + span], "end", kind), value([span], "span", kind)

    def _last(self, grid: Grid, at: int, kind: np.dtype[np.generic]) -> str:
        size = self._sizes.one(grid.dims[grid.moving[at]], self._label)
        return self._builder.as_type(self._builder.add("Sub", size, self._one()), kind)

    def _one(self) -> str:
        return self._builder.value([1], "one", np.int64)

    def _line(
        self, grid: Grid, at: int, sequence: Sequence | None, count: str | None = None, share: Share | None = None
    ) -> str:
        """The positions along an axis, as a share of it where the formula wants that, in the rank of all factors."""
        assert sequence is not None
        add, value = self._builder.add, self._builder.value
        size = count or self._sizes.one(grid.dims[grid.moving[at]], self._label)
        made = self._positions_up_to(size)
        kind = np.dtype(sequence.dtype)
        if sequence.form == "down":
            made = add("Sub", add("Sub", size, self._one()), made)
        elif sequence.form == "middle":
            made = add("Sub", made, add("Div", size, value([2], "two", np.int64)))
        if kind != np.int64:
            made = self._builder.as_type(made, kind)
        if sequence.form == "centred":
            last = self._builder.as_type(add("Sub", size, self._one()), kind)
            made = add("Sub", made, add("Div", last, value(2, "two", kind)))
        elif sequence.form == "shares":
            if sequence.centre:
                made = add("Add", made, value(sequence.centre, "centre", kind))
            if share is not None:
                made = add("Mul", made, value(share.pixels, "stride", kind))
            whole = size if share is None else self._sizes.one(share.side, self._label)
            made = add("Div", made, self._builder.as_type(whole, kind))
        elif sequence.form == "span":
            made = add("Div", made, self._last(grid, at, kind))
        if count is not None:
            return made
        return self._builder.reshape(made, [-1 if axis == grid.moving[at] else 1 for axis in range(len(grid.dims))])

    def _positions_up_to(self, size: str) -> str:
        """0, 1, 2, … as int64, as many as a size is."""
        add, value = self._builder.add, self._builder.value
        if self._builder.opset < _FIRST_RANGE:
            ones = add("ConstantOfShape", size, value=numpy_helper.from_array(np.ones(1, np.int64)))
            return self._builder.reshape(add("NonZero", ones), [-1])
        scalar = self._builder.reshape(size, [])
        return add("Range", value(0, "first", np.int64), scalar, value(1, "step", np.int64), wanted="positions")

    def _cast(self, made: str, grid: Grid) -> str:
        kinds = {c.sequence.dtype for c in grid.channels if c.sequence is not None}
        if not kinds or np.dtype(kinds.pop()) == grid.dtype:
            return made
        return self._builder.as_type(made, grid.dtype)


def _offset(channel: Channel) -> float:
    """The number of a channel that is one everywhere; a share of the image is added by itself."""
    return 0.0 if channel.share is not None else channel.value.item()
