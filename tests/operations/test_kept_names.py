"""A dimension that had a name keeps it, whatever command writes the model and whatever stands behind the change."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper

import resizefix

NAME = "batch"
LINKS = ("Resize", "Relu", "Add", "Concat", "Conv", "MaxPool")
STORED = st.sampled_from(["inferred", "named", "none"])


def chain(links: list[str], stored: str, fault: str | None = None) -> ModelProto:
    """x, then these operators, of which the first resize may have a fault; the batch has a name at both ends.

    `inferred`: shapes as onnx.shape_inference stores them, which loses the name; `named`: each with the name.
    """
    nodes, constants, channels, name = [], {}, 3, "x"
    constants["twice"] = np.array([1, 1, 2, 2], np.float32)
    for at, link in enumerate(["Resize", *links]):
        out = "y" if at == len(links) else f"t{at}"
        if link == "Resize":
            operands = [name, "", "twice"]
            if at == 0 and fault == "both":
                constants["size"] = np.array([1, 3, 16, 16], np.int64)
                operands += ["size"]
            elif at == 0 and fault == "half":
                constants["half"] = np.array([1, 1, 2, 2], np.float16)
                operands = [name, "", "half"]
            said = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": "nearest"}
            nodes.append(helper.make_node("Resize", operands, [out], f"r{at}", **said))
        elif link in ("Add", "Concat"):
            nodes.append(helper.make_node(link, [name, name], [out], **({"axis": 1} if link == "Concat" else {})))
            channels *= 2 if link == "Concat" else 1
        elif link == "Conv":
            constants[f"w{at}"] = np.ones((channels, channels, 1, 1), np.float32)
            nodes.append(helper.make_node("Conv", [name, f"w{at}"], [out]))
        else:
            nodes.append(
                helper.make_node(link, [name], [out], **({"kernel_shape": [1, 1]} if link == "MaxPool" else {}))
            )
        name = out
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [NAME, 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [NAME, channels, "high", "wide"])]
    initializers = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    if stored == "none" or (fault and stored == "inferred"):
        return model
    if stored == "inferred":
        return onnx.shape_inference.infer_shapes(model)
    counts = {"x": 3}
    for node in nodes:
        counts[node.output[0]] = counts[node.input[0]] * (2 if node.op_type == "Concat" else 1)
        if node.output[0] != "y":
            shape = [NAME, counts[node.output[0]], "", ""]
            model.graph.value_info.append(helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, shape))
    return model


def names(model: ModelProto) -> dict[str, str]:
    values = [*model.graph.input, *model.graph.value_info, *model.graph.output]
    shaped = [value for value in values if value.type.tensor_type.shape.dim]
    return {value.name: value.type.tensor_type.shape.dim[0].dim_param for value in shaped}


COMMANDS = {
    "promote": lambda model: resizefix.promote_scales(model, verify=False),
    "promote the first": lambda model: resizefix.promote_scales(model, node=["r0"], verify=False),
    "promote factors": lambda model: resizefix.promote_scales(model, form="factor", shared=True, verify=False),
    "freeze": lambda model: resizefix.freeze_scales(
        resizefix.promote_scales(model, verify=False, node=["r0"]).model, set={"r0_scales": [1, 1, 3, 3]}, verify=False
    ),
    "legalize": lambda model: resizefix.legalize(model, target="tensorrt-7.0", verify=False, on_refusal="return"),
    "set": lambda model: resizefix.set_interpolation(model, mode="linear", verify=False),
    "input-size": lambda model: resizefix.input_size(model, size=(12, 16), verify=False),
    "input-size any": lambda model: resizefix.input_size(model, size="any", verify=False, on_refusal="return"),
    "repair": lambda model: resizefix.repair(model, prefer="scales", verify=False, on_refusal="return"),
}
LINKED = st.lists(st.sampled_from(LINKS), min_size=0, max_size=4)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one != "repair"])
@settings(max_examples=15, deadline=None)
@given(LINKED, STORED)
def test_a_named_batch_keeps_its_name(command, links, stored):
    model = chain(links, stored)
    before, after = names(model), names(COMMANDS[command](model).model)
    kept = {name: after.get(name) for name, said in before.items() if said == NAME and name in after}
    assert kept == dict.fromkeys(kept, NAME)
    assert after["y"] == NAME


@settings(max_examples=30, deadline=None)
@given(LINKED, STORED, st.sampled_from(["both", "half"]))
def test_a_named_batch_keeps_its_name_behind_a_repaired_resize(links, stored, fault):
    model = chain(links, stored, fault)
    result = COMMANDS["repair"](model)
    assert result.outcomes[0].status.value == "changed", result.outcomes[0].reason
    after = names(result.model)
    kept = {name: after.get(name) for name, said in names(model).items() if said == NAME and name in after}
    assert kept == dict.fromkeys(kept, NAME)


LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,high,wide] x) => (float[rounds,batch,3,oh,ow] y) {
    s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() m = Constant<value_int = 3>() t = Constant<value = bool {1}>()
    y = Loop(m, t) <body = one (int64 i, bool c) => (bool go, float[batch,3,oh,ow] z) {
        go = Identity(c) f = Cast<to = 1>(i) a = Add(x, f) z = Resize<mode = "linear">(a, , s) }>
}"""


def test_names_behind_a_resize_in_a_loop_stay_where_no_size_changes():
    result = resizefix.legalize(onnx.parser.parse_model(LOOP), target="tensorrt-7.2", verify=False)
    assert result
    (loop,) = (node for node in result.model.graph.node if node.op_type == "Loop")
    (body,) = (attribute.g for attribute in loop.attribute if attribute.name == "body")
    for value, said in (
        (result.model.graph.output[0], ["rounds", "batch", "oh", "ow"]),
        (body.output[1], ["batch", "oh", "ow"]),
    ):
        dims = [dim.dim_param for dim in value.type.tensor_type.shape.dim]
        assert [name for name in dims if name in said] == said
