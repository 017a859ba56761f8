"""Single numbers that follow the input: what positions and sums over a map are divided by.

A number is taken for a size only where it meets values that come from positions on the map (a grid, or what is computed
of one), or from a sum or mean over it, and only where it is exactly that size, one less, or a simple share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto

from resizefix.origins.input_sizes.dim import Dim, Sizes
from resizefix.origins.input_sizes.flow import Flow
from resizefix.origins.input_sizes.operands import Place
from resizefix.origins.input_sizes.refusal import refuse
from resizefix.origins.input_sizes.tables import Grid, Joined, Table

_FORMS = {
    "whole": lambda n: n,
    "reciprocal": lambda n: 1 / n,
    "half": lambda n: n / 2,
    "two over": lambda n: 2 / n,
}
_SHARES = ("reciprocal", "two over")
_MEETING = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Clip", "Reciprocal", "Where"})
_PASSING = _MEETING | frozenset(
    {"Concat", "Slice", "Reshape", "Transpose", "Split", "Gather", "Cast", "Expand", "Tile", "Unsqueeze", "Squeeze"}
    | {"Floor", "Ceil", "Round", "Neg", "Abs", "Sqrt", "Sin", "Cos", "Exp", "Log", "Identity", "Flatten", "MatMul"}
    | {"ReduceSum", "ReduceMean", "Sigmoid", "Tanh", "Softmax"}
)
_SUMMING = frozenset({"ReduceSum", "ReduceMean", "ReduceSumSquare"})
_AFTER_SUMS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Cast", "Neg", "Identity", "Squeeze", "Unsqueeze"}
)
_SMALL = 4  # numbers up to here stand for themselves


@dataclass(frozen=True)
class ScalarUse:
    """A number that is `form` of a size less `less`."""

    dim: Dim
    less: int
    form: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]

    def make(self, length: int) -> np.ndarray:
        """The number at another size, in the arithmetic of its type."""
        kind = self.dtype.type
        return np.full(self.shape, _FORMS[self.form](kind(length - self.less)), self.dtype)


@dataclass
class _Taint:
    """What values are made of: sizes of axes that positions count along, and sizes that were summed over."""

    along: set[Dim] = field(default_factory=set)
    summed: set[Dim] = field(default_factory=set)
    is_map: bool = False
    is_share: bool = False
    """Whether they are shares of the map rather than samples or pixels."""

    def __bool__(self) -> bool:
        return bool(self.along or self.summed or self.is_map)

    def merge(self, other: _Taint) -> None:
        self.along |= other.along
        self.summed |= other.summed
        self.is_map |= other.is_map
        self.is_share |= other.is_share


def scalars(flow: Flow, tables: Mapping[Place, Table]) -> dict[Place, ScalarUse]:
    """The single numbers that follow the input. Raises SizeRefusedError where one admits two readings."""
    return _Search(flow, tables).run()


class _Search:
    def __init__(self, flow: Flow, tables: Mapping[Place, Table]) -> None:
        self.flow, self.tables = flow, tables
        self.sizes: Sizes = flow.sizes
        self.taints: dict[str, _Taint] = {}
        self.found: dict[Place, ScalarUse] = {}
        self.scalar_nodes: dict[str, int] = {}

    def run(self) -> dict[Place, ScalarUse]:
        for index, node in enumerate(self.flow.view.model.graph.node):
            self._step(index, node)
        return self.found

    def _step(self, index: int, node: NodeProto) -> None:
        if self._is_scalar_node(node):
            self.scalar_nodes.update(dict.fromkeys(node.output, index))
            return
        taint = self._of_inputs(index, node)
        if node.op_type == "Range" and node.output:
            taint.along |= {dim for dim in self.flow.dims.get(node.output[0]) or () if self._moves(dim)}
        if node.op_type in _MEETING and taint:
            for place in self._numbers_read(index, node):
                self._look(index, place, taint)
        passed = _Taint()
        if node.op_type in _PASSING:
            passed.along, passed.is_map, passed.is_share = set(taint.along), taint.is_map, taint.is_share
        if node.op_type in _AFTER_SUMS:
            passed.summed = set(taint.summed)
        if node.op_type in _SUMMING or node.op_type == "MatMul":
            passed.summed |= self._summed(index, node)
        if passed:
            self.taints.update(dict.fromkeys(filter(None, node.output), passed))

    def _moves(self, dim: Dim) -> bool:
        return self.sizes.fixed(dim) is None and not self.sizes.is_opaque(dim)

    def _is_scalar_node(self, node: NodeProto) -> bool:
        """Whether it computes a single number of single numbers of the file."""
        return (
            bool(node.input)
            and node.op_type in _MEETING | {"Cast", "Sqrt", "Neg", "Unsqueeze", "Identity"}
            and all(not name or name in self.scalar_nodes or self._is_number(name) for name in node.input)
        )

    def _is_number(self, name: str) -> bool:
        operands = self.flow.operands
        return operands.is_constant(name) and int(np.prod(operands.shape_of(name), dtype=object)) == 1

    def _of_inputs(self, index: int, node: NodeProto) -> _Taint:
        taint = _Taint()
        for position, name in enumerate(node.input):
            if name in self.taints:
                taint.merge(self.taints[name])
            table = self.tables.get(Place(index, position))
            if table is not None:
                taint.is_map = True
                taint.along |= set(_along(table))
                taint.is_share |= _is_share(table)
        return taint

    def _summed(self, index: int, node: NodeProto) -> set[Dim]:
        dims = self.flow.dims_of(Place(index, 0), node.input[0])
        made = self.flow.dims.get(node.output[0])
        if dims is None or made is None:
            return set()
        if node.op_type == "MatMul":
            gone = [dims[-1]] if dims else []
        else:
            left = {self.sizes.resolve(dim) for dim in made}
            gone = [dim for dim in dims if self.sizes.resolve(dim) not in left]
        moving = [dim for dim in gone if self._moves(dim)]
        return {self.sizes.product(gone)} if moving else set()

    def _numbers_read(self, index: int, node: NodeProto) -> Iterator[Place]:
        """The numbers of the file that a node reads, or that what it reads is computed of."""
        pending = [(index, node)]
        while pending:
            at, current = pending.pop()
            for position, name in enumerate(current.input):
                if name in self.scalar_nodes:
                    inner = self.scalar_nodes[name]
                    pending.append((inner, self.flow.view.model.graph.node[inner]))
                elif name and self._is_number(name):
                    yield Place(at, position)

    def _look(self, meeting: int, place: Place, taint: _Taint) -> None:
        node = self.flow.view.model.graph.node[place.node]
        array = self.flow.operands.array(node.input[place.position])
        if array is None or array.dtype.kind not in "fiu" or place in self.found:
            return
        value = array.reshape(-1)[0]
        if node.op_type == "Pow" or value == 0 or not np.isfinite(value):
            return
        if self._is_stride(node, float(value), taint):
            return
        uses = [use for use in self._readings(array, taint) if self._is_large(node, use, taint)]
        if node.op_type == "Mul":
            uses = [use for use in uses if use.form in _SHARES or meeting == place.node]
            if array.dtype.kind == "f" and not taint.is_share and any(use.form not in _SHARES for use in uses):
                raise refuse(self.flow.labels[place.node], "origins.input-size-scalar-or", value=value.item())
        different: list[ScalarUse] = []
        for use in uses:
            if not any(self._same(use, other) for other in different):
                different.append(use)
        if len(different) > 1:
            raise refuse(self.flow.labels[place.node], "origins.input-size-scalar", value=value.item())
        if different:
            self.found[place] = different[0]
            taint.is_share = taint.is_share or node.op_type in ("Div", "Reciprocal") or different[0].form in _SHARES

    def _same(self, use: ScalarUse, other: ScalarUse) -> bool:
        one = self.sizes.plus(use.dim, -use.less), self.sizes.plus(other.dim, -other.less)
        return use.form == other.form and bool(self.sizes.same(*one))

    def _is_large(self, node: NodeProto, use: ScalarUse, taint: _Taint) -> bool:
        length = (use.dim.old or 0) - use.less
        if node.op_type == "Div" and use.form == "whole" and use.dim in taint.summed and not use.less:
            return True  # a sum is divided by as many as it has, be it one
        return length > _SMALL or (node.op_type in ("Div", "Reciprocal") and length > 2)

    def _is_stride(self, node: NodeProto, value: float, taint: _Taint) -> bool:
        """Whether positions become pixels by it: the steps of a map are as many pixels at any size."""
        if node.op_type != "Mul":
            return False
        return any(self._stride(dim) == value for dim in taint.along)

    def _stride(self, dim: Dim) -> float | None:
        lengths = self.sizes.lengths(dim)
        for position, name in enumerate(("height", "width"), 1):
            if lengths is not None and self.sizes.follows(dim, name):
                whole = self.sizes.regime[name]
                return float((whole[position] - whole[0]) / (lengths[position] - lengths[0]))
        return None

    def _readings(self, array: np.ndarray, taint: _Taint) -> Iterator[ScalarUse]:
        sizes = self.sizes
        dims = list(taint.along)
        if taint.along or taint.is_map:
            for name in ("height", "width"):
                if name not in sizes.symbols:
                    continue
                symbol = sizes.symbol(name)
                lined = [dim for dim in taint.along if sizes.follows(dim, name)]
                if lined or not taint.along:
                    dims.append(symbol)
        for dim in [*dims, *taint.summed]:
            for less in (0, 1):
                for form in _FORMS:
                    use = ScalarUse(dim, less, form, array.dtype, array.shape)
                    length = (dim.old or 0) - less
                    least = 1 if dim in taint.summed else 2
                    possible = length >= least and (array.dtype.kind == "f" or form == "whole")
                    if possible and np.array_equal(use.make(dim.old or 0), array):
                        yield use


def _along(table: Table) -> Iterator[Dim]:
    if isinstance(table, Joined):
        for part in table.parts:
            yield from _along(part)
        return
    assert isinstance(table, Grid)
    for channel in table.channels:
        if channel.axis is not None:
            yield table.dims[table.moving[channel.axis]]


def _is_share(table: Table) -> bool:
    if isinstance(table, Joined):
        return all(_is_share(part) for part in table.parts)
    assert isinstance(table, Grid)
    sequences = [channel.sequence for channel in table.channels if channel.sequence is not None]
    return bool(sequences) and not any(sequence.is_absolute for sequence in sequences)
