"""One node as its row sees it, whatever the sizes of its inputs are: numbers, expressions over the input's, unknown.

A row asks for sizes and says which must be equal (`meet`) and which weights fix (`require`). What that means is up to
the domain: numbers that differ are a conflict, expressions become a condition, an unknown is bound. What else can be
asked of a node concerns numbers of the file that may follow the input; where sizes are numbers, there are none.

What rows note about the numbers of nodes: those that may follow the model's input, and what they must suit.

Whoever decides about such numbers reads the notes after the walk. Of sizes that are plain numbers nothing is noted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.sizes import Sizes


class UnknownRankError(Exception):
    """A node's input has sizes that nothing is known of; so have its outputs."""


class MisfitError(UnknownRankError):
    """The operator does not take the node's sizes, so that nothing is known of those of its outputs."""


class NodeSizes(ABC):
    """A node, its operands' sizes, and what rows do with them."""

    node: NodeProto
    opset: int
    index: int
    label: str
    sizes: Sizes
    notes: Notes
    numbers_may_follow = False
    """Whether numbers of the file may follow the model's input."""
    choice: str | None = None
    """The reading that the user chose for the numbers of this node."""

    def __len__(self) -> int:
        return len(self.node.input)

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.node.input) and bool(self.node.input[position])

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        return attribute_of(self.node, name, default)

    def const(self, value: int) -> Dim:
        """A number as a size."""
        return self.sizes.const(value)

    # ---- what operands are ----

    @abstractmethod
    def dims(self, position: int) -> DimList:
        """The sizes of an input. Raises UnknownRankError."""

    @abstractmethod
    def listed(self, position: int) -> list[Dim]:
        """An operand that lists sizes. Raises UnknownRankError where they are not known."""

    @abstractmethod
    def scales(self, position: int) -> Array | None:
        """An operand that holds scales; None where the model computes them. Raises UnknownRankError."""

    @abstractmethod
    def array(self, position: int) -> Array | None:
        """The value of an operand as it is in the file; None where it is not known."""

    def listed_attribute(self, name: str) -> list[Dim] | None:
        """Sizes that stand in an attribute; None where it is left out."""
        values = self.attribute(name)
        return None if values is None else [self.const(value) for value in values]

    def numbers(self, position: int, attribute: str | None = None) -> list[int] | None:
        """Numbers that are no sizes, as axes; an attribute in older opsets. None where they are left out."""
        given = None if attribute is None else self.attribute(attribute)
        if given is not None:
            return [int(value) for value in (given if isinstance(given, (list, tuple)) else [given])]
        if not self.has(position):
            return None
        array = self.array(position)
        if array is None:
            raise UnknownRankError
        return [int(value) for value in array.flat]

    def weight_shape(self, position: int) -> tuple[int, ...] | None:
        """The shape of an operand that holds weights, as numbers."""
        olds = tuple(dim.old for dim in self.dims(position))
        return None if None in olds else olds  # type: ignore[return-value]

    # ---- what must hold ----

    @abstractmethod
    def meet(self, one: Dim, other: Dim, *positions: int) -> None:
        """Two sizes that are equal, those of the inputs at `positions`."""

    @abstractmethod
    def require(self, dim: Dim, what: str) -> None:
        """A size of an input that weights fix."""

    @abstractmethod
    def misfit(self, *positions: int) -> Exception:
        """The error for sizes that the operator does not take, those of the inputs at `positions`."""

    @abstractmethod
    def refuse(self, code: str, /, **arguments: object) -> Exception:
        """The error for what no row follows."""

    @abstractmethod
    def fix(self, dim: Dim, what: str) -> None:
        """A listed number that stays as it is."""

    @abstractmethod
    def reaches(self, dim: Dim) -> None:
        """An axis from which elements are taken by their positions."""

    @abstractmethod
    def leave_to_runtime(self, when: bool) -> None:
        """Where only a run tells whether the node takes sizes that are numbers, and what it makes of them."""

    def broadcast(self, many: Sequence[DimList], positions: Sequence[int] = ()) -> DimList:
        """The sizes of an elementwise result, ranks aligned at the end (docs/Broadcasting.md). `positions` are those of
        the inputs that have these sizes, by default all in their order."""
        rank = max(len(dims) for dims in many)
        places = positions or range(len(many))
        sizes: list[Dim] = []
        for axis in range(rank):
            column = [
                (dims[axis - rank + len(dims)], place)
                for dims, place in zip(many, places, strict=True)
                if axis - rank + len(dims) >= 0
            ]
            sizes.append(self.common([dim for dim, _ in column], [place for _, place in column]))
        return tuple(sizes)

    def common(self, dims: Sequence[Dim], positions: Sequence[int] = ()) -> Dim:
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
        wide = [place for dim, place in zip(dims, positions, strict=False) if dim.old != 1]
        for dim in long[1:]:
            self.meet(long[0], dim, *wide)
        return sizes.resolve(long[0])

    # ---- numbers of the file that may follow the input: where sizes are numbers, none does ----

    def unknown(self, old: int, candidates: Sequence[Dim] | None = None) -> Dim:
        """A number of the file that may be a size which follows the input; `candidates` are what it may be."""
        return self.const(old)

    def may_follow(self, position: int) -> bool:
        """Whether an operand is a constant of the file."""
        return False

    def follows(self, position: int) -> bool:
        """Whether an operand is computed from an image."""
        return True

    def is_filled(self, position: int) -> bool:
        """Whether every sample of an operand is the same number other than 0."""
        return False

    def is_weight(self, dim: Dim) -> bool:
        """Whether this is an axis of a constant whose numbers cannot be positions on it."""
        return False

    def summed(self, position: int, axis: int, partner: Dim | None) -> DimList:
        """The sizes of a factor of a matrix product, which is summed over `axis` with that of its partner."""
        return self.dims(position)

    def elements(self, position: int) -> Sequence[Any]:
        """The scales that the model computes. Raises UnknownRankError."""
        raise UnknownRankError

    def scaled_by(self, scale: Any, dim: Dim) -> Dim:
        """The size that a computed scale makes of another."""
        raise UnknownRankError

    def padded(self, dim: Dim, before: Dim, after: Dim) -> Dim:
        """The size of a padded axis."""
        return self.sizes.total([before, dim, after])

    def divided(self, whole: Dim, outer: int, inner: int) -> tuple[Dim, Dim]:
        """The two factors of a size."""
        return self.const(outer), self.const(inner)

    def joins_next(self, dim: Dim, front: int, behind: int) -> bool:
        """Whether a size of 1 between `front` and `behind` samples becomes one with those behind."""
        return False

    @property
    def splits(self) -> Sequence[Split]:
        """The sizes that were divided so far."""
        return ()

    @property
    def producer(self) -> str:
        """The exporter that wrote the model."""
        return ""

    def readers(self, name: str) -> Sequence[NodeProto]:
        """The nodes that read a tensor."""
        return ()

    def cuts_of(self, node: NodeProto) -> list[Array | None]:
        """Where a Slice begins and ends, and on which axes, as far as the file says it by constants."""
        return []


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from 0. Raises IndexError for one that a tensor of this rank does not have."""
    if not -rank <= axis < rank:
        raise IndexError(axis)
    return axis + rank if axis < 0 else axis


DimList = tuple[Dim, ...]
Row = Callable[[NodeSizes], Sequence[DimList]]
"""What an operator makes of the sizes of its inputs."""


class AttributeUse(NamedTuple):
    """A number in an attribute of a node that may follow the input: entry `axis` of `name`."""

    node: int
    name: str
    axis: int


class ResizeUse(NamedTuple):
    """A resize whose output's sizes are numbers of the file.

    `axes` has, for each axis that may follow the input, its position, the size before and the size after. `position` is
    that of the operand, None for an attribute, COMPUTED where nodes make it; `is_scale`: it holds scales.
    """

    node: int
    label: str
    position: int | None
    is_scale: bool
    axes: tuple[tuple[int, Dim, Dim], ...]
    listed: tuple[int, ...]
    """The axes that the operand lists."""


COMPUTED = -1


@dataclass
class Split:
    """A size that a Reshape divides in two: one of `parts` is fixed, and which one is not known at first."""

    node: str
    whole: Dim
    parts: tuple[Dim, Dim]
    leading: list[bool] = field(default_factory=list)
    """For each time that a part became one with the first axis of a tensor: whether it was the outer one."""


class Notes:
    """The notes of one walk; nodes are named by their labels."""

    def __init__(self) -> None:
        self.attributes: dict[AttributeUse, Dim] = {}
        self.samplings: list[tuple[str, DimList, DimList]] = []
        """Nodes that sample a map at a grid: the sides of both."""
        self.positions: list[tuple[str, Dim, DimList]] = []
        """Nodes that read an axis at constant positions: it, and the sizes of the table of positions."""
        self.resizes: list[ResizeUse] = []
        self.cuts: list[tuple[str, Dim, Dim, Dim]] = []
        self.few: list[Dim] = []
        """The ends of cuts that take a few first samples."""
        self.tails: list[tuple[str, Dim, Dim, Dim]] = []
        """Cuts up to the end of an axis: where they begin, the axis, and how much is left."""
        self.even_pads: list[tuple[str, Dim, int, int, int]] = []
        self.padded_outputs: list[tuple[str, DimList]] = []
        """Transposed convolutions that pad one side of their output alone, so that it has a wished size."""
        self.uneven_windows: list[tuple[str, Dim]] = []
        self.quotients: list[tuple[str, Dim, Dim]] = []
        self.halves: list[tuple[str, Dim, Dim]] = []
        self.scattered: list[tuple[str, DimList, DimList]] = []
        """Nodes that write at positions which no image decides: the sizes of the data and of the positions."""
        self.chosen: list[tuple[str, Dim, Dim]] = []
        """Nodes that choose some of an axis: how long it is, and how many."""
        self.shared_out: list[tuple[str, Dim, int]] = []
        """Nodes that cut an axis into so many even parts."""
        self.windows: list[tuple[str, DimList]] = []
        """Pools of a few samples that tile their map, and how many windows there are."""
        self.whole_pools: list[tuple[str, tuple[int, ...]]] = []
        """Pools whose window is as large as their map, on some axis at least: the windows."""
        self.pools: list[tuple[int, str, tuple[Dim, ...], tuple[Dim, ...]]] = []
