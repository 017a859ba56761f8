"""Nodes of a model that onnxruntime does not run as a whole are compared in groups: few sessions, and each is seen."""

import math

import onnx
import pytest

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.sites import find_sites
from resizefix.runtimes.limits import Limits
from resizefix.runtimes.ort_session import Session
from resizefix.verification import engine
from resizefix.verification.extraction import Extraction
from resizefix.verification.proof import Prover
from resizefix.verification.verification import Conditions, Verification

unwrapped_load = Session._load


def promoted(model: onnx.ModelProto) -> tuple[Document, Rewritten]:
    document = Document.from_proto(model)
    return document, promote_scales(document, find_sites(document))


def verified(document: Document, made: Rewritten, conditions: Conditions | None = None) -> Verification:
    return Prover(made.before, conditions or Conditions()).prove(made.after, made.inputs, {})


@pytest.fixture
def sessions(monkeypatch):
    opened = []
    original = engine.open_session
    monkeypatch.setattr(engine, "open_session", lambda *one, **more: opened.append(1) or original(*one, **more))
    return opened


def test_the_sessions_grow_with_the_groups_of_nodes_and_not_with_the_nodes(sessions):
    counts = {}
    for count in (32, 256, 512):
        sessions.clear()
        assert verified(*promoted(independent_resizes(count))).passed
        counts[count] = len(sessions)
    whole_models = 2  # that onnxruntime refuses: the original and the promoted one
    per_group = 2 * 3 + 1  # the original, the new model and the original with other scales, twice without optimisation
    assert counts == {count: whole_models + per_group * math.ceil(count / 256) for count in counts}


def test_nodes_that_make_much_are_compared_in_smaller_groups(sessions):
    """What all of a group make is held at once, for both models and several scales."""
    model = independent_resizes(6)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 1, 512, 512), strict=True):
        dim.dim_value = size  # 2²⁰ elements each, and 2²² together are allowed
    assert verified(*promoted(model)).passed
    assert len(sessions) == 2 + 7 * 2


def test_one_wrong_node_among_many_is_found_and_named():
    document, made = promoted(independent_resizes(64))
    wrong = made.document.proto.graph.node[40]
    wrong.attribute.append(onnx.helper.make_attribute("nearest_mode", "ceil"))
    result = verified(document, made)
    assert not result.passed
    assert "differs from the original" in (result.reason or "")
    assert {name for run in result.runs[-1:] for name in run.values} == {made.inputs[40].name}


def test_each_group_is_told_of():
    told = []
    assert verified(*promoted(independent_resizes(600)), Conditions(tell=lambda *step: told.append(step))).passed
    assert told == [(done, 3, "comparing nodes alone") for done in (1, 2, 3)]


def test_no_node_is_extracted_when_time_is_up(monkeypatch):
    _, made = promoted(independent_resizes(64))
    prover = Prover(made.before, Conditions())
    prover._conditions = Conditions(limits=Limits(seconds=1, ends=0))
    monkeypatch.delattr(Extraction, "extract")
    assert "time was up" in (prover.prove(made.after, made.inputs, {}).reason or "")


def test_nodes_that_follow_each_other_are_not_compared_in_one_model():
    """The larger result of one would be the input of the next."""
    model = independent_resizes(6)
    for index, node in enumerate(model.graph.node[1:]):
        node.input[0] = f"y{index}"
    document, made = promoted(model)
    result = verified(document, made)
    assert result.passed
    assert all(len(run.values) == 1 for run in result.runs)
    assert {name for run in result.runs for name in run.values} == {source.name for source in made.inputs}


def test_a_rewrite_of_many_nodes_is_compared_around_each():
    result = resizefix.legalize(independent_resizes(5), target="tensorrt-7.0")
    assert result.verification.passed
    assert len([outcome for outcome in result.outcomes if outcome.status.value == "changed"]) == 5
