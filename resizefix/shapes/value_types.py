"""The type of a value, sizes included, as something that does not change and can be compared; how two are put together,
and what a file says of types: in what it stores, in Constant nodes, and in a call of a function.

A model has many tensors of few types, and reading, writing or merging one takes ten times as long as looking it up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, helper

from resizefix.document.scopes import Scope
from resizefix.document.values import Array, Dims, dims_in, known_types
from resizefix.shapes.operand import spelled_value

_REMEMBERED = 4096


class TensorType(NamedTuple):
    """The type of a tensor: its element type, 0 where that is not known, and its sizes; None: not even the rank is."""

    elem_type: int
    dims: Dims | None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The sizes if all are numbers."""
        return self.dims if self.dims is not None and _NUMBERS.issuperset(map(type, self.dims)) else None  # type: ignore[return-value]


ValueType = TensorType | bytes
"""A tensor's type, or the bytes of a TypeProto that is no tensor's."""
_NUMBERS = frozenset({int})


def type_in(value_type: TypeProto, *, keep_negative: bool = False) -> ValueType | None:
    """What a TypeProto says; None for nothing. A size below 0 is a spelling of "unknown" where a file states it, and is
    kept where a node makes it."""
    return _read(value_type.SerializeToString(), keep_negative)


@lru_cache(maxsize=_REMEMBERED)
def _read(serialized: bytes, keep_negative: bool) -> ValueType | None:
    value_type = TypeProto.FromString(serialized)
    kind = value_type.WhichOneof("value")
    if kind != "tensor_type":
        return None if kind is None else serialized
    tensor = value_type.tensor_type
    if not tensor.HasField("shape"):
        return TensorType(tensor.elem_type, None)
    dims = dims_in(tensor.shape)
    if keep_negative:
        dims = tuple(
            stated.dim_value if stated.dim_value < 0 else dim
            for stated, dim in zip(tensor.shape.dim, dims, strict=True)
        )
    return TensorType(tensor.elem_type, dims)


@lru_cache(maxsize=_REMEMBERED)
def as_proto(value_type: ValueType) -> TypeProto:
    """The same as a TypeProto, which nobody may change."""
    if isinstance(value_type, bytes):
        result: TypeProto = TypeProto.FromString(value_type)
        return result
    return helper.make_tensor_type_proto(value_type.elem_type, value_type.dims)


@lru_cache(maxsize=_REMEMBERED)
def merged(stored: ValueType | None, inferred: ValueType | None) -> ValueType | None:
    """What onnx makes of a type that is stored and one that it infers: what is stored stays where the two contradict
    each other, a number completes a size that has none, and a name stays a name."""
    if stored is None or inferred is None:
        return inferred if stored is None else stored
    if isinstance(stored, bytes) or isinstance(inferred, bytes):
        return _merged_holders(stored, inferred)
    if stored.elem_type and inferred.elem_type and stored.elem_type != inferred.elem_type:
        return stored
    elem_type = stored.elem_type or inferred.elem_type
    if stored.dims is None or inferred.dims is None:
        return TensorType(elem_type, inferred.dims if stored.dims is None else stored.dims)
    if len(stored.dims) != len(inferred.dims):
        return stored
    pairs = list(zip(stored.dims, inferred.dims, strict=True))
    if any(isinstance(one, int) and isinstance(other, int) and one != other for one, other in pairs):
        return stored
    return TensorType(elem_type, tuple(other if one is None or isinstance(other, int) else one for one, other in pairs))


def _merged_holders(stored: ValueType, inferred: ValueType) -> ValueType:
    """The same of sequences and optionals."""
    if not isinstance(stored, bytes) or not isinstance(inferred, bytes):
        return stored
    result, other = TypeProto.FromString(stored), TypeProto.FromString(inferred)
    kind = result.WhichOneof("value")
    if kind != other.WhichOneof("value") or kind not in ("sequence_type", "optional_type"):
        return stored
    inner = merged(type_in(getattr(result, kind).elem_type), type_in(getattr(other, kind).elem_type))
    if inner is not None:
        getattr(result, kind).elem_type.CopyFrom(as_proto(inner))
    merged_bytes: bytes = result.SerializeToString()
    return merged_bytes


