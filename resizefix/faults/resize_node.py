"""One Upsample or Resize node as it is written, valid or not, with what is known of its operands."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, helper, numpy_helper

from resizefix.dialects.dialect import RESIZES
from resizefix.document.edits import FreshNames, NodeEdit
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, is_operator, names_in
from resizefix.document.values import Array, Dims, known_types
from resizefix.faults import output_sizes
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.expression import evaluate, sizes_in
from resizefix.shapes.operand import Known
from resizefix.shapes.stored_shapes import ModelView, fixed_values
from resizefix.shapes.values import Values

FLOAT, FLOAT16, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64
# Operators whose output has the type of their first input (the ONNX operator schemas: one type variable T).
SAME_TYPE = frozenset(
    {"Add", "AveragePool", "BatchNormalization", "Ceil", "Clip", "Concat", "Conv", "ConvTranspose", "Div", "Dropout"}
    | {"Expand", "Flatten", "Floor", "Gather", "Gemm", "GlobalAveragePool", "Identity", "LeakyRelu", "MatMul", "Max"}
    | {"MaxPool", "Min", "Mod", "Mul", "Neg", "PRelu", "Pad", "Pow", "ReduceMean", "Relu", "Reshape", "Resize", "Round"}
    | {"Sigmoid", "Slice", "Softmax", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Tile", "Transpose"}
    | {"Unsqueeze", "Upsample"}
)
# Those of them that want one type on all of these inputs.
ONE_TYPE = {
    **dict.fromkeys(("Add", "Concat", "Div", "Max", "MatMul", "Min", "Mod", "Mul", "PRelu", "Sub", "Sum"), None),
    **dict.fromkeys(("BatchNormalization", "Conv", "ConvTranspose", "Gemm"), 3),
}


class Operand(NamedTuple):
    """Input `position` of the node. `value` is known where nothing at run time can change it."""

    position: int
    name: str
    value: Array | None
    elem_type: int | None
    dims: Dims | None
    is_direct: bool  # an initializer or the output of a Constant node

    @property
    def is_empty(self) -> bool:
        """Whether it holds no number, which ONNX reads as absent."""
        return self.value.size == 0 if self.value is not None else self.dims == (0,)


class _Every(Mapping[str, int]):
    """One size for every name of a size."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __getitem__(self, name: str) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class NodeSurroundings:
    """What all resize nodes of one state of a model share."""

    def __init__(self, view: ModelView) -> None:
        self.view = view
        self._stored: dict[ScopePath, dict[str, TypeProto]] = {}
        self._types: dict[Key, int | None] = {}
        self._raised: dict[int, str | None] = {}
        self._at_sizes: dict[int | None, Values] = {}
        self.sound: set[tuple[object, ...]] = set()
        """Operators, each with its version and attributes, of which no attribute is at fault: many nodes have them."""

    @cached_property
    def names(self) -> FreshNames:
        """Gives out names that are free in the model; the fixes of few faults ask for one."""
        return FreshNames(names_in(self.view.model))

    def at_sizes(self, length: int | None = None) -> Values:
        """The values that follow from the sizes that the file fixes; with `length`, that is every size it leaves
        open."""
        if length not in self._at_sizes:
            self._at_sizes[length] = fixed_values(self.view, None if length is None else _Every(length))
        return self._at_sizes[length]

    def stored(self, scope: Scope) -> dict[str, TypeProto]:
        """The types that the file states for the tensors of a scope, by name."""
        if scope.path not in self._stored:
            self._stored[scope.path] = known_types(scope.body)
        return self._stored[scope.path]

    def type_of(self, definition: Definition | None) -> int | None:
        """The element type that nodes and calls give a tensor; None where nothing tells, or it depends on itself."""
        types, passed, elem_type = self._types, list[Key](), None
        while definition is not None:
            key = definition.key
            if key in types:
                elem_type = types[key]
                break
            types[key] = None  # until it is known: one that is met twice depends on itself
            passed.append(key)
            elem_type, definition = self._maker(definition)
        for key in passed:
            types[key] = elem_type
        return elem_type

    def _maker(self, definition: Definition) -> tuple[int | None, Definition | None]:
        """The type where this tensor's maker decides it; else what has the same type."""
        elsewhere = self.view.calls.elsewhere(definition)
        if elsewhere is not None:
            return None, elsewhere
        if definition.tensor is not None:
            return int(definition.tensor.data_type), None
        node = definition.node
        made_type = None if node is None else _made_type(node)
        if made_type is not None:
            return made_type, None
        if node is None or node.domain not in DEFAULT_DOMAINS or node.op_type not in SAME_TYPE or not node.input:
            return self.view.shapes.elem_type(definition.key), None
        return None, self.view.scopes.definition(definition.scope, node.input[0])

    def why_not_raised(self, opset: int) -> str | None:
        """Why the model cannot import this opset as it is; None: it can."""
        if opset not in self._raised:
            from resizefix.opsets.raising import why_not_raised  # few faults ask for it

            self._raised[opset] = why_not_raised(self.view.document, opset, RESIZES)  # judged by their own faults
        return self._raised[opset]


