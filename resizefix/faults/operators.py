"""Nodes of another opset than the one that the model imports.

Converters raise or lower `opset_import` and leave Upsample or Resize as they were. What such a node means is what its
own version says: Upsample and Resize-10 sample asymmetrically, and nearest rounds down where an axis grows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import NO_NUMBERS
from resizefix.document.edits import NodeEdit
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import FLOAT, INT64, ResizeNode

WRONG_OPSET = "wrong-opset"
OPERAND_SPELLING = "operand-spelling"
# The attributes that came with Resize-11, and those of later versions with theirs.
SINCE_11 = frozenset(
    {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value"}
)
SINCE_18 = frozenset({"antialias", "axes", "keep_aspect_ratio_policy"})
SCALES_ATTRIBUTES = frozenset({"scales", "height_scale", "width_scale"})


def upsample_beyond_9(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Upsample in a model of opset 10 or later, where the operator is deprecated."""
    if node.node.op_type != "Upsample" or node.opset < 10:
        return None
    because = Diagnostic("faults.upsample-deprecated", opset=node.opset)
    if SINCE_11 & set(node.attributes):
        # An Upsample samples asymmetrically, and a Resize that names no coordinates at half_pixel.
        is_open = "coordinate_transformation_mode" not in node.attributes and node.opset > 10
        if is_open and preferences.coordinates is None:
            return _two_coordinates(node, because)._replace(name=WRONG_OPSET)
        put = {"coordinate_transformation_mode": preferences.coordinates} if is_open else {}
        change = NodeEdit(node.rewritten(op_type="Resize", put=put))
        return Fault(WRONG_OPSET, because, Diagnostic("faults.name-it-resize"), change)
    scales = scales_attribute(node)
    initializers = []
    operand = next((node.operands[place] for place in (1, 2) if place in node.operands), None)
    if operand is not None:
        name = operand.name
    elif scales is not None:
        initializers.append(node.constant("scales", scales))
        name = initializers[0].name
    else:
        return Fault(WRONG_OPSET, because, Diagnostic("faults.no-scales"))
    value = operand.value if operand is not None else scales
    return _as_resize(node, because, name, value, initializers)


