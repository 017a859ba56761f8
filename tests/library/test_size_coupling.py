"""What sizes say about a site is what a run says: free, or coupled at a node beside a partner."""

import sys
from pathlib import Path

import onnx.parser
import pytest

import resizefix
from resizefix.promotion import Freedom

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.coupling import answers  # noqa: E402

FIXTURES = ROOT / "fixtures"
RUN = sorted([*FIXTURES.glob("*.onnx"), *(FIXTURES / "handmade").glob("*.onnx")])[::5]
COUPLED_ONES = ("coupled_add", "coupled_reshape", "two_sites_together")
RUN += [FIXTURES / "handmade" / f"{name}.onnx" for name in COUPLED_ONES]

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g (float[1,2,4,6] x, float[1,2,8,12] skip) => (float[] y)'
UP = "<float[4] s = {1, 1, 2, 2}, float[2,2] w = {1, 2, 3, 4}, int64[2] flat = {1, 192}, int64[4] fixed = {1, 2, 8, 12}"


def sites(nodes, constants=""):
    text = f"{HEAD} {UP}{constants}> {{ [up] a = Resize (x, , s) {nodes} }}"
    return resizefix.inspect(onnx.parser.parse_model(text))


COUPLED = {
    "Add": ("[here] y = Add (a, skip)", "skip"),
    "Sub, the other way round": ("[here] y = Sub (skip, a)", "skip"),
    "Where": ("c = Greater (skip, skip) [here] y = Where (c, skip, a)", "c"),
    "Concat": ("[here] y = Concat <axis = 1> (a, skip)", "skip"),
    "Concat behind a chain": ("b = Relu (a) c = Sigmoid (b) [here] y = Concat <axis = 1> (skip, c)", "skip"),
    "Reshape to fixed sizes": ("[here] y = Reshape (a, flat)", "flat"),
    "Expand to fixed sizes": ("[here] y = Expand (a, fixed)", "fixed"),
    "MatMul": ("[here] y = MatMul (a, long)", "long"),
    "Gemm": ("b = Flatten (a) [here] y = Gemm (b, weight)", "weight"),
    "a size that Shape reads": ("n = Shape (a) [here] y = Expand (skip, n)", "skip"),
}
CONSTANTS = ", float[12,1] long = {1,1,1,1,1,1,1,1,1,1,1,1}, float[192,1] weight = {" + ",".join("1" * 192) + "}"


@pytest.mark.parametrize(("nodes", "partner"), COUPLED.values(), ids=COUPLED)
def test_another_scale_that_breaks_the_model_is_coupled_at_the_node_and_names_what_it_meets(nodes, partner):
    (site,) = sites(nodes, CONSTANTS)
    assert (site.coupling.verdict, site.coupling.breaks_at) == (Freedom.COUPLED, "here")
    assert site.coupling.partner == partner
    assert not site.coupling.shared


OTHERS = {
    "elementwise": ("b = Relu (a) y = Mul (b, b)", Freedom.FREE),
    "one number broadcast": ("b = ReduceMean (skip) y = Add (a, b)", Freedom.FREE),
    "pooled to one": (
        "b = GlobalAveragePool (a) c = GlobalAveragePool (skip) y = Concat <axis = 1> (b, c)", Freedom.FREE
    ),
    "a size that follows": ("n = Shape (a) y = Reshape (a, n)", Freedom.FREE),
    "resized to fixed sizes": ("b = Resize (a, , , fixed) y = Add (b, skip)", Freedom.FREE),
    "no reader": ("y = Relu (skip)", Freedom.FREE),
    "an operator that is not known": ("y = acme.Other (a)", Freedom.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "verdict"), OTHERS.values(), ids=OTHERS)
def test_a_scale_that_changes_no_partner_is_free_and_what_is_not_known_leaves_it_open(nodes, verdict):
    assert sites(nodes)[0].coupling.verdict is verdict


