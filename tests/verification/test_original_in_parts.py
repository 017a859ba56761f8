"""The original with other scales is run as a whole only where its parts do not tell what it makes."""

from itertools import count

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnx_text
import pytest
from onnx import helper, numpy_helper

import resizefix
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import sites_in
from resizefix.runtimes import ort_session
from resizefix.verification import original_in_parts
from resizefix.verification.original_in_parts import part_behind, promoted_nodes

CHAIN = 20
FLOOR = 'mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"'


def chain(elem_type: str = "float") -> onnx.ModelProto:
    before = " ".join(f"x{i + 1} = Relu (x{i})" for i in range(CHAIN))
    return onnx_text.model(f"""
        ({elem_type}[1, 1, 4, 4] x0) => ({elem_type}[1, 1, 8, 8] y) <float[4] s = {{1, 1, 2, 2}}> {{
            {before}
            [up] u = Resize<{FLOOR}> (x{CHAIN}, , s)
            y = Neg (u)
        }}""")


@pytest.fixture
def opened(monkeypatch):
    """How many nodes each session has, and whether it is optimised."""
    found = []
    load = ort_session.Session._load

    def counted(session):
        level = str(session._options.graph_optimization_level)
        found.append((len(session._prepared.model.graph.node), "DISABLE" not in level))
        return load(session)

    monkeypatch.setattr(ort_session.Session, "_load", counted)
    return found


def test_without_optimisation_the_changed_nodes_alone_hold_the_other_scales(opened):
    result = resizefix.promote_scales(chain())
    assert [run.bitwise for run in result.verification.runs] == [True] * 6
    whole = [optimized for nodes, optimized in opened if nodes >= CHAIN]
    assert (whole.count(False), whole.count(True)) == (2, 2)
    assert sorted(opened)[:2] == [(2, False), (2, False)]  # the node and its constant, at two scales


def test_half_precision_is_compared_as_a_whole(opened):
    resizefix.promote_scales(chain("float16"))
    assert sum(nodes >= CHAIN and not optimized for nodes, optimized in opened) == 4


def promoted_of(model: onnx.ModelProto):
    before = ModelView(Document.from_proto(model))
    made = promote_scales(before.document, sites_in(before))
    return before.document, made.document, made.inputs


def test_nothing_but_the_promoted_nodes_may_differ():
    original, promoted, inputs = promoted_of(chain())
    assert promoted_nodes(original, promoted, inputs).made == ("u",)
    for change in (
        lambda graph: setattr(graph.node[0], "op_type", "Abs"),
        lambda graph: graph.node[-1].input.__setitem__(0, "x3"),
        lambda graph: graph.node.pop(3),
        lambda graph: setattr(graph.output[0], "name", "u"),
        lambda graph: graph.input.append(helper.make_tensor_value_info("x5", onnx.TensorProto.FLOAT, [])),
        lambda graph: graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "x5")),
    ):
        other = promoted.copy()
        change(other.proto.graph)
        assert promoted_nodes(original, other, inputs) is None


