"""What scales and sizes hold that they should not: whole numbers where the scales belong, both operands at once, two
numbers for one axis, ones in the place of batch and channels.

onnxscript packs `sizes=` in front when roi and scales are left out, and onnx-modifier drops the inputs left empty: the
sizes then stand in the place of roi or scales. onnx-graphsurgeon makes int64 of scales written without a point.
No runtime computes a node with scales and sizes. Where the two make the same lengths they may yet sample differently: 5
to 7 by 1.5, or by 7/5.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.scopes import DEFAULT_DOMAINS, is_operator
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.faults.extents import made_length
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import OPERAND_SPELLING, left_out, sizes_of_input
from resizefix.faults.resize_node import INT64, Operand, ResizeNode, sizes_at

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
    are_numbers = all(isinstance(size, int) for size in (*stored, *lengths))
    if not are_numbers or "axes" in node.attributes or value.tolist() != list(stored) or len(lengths) != value.size:
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
    pairs = [(number, size) for number, size in zip(given[:2], lengths[:2], strict=True) if isinstance(size, int)]
    if len(given) < 3 or not pairs:
        return None
    if any(number != 1 for number in given[:2]):
        return "sizes" if all(number == size for number, size in pairs) else None
    return "scales" if any(size != 1 for _, size in pairs) else None


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


BOTH_EXTENTS = "both-extents"


def both_extents(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Scales and sizes both hold a value; ONNX allows one of them."""
    scales, sizes = node.extents
    if scales is None or sizes is None:
        return None
    because = Diagnostic("faults.both-extents")
    extent, why = _agreed(node, scales, sizes)
    if preferences.extent is not None:
        extent, why = preferences.extent, Diagnostic("faults.extent-kept", kept=preferences.extent)
    if extent is None:
        return Fault(BOTH_EXTENTS, because, why)
    dropped, name, initializers = ("sizes", "", []) if extent == "scales" else ("scales", *left_out(node))
    change = NodeEdit(node.with_input(node.places[dropped], name), initializers=initializers, resized=True)
    return Fault(BOTH_EXTENTS, because, why, change)


def _agreed(node: ResizeNode, scales: Operand, sizes: Operand) -> tuple[str | None, Diagnostic]:
    """Which of the two stays, and why; or None, and the two readings.

    Either may, where both make the same lengths and sample alike. Else it is the one that the other was made from, or
    with which the stored shape agrees.
    """
    apart = Diagnostic("faults.extents-disagree", scales=_text(scales), sizes=_text(sizes))
    if scales.value is None or sizes.value is None or scales.value.shape != sizes.value.shape:
        return None, apart
    axes = node.axes_of(len(scales.value))
    lengths = sizes_at(axes, node.input_dims)
    numbers = [length for length in lengths if isinstance(length, int) and length > 0]
    if len(numbers) < len(lengths):
        return None, apart
    by_scales = [made_length(float(scale), length) for scale, length in zip(scales.value, numbers, strict=True)]
    quotients = np.array(sizes.value, np.float32) / np.array(numbers, np.float32)
    is_alike = np.array_equal(quotients, scales.value)
    if by_scales == sizes.value.tolist() and (is_alike or _samples_by_lengths(node)):
        extent = "sizes" if is_alike and not _whole(scales.value, numbers) else "scales"
        return extent, Diagnostic("faults.extent-kept-alike", kept=extent)
    if np.allclose(quotients, scales.value, rtol=1e-5, atol=0):
        return "sizes", Diagnostic(
            "faults.extent-kept-rounded", scales=_text(scales), quotients=numbers_text(quotients)
        )
    if by_scales == sizes.value.tolist():
        why = {"scales": _text(scales), "sizes": _text(sizes), "quotients": numbers_text(quotients)}
        return None, Diagnostic("faults.extents-sample-otherwise", **why)
    stored = sizes_at(axes, node.stored_dims)
    fitting = "scales" if stored == by_scales else "sizes" if stored == sizes.value.tolist() else None
    return fitting, apart if fitting is None else Diagnostic("faults.extent-kept-stored", kept=fitting)


def _samples_by_lengths(node: ResizeNode) -> bool:
    """Whether the two lengths alone decide where samples lie, whatever the scale."""
    return node.attributes.get("coordinate_transformation_mode") in ("align_corners", "tf_crop_and_resize")


def _whole(scales: Array, lengths: Sequence[int]) -> bool:
    return all((float(scale) * length).is_integer() for scale, length in zip(scales, lengths, strict=True))


def _text(operand: Operand) -> str:
    return Diagnostic("faults.at-run-time") if operand.value is None else numbers_text(operand.value)


REPEATED_AXIS = "repeated-axis"