def two_inputs_beyond_10(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A Resize of two inputs where the second is roi: a Resize-10 or a renamed Upsample in a newer model."""
    if node.node.op_type != "Resize" or node.opset < 11 or set(node.operands) != {1}:
        return None
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return None
    operand = node.operands[1]
    because = Diagnostic("faults.scales-in-place-of-roi")
    if operand.dims is not None and node.rank is not None and operand.dims != (node.rank,):
        because = Diagnostic("faults.no-scale-per-axis", shape=list(operand.dims))
        return Fault(OPERAND_SPELLING, because, Diagnostic("faults.size-unknown"))
    if set(node.attributes) <= {"mode"} and _is_old_mode(node):
        if not _read_alike(node, operand.value) and node.view.model.producer_name != "sclblonnx":
            if preferences.coordinates is None:
                return _two_coordinates(node, because)
            if preferences.coordinates == "half_pixel":
                return _moved_scales(node, because, operand.name)
        because = Diagnostic("faults.resize-10", because=because)
        return _as_resize(node, because, operand.name, operand.value, [])
    return _moved_scales(node, because, operand.name)


def _is_old_mode(node: ResizeNode) -> bool:
    """Whether Upsample and Resize-10 have the node's mode; cubic came with Resize-11."""
    return node.attributes.get("mode", "nearest") in ("nearest", "linear", "bilinear", "trilinear")


def _read_alike(node: ResizeNode, scales: Array | None) -> bool:
    """Whether a node of mode and scales alone computes the same as Resize-10 and by the defaults of Resize-11.

    Nearest by whole factors: asymmetric with floor and half_pixel with round_prefer_floor take the same pixels.
    """
    if node.attributes.get("mode", "nearest") != "nearest" or scales is None:
        return False
    return bool(np.all(scales >= 1) and np.array_equal(scales, np.round(scales)))


def _two_coordinates(node: ResizeNode, because: Diagnostic) -> Fault:
    """onnxscript leaves roi out of a node of today, sclblonnx raises the opset of a Resize-10: both look the same."""
    fix = Diagnostic("faults.two-coordinates", opset=node.opset)
    return Fault(OPERAND_SPELLING, because, fix, retry_args=("--prefer", "half_pixel"))


def _moved_scales(node: ResizeNode, because: Diagnostic, scales: str) -> Fault:
    roi, initializers = left_out(node)
    change = NodeEdit(node.rewritten(inputs=[node.x, roi, scales]), initializers=initializers)
    return Fault(OPERAND_SPELLING, because, Diagnostic("faults.scales-third"), change)


def _as_resize(
    node: ResizeNode, because: Diagnostic, scales: str, value: Array | None, initializers: list[Any]
) -> Fault:
    """The node of Upsample-9 or Resize-10 in the words of the opset that the model imports."""
    if not _is_old_mode(node):
        return Fault(WRONG_OPSET, because, Diagnostic("faults.no-such-mode"))
    if node.opset == 10:
        change = NodeEdit(
            node.rewritten(op_type="Resize", inputs=[node.x, scales], drop=SCALES_ATTRIBUTES), initializers=initializers
        )
        return Fault(WRONG_OPSET, because, Diagnostic("faults.resize-same-inputs"), change)
    put: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric"}
    if node.attributes.get("mode", "nearest") == "nearest":
        rounding = simple_rounding(value)
        if rounding is None:
            return Fault(WRONG_OPSET, because, Diagnostic("faults.no-rounding-to-export"))
        put["nearest_mode"] = rounding
    roi, empty = left_out(node)
    changed = node.rewritten(op_type="Resize", inputs=[node.x, roi, scales], drop=SCALES_ATTRIBUTES, put=put)
    fix = Diagnostic("faults.resize-with", attributes=", ".join(put.values()))
    return Fault(WRONG_OPSET, because, fix, NodeEdit(changed, initializers=[*initializers, *empty]))


def simple_rounding(scales: Array | None) -> str | None:
    """The nearest_mode that rounds as Upsample and Resize-10 do (onnxruntime's `simple`); None: there is none."""
    if scales is None or scales.dtype.kind not in "fiu" or np.all(scales >= 1):
        return "floor"
    return "ceil" if np.all(scales[scales != 1] < 1) else None


def left_out(node: ResizeNode) -> tuple[str, list[Any]]:
    """What stands for a roi or scales that nothing reads: an empty tensor before opset 13, no name from then on."""
    return ("", []) if node.opset >= 13 else empty_tensor(node)


def empty_tensor(node: ResizeNode) -> tuple[str, list[Any]]:
    """The name of an empty float32 initializer: one that the model has, or a new one."""
    main = node.view.scopes.main
    for name, tensor in main.initializers.items():
        visible = not node.scope.in_function and node.definition(name)
        if visible and visible.scope is main and tensor.data_type == FLOAT and list(tensor.dims) == [0]:
            return name, []
    empty = node.constant("empty", NO_NUMBERS)
    return empty.name, [empty]


def scales_attribute(node: ResizeNode) -> Array | None:
    """The scales that attributes of Upsample-7 or Upsample-1 hold."""
    attributes = node.attributes
    if "scales" in attributes and isinstance(attributes["scales"], list):
        return np.array(attributes["scales"], np.float32)
    if "height_scale" in attributes and "width_scale" in attributes:
        return np.array([1, 1, attributes["height_scale"], attributes["width_scale"]], np.float32)
    return None


def upsample_of_another_version(node: ResizeNode, _: Preferences) -> Fault | None:
    """Upsample whose scales are an attribute where they are an input, or the other way round."""
    if node.node.op_type != "Upsample" or node.opset >= 10:
        return None
    written = scales_attribute(node)
    operand = node.operands.get(1)
    if node.opset == 9:
        return _scales_as_input(node, written)
    if node.opset < 7:
        return _upsample_before_7(node, written)
    if operand is None and "height_scale" in node.attributes and written is not None:
        put = {"scales": [float(scale) for scale in written]}
        changed = node.rewritten(drop=SCALES_ATTRIBUTES, put=put)
        because, fix = Diagnostic("faults.upsample-1"), Diagnostic("faults.attribute-scales")
        return Fault(WRONG_OPSET, because, fix, NodeEdit(changed))
    if operand is None:
        return None
    because = Diagnostic("faults.second-input", opset=node.opset)
    value = operand.value
    fits = value is not None and value.ndim == 1 and value.dtype.kind == "f" and node.rank in (None, value.size)
    if not fits or value is None:
        return Fault(WRONG_OPSET, because, Diagnostic("faults.second-input-unfit"))
    if written is not None and not np.array_equal(written, value.astype(np.float32)):
        fix = Diagnostic("faults.input-or-attribute", value=value.tolist(), written=written.tolist())
        return Fault(WRONG_OPSET, because, fix)
    put = {"scales": [float(scale) for scale in value.astype(np.float32)]}
    changed = node.rewritten(inputs=[node.x], drop=SCALES_ATTRIBUTES, put=put)
    return Fault(WRONG_OPSET, because, Diagnostic("faults.scales-to-attribute"), NodeEdit(changed))


def _scales_as_input(node: ResizeNode, written: Array | None) -> Fault | None:
    operand = node.operands.get(1)
    if written is None or not SCALES_ATTRIBUTES & set(node.attributes):
        return None
    because = Diagnostic("faults.scales-are-attribute")
    if operand is None:
        tensor = node.constant("scales", written)
        changed = node.rewritten(inputs=[node.x, tensor.name], drop=SCALES_ATTRIBUTES)
        change = NodeEdit(changed, initializers=[tensor])
        return Fault(WRONG_OPSET, because, Diagnostic("faults.scales-to-initializer"), change)
    if operand.value is not None and np.array_equal(operand.value, written):
        change = NodeEdit(node.rewritten(drop=SCALES_ATTRIBUTES))
        return Fault(WRONG_OPSET, because, Diagnostic("faults.attribute-repeats"), change)
    return Fault(WRONG_OPSET, because, Diagnostic("faults.attribute-or-input", written=written.tolist()))


def _upsample_before_7(node: ResizeNode, written: Array | None) -> Fault | None:
    because = Diagnostic("faults.upsample-not-run", opset=node.opset)
    if written is None:
        return Fault(WRONG_OPSET, because, Diagnostic("faults.no-height-scale"))
    reason = node.surroundings.why_not_raised(7)
    if reason is not None:
        return Fault(WRONG_OPSET, because, Diagnostic("faults.not-raised", opset=7, why=reason))
    spelled = node.attributes.get("mode", "nearest")
    put: dict[str, Any] = {"scales": [float(scale) for scale in written]}
    if spelled == "bilinear":
        put["mode"] = "linear"
    change = NodeEdit(node.rewritten(drop=SCALES_ATTRIBUTES, put=put), opset=7)
    return Fault(WRONG_OPSET, because, Diagnostic("faults.raised-to-7"), change)


def too_new_for_the_model(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A node that only a later opset has: Resize below 10, Resize-11's inputs at 10, a downscaling Upsample-9."""
    needed = _needed_opset(node)
    if needed is None or needed <= node.opset:
        return None
    sampling = _of_torch(node, preferences) if node.node.op_type == "Upsample" else None
    needed = needed if sampling is None else max(needed, 11)
    code = "faults.upsample-shrinks" if node.node.op_type == "Upsample" else "faults.resize-too-new"
    because = Diagnostic(code, needed=needed, opset=node.opset)
    others = _of_the_imported_opset(node)
    if others:
        fix = Diagnostic("faults.another-resize", label=others, opset=node.opset, needed=needed)
        return Fault(WRONG_OPSET, because, fix)
    in_function = Diagnostic("faults.in-function") if node.scope.in_function else None
    reason = in_function or node.surroundings.why_not_raised(needed)
    if reason is not None:
        return Fault(WRONG_OPSET, because, Diagnostic("faults.not-raised", opset=needed, why=reason))
    if sampling is not None:
        roi, empty = left_out(node)
        meant = node.rewritten(op_type="Resize", inputs=[node.x, roi, node.node.input[1]], put=sampling)
        fix = Diagnostic("faults.raised-as-torch", opset=needed, attributes=", ".join(sampling.values()))
        return Fault(WRONG_OPSET, because, fix, NodeEdit(meant, initializers=empty, opset=needed))
    changed = node.rewritten(op_type="Resize") if node.node.op_type == "Upsample" else None
    fix = Diagnostic("faults.raised", opset=needed)
    return Fault(WRONG_OPSET, because, fix, NodeEdit(changed, opset=needed))


def _of_torch(node: ResizeNode, preferences: Preferences) -> dict[str, Any] | None:
    """How PyTorch samples what its exporter wrote as a shrinking Upsample, which no runtime runs; None: another wrote
    it, or the numbers of PyTorch are not asked for where linear nodes next to it may have others."""
    if node.view.model.producer_name != "pytorch" or set(node.attributes) & SINCE_11 or 1 not in node.operands:
        return None
    if node.attributes.get("mode", "nearest") == "nearest":
        return {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return {"coordinate_transformation_mode": "half_pixel"} if preferences.framework == "pytorch" else None


def _needed_opset(node: ResizeNode) -> int | None:
    if node.node.op_type == "Upsample":
        extent = node.extent_at()  # computed scales, too
        shrinks = extent is not None and extent[1].size > 0 and 0 < float(extent[1].min()) < 0.999
        if set(node.attributes) & SINCE_11 and not _says_what_resize_10_says(node):
            return 11
        return 10 if node.opset == 9 and shrinks else None
    attributes = set(node.attributes)
    if node.attributes.get("coordinate_transformation_mode") == "half_pixel_symmetric":
        return 19
    says = node.attributes
    if says.get("antialias") or "axes" in attributes or says.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return 18
    if len(node.node.input) > 2 or (attributes & SINCE_11 and not _says_what_resize_10_says(node)):
        return 11
    return 10


def _says_what_resize_10_says(node: ResizeNode) -> bool:
    """Whether attributes of Resize-11 mean what Resize-10 computes without them."""
    says = node.attributes
    if says.get("coordinate_transformation_mode", "asymmetric") != "asymmetric":
        return False
    if not _is_old_mode(node):
        return False
    if says.get("mode", "nearest") != "nearest":
        return True
    value = node.operands[1].value if 1 in node.operands else None
    return bool(says.get("nearest_mode", "floor") == simple_rounding(value))


def _of_the_imported_opset(node: ResizeNode) -> str:
    """Another Resize of opset 10 in a model that would be raised beyond it, where it would mean something else."""
    if node.opset != 10:
        return ""
    for scope in node.view.scopes.all:
        for other in scope.body.node:
            is_resize = other.op_type == "Resize" and other.domain in DEFAULT_DOMAINS
            if is_resize and len(other.input) == 2 and not SINCE_11 & {entry.name for entry in other.attribute}:
                return str(other.name or other.output[0])
    return ""


def missing_operand(node: ResizeNode, _: Preferences) -> Fault | None:
    """'' in the place of a mandatory tensor: Resize-11 wants an empty tensor for roi and scales."""
    if node.node.op_type != "Resize" or node.opset not in (11, 12) or len(node.node.input) < 2:
        return None
    if set(node.operands) == {1}:  # the scales in roi's place
        return None
    inputs = [*node.node.input, *[""] * (3 - len(node.node.input))]
    crops = node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    missing = [place for place in (1, 2) if not inputs[place]]
    if not missing or (crops and 1 in missing) or (2 in missing and 3 not in node.operands):
        return None
    empty, initializers = empty_tensor(node)
    for place in missing:
        inputs[place] = empty
    names = " and ".join(("", "roi", "scales")[place] for place in missing)
    because = Diagnostic("faults.operand-unnamed" if len(missing) == 1 else "faults.operands-unnamed", names=names)
    change = NodeEdit(node.rewritten(inputs=inputs), initializers=initializers)
    return Fault(OPERAND_SPELLING, because, Diagnostic("faults.reads-empty"), change)


def sizes_of_input(node: ResizeNode, position: int, count: int, tail: Sequence[str] | Sequence[int]) -> NodeEdit:
    """Input `position` gives X's first `count` sizes at run time, then `tail`: numbers, or names of what gives them."""
    shape = node.names.fresh(f"{node.output}_input_shape")
    initializers = [integers(node, "start", 0), integers(node, "end", count)]
    bounds = [tensor.name for tensor in initializers]
    names = [name for name in tail if isinstance(name, str)]
    if not names:
        initializers.append(integers(node, "sizes_tail", *(size for size in tail if isinstance(size, int))))
        names = [initializers[-1].name]
    head, whole = node.names.fresh(f"{node.output}_sizes_head"), node.names.fresh(f"{node.output}_sizes")
    before = [
        helper.make_node("Shape", [node.x], [shape], name=shape),
        helper.make_node("Slice", [shape, *bounds], [head], name=head),
        helper.make_node("Concat", [head, *names], [whole], name=whole, axis=0),
    ]
    return NodeEdit(node.with_input(position, whole), before=before, initializers=initializers, resized=True)


def integers(node: ResizeNode, what: str, *values: int) -> Any:
    """An int64 vector."""
    tensor = node.constant(what, np.array(values, np.int64))
    assert tensor.data_type == INT64
    return tensor