def of_known_rank(value_type: ValueType | None) -> ValueType | None:
    """A type without its sizes."""
    if not isinstance(value_type, TensorType) or value_type.dims is None:
        return value_type
    return TensorType(value_type.elem_type, (None,) * len(value_type.dims))


def without_shape(value_type: ValueType | None) -> ValueType | None:
    """A type of which not even the rank is known; of what holds tensors, nothing."""
    return TensorType(value_type.elem_type, None) if isinstance(value_type, TensorType) else None


def common(types: Sequence[ValueType | None]) -> ValueType | None:
    """What several types have in common: the element type, the rank, and the sizes on which all agree."""
    distinct = set(types)
    if len(distinct) == 1:
        return types[0]
    tensors = [kind for kind in distinct if isinstance(kind, TensorType)]
    if len(tensors) < len(distinct) or len({kind.elem_type for kind in tensors}) > 1:
        return None
    shapes = [kind.dims for kind in tensors if kind.dims is not None]
    if len(shapes) < len(tensors) or len({len(dims) for dims in shapes}) > 1:
        return TensorType(tensors[0].elem_type, None)
    sizes = tuple(starmap(_equal, zip(*shapes, strict=True)))
    return TensorType(tensors[0].elem_type, sizes)


def _equal(*sizes: int | str | None) -> int | str | None:
    return sizes[0] if len(set(sizes)) == 1 else None


def stacked(element: ValueType | None, length: int | str | None, axis: int = 0) -> ValueType | None:
    """The type of so many elements one after another along a new axis."""
    if not isinstance(element, TensorType) or element.dims is None:
        return element
    place = axis if axis >= 0 else axis + len(element.dims) + 1
    return TensorType(element.elem_type, (*element.dims[:place], length, *element.dims[place:]))


def without_negative(dims: Dims | None) -> Dims | None:
    """Sizes that a tensor can have: what is not known, None, in place of one below 0."""
    if dims is None or not any(isinstance(size, int) and size < 0 for size in dims):
        return dims
    return tuple(None if isinstance(size, int) and size < 0 else size for size in dims)


def has_negative(value_type: ValueType | None) -> bool:
    """Whether a size of a tensor, made by a node that nothing runs, is below 0."""
    return any(isinstance(size, int) and size < 0 for size in dims_of(value_type) or ())


def dims_of(value_type: ValueType | None) -> Dims | None:
    """The sizes of a tensor; None where not even the rank is known, or it is none."""
    return value_type.dims if isinstance(value_type, TensorType) else None


def stored_types(scope: Scope) -> dict[str, ValueType]:
    """What a file says of the types in a scope."""
    types: dict[str, ValueType] = {}
    for name, value_type in known_types(scope.body).items():
        kind = type_in(value_type)
        if kind is not None:
            types[name] = kind
    for sparse in scope.body.sparse_initializer if isinstance(scope.body, GraphProto) else ():
        types.setdefault(sparse.values.name, TensorType(sparse.values.data_type, tuple(sparse.dims)))
    return types


def concrete(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> NodeProto:
    """A node of a function with what the call gives for attributes of it."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    result = NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        given = attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if given is not None:
            copy = result.attribute.add()
            copy.CopyFrom(given)
            copy.name = attribute.name
    return result


def constant_type(node: NodeProto) -> ValueType | None:
    """The type of a Constant, whose value stays where it is."""
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            return None
        if attribute.name == "value" and attribute.HasField("t"):
            return TensorType(attribute.t.data_type, tuple([max(size, 0) for size in attribute.t.dims]))
        if attribute.name == "sparse_value":
            return TensorType(attribute.sparse_tensor.values.data_type, tuple(attribute.sparse_tensor.dims))
        value = spelled_value(attribute)
        if value is not None:
            is_text = value.dtype == object
            return TensorType(
                TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
    return None


def constant_array(node: NodeProto, read: Callable[[TensorProto], Array]) -> Array | None:
    """The value of a Constant that lists numbers."""
    for attribute in node.attribute:
        if attribute.name == "value" and attribute.HasField("t"):
            return read(attribute.t) if len(attribute.t.dims) < 2 else None
        value = spelled_value(attribute)
        if value is not None:
            return value
    return None
