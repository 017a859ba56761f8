"""One node of the main graph as the rows see it, where sizes follow the model's input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import OF_PARTS, SizeRefusedError, refuse
from resizefix.input_sizes.solver import Solver
from resizefix.shapes.expression import Dim
from resizefix.shapes.reading import AttributeUse, DimList, MisfitError, NodeSizes, Split, UnknownRankError

if TYPE_CHECKING:
    from resizefix.input_sizes.flow import Flow


class NodeReading(NodeSizes):
    """Sizes that must be equal are met by the solver; numbers of the file are unknowns that it binds."""

    numbers_may_follow = True

    def __init__(self, flow: "Flow", index: int, node: NodeProto, label: str) -> None:
        self.flow, self.index, self.node, self.label = flow, index, node, label
        self.sizes, self.notes = flow.sizes, flow
        self.solver: Solver = flow.solver
        self.opset = flow.operands.opset
        self.choice = flow.choices.of(label)

    def dims(self, position: int) -> DimList:
        place = Place(self.index, position)
        found = self.flow.dims_of(place, self.node.input[position]) if self.has(position) else None
        if found is None:
            raise UnknownRankError
        return tuple(self.sizes.resolve(dim) for dim in found)

    def weight_shape(self, position: int) -> tuple[int, ...] | None:
        if self.may_follow(position):
            return self.flow.operands.shape_of(self.node.input[position])
        return super().weight_shape(position)

    def summed(self, position: int, axis: int, partner: Dim | None) -> DimList:
        """The sizes of a constant are fixed, but that of the axis that is summed over where its partner follows the
        input: such a matrix is a table of positions, or the node is refused."""
        if not self.may_follow(position):
            return self.dims(position)
        if not any(self.flow.is_moving(name) for name in self.node.input):
            return self.dims(position)  # a matrix that turns a table of positions
        shape = self.flow.operands.shape_of(self.node.input[position])
        fixed = tuple(self.const(length) for length in shape)
        if partner is None or not shape or self.sizes.fixed(partner) is not None:
            return fixed
        place = 0 if len(shape) == 1 else len(shape) + axis
        return (*fixed[:place], self.dims(position)[place], *fixed[place + 1 :])

    def listed(self, position: int) -> list[Dim]:
        known = self.flow.operands.known(Place(self.index, position), self.node.input[position])
        if known is None or len(known.shape) > 1:
            raise UnknownRankError
        dims = [self.flow.operands.dim(element) for element in known.elements.flat]
        if any(dim is None for dim in dims):
            raise UnknownRankError
        return [dim for dim in dims if dim is not None]

    def listed_attribute(self, name: str) -> list[Dim] | None:
        """Each number is an unknown of this node."""
        values = self.attribute(name)
        if values is None:
            return None
        made: list[Dim] = []
        for place, value in enumerate(values):
            use = AttributeUse(self.index, name, place)
            if value < 1:
                made.append(self.const(value))
                continue
            if use not in self.notes.attributes:
                self.notes.attributes[use] = self.sizes.var(value)
            made.append(self.notes.attributes[use])
        return made

    def array(self, position: int) -> Array | None:
        return self.flow.operands.numbers(Place(self.index, position), self.node.input[position])

    def scales(self, position: int) -> Array | None:
        if not self.has(position) or not self.may_follow(position):
            return None
        array = self.flow.operands.array(self.node.input[position])
        if array is None:
            raise UnknownRankError
        return array

    def elements(self, position: int) -> Sequence[Any]:
        operands = self.flow.operands
        known = operands.known(Place(self.index, position), self.node.input[position]) if self.has(position) else None
        if known is None or len(known.shape) != 1:
            raise UnknownRankError
        return list(known.elements)

    def scaled_by(self, scale: Any, dim: Dim) -> Dim:
        operands = self.flow.operands
        made = operands.scaled_by(scale, dim)
        if made.kind == "opaque" and not self.sizes.is_opaque(dim) and not operands.is_opaque(scale):
            raise self.refuse("origins.input-size-scales")
        return made

    def meet(self, one: Dim, other: Dim, *positions: int) -> None:
        self.solver.meet(self.label, one, other)

    def require(self, dim: Dim, what: str) -> None:
        self.solver.require(self.label, dim, what)

    def fix(self, dim: Dim, what: str) -> None:
        self.require(dim, what)

    def reaches(self, dim: Dim) -> None:
        pass  # the row looks at positions that the file lists

    def leave_to_runtime(self, when: bool) -> None:
        pass  # the result is run in the end

    def misfit(self, *positions: int) -> Exception:
        return MisfitError()

    def refuse(self, code: str, /, **arguments: object) -> SizeRefusedError:
        return refuse(self.label, code, **arguments)

    def unknown(self, old: int, candidates: Sequence[Dim] | None = None) -> Dim:
        made = self.sizes.var(old)
        if candidates is not None:
            self.solver.candidates[made] = list(candidates)
        return made

    def may_follow(self, position: int) -> bool:
        return self.flow.operands.is_constant(self.node.input[position])

    def follows(self, position: int) -> bool:
        return self.flow.is_moving(self.node.input[position])

    def is_filled(self, position: int) -> bool:
        return self.flow.is_filled(self.node.input[position])

    def is_weight(self, dim: Dim) -> bool:
        return self.solver.is_weight(dim)

    def padded(self, dim: Dim, before: Dim, after: Dim) -> Dim:
        return self.flow.padded(self, dim, before, after)

    def divided(self, whole: Dim, outer: int, inner: int) -> tuple[Dim, Dim]:
        return self.solver.split(self.label, whole, outer, inner).parts

    def joins_next(self, dim: Dim, front: int, behind: int) -> bool:
        # Another batch is compared image by image.
        follows = any(self.sizes.follows(dim, name) for name in self.sizes.symbols if name != "batch")
        if follows and self.choice not in OF_PARTS:
            raise self.refuse("origins.input-size-split", whole=front * behind, outer=front, inner=behind)
        return follows and self.choice == OF_PARTS[1]

    @property
    def splits(self) -> Sequence[Split]:
        return self.solver.splits

    @property
    def producer(self) -> str:
        return str(self.flow.view.model.producer_name)

    def readers(self, name: str) -> Sequence[NodeProto]:
        return self.flow.operands.readers(name)

    def cuts_of(self, node: NodeProto) -> list[Array | None]:
        operands = self.flow.operands
        return [operands.array(name) for name in node.input[1:4] if operands.is_constant(name)]
