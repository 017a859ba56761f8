"""A dimension that had a name keeps it, whatever command writes the model and whatever stands behind the change."""

import numpy as np
import onnx
import onnxruntime
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
    "trt-legacy": lambda model: resizefix.trt_legacy(model, verify=False, on_refusal="return"),
    "opset": lambda model: resizefix.opset(model, opset=17, verify=False),
    "opset down": lambda model: resizefix.opset(model, opset=11, verify=False, on_refusal="return"),
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


PLACES = ("If", "Loop", "Scan", "function", "called twice", "function in a Loop")
_TURNING = "Double"  # the batch, which has another name from there on


def placed(place: str, links: list[str]) -> ModelProto:
    """`chain` with its shapes, in a body or a local function; `y` is what comes of `x`, in a loop for each round.

    With `Double` among the links the batch becomes another size there, and has no name behind.
    """
    graph = chain([link for link in links if link != _TURNING], "none").graph
    nodes = [*graph.node]
    if _TURNING in links:
        last = nodes[-1].output[0]
        nodes[-1].output[0] = "single"
        nodes.append(helper.make_node("Concat", ["single", "single"], [last], axis=0))
    batch = "more" if _TURNING in links else NAME
    channels = graph.output[0].type.tensor_type.shape.dim[1].dim_value
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, channels, "high", "wide"])
    constants = list(graph.initializer)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [NAME, 3, "h", "w"])
    inputs, outputs, functions = [x], [made], []
    if place in ("If", "Loop", "Scan"):
        for node in nodes:
            node.input[:] = ["of_body" if name == "x" else name for name in node.input]
        for node in nodes:
            node.output[:] = ["inner" if name == "y" else name for name in node.output]
        inner = helper.make_tensor_value_info("inner", TensorProto.FLOAT, [batch, channels, "high", "wide"])
        go, stop = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("go", "stop"))
        turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
        rounds = helper.make_tensor_value_info(
            "y",
            TensorProto.FLOAT,
            ["rounds", batch, channels, "high", "wide"] if place != "If" else [batch, channels, "high", "wide"],
        )
        outputs = [rounds]
        if place == "If":
            first = helper.make_node("Identity", ["x"], ["of_body"])
            body = helper.make_graph([first, *nodes], "body", [], [inner])
            other = helper.make_graph([], "other", [], [inner])
            for node in (first, *nodes):
                twin = other.node.add()
                twin.CopyFrom(node)
                twin.name = f"{node.name}_too" if node.name else ""
                twin.input[:] = [
                    name if name in ("x", "") or name in {c.name for c in constants} else f"{name}_too"
                    for name in node.input
                ]
                twin.output[:] = [f"{name}_too" for name in node.output]
            other.output[0].name = "inner_too"
            inputs.append(go)
            main = [helper.make_node("If", ["go"], ["y"], then_branch=body, else_branch=other)]
        elif place == "Loop":
            pre = [
                helper.make_node("Identity", ["go"], ["stop"]),
                helper.make_node("Cast", ["turn"], ["number"], to=TensorProto.FLOAT),
                helper.make_node("Add", ["x", "number"], ["of_body"]),
            ]
            body = helper.make_graph([*pre, *nodes], "body", [turn, go], [stop, inner])
            constants += [numpy_helper.from_array(np.array(2), "most"), numpy_helper.from_array(np.array(True), "true")]
            main = [helper.make_node("Loop", ["most", "true"], ["y"], body=body)]
        else:
            of_body = helper.make_tensor_value_info("of_body", TensorProto.FLOAT, [NAME, 3, "h", "w"])
            body = helper.make_graph(nodes, "body", [of_body], [inner])
            inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rounds", NAME, 3, "h", "w"])]
            main = [helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)]
    else:
        held = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in constants]
        opsets = [helper.make_opsetid("", 13)]
        functions = [helper.make_function("own", "f", ["x"], ["y"], [*held, *nodes], opsets)]
        constants = []
        main = [helper.make_node("f", ["x"], ["y"], domain="own")]
        if place == "called twice":
            inputs.append(helper.make_tensor_value_info("x2", TensorProto.FLOAT, ["others", 3, 7, "w2"]))
            other = "more others" if _TURNING in links else "others"
            outputs.append(helper.make_tensor_value_info("y2", TensorProto.FLOAT, [other, channels, "high2", "wide2"]))
            main.append(helper.make_node("f", ["x2"], ["y2"], domain="own"))
        elif place == "function in a Loop":
            go, stop = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("go", "stop"))
            turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
            inner = helper.make_tensor_value_info("inner", TensorProto.FLOAT, [batch, channels, "high", "wide"])
            main[0].output[0] = "inner"
            body = helper.make_graph(
                [helper.make_node("Identity", ["go"], ["stop"]), *main], "body", [turn, go], [stop, inner]
            )
            constants = [numpy_helper.from_array(np.array(2), "most"), numpy_helper.from_array(np.array(True), "true")]
            main = [helper.make_node("Loop", ["most", "true"], ["y"], body=body)]
            outputs = [
                helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rounds", batch, channels, "high", "wide"])
            ]
    whole = helper.make_graph(main, "g", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 13), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(whole, opset_imports=opsets, functions=functions, ir_version=8)


