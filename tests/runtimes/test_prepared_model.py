"""The copy that onnxruntime opens."""

import onnx_text

from resizefix.document.document import Document
from resizefix.runtimes.prepared_model import prepare_for_ort


def document(graph: str, *domains: str) -> Document:
    return onnx_text.document(graph, 17, *domains)


def seeds(doc: Document) -> list[float]:
    nodes = prepare_for_ort(doc).model.graph.node
    return [attribute.f for node in nodes for attribute in node.attribute if attribute.name == "seed"]


def test_a_model_with_named_nodes_and_no_randomness_is_rendered_as_it_is():
    doc = document("(float[2] x) => (float[2] y) { y = Neg(x) }")
    doc.proto.graph.node[0].name = "n"
    prepared = prepare_for_ort(doc)
    assert prepared.model == doc.proto
    assert not prepared.random


def test_a_label_that_is_taken_is_not_given_a_second_time():
    doc = document("(float[2] x) => (float[2] y) { t = Neg(x) y = Neg(t) }")
    doc.proto.graph.node[0].name = "Neg#1"
    assert [node.name for node in prepare_for_ort(doc).model.graph.node] == ["Neg#1", ""]


def test_unnamed_nodes_in_bodies_get_a_label_too():
    doc = document(
        """(float[a] x, bool c) => (y) {
            y = If(c) <then_branch = t () => (float[p] u) { u = Neg(x) },
                       else_branch = e () => (float[q] v) { v = Identity(x) }>
        }"""
    )
    node = prepare_for_ort(doc).model.graph.node[0]
    assert node.name == "If#0"
    assert [attribute.g.node[0].name for attribute in node.attribute] == ["Neg#0", "Identity#0"]


def test_a_seed_hangs_on_the_name_of_the_tensor_and_not_on_its_place():
    alone = document("(float[2] x) => (r) { r = RandomNormalLike(x) }")
    behind = document("(float[2] x) => (r) { t = Neg(x) r = RandomNormalLike(t) }")
    other = document("(float[2] x) => (q) { q = RandomNormalLike(x) }")
    assert seeds(alone) == seeds(behind)
    assert seeds(alone) != seeds(other)


def test_a_seed_that_the_file_has_stays():
    doc = document("(float[2] x) => (r) { r = RandomNormalLike<seed = 7.0>(x) }")
    assert seeds(doc) == [7.0]
    assert prepare_for_ort(doc).random


def test_dropout_is_random_in_training_mode_alone():
    inference = document("(float[2] x) => (y) { y = Dropout(x) }")
    training = document("(float[2] x, float r, bool t) => (y) { y = Dropout(x, r, t) }")
    assert not prepare_for_ort(inference).random
    assert prepare_for_ort(training).random
    assert [attribute.name for attribute in prepare_for_ort(inference).model.graph.node[0].attribute] == []


def test_an_operator_of_another_domain_is_left_alone():
    doc = document("(float[2] x) => (y) { y = acme.RandomNormal(x) }", "acme")
    prepared = prepare_for_ort(doc)
    assert not prepared.random
    assert not prepared.model.graph.node[0].attribute
