"""Sizes that are the size of what another resize makes go on following it, where fixed shapes make them numbers too."""

import numpy as np
import onnx
import pytest
from onnx_text import model
from ort_runs import run

import resizefix

X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
HEAD = "(float[1,3,8,8] x, float[1,3,8,8] z) => (float[a,b,c,d] up, float[e,f,g,h] other)"
NODES = {
    "its size": "t = Shape (up) [B] other = Resize (z, , , t)",
    "its size, rearranged": """t = Shape (up) h = Gather (t, two) w = Gather (t, three) n = Slice (t, zero, two)
        hw = Concat <axis = 0> (n, w, h) [B] other = Resize (z, , , hw)""",
    "the size of what is made of it": "r = Relu (up) t = Shape (r) [B] other = Resize (z, , , t)",
    "in a body": """[If] other = If (yes) <then_branch = p () => (float[1,3,i,j] u) {
        t = Shape (up) [B] u = Resize (z, , , t) }, else_branch = q () => (float[1,3,i,j] v) { v = Neg (up) }>""",
}
CONSTANTS = "int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3}, bool yes = {1}"


def made(nodes: str, scales: str = "1, 1, 2, 2") -> onnx.ModelProto:
    text = f"{HEAD} <float[4] s = {{{scales}}}, {CONSTANTS}> {{ [A] up = Resize (x, , s) {nodes} }}"
    return model(text, 13)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("form", ["scales", "sizes", "factor"])
@pytest.mark.parametrize("name", NODES)
def test_a_size_that_follows_a_promoted_resize_follows_its_input(name, form, verify):
    result = resizefix.promote_scales(made(NODES[name]), form=form, verify=verify)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "refused"]
    assert result.outcomes[1].reason.startswith("its sizes follow ")
    (source,) = result.inputs
    fed = {"scales": [1, 1, 3, 3], "sizes": [1, 3, 24, 24], "factor": [3]}[form]
    feeds = {"x": X, "z": X}
    expected = run(made(NODES[name], "1, 1, 3, 3"), feeds)
    found = run(result.model, {**feeds, source.name: np.array(fed, np.int64 if form == "sizes" else np.float32)})
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


@pytest.mark.parametrize("options", [{"node": ["B"]}, {"shared": True}])
def test_it_gets_an_input_where_the_other_has_none_of_its_own(options):
    result = resizefix.promote_scales(made(NODES["its size"]), **options)
    assert result.outcomes[-1].status.value == "changed"
    assert len(result.inputs) == 1


def test_a_resize_by_a_multiple_of_its_own_input_is_promoted_beside_the_one_that_makes_it():
    nodes = "t = Shape (up) k = Mul (t, twice) [B] other = Resize (up, , , k)"
    text = made(nodes)
    text.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 2, 2]), "twice"))
    result = resizefix.promote_scales(text)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "changed"]
