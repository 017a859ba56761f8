"""A node whose inputs' sizes are numbers: those that do not fit together are a conflict, as onnxruntime would stop."""

from collections.abc import Sequence
from typing import Any, Protocol

from onnx import NodeProto, TypeProto, helper

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.inference import dims_of, infer
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.reading import DimList, NodeSizes, Notes, UnknownRankError
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.table import RUNS_ANYWAY, row_for_numbers

Dims = tuple[int, ...]


class ConflictError(Exception):
    """Inputs do not fit together, those at `positions`."""

    def __init__(self, *positions: int) -> None:
        super().__init__(positions)
        self.positions = positions


class UnknownSizesError(Exception):
    """It is not known what comes out, or whether anything does."""


class Tensors(Protocol):
    """What is known of the tensors of a model in one of several cases."""

    def dims(self, name: str, case: int) -> Dims | None:
        """The sizes of a tensor; None where they are not known."""

    def value(self, name: str, case: int) -> Array | None:
        """Its value, where that is a list of sizes; None where it is not known."""

    def type_of(self, name: str, case: int) -> TypeProto | None:
        """Its type; None where its sizes are not known."""


class NumberReading(NodeSizes):
    """A node of which one case after another is asked, the one with which the model is known to run first."""

    index, label = 0, ""

    def __init__(self, tensors: Tensors, numbers: "Numbers", node: NodeProto, opset: int) -> None:
        self.node, self.opset = node, opset
        self.sizes, self.notes = numbers.sizes, numbers.notes
        self._tensors, self._numbers = tensors, numbers
        self._case = 0
        self._row = row_for_numbers(node, opset)
        self._attributes: dict[str, Any] | None = None
        self._made: dict[tuple[Dims | None, ...], list[Dims | None]] = {}
        self._reads_values = False
        self._required: list[int] = []
        self._reached: list[int] = []
        self._before: tuple[list[int], list[int]] | None = None

    def made(self, case: int) -> list[Dims | None]:
        """The sizes of the outputs; None where data decide. Raises ConflictError, UnknownSizesError."""
        self._case = case
        read = tuple(self._tensors.dims(name, case) if name else None for name in self.node.input)
        sizes = self._made.get(read)  # of most nodes many cases give the same sizes
        if sizes is None:
            sizes = self._asked()
            if not self._reads_values:
                self._made[read] = sizes
        return sizes

    def _asked(self) -> list[Dims | None]:
        self._required, self._reached = [], []
        try:
            sizes = self._by_row()
        except MISFITS:
            raise UnknownSizesError from None
        if self._before is None:
            self._before = self._required, self._reached
        required, reached = self._before
        # What weights fix must stay as it was, and positions that data give must still be there.
        if self._required != required or any(new < old for new, old in zip(self._reached, reached, strict=True)):
            raise UnknownSizesError
        return sizes

    def _by_row(self) -> list[Dims | None]:
        if self._row is None:
            raise UnknownSizesError
        try:
            return [self._numbers.plain(dims) for dims in self._row(self)]
        except UnknownRankError:
            if self.node.op_type not in RUNS_ANYWAY:
                raise UnknownSizesError from None
            return self._inferred()

    def _inferred(self) -> list[Dims | None]:
        """What onnx's inference of the one node says."""
        tensors, case = self._tensors, self._case
        self._reads_values = True
        types = infer(
            self.node, self.opset, lambda name: tensors.type_of(name, case), lambda name: tensors.value(name, case), {}
        )
        shapes = [dims_of(types.get(name)) for name in self.node.output]
        return [None if dims is None or None in dims else dims for dims in shapes]  # type: ignore[misc]

    # ---- what operands are ----

    def attribute(self, name: str, default: Any = None) -> Any:
        if self._attributes is None:
            self._attributes = {one.name: helper.get_attribute_value(one) for one in self.node.attribute}
        return self._attributes.get(name, default)

    def dims(self, position: int) -> DimList:
        dims = self._tensors.dims(self.node.input[position], self._case) if self.has(position) else None
        if dims is None:
            raise UnknownRankError
        return self._numbers.dims(dims)

    def array(self, position: int) -> Array | None:
        self._reads_values = True
        return self._tensors.value(self.node.input[position], self._case) if self.has(position) else None

    def listed(self, position: int) -> list[Dim]:
        array = self.array(position)
        if array is None or (array.dtype.kind == "f" and (array % 1).any()):
            raise UnknownRankError
        return [self.const(int(value)) for value in array.flat]

    def scales(self, position: int) -> Array | None:
        array = self.array(position)
        if array is None:
            raise UnknownRankError
        return array

    # ---- what must hold ----

    def meet(self, one: Dim, other: Dim, *positions: int) -> None:
        if one.data != other.data:
            raise ConflictError(*positions)

    def require(self, dim: Dim, what: str) -> None:
        self._required.append(dim.data)

    def fix(self, dim: Dim, what: str) -> None:
        pass  # it is a number

    def reaches(self, dim: Dim) -> None:
        self._reached.append(dim.data)

    def leave_to_runtime(self, when: bool) -> None:
        if when:
            raise UnknownSizesError

    def misfit(self, *positions: int) -> Exception:
        return ConflictError(*positions)

    def refuse(self, code: str, /, **arguments: object) -> Exception:
        return UnknownSizesError()


class Numbers:
    """Sizes that are numbers, in the form that rows take, each made once."""

    def __init__(self) -> None:
        self.sizes = Sizes({})
        self.notes = Notes()
        self._made: dict[Dims, DimList] = {}

    def dims(self, sizes: Dims) -> DimList:
        """The sizes of a tensor for a row."""
        dims = self._made.get(sizes)
        if dims is None:
            dims = self._made[sizes] = tuple(map(self.sizes.const, sizes))
        return dims

    def plain(self, dims: Sequence[Dim]) -> Dims | None:
        """The numbers that a row gave; None where one depends on data. Raises UnknownSizesError for one below 0."""
        if any(dim.kind != "const" for dim in dims):
            return None
        sizes = tuple(dim.data for dim in dims)
        if min(sizes, default=0) < 0:
            raise UnknownSizesError
        return sizes
