"""What a file says of the sizes that a node was meant to make: the shapes that it stores, and the tensors it meets."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Dims, dims_of
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import BROADCASTING, KEEPING

if TYPE_CHECKING:
    from resizefix.faults.resize_node import ResizeNode

# Quantisers put these into domains of their own, too.
_QUANTISING = frozenset({"QuantizeLinear", "DequantizeLinear"})
_MOST_FOLLOWED = 64  # tensors behind a node, and in front of what it meets

Axes = tuple[int, ...] | None  # which axis of the node's output each axis of a tensor is; None: the same one


def stored_dims(node: "ResizeNode") -> Dims | None:
    """The sizes as the file states them: what the exporter saw. None where it states none.

    They stand at the output, or behind operators that keep a shape or turn its axes. A shape with a 0 is none: it was
    inferred from scales that were broken already.
    """
    stored = node.surroundings.stored(node.scope)
    for name, axes in _carried(node):
        value_type = stored.get(name)
        dims = dims_of(value_type) if value_type is not None and value_type.tensor_type.HasField("shape") else None
        if dims is not None and 0 not in dims and (axes is None or len(axes) == len(dims)):
            return dims if axes is None else tuple(dims[axes.index(axis)] for axis in range(len(dims)))
    return None


def met_sizes(node: "ResizeNode") -> Iterator[tuple[dict[int, int], str]]:
    """The sizes, by the output's axes, of what the output meets at an Add, a Concat and their like, and the label of
    that node: with any other sizes the model does not run.

    A size of 1 says nothing, for it is repeated; nor does the axis along which tensors are joined.
    """
    if node.input_dims is None:
        return
    rank = len(node.input_dims)
    for name, axes in _carried(node):
        for reader in _readers(node, name):
            joined = _joined_axis(reader, rank)
            if joined is None and reader.op_type not in BROADCASTING:
                continue
            for other in filter(None, reader.input):
                dims = None if other == name else _dims(node, other, rank)
                sizes = {
                    axis if axes is None else axes[axis]: size
                    for axis, size in enumerate(dims or ())
                    if isinstance(size, int) and size > 1 and axis != joined
                }
                if sizes:
                    yield sizes, reader.name or reader.output[0]


def _carried(node: "ResizeNode") -> Iterator[tuple[str, Axes]]:
    """The output, and what operators that keep its sizes make of it, in the same scope."""
    pending: list[tuple[str, Axes]] = [(node.output, None)]
    seen = {node.output}
    for name, axes in pending:
        yield name, axes
        behind = []
        for reader in _readers(node, name):
            turned = _turned(reader, axes)
            if turned is not None or _keeps_shape(node, reader, name):
                behind.append((reader.output[0], axes if turned is None else turned))
        for output, order in sorted(behind, key=lambda pair: pair[0]):
            if output and output not in seen and len(seen) < _MOST_FOLLOWED:
                seen.add(output)
                pending.append((output, order))


def _readers(node: "ResizeNode", name: str) -> Iterator[NodeProto]:
    definition = node.definition(name) if name else None
    for reader in [] if definition is None else node.view.scopes.readers(definition):
        consumer = reader.node
        if consumer is None or reader.scope is not node.scope or not consumer.output:
            continue
        if consumer.domain in DEFAULT_DOMAINS or consumer.op_type in _QUANTISING:
            yield consumer


def _keeps_shape(node: "ResizeNode", reader: NodeProto, name: str) -> bool:
    """Whether the result has the shape of this input: also where it is combined with single numbers."""
    if reader.op_type in KEEPING:
        return bool(reader.input[0] == name)
    if reader.op_type not in BROADCASTING:
        return False
    rank = len(node.input_dims or ())
    others = (node.view.dims(node.scope, other) for other in reader.input if other != name)
    return all(dims is not None and len(dims) <= rank and set(dims) <= {1} for dims in others)


def _turned(reader: NodeProto, axes: Axes) -> Axes:
    """The axes behind a Transpose that says how it turns them."""
    if reader.op_type != "Transpose":
        return None
    order: Sequence[int] = attribute_of(reader, "perm", ())
    if not order:
        return None
    turned_axes = axes or tuple(range(len(order)))
    return tuple(turned_axes[axis] for axis in order) if sorted(order) == sorted(turned_axes) else None


def _joined_axis(reader: NodeProto, rank: int) -> int | None:
    if reader.op_type != "Concat":
        return None
    return int(attribute_of(reader, "axis", 0)) % rank


def _dims(node: "ResizeNode", name: str, rank: int) -> list[int | None] | None:
    """What is known of a tensor's sizes, also where what makes it combines one of known sizes with another."""
    sizes: list[int | None] = [None] * rank
    pending, seen = [name], {name}
    for current in pending:
        dims = node.view.dims(node.scope, current)
        if dims is not None and len(dims) != rank:
            continue
        for axis, size in enumerate(dims or ()):
            if sizes[axis] is None and isinstance(size, int) and (size > 1 or current == name):
                sizes[axis] = size
        definition = node.definition(current)
        maker = None if definition is None or definition.scope is not node.scope else definition.node
        if dims is not None or maker is None or len(seen) > _MOST_FOLLOWED:
            continue
        one = maker.op_type in KEEPING
        if maker.domain in DEFAULT_DOMAINS and (one or maker.op_type in BROADCASTING):
            behind = [source for source in maker.input[: 1 if one else None] if source and source not in seen]
            seen.update(behind)
            pending += behind
    return sizes
