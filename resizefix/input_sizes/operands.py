"""Constant operands of nodes as numbers that may follow the input: every use of a constant is looked at by itself.

Two nodes that read one constant need not mean the same by it: [2] can be a batch here and a height there. So each use,
a node and the position of its input, has unknowns of its own.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto

from resizefix.document.scopes import is_operator
from resizefix.document.values import Array
from resizefix.input_sizes.filled_weights import filled_weights
from resizefix.scope_path import MAIN
from resizefix.shapes.expression import (
    Computed,
    Dim,
    Expression,
    Number,
    UntraceableError,
    dims_in,
    evaluate,
)
from resizefix.shapes.operand import SHAPE_READERS, Call, Known, attribute_of, sizes_read, value_of_node
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import apply, has_row

_RECURRENT, _STATES = ("LSTM", "GRU", "RNN"), (5, 6)
# Lists of sizes are short; what is longer is data.
MOST_LISTED = 64
_SAMPLES = 6


class Place(NamedTuple):
    """An input of a node of the main graph."""

    node: int
    position: int


class ListUse(NamedTuple):
    """A list of numbers that a node reads: `dims` has an entry for each, flat; `array` are the numbers."""

    array: Array
    dims: tuple[Dim | None, ...]


class TableUse(NamedTuple):
    """A constant tensor that a node reads as data, with its axes."""

    name: str
    dims: tuple[Dim, ...]


class SizedOperands:
    """The constants of the main graph and the values that follow from them and from sizes."""

    def __init__(self, view: ModelView, sizes: Sizes, *, keep_overridable: bool = False) -> None:
        """`keep_overridable`: constants that are listed as inputs of the model are inputs, as whoever feeds them
        means; else they are constants."""
        self.view, self.sizes = view, sizes
        self.scope = view.scopes.by_path[MAIN]
        self.opset = self.scope.opset
        self.lists: dict[Place, ListUse] = {}
        self.tables: dict[Place, TableUse] = {}
        self.values: dict[str, Known] = {}
        self._tensors: dict[str, Array | None] = {}
        fed = {value.name for value in view.model.graph.input}
        overridable = fed if view.model.ir_version >= 4 and keep_overridable else set()
        self.initializers = {t.name: t for t in view.model.graph.initializer if t.name not in overridable}
        self._constant_nodes: dict[str, NodeProto] = {
            node.output[0]: node for node in view.model.graph.node if is_operator(node, "Constant") and node.output
        }
        self._weights = filled_weights(view)

    def is_constant(self, name: str) -> bool:
        """Whether `name` is an initializer, a Constant node's output or a weight of a shape and one number."""
        return name in self.initializers or name in self._constant_nodes or name in self._weights

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of a constant."""
        if name in self.initializers:
            return tuple(self.initializers[name].dims)
        array = self.array(name)
        return () if array is None else array.shape

    def array(self, name: str) -> Array | None:
        """The numbers of a constant; None where they cannot be read."""
        if name not in self._tensors:
            self._tensors[name] = self._read(name)
        return self._tensors[name]

    def _read(self, name: str) -> Array | None:
        if name in self._weights:
            return self._weights[name]
        document, tensor = self.view.document, self.initializers.get(name)
        return value_of_node(self._constant_nodes[name], document) if tensor is None else document.array(tensor)

    def maker(self, name: str) -> NodeProto | None:
        """The node of the main graph that makes a tensor."""
        index = self.scope.producers.get(name)
        return None if index is None else self.scope.body.node[index]

    def readers(self, name: str) -> list[NodeProto]:
        """The nodes of the main graph that read a tensor, in their order."""
        found = self.view.scopes.readers_of((MAIN, name))
        places = {reader.node_index for reader in found if reader.scope is self.scope}
        return [self.scope.body.node[place] for place in sorted(place for place in places if place is not None)]

    # ---- uses ----

    def table(self, place: Place, name: str) -> TableUse:
        """A constant as data: each axis longer than 1 may follow the input."""
        if place not in self.tables:
            sizes = self.sizes
            shape = self.shape_of(name)
            batch = self._batch_axis(place)
            dims = tuple(
                sizes.var(size) if (size > 1 or axis == batch) and name not in self._weights else sizes.const(size)
                for axis, size in enumerate(shape)
            )
            self.tables[place] = TableUse(name, dims)
        return self.tables[place]

    def _batch_axis(self, place: Place) -> int | None:
        """The axis on which a constant for one image may be one for each: of what is joined to images, and of a state
        at the start."""
        node = self.scope.body.node[place.node]
        if self.sizes.symbols.get("batch") != 1:
            return None
        if node.op_type == "Concat":
            return 0 if attribute_of(node, "axis", 0) != 0 else None
        return 1 if node.op_type in _RECURRENT and place.position in _STATES else None

    def known(self, place: Place, name: str) -> Known | None:
        """The value that a node reads, where it is a short list of numbers or follows from sizes."""
        if name in self.values:
            return self.values[name]
        if not self.is_constant(name):
            return None
        if int(np.prod(self.shape_of(name), dtype=object)) > MOST_LISTED:
            return None
        array = self.array(name)
        if array is None or array.dtype.kind not in "iufb":
            return None
        if array.dtype.name not in ("int64", "int32"):
            if array.dtype == np.float32 and array.size == 1 and _are_sizes(array) and self._is_counted_to(place.node):
                return self.listed(place, array)
            operator = self.view.model.graph.node[place.node].op_type
            # torch makes a size of a product so, with `recompute_scale_factor`.
            if array.dtype == np.float32 and array.size == 1 and float(array.flat[0]) >= 1 and operator == "Floor":
                return self.listed(place, np.floor(array))
            few = array.dtype.kind == "b" or (array.size <= _MOST_AXES and _are_sizes(array))
            joined = array.size <= _MOST_AXES and operator == "Concat"  # scales
            return Known.constant(array) if array.size == 1 or few or joined else None
        if (array.ndim != 1 and array.size > 1) or _counts_up(array):
            return None
        return self.listed(place, array)

    def _is_counted_to(self, index: int) -> bool:
        """Whether a node counts up to a length, as torch did with Ceil before opset 11 and Paddle does with Range."""
        node = self.view.model.graph.node[index]
        if node.op_type != "Squeeze":
            return node.op_type in ("Ceil", "Range")
        return {reader.op_type for reader in self.readers(node.output[0])} == {"Range"}

    def listed(self, place: Place, array: Array) -> Known:
        """Numbers that may follow the input, each an unknown of this use."""
        if place not in self.lists:
            least = 0 if _may_be_pads(array) else 1
            dims = tuple(self.sizes.var(int(value)) if value >= least else None for value in array.flat)
            self.lists[place] = ListUse(array, dims)
        elements = np.empty(array.shape, object)
        for position, value, dim in zip(np.ndindex(*array.shape), array.flat, self.lists[place].dims, strict=True):
            number = Number(int(value), array.dtype.name)
            elements[position] = number if dim is None else self.leaf(dim, array.dtype.name)
        return Known(array.dtype.name, elements=elements)

    def leaf(self, dim: Dim, dtype: str = "int64") -> Expression:
        """A size as an element of a list."""
        dim = self.sizes.resolve(dim)
        if dim.kind == "const":
            return Number(int(dim.data), dtype)
        return dim if dtype == "int64" else Computed("Cast", dtype, (dim,), 2)

    def dim(self, expression: Expression) -> Dim | None:
        """An element of a list as a size; None for what is none, as a fraction."""
        if isinstance(expression, Number):
            value = expression.value
            return self.sizes.const(int(value)) if value == int(value) else None
        if isinstance(expression, Dim):
            return self.sizes.resolve(expression)
        samples = _samples(expression)
        try:
            found = evaluate(expression, samples)
        except (ValueError, TypeError, KeyError):
            return None
        for size, lengths in samples.items():
            if np.array_equal(found, lengths):
                return self.sizes.resolve(size)
        if found.dtype.kind == "f" and not np.all(found == np.floor(found)):
            return None
        return self.sizes.computed(expression)

    def scaled_by(self, scale: Expression, dim: Dim) -> Dim:
        """The size that a computed scale makes of another: the one that it was divided out of, or a whole factor."""
        samples = _samples(scale)
        own = next((samples[size] for size in samples if self.sizes.resolve(size) is dim), None)
        if own is None and dim.kind != "const":
            return self.sizes.opaque()
        product = np.asarray(evaluate(scale, samples), np.float64) * np.asarray(dim.old if own is None else own)
        for size, lengths in samples.items():
            if np.allclose(product, lengths, rtol=1e-5):
                return self.sizes.resolve(size)
        if np.allclose(product, np.round(product[0]), rtol=1e-5) and np.round(product[0]) >= 1:
            return self.sizes.const(int(np.round(product[0])))
        factor = product / own if own is not None else product
        if np.allclose(factor, np.round(factor[0]), rtol=1e-5) and np.round(factor[0]) >= 1:
            return self.sizes.product([dim, self.sizes.const(int(np.round(factor[0])))])
        return self.sizes.opaque()

    def is_opaque(self, expression: Expression) -> bool:
        """Whether a number is computed of a size that is not known, as that of another input that is left open."""
        return any(map(self.sizes.is_opaque, dims_in(expression)))

    def unknowns(self, known: Known) -> list[Dim]:
        """The unknowns in a value."""
        if known.value is not None:
            return []
        dims = dict.fromkeys(dim for element in known.elements.flat for dim in dims_in(element))
        return [part for dim in dims for part in self.sizes.unknowns(dim)]

    def numbers(self, place: Place, name: str) -> Array | None:
        """The numbers that a node reads where it needs them as they are in the file: axes, indices, counts."""
        if self.is_constant(name):
            return self.array(name)
        known = self.values.get(name)
        if known is None:
            return None
        if known.value is not None:
            return known.value
        found = np.empty(known.shape, known.dtype)
        for position in np.ndindex(*known.shape):
            dim = self.dim(known.elements[position])
            if dim is None or dim.old is None:
                return None
            found[position] = dim.old
        return found

    # ---- computing ----

    def compute(self, index: int, node: NodeProto, dims: tuple[Dim, ...] | None) -> None:
        """Give `values` what the node makes, where that follows from short lists and sizes (`dims`: of its input)."""
        if node.op_type in _FUNCTIONS and node.output:
            self._compute_number(index, node)
            return
        if node.op_type == "Split" and len(node.output) > 1:
            self._split(index, node)
            return
        if not has_row(node) or len(node.output) != 1 or self._counts_positions(node):
            return
        if node.op_type in SHAPE_READERS:
            if dims is not None and node.op_type == "Size":
                self.values[node.output[0]] = Known.single("int64", self.leaf(self.sizes.product(dims)))
            elif dims is not None:
                leaves = [self.leaf(dim) for dim in sizes_read(node, dims)]
                self.values[node.output[0]] = Known.vector("int64", leaves)
            return
        operands = [self._operand(index, at, node) if name else None for at, name in enumerate(node.input)]
        self._settle_numbers(index, node, operands)
        if any(name and known is None for name, known in zip(node.input, operands, strict=True)):
            if node.op_type in _ARITHMETIC:  # with data: `scalars` says whether it is a size
                for at in range(len(node.input)):
                    self.lists.pop(Place(index, at), None)
            return
        try:
            found = apply(Call(node, operands, self.opset))[0]
        except UntraceableError:
            return
        if int(np.prod(found.shape, dtype=object)) <= MOST_LISTED:
            self.values[node.output[0]] = found

    def _split(self, index: int, node: NodeProto) -> None:
        """A list taken apart into single numbers, as Paddle does with a shape."""
        known = self.known(Place(index, 0), node.input[0])
        if known is None or known.value is not None or known.shape != (len(node.output),):
            return
        for name, element in zip(node.output, known.elements, strict=True):
            self.values[name] = Known.vector("int64", [element])

    def _counts_positions(self, node: NodeProto) -> bool:
        """Whether ones are made for their positions, as many as a size is: torch's arange before opset 11."""
        readers = self.readers(node.output[0]) if node.op_type == "ConstantOfShape" else []
        return any(reader.op_type == "NonZero" for reader in readers)

    def _compute_number(self, index: int, node: NodeProto) -> None:
        """A function that no runtime rounds otherwise where its value is whole, as the root of a square."""
        operands = [self.known(Place(index, at), name) for at, name in enumerate(node.input)]
        numbers = [known.value for known in operands if known is not None and known.value is not None]
        if len(numbers) == len(node.input):
            with np.errstate(all="ignore"):
                found = np.asarray(_FUNCTIONS[node.op_type](*numbers))
            if found.size == 1 and np.all(found == np.round(found)):
                self.values[node.output[0]] = Known.constant(found.astype(numbers[0].dtype))

    def _settle_numbers(self, index: int, node: NodeProto, operands: list[Known | None]) -> None:
        """A number that sizes are multiplied or divided by stands for itself; one that is divided by a size is a size
        that was frozen (the scales that torch writes before opset 11)."""
        if node.op_type not in _ARITHMETIC | {"Equal"} or len(operands) != 2:
            return
        for position, name in enumerate(node.input):
            other = operands[1 - position]
            array = self.array(name) if self.is_constant(name) else None
            if array is None or other is None or self.is_constant(node.input[1 - position]):
                continue
            if node.op_type != "Div" and self.unknowns(other):
                continue
            size = self._computed_of(other, array) if node.op_type == "Add" else None
            if size is not None:
                self.listed(Place(index, position), array)
                (unknown,) = self.lists[Place(index, position)].dims
                if unknown is not None and self.sizes.resolve(unknown).kind == "var":
                    self.sizes.bind(unknown, size)
                operands[position] = self.listed(Place(index, position), array)
                continue
            if node.op_type == "Div" and position == 0:
                if array.dtype == np.float32 and array.size <= _MOST_AXES and _are_sizes(array):
                    operands[0] = self.listed(Place(index, 0), array)
            elif other.value is not None and node.op_type != "Equal":
                continue
            elif node.op_type != "Sub" or position == 1:
                operands[position] = Known.constant(array)
                self.lists.pop(Place(index, position), None)

    def _computed_of(self, known: Known, array: Array) -> Dim | None:
        """The size as large as this number that a list is computed of: what it lacks to a multiple is added to it."""
        if known.value is not None or array.size != 1 or array.dtype.kind != "i":
            return None
        dims = (dim for element in known.elements.flat for dim in dims_in(element))
        return next((dim for dim in dims if dim.old == array.flat[0]), None)

    def _operand(self, index: int, position: int, node: NodeProto) -> Known | None:
        """An operand's value; as it is in the file where the operator moves elements by it."""
        name = node.input[position]
        if position in _MOVED_BY.get(node.op_type, ()):
            array = self.numbers(Place(index, position), name)
            listed = array is not None and array.size <= MOST_LISTED
            counted = node.op_type not in _MAKING or (array is not None and int(np.prod(array, dtype=object)) <= 8)
            return Known.constant(array) if listed and counted and array is not None else None
        return self.known(Place(index, position), name)


