"""Operators that compute element by element, and reductions: the sizes that they keep, broadcast or take away, and what
they compute of values that are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper

from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.shapes.expression import (
    ELEMENTWISE,
    Dim,
    UntraceableError,
    are_ordered,
    cast,
    computed,
    is_cast_defined,
)
from resizefix.shapes.operand import DTYPES, Call, Known, ValueRow, require_few, sizes_read
from resizefix.shapes.output_size import BROADCASTING, KEEPING, REDUCTIONS
from resizefix.shapes.reading import DimList, NodeSizes, Row, UnknownRankError, axis_of


def keep(n: NodeSizes) -> list[DimList]:
    """The sizes of the first input, for every output."""
    return [n.dims(0)] * len(n.node.output)


def broadcast(n: NodeSizes) -> list[DimList]:
    """Elementwise over several inputs; those of a quantized operator are 0 and 3."""
    positions = (0, 3) if n.node.op_type.startswith("QLinear") else [at for at in range(len(n)) if n.has(at)]
    return [n.broadcast([n.dims(position) for position in positions], positions)]


def channelwise(n: NodeSizes) -> list[DimList]:
    """BatchNormalization and its like: a weight for each channel."""
    dims = n.dims(0)
    if len(dims) > 1 and n.sizes.varies(dims[1]):
        # Keras normalises positions with weights that are 1 and 0 for each.
        for position in range(1, len(n)):
            if n.may_follow(position):
                n.meet(dims[1], n.dims(position)[0])
    elif len(dims) > 1:
        n.require(dims[1], "origins.weights")
    return [dims] + [(dims[1],)] * (len(n.node.output) - 1) if len(dims) > 1 else [dims] * len(n.node.output)


def layer_normalization(n: NodeSizes) -> list[DimList]:
    """Weights for the last axes."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", -1), len(dims))
    weight = n.weight_shape(1)
    plain = all(_is_plain_weight(n, position) for position in range(1, len(n)) if n.has(position))
    for position in range(1, len(n)) if plain else ():
        # torch normalises without weights by weights of 1 and 0.
        for dim, own in zip(dims[axis:], n.dims(position)[axis - len(dims) :], strict=True):
            n.meet(dim, own)
    if weight is not None and not plain:
        for dim, length in zip(dims[len(dims) - len(weight) :], weight, strict=True):
            if length != 1:
                n.require(dim, "origins.weights")
    for dim in dims[axis:]:
        if n.sizes.fixed(dim) is not None:
            n.require(dim, "origins.weights")
    ones = tuple(n.const(1) if place >= axis else dim for place, dim in enumerate(dims))
    return [dims] + [ones] * (len(n.node.output) - 1)


def _is_plain_weight(n: NodeSizes, position: int) -> bool:
    """Whether a constant is 1 everywhere, or 0 as a bias."""
    plain = 1 if position == 1 else 0
    array = n.array(position) if n.may_follow(position) else None
    return array is not None and array.size > 0 and bool(np.all(array == plain))


def quantize(n: NodeSizes) -> list[DimList]:
    """QuantizeLinear, DequantizeLinear: one scale, or those along `axis` or behind it."""
    dims, scale = n.dims(0), n.weight_shape(1)
    if scale is None or scale not in ((), (1,)):
        for dim in dims[n.attribute("axis", 1) :]:
            if n.sizes.fixed(dim) is not None:
                n.require(dim, "origins.weights")
    return [dims]


def matmul(n: NodeSizes) -> list[DimList]:
    """[…, M, K] × […, K, N]"""
    at = 3 if n.node.op_type == "QLinearMatMul" else 1
    left, right = n.summed(0, -1, None), n.summed(at, -2, None)
    if not left or not right:
        raise UnknownRankError
    left = n.summed(0, -1, right[-2 if len(right) > 1 else 0])
    right = n.summed(at, -2, left[-1])
    n.meet(left[-1], right[-2] if len(right) > 1 else right[0], 0, at)
    outer = n.broadcast([left[:-2], right[:-2]], (0, at)) if len(left) > 2 or len(right) > 2 else ()
    rows = (left[-2],) if len(left) > 1 else ()
    columns = (right[-1],) if len(right) > 1 else ()
    return [(*outer, *rows, *columns)]