@pytest.mark.parametrize(
    ("fixed", "verdict"), [("3, 2", Freedom.COUPLED), ("12, 8", Freedom.FREE)], ids=["would shrink", "grows still"]
)
def test_an_upsample_to_fixed_sizes_that_would_have_to_shrink_couples_what_is_before_it(fixed, verdict, tmp_path):
    text = f"""<ir_version: 4, opset_import: ["" : 9]> g (float[3,2] x) => (float[] y)
      <float[2] same = {{3, 2}}, float[2] fixed = {{{fixed}}}, float[u,v] a> {{
        n = Shape (x) f = Cast <to: int = 1> (n) r = Div (same, f) [up] a = Upsample (x, r)
        m = Shape (a) g = Cast <to: int = 1> (m) q = Div (fixed, g) [here] y = Upsample (a, q) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    before = next(site for site in resizefix.inspect(str(tmp_path / "m.onnx")) if site.node.name == "up")
    breaks_at = "here" if verdict is Freedom.COUPLED else None
    assert (before.coupling.verdict, before.coupling.breaks_at) == (verdict, breaks_at)
    assert not [answer for answer in answers(tmp_path / "m.onnx") if answer.contradicts]


def test_two_sites_that_meet_are_coupled_alone_and_free_through_one_input():
    found = [site.coupling for site in sites("[other] b = Resize (x, , s) [here] y = Add (a, b)")]
    assert [(one.verdict, one.breaks_at, one.shared) for one in found] == [(Freedom.COUPLED, "here", True)] * 2
    assert [one.partner for one in found] == ["b", "a"]


def test_a_model_of_open_sizes_is_followed_at_sizes_that_it_runs_with():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]> g (float[N,3,H,W] x) => (float[] y)
        <float[4] s = {1, 1, 2, 2}>
        { a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) b = MaxPool <kernel_shape = [32, 32], strides =
          [32, 32]> (x) [up] c = Resize (a, , s) [here] y = Add (c, x) }""")
    (site,) = resizefix.inspect(model)
    assert (site.coupling.verdict, site.coupling.breaks_at, site.coupling.partner) == (Freedom.COUPLED, "here", "x")


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_sizes_never_contradict_a_run(path):
    try:
        found = list(answers(path))
    except resizefix.ResizefixError:  # onnxruntime does not run the model
        return
    assert [answer for answer in found if answer.contradicts] == []


INSIDE = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
g (float[1,2,4,6] x, float[1,2,8,12] skip, bool c) => (float[] y) { i = If (c) <then_branch = t () => (float[] a)
  { s = Constant <value = float[4] {1, 1, 2, 2}> () [up] a = Resize (x, , s) },
  else_branch = e () => (float[] b) { b = Identity (skip) }> [here] y = NODE }"""


@pytest.mark.parametrize(("node", "verdict"), [("Relu (i)", Freedom.FREE), ("Add (i, skip)", Freedom.UNKNOWN)])
def test_a_site_in_a_branch_is_followed_as_far_as_both_branches_say_the_same(node, verdict):
    (site,) = resizefix.inspect(onnx.parser.parse_model(INSIDE.replace("NODE", node)))
    assert site.coupling.verdict is verdict


CALLED = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
g (float[1,2,4,6] x, float[1,2,8,12] skip) => (float[] y) { i = local.Up (x) [here] y = NODE }
<domain: "local", opset_import: ["" : 18]> Up (v) => (w)
{ s = Constant <value = float[4] {1, 1, 2, 2}> () [up] u = Resize (v, , s) w = Relu (u) }"""


@pytest.mark.parametrize(("node", "breaks_at"), [("Relu (i)", None), ("Add (i, skip)", "here")])
def test_a_site_in_a_function_is_followed_through_its_call(node, breaks_at):
    (site,) = resizefix.inspect(onnx.parser.parse_model(CALLED.replace("NODE", node)))
    assert (site.coupling.verdict is Freedom.FREE, site.coupling.breaks_at) == (breaks_at is None, breaks_at)


def test_a_node_without_a_name_is_called_by_its_place_in_the_users_file():
    """The promoted model, which is run, has no Constant node any more, and so other places."""
    model = onnx.parser.parse_model(
        f"""{HEAD} {{ s = Constant <value = float[4] {{1, 1, 2, 2}}> () a = Resize (x, , s) y = Add (a, skip) }}"""
    )
    (outcome,) = resizefix.promote_scales(model).outcomes
    assert "breaks the model at 'Add#2', where its size must be that of 'skip'" in (outcome.reason or "")


BROKEN = {
    "an axis that is not there": "[here] y = Concat <axis = 7> (a, skip)",
    "an attribute of another type": '[here] y = Split <axis = "x"> (a)',
    "no input": "[here] y = Relu ()",
    "a list of sizes that is none": "[here] y = Reshape (a, skip)",
}


@pytest.mark.parametrize("nodes", BROKEN.values(), ids=BROKEN)
def test_what_stands_behind_a_site_need_not_be_valid(nodes):
    (site,) = sites(f"{nodes} [end] z = Add (y, skip)")
    assert site.coupling.verdict is not Freedom.COUPLED


def test_a_window_without_strides_in_its_list_moves_by_one_as_torch_1_4_writes_it():
    model = onnx.parser.parse_model(f"{HEAD} {UP}> {{ [up] a = Resize (x, , s) b = MaxPool (a) y = Relu (b) }}")
    strides = onnx.AttributeProto(name="strides", type=onnx.AttributeProto.INTS)
    model.graph.node[1].attribute.extend([onnx.helper.make_attribute("kernel_shape", [2, 2]), strides])
    (site,) = resizefix.inspect(model)
    assert site.coupling.verdict is Freedom.FREE
