"""Numbers that scale activations and attention: they are not sizes, even where a size has the same value."""

from collections.abc import Container, Iterator, Sequence
from functools import partial

from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.shapes.operand import attribute_of

_MOVING = frozenset({"Reshape", "Transpose", "Identity", "Cast", "Unsqueeze", "Squeeze", "Expand"})
_FARTHEST = 6  # nodes that move values between a product of matrices and what scales it
_RELU = 6  # what ReLU6 clips to
_STEEPEST, _HALF = 8, 0.5  # of a hard sigmoid: clip(x / 5 + 0.5, 0, 1)
_ROOTS = {"Mul": (-0.5, -0.25), "Div": (0.5, 0.25)}  # the scale of attention, or half of it for each factor


def is_own(flow: Flow, node: NodeProto, inner: NodeProto, array: Array, sizes: Container[Place]) -> bool:
    """Whether a single number that a Mul or Div reads, `inner` first, scales an activation or attention, or is what a
    Clip makes a ReLU6 by.

    `sizes`: what may be a size itself.
    """
    if node.op_type == "Clip":
        return bool(array.size == 1 and array.item() == _limit(flow, node.output[0], ()) == _RELU)
    if node.op_type not in _ROOTS or array.size > 1 or array.dtype.kind != "f":
        return False
    return _is_range(flow, node, array, sizes) or _scales_attention(flow, node, inner, array)


def _is_range(flow: Flow, node: NodeProto, array: Array, sizes: Container[Place]) -> bool:
    """Whether it divides values that were clipped to 0 up to this number, as in relu6(x + 3) / 6, also multiplied by x
    (hard swish); or values that are clipped to 0 up to 1 afterwards, as in clip(x / 5 + 0.5, 0, 1)."""
    for shifted in flow.operands.readers(node.output[0]) if _is_slope(node, array) else ():
        shifts = shifted.op_type == "Add" and any(map(partial(_is_half, flow), shifted.input))
        clips = flow.operands.readers(shifted.output[0]) if shifts else []
        if any(_limit(flow, clip.output[0], sizes) == 1 for clip in clips):
            return True
    read = [*node.input]
    for name in node.input:
        made = flow.operands.maker(name)
        read += made.input if made is not None and made.op_type == "Mul" else ()
    limits = (_limit(flow, name, sizes) for name in read)
    known = [array.dtype.type(limit) for limit in limits if limit is not None]
    return any(array.flat[0] == (1 / limit if node.op_type == "Mul" else limit) for limit in known)


def _is_slope(node: NodeProto, array: Array) -> bool:
    """Whether a number is such as exporters divide the input of a hard sigmoid by, or multiply it by one over it."""
    number = abs(float(array.flat[0]))
    return 1 <= (number if node.op_type == "Div" else 1 / number if number else 0) <= _STEEPEST


def _is_half(flow: Flow, name: str) -> bool:
    operands = flow.operands
    array = operands.array(name) if operands.is_constant(name) and operands.shape_of(name) in ((), (1,)) else None
    return array is not None and bool(array.flat[0] == _HALF)


def _limit(flow: Flow, name: str, sizes: Container[Place]) -> float | None:
    """The upper bound of a Clip whose lower bound is 0; None for other nodes, and where the bound may be a size
    itself."""
    operands, node = flow.operands, flow.operands.maker(name)
    if node is None or node.op_type != "Clip":
        return None
    given = {"min": attribute_of(node, "min"), "max": attribute_of(node, "max")}  # inputs from opset 11 on
    for bound, operand in zip(given, node.input[1:], strict=False):
        array = operands.array(operand) if operand and operands.is_constant(operand) else None
        given[bound] = None if array is None or array.size != 1 else array.item()
    is_size = Place(operands.scope.producers[name], 2) in sizes
    return given["max"] if given["min"] == 0 and given["max"] and not is_size else None


def _scales_attention(flow: Flow, node: NodeProto, inner: NodeProto, array: Array) -> bool:
    """Whether it is the root of the length that a product of two matrices of data sums over, or one over that."""
    kind = array.dtype.type
    for product in (*_before(flow, node.input), *_after(flow, node.output)):
        dims = flow.dims.get(product.input[0])
        length = None if not dims else flow.sizes.fixed(dims[-1])
        if not length or any(flow.operands.is_constant(name) for name in product.input):
            continue
        if array.flat[0] in [kind(length**power) for power in _ROOTS[node.op_type]]:
            return True
        if inner.op_type in ("Sqrt", "Pow") and array.flat[0] == length:
            return True
    return False


def _before(flow: Flow, names: Sequence[str]) -> Iterator[NodeProto]:
    """The MatMul nodes that make a tensor; between them, elements are moved at most."""
    for name in names:
        made = flow.operands.maker(name)
        for _ in range(_FARTHEST):
            if made is None or made.op_type not in _MOVING:
                break
            made = flow.operands.maker(made.input[0])
        if made is not None and made.op_type == "MatMul":
            yield made


def _after(flow: Flow, names: Sequence[str]) -> Iterator[NodeProto]:
    """The MatMul nodes that read a tensor; between them, elements are moved at most."""
    pending = [(name, 0) for name in names]
    while pending:
        name, far = pending.pop()
        for reader in flow.operands.readers(name):
            if reader.op_type == "MatMul":
                yield reader
            elif reader.op_type in _MOVING and far < _FARTHEST:
                pending += [(made, far + 1) for made in reader.output]


def is_share_of_pixels(array: Array) -> bool:
    """Whether a number is such as pixels of 0 to 255 are multiplied by, to be 0 to 1 or -1 to 1."""
    kind = array.dtype.type
    return array.dtype.kind == "f" and any(
        array.flat[0] in (kind(1) / kind(n), kind(2) / kind(n)) for n in (255, 127.5)
    )
