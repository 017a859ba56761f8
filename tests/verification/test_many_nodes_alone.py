"""Nodes of a model that onnxruntime does not run as a whole are compared in groups: few sessions, and each is seen."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import onnx
import pytest

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.document.document import Document
from resizefix.operations.promote_scales import Promotion, promote_scales
from resizefix.operations.sites import find_sites
from resizefix.promotion import PromotedInput
from resizefix.runtimes.limits import Limits
from resizefix.runtimes.ort_session import Session
from resizefix.verification import engine, proof
from resizefix.verification.conditions import Conditions
from resizefix.verification.proof import Prover
from resizefix.verification.verification import Verification, VerificationStatus

unwrapped_load = Session._load


def promoted(model: onnx.ModelProto) -> tuple[Document, Promotion]:
    document = Document.from_proto(model)
    return document, promote_scales(document, find_sites(document))


def verified(document: Document, made: Promotion, conditions: Conditions | None = None) -> Verification:
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


@pytest.mark.parametrize("wrong", [None, 40, 300, 520])
def test_two_groups_at_once_come_to_what_one_at_a_time_comes_to(wrong, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    document, made = promoted(independent_resizes(600))
    if wrong is not None:
        made.document.proto.graph.node[wrong].attribute.append(onnx.helper.make_attribute("nearest_mode", "ceil"))
    threads: list[set[str]] = []
    found = []
    for memory in (2**28, 2**40):
        threads.append(set())
        monkeypatch.setattr(Session, "_load", noting_thread(threads[-1]))
        found.append(verified(document, made, Conditions(limits=Limits(memory=memory))))
    assert [len(names) for names in threads] == [1, 3]  # the calling one opens the model as a whole
    assert found[0] == found[1]
    assert found[0].passed == (wrong is None)


def test_two_groups_at_once_are_told_of_by_the_thread_that_waits_for_them(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    told = []
    conditions = Conditions(tell=lambda *step: told.append((*step, threading.current_thread().name)))
    assert verified(*promoted(independent_resizes(600)), conditions).passed
    assert told == [(done, 3, "comparing nodes alone", threading.current_thread().name) for done in (1, 2, 3)]


def test_a_ctrl_c_waits_for_the_comparisons_under_way_alone(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    _, made = promoted(independent_resizes(512))
    compared = []

    def compare(_: Prover, __: object, inputs: Sequence[PromotedInput], ___: object) -> Verification:
        compared.append(inputs)
        time.sleep(0.002)
        is_second = inputs[0] in made.inputs[256:]
        is_skipped = is_second and len(inputs) > 1
        return Verification(VerificationStatus.SKIPPED if is_skipped else VerificationStatus.PASSED)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Prover, "_compared", compare)
    with pytest.raises(KeyboardInterrupt):
        verified(made.before.document, made, Conditions(tell=interrupt))
    assert len(compared) < 100  # of 512


def test_no_node_is_extracted_when_time_is_up(monkeypatch):
    _, made = promoted(independent_resizes(64))
    prover = Prover(made.before, Conditions())
    prover._conditions = Conditions(limits=Limits(seconds=1, ends=0))
    monkeypatch.delattr(proof.Extraction, "extract")
    assert "time was up" in (prover.prove(made.after, made.inputs, {}).reason or "")


def noting_thread(names: set[str]) -> Callable[[Session], Any]:
    """`Session._load` that notes which thread opens one."""
    load = unwrapped_load

    def noting(session: Session) -> Any:
        names.add(threading.current_thread().name)
        return load(session)

    return noting


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