# Operands that say which elements go where, or how many: of lists these are not sizes of the image.
_MOVED_BY = {
    "Slice": (1, 2, 3, 4),
    "Gather": (1,),
    "Unsqueeze": (1,),
    "Squeeze": (1,),
    "Reshape": (1,),
    "Split": (1,),
    "Tile": (1,),
    "Expand": (1,),
    "ConstantOfShape": (0,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceMax": (1,),
    "ReduceMin": (1,),
    "Pad": (1,),
}
_FUNCTIONS = {"Pow": np.power, "Sqrt": np.sqrt}
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"})
_MOST_AXES = 4
_MAKING = frozenset({"Tile", "Expand", "ConstantOfShape"})


def _samples(expression: Expression) -> dict[Dim, npt.NDArray[np.int64]]:
    """Some lengths for each size in an expression, none a simple function of another's."""
    order = dims_in(expression)
    random = np.random.default_rng(len(order))
    return {size: random.integers(2, 10_000, _SAMPLES) for size in order}


def _are_sizes(array: Array) -> bool:
    return bool(np.all(array == np.round(array)) and np.all(array >= 1))


def _counts_up(array: Array) -> bool:
    """Whether these are positions (0, 1, 2, …) and no sizes."""
    return array.ndim == 1 and array.size > 2 and np.array_equal(array, np.arange(array.size))


def _may_be_pads(array: Array) -> bool:
    """Whether these can be amounts before and behind each axis, of which those that are 0 may follow a size, too."""
    return array.size in (4, 6, 8, 10) and bool(np.all(array >= 0)) and int(np.sum(array == 0)) * 2 >= array.size
