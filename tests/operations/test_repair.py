"""Files that real converters broke, and a small model for each fault: wrong before, right after."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import resizefix
from resizefix.document.document import Document
from resizefix.faults import attributes, channels, conversions, extents, operators, types
from resizefix.faults.table import FINDERS, faults_in
from resizefix.outcome import Status

BROKEN = Path(__file__).parents[2] / "fixtures" / "broken"
CASES = {case["id"]: case for case in json.loads((BROKEN / "index.json").read_text())}
KINDS = {"tensor(float)": "float32", "tensor(double)": "float64"}
REPAIRED = [name for name, case in CASES.items() if case["expected"] == "repaired" and "refuse" not in case["also_ok"]]


def session(model: onnx.ModelProto, *, optimized: bool = True) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feeds_of(case: dict, shapes: dict, opened: ort.InferenceSession) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(0)
    feeds = {}
    for entry in opened.get_inputs():
        kind = np.dtype(KINDS.get(entry.type, entry.type[len("tensor(") : -1]))
        shape = shapes[entry.name]
        whole = kind.kind in "iu"
        values = rng.randint(2, 5, size=shape) if whole and not isinstance(shape, dict) else None
        if values is None:
            values = np.array(shape["values"]) if isinstance(shape, dict) else rng.rand(*shape)
        feeds[entry.name] = values.astype(kind)
    return feeds


@pytest.mark.parametrize("name", REPAIRED)
def test_what_a_real_converter_broke_computes_what_its_reference_does(name):
    case = CASES[name]
    result = resizefix.repair(BROKEN / f"{name}.onnx", prefer=case.get("prefer"))
    assert result.changed
    assert result.verification.passed
    made = result.model.to_proto()
    reference = onnx.load(BROKEN / "reference" / f"{name}.onnx")
    for shapes in case["compare"]["feeds"]:
        for optimized in (False, True):
            wanted, found = session(reference, optimized=optimized), session(made, optimized=optimized)
            feeds = feeds_of(case, shapes, wanted)
            for before, after in zip(wanted.run(None, feeds), found.run(None, feeds), strict=True):
                assert before.shape == after.shape
                span = float(np.ptp(before.astype(np.float64))) or 1.0
                allowed = case["compare"]["tol"] or (1e-6 if optimized else 0.0)
                assert np.abs(before.astype(np.float64) - after).max() <= allowed * span


@pytest.mark.parametrize("name", REPAIRED)
def test_before_the_repair_onnxruntime_says_what_the_index_says(name):
    case = CASES[name]
    model = onnx.load(BROKEN / f"{name}.onnx")
    if case["onnxruntime"]["state"] == "load_fail":
        with pytest.raises(Exception, match=r".") as failure:
            session(model)
        assert str(failure.value)[:60] == case["onnxruntime"]["says"][:60]
        return
    reference, opened = onnx.load(BROKEN / "reference" / f"{name}.onnx"), session(model, optimized=False)
    feeds = feeds_of(case, case["compare"]["feeds"][-1], opened)
    if case["onnxruntime"]["state"] == "run_fail":
        with pytest.raises(Exception, match=r"Resize|broadcast"):
            opened.run(None, feeds)
        return
    wanted = session(reference, optimized=False).run(None, feeds)
    found = opened.run(None, feeds)
    assert any(a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_repaired_file_has_no_fault_left_and_a_second_repair_changes_nothing(name):
    case = CASES[name]
    try:
        result = resizefix.repair(BROKEN / f"{name}.onnx", prefer=case.get("prefer"))
    except resizefix.VerificationFailedError:
        assert "refuse" in (case["expected"], *case["also_ok"])
        return
    assert result.changed or "refuse" in case["also_ok"] or case["expected"] != "repaired"
    again = resizefix.repair(result.model, prefer=case.get("prefer"))
    assert not again.changed
    assert again.model.to_proto() == result.model.to_proto()


def near_resizes(model: onnx.ModelProto) -> set[str]:
    """Names that resizes read and write, what computes their operands, and names that several nodes write."""
    nodes = list(model.graph.node)
    made = {name: node for node in nodes for name in node.output}
    found: set[str] = set()
    for node in nodes:
        if node.op_type in ("Resize", "Upsample"):
            found |= {*node.input, *node.output}
            todo = list(node.input[1:])
            while todo:
                name = todo.pop()
                if name in made and made[name].op_type not in ("Shape", "Size"):
                    todo += [source for source in made[name].input if source not in found]
                    found |= {*made[name].input, *made[name].output}
    written = Counter(name for node in nodes for name in node.output)
    return (found | {name for name, count in written.items() if count > 1}) - {""}


@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_not_the_resizes_is_byte_for_byte_what_it_was(name):
    before = onnx.load(BROKEN / f"{name}.onnx")
    after = resizefix.repair(BROKEN / f"{name}.onnx", prefer=CASES[name].get("prefer")).model.to_proto()
    near = near_resizes(before) | near_resizes(after)
    for one, other in ((before, after), (after, before)):
        there = Counter(node.SerializeToString() for node in other.graph.node)
        for node in one.graph.node:
            if there[node.SerializeToString()]:
                there[node.SerializeToString()] -= 1
            elif not any(attribute.HasField("g") for attribute in node.attribute):  # bodies hold resizes of their own
                assert {*node.input, *node.output} & near, node
    kept = {tensor.name: tensor.SerializeToString() for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        assert tensor.name in near or kept.get(tensor.name) == tensor.SerializeToString()
    outside = ("producer_name", "producer_version", "doc_string", "model_version", "domain")
    assert [getattr(before, field) for field in outside] == [getattr(after, field) for field in outside]
    assert list(before.graph.input) == list(after.graph.input)
    assert list(before.metadata_props) == list(after.metadata_props)


# Faults that no converter makes that can still be had: the files that show them are written by hand (TEXTS below).
BY_HAND = {
    "operand-type": "edits with onnx-graphsurgeon in numpy's default types",
    "attribute-type": "editors that write what was typed",
    "unknown-attribute": "habits of other frameworks, and opsets lowered by hand",
    "both-extents": "edits after the idiom of opset 10",
    "no-extent": "a constant that was dropped",
    "short-extent": "edits that name height and width alone",
    "placeholder-size": "edits after the idiom of Reshape",
    "impossible-extent": "edits",
    "unit-scale": "scales that were divided, or stored in 16 bits",
    "identity": "no fault; removed on request",
}


def test_every_fault_has_a_file_of_the_converter_that_makes_it_or_is_made_by_hand_alone():
    by_converter = set()
    for name in REPAIRED:
        for outcome in resizefix.repair(
            BROKEN / f"{name}.onnx", prefer=CASES[name].get("prefer"), verify=False
        ).outcomes:
            by_converter |= set((outcome.fault or "").split(", ")) - {""}
    all_faults = {
        value
        for module in (attributes, channels, conversions, extents, operators, types)
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str)
    }
    softer = {"cast-pair", "duplicate-output", "quantised-extent", "stale-type"}  # in files that may be refused
    assert all_faults == by_converter | set(BY_HAND) | softer
    assert not (by_converter | softer) & set(BY_HAND)


def test_the_page_names_a_file_and_its_converter_for_every_fault_that_a_converter_makes():
    page = (BROKEN.parents[1] / "docs" / "repair.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| `[a-z0-9-]+`", line)]
    by_hand = {fault for row in rows if "by hand" in row[1] for fault in re.findall(r"`([a-z0-9-]+)`", row[0])}
    assert by_hand == BY_HAND.keys() - {"identity"}
    makers = page.split("## Who makes them")[1].split("## Refused")[0]
    rows = [line.strip("| ").split(" | ") for line in makers.splitlines() if line.startswith("| `")]
    files = {row[0].strip("`"): row for row in rows if "by hand" not in row[1]}
    assert len(files) == 13
    for fault, (_, converters, file) in files.items():
        case = CASES[file.strip("`")]
        result = resizefix.repair(BROKEN / f"{case['id']}.onnx", prefer=case.get("prefer"), verify=False)
        found = {name for outcome in result.outcomes for name in (outcome.fault or "").split(", ")}
        assert fault in found
        assert case["version"] in converters or any(word in converters for word in case["converter"].split())


# One model for each fault: opset, the resize and what it reads, the fault, the node afterwards.
SCALES = "float[4] s = {1, 1, 2, 2}"
TEXTS = {
    "Upsample beyond opset 9": (13, "y = Upsample <mode = \"nearest\"> (x, s)", SCALES, "wrong-opset"),
    "Upsample at opset 10": (10, "y = Upsample <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "attribute scales at opset 9": (9, "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", "", "wrong-opset"),
    "two inputs at opset 8": (8, "y = Upsample <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "Upsample-1 at opset 7": (7, "y = Upsample <height_scale = 2.0, width_scale = 2.0> (x)", "", "wrong-opset"),
    "Resize at opset 9": (9, "y = Resize <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "downscaling Upsample-9": (9, "y = Upsample (x, s)", "float[4] s = {1, 1, 0.5, 0.5}", "wrong-opset"),
    "Resize-11 at opset 10": (
        10, 'y = Resize <coordinate_transformation_mode = "half_pixel"> (x, "", s)', SCALES, "wrong-opset",
    ),
    "scales in roi's place": (13, 'y = Resize <coordinate_transformation_mode = "asymmetric"> (x, s)', SCALES,
                              "operand-spelling"),
    "a renamed Upsample": (13, "y = Resize <mode = \"nearest\"> (x, s)", SCALES, "wrong-opset"),
    "'' for roi at opset 11": (11, 'y = Resize (x, "", s)', SCALES, "operand-spelling"),
    "mode bilinear": (13, 'y = Resize <mode = "bilinear"> (x, "", s)', SCALES, "attribute-spelling"),
    "a blank in a mode": (
        13, 'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners "> (x, "", s)', SCALES,
        "attribute-spelling",
    ),
    "align_corners": (13, 'y = Resize <mode = "linear", align_corners = 1> (x, "", s)', SCALES, "unknown-attribute"),
    "stretch before opset 18": (
        13, 'y = Resize <keep_aspect_ratio_policy = "stretch"> (x, "", s)', SCALES, "unknown-attribute",
    ),
    "antialias as FLOAT": (18, 'y = Resize <antialias = 0.0> (x, "", s)', SCALES, "attribute-type"),
    "float16 scales": (13, 'y = Resize (x, "", s)', "float16[4] s = {1, 1, 2, 2}", "float16-extent"),
    "float64 scales": (13, 'y = Resize (x, "", s)', "double[4] s = {1, 1, 2, 2}", "operand-type"),
    "int64 scales": (13, 'y = Resize (x, "", s)', "int64[4] s = {1, 1, 2, 2}", "operand-type"),
    "int32 sizes": (13, 'y = Resize (x, "", "", s)', "int32[4] s = {1, 3, 16, 16}", "operand-type"),
    "computed float16 scales": (
        13, 'a = Shape (x) b = Cast <to = 10> (a) c = Div (b, b) d = Add (c, c) y = Resize (x, "", d)', "",
        "float16-extent",
    ),
    "empty scales behind a Cast": (
        13, 'e = Cast <to = 1> (h) y = Resize (x, "", e, s)', "float16[0] h = {}, int64[4] s = {1, 3, 16, 16}",
        "empty-operand",
    ),
    "scales and sizes": (
        13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 16, 16}}", "both-extents",
    ),
    "neither scales nor sizes": (13, "y = Resize (x)", "float[1,3,16,16] y", "no-extent"),
    "sizes with -1": (13, 'y = Resize (x, "", "", s)', "int64[4] s = {-1, 3, 16, 16}", "placeholder-size"),
    "a scale of 0": (13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 0, 0}, float[1,3,16,16] y", "impossible-extent"),
    "two scales for four axes": (
        13, 'y = Resize (x, "", s)', "float[2] s = {2, 2}, float[1,3,16,16] y", "short-extent",
    ),
    "nearly one": (13, 'y = Resize (x, "", s)', "float[4] s = {0.9999999, 0.9999999, 2, 2}", "unit-scale"),
    "a lost pixel": (
        13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1.1249, 2}, float[1,3,9,16] y", "lost-pixel",
    ),
    "a lost asymmetric": (
        11, 'y = Resize <mode = "nearest"> (x, r, s)', f"{SCALES}, float[8] r = {{0, 0, 0, 0, 1, 1, 1, 1}}",
        "lost-asymmetric",
    ),
    "a stale type": (
        13, 'y = Resize (x, "", s) z = Cast <to = 10> (y)', f"{SCALES}, float16[1,3,16,16] y", "stale-type",
    ),
}  # fmt: skip


def small(opset: int, nodes: str, rest: str, data: str = "float[1,3,8,8] x") -> Document:
    """`rest`: initializers, and the stored type of y."""
    entries = [entry.strip() for entry in rest.replace("}, ", "}| ").replace("] y", "] y|").split("|") if entry.strip()]
    last = "z" if " z = " in nodes else "y"
    stored = ", ".join(entry.strip(", ") for entry in entries)
    kind = "float16" if last == "z" else "float"
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({data}) => ({kind}[a, b, c, d] {last}) '
        f"{f'<{stored}>' if stored else ''} {{ {nodes} }}"
    )
    model = onnx.parser.parse_model(text)
    if last == "y":  # the parser puts a type of an output beside it, where exporters have one
        known = [value for value in model.graph.value_info if value.name == "y"]
        for value in known:
            model.graph.output[0].type.CopyFrom(value.type)
            model.graph.value_info.remove(value)
    return Document.from_proto(model)


@pytest.mark.parametrize("name", TEXTS)
def test_each_fault_is_named_and_fixed(name):
    opset, nodes, rest, fault = TEXTS[name]
    document = small(opset, nodes, rest)
    result = resizefix.repair(document.to_proto())
    (outcome,) = result.outcomes
    assert outcome.status is Status.CHANGED, outcome.reason
    assert outcome.fault is not None
    assert fault in outcome.fault.split(", ")
    assert result.verification.passed
    session(result.model)


def test_every_finder_is_covered_by_a_text_or_a_file():
    from resizefix.dialects.model_view import ModelView
    from resizefix.faults.fault import Preferences
    from resizefix.faults.resize_node import ResizeNode, Surroundings

    documents = [small(*row[:3]) for row in TEXTS.values()]
    documents += [Document.open(path) for path in BROKEN.glob("*.onnx")]
    fired = set()
    for document in documents:
        surroundings = Surroundings(ModelView(document))
        for scope in surroundings.view.scopes.all:
            for index, node in enumerate(scope.body.node):
                if node.op_type in ("Resize", "Upsample"):
                    found = ResizeNode(surroundings, scope, index)
                    fired |= {find.__name__ for find in FINDERS if find(found, Preferences(remove_identity=True))}
    in_tests_of_their_own = {"identity", "half_a_cast_pair"}
    assert {find.__name__ for find in FINDERS} <= fired | in_tests_of_their_own


REFUSED = {
    "scales that contradict sizes": (
        13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}", "--prefer scales or --prefer sizes",
    ),
    "a mode of no version": (13, 'y = Resize <mode = "area"> (x, "", s)', SCALES, "mode is 'area'"),
    "nothing says how far": (13, "y = Resize (x)", "", "no stored shape says how large its output is"),
    "an attribute of no version": (13, 'y = Resize <height = 3> (x, "", s)', SCALES, "has no attribute height"),
    "an operator that opset 9 changed": (
        8, 'b = BatchNormalization <spatial = 0> (x, x, x, x, x) y = Resize (b, s)', SCALES,
        "BatchNormalization node 'b' cannot be raised to opset 9",
    ),
    "sizes where scales are": (8, "y = Upsample (x, s) ", "int32[2] s = {16, 16}", "one scale per axis"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_whose_meaning_is_not_certain_is_refused_with_the_reason(name):
    opset, nodes, rest, reason = REFUSED[name]
    document = small(opset, nodes, rest)
    result = resizefix.repair(document.to_proto())
    assert not result.changed
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert reason in (outcome.reason or "")
    assert result.model == document.to_proto()


@pytest.mark.parametrize(("prefer", "side"), [("scales", 16), ("sizes", 20)])
def test_prefer_decides_between_two_operands(prefer, side):
    document = small(13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}")
    made = resizefix.repair(document.to_proto(), prefer=prefer).model
    (output,) = session(made).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, side, side)


@pytest.mark.parametrize(("nodes", "rest"), [('y = Resize <mode = "linear"> (x, "", s)', "float[4] s = {1, 1, 0, 0}, "),
                                            ('y = Resize <mode = "linear"> (x)', "")])  # fmt: skip
def test_a_stored_shape_that_two_scales_give_is_taken_as_sizes_on_request_alone(nodes, rest):
    document = small(13, nodes, f"{rest}float[1,3,4,4] y", data="float[1,3,9,8] x")
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "by these sizes or by a scale that was rounded down" in (outcome.reason or "")
    made = resizefix.repair(document.to_proto(), prefer="sizes").model
    (output,) = session(made).run(None, {"x": np.ones((1, 3, 9, 8), np.float32)})
    assert output.shape == (1, 3, 4, 4)


@pytest.mark.parametrize("place", ["s", "z"])
def test_an_operand_of_strings_is_refused_and_no_cast_is_tried(place):
    inputs = {"s": 'x, "", s', "z": 'x, "", "", s'}[place]
    document = small(13, f"y = Resize ({inputs})", SCALES)
    document.proto.graph.initializer[0].CopyFrom(onnx.helper.make_tensor("s", 8, [4], [b"1", b"1", b"2", b"two"]))
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "string" in outcome.reason


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("kind", ["int64", "double"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_resize_in_a_function_is_repaired_and_computes_what_it_did_in_the_main_graph(opset, kind, nested):
    roi = "r" if opset < 13 else '""'
    resize = f'Resize <mode = "linear"> (a, {roi}, s)'
    constants = f"s = Constant <value = {kind}[4] {{1, 1, 2, 2}}> () r = Constant <value = float[0] {{}}> ()"
    body = f"{constants} b = {resize}"
    if nested:
        branch = f"{constants} d = {resize}"
        body = (
            "c = Constant <value = bool {1}> () b = If (c) <"
            + ", ".join(
                f"{name} = {name[0]} () => (float[p, q, u, v] {name[0]}) {{ {branch.replace('d =', f'{name[0]} =')} }}"
                for name in ("then_branch", "else_branch")
            )
            + ">"
        )
    imports = f'"" : {opset}, "d" : 1'
    broken = onnx.parser.parse_model(
        f"<ir_version: 8, opset_import: [{imports}]> g (float[1,3,8,8] x) => (float[h, i, j, k] y) {{ y = d.F (x) }}"
        f'<domain: "d", opset_import: ["" : {opset}]> F (a) => (b) {{ {body} }}'
    )
    result = resizefix.repair(broken)
    assert result.verification.passed
    plain = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,3,8,8] a) => (float[h, i, j, k] y)'
        f"<float[4] s = {{1, 1, 2, 2}}, float[0] r = {{}}> {{ y = {resize} }}"
    )
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    (wanted,) = session(plain, optimized=False).run(None, {"a": image})
    (found,) = session(result.model, optimized=False).run(None, {"x": image})
    assert np.array_equal(wanted, found)


TWO_EXTENTS_TWICE = """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[a, b, c, d] y)
  <float[4] s = {1, 1, 2, 2}, int64[4] z = {1, 3, 16, 16}, int64[4] w = {1, 3, 32, 32}> {
    [first] h = Resize (x, "", s, z) [second] y = Resize (h, "", s, w)
  }"""


def test_a_node_whose_sizes_the_repair_of_another_tells_is_repaired_too():
    result = resizefix.repair(onnx.parser.parse_model(TWO_EXTENTS_TWICE))
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED] * 2
    (output,) = session(result.model).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 32, 32)


def test_a_file_that_does_not_load_for_a_resize_that_was_not_selected_names_it():
    with pytest.raises(resizefix.VerificationFailedError, match="second was not repaired"):
        resizefix.repair(onnx.parser.parse_model(TWO_EXTENTS_TWICE), node="first")


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_sizes_that_freeze_the_batch_follow_it_afterwards(opset, batch):
    roi = "e, e" if opset == 11 else '"", ""'
    rest = "int64[4] z = {1, 3, 16, 20}, float[0] e = {}"
    document = small(opset, f"y = Resize (x, {roi}, z)", rest, data="float[N,3,8,8] x")
    result = resizefix.repair(document.to_proto())
    assert result.outcomes[0].fault == "frozen-batch"
    (output,) = session(result.model).run(None, {"x": np.ones((batch, 3, 8, 8), np.float32)})
    assert output.shape == (batch, 3, 16, 20)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_a_stored_shape_that_the_repair_makes_untrue_is_derived_again(opset):
    roi = "e, e" if opset == 11 else '"", ""'
    nodes = f"h = Resize (x, {roi}, z) y = Shape (h)"
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[N,3,8,8] x) => (int64[4] y) '
        f"<int64[4] z = {{1, 3, 16, 20}}, float[0] e = {{}}, float[1,3,16,20] h> {{ {nodes} }}"
    )
    made = resizefix.repair(onnx.parser.parse_model(text)).model
    for optimized in (False, True):  # optimising folds Shape to what is stored
        (shape,) = session(made, optimized=optimized).run(None, {"x": np.ones((2, 3, 8, 8), np.float32)})
        assert shape.tolist() == [2, 3, 16, 20]


def test_attributes_at_their_defaults_hide_no_frozen_batch():
    nodes = 'y = Resize <keep_aspect_ratio_policy = "stretch", antialias = 0> (x, "", "", z)'
    document = small(18, nodes, "int64[4] z = {1, 3, 16, 20}", data="float[N,3,8,8] x")
    assert resizefix.repair(document.to_proto()).outcomes[0].fault == "frozen-batch"


ONES = "int64[4] z = {1, 1, 16, 20}"


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_sizes_that_lose_channels_keep_them_afterwards(opset):
    roi = "e, e" if opset == 11 else '"", ""'
    document = small(opset, f"y = Resize (x, {roi}, z)", f"{ONES}, float[0] e = {{}}, float[1,3,16,20] y")
    result = resizefix.repair(document.to_proto())
    assert result.outcomes[0].fault == "lost-channels"
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    (output,) = session(result.model).run(None, {"x": image})
    right = small(opset, f"y = Resize (x, {roi}, z)", "int64[4] z = {1, 3, 16, 20}, float[0] e = {}")
    assert np.array_equal(output, session(right.to_proto()).run(None, {"x": image})[0])


def test_channels_that_nothing_says_are_to_stay_are_left_as_they_are():
    document = small(13, 'y = Resize (x, "", "", z)', ONES)
    assert not resizefix.repair(document.to_proto()).changed


QUOTIENT = "float[4] s = {1, 1, 1.034482717514038, 2}"  # float32(30 / 29)


@pytest.mark.parametrize(("prefer", "height"), [("sizes", 30), ("scales", 29)])
def test_prefer_decides_between_a_quotient_and_the_length_that_it_gives(prefer, height):
    document = small(13, 'y = Resize (x, "", s)', QUOTIENT, data="float[1,3,29,8] x")
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "--prefer sizes makes the output 30 long" in (outcome.reason or "")
    made = resizefix.repair(document.to_proto(), prefer=prefer).model
    (output,) = session(made).run(None, {"x": np.ones((1, 3, 29, 8), np.float32)})
    assert output.shape == (1, 3, height, 16)


def test_a_resize_by_one_is_removed_on_request_alone():
    document = small(13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1, 1}")
    assert not resizefix.repair(document.to_proto()).changed
    made = resizefix.repair(document.to_proto(), remove_identity=True).model
    assert [node.op_type for node in made.graph.node] == ["Identity"]


def test_the_cast_that_is_missing_behind_a_node_is_added():
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float16[1,3,8,8] x) => (float16[a, b, c, d] z)
      <float[4] s = {1, 1, 2, 2}, float16[1] one = {1}> {
        c = Cast <to = 1> (x) y = Resize (c, "", s) z = Mul (y, one)
      }"""
    result = resizefix.repair(onnx.parser.parse_model(text))
    assert result.outcomes[0].fault == "cast-pair"
    session(result.model)