@pytest.fixture
def weighted(tmp_path, monkeypatch):
    """A file whose weights count as large; most of them stand before the resize."""
    monkeypatch.setattr(original_in_parts, "MAPPED_FROM", 1)
    monkeypatch.setattr(ort_session, "MAPPED_FROM", 1)
    generator = np.random.default_rng(0)
    model = onnx_text.model(f"""
        (float[1, 16, 8, 8] x) => (float[1, 16, 16, 16] y) <float[4] s = {{1, 1, 2, 2}}, float[1] h = {{0.5}}> {{
            a = Conv<pads = [1, 1, 1, 1]> (x, w0)
            b = Relu (a)
            c = Conv<pads = [1, 1, 1, 1]> (b, w1)
            k = Constant<value_float = 0.5> ()
            [up] u = Resize<{FLOOR}> (c, , s)
            m = Mul (u, k)
            n = Add (m, h)
            y = Conv (n, w2)
        }}""")
    for name, edge in (("w0", 3), ("w1", 3), ("w2", 1)):
        weight = generator.standard_normal((16, 16, edge, edge)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    path = tmp_path / "weighted.onnx"
    onnx.save(model, path)
    return path


def test_what_stands_before_the_changed_nodes_runs_once_for_all_scales(weighted, opened):
    result = resizefix.promote_scales(weighted)
    assert [run.bitwise for run in result.verification.runs] == [True] * 6
    whole = [optimized for nodes, optimized in opened if nodes >= 8]
    assert (whole.count(False), whole.count(True)) == (2, 2)
    assert result.verification.sessions == len(opened) == 7


def test_where_optimising_moves_bits_the_original_runs_optimised_at_every_scale(weighted, opened, monkeypatch):
    """What stands before the changed nodes still runs once."""
    monkeypatch.setattr(original_in_parts, "_digest", moved_bits())
    result = resizefix.promote_scales(weighted)
    assert [run.bitwise for run in result.verification.runs] == [True] * 6
    whole = [optimized for nodes, optimized in opened if nodes >= 8]
    assert (whole.count(False), whole.count(True)) == (2, 2)
    assert result.verification.sessions == len(opened) == 9


def moved_bits():
    """A digest that is another one whenever it is asked for."""
    digests = count()
    return lambda outputs: str(next(digests)).encode()


def test_a_digest_tells_types_shapes_and_bits_apart():
    digest = original_in_parts._digest
    values = np.array([0.0, 1.0], np.float32), np.array([-0.0, 1.0], np.float32), np.array([[0.0, 1.0]], np.float32)
    values = *values, np.zeros((), np.float32), np.array([0, 0x3F800000], np.int32), np.zeros(2, ml_dtypes.bfloat16)
    assert len({digest({"y": value}) for value in values}) == len(values)
    assert digest({"y": values[0]}) == digest({"y": values[0].copy()}) != digest({"z": values[0]})
    assert digest({"y": None}) is digest({"y": [values[0]]}) is digest({"y": np.array(["a"], object)}) is None


@pytest.mark.parametrize("large", [False, True])
def test_a_node_that_differs_at_other_scales_alone_fails(large, weighted, monkeypatch):
    """At two the rounding of a position makes no difference; at three it does."""

    def tampered(document, *rest, **options):
        made = promote_scales(document, *rest, **options)
        node = next(node for node in made.document.proto.graph.node if node.op_type == "Resize")
        next(entry for entry in node.attribute if entry.name == "nearest_mode").s = b"round_prefer_floor"
        return made

    monkeypatch.setattr("resizefix.library.promote_scales.promote", tampered)
    with pytest.raises(
        resizefix.VerificationFailedError, match=r"\[1.0, 1.0, 3.0, 3.0\].* differs from the original with these"
    ):
        resizefix.promote_scales(weighted if large else chain())


def test_a_part_is_only_taken_where_it_is_smaller(weighted):
    from resizefix.runtimes.prepared_model import prepare_for_ort

    prepared = prepare_for_ort(Document.open(weighted))
    assert part_behind(prepared, {"u"}).boundary == ("c",)
    assert part_behind(prepared, {"x"}) is None
    prepared.model.graph.output.add(name="b")
    assert part_behind(prepared, {"u"}) is None


def test_what_a_branch_gives_by_its_outer_name_is_read(weighted):
    """No node in the branch reads it."""
    from resizefix.runtimes.prepared_model import prepare_for_ort

    prepared = prepare_for_ort(Document.open(weighted))
    given = [helper.make_graph([], name, [], [onnx.ValueInfoProto(name="u")]) for name in ("then", "else")]
    prepared.model.graph.node.append(
        helper.make_node("If", ["flag"], ["z"], then_branch=given[0], else_branch=given[1])
    )
    part = part_behind(prepared, {"u"})
    assert len(prepared.model.graph.node) - 1 in part.nodes
