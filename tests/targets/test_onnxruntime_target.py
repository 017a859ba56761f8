"""The rules about onnxruntime against onnxruntime itself: nodes drawn at random are run, and the verdicts compared."""

from typing import Any

import numpy as np
import onnx
import onnx_text
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodes import NODES, RESIZE_11, SIZED_11, UPSAMPLE_7, changed
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from ort_runs import run

import resizefix
from resizefix.document.document import Document
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource, Roi
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Effect, judge

MODES = ("nearest", "linear", "cubic", "bilinear")
COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize", "no_such_mode",
)  # fmt: skip
TYPES = (
    TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8,
    TensorProto.INT32, TensorProto.DOUBLE, TensorProto.INT64,
)  # fmt: skip


of_this_release = pytest.mark.skipif(
    ONNXRUNTIME.parser != f"onnxruntime {onnxruntime.__version__}, CPU",
    reason=f"the rules are those of {ONNXRUNTIME.parser}; this is {onnxruntime.__version__}",
)
COMPLAINTS = tuple(
    getattr(ort_errors, name)
    for name in ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented", "RuntimeException")
)


def runs(model: onnx.ModelProto, x: np.ndarray) -> str | None:
    """None where onnxruntime runs the model, else its complaint."""
    try:
        run(model, {"x": x}, optimized=True)
    except COMPLAINTS as complaint:
        return str(complaint)
    return None