class ResizeNode:
    """A node in its scope."""

    def __init__(self, surroundings: NodeSurroundings, scope: Scope, index: int) -> None:
        self.surroundings = surroundings
        self.view = surroundings.view
        self.scope = scope
        self.index = index
        self.node: NodeProto = scope.body.node[index]
        self.opset = scope.opset
        self.label = self.node.name or (self.node.output[0] if self.node.output else f"#{index}")
        self.output = self.node.output[0] if self.node.output else ""

    @property
    def x(self) -> str:
        """The name of what is resized."""
        return str(self.node.input[0])

    @property
    def names(self) -> FreshNames:
        """Gives out names that are free in the model."""
        return self.surroundings.names

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """The attributes as they are written, texts decoded."""
        values: dict[str, Any] = {}
        for attribute in self.node.attribute:
            if attribute.ref_attr_name:
                continue
            value = helper.get_attribute_value(attribute)
            values[attribute.name] = value.decode(errors="replace") if isinstance(value, bytes) else value
        return values

    @cached_property
    def operands(self) -> dict[int, Operand]:
        """The inputs behind X that have a name, by position."""
        return {place: self._operand(place, name) for place, name in enumerate(self.node.input) if place and name}

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the node's version of the operator has roi, scales and sizes."""
        if self.node.op_type == "Upsample" or self.opset == 10:
            return {"scales": 1}
        return {"roi": 1, "scales": 2, "sizes": 3}

    @cached_property
    def extents(self) -> tuple[Operand | None, Operand | None]:
        """The scales and sizes that hold a value, or may."""
        scales, sizes = (self.operands.get(self.places.get(what, -1)) for what in ("scales", "sizes"))
        scales, sizes = (None if one is None or one.is_empty else one for one in (scales, sizes))
        return scales, sizes

    @property
    def scales_alone(self) -> Array | None:
        """Constant scales, where no sizes stand next to them."""
        scales, sizes = self.extents
        return None if scales is None or sizes is not None else scales.value

    def _operand(self, position: int, name: str) -> Operand:
        definition = self.definition(name)
        value = self.value_of(name)
        if value is not None:
            dims: Dims | None = tuple(value.shape)
        else:
            dims = self._dims_of(name)
        direct = definition is not None and (definition.tensor is not None or is_operator(definition.node, "Constant"))
        return Operand(position, name, value, self.surroundings.type_of(definition), dims, direct)

    def value_of(self, name: str) -> Array | None:
        """The value of a tensor that nothing at run time can change; None of any other."""
        return self.view.value(self.scope, name)

    def extent_at(self, length: int | None = None) -> tuple[str, Array] | None:
        """ "scales" or "sizes", and their numbers at the sizes that the file fixes; with `length`, that is every size
        it leaves open. None where they are not known, or both are there."""
        scales, sizes = self.extents
        operand = scales if sizes is None else sizes if scales is None else None
        if operand is None:
            return None
        value = operand.value
        if value is None:
            value = self._computed_at(operand.name, length)
        is_vector = value is not None and value.ndim == 1 and value.dtype.kind == ("f" if sizes is None else "i")
        return ("scales" if sizes is None else "sizes", value) if value is not None and is_vector else None

    def _computed_at(self, name: str, length: int | None) -> Array | None:
        """The numbers of a computed operand, at every length of the expressions that are followed once; where there are
        none, as behind an If, it is followed for this length."""
        traced = self.surroundings.at_sizes().of(self.scope, name)
        if length is None or not isinstance(traced, Known):
            return self.surroundings.at_sizes(length).array(self.scope, name)
        if traced.value is not None:
            return traced.value
        sizes = {size for element in traced.elements.flat for size in sizes_in(element)}
        if not all(isinstance(dims := self.view.shapes.dims(size.tensor), tuple) and dims[size.axis] for size in sizes):
            return None
        at = {size: np.int64(length) for size in sizes}
        numbers = [evaluate(element, at) for element in traced.elements.flat]
        return np.array(numbers, traced.dtype).reshape(traced.shape)

    def definition(self, name: str) -> Definition | None:
        """Where a name that the node can see gets its value."""
        return self.view.scopes.definition(self.scope, name)

    @cached_property
    def input_dims(self) -> Dims | None:
        """The sizes of X as far as they are known."""
        return self._dims_of(self.node.input[0]) if self.node.input else None

    def _dims_of(self, name: str) -> Dims | None:
        """The sizes of a tensor as far as they are known; of a function's input, those of what all its calls give."""
        definition = self.definition(name)
        if definition is None:
            return None
        dims = self.view.shapes.dims(definition.key)
        argument = self.view.calls.argument(definition) if dims is None else None
        return dims if argument is None else self.view.shapes.dims(argument.key)

    @property
    def rank(self) -> int | None:
        """How many axes X has, if known."""
        if self.input_dims is not None:
            return len(self.input_dims)
        return None if self.stored_dims is None else len(self.stored_dims)

    @cached_property
    def stored_dims(self) -> Dims | None:
        """The output's sizes as the file states them; None where it states none."""
        return output_sizes.stored_dims(self)

    def axes_of(self, count: int) -> list[int | None]:
        """The axes that `count` scales or sizes are of, counted from the front; None for one that is not known."""
        axes = self.attributes.get("axes")
        if axes is None:
            return list(range(count)) if self.rank == count else [None] * count
        if len(axes) != count:
            return [None] * count
        return [axis % self.rank if self.rank else None for axis in axes]

    def stored_type(self, name: str) -> int | None:
        """The element type that the file states for a tensor of this scope."""
        stored = self.surroundings.stored(self.scope).get(name)
        return None if stored is None else stored.tensor_type.elem_type or None

    def type_of(self, name: str) -> int | None:
        """A tensor's element type, followed from what makes it, over calls too; stored types may be stale."""
        return self.surroundings.type_of(self.definition(name))

    def chain(self, name: str) -> Iterator[tuple[int, NodeProto]]:
        """The nodes of this scope that compute a name from shapes and constants, the last first, with positions."""
        pending, seen = [name], set[int]()
        while pending:
            index = self.scope.producers.get(pending.pop())
            if index is None or index in seen:
                continue
            seen.add(index)
            node = self.scope.body.node[index]
            yield index, node
            if node.op_type not in ("Shape", "Size", "Constant"):
                pending.extend(filter(None, node.input))

    @property
    def is_first(self) -> bool:
        """Whether no other resize stands before it in its graph, body or function: it tells the faults of that."""
        first = next(index for scope, index in self.surroundings.view.resizes if scope is self.scope)
        return first == self.index

    # What changes are made of

    def rewritten(
        self,
        *,
        op_type: str | None = None,
        inputs: list[str] | None = None,
        drop: frozenset[str] | set[str] = frozenset(),
        put: dict[str, Any] | None = None,
    ) -> NodeProto:
        """A copy with another operator or inputs, without the attributes `drop` and with those of `put`."""
        node = NodeProto()
        node.CopyFrom(self.node)
        node.op_type = op_type or node.op_type
        if inputs is not None:
            while inputs and not inputs[-1]:
                inputs.pop()
            del node.input[:]
            node.input.extend(inputs)
        put = put or {}
        for place in reversed(range(len(node.attribute))):
            if node.attribute[place].name in drop or node.attribute[place].name in put:
                del node.attribute[place]
        node.attribute.extend(helper.make_attribute(name, value) for name, value in put.items())
        return node

    def with_input(self, position: int, name: str) -> NodeProto:
        """A copy of the node that reads `name` as input `position`; with '' it reads nothing there."""
        inputs = [*self.node.input, *[""] * (position + 1 - len(self.node.input))]
        inputs[position] = name
        return self.rewritten(inputs=inputs)

    def with_constant(self, position: int, what: str, value: Array, *, resized: bool = False) -> NodeEdit:
        """The node reads a new constant as input `position`."""
        tensor = self.constant(what, value)
        return NodeEdit(self.with_input(position, tensor.name), initializers=[tensor], resized=resized)

    def constant(self, what: str, value: Array) -> TensorProto:
        """A tensor with a free name that ends with `what`."""
        return numpy_helper.from_array(value, self.names.fresh(f"{self.output or self.label}_{what}"))


def sizes_at(axes: Iterable[int | None], dims: Dims | None) -> list[Any]:
    """The sizes of these axes, None for one that is not known."""
    return [dims[axis] if dims is not None and axis is not None and axis < len(dims) else None for axis in axes]


def _made_type(node: NodeProto) -> int | None:
    """The type of what a node makes where the node alone decides it."""
    if node.domain not in DEFAULT_DOMAINS:
        return None
    if node.op_type in ("Shape", "Size"):
        return INT64
    for attribute in node.attribute:
        if node.op_type == "Cast" and attribute.name == "to":
            return int(attribute.i)
        if node.op_type == "Constant":
            if attribute.name == "value":
                return int(attribute.t.data_type)
            return INT64 if attribute.name.startswith("value_int") else FLOAT
        if node.op_type == "ConstantOfShape" and attribute.name == "value":
            return int(attribute.t.data_type)
    return FLOAT if node.op_type == "ConstantOfShape" else None
