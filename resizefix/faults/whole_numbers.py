"""Whole numbers where the scales belong: sizes in the wrong place, or scales that were stored as integers.

onnxscript packs `sizes=` in front when roi and scales are left out, and onnx-modifier drops the inputs left empty: the
sizes then stand in the place of roi or scales. onnx-graphsurgeon makes int64 of scales written without a point.
"""

from typing import Any

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.scopes import is_operator
from resizefix.document.values import Array
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import OPERAND_SPELLING, left_out
from resizefix.faults.resize_node import Operand, ResizeNode, sizes_at

_WHOLE = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.UINT8, TensorProto.INT8})


def sizes_as_scales(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Integers in the place of scales, or of roi where nothing stands behind it, that are sizes or may be.

    Real numbers there are sizes only where they are the stored shape of the output.
    """
    operand = _in_the_place_of_scales(node) if node.opset >= 9 else None  # before 9 the scales are an attribute
    if operand is None or (operand.elem_type not in _WHOLE and not _is_output_shape(node, operand)):
        return None
    where = "roi" if operand.position != node.places["scales"] else "scales"
    because = Diagnostic("faults.whole-numbers", where=where)
    meant = preferences.extent or (
        _said_by_shapes(node, operand) if operand.value is not None else _made(node, operand)
    )
    if meant == "scales":
        return None  # their type, or their place, is another fault
    if meant is None:
        numbers = Diagnostic("faults.at-run-time") if operand.value is None else operand.value.tolist()
        fix = Diagnostic("faults.scales-or-sizes", numbers=numbers)
        return Fault(OPERAND_SPELLING, because, fix)
    if node.opset < 11 or node.node.op_type != "Resize":
        fix = Diagnostic("faults.no-sizes-in-opset", operator=node.node.op_type, opset=node.opset)
        return Fault(OPERAND_SPELLING, because, fix)
    scales, initializers = left_out(node)
    roi = node.operands[1].name if 1 in node.operands and operand.position != 1 else scales
    change = NodeEdit(
        node.rewritten(inputs=[node.x, roi, scales, operand.name]), initializers=initializers, resized=True
    )
    # As real numbers they may run, and make a larger image.
    whole = operand.elem_type in _WHOLE
    return Fault(OPERAND_SPELLING, because, Diagnostic("faults.sizes-fourth"), change, keeps_numbers=whole)


def _in_the_place_of_scales(node: ResizeNode) -> Operand | None:
    place = node.places["scales"]
    if node.opset >= 11 and set(node.operands) == {1} and node.node.op_type == "Resize":
        place = 1
    sizes = node.operands.get(node.places.get("sizes", -1))
    operand = node.operands.get(place)
    if operand is None or operand.is_empty or operand.elem_type is None:
        return None
    return operand if sizes is None or sizes.is_empty else None


def _is_output_shape(node: ResizeNode, operand: Operand) -> bool:
    """Whether real numbers are the stored shape of the output, which they do not give as scales."""
    value, stored, lengths = operand.value, node.stored_dims, node.input_dims
    if value is None or value.ndim != 1 or stored is None or lengths is None or value.dtype.kind != "f":
        return False
    known = all(isinstance(size, int) for size in (*stored, *lengths))
    if not known or "axes" in node.attributes or value.tolist() != list(stored) or len(lengths) != value.size:
        return False
    return any(size * number != out for size, number, out in zip(lengths, value.tolist(), stored, strict=True))


def _said_by_shapes(node: ResizeNode, operand: Operand) -> str | None:
    """What the constants are by the shapes that the file states; where these fit both, by batch and channels."""
    value = operand.value
    if value is None or value.ndim != 1:
        return "scales"  # not one number for each axis: another fault
    axes = node.axes_of(value.size)
    if None in axes and node.rank is not None:
        return "scales"
    lengths, stored = sizes_at(axes, node.input_dims), sizes_at(axes, node.stored_dims)
    given = [int(number) for number in value.tolist()]
    said = [
        (size, number, out)
        for size, number, out in zip(lengths, given, stored, strict=True)
        if isinstance(size, int) and isinstance(out, int)
    ]
    as_scales = all(out == size * number for size, number, out in said)
    as_sizes = all(out == number for number, out in zip(given, stored, strict=True) if isinstance(out, int))
    if as_scales != as_sizes:
        return "scales" if as_scales else "sizes"
    if not as_scales:
        return None  # the stored shape contradicts both
    return _said_by_channels(given, lengths) if axes == list(range(len(given))) or None in axes else None


def _said_by_channels(given: list[int], lengths: list[Any]) -> str | None:
    """Batch and channels of an image keep their size: 1 as a scale, the size itself among sizes."""
    kept = [(number, size) for number, size in zip(given[:2], lengths[:2], strict=True) if isinstance(size, int)]
    if len(given) < 3 or not kept:
        return None
    if any(number != 1 for number in given[:2]):
        return "sizes" if all(number == size for number, size in kept) else None
    return "scales" if any(size != 1 for _, size in kept) else None


def _made(node: ResizeNode, operand: Operand) -> str | None:
    """A value computed from a Shape counts elements; divided by another one it is a factor."""
    chain = [link for _, link in node.chain(operand.name)]
    if not any(is_operator(link, "Shape") for link in chain):
        return None
    for link in chain:
        if is_operator(link, "Div") and any(is_operator(part, "Shape") for _, part in node.chain(link.input[1])):
            return None
    return "sizes"


EXTENT_SHAPE = "extent-shape"


def not_a_vector(node: ResizeNode, _: Preferences) -> Fault | None:
    """Scales or sizes of shape [4, 1] or [1, 4], as caffe2onnx writes them; ONNX wants a vector."""
    for what in ("scales", "sizes"):
        operand = node.operands.get(node.places.get(what, -1))
        value: Array | None = None if operand is None else operand.value
        if operand is None or value is None or value.ndim < 2 or value.size == 0:
            continue
        because = Diagnostic("faults.no-vector", what=what, shape=list(value.shape))
        if value.size != max(value.shape):
            return Fault(EXTENT_SHAPE, because, Diagnostic("faults.no-row"))
        fix = Diagnostic("faults.become", value=value.reshape(-1).tolist())
        return Fault(EXTENT_SHAPE, because, fix, node.with_constant(operand.position, what, value.reshape(-1)))
    return None
