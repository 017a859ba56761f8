"""One node of the main graph as the rows see it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from onnx import NodeProto

from resizefix.document.operator_semantics.operand import attribute_of
from resizefix.origins.input_sizes.dim import Dim, Sizes
from resizefix.origins.input_sizes.operands import Place
from resizefix.origins.input_sizes.refusal import SizeRefusedError, refuse
from resizefix.origins.input_sizes.solver import Solver

if TYPE_CHECKING:
    from resizefix.origins.input_sizes.flow import Flow

DimList = tuple[Dim, ...]


class UnknownRankError(Exception):
    """A node's input has sizes that nothing is known of; so have its outputs."""


class AttributeUse(NamedTuple):
    """A number in an attribute of a node that may follow the input: entry `axis` of `name`."""

    node: int
    name: str
    axis: int


class NodeReading:
    """A node, its operands' sizes, and what rows do with them."""

    def __init__(self, flow: "Flow", index: int, node: NodeProto, label: str) -> None:
        self.flow, self.index, self.node, self.label = flow, index, node, label
        self.sizes: Sizes = flow.sizes
        self.solver: Solver = flow.solver
        self.opset = flow.operands.opset

    def __len__(self) -> int:
        return len(self.node.input)

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.node.input) and bool(self.node.input[position])

    def dims(self, position: int) -> DimList:
        """The sizes of an input. Raises UnknownRankError."""
        place = Place(self.index, position)
        found = self.flow.dims_of(place, self.node.input[position]) if self.has(position) else None
        if found is None:
            raise UnknownRankError
        return tuple(self.sizes.resolve(dim) for dim in found)

    def weight_shape(self, position: int) -> tuple[int, ...] | None:
        """The shape of an operand that holds weights, as numbers."""
        name = self.node.input[position]
        if self.flow.operands.is_constant(name):
            return self.flow.operands.shape_of(name)
        olds = tuple(dim.old for dim in self.dims(position))
        return None if None in olds else olds  # type: ignore[return-value]

    def summed(self, position: int, axis: int, partner: Dim | None) -> DimList:
        """The sizes of a factor of a matrix product. Those of a constant are fixed, but that of the axis that is summed
        over where its partner follows the input: such a matrix is a table of positions, or the node is refused."""
        if not self.flow.operands.is_constant(self.node.input[position]):
            return self.dims(position)
        if not any(self.flow.is_moving(name) for name in self.node.input):
            return self.dims(position)  # a matrix that turns a table of positions
        shape = self.flow.operands.shape_of(self.node.input[position])
        fixed = tuple(self.const(length) for length in shape)
        if partner is None or not shape or self.sizes.fixed(partner) is not None:
            return fixed
        place = 0 if len(shape) == 1 else len(shape) + axis
        return (*fixed[:place], self.dims(position)[place], *fixed[place + 1 :])

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        return attribute_of(self.node, name, default)

    def listed(self, position: int) -> list[Dim]:
        """An operand that lists sizes. Raises SizeRefusedError where they depend on data."""
        known = self.flow.operands.known(Place(self.index, position), self.node.input[position])
        if known is None or len(known.shape) > 1:
            raise UnknownRankError
        dims = [self.flow.operands.dim(element) for element in known.elements.flat]
        if any(dim is None for dim in dims):
            raise UnknownRankError
        return [dim for dim in dims if dim is not None]

    def listed_attribute(self, name: str) -> list[Dim] | None:
        """Sizes that stand in an attribute, each an unknown of this node; None where it is left out."""
        values = self.attribute(name)
        if values is None:
            return None
        made: list[Dim] = []
        for place, value in enumerate(values):
            use = AttributeUse(self.index, name, place)
            if value < 1:
                made.append(self.const(value))
                continue
            if use not in self.flow.attributes:
                self.flow.attributes[use] = self.sizes.var(value)
            made.append(self.flow.attributes[use])
        return made

    def numbers(self, position: int, attribute: str | None = None) -> list[int] | None:
        """Numbers that are no sizes, as axes; an attribute in older opsets. None where they are left out."""
        given = None if attribute is None else self.attribute(attribute)
        if given is not None:
            return [int(value) for value in (given if isinstance(given, (list, tuple)) else [given])]
        if not self.has(position):
            return None
        array = self.flow.operands.numbers(Place(self.index, position), self.node.input[position])
        if array is None:
            raise UnknownRankError
        return [int(value) for value in array.flat]

    def const(self, value: int) -> Dim:
        """A number as a size."""
        return self.sizes.const(value)

    def meet(self, one: Dim, other: Dim) -> None:
        """Two sizes that are equal."""
        self.solver.meet(self.label, one, other)

    def require(self, dim: Dim, what: str) -> None:
        """A size that weights fix."""
        self.solver.require(self.label, dim, what)

    def refuse(self, code: str, /, **arguments: object) -> SizeRefusedError:
        """The error that names this node."""
        return refuse(self.label, code, **arguments)

    def broadcast(self, many: Sequence[DimList]) -> DimList:
        """The sizes of an elementwise result, ranks aligned at the end (docs/Broadcasting.md)."""
        rank = max(len(dims) for dims in many)
        return tuple(
            self.common([dims[axis - rank + len(dims)] for dims in many if axis - rank + len(dims) >= 0])
            for axis in range(rank)
        )

    def common(self, dims: Sequence[Dim]) -> Dim:
        """The size of one axis of operands that are broadcast to each other."""
        sizes = self.sizes
        long = [dim for dim in dims if dim.old != 1]
        ones = [dim for dim in dims if dim.old == 1 and sizes.fixed(dim) is None]
        if not long:
            for dim in ones[1:]:
                self.meet(dim, ones[0])
            return sizes.resolve(ones[0]) if ones else dims[0]
        for dim in ones:
            if sizes.varies(dim):
                raise self.refuse("origins.input-size-one-sample", old=long[0].old)
            self.require(dim, "origins.broadcast-operand")
        for dim in long[1:]:
            self.meet(long[0], dim)
        return sizes.resolve(long[0])


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from 0. Raises IndexError for one that a tensor of this rank does not have."""
    if not -rank <= axis < rank:
        raise IndexError(axis)
    return axis + rank if axis < 0 else axis


Row = Callable[[NodeReading], "list[DimList]"]
"""What an operator makes of the sizes of its inputs."""
