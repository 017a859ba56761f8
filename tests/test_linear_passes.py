"""How often a whole model is walked does not depend on how many sites it has."""

import onnx
import onnx_text
import pytest

import resizefix
from resizefix.document import scopes
from resizefix.document.document import Document
from resizefix.faults import resize_node, table
from resizefix.operations.diff import diff
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.reports.next_step import next_step
from resizefix.reports.survey import Survey
from resizefix.shapes import stored_shapes
from resizefix.shapes.stored_shapes import ModelView

LONGEST_CHAIN = 10  # what is cut out of the model to be run by itself is no pass over the model
HALF_PIXEL = 'mode = "nearest", coordinate_transformation_mode = "half_pixel", nearest_mode = "round_prefer_floor"'


def branches(count: int) -> onnx.ModelProto:
    """As many resizes side by side, each with scales of its own; every other one computes them."""
    steps, stored = "", "int64[4] times = {1, 1, 2, 2}"
    for i in range(count):
        operands = f"r{i}, , s{i}"
        steps += f" [relu{i}] r{i} = Relu (x)"
        if i % 2:
            steps += f" [shape{i}] shape{i} = Shape (r{i}) [times{i}] sizes{i} = Mul (shape{i}, times)"
            operands = f"r{i}, , , sizes{i}"
        else:
            stored += f", float[4] s{i} = {{1, 1, 2, 2}}"
        steps += f" [up{i}] y{i} = Resize <{HALF_PIXEL}> ({operands})"
        stored += f", float[1,1,8,8] y{i}"
    return onnx_text.model(f"""(float[1,1,4,4] x) => (float[1,1,8,8] out)
        <{stored}> {{ {steps} [sum] out = Sum ({", ".join(f"y{i}" for i in range(count))}) }}""")


def inspect(document: Document) -> None:
    survey = Survey(document)
    assert survey.refusing
    assert survey.sites[0].picture is not None


def promote(document: Document) -> None:
    assert resizefix.promote_scales(document, verify=False, allow_coupled=True).changed


def legalize(document: Document) -> None:
    assert resizefix.legalize(document, target="tensorrt-8.0", verify=False).outcomes


def trt_legacy(document: Document) -> None:
    assert resizefix.trt_legacy(document, verify=False).changed


def freeze(document: Document) -> None:
    assert resizefix.freeze_scales(document, verify=False).outcomes


def check(document: Document) -> None:
    assert not resizefix.check(document, target="tensorrt-5.0").accepted


def compare(document: Document) -> None:
    assert diff(document, promote_scales(document, find_sites(document)).document)


@pytest.fixture
def passes(monkeypatch):
    """Counts of what walks a whole model."""
    counts = {"Scopes": 0, "Shapes": 0}

    def counting(name, function):
        def counted(*arguments, **options):
            models = [argument for argument in arguments if isinstance(argument, onnx.ModelProto)]
            counts[name] += len(models[0].graph.node) > LONGEST_CHAIN
            return function(*arguments, **options)

        return counted

    monkeypatch.setattr(scopes.Scopes, "__init__", counting("Scopes", scopes.Scopes.__init__))
    monkeypatch.setattr(stored_shapes.Shapes, "__init__", counting("Shapes", stored_shapes.Shapes.__init__))
    return counts


@pytest.mark.parametrize("call", [inspect, promote, legalize, trt_legacy, freeze, check, compare])
def test_ten_times_the_sites_do_not_mean_more_passes_over_the_model(call, passes):
    taken = {}
    for count in (5, 50):
        document = Document.from_proto(branches(count))
        passes.update(dict.fromkeys(passes, 0))
        call(document)
        taken[count] = dict(passes)
    assert taken[5] == taken[50]
    assert 0 < taken[50]["Scopes"] < 24


def test_inspecting_takes_one_look_at_the_model(passes):
    document = Document.from_proto(branches(4))
    passes.update(dict.fromkeys(passes, 0))
    inspect(document)
    assert (passes["Scopes"], passes["Shapes"]) == (1, 1)


def test_faults_are_looked_for_once(monkeypatch):
    looked = []
    monkeypatch.setattr(table, "faults_of", lambda node: looked.append(node.label) or [])
    survey = Survey(Document.from_proto(branches(4)))
    assert next_step("model.onnx", survey) is not None
    assert looked == ["up0", "up1", "up2", "up3"]


def test_a_chain_is_not_followed_to_know_a_type_that_no_fault_can_be_in(monkeypatch):
    """No type is stored that could be stale, and no Cast could be half of a pair."""
    followed = []
    maker = resize_node.NodeSurroundings._maker
    monkeypatch.setattr(
        resize_node.NodeSurroundings, "_maker", lambda *found: followed.append(found[1].name) or maker(*found)
    )
    steps = " ".join(f"x{i + 1} = Relu (x{i})" for i in range(100))
    model = onnx_text.model(f"""(float[] x0) => (float[] out) <float[4] s = {{1, 1, 2, 2}}>
        {{ {steps} y = Resize <{HALF_PIXEL}> (x100, , s) out = Relu (y) }}""")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    assert not any(table.faults_in(ModelView(Document.from_proto(model))))
    assert followed == ["s"]
