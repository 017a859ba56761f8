"""One node as its row sees it, whatever the sizes of its inputs are: numbers, expressions over the input's, unknown.

A row asks for sizes and says which must be equal (`meet`) and which weights fix (`require`). What that means is up to
the domain: numbers that differ are a conflict, expressions become a condition, an unknown is bound. What else can be
asked of a node concerns numbers of the file that may follow the input; where sizes are numbers, there are none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.notes import DimList, Notes, Split
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.sizes import Sizes


class UnknownRankError(Exception):
    """A node's input has sizes that nothing is known of; so have its outputs."""


class Reading(ABC):
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
        made: list[Dim] = []
        for axis in range(rank):
            column = [
                (dims[axis - rank + len(dims)], place)
                for dims, place in zip(many, places, strict=True)
                if axis - rank + len(dims) >= 0
            ]
            made.append(self.common([dim for dim, _ in column], [place for _, place in column]))
        return tuple(made)

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


Row = Callable[[Reading], Sequence[DimList]]
"""What an operator makes of the sizes of its inputs."""
