"""Subjects by few words, for the tests of single lowerings."""

import numpy as np
from onnx import TensorProto

from resizefix.document.edits import Replacement
from resizefix.document.text import node_text
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings import ResizeSpec
from resizefix.lowerings.table import BY_NAME

ROW = {lowering.name: lowering for lowering in BY_NAME.values()}


def nearest(coordinates: str = "asymmetric", nearest_mode: str = "floor") -> Interpolation:
    return Interpolation(Mode.NEAREST, CoordinateTransformationMode(coordinates), NearestMode(nearest_mode))


def linear(coordinates: str = "half_pixel", **more: bool) -> Interpolation:
    return Interpolation(Mode.LINEAR, CoordinateTransformationMode(coordinates), **more)


def cubic(coordinates: str = "half_pixel", **more: bool) -> Interpolation:
    return Interpolation(Mode.CUBIC, CoordinateTransformationMode(coordinates), cubic_coeff_a=-0.75, **more)


def by_scales(
    interpolation: Interpolation, shape: tuple[int | None, ...], *scales: float, elem_type: int = TensorProto.FLOAT
) -> ResizeSpec:
    """`scales` are those of the last axes; the others have scale 1."""
    full = [1.0] * (len(shape) - len(scales)) + [float(np.float32(scale)) for scale in scales]
    return ResizeSpec(interpolation, ExtentKind.SCALES, tuple(full), shape, elem_type)


def by_sizes(interpolation: Interpolation, shape: tuple[int | None, ...], sizes: tuple[int | None, ...]) -> ResizeSpec:
    """`sizes` are those of the axes that `interpolation` lists."""
    return ResizeSpec(interpolation, ExtentKind.SIZES, sizes, shape, TensorProto.FLOAT)


def text(lowered: Replacement) -> list[str]:
    """The nodes as ONNX text, without their names."""
    lines = []
    for node in lowered.nodes:
        nameless = type(node)()
        nameless.CopyFrom(node)
        nameless.name = ""
        lines.append(node_text(nameless).removeprefix('[""] '))
    return lines


def build(name: str, subject: ResizeSpec, opset: int = 13) -> Replacement:
    """The lowering of that name from `x` to `y`."""
    taken: set[str] = set()

    def fresh(suggestion: str) -> str:
        while suggestion in taken:
            suggestion += "'"
        taken.add(suggestion)
        return suggestion

    return ROW[name].build(subject, x="x", y="y", opset=opset, fresh=fresh)
