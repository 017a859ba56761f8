"""A node whose inputs or attributes do not fit its operator is refused, or says nothing; no row over nodes raises.

Each operator stands between the input and a resize, as ONNX has it, and then with one thing wrong: a list cut short or
made longer, an input or attribute gone, an attribute of another type, a number that is none of the tensor's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from hostile_models import model, resize, scales, value
from onnx import ModelProto, NodeProto, helper, numpy_helper

import resizefix
from resizefix.diagnostics import ResizefixError

IMAGE = (1, 4, 32, 32)
LISTS = {
    "Slice": ([0, 4], [32, 30], [2, 3], [1, 1]),
    "Split": ([2, 2],),
    "Reshape": ([1, 4, 16, 64],),
    "Squeeze": ([0],),
    "Unsqueeze": ([1],),
    "Expand": ([2, 4, 32, 32],),
    "Tile": ([1, 1, 2, 1],),
    "Pad": ([0, 0, 1, 1, 0, 0, 1, 1],),
    "TopK": ([8],),
    "ReduceSum": ([2],),
    "Gather": ([0, 20],),
}
ATTRIBUTES = {
    "Split": {"axis": 1},
    "TopK": {"axis": 2},
    "Gather": {"axis": 2},
    "Concat": {"axis": 1},
    "Transpose": {"perm": [0, 1, 3, 2]},
    "Flatten": {"axis": 1},
    "DepthToSpace": {"blocksize": 2},
    "SpaceToDepth": {"blocksize": 2},
    "MaxPool": {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0]},
    "AveragePool": {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    "Conv": {"strides": [2, 2], "dilations": [1, 1], "pads": [0, 0, 1, 1]},
    "ConvTranspose": {"strides": [2, 2], "output_padding": [1, 1]},
    "Einsum": {"equation": "nchw->nhwc"},
    "ArgMax": {"axis": 1, "keepdims": 1},
    "ReduceMax": {"axes": [2], "keepdims": 1},
    "InstanceNormalization": {"epsilon": 1e-5},
    "Resize": {"mode": "nearest"},
}
WEIGHTS = {"Conv": (4, 4, 3, 3), "ConvTranspose": (4, 4, 3, 3), "MatMul": (32, 32), "Add": (32,), "Concat": IMAGE}
OPERATORS = sorted({*LISTS, *ATTRIBUTES, *WEIGHTS})
OTHER_VALUES = (-9, 2**62, 1.5, "x", [7, 7], [], [1.5])


def sound(operator: str) -> ModelProto:
    """x through one node of the operator, and through a resize."""
    node = helper.make_node(operator, ["x"], ["z"], name="node", **ATTRIBUTES.get(operator, {}))
    node.output.extend({"Split": ["other"], "TopK": ["other"]}.get(operator, []))
    constants = [
        numpy_helper.from_array(np.array(numbers), f"list{i}") for i, numbers in enumerate(LISTS.get(operator, ()))
    ]
    if operator in WEIGHTS:
        constants.append(numpy_helper.from_array(np.ones(WEIGHTS[operator], np.float32), "weight"))
    if operator == "InstanceNormalization":
        constants += [scales(1, 1, 1, 1, name=name) for name in ("scale", "bias")]
    if operator == "Resize":
        node.input.append("")
        constants.append(scales(1, 1, 2, 2, name="factors"))
    node.input.extend(constant.name for constant in constants)
    inputs = [value("x", IMAGE)]
    return model([node, resize("z", mode="nearest")], [scales(1, 1, 2, 2), *constants], inputs=inputs)


def spoilt(operator: str) -> Iterator[ModelProto]:
    """The model, each time with one thing wrong with the node."""
    start = sound(operator)

    def copy() -> tuple[ModelProto, NodeProto]:
        made = ModelProto.FromString(start.SerializeToString())
        return made, made.graph.node[0]

    for place, name in enumerate(start.graph.node[0].input):
        for other in (None, "", "scales", "x", "nowhere"):
            made, node = copy()
            if other is None:
                del node.input[place]
            else:
                node.input[place] = other
            yield made
        if name != "x" and name:
            for change in (
                lambda a: a[:-1],
                lambda a: np.concatenate([a, a]),
                lambda a: a[None],
                lambda a: -a - 9,
                lambda a: a[:0],
            ):
                made, _ = copy()
                tensor = next(one for one in made.graph.initializer if one.name == name)
                tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor)), name))
                yield made
    for place, attribute in enumerate(start.graph.node[0].attribute):
        made, node = copy()
        del node.attribute[place]
        yield made
        listed = list(attribute.ints)
        for other in (
            *OTHER_VALUES,
            *([listed[:-1], [*listed, 0], [0] * len(listed), [-1] * len(listed)] if listed else []),
        ):
            made, node = copy()
            kind = onnx.AttributeProto.INTS if other == [] else None
            node.attribute[place].CopyFrom(helper.make_attribute(attribute.name, other, attr_type=kind))
            yield made
    made, node = copy()
    del node.output[:]
    yield made


CALLS = {
    "inspect": resizefix.inspect,
    "trt_legacy": lambda model: resizefix.trt_legacy(model, verify=False, allow_inexact=True, on_refusal="return"),
    "any size": lambda model: resizefix.input_size(model, verify=False, on_refusal="return"),
    "another size": lambda model: resizefix.input_size(model, size=(64, 96), verify=False, on_refusal="return"),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_node_that_does_not_fit_its_operator_is_answered(operator):
    for made in [sound(operator), *spoilt(operator)]:
        for call in CALLS.values():
            with contextlib.suppress(ResizefixError):
                call(made)


@pytest.mark.parametrize("operator", ["Slice", "Pad", "MaxPool", "Transpose"])
def test_the_refusal_names_the_node(operator):
    refusals = set()
    for made in spoilt(operator):
        try:
            result = resizefix.input_size(made, size=(64, 96), verify=False, on_refusal="return")
        except ResizefixError:
            continue
        refusals |= {(outcome.node, outcome.reason) for outcome in result.outcomes if outcome.status.value == "refused"}
    wanted = f"its inputs and attributes do not fit {operator}: the node is invalid, so its sizes are not known"
    assert ("node", wanted) in refusals