def run(model: ModelProto, batch: int, scale: float) -> dict[str, tuple[int, ...]]:
    """The sizes of the inputs and outputs at a run with so many images, each promoted input fed such scales."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {}
    for value in session.get_inputs():
        if value.name.endswith("_scales"):
            feeds[value.name] = np.array([1, 1, scale, scale], np.float32)
        elif value.type == "tensor(bool)":
            feeds[value.name] = np.array(True)
        else:
            named = {NAME: batch, "others": batch + 2, "rounds": 2}
            sizes = [size if isinstance(size, int) else named.get(size, 6) for size in value.shape]
            feeds[value.name] = np.zeros(sizes, np.float32)
    outputs = [value.name for value in session.get_outputs()]
    sizes = {name: fed.shape for name, fed in feeds.items()}
    return sizes | dict(zip(outputs, (made.shape for made in session.run(outputs, feeds)), strict=True))


def dims_of(model: ModelProto) -> dict[str, list[int | str]]:
    values = [*model.graph.input, *model.graph.output]
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}


IN_PLACES = {name: COMMANDS[name] for name in ("promote", "legalize", "set", "trt-legacy", "opset")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", IN_PLACES)
@settings(max_examples=6, deadline=None)
@given(LINKED, st.booleans())
def test_batch_and_channels_keep_name_and_number_in_every_scope(command, place, links, turns):
    model = placed(place, [*links, *([_TURNING] if turns else [])])
    made = IN_PLACES[command](model).model
    before, after = dims_of(model), dims_of(made)
    for name in ("y", "y2"):
        if name in before:
            behind = slice(None, -2)
            assert [
                size for size in before[name][behind] if not turns or isinstance(size, int) or size == "rounds"
            ] == [size for size in after[name][behind] if not turns or isinstance(size, int) or size == "rounds"]
    for batch, scale in ((1, 2.0), (3, 3.0)):
        meant: dict[str, int] = {}
        for name, sizes in run(made, batch, scale).items():
            for said, size in zip(after[name], sizes, strict=True):
                assert (said if isinstance(said, int) else meant.setdefault(said, size)) == size, (name, said, size)


GROWING = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,high,wide] x) => (float[more,3,oh,ow] last, float[rounds,batch,3,th,tw] y) {
    s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() m = Constant<value_int = 2>() t = Constant<value = bool {1}>()
    last, y = Loop(m, t, x) <body = one (int64 i, bool c, float[b,3,h,w] a)
        => (bool go, float[b2,3,h2,w2] d, float[batch,3,p,q] z) {
        go = Identity(c) d = Concat<axis = 0>(a, a)
        z = Resize<mode = "linear">(x, , s) u = Resize<mode = "linear">(a, , s) v = Shape(u) }>
}"""


def test_what_grows_in_a_loop_has_no_size_of_the_first_round():
    model = onnx.parser.parse_model(GROWING)
    made = resizefix.promote_scales(model, verify=False).model
    after = dims_of(made)
    assert after["y"][:3] == ["rounds", "batch", 3]
    sizes = run(made, 2, 2.0)
    assert sizes["last"][0] == 8
    assert after["last"][0] != "batch"


