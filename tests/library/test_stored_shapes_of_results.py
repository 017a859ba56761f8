"""What a promotion keeps of stored shapes: the law of benchmarks/stored_sizes.py over fixtures and chains of sizes."""

import sys
from pathlib import Path

import onnx
import onnx_text
import pytest
from exhaustive import EXHAUSTIVE
from hypothesis import given, settings
from hypothesis import strategies as st

import resizefix

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.stored_sizes import audit, broken, loads, mark  # noqa: E402

EVERY = sorted(path for path in (ROOT / "fixtures").rglob("*.onnx") if "hostile" not in path.parts)
FILES = EVERY if EXHAUSTIVE else EVERY[::3]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_true_of_a_stored_shape_at_every_scale_stays(path, monkeypatch):
    monkeypatch.chdir(path.parent)  # where external data lie
    try:
        onnx.checker.check_model(str(path))
    except Exception as error:  # a fixture that is broken on purpose
        pytest.skip(f"is no valid model: {str(error)[:60]}")
    assert not list(audit(path))


# Ways from the shape of `up` to its last two sizes; each name that they make has the stored length 2 or 4.
LAST_TWO = (
    "t = Slice (shape, from, to)",  # where `from` may be fed, onnxruntime does not know how many there are
    "i = Identity (from) t = Slice (shape, i, to)",
    "t = Gather (shape, both)",
    "a, t = Split (shape)",
    "a = Neg (shape) c = Slice (a, from, to) t = Neg (c)",
    "c = Slice (shape, from, to) t = Mul (c, two)",
    "c = Slice (shape, from, to) d = Cast <to: int = 1> (c) e = Floor (d) t = Cast <to: int = 7> (e)",
    "c = Slice (shape, from, to) t = Reshape (c, two)",
    "c = Slice (shape, from, to) t = Expand (c, two)",
)
FOLLOWERS = (
    'size = Concat <axis: int = 0> (t1, t) y = Resize <mode: string = "linear"> (x, , , size)',
    "size = Concat <axis: int = 0> (t1, t) r = Relu (up) y = Resize (r, , , size)",
    "y = Resize <axes: ints = [2, 3]> (x, , , t)",
    "size = Concat <axis: int = 0> (t1, t) y = Reshape (up, size)",
    "size = Concat <axis: int = 0> (t1, t) one = ConstantOfShape (size) y = Add (one, up)",
)


def following(way, follower, fed):
    """A model whose sizes follow those of `up` in this way, the sizes in between stored."""
    listed = ", int64[1] from" if fed else ""
    text = f"""(float[1,3,8,4] x{listed}) => (float[?,?,?,?] y)
        <float[4] s = {{1, 1, 2, 2}}, int64[1] from = {{2}}, int64[1] to = {{4}}, int64[2] both = {{2, 3}},
         int64[2] t1 = {{1, 3}}, int64[1] two = {{2}}, float[1,3,16,8] up, int64[4] shape, int64[2] t, int64[4] size>
        {{ [up] up = Resize (x, , s) shape = Shape (up) {way.replace("Split (", "Split <num_outputs: int = 2> (")}
        {follower} }}"""
    model = onnx_text.model(text, 18)
    names = {name for node in model.graph.node for name in node.output}
    stored = [value for value in model.graph.value_info if value.name in names]
    del model.graph.value_info[:]
    model.graph.value_info.extend(stored)
    return model


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(LAST_TWO),
    st.sampled_from(FOLLOWERS),
    st.sampled_from(("scales", "spatial", "factor", "sizes")),
    st.booleans(),
)
def test_what_follows_the_promoted_sizes_loads_if_it_loaded_before(way, follower, form, fed):
    model = following(way, follower, fed)
    mark(model)
    assert loads(model)
    result = resizefix.promote_scales(model, node=["up"], form=form, verify=False)
    assert not list(broken(model, result.model, result.inputs))


def test_a_follower_of_the_promoted_sizes_is_compared_at_other_scales():
    verification = resizefix.promote_scales(following(LAST_TWO[0], FOLLOWERS[0], True), node=["up"]).verification
    assert verification.passed
    assert verification.reason is None


# Both branches make [8, 14] of the stored [4, 7], and only one of them follows its sizes.
ONE_BRANCH_FOLLOWS = """(float[4,3] x, bool c) => (float[8,14] y)
  <int64[2] size = {4, 7}, float[4,7] up> {
    [up] up = Resize (x, , , size)
    y = If (c) <
      then_branch: graph = fixed () => (float[?,?] a)
        { s = Constant <value_ints: ints = [8, 14]> () a = Resize (up, , , s) },
      else_branch: graph = twice () => (float[?,?] b)
        { t = Shape (up) two = Constant <value_ints: ints = [2, 2]> () r = Mul (t, two) b = Resize (up, , , r) }> }"""


def test_the_law_of_stored_shapes_runs_every_branch_and_moves_both_of_two_axes():
    model = onnx_text.model(ONE_BRANCH_FOLLOWS, 18)
    result = resizefix.promote_scales(model, node=["up"], verify=False)
    assert result.changed
    assert not list(broken(model, result.model, result.inputs))


def test_the_law_of_stored_shapes_notices_a_size_that_is_lost():
    text = "(float[1,3,8,4] x) => (float[1,3,16,8] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }"
    model = onnx_text.model(text, 18)
    result = resizefix.promote_scales(model, verify=False)
    assert not list(broken(model, result.model, result.inputs))
    result.model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "lost"
    assert list(broken(model, result.model, result.inputs)) == ["y: axis 1 is 3 at every scale, and no longer stored"]
