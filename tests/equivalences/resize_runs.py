"""Runs a subject in onnxruntime: one session per interpolation, extent kind, rank and type; scales or sizes are fed."""

from functools import cache

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from ort_runs import opened

from resizefix.dialects.dialect import Dialect, Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import ExtentKind, Interpolation, Mode, NearestMode

onnxruntime.set_default_logger_severity(3)  # it warns of every tf_half_pixel_for_nn

NEWEST = dialect_of("Resize", 19)
LEGACY = dialect_of("Resize", 10)


def nearest(form) -> Interpolation:
    return Interpolation(Mode.NEAREST, *form)


def interpolate(mode: Mode, form, **more) -> Interpolation:
    coefficient = -0.75 if mode is Mode.CUBIC else None
    return Interpolation(mode, form[0], form[1], cubic_coeff_a=coefficient, **more)


@cache
def session(
    interpolation: Interpolation,
    extent: ExtentKind,
    rank: int,
    element_type: int = TensorProto.FLOAT,
    dialect: Dialect | None = None,
) -> onnxruntime.InferenceSession:
    dialect = dialect or (LEGACY if interpolation.nearest_mode is NearestMode.SIMPLE else NEWEST)
    roi = "roi" if dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional else None
    operands = Operands("x", roi=roi, **{extent.value: "extent"})
    node = write(interpolation, operands, dialect, output="y")
    axes = interpolation.axes
    kind = TensorProto.FLOAT if extent is ExtentKind.SCALES else TensorProto.INT64
    # Shape inference counts the elements of sizes, and takes an unknown count for none.
    fed = helper.make_tensor_value_info("extent", kind, [rank if axes is None else len(axes)])
    x, y = (helper.make_tensor_value_info(name, element_type, [None] * rank) for name in "xy")
    empty = helper.make_tensor("roi", TensorProto.FLOAT, [0], [])
    graph = helper.make_graph([node], "one_resize", [x, fed], [y], [empty])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", dialect.since_version)], ir_version=8)
    return open_quietly(model.SerializeToString())


def open_quietly(model: bytes) -> onnxruntime.InferenceSession:
    return opened(model, optimized=True)


def run(subject: ResizeSpec, x: np.ndarray, dialect: Dialect | None = None) -> np.ndarray:
    """The output of `subject` for `x`."""
    element_type = helper.np_dtype_to_tensor_dtype(x.dtype)
    one = session(subject.interpolation, subject.extent, x.ndim, element_type, dialect)
    dtype = np.float32 if subject.extent is ExtentKind.SCALES else np.int64
    return one.run(None, {"x": x, "extent": np.array(subject.values, dtype)})[0]


def scaled(interpolation: Interpolation, scales, x: np.ndarray) -> ResizeSpec:
    """A subject with these scales for this input, everything known."""
    element_type = helper.np_dtype_to_tensor_dtype(x.dtype)
    return ResizeSpec(interpolation, ExtentKind.SCALES, tuple(scales), x.shape, element_type)


def sized(interpolation: Interpolation, sizes, x: np.ndarray) -> ResizeSpec:
    """A subject with these sizes for this input, everything known."""
    element_type = helper.np_dtype_to_tensor_dtype(x.dtype)
    return ResizeSpec(interpolation, ExtentKind.SIZES, tuple(sizes), x.shape, element_type)


def count_up(*shape: int) -> np.ndarray:
    """Every element another value, so that a wrong index shows."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """Unit-normal float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()
