"""Single numbers that follow the input: what positions and sums over a map are divided by.

A number is taken for a size where it meets values that come from positions on the map (a grid, an index, or what is
computed of one), or from a sum or mean over it, and where it is exactly that size, one less, or a simple share. Where
it meets other values and is as large as the image or the map, `plain_numbers` decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import NodeProto

from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.loose_numbers import Doubts, assume_sizes, loose_numbers
from resizefix.input_sizes.node_reading import NodeReading
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.own_numbers import is_own
from resizefix.input_sizes.plain_numbers import SMALL, PlainNumbers
from resizefix.input_sizes.position_numbers import refuse_position_numbers
from resizefix.input_sizes.scalar_use import FORMS, SHARES, ScalarUse, alike, distinct, reading
from resizefix.input_sizes.tables import Table
from resizefix.input_sizes.taints import Taint, channels_after, chosen_along, merged, table_taint
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.sizes import Sizes

_COMPARING = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
_MEETING = _COMPARING | {"Add", "Sum", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Clip", "Reciprocal", "Where"}
_PASSING = _MEETING - _COMPARING | frozenset(
    {"Concat", "Slice", "Reshape", "Transpose", "Split", "Gather", "Cast", "Expand", "Tile", "Unsqueeze", "Squeeze"}
    | {"Floor", "Ceil", "Round", "Neg", "Abs", "Sqrt", "Identity", "Flatten", "MatMul"}
    | {"Range", "ReduceSum", "ReduceMean", "ScatterND", "ScatterElements", "GatherElements"}
)
_SUMMING = frozenset(
    {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}
)
_AFTER_SUMS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Sqrt", "Abs", "Reciprocal", "Cast", "Neg", "Identity", "Squeeze", "Unsqueeze"}
)
_DIVIDING = frozenset({"Div", "Mod", "Mul", "Reciprocal"})
_MIXING = frozenset({"Mul", "MatMul", "Einsum"})
_MEAN = 2  # what the sum of two positions is divided by


def scalars(flow: Flow, tables: Mapping[Place, Table]) -> dict[Place, ScalarUse]:
    """The single numbers that follow the input. Raises SizeRefusedError where one admits two readings."""
    search = _ScalarSearch(flow, tables)
    for index, node in enumerate(flow.nodes):
        search.step(index, node)
    found = search.found | search.plain.decide(search.found, search.doubtful)
    assume_sizes(flow, found, search.doubtful, search.mixed | search.plain.uncounted)
    loose_numbers(flow, found, search.doubtful, search.plain.pixels, search.numbers_read, search.taints, search.steps)
    refuse_position_numbers(flow, search.of_input, found, search.steps)
    return found


class _ScalarSearch:
    def __init__(self, flow: Flow, tables: Mapping[Place, Table]) -> None:
        self.flow, self.tables = flow, tables
        self.sizes: Sizes = flow.sizes
        self.taints: dict[str, Taint] = {}
        self.found: dict[Place, ScalarUse] = {}
        self.doubtful: Doubts = {}
        self.steps: set[Place] = set()
        self.mixed: set[Place] = set()
        self.scalar_nodes: dict[str, int] = {}
        self.plain = PlainNumbers(flow)

    def step(self, index: int, node: NodeProto) -> None:
        if self._is_scalar_node(node):
            self.scalar_nodes.update(dict.fromkeys(node.output, index))
            return
        taints = [self.of_input(index, position, name) for position, name in enumerate(node.input)]
        taint = merged(taints)
        taint.is_mixed |= node.op_type in _MIXING and self._meets_data(node, taints)
        if node.op_type == "Range" and node.output:
            taint.along |= {dim for dim in self.flow.dims.get(node.output[0]) or () if self._moves(dim)}
        if node.op_type in _MEETING:
            for place in self.numbers_read(index, node):
                known = bool(taint) and self._look(index, place, taint)
                listed = place.node == index and not self._is_number(node.input[place.position])
                if not known and (listed or not (taint.along or taint.is_map)):
                    self.plain.look(index, place, taint)
                elif not known:
                    self.plain.look_at_count(index, place, taint)
        self._outer_axes(node, taint)
        self._pass_on(index, node, taint, taints)

    def _pass_on(self, index: int, node: NodeProto, taint: Taint, taints: list[Taint | None]) -> None:
        passed = Taint()
        if node.op_type in _PASSING:
            passed = replace(taint, along=set(taint.along), summed=set(), channels=None)
        if node.op_type in _AFTER_SUMS:
            passed.summed = set(taint.summed)
        if node.op_type in _SUMMING or node.op_type in ("MatMul", "Einsum"):
            passed.summed |= self._summed(index, node)
        if node.op_type in ("ArgMax", "ArgMin", "TopK", "NonZero", "MaxPool"):
            self._indices(index, node)
            return
        if not passed or not node.output:
            return
        n = NodeReading(self.flow, index, node, self.flow.labels[index])
        chosen = chosen_along(n, taint)
        channels = channels_after(n, taints) if passed.along else [None] * len(node.output)
        for place, name in enumerate(node.output):
            if name:
                along = passed.along if chosen is None else chosen[place]
                self.taints[name] = replace(passed, along=along, channels=channels[place])

    def _meets_data(self, node: NodeProto, taints: Sequence[Taint | None]) -> bool:
        """Whether a product has a factor of the image that is no position, or two of the image."""
        moving = [taint for name, taint in zip(node.input, taints, strict=True) if self.flow.is_moving(name)]
        return len(moving) > 1 or None in moving

    def _indices(self, index: int, node: NodeProto) -> None:
        """Indices count along an axis: where that is made of several, the inner ones divide them."""
        dims = self.flow.dims_of(Place(index, 0), node.input[0])
        output = node.output[-1]
        if not dims or not output or (len(node.output) == 1 and node.op_type in ("TopK", "MaxPool")):
            return
        axis = attribute_of(node, "axis", -1 if node.op_type == "TopK" else 0)
        counted = dims[2:] if node.op_type == "MaxPool" else dims if node.op_type == "NonZero" else [dims[axis]]
        atoms = [atom for dim in counted for atom in self.sizes.atoms(dim)]
        inner = [self.sizes.product(atoms[first:]) for first in range(len(atoms))]
        along = {dim for dim in (*inner, *counted) if self._moves(dim)}
        if along:
            counts = node.op_type == "NonZero" and self.flow.is_filled(node.input[0])
            self.taints[output] = Taint(along=along, is_index=not counts)

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

    def of_input(self, index: int, position: int, name: str) -> Taint | None:
        """What an operand is made of."""
        table = self.tables.get(Place(index, position))
        return self.taints.get(name) if table is None else table_taint(self.sizes, table)

    def _summed(self, index: int, node: NodeProto) -> set[Dim]:
        dims = self.flow.dims_of(Place(index, 0), node.input[0])
        made = self.flow.dims.get(node.output[0])
        if dims is None or made is None:
            return set()
        if node.op_type == "MatMul":
            gone = [dims[-1]] if dims else []
        else:
            left, gone = [self.sizes.resolve(dim) for dim in made], []
            for dim in map(self.sizes.resolve, dims):
                if dim in left:  # a side may be as long as there are channels
                    left.remove(dim)
                else:
                    gone.append(dim)
        moving = [dim for dim in gone if self._moves(dim)]
        return {self.sizes.product(gone)} if moving else set()

    def numbers_read(self, index: int, node: NodeProto) -> Iterator[Place]:
        """The numbers of the file that a node reads, or that what it reads is computed of."""
        pending = [(index, node)]
        while pending:
            at, current = pending.pop()
            for position, name in enumerate(current.input):
                if name in self.scalar_nodes:
                    inner = self.scalar_nodes[name]
                    pending.append((inner, self.flow.nodes[inner]))
                elif name and (self._is_number(name) or self.plain.is_short_list(Place(at, position), name)):
                    yield Place(at, position)

    def _look(self, meeting: int, place: Place, taint: Taint) -> bool:
        """Whether it is decided what the number is."""
        node = self.flow.nodes[place.node]
        array = self.flow.operands.array(node.input[place.position])
        if array is None or array.dtype.kind not in "fiu" or place in self.found or array.size > 1:
            return place in self.found
        value = array.reshape(-1)[0]
        if (node.op_type == "Pow" and place.position) or value == 0 or not np.isfinite(value):
            return True
        label = self.flow.labels[place.node]
        said = self.flow.choices.of(label)
        if said == "keep" or (not said and is_own(self.flow, self.flow.nodes[meeting], node, array, self.found)):
            return True
        strides = {self.sizes.stride(dim) for dim in taint.along if not taint.is_share}
        if node.op_type == "Mul" and float(value) in strides:
            # Positions become pixels by it: the steps of a map are as many pixels at any size.
            taint.is_pixel = True
            self.steps.add(place)
            return True
        uses = [use for use in self._readings(array, taint) if self._is_large(node, use, taint)]
        if node.op_type == "Mul":
            uses = [use for use in uses if use.form in SHARES or meeting == place.node]
            whole = any(use.form not in SHARES and use.dim not in taint.summed for use in uses)
            if array.dtype.kind == "f" and not taint.is_share and whole and said != "follow":
                self.doubtful[place] = uses
                return True
        different = distinct(self.sizes, uses)
        loose = self._may_be_offset(node, uses, float(value)) or said not in (None, "follow")
        loose |= bool(uses) and value == np.floor(value) and self._counts_alone(node, self.flow.nodes[meeting])
        if not different and taint.is_index and self._may_divide(node, float(value)):
            loose = True
        if (loose and said != "follow") or len(different) > 1:
            self.doubtful[place] = different
            return True
        if different:
            self.found[place] = different[0]
            if taint.is_mixed or taint.is_share:
                self.mixed.add(place)
            taint.is_share = taint.is_share or node.op_type in ("Div", "Reciprocal") or different[0].form in SHARES
        return bool(different)

    def _counts_alone(self, node: NodeProto, meets: NodeProto) -> bool:
        """Whether a number moves positions, or is compared with them, that no value of the image moves: none of these
        lies beyond the map."""
        return _DIVIDING.isdisjoint((node.op_type, meets.op_type)) and not any(map(self.flow.is_moving, meets.input))

    def _may_divide(self, node: NodeProto, number: float) -> bool:
        """Whether a number that divides indices is as long as an axis of a map, though none that they count along."""
        large = node.op_type in ("Div", "Mod") and number > SMALL and number == np.floor(number)
        return large and bool(self.flow.solver.seen.get(int(number)))

    def _outer_axes(self, node: NodeProto, taint: Taint) -> None:
        """Indices divided by the length of the last axes, as channels: what is left counts along those before them."""
        numbers = [self.flow.operands.array(name) for name in node.input if self._is_number(name)]
        if node.op_type != "Div" or not taint.is_index or len(numbers) != 1 or numbers[0] is None:
            return
        left: list[Dim] = []
        for dim in taint.along:
            atoms, count = self.sizes.atoms(dim), 1
            while atoms and count < numbers[0].flat[0]:
                count *= atoms[-1].old or 1
                atoms = atoms[:-1]
            if count == numbers[0].flat[0]:
                left.append(self.sizes.product(atoms))
        if left:
            taint.outer = frozenset(filter(self._moves, left))
            taint.along |= taint.outer

    def _may_be_offset(self, node: NodeProto, uses: list[ScalarUse], value: float) -> bool:
        """Whether a number that moves positions may be one of its own, as the middle of a stride: one that is added,
        is whole, and is no number that the model divides or multiplies by elsewhere."""
        adds = node.op_type == ("Add" if value > 0 else "Sub")
        if not adds or not uses or value != np.floor(value):
            return False
        return not any(alike(self.sizes, use, other) for use in uses for other in self.found.values())

    def _is_large(self, node: NodeProto, use: ScalarUse, taint: Taint) -> bool:
        length = (use.dim.old or 0) - use.less
        if node.op_type in ("Div", "Mod") and taint.is_index:
            return length > 1
        if use.form in ("half", "minus half") and abs(float(use.array.flat[0])) in (1, _MEAN):
            return False
        if node.op_type == "Div" and use.form == "whole" and use.dim in taint.summed and not use.less:
            return True  # a sum is divided by as many as it has, be it one
        return length > SMALL or (node.op_type in ("Div", "Reciprocal") and length > 2)

    def _readings(self, array: np.ndarray, taint: Taint) -> Iterator[ScalarUse]:
        sizes = self.sizes
        dims = [] if taint.is_pixel else list(taint.along)
        if (taint.along or taint.is_map) and not taint.is_index:
            along = taint.along
            dims += [s for s in sizes.sides if not along or any(sizes.follows(dim, s.data) for dim in along)]
        for dim in [*dims, *taint.summed]:
            for less in (0, 1):
                for form in FORMS:
                    least = 1 if dim in taint.summed else 2
                    use = reading(dim, less, form, array) if (dim.old or 0) - less >= least else None
                    share = form == "reciprocal" and array.dtype.kind == "f"
                    if use is not None and (not taint.is_index or share or (not less and form == "whole")):
                        yield use
