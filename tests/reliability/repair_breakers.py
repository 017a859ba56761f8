"""What converters do to a valid model, one function for each: it breaks the model in place, or raises NotHere."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper
from resize_nodes import (
    Body,
    NotHere,
    again,
    attributes,
    constant,
    insert,
    picked,
    place_of,
    put,
    resizes,
    scales_of,
    set_input,
)

Breaker = Callable[[ModelProto, random.Random], None]

# ---- converters to another precision ----


def float16_scales(model: ModelProto, rng: random.Random) -> None:
    body, _, node, place, value = scales_of(model, rng)
    put(body, node, place, value.astype(np.float16))


def double_scales(model: ModelProto, rng: random.Random) -> None:
    body, _, node, place, value = scales_of(model, rng)
    put(body, node, place, value.astype(np.float64))


def integer_scales(model: ModelProto, rng: random.Random) -> None:
    body, _, node, place, value = scales_of(model, rng)
    if not np.array_equal(value, value.astype(np.int64)):
        raise NotHere
    put(body, node, place, value.astype(np.int64))


def scales_through_half(model: ModelProto, rng: random.Random) -> None:
    """float32 constant → float16 → float32: the digits are lost, and the file runs."""
    body, _, node, place, value = scales_of(model, rng)
    name = put(body, node, place, value.astype(np.float16))
    node = again(body, node)
    insert(body, node, helper.make_node("Cast", [name], [name + "_f"], to=1))
    set_input(again(body, node), place, name + "_f")


def computed_scales_cast_to_half(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "scales")
    name = node.input[place]
    insert(body, node, helper.make_node("Cast", [name], [name + "_half"], to=10))
    set_input(again(body, node), place, name + "_half")


def computed_scales_cast_to_double(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "scales")
    name = node.input[place]
    insert(body, node, helper.make_node("Cast", [name], [name + "_double"], to=11))
    set_input(again(body, node), place, name + "_double")


def sizes_as_int32(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "sizes")
    name = node.input[place]
    insert(body, node, helper.make_node("Cast", [name], [name + "_i32"], to=6))
    set_input(again(body, node), place, name + "_i32")


def sizes_as_float(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "sizes")
    put(body, node, place, constant(body, node.input[place]).astype(np.float32))


def empty_scales_behind_cast(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place_of(node, opset, "sizes")
    name = put(body, node, 2, np.zeros(0, np.float16))
    node = again(body, node)
    insert(body, node, helper.make_node("Cast", [name], [name + "_f"], to=1))
    set_input(again(body, node), 2, name + "_f")


def stale_half_type(model: ModelProto, rng: random.Random) -> None:
    body, _, node = picked(model, rng)
    for value in getattr(body, "value_info", ()):
        if value.name == node.output[0]:
            value.type.tensor_type.elem_type = 10
            return
    raise NotHere


# ---- converters between opsets ----


def legacy(node: NodeProto, opset: int) -> str:
    """The mode of a node that Upsample could have been; raises NotHere."""
    said = attributes(node)
    plain = said.get("coordinate_transformation_mode", "half_pixel") == "asymmetric" if opset > 10 else True
    floor = said.get("nearest_mode", "round_prefer_floor") == "floor" if opset > 10 else True
    mode = str(said.get("mode", "nearest"))
    if not plain or mode == "cubic" or (mode == "nearest" and not floor) or set(said) & {"axes", "antialias"}:
        raise NotHere
    return mode


def upsample_left_behind(model: ModelProto, rng: random.Random) -> None:
    _body, opset, node, place, value = scales_of(model, rng)
    mode = legacy(node, opset)
    if opset < 10 or np.any(value < 1):
        raise NotHere
    name = node.input[place]
    node.op_type = "Upsample"
    x = node.input[0]
    del node.input[:], node.attribute[:]
    node.input.extend([x, name])
    node.attribute.append(helper.make_attribute("mode", mode))


def two_inputs_left_behind(model: ModelProto, rng: random.Random) -> None:
    _body, opset, node, place, _value = scales_of(model, rng)
    mode = legacy(node, opset)
    if opset < 11:
        raise NotHere
    name, x = node.input[place], node.input[0]
    del node.input[:], node.attribute[:]
    node.input.extend([x, name])
    node.attribute.append(helper.make_attribute("mode", mode))


def lost_asymmetric(model: ModelProto, rng: random.Random) -> None:
    """What onnx.version_converter makes of a Resize-10: a constant roi, and mode alone."""
    body, opset, node, _place, value = scales_of(model, rng)
    mode = legacy(node, opset)
    if opset < 11 or (mode == "nearest" and np.any(value < 1)):
        raise NotHere
    del node.attribute[:]
    node.attribute.append(helper.make_attribute("mode", mode))
    put(body, node, 1, np.repeat(np.array([0, 1], np.float32), value.size))


def attributes_of_a_later_opset(model: ModelProto, rng: random.Random) -> None:
    _, opset, node = picked(model, rng)
    if opset > 17 or node.op_type != "Resize" or opset < 11:
        raise NotHere
    node.attribute.append(helper.make_attribute("antialias", 0))
    node.attribute.append(helper.make_attribute("keep_aspect_ratio_policy", "stretch"))


def empty_names_at_opset_11(model: ModelProto, rng: random.Random) -> None:
    _, opset, node = picked(model, rng)
    if opset not in (11, 12) or len(node.input) < 3:
        raise NotHere
    node.input[1] = ""
    if len(node.input) > 3:
        node.input[2] = ""


def scales_in_the_place_of_roi(model: ModelProto, rng: random.Random) -> None:
    _body, opset, node, _place, _value = scales_of(model, rng)
    if opset < 13 or len(node.input) != 3:
        raise NotHere
    name, x = node.input[2], node.input[0]
    del node.input[:]
    node.input.extend([x, name])


# ---- other frameworks' words ----


def mode_of_another_framework(model: ModelProto, rng: random.Random) -> None:
    _, _, node = picked(model, rng)
    said = attributes(node)
    words = {
        "linear": ("bilinear", "Bilinear", "LINEAR", "trilinear"),
        "cubic": ("bicubic",),
        "nearest": ("NEAREST", "nearest_neighbor"),
    }
    put_attribute(node, "mode", rng.choice(words[str(said.get("mode", "nearest"))]))


def align_corners_as_attribute(model: ModelProto, rng: random.Random) -> None:
    _, _opset, node = picked(model, rng)
    if attributes(node).get("coordinate_transformation_mode") != "align_corners":
        raise NotHere
    drop_attribute(node, "coordinate_transformation_mode")
    node.attribute.append(helper.make_attribute("align_corners", 1))


def coordinates_in_capitals(model: ModelProto, rng: random.Random) -> None:
    _, _, node = picked(model, rng)
    said = attributes(node).get("coordinate_transformation_mode")
    if said is None:
        raise NotHere
    put_attribute(node, "coordinate_transformation_mode", str(said).upper() + " ")


def coefficient_as_integer(model: ModelProto, rng: random.Random) -> None:
    _, _, node = picked(model, rng)
    if "exclude_outside" in attributes(node) or attributes(node).get("mode") != "cubic":
        raise NotHere
    node.attribute.append(helper.make_attribute("exclude_outside", 0.0))


def put_attribute(node: NodeProto, name: str, value: Any) -> None:
    drop_attribute(node, name)
    node.attribute.append(helper.make_attribute(name, value))


def drop_attribute(node: NodeProto, name: str) -> None:
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)


# ---- scales and sizes ----


def stored(body: Body, name: str) -> list[int]:
    for value in (*getattr(body, "value_info", ()), *getattr(body, "output", ())):
        if not isinstance(value, str) and value.name == name:
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            if dims and all(dims):
                return dims
    raise NotHere


def input_sizes(body: Body, name: str) -> list[int]:
    for value in (*getattr(body, "value_info", ()), *getattr(body, "input", ())):
        if not isinstance(value, str) and value.name == name:
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            if dims and all(dims):
                return dims
    raise NotHere


def both_extents(model: ModelProto, rng: random.Random) -> None:
    body, opset, node, _place, value = scales_of(model, rng)
    if opset < 11 or len(node.input) > 3 or "axes" in attributes(node):
        raise NotHere
    dims = input_sizes(body, node.input[0])
    out = [int(np.float32(size) * np.float32(scale)) for size, scale in zip(dims, value, strict=True)]
    put(body, node, 3, np.array(out, np.int64))


def neither_extent(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place_of(node, opset, "sizes")
    stored(body, node.output[0])
    x = node.input[0]
    del node.input[:]
    node.input.append(x)


def two_of_four_scales(model: ModelProto, rng: random.Random) -> None:
    body, opset, node, place, value = scales_of(model, rng)
    if value.size != 4 or value[0] != 1 or value[1] != 1 or opset < 11 or "axes" in attributes(node):
        raise NotHere
    put(body, node, place, value[2:])


def nearly_one(model: ModelProto, rng: random.Random) -> None:
    body, _, node, place, value = scales_of(model, rng)
    if value.size != 4 or value[0] != 1 or value[1] != 1 or "axes" in attributes(node):
        raise NotHere
    changed = value.copy()
    changed[:2] = rng.choice((1.0000153, 0.9999999, 1.0001, 0.99995))
    put(body, node, place, changed.astype(np.float32))


def placeholder_sizes(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "sizes")
    value = constant(body, node.input[place]).copy()
    if value.size != 4:
        raise NotHere
    value[:2] = rng.choice((0, -1))
    put(body, node, place, value)


def sizes_lose_channels(model: ModelProto, rng: random.Random) -> None:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "sizes")
    value = constant(body, node.input[place]).copy()
    if value.size != 4 or value[0] != 1 or stored(body, node.output[0])[1] != value[1] or "axes" in attributes(node):
        raise NotHere
    value[1] = 1
    put(body, node, place, value)


def quantised_sizes(model: ModelProto, rng: random.Random) -> None:
    """QuantizeLinear and DequantizeLinear in the float arithmetic of sizes, which saturate them."""
    body, opset, node = picked(model, rng)
    if opset < 10:
        raise NotHere
    made = {name: one for one in body.node for name in one.output}
    name = node.input[place_of(node, opset, "sizes")]
    floor = made.get(made[name].input[0]) if name in made and made[name].op_type == "Cast" else None
    if floor is None or floor.op_type != "Floor":
        raise NotHere
    source = floor.input[0]
    scale = numpy_helper.from_array(np.array(0.05, np.float32), "q_scale")
    zero = numpy_helper.from_array(np.array(0, np.int8), "q_zero")
    for new in (
        helper.make_node("Constant", [], ["q_scale"], value=scale),
        helper.make_node("Constant", [], ["q_zero"], value=zero),
        helper.make_node("QuantizeLinear", [source, "q_scale", "q_zero"], [source + "_q"]),
        helper.make_node("DequantizeLinear", [source + "_q", "q_scale", "q_zero"], [source + "_dq"]),
    ):
        insert(body, floor, new)
    again(body, floor).input[0] = source + "_dq"


def impossible_scales(model: ModelProto, rng: random.Random) -> None:
    body, opset, node, place, value = scales_of(model, rng)
    stored(body, node.output[0])
    if opset < 11:
        raise NotHere
    put(body, node, place, np.array([1, 1, 0, 0], np.float32)[: value.size])


# ---- valid all the same ----


def roi_that_nothing_reads(model: ModelProto, rng: random.Random) -> None:
    """A constant roi beside attributes: valid, and not what a converter lost."""
    body, opset, node = picked(model, rng)
    if (
        opset < 11
        or len(attributes(node)) < 2
        or len(node.input) < 3
        or not attributes(node).get("coordinate_transformation_mode")
    ):
        raise NotHere
    put(body, node, 1, np.array([0] * 4 + [1] * 4, np.float32))


def defaults_written_out(model: ModelProto, rng: random.Random) -> None:
    _, opset, node = picked(model, rng)
    if opset < 18:
        raise NotHere
    for name, value in (("antialias", 0), ("keep_aspect_ratio_policy", "stretch"), ("extrapolation_value", 0.0)):
        if name not in attributes(node):
            node.attribute.append(helper.make_attribute(name, value))


def no_value_info(model: ModelProto, rng: random.Random) -> None:
    resizes(model)
    del model.graph.value_info[:]


def unused_constant(model: ModelProto, rng: random.Random) -> None:
    resizes(model)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float16), "nobody_reads_this"))


CONTROLS: tuple[Breaker, ...] = (roi_that_nothing_reads, defaults_written_out, no_value_info, unused_constant)
BREAKERS: tuple[Breaker, ...] = (
    float16_scales,
    double_scales,
    integer_scales,
    scales_through_half,
    computed_scales_cast_to_half,
    computed_scales_cast_to_double,
    sizes_as_int32,
    sizes_as_float,
    empty_scales_behind_cast,
    stale_half_type,
    upsample_left_behind,
    two_inputs_left_behind,
    lost_asymmetric,
    attributes_of_a_later_opset,
    empty_names_at_opset_11,
    scales_in_the_place_of_roi,
    mode_of_another_framework,
    align_corners_as_attribute,
    coordinates_in_capitals,
    coefficient_as_integer,
    both_extents,
    neither_extent,
    two_of_four_scales,
    nearly_one,
    placeholder_sizes,
    sizes_lose_channels,
    quantised_sizes,
    impossible_scales,
)