def test_a_scale_that_went_through_float16_is_the_one_that_was_meant():
    for meant in (1.2, 1.7, 0.6, 4 / 3, 2.5, 0.1):
        stored = numpy_helper.from_array(np.array([1, 1, meant, meant], np.float16), "s")
        document = small(13, 'y = Resize (x, "", s)', SCALES)
        document.proto.graph.initializer[0].CopyFrom(stored)
        made = resizefix.repair(document.to_proto(), shape={"x": (1, 3, 8, 8)}).model
        (scales,) = (numpy_helper.to_array(t) for t in made.graph.initializer if t.dims == [4])
        assert scales[2] == np.float32(meant)


def test_a_stored_size_that_is_the_whole_part_of_the_product_does_not_contradict_a_rounded_scale():
    stored = numpy_helper.from_array(np.array([1, 1, 1.8, 1.8], np.float16), "s")
    document = small(13, 'y = Resize (x, "", s)', f"{SCALES}, float[1,3,14,14] y")
    document.proto.graph.initializer[0].CopyFrom(stored)
    made = resizefix.repair(document.to_proto()).model
    (scales,) = (numpy_helper.to_array(t) for t in made.graph.initializer if t.dims == [4])
    assert scales[2] == np.float32(1.8)


def test_too_few_scales_in_a_function_are_named():
    broken = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "d" : 1]> g (float[1,3,8,8] x) => (float[a,b,c,e] y) { y = d.F (x) }'
        '<domain: "d", opset_import: ["" : 13]> F (h) => (z) {'
        ' s = Constant <value = float[2] {2, 2}> () z = Resize (h, "", s) }'
    )
    (outcome,) = resizefix.repair(broken).outcomes
    assert outcome.status is Status.REFUSED
    assert "it has 2 scales, and its input has 4 axes" in (outcome.reason or "")


def test_scales_nearly_one_in_a_function_are_one():
    broken = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "d" : 1]> g (float[1,3,8,8] x) => (float[a,b,c,e] y) { y = d.F (x) }'
        '<domain: "d", opset_import: ["" : 13]> F (h) => (z) {'
        ' s = Constant <value = float[4] {1.0, 0.9999999, 2.0, 2.0}> () z = Resize (h, "", s) }'
    )
    made = resizefix.repair(broken)
    assert made.outcomes[0].fault == "unit-scale"
    (output,) = session(made.model).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 16, 16)


@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "bisenet_x8_linear_opset9", "unet_linear_dynamo23"])
def test_a_right_model_has_no_fault_and_comes_back_as_it_was(name, tmp_path):
    path = BROKEN.parent / f"{name}.onnx"
    assert [fault for faults in faults_in_file(path) for fault in faults] == []
    result = resizefix.repair(path)
    assert not result.changed
    result.model.save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def faults_in_file(path: Path):
    from resizefix.dialects.model_view import ModelView

    return faults_in(ModelView(Document.open(path)))
