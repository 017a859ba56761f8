"""Tables of indices that follow open sizes, as dynamo computes them, are one resize at all sizes, or are refused."""

import numpy as np
import onnx
import pytest
from onnx_text import model
from ort_runs import opened

import resizefix
from resizefix.diagnostics import RefusedError
from resizefix.outcome import Status

PICK = """
    t = Transpose <perm = [2, 0, 1]> (x)
    n = Shape <start = 2> (x)
    w = Cast <to = 1> (n)
    size = {size}
    last = Cast <to = 1> (size)
    one = Squeeze (last)
    i = Range (zero, one, unit)
    at = Add (i, half)
    step = {step}
    p = Mul (at, step)
    k = Cast <to = 7> (p)
    {more}
    pairs = Unsqueeze (k, behind)
    g = GatherND (t, pairs)
    y = Transpose <perm = [1, 2, 0]> (g)
"""
HELD = (
    "<float zero = {0}, float unit = {1}, float half = {0.5}, float[1] inverse = {0.5}, float[1] two = {2},"
    " int64[1] behind = {-1}, int64[1] sixteen = {16}, int64[1] seven = {7}, float[1] scale = {1.8}>"
)
DOUBLED = {"size": "Mul (w, two)", "step": "Identity (inverse)"}


def picking(size: str, step: str, more: str = "") -> onnx.ModelProto:
    """x[1, 2, W] by a table of W, as dynamo writes nearest-exact where the width is open."""
    nodes = PICK.format(size=size, step=step, more=more)
    made = model(f"(float[1,2,W] x) => (float[1,2,V] y) {HELD} {{ {nodes} }}", 18)
    made.producer_name = "pytorch"
    return made


@pytest.mark.parametrize(
    ("size", "step", "extent"),
    [(*DOUBLED.values(), [1, 1, 2]), ("Identity (sixteen)", "Div (w, last)", [1, 2, 16])],
)
def test_a_table_that_follows_the_width_becomes_one_resize(size, step, extent):
    before = picking(size, step)
    result = resizefix.set_interpolation(before, form="resize")
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED]
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    (site,) = resizefix.inspect(result.model)
    assert list(site.extent.values) == extent
    for width in (2, 5, 9, 16, 23):
        x = np.random.default_rng(width).standard_normal((1, 2, width)).astype(np.float32)
        one, other = (opened(each).run(None, {"x": x})[0] for each in (before, result.model))
        assert np.array_equal(one, other)


def test_sizes_that_no_scale_gives_name_the_command_that_works():
    computed = picking("Floor (product) ", "Div (w, last)").SerializeToString()
    before = onnx.ModelProto.FromString(computed)
    place = next(index for index, node in enumerate(before.graph.node) if node.op_type == "Floor")
    before.graph.node.insert(place, onnx.helper.make_node("Mul", ["w", "scale"], ["product"]))
    with pytest.raises(RefusedError, match="resizefix input-size IN OUT 2x64"):
        resizefix.set_interpolation(before, form="resize")
    fixed = resizefix.input_size(before, size=(2, 64)).model
    assert resizefix.set_interpolation(fixed, form="resize").outcomes[0].status is Status.CHANGED


def other_at_seven():
    more = "same = Equal (n, seven) shift = Cast <to = 7> (same) moved = Sub (k, shift) k2 = Abs (moved)"
    before = picking(**DOUBLED, more=more)
    next(node for node in before.graph.node if node.op_type == "Unsqueeze").input[0] = "k2"
    return before


def test_a_table_that_is_another_at_one_length_is_refused_with_the_length():
    (outcome,) = resizefix.set_interpolation(other_at_seven(), form="resize", on_refusal="return").outcomes
    assert outcome.status is Status.REFUSED
    assert "at 7 its indices" in outcome.reason


@pytest.mark.parametrize("producer", ["pytorch", "keras"])
def test_inspect_says_where_a_table_is_another_and_that_pytorch_computes_the_resize(call, answered, tmp_path, producer):
    before, path = other_at_seven(), tmp_path / "other.onnx"
    before.producer_name = producer
    onnx.save(before, path)
    (place,) = answered("inspect", path)["written"]
    said = "at 7 its indices are other ones than those of the resize"
    assert place["other_indices"] == (f"{said}, which PyTorch computes" if producer == "pytorch" else said)
    assert place["other_indices"] in call("inspect", path)[1].replace("\n  ", " ")


def test_inspect_lists_a_resize_of_open_sizes(call, tmp_path):
    onnx.save(picking(**DOUBLED), tmp_path / "open.onnx")
    code, out, _ = call("inspect", str(tmp_path / "open.onnx"))
    assert code == 0
    assert "resize written as Transpose, GatherND" in out
