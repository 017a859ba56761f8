"""Faults as converters leave them, each with its trace: a function that plants one, or says that it does not fit."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Plant = Callable[[ModelProto, NodeProto, random.Random], bool]


# ---- reading and writing a model ----


def resizes(model: ModelProto) -> list[NodeProto]:
    return [node for node in model.graph.node if node.op_type in ("Resize", "Upsample") and not node.domain]


def opset_of(model: ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))


def set_opset(model: ModelProto, opset: int) -> None:
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset


def value_of(model: ModelProto, name: str) -> np.ndarray | None:
    for tensor in model.graph.initializer:
        if tensor.name == name:
            return numpy_helper.to_array(tensor)
    for node in model.graph.node:
        if node.op_type == "Constant" and node.output[0] == name and node.attribute[0].name == "value":
            return numpy_helper.to_array(node.attribute[0].t)
    return None


def scales_of(model: ModelProto, node: NodeProto) -> tuple[int, np.ndarray] | None:
    place = 1 if opset_of(model) < 11 or node.op_type == "Upsample" else 2
    if len(node.input) <= place or not node.input[place]:
        return None
    value = value_of(model, node.input[place])
    return None if value is None or value.dtype != np.float32 or value.ndim != 1 or not value.size else (place, value)


def put(model: ModelProto, node: NodeProto, place: int, value: np.ndarray) -> None:
    name = f"planted{len(model.graph.initializer)}_{len(model.graph.node)}"
    model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    node.input.extend([""] * (place + 1 - len(node.input)))
    node.input[place] = name


def before(model: ModelProto, node: NodeProto, made: NodeProto) -> None:
    at = next(index for index, entry in enumerate(model.graph.node) if entry.output[0] == node.output[0])
    model.graph.node.insert(at, made)


def stored(model: ModelProto, name: str) -> list[int] | None:
    for value in (*model.graph.value_info, *model.graph.output, *model.graph.input):
        if value.name == name and value.type.tensor_type.HasField("shape"):
            sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            return sizes if sizes and all(size > 0 for size in sizes) else None
    return None


def attribute(node: NodeProto, name: str) -> str | None:
    return next((entry.s.decode() for entry in node.attribute if entry.name == name), None)


# ---- faults ----


def another_type(kind: type) -> Plant:
    def plant(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
        found = scales_of(model, node)
        if found is None or not np.array_equal(found[1].astype(kind), found[1]):
            return False
        put(model, node, found[0], found[1].astype(kind))
        return True

    return plant


def sizes_of_type(kind: type) -> Plant:
    def plant(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
        if len(node.input) != 4 or opset_of(model) < 11:
            return False
        cast = f"{node.input[3]}_{np.dtype(kind).name}"
        to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        before(model, node, helper.make_node("Cast", [node.input[3]], [cast], to=to))
        next(entry for entry in resizes(model) if entry.output == node.output).input[3] = cast
        return True

    return plant


def computed_sizes_moved(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    """As onnxscript writes `sizes=` without roi."""
    if len(node.input) != 4 or opset_of(model) < 11:
        return False
    sizes = node.input[3]
    del node.input[1:]
    node.input.extend([sizes] if rng.random() < 0.5 else ["", sizes])
    return True


def constant_sizes_moved(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found, out = scales_of(model, node), stored(model, node.output[0])
    if found is None or out is None or opset_of(model) < 11 or len(found[1]) != 4:
        return False
    if len(np.unique(found[1])) > 1 and not all((found[1] * 2) % 1 == 0):
        return False
    del node.input[1:]
    put(model, node, rng.choice((1, 2)), np.array(out, np.int64))
    return True


def scales_for_roi(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found = scales_of(model, node)
    if found is None or opset_of(model) < 11 or "axes" in {entry.name for entry in node.attribute}:
        return False
    name = node.input[2]
    del node.input[1:]
    node.input.append(name)
    return True


def quantised(bits: int) -> Plant:
    def plant(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
        found = scales_of(model, node)
        if found is None or opset_of(model) < 10 or (bits == 16 and opset_of(model) < 21):
            return False
        kind = np.uint16 if bits == 16 else np.uint8
        step = np.float32(found[1].max() / np.iinfo(kind).max)
        put(model, node, found[0], np.round(found[1] / step).astype(kind))
        stem = node.input[found[0]]
        for end, value in (("step", step), ("zero", kind(0))):
            model.graph.initializer.append(numpy_helper.from_array(np.array(value), f"{stem}_{end}"))
        node.input[found[0]] = f"{stem}_real"
        read = [stem, f"{stem}_step", f"{stem}_zero"]
        before(model, node, helper.make_node("DequantizeLinear", read, [f"{stem}_real"]))
        return True

    return plant


def quantised_arithmetic(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    if len(node.input) != 4 or opset_of(model) < 11:
        return False
    made = {entry.output[0]: entry for entry in model.graph.node}
    cast = made.get(node.input[3])
    if cast is None or cast.op_type != "Cast":
        return False
    source = cast.input[0]
    stem = f"{source}_q"
    for end, value in (("step", np.float32(0.05)), ("zero", np.uint8(0))):
        model.graph.initializer.append(numpy_helper.from_array(np.array(value), f"{stem}_{end}"))
    cast.input[0] = f"{stem}_real"
    at = list(model.graph.node).index(cast)
    read = [f"{stem}_step", f"{stem}_zero"]
    model.graph.node.insert(at, helper.make_node("DequantizeLinear", [f"{stem}_int", *read], [f"{stem}_real"]))
    model.graph.node.insert(at, helper.make_node("QuantizeLinear", [source, *read], [f"{stem}_int"]))
    return True


def mode_misspelt(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    names = {"linear": ("bilinear", "Linear"), "cubic": ("bicubic", "CUBIC"), "nearest": ("NEAREST", "nearest ")}
    for entry in node.attribute:
        if entry.name == "mode":
            entry.s = rng.choice(names[entry.s.decode()]).encode() if entry.s.decode() in names else entry.s
            return True
    return False


def later_attribute(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    opset = opset_of(model)
    if opset >= 18 or any(entry.name == "antialias" for entry in node.attribute):
        return False
    node.attribute.append(helper.make_attribute("antialias", 0))
    return True


def attribute_as_float(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    if opset_of(model) < 11 or any(entry.name == "exclude_outside" for entry in node.attribute):
        return False
    node.attribute.append(helper.make_attribute("exclude_outside", 0.0))
    return True


def upsample_left(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    """An Upsample in a model of a later opset: the node is a Resize that Upsample says, too."""
    found, opset = scales_of(model, node), opset_of(model)
    plain = opset == 10 or attribute(node, "coordinate_transformation_mode") == "asymmetric"
    floors = opset == 10 or attribute(node, "mode") != "nearest" or attribute(node, "nearest_mode") == "floor"
    if found is None or opset < 10 or not plain or not floors or attribute(node, "mode") == "cubic":
        return False
    if len(found[1]) != 4 or found[1].min() < 1:
        return False
    name, mode = node.input[found[0]], attribute(node, "mode")
    del node.input[1:], node.attribute[:]
    node.op_type = "Upsample"
    node.input.append(name)
    node.attribute.append(helper.make_attribute("mode", mode))
    return True


def lost_by_the_converter(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    """What onnx.version_converter makes of a Resize-10: a constant roi and no coordinates."""
    if upsample_left(model, node, rng) and opset_of(model) >= 11:
        node.op_type = "Resize"
        name = node.input[1]
        put(model, node, 1, np.array([0.0] * 4 + [1.0] * 4, np.float32))
        node.input.append(name)
        return True
    return False


def both_extents(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found, out = scales_of(model, node), stored(model, node.output[0])
    if found is None or out is None or opset_of(model) < 11 or len(found[1]) != 4:
        return False
    put(model, node, 3, np.array(out, np.int64))
    return True


def short_scales(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found = scales_of(model, node)
    if found is None or len(found[1]) != 4:
        return False
    put(model, node, found[0], found[1][2:])
    return True


def two_axes(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found = scales_of(model, node)
    if found is None:
        return False
    put(model, node, found[0], found[1].reshape(rng.choice(((-1, 1), (1, -1)))))
    return True


def nearly_one(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found = scales_of(model, node)
    if found is None or len(found[1]) != 4 or not np.all(found[1][:2] == 1):
        return False
    moved = found[1].copy()
    moved[:2] = np.float32(rng.choice((1.0000153, 0.9999847, 0.99951)))
    put(model, node, found[0], moved)
    return True


def no_extent(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    if scales_of(model, node) is None or opset_of(model) < 13 or len(node.input) > 3:
        return False
    del node.input[1:]
    return True


def impossible_scale(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    found = scales_of(model, node)
    if found is None:
        return False
    moved = found[1].copy()
    moved[-1] = rng.choice((0.0, -1.0, float("nan"), float("inf")))
    put(model, node, found[0], moved)
    return True


def opset_forced(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    """As soc4onnx does: only where every other node means the same in both."""
    opset = opset_of(model)
    if opset not in (18, 13, 11):
        return False
    set_opset(model, {18: 17, 13: 12, 11: 10}[opset])
    return True


def stale_type(model: ModelProto, node: NodeProto, rng: random.Random) -> bool:
    for value in model.graph.value_info:
        if value.name == node.output[0]:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
            return True
    return False


FAULTS: dict[str, Plant] = {
    "float16 scales": another_type(np.float16),
    "float64 scales": another_type(np.float64),
    "int64 scales": another_type(np.int64),
    "int32 sizes": sizes_of_type(np.int32),
    "float sizes": sizes_of_type(np.float32),
    "computed sizes in another place": computed_sizes_moved,
    "constant sizes in another place": constant_sizes_moved,
    "scales for roi": scales_for_roi,
    "scales in 8 bits": quantised(8),
    "scales in 16 bits": quantised(16),
    "sizes quantised": quantised_arithmetic,
    "mode misspelt": mode_misspelt,
    "attribute of opset 18": later_attribute,
    "attribute as FLOAT": attribute_as_float,
    "Upsample left behind": upsample_left,
    "lost by version_converter": lost_by_the_converter,
    "scales and sizes": both_extents,
    "two scales": short_scales,
    "scales of two axes": two_axes,
    "nearly 1": nearly_one,
    "no extent": no_extent,
    "impossible scale": impossible_scale,
    "opset forced": opset_forced,
    "stale type": stale_type,
}