def gemm(n: NodeSizes) -> list[DimList]:
    """A·B + C, each of A and B transposed or not."""
    left = n.dims(0)
    weight = n.weight_shape(1) if n.may_follow(1) else None
    right = n.dims(1) if weight is None else tuple(n.const(length) for length in weight)
    if len(left) != 2 or len(right) != 2:
        raise UnknownRankError
    rows, depth = left[::-1] if n.attribute("transA", 0) else left
    other, columns = right[::-1] if n.attribute("transB", 0) else right
    if weight is not None:
        n.require(depth, "origins.weights")
    n.meet(depth, other, 0, 1)
    if n.has(2) and not n.may_follow(2):
        _broadcast_to(n, n.dims(2), (rows, columns), 2)
    return [(rows, columns)]


def _broadcast_to(n: NodeSizes, dims: DimList, wanted: DimList, position: int) -> None:
    """An operand that is broadcast to sizes, which it must not change."""
    if len(dims) > len(wanted):
        raise n.misfit(0, position)
    for dim, size in zip(dims[::-1], wanted[::-1], strict=False):
        if dim.old != 1:
            n.meet(size, dim, 0, position)


def einsum(n: NodeSizes) -> list[DimList]:
    """Equal letters are equal sizes."""
    equation = n.attribute("equation").decode().replace(" ", "")
    if "." in equation:
        raise UnknownRankError
    inputs, _, output = equation.partition("->")
    dims_by_letter: dict[str, Dim] = {}
    for position, letters in enumerate(inputs.split(",")):
        dims = n.dims(position)
        if len(dims) != len(letters) or len(set(zip(letters, dims, strict=True))) != len(set(letters)):
            raise n.misfit(position)
        for letter, dim in zip(letters, dims, strict=True):
            dims_by_letter[letter] = n.common([dims_by_letter[letter], dim]) if letter in dims_by_letter else dim
    if "->" not in equation:
        output = "".join(sorted(letter for letter in dims_by_letter if inputs.count(letter) == 1))
    return [tuple(dims_by_letter[letter] for letter in output)]


def reduce(n: NodeSizes) -> list[DimList]:
    """Reductions over axes: an attribute, or an operand since opset 13 or 18."""
    dims = n.dims(0)
    given = n.numbers(1, "axes")
    if not given and n.attribute("noop_with_empty_axes", 0):
        return [dims]
    axes = {axis_of(axis, len(dims)) for axis in given} if given else set(range(len(dims)))
    return [_without(n, dims, axes)]


def arg(n: NodeSizes) -> list[DimList]:
    """ArgMax, ArgMin."""
    dims = n.dims(0)
    return [_without(n, dims, {axis_of(n.attribute("axis", 0), len(dims))})]


def _without(n: NodeSizes, dims: DimList, axes: set[int]) -> DimList:
    if n.attribute("keepdims", 1):
        return tuple(n.const(1) if axis in axes else dim for axis, dim in enumerate(dims))
    return tuple(dim for axis, dim in enumerate(dims) if axis not in axes)


def recurrent(n: NodeSizes) -> list[DimList]:
    """LSTM, GRU, RNN: steps, batch and features, or with `layout` batch first."""
    dims = n.dims(0)
    n.require(dims[2], "origins.weights")
    hidden = n.const(n.attribute("hidden_size"))
    both = n.const(2 if n.attribute("direction", b"forward") == b"bidirectional" else 1)
    steps, batch, _ = dims
    for position in (5, 6):
        if n.has(position) and n.may_follow(position):
            n.meet(batch, n.dims(position)[1])
    if n.attribute("layout", 0):
        steps, batch = batch, steps
        outputs: list[DimList] = [(batch, steps, both, hidden), (batch, both, hidden), (batch, both, hidden)]
    else:
        outputs = [(steps, both, batch, hidden), (both, batch, hidden), (both, batch, hidden)]
    return outputs[: len(n.node.output)]


def grid_sample(n: NodeSizes) -> list[DimList]:
    """The spatial sizes of the grid."""
    dims, grid = n.dims(0), n.dims(1)
    if len(dims) != len(grid) or (dims[0].old != grid[0].old and n.sizes.are_numbers):
        raise n.misfit(0, 1)
    n.notes.samplings.append((n.label, dims[2:], grid[1:-1]))
    return [(dims[0], dims[1], *grid[1:-1])]