def repeated_axis(node: ResizeNode, _: Preferences) -> Fault | None:
    """An axis stands in `axes` twice, as where lists of axes were merged; shape inference refuses that.

    Equal numbers for it say one thing, unless the stored shape says another. A roi that is read has a start and an end
    for each axis, which must agree too.
    """
    axes = node.attributes.get("axes")
    if axes is None or node.node.op_type != "Resize" or node.opset < 18:
        return None
    places = [axis + node.rank if axis < 0 and node.rank is not None else axis for axis in axes]
    first = [places.index(axis) for axis in places]
    once = [place for place, other in enumerate(first) if place == other]
    scales, sizes = node.extents
    extent = scales if sizes is None else sizes
    if len(once) == len(axes) or extent is None or (scales is not None and sizes is not None):
        return None
    because = Diagnostic("faults.axis-repeated", axes=list(axes))
    per_axis = {"scales" if sizes is None else "sizes": extent}
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize" and 1 in node.operands:
        per_axis["roi"] = node.operands[1]
    inputs, initializers = list(node.node.input), list[TensorProto]()
    for what, operand in per_axis.items():
        value = operand.value
        if value is None:
            return Fault(REPEATED_AXIS, because, Diagnostic("faults.axis-repeated-computed", what=what))
        rows = 2 if what == "roi" else 1
        if value.shape != (rows * len(axes),):
            return None  # not one number for each axis: another fault
        numbers = value.reshape(rows, -1)
        if not np.array_equal(numbers, numbers[:, first]):
            fix = Diagnostic("faults.axis-repeated-differs", what=what, value=numbers_text(value))
            return Fault(REPEATED_AXIS, because, fix)
        initializers.append(node.constant(what, numbers[:, once].reshape(-1)))
        inputs[operand.position] = initializers[-1].name
    named = [axes[place] for place in once]
    lengths, stored = (
        sizes_at([places[place] for place in once], dims) for dims in (node.input_dims, node.stored_dims)
    )
    numbers = [] if extent.value is None else extent.value[once].tolist()
    outputs = [made_length(*pair) if isinstance(pair[1], int) else None for pair in zip(numbers, lengths, strict=True)]
    wanted = numbers if extent is sizes else outputs
    if any(isinstance(out, int) and size not in (None, out) for out, size in zip(stored, wanted, strict=True)):
        fix = Diagnostic("faults.axis-repeated-stored", stored=list(node.stored_dims or ()))
        return Fault(REPEATED_AXIS, because, fix)
    change = NodeEdit(node.rewritten(inputs=inputs, put={"axes": named}), initializers=initializers)
    return Fault(REPEATED_AXIS, because, Diagnostic("faults.axis-named-once", axes=named), change)


LOST_CHANNELS = "lost-channels"


def lost_channels(node: ResizeNode, _: Preferences) -> Fault | None:
    """Sizes [1, 1, height, width] for an image of several channels, where nothing else says that they are meant.

    torch/onnx/symbolic_opset11.py of torch 1.3 puts ones before the computed height and width; onnxruntime then keeps
    the first channel alone where the mode is nearest, and refuses the node otherwise.
    """
    scales, sizes = node.extents
    rank = node.rank
    if sizes is None or scales is not None or rank is None or rank < 3 or "axes" in node.attributes:
        return None
    batch, channels = _known(node)
    if channels is None or channels < 2 or batch not in (None, 1) or sizes.elem_type not in (None, INT64):
        return None
    tail = _behind_two_ones(node, sizes, rank)
    evidence = _evidence(node, channels)
    if tail is None or evidence is None:
        return None
    because = Diagnostic("faults.channels-lost", channels=channels)
    fix = Diagnostic("faults.channels-of-input", evidence=evidence)
    return Fault(LOST_CHANNELS, because, fix, sizes_of_input(node, sizes.position, 2, tail), keeps_numbers=False)


def _known(node: ResizeNode) -> tuple[int | None, int | None]:
    """Batch and channels: of the input; where that is not known, of the stored output, which should have the same."""
    for dims in (node.input_dims, node.stored_dims):
        if dims is not None and len(dims) > 1 and isinstance(dims[1], int):
            return (dims[0] if isinstance(dims[0], int) else None), dims[1]
    return None, None


def _evidence(node: ResizeNode, channels: int) -> Diagnostic | None:
    """What says that the channels are to stay; None: nothing does."""
    stored = node.stored_dims
    if stored is not None and len(stored) > 1 and stored[1] == channels:
        return Diagnostic("faults.channels-stored", channels=channels)
    if node.attributes.get("mode", "nearest") != "nearest":
        return Diagnostic("faults.channels-not-interpolated")
    if node.view.model.producer_name == "pytorch":
        return Diagnostic("faults.channels-of-torch")
    return None


def _behind_two_ones(node: ResizeNode, sizes: Operand, rank: int) -> list[str] | list[int] | None:
    """What follows the two ones: numbers of constant sizes, or the other names of the Concat that makes them."""
    if sizes.value is not None:
        fits = sizes.value.shape == (rank,) and sizes.value.dtype == np.int64 and sizes.value[:2].tolist() == [1, 1]
        return [int(size) for size in sizes.value[2:]] if fits else None
    source = node.definition(sizes.name)
    concat = None if source is None else source.node
    if concat is None or concat.op_type != "Concat" or concat.domain not in DEFAULT_DOMAINS or len(concat.input) < 2:
        return None
    ones = node.value_of(concat.input[0])
    return list(concat.input[1:]) if ones is not None and ones.tolist() == [1, 1] else None
