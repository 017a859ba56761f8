from __future__ import annotations

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from fixture_models import FIXTURES, SRCNN, srcnn_of_torch
from kinds_of_model import each_kind, proto_of
from ort_runs import opened, run

import resizefix
from resizefix.document.document import Document

LIBRARY = {
    "promote_scales": resizefix.promote_scales,
    "promote_scales with a default": lambda model: resizefix.promote_scales(model, keep_default=True),
    "freeze_scales": resizefix.freeze_scales,
    "legalize": lambda model: resizefix.legalize(model, target="tensorrt-5.1"),
    "trt_legacy": resizefix.trt_legacy,
    "inspect": resizefix.inspect,
    "check": lambda model: resizefix.check(model, target="tensorrt-5.1"),
    "verify": lambda model: resizefix.verify(model, model),
}


@each_kind
@pytest.mark.parametrize("call", LIBRARY.values(), ids=LIBRARY.keys())
def test_the_argument_is_never_changed(kind, call):
    model = kind.make(FIXTURES / "bisenet_x8_linear_opset9.onnx")
    before = kind.state(model)
    call(model)
    assert kind.state(model) == before


@each_kind
def test_the_same_kind_comes_back_and_runs_at_another_scale(kind):
    result = resizefix.promote_scales(kind.make(SRCNN), form="factor")
    assert type(result.model).__name__ == kind.back
    promoted = proto_of(result.model)
    image, wanted = srcnn_of_torch("4")
    names = [value.name for value in opened(promoted).get_inputs()]
    (enlarged,) = run(promoted, dict(zip(names, (image, np.array([4], np.float32)), strict=True)))
    np.testing.assert_allclose(enlarged, wanted, atol=1e-5)


@each_kind
@pytest.mark.parametrize("name", ["bisenet_x8_nearest_dynamo18", "unet_nearest_opset11", "handmade/shared_scales"])
def test_every_kind_gives_the_outcomes_of_the_file(kind, name):
    path = FIXTURES / f"{name}.onnx"
    of_file, of_kind = (resizefix.promote_scales(given, on_refusal="return") for given in (path, kind.make(path)))
    assert [(o.node, o.status, o.reason) for o in of_kind.outcomes] == [
        (o.node, o.status, o.reason) for o in of_file.outcomes
    ]
    assert of_kind.inputs == of_file.inputs
    assert of_kind.verification.status is of_file.verification.status
    assert of_kind.verification.coupling == of_file.verification.coupling


@each_kind
def test_a_model_in_which_nothing_changes_comes_back_equal(kind):
    model = kind.make(FIXTURES / "handmade" / "no_resize.onnx")
    result = resizefix.promote_scales(model, on_refusal="return")
    assert not result.changed
    assert proto_of(result.model) == proto_of(model)


def test_two_kinds_can_be_verified_against_each_other():
    assert resizefix.verify(SRCNN, gs.import_onnx(onnx.load(SRCNN))).passed
    other = onnx.load(SRCNN)
    other.graph.initializer[0].raw_data = bytes(len(other.graph.initializer[0].raw_data))
    assert not resizefix.verify(SRCNN, other).passed


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (b"\x08\x08", "a builtins.bytes is not a model"),
        (None, "a builtins.NoneType is not a model"),
        (onnx.load(SRCNN).graph, "GraphProto is not a model"),
        (np.zeros(3), "a numpy.ndarray is not a model"),
    ],
    ids=["bytes", "None", "GraphProto", "array"],
)
def test_what_is_no_model_is_said_with_what_is_one(model, said):
    with pytest.raises(resizefix.UsageError, match=said) as raised:
        resizefix.inspect(model)
    assert "Give a path, an onnx.ModelProto" in str(raised.value)


def test_a_model_proto_with_data_in_files_needs_the_folder():
    path = FIXTURES / "handmade" / "external_data.onnx"
    model = onnx.load(path, load_external_data=False)
    with pytest.raises(resizefix.UsageError, match=r"'weight'.*Document.from_proto"):
        resizefix.promote_scales(model)
    result = resizefix.promote_scales(Document.from_proto(model, path.parent))
    assert result.verification.passed
    assert result.verification.reason is None  # run as a whole, not around the node alone
    promoted = result.model.to_proto()
    assert promoted.graph.initializer[0] == model.graph.initializer[0]  # a reference still
    assert promoted.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL


def test_the_folder_it_is_called_in_is_not_taken_for_that_of_the_data(monkeypatch):
    path = FIXTURES / "handmade" / "external_data.onnx"
    monkeypatch.chdir(path.parent)
    with pytest.raises(resizefix.UsageError, match="folder is not known"):
        resizefix.promote_scales(onnx.load(path, load_external_data=False))


def test_a_model_proto_without_a_graph_is_refused():
    with pytest.raises(resizefix.UnreadableModelError, match="holds no graph"):
        resizefix.inspect(onnx.ModelProto())