def affine_grid(n: NodeSizes) -> list[DimList]:
    """A grid of the listed size: batch and spatial sizes, then one coordinate for each."""
    dims, listed = n.dims(0), n.listed(1)
    n.meet(dims[0], listed[0])
    return [(listed[0], *listed[2:], n.const(len(listed) - 2))]


def one_hot(n: NodeSizes) -> list[DimList]:
    """One more axis, as long as `depth` says."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", -1), len(dims) + 1)
    return [(*dims[:axis], n.listed(1)[0], *dims[axis:])]


def nonzero(n: NodeSizes) -> list[DimList]:
    """How many there are depends on data; but of a list of ones it is all (how torch wrote arange before opset 11)."""
    dims = n.dims(0)
    if len(dims) == 1 and n.is_filled(0):
        return [(n.const(1), dims[0])]
    return [(n.const(len(dims)), n.sizes.opaque())]


def roi_align(n: NodeSizes) -> list[DimList]:
    """A fixed map for each region."""
    dims, regions = n.dims(0), n.dims(1)
    height, width = (n.const(n.attribute(name, 1)) for name in ("output_height", "output_width"))
    return [(regions[0], dims[1], height, width)]


_CHANNELWISE = frozenset({"BatchNormalization", "InstanceNormalization", "GroupNormalization", "ImageScaler"})

ROWS: dict[str, Row] = {
    **dict.fromkeys(KEEPING - _CHANNELWISE - {"LayerNormalization"}, keep),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "FastGelu", "QuickGelu"), keep),
    **dict.fromkeys(("Trilu", "Identity", "EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli"), keep),
    **dict.fromkeys(BROADCASTING, broadcast),
    **dict.fromkeys(("PRelu", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"), broadcast),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), broadcast),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), quantize),
    **dict.fromkeys(_CHANNELWISE, channelwise),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), layer_normalization),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul"), matmul),
    "DynamicQuantizeLinear": lambda n: [n.dims(0), (), ()],  # the data, a scale, a zero point
    "Gemm": gemm,
    "Einsum": einsum,
    **dict.fromkeys(REDUCTIONS, reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), arg),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), recurrent),
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "OneHot": one_hot,
    "Shape": lambda n: [(n.const(len(sizes_read(n.node, n.dims(0)))),)],
    "Size": lambda n: [()],
    "NonMaxSuppression": lambda n: [(n.sizes.opaque(), n.const(3))],  # how many there are depends on data
    "NonZero": nonzero,
    "RoiAlign": roi_align,
}


_REDUCTIONS = {"ReduceMax": "Max", "ReduceMin": "Min", "ReduceSum": "Add", "ReduceProd": "Mul"}
_REDUCING = {"Max": np.maximum, "Min": np.minimum, "Add": np.add, "Mul": np.multiply}


def _elementwise(call: Call) -> list[Known]:
    operands = call.all_operands()
    if call.opset < 7 and len({operand.shape for operand in operands}) > 1:
        raise UntraceableError("document.old-broadcast", operator=call.operator)
    if call.operator == "Mod" and (call.attribute("fmod", 0) or operands[0].dtype[0] == "f"):
        raise UntraceableError("document.mod-of-c")
    dtype = operands[-1 if call.operator == "Where" else 0].dtype
    return [_applied(call.operator, "bool" if ELEMENTWISE[call.operator].gives_bool else dtype, operands)]


def _applied(operator: str, dtype: str, operands: Sequence[Known]) -> Known:
    row = ELEMENTWISE[operator]
    if not {dtype, *(operand.dtype for operand in operands)} <= DTYPES:
        raise UntraceableError("document.arithmetic-not-followed", dtype=dtype)
    if row.operands not in (None, len(operands)):
        raise UntraceableError("document.operand-count", operator=operator, operands=counted(len(operands), "operand"))
    sizes = np.broadcast_shapes(*(operand.shape for operand in operands))
    require_few(sizes, operands)
    values = [operand.value for operand in operands if operand.value is not None]
    if len(values) == len(operands):
        if not row.defined(*values):
            raise UntraceableError("document.left-to-runtime", operator=operator)
        with np.errstate(all="ignore"):
            return Known.constant(np.asarray(row.compute(*values)).astype(dtype))
    arrays = np.broadcast_arrays(*(operand.elements for operand in operands))
    elements = np.empty(sizes, object)
    for position in np.ndindex(*sizes):
        elements[position] = computed(operator, dtype, *(array[position] for array in arrays))
    return Known(dtype, elements=elements)


def _clip(call: Call) -> list[Known]:
    data = call.operand(0)
    result = data
    for position, name, operator in ((1, "min", "Max"), (2, "max", "Min")):
        bound = call.optional(position)
        given = call.attribute(name)
        if given is not None:
            bound = Known.constant(np.array(given, data.dtype))
        elif bound is None and data.value is not None and data.value.dtype.kind == "f":
            limits = np.finfo(data.dtype)  # what onnxruntime takes for a bound that is left out: of inf it makes that
            bound = Known.constant(np.array(limits.min if name == "min" else limits.max, data.dtype))
        if bound is not None:
            result = _applied(operator, data.dtype, [result, bound])
    return [result]


def _cast(call: Call) -> list[Known]:
    to = call.attribute("to")
    if isinstance(to, bytes):  # Cast-1 names the type
        raise UntraceableError("document.old-cast")
    return [_converted(call.operand(0), np.dtype(helper.tensor_dtype_to_np_dtype(to)).name)]


def _converted(operand: Known, dtype: str) -> Known:
    if not {dtype, operand.dtype} <= DTYPES:
        raise UntraceableError("document.cast-not-followed", source=operand.dtype, dtype=dtype)
    if operand.value is not None:
        if not is_cast_defined(operand.value, dtype):
            raise UntraceableError("document.cast-out-of-range", dtype=dtype)
        with np.errstate(all="ignore"):
            return Known.constant(cast(operand.value, dtype))
    elements = np.empty(operand.shape, object)
    for position in np.ndindex(*operand.shape):
        elements[position] = computed("Cast", dtype, operand.elements[position])
    return Known(dtype, elements=elements)


def _reduction(call: Call) -> list[Known]:
    data, axes = call.operand(0), call.integers(1, "axes")
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [data]
    require_few(data.shape, [data])
    operator = _REDUCTIONS[call.operator]
    rank = len(data.shape)
    if any(not -rank <= axis < rank for axis in axes or ()):
        raise UntraceableError("document.no-such-axis", operator=call.operator)
    reduced = sorted({axis % rank for axis in axes} if axes else range(rank))
    kept_dims = bool(call.attribute("keepdims", 1))
    if data.value is not None:
        if data.value.dtype.kind not in "iu" or not _is_reduced_exactly(operator, data.value):
            raise UntraceableError("document.left-to-runtime", operator=call.operator)
        compute: np.ufunc = _REDUCING[operator]
        reduced_value = compute.reduce(data.value, axis=tuple(reduced), keepdims=kept_dims, dtype=data.value.dtype)
        return [Known.constant(np.asarray(reduced_value))]
    staying = [axis for axis in range(rank) if axis not in reduced]
    shape = [data.shape[axis] for axis in staying]
    rows = data.moved(lambda elements: np.transpose(elements, [*staying, *reduced]).reshape([*shape, -1]))
    if rows.shape[-1] == 0:
        raise UntraceableError("document.nothing-to-reduce", operator=call.operator)
    result = rows.moved(lambda elements: elements[..., 0])
    for position in range(1, rows.shape[-1]):
        element = rows.moved(lambda elements, position=position: elements[..., position])  # type: ignore[misc]
        result = _applied(operator, data.dtype, [result, element])
    if kept_dims:
        return [result.moved(lambda elements: np.expand_dims(elements, tuple(reduced)))]
    return [result]


def _is_reduced_exactly(operator: str, value: Array) -> bool:
    """onnxruntime adds and multiplies integers as doubles, and what is beyond the type becomes its largest (1.31.1)."""
    if not value.size:
        return False
    if operator in ("Max", "Min"):
        return are_ordered(value)
    most = min(2**53, int(np.iinfo(value.dtype).max))
    sizes = [abs(int(number)) for number in value.flat]
    return (sum(sizes) if operator == "Add" else math.prod(size for size in sizes if size)) <= most


VALUE_ROWS: dict[str, ValueRow] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "Clip": _clip,
    "Cast": _cast,
    "CastLike": lambda call: [_converted(call.operand(0), call.operand(1).dtype)],
}
