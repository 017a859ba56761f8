"""One node under rewriting: what it says, what is known of its values, what takes its place, and the rows for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, TypeProto, helper, numpy_helper

from resizefix.document.edits import FreshNames, NodeBuilder
from resizefix.document.scopes import Scope, node_label
from resizefix.document.values import Array
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import FIX_SHAPES, MAKE_CONSTANT, OLDER_EXPORT, Blocked
from resizefix.outcome import BITWISE, ErrorBound
from resizefix.shapes.inference import Dims, dims_of, infer
from resizefix.shapes.table import schema_of


class Draft:
    """What one graph is becoming in `opset`: its new nodes and constants, and the types of the values they bring."""

    def __init__(self, scope: Scope, opset: int, knowledge: ValueInfoMap, names: FreshNames) -> None:
        self.scope = scope
        self.opset = opset
        self.knowledge = knowledge
        self.names = names
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.types: dict[str, TypeProto] = {}
        self._named: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._values: dict[str, Array] = {}

    def type_of(self, name: str) -> TypeProto | None:
        """The type of a value, old or new, if known."""
        return self.types.get(name) or self.knowledge.type_of(self.scope, name)

    def note_types(self, node: NodeProto, opset: int) -> None:
        """Remember the types of the outputs that a new node of that opset brings."""
        for name, value_type in infer(node, opset, self.type_of, self.value_of, {}).items():
            if self.knowledge.type_of(self.scope, name) is None:
                self.types[name] = value_type

    def value_of(self, name: str) -> Array | None:
        """The value of a constant, old or new; None for anything else."""
        return self._values[name] if name in self._values else self.knowledge.constant(self.scope, name)

    def constant(self, array: npt.ArrayLike, wanted: str) -> str:
        """The name of an initializer with this value; equal ones are shared."""
        value = np.asarray(array)
        key = (str(value.dtype), value.shape, value.tobytes())
        if key not in self._named:
            name = self.names.fresh(wanted)
            self.initializers.append(numpy_helper.from_array(value, name))
            self.types[name] = helper.make_tensor_type_proto(self.initializers[-1].data_type, value.shape)
            self._values[name] = value
            self._named[key] = name
        return self._named[key]


class OpsetSite(NodeBuilder):
    """What the rewrite of one operator works on. `nodes` are what it has added so far, in order.

    `since_version` is the version whose words the node says, and has to lose: what is added is of the opset before it,
    `opset`, and goes on from there until the model's new opset, `goal`.
    """

    def __init__(self, node: NodeProto, index: int, since_version: int, draft: Draft, label: str = "") -> None:
        self.node = node
        self.index = index
        self.label = label or "/".join((*draft.scope.path.steps, node_label(node, index)))
        self.since_version = since_version
        self.goal = draft.opset
        fresh = draft.names.fresh
        super().__init__(
            fresh,
            max(since_version - 1, self.goal),
            self.output() or self.label,
            lambda op_type, output: fresh(f"{self.label}_{op_type}"),
        )
        self.error: ErrorBound | None = None  # set by a rewrite that comes nearer, or less near, than its row says
        self._draft = draft
        self._attributes = {attribute.name: attribute for attribute in node.attribute}

    # ---- what the node says

    def input(self, position: int) -> str:
        """The name at an input position; empty where it is left out."""
        return self.node.input[position] if position < len(self.node.input) else ""

    @property
    def data(self) -> str:
        """The name of the first input."""
        return self.input(0)

    def output(self, position: int = 0) -> str:
        """The name at an output position; empty where it is left out."""
        return self.node.output[position] if position < len(self.node.output) else ""

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value as int, float, str, list or proto."""
        if name not in self._attributes:
            return default
        value = helper.get_attribute_value(self._attributes[name])
        return value.decode() if isinstance(value, bytes) else value

    def ints(self, name: str, position: int) -> list[int] | None:
        """Integers that older versions keep in an attribute and newer ones in an input; None where neither is there."""
        if name in self._attributes:
            return [int(value) for value in self._attributes[name].ints]
        if not self.input(position):
            return None
        return [int(value) for value in self.constant_input(position, name).reshape(-1)]

    # ---- what is known of values

    def dims(self, name: str) -> Dims | None:
        """The sizes of a value, None where one is dynamic; None altogether where even the rank is unknown."""
        return dims_of(self._draft.type_of(name))

    def rank(self, name: str) -> int:
        """The number of axes of a value. Raises `Blocked` where it is unknown."""
        dims = self.dims(name)
        if dims is None:
            raise Blocked("opsets.rank-unknown", FIX_SHAPES, name=name)
        return len(dims)

    def static_dims(self, name: str) -> tuple[int, ...]:
        """The sizes of a value, all of them fixed. Raises `Blocked` otherwise."""
        dims = self.dims(name)
        if dims is None or None in dims:
            raise Blocked("opsets.shape-not-fixed", FIX_SHAPES, name=name)
        return tuple(size for size in dims if size is not None)

    def elem_type(self, name: str) -> int:
        """The element type of a value. Raises `Blocked` where it is unknown."""
        value_type = self._draft.type_of(name)
        if value_type is None or not value_type.tensor_type.elem_type:
            raise Blocked("opsets.type-unknown", "opsets.fix-infer-shapes", name=name)
        return int(value_type.tensor_type.elem_type)

    def dtype(self, name: str) -> np.dtype[Any]:
        """The element type of a value as numpy has it."""
        return np.dtype(helper.tensor_dtype_to_np_dtype(self.elem_type(name)))

    def body_dims(self, attribute: str) -> list[Dims | None]:
        """The sizes of the outputs of the body that the node holds under this attribute, as far as known."""
        return self._draft.knowledge.body_dims(self._draft.scope, self.index, attribute)

    def producer(self, name: str) -> NodeProto | None:
        """The node of the original graph that computes a value; None for inputs and constants."""
        return self._draft.knowledge.producer(self._draft.scope, name)

    def constant(self, name: str) -> Array | None:
        """The value of a name, where nothing at run time can change it and it is not large."""
        return self._draft.value_of(name)

    def constant_input(self, position: int, what: str) -> Array:
        """The constant at an input position. Raises `Blocked` where it is computed at run time."""
        name = self.input(position)
        value = self.constant(name)
        if value is None:
            why = self._draft.knowledge.why_not_constant(self._draft.scope, name)
            raise Blocked("opsets.attribute-not-constant", MAKE_CONSTANT, what=what, name=name, why=why)
        return value

    def nonnegative(self, axes: Iterable[int], data: str, added: int = 0) -> list[int]:
        """Axes counted from the front, as operators before opset 11 want them, `added` axes more than `data` has."""
        given = list(axes)
        if all(axis >= 0 for axis in given):
            return given
        rank = self.rank(data) + added
        return [axis + rank if axis < 0 else axis for axis in given]

    def axis(self, default: int, data: str) -> int:
        """The attribute `axis`, counted from the front."""
        return self.nonnegative([self.attribute("axis", default)], data)[0]

    def size(self, name: str, axis: int) -> int | None:
        """One size of a value, as far as it is known."""
        dims = self.dims(name)
        return None if dims is None or not -len(dims) <= axis < len(dims) else dims[axis]

    # ---- what takes its place

    def value(self, values: npt.ArrayLike, wanted: str = "constant", dtype: npt.DTypeLike | None = None) -> str:
        """The name of an initializer with this value; the graph's equal ones are shared."""
        return self._draft.constant(np.asarray(values, dtype), f"{self.output() or self.label}_{wanted}")

    def scalar(self, number: float, like: str) -> str:
        """A constant of rank 0 in the element type of `like`."""
        return self.value(np.array(number, self.dtype(like)), "scalar")

    def cast(self, name: str, elem_type: int) -> str:
        """The value in another element type; itself where it has that type already."""
        return name if self.elem_type(name) == elem_type else self.add("Cast", name, to=elem_type)

    def emit_output(self, name: str, elem_type: int) -> None:
        """Let the node's first output be this value, in this element type."""
        if self.elem_type(name) == elem_type:
            self.add("Identity", name, into=self.output())
        else:
            self.add("Cast", name, into=self.output(), to=elem_type)

    def copy_node(
        self,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        without: Iterable[str] = (),
        **attributes: Any,
    ) -> None:
        """Add the node itself, with other inputs or outputs, without some attributes, with some set anew."""
        node = NodeProto()
        node.CopyFrom(self.node)
        if inputs is not None:
            del node.input[:]
            node.input.extend(inputs)
        if outputs is not None:
            del node.output[:]
            node.output.extend(outputs)
        gone = {*without, *attributes}
        remaining = [attribute for attribute in node.attribute if attribute.name not in gone]
        del node.attribute[:]
        node.attribute.extend(remaining)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.append(node)

    def add(
        self,
        op_type: str,
        *inputs: str,
        into: str | Sequence[str] | None = None,
        wanted: str | None = None,
        **attributes: Any,
    ) -> str:
        """A new node, as `NodeBuilder.add`: an argument that this opset takes as an input becomes a constant there."""
        schema = schema_of(op_type, self.opset)
        places = {} if schema is None else {formal.name: place for place, formal in enumerate(schema.inputs)}
        moved = [name for name in attributes if name in places and schema and name not in schema.attributes]
        operands = list(inputs)
        for name in sorted(moved, key=places.__getitem__):
            value = attributes.pop(name)
            operands += [""] * (places[name] - len(operands))
            is_number = isinstance(value, float)
            operands.append(self.scalar(value, inputs[0]) if is_number else self.value(value, name, np.int64))
        return super().add(op_type, *operands, into=into, wanted=wanted, **attributes)

    def append(self, node: NodeProto) -> str:
        """A node made elsewhere; the types of its outputs are known from here on."""
        self._draft.note_types(node, self.opset)
        return super().append(node)


