"""What converters do to the operator, the opset and the attributes of a resize; and changes that break nothing."""

import random

import numpy as np
from onnx import helper, numpy_helper
from repair_breakers import Breaker
from resize_nodes import NotHere, RawResize, opset_of

# ---- converters between opsets ----


def legacy_mode(resize: RawResize) -> str:
    """The mode of a node that Upsample could have been."""
    said, opset = resize.attributes, resize.opset
    plain = said.get("coordinate_transformation_mode", "half_pixel") == "asymmetric" if opset > 10 else True
    floor = said.get("nearest_mode", "round_prefer_floor") == "floor" if opset > 10 else True
    mode = str(said.get("mode", "nearest"))
    if not plain or mode == "cubic" or (mode == "nearest" and not floor) or set(said) & {"axes", "antialias"}:
        raise NotHere
    return mode


def legacy_inputs_left_behind(operator: str, since: int) -> Breaker:
    def breaks(resize: RawResize, rng: random.Random) -> None:
        scales, mode = resize.constant("scales"), legacy_mode(resize)
        if resize.opset < since or (operator == "Upsample" and np.any(scales < 1)) or scales.dtype != np.float32:
            raise NotHere
        resize.set_inputs(resize.node.input[0], resize.node.input[resize.place_of("scales")])
        resize.node.op_type = operator
        resize.set_attributes(mode=mode)

    return breaks


def lost_asymmetric(resize: RawResize, rng: random.Random) -> None:
    """What onnx.version_converter makes of a Resize-10: a constant roi, and mode alone."""
    scales, mode = resize.constant("scales"), legacy_mode(resize)
    if resize.opset < 11 or (mode == "nearest" and np.any(scales < 1)):
        raise NotHere
    resize.set_attributes(mode=mode)
    resize.put(1, np.repeat(np.array([0, 1], np.float32), scales.size))


def attributes_of_a_later_opset(resize: RawResize, rng: random.Random) -> None:
    if resize.opset > 17:
        raise NotHere
    resize.node.attribute.append(helper.make_attribute("antialias", 0))
    if resize.opset > 10:
        resize.node.attribute.append(helper.make_attribute("keep_aspect_ratio_policy", "stretch"))


def empty_names_at_opset_11(resize: RawResize, rng: random.Random) -> None:
    if resize.opset not in (11, 12) or len(resize.node.input) < 3:
        raise NotHere
    for place in range(1, len(resize.node.input) - 1):
        resize.set_input(place, "")


def opset_forced(resize: RawResize, rng: random.Random) -> None:
    """As soc4onnx does: only where every other node means the same in both."""
    model, earlier = resize.model, {18: 17, 13: 12, 11: 10}
    if model.functions or opset_of(model) not in earlier:
        raise NotHere
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = earlier[entry.version]


# ---- other frameworks' words ----

WORDS = {
    "linear": ("bilinear", "Bilinear", "LINEAR", "Linear", "trilinear"),
    "cubic": ("bicubic", "CUBIC"),
    "nearest": ("NEAREST", "nearest_neighbor", "nearest "),
}


def mode_of_another_framework(resize: RawResize, rng: random.Random) -> None:
    said = resize.attributes
    words = WORDS.get(str(said.get("mode", "nearest")))
    if words is None:  # another fault came before
        raise NotHere
    resize.set_attributes(**{**said, "mode": rng.choice(words)})


def align_corners_as_attribute(resize: RawResize, rng: random.Random) -> None:
    said = resize.attributes
    if said.pop("coordinate_transformation_mode", None) != "align_corners":
        raise NotHere
    resize.set_attributes(**said, align_corners=1)


def coordinates_in_capitals(resize: RawResize, rng: random.Random) -> None:
    said = resize.attributes
    if "coordinate_transformation_mode" not in said:
        raise NotHere
    said["coordinate_transformation_mode"] = said["coordinate_transformation_mode"].upper() + " "
    resize.set_attributes(**said)


def attribute_as_float(resize: RawResize, rng: random.Random) -> None:
    if resize.opset < 11 or "exclude_outside" in resize.attributes:
        raise NotHere
    resize.node.attribute.append(helper.make_attribute("exclude_outside", 0.0))


MISSPELLINGS: dict[str, Breaker] = {
    "Upsample left behind": legacy_inputs_left_behind("Upsample", 10),
    "two inputs left behind": legacy_inputs_left_behind("Resize", 11),
    "lost by version_converter": lost_asymmetric,
    "attributes of opset 18": attributes_of_a_later_opset,
    "empty names at opset 11": empty_names_at_opset_11,
    "opset forced": opset_forced,
    "mode of another framework": mode_of_another_framework,
    "align_corners as attribute": align_corners_as_attribute,
    "coordinates in capitals": coordinates_in_capitals,
    "attribute as FLOAT": attribute_as_float,
}

# ---- valid all the same ----


def roi_that_nothing_reads(resize: RawResize, rng: random.Random) -> None:
    """A constant roi beside attributes: valid, and not what a converter lost."""
    said = resize.attributes
    if resize.opset < 11 or len(said) < 2 or len(resize.node.input) < 3 or "coordinate_transformation_mode" not in said:
        raise NotHere
    resize.put(1, np.array([0] * 4 + [1] * 4, np.float32))


def defaults_written_out(resize: RawResize, rng: random.Random) -> None:
    if resize.opset < 18:
        raise NotHere
    defaults = {"antialias": 0, "keep_aspect_ratio_policy": "stretch", "extrapolation_value": 0.0}
    resize.set_attributes(**{**defaults, **resize.attributes})


def no_value_info(resize: RawResize, rng: random.Random) -> None:
    del resize.model.graph.value_info[:]


def unused_constant(resize: RawResize, rng: random.Random) -> None:
    unused = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float16), "nobody_reads_this")
    resize.model.graph.initializer.append(unused)


CONTROLS: dict[str, Breaker] = {
    "a roi that nothing reads": roi_that_nothing_reads,
    "defaults written out": defaults_written_out,
    "no stored shapes": no_value_info,
    "an unused constant": unused_constant,
}