def model_of(node: onnx.NodeProto, opset: int, x: np.ndarray, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    elem_type = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", elem_type, x.shape)],
        [helper.make_tensor_value_info("y", elem_type, [f"y{k}" for k in range(x.ndim)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@st.composite
def cases(draw: st.DrawFn) -> tuple[onnx.ModelProto, np.ndarray]:
    opset = draw(st.sampled_from([7, 8, 9, 10, 11, 13, 18, 18, 19, 22, 26, 28, 29]))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)))
    x = np.ones(shape, helper.tensor_dtype_to_np_dtype(draw(st.sampled_from(TYPES))))
    attributes: dict[str, Any] = {"mode": draw(st.sampled_from(MODES))}
    listed = len(shape)
    if opset >= 11:
        attributes["coordinate_transformation_mode"] = draw(st.sampled_from(COORDINATES))
        attributes["nearest_mode"] = draw(st.sampled_from(["floor", "round_prefer_ceil", "no_such_rounding"]))
        attributes["exclude_outside"] = draw(st.sampled_from([0, 0, 1]))
    if opset >= 18:
        attributes["antialias"] = draw(st.sampled_from([0, 0, 1]))
        attributes["keep_aspect_ratio_policy"] = draw(st.sampled_from(["stretch", "not_larger", "not_smaller"]))
        if draw(st.booleans()):
            axes = draw(st.lists(st.integers(-len(shape), len(shape)), min_size=1, max_size=len(shape)))
            attributes["axes"] = axes
            listed = len(axes)
    scales = [draw(st.sampled_from([1.0, 1.0, 2.0, 1.5, 0.5])) for _ in range(listed)]
    constants = {"s": np.array(scales, np.float32)}
    if opset <= 10:
        names = ["x"] if opset < 9 else ["x", "s"]
        attributes |= {"scales": scales} if opset < 9 else {}
        node = helper.make_node("Upsample" if opset < 10 else "Resize", names, ["y"], **attributes)
        return model_of(node, opset, x, constants), x
    constants["r"] = np.array([0.0] * listed + [1.0] * listed, np.float32)
    constants["e"] = np.array([], np.float32)
    cropped = attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"  # whose roi must be there
    names = ["x", "r" if cropped else draw(st.sampled_from(["r", "e"]))]
    if draw(st.booleans()):
        names.append("s")
    else:
        sizes = [draw(st.integers(1, 6)) for _ in range(listed)]
        constants["z"] = np.array(sizes, np.int64)
        names += ["e" if opset < 13 else "", "z"]
    return model_of(helper.make_node("Resize", names, ["y"], **attributes), opset, x, constants), x


def is_empty_output(model: onnx.ModelProto, x: np.ndarray) -> bool:
    """A scale, or an aspect policy, that leaves no element makes an output without any; no kernel is asked for it."""
    return run(model, {"x": x}, optimized=True)[0].size == 0


@of_this_release
@settings(max_examples=300, deadline=None)
@given(cases())
def test_onnxruntime_runs_what_the_rules_accept_and_refuses_what_they_reject(case):
    model, x = case
    (node,) = facts_of(Document.from_proto(model))
    rejected = [found.rule for found in judge(ONNXRUNTIME, node) if found.effect is Effect.REJECTED]
    complaint = runs(model, x)
    agree = bool(rejected) == (complaint is not None)
    assert agree or (complaint is None and is_empty_output(model, x)), (rejected, complaint)


@pytest.mark.parametrize("name", NODES)
def test_ordinary_nodes_are_accepted(name):
    assert judge(ONNXRUNTIME, NODES[name]) == ()


NAN = float("nan")
EXAMPLES: list[tuple[str, Any, dict[str, Any], dict[str, Any]]] = [
    ("operator-of-its-opset", UPSAMPLE_7, {"opset": 6}, {"opset": 7}),
    ("operator-of-its-opset", UPSAMPLE_7, {"opset": 10}, {"opset": 9}),
    ("operator-of-its-opset", RESIZE_11, {"opset": 29}, {"opset": 28}),
    ("attributes-of-its-opset", RESIZE_11, {"attributes": frozenset({"axes"})}, {"attributes": frozenset({"mode"})}),
    ("inputs-of-its-opset", RESIZE_11, {"n_inputs": 2}, {"n_inputs": 4}),
    ("resize-11-names-its-inputs", RESIZE_11, {"roi": Roi.UNNAMED}, {"roi": Roi.UNNAMED, "opset": 13}),
    ("resize-11-names-its-inputs", SIZED_11, {"unnamed_scales": True}, {}),
    ("extent-given", RESIZE_11, {"extent": None}, {}),
    ("one-extent", SIZED_11, {"both_extents": True}, {}),
    ("one-extent", RESIZE_11, {"empty_sizes": True}, {}),
    ("mode", RESIZE_11, {"mode": "bilinear"}, {"mode": "linear"}),
    ("coordinate-transformation-mode", RESIZE_11, {"coordinate_transformation_mode": "center"}, {}),
    ("nearest-mode", RESIZE_11, {"nearest_mode": "round"}, {"nearest_mode": "round", "mode": "linear"}),
    ("aspect-policy", SIZED_11, {"keep_aspect_ratio_policy": "fit"}, {}),
    ("policy-with-sizes", RESIZE_11, {"keep_aspect_ratio_policy": "not_larger"}, {}),
    ("antialias-mode", RESIZE_11, {"antialias": True}, {"antialias": True, "mode": "linear"}),
    ("exclude-outside-mode", RESIZE_11, {"exclude_outside": True}, {"exclude_outside": True, "mode": "cubic"}),
    ("axes", RESIZE_11, {"axes": (2, -2)}, {"axes": (0, 1, 2, 3)}),
    ("fed-sizes-have-a-length", SIZED_11, {"source": OperandSource.INTEGER_INPUT, "length": None}, {}),
    ("one-value-per-axis", RESIZE_11, {"length": 2}, {"length": 2, "axes": (2, 3)}),
    ("extent-type", RESIZE_11, {"operand_type": TensorProto.DOUBLE}, {}),
    ("extent-type", SIZED_11, {"operand_type": TensorProto.INT32}, {}),
    ("scales-in-range", RESIZE_11, {"values": (1.0, 1.0, 0.0, 2.0)}, {"values": (1.0, 1.0, 0.01, 2.0)}),
    ("scales-in-range", RESIZE_11, {"values": (1.0, 1.0, NAN, 2.0)}, {}),
    ("scales-in-range", UPSAMPLE_7, {"values": (1.0, 1.0, 0.5, 2.0)}, {}),
    ("output-is-countable", RESIZE_11, {"values": (1.0, 1.0, 1e38, 1.0)}, {"values": (1.0, 1.0, 1e12, 1.0)}),
    ("output-is-countable", changed(RESIZE_11, input_shape=None), {"values": (1.0, 1.0, 1e10, 1e10)},
     {"values": (1.0, 1.0, 1e38, 0.5)}),
    ("sizes-in-range", SIZED_11, {"values": (1.0, 3.0, 0.0, 2.0)}, {"values": (1.0, 3.0, 1.0, 2.0)}),
    ("input-type", RESIZE_11, {"elem_type": TensorProto.DOUBLE}, {"elem_type": TensorProto.INT8}),
    ("input-type", RESIZE_11, {"elem_type": TensorProto.INT8, "mode": "cubic"}, {"mode": "cubic"}),
    ("linear-layout", changed(RESIZE_11, mode="linear"), {"values": (1.0, 2.0, 2.0, 2.0)},
     {"values": (1.0, 2.0, 2.0, 1.0)}),
    ("linear-layout", changed(SIZED_11, mode="linear"), {"values": (2.0, 3.0, 8.0, 8.0)},
     {"values": (1.0, 3.0, 9.0, 9.0)}),
    ("cubic-layout", changed(RESIZE_11, mode="cubic"), {"values": (1.0, 2.0, 2.0, 2.0)},
     {"values": (1.0, 1.0, 2.0, 2.0)}),
    ("cubic-layout", changed(RESIZE_11, mode="cubic", rank=None, input_shape=None), {"values": (2.0, 1.0, 1.0, 1.0)},
     {"values": (1.0, 1.0, 2.0, 2.0)}),
    ("crop-has-a-roi", RESIZE_11, {"coordinate_transformation_mode": "tf_crop_and_resize"}, {}),
    ("policy-with-negative-axes", SIZED_11, {"keep_aspect_ratio_policy": "not_larger", "axes": (-2, -1)},
     {"keep_aspect_ratio_policy": "not_larger", "axes": (2, 3)}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "base", "broken", "kept"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_a_rule_is_broken_by_its_example_and_kept_just_outside(rule, base, broken, kept):
    assert rule in {found.rule for found in judge(ONNXRUNTIME, changed(base, **broken))}
    assert rule not in {found.rule for found in judge(ONNXRUNTIME, changed(base, **kept))}


def test_every_rule_has_an_example():
    assert {example[0] for example in EXAMPLES} == {rule.name for rule in ONNXRUNTIME.rules}


def test_scales_tell_the_rank_that_no_shape_tells():
    """In a body the rank is not known, yet constants have a scale for each axis: the verdict is onnxruntime's."""
    text = """(float[1,1,3,3] x, bool c, int64 n) => (float[?,?,?,?,?] y) <float[4] s = {%s}> {
        last, y = Loop (n, c, x) <body = b (int64 i, bool k, float[] e) => (bool[] k1, float[] e1, float[] z) {
            k1 = Identity (k) e1 = Identity (e) z = Resize <mode = "linear"> (e, , s) }> }"""
    kept, refused = (onnx_text.model(text % scales) for scales in ("1, 1, 2, 2", "2, 1, 2, 1"))
    feeds = {"x": np.ones((1, 1, 3, 3), np.float32), "c": np.array(True), "n": np.array(2)}
    run(kept, feeds, optimized=True)
    assert resizefix.check(kept, target="onnxruntime").accepted
    with pytest.raises(COMPLAINTS):
        run(refused, feeds, optimized=True)
    assert not resizefix.check(refused, target="onnxruntime").accepted


@of_this_release
def test_with_a_policy_and_negative_axes_onnxruntime_returns_the_size_of_its_input():
    def shape(axes: list[int]) -> tuple[int, ...]:
        node = helper.make_node("Resize", ["x", "", "", "z"], ["y"], axes=axes, keep_aspect_ratio_policy="not_larger")
        x = np.ones((1, 1, 4, 4), np.float32)
        model = model_of(node, 18, x, {"z": np.array([8, 12], np.int64)})
        return tuple(run(model, {"x": x}, optimized=True)[0].shape)

    assert shape([2, 3]) == (1, 1, 8, 8)
    assert shape([-2, -1]) == (1, 1, 4, 4)