GOING_ROUND = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,high,wide] x) => (float[batch,3,oh,ow] last) {
    s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() m = Constant<value_int = 2>() t = Constant<value = bool {1}>()
    last = Loop(m, t, x) <body = one (int64 i, bool c, float[batch,3,h,w] a) => (bool go, float[batch,3,h2,w2] d) {
        go = Identity(c) d = Resize<mode = "nearest">(a, , s) }>
}"""
TWICE = """
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[batch,3,high,wide] x) => (float[batch,3,oh,ow] y) { a = own.f(x) y = own.f(a) }
<domain: "own", opset_import: ["" : 17]>
f (a) => (b) { s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() b = Resize<mode = "nearest">(a, , s) }"""
TURNED = TWICE.replace("b = Resize", "turned = Transpose<perm = [2, 1, 0, 3]>(a) b = Resize").replace(
    "float[batch,3,oh,ow]", "float[twice,3,same,ow]"
)


@pytest.mark.parametrize("text", [GOING_ROUND, TWICE])
def test_what_every_round_or_call_keeps_stays(text):
    made = resizefix.promote_scales(onnx.parser.parse_model(text), verify=False).model
    (sizes,) = (dims_of(made)[value.name] for value in made.graph.output)
    assert sizes[:2] == ["batch", 3]
    assert run(made, 2, 3.0)[made.graph.output[0].name] == (2, 3, 54, 54)


def test_an_axis_that_a_function_turns_into_the_batch_is_not_kept():
    text = TURNED.replace("(a, , s)", "(turned, , s)")
    made = resizefix.promote_scales(onnx.parser.parse_model(text), verify=False).model
    sizes, ran = dims_of(made)["y"], run(made, 2, 3.0)["y"]
    assert ran == (6, 3, 18, 54)
    assert sizes[0] not in ("batch", 2)
    assert not isinstance(sizes[2], int)


# As TensorFlow's loops are exported: each round turns the axes for the resize, and turns them back or further.
WHILE = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,high,wide] x) => (float[%s] last) {
    s = Constant<value_floats = [1.0, 1.0, 2.0, 3.0]>() m = Constant<value_int = 3>() t = Constant<value = bool {1}>()
    last = Loop(m, t, x) <body = one (int64 i, bool c, float[a0,a1,a2,a3] a) => (bool go, float[d0,d1,d2,d3] d) {
        go = Identity(c) turned = Transpose<perm = [%s]>(a) r = Resize<mode = "nearest">(turned, , s)
        d = Transpose<perm = [%s]>(r) }>
}"""


@pytest.mark.parametrize(
    ("there", "back", "kept"),
    [
        ((0, 1, 2, 3), (0, 1, 2, 3), {0, 1}),
        ((0, 1, 3, 2), (0, 1, 3, 2), {0, 1}),
        ((0, 3, 1, 2), (0, 2, 3, 1), {0, 3}),
        ((2, 1, 0, 3), (2, 1, 0, 3), {1, 2}),
        ((2, 1, 0, 3), (0, 1, 2, 3), {1}),  # each round resizes another axis as its third
        ((1, 2, 3, 0), (0, 1, 2, 3), set()),
    ],
)
def test_what_turned_axes_of_a_loop_keep_stays(there, back, kept):
    sizes = ["batch", "3", "high", "wide"]
    stated = [sizes[axis] if axis in kept else f"o{axis}" for axis in range(4)]
    text = WHILE % tuple(", ".join(map(str, one)) for one in (stated, there, back))
    result = resizefix.promote_scales(onnx.parser.parse_model(text), verify=False)
    assert bool(result)
    dims, ran = dims_of(result.model)["last"], run(result.model, 2, 2.0)["last"]
    wanted = [3 if axis == 1 else sizes[axis] for axis in range(4)]
    for axis in range(4):
        assert (dims[axis] == wanted[axis]) == (axis in kept), (axis, dims)
        if isinstance(dims[axis], int):
            assert dims[axis] == ran[axis]


FED = """
<ir_version: 9, opset_import: ["" : 13]>
g (float[batch,3,height,width] x, float[4] sc, int64[4] sz) => (float[batch,3,oh,ow] y, float[batch,3,ph,pw] z) {
    y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , sc)
    z = Resize<mode = "linear">(y, , , sz)
}"""


@pytest.mark.parametrize("size", [(32, 48), "any"])
def test_channels_behind_fed_scales_keep_their_number_at_another_input_size(size):
    made = resizefix.input_size(onnx.parser.parse_model(FED), size=size, verify=False).model
    after = dims_of(made)
    assert after["y"][:2] == after["z"][:2] == ["batch", 3]


def test_an_axis_that_fed_scales_may_move_has_no_number_of_the_input():
    text = FED.replace("float[batch,3,height,width] x", "float[batch,3,64,width] x")
    model = onnx.parser.parse_model(text.replace("float[batch,3,oh,ow] y", "float[batch,6,64,ow] y"))
    after = dims_of(resizefix.input_size(model, size=(32, 48), verify=False).model)
    assert after["x"] == ["batch", 3, 32, 48]
    assert after["y"][0] == "batch"
    assert after["y"][1] != 3
    assert not isinstance(after["y"][2], int)