Rewrite = Callable[[OpsetSite], None]


class OpsetRow(NamedTuple):
    """One operator of the ai.onnx domain, and every version of it that came after opset 7.

    `changes`: for each version that says something new, what adds the nodes of the opset before it that take the
    node's place. `kept`: versions that say nothing that an older one cannot, but for types, which are checked
    afterwards. One that stands in neither is refused until somebody has read its changes, unless it is the first: then
    there is nothing before it (`table.ABSENT` says why).
    """

    op_type: str
    changes: Mapping[int, Rewrite]
    kept: tuple[int, ...] = ()
    error: ErrorBound = BITWISE

    @property
    def reads(self) -> tuple[int, ...]:
        """Every version that was read."""
        return tuple(sorted({*self.changes, *self.kept}))


def keep(site: OpsetSite) -> None:
    """The older version says the same in the same words; at most it takes fewer types."""
    site.copy_node()


def without(*names: str) -> Rewrite:
    """Attributes that say nothing to the types which the older version takes are left out."""
    return lambda site: site.copy_node(without=names)


def only(**values: Any) -> Rewrite:
    """Attributes that have these values, or are not there, are left out; the older version cannot say others."""

    def rewrite(site: OpsetSite) -> None:
        for name, value in values.items():
            if site.attribute(name, value) != value:
                raise Blocked("opsets.no-attribute", OLDER_EXPORT, name=name, since=site.since_version)
        site.copy_node(without=list(values))

    return rewrite
