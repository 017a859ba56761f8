"""Which sites are coupled: what sizes say is what a run says, and a promotion refuses those sites and no others."""

import sys

import numpy as np
import onnx
import ort_runs
import pytest
from fixture_models import FIXTURES
from onnx_text import model

import resizefix
from resizefix.outcome import Status
from resizefix.promotion import Form, Freedom

sys.path.append(str(FIXTURES.parent))

from benchmarks.coupling import answers

RUN = sorted([*FIXTURES.glob("*.onnx"), *(FIXTURES / "handmade").glob("*.onnx")])[::5]
COUPLED_ONES = ("coupled_add", "coupled_reshape", "two_sites_together")
RUN += [FIXTURES / "handmade" / f"{name}.onnx" for name in COUPLED_ONES]

HEAD = "(float[1,2,4,6] x, float[1,2,8,12] skip) => (float[] y)"
UP = "<float[4] s = {1, 1, 2, 2}, float[2,2] w = {1, 2, 3, 4}, int64[2] flat = {1, 192}, int64[4] fixed = {1, 2, 8, 12}"
CONSTANTS = ", float[12,1] long = {1,1,1,1,1,1,1,1,1,1,1,1}, float[192,1] weight = {" + ",".join("1" * 192) + "}"


def sites(nodes, constants=""):
    return resizefix.inspect(model(f"{HEAD} {UP}{constants}> {{ [up] a = Resize (x, , s) {nodes} }}", 18))


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


@pytest.mark.parametrize(("nodes", "partner"), COUPLED.values(), ids=COUPLED)
def test_another_scale_that_breaks_the_model_is_coupled_at_the_node_and_names_what_it_meets(nodes, partner):
    (site,) = sites(nodes, CONSTANTS)
    assert (site.coupling.verdict, site.coupling.breaks_at) == (Freedom.COUPLED, "here")
    assert repr(site).endswith("coupled>")
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
    ("fixed", "verdict"), [("32, 48", Freedom.COUPLED), ("64, 96", Freedom.FREE)], ids=["would shrink", "grows still"]
)
def test_an_upsample_to_fixed_sizes_that_would_have_to_shrink_couples_what_is_before_it(fixed, verdict, tmp_path):
    """Of an input that the file leaves open, sizes of 32 and 48 are assumed first."""
    text = f"""(float[h,w] x) => (float[] y)
      <float[2] same = {{1, 1}}, float[2] fixed = {{{fixed}}}, float[u,v] a> {{ [up] a = Upsample (x, same)
        m = Shape (a) g = Cast <to: int = 1> (m) q = Div (fixed, g) [here] y = Upsample (a, q) }}"""
    onnx.save(model(text, 9, ir=4), tmp_path / "m.onnx")
    before = next(site for site in resizefix.inspect(str(tmp_path / "m.onnx")) if site.node.name == "up")
    breaks_at = "here" if verdict is Freedom.COUPLED else None
    assert (before.coupling.verdict, before.coupling.breaks_at) == (verdict, breaks_at)
    assert not [answer for answer in answers(tmp_path / "m.onnx") if answer.contradicts]


def test_two_sites_that_meet_are_coupled_alone_and_free_through_one_input():
    found = [site.coupling for site in sites("[other] b = Resize (x, , s) [here] y = Add (a, b)")]
    assert [(one.verdict, one.breaks_at, one.shared) for one in found] == [(Freedom.COUPLED, "here", True)] * 2
    assert [one.partner for one in found] == ["b", "a"]


@pytest.mark.parametrize("verify", [True, False])
def test_one_that_is_coupled_by_itself_does_not_hinder_others_from_sharing_an_input(verify):
    text = '[up] a = Resize (x, , s) b = Add (a, skip) [last] y = Resize <mode = "linear"> (b, , s)'
    made = resizefix.promote_scales(model(f"{HEAD} {UP}> {{ {text} }}", 18), shared=True, verify=verify)
    assert [one.status for one in made.outcomes] == [Status.REFUSED, Status.CHANGED]
    assert [site.label for source in made.inputs for site in source.sites] == ["last"]


TWO_GROUPS = {
    "sizes": (Form.SIZES, "[first] a = Resize (x, , s) b = Add (a, skip) [then] c = Resize (b, , s) d = Add (c, wide)"
              " [free] y = Resize (d, , s)"),
    "scales": (Form.SCALES, "a = Resize (x, , s) b = Add (a, skip) c = Resize (x, , t) d = Add (c, wide)"
               " y = Resize (d, , t) z = Add (b, b)"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "nodes"), TWO_GROUPS.values(), ids=TWO_GROUPS)
@pytest.mark.parametrize("verify", [True, False])
def test_what_may_share_the_next_input_is_asked_as_well(form, nodes, verify):
    """The first group has one value; once its coupled nodes are refused, nodes of another value share the input."""
    head = "(float[1,2,4,6] x, float[1,2,8,12] skip, float[1,2,16,24] wide) => (float[] y)"
    before = model(f"{head} {UP}, float[4] t = {{1, 1, 4, 4}}> {{ {nodes} }}", 18)
    made = resizefix.promote_scales(before, form=form, shared=True, verify=verify)
    (source,) = made.inputs
    assert [one.status for one in made.outcomes] == [Status.REFUSED, Status.REFUSED, Status.CHANGED]
    feeds = {value.name: np.zeros([d.dim_value for d in value.type.tensor_type.shape.dim], np.float32)
             for value in before.graph.input}  # fmt: skip
    moved = np.array([*source.value[:2], *(2 * one for one in source.value[2:])])
    ort_runs.run(made.model, {**feeds, source.name: moved.astype(np.int64 if form is Form.SIZES else np.float32)})


def test_a_model_of_open_sizes_is_followed_at_sizes_that_it_runs_with():
    text = """(float[N,3,H,W] x) => (float[] y) <float[4] s = {1, 1, 2, 2}>
        { a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) b = MaxPool <kernel_shape = [32, 32], strides =
          [32, 32]> (x) [up] c = Resize (a, , s) [here] y = Add (c, x) }"""
    (site,) = resizefix.inspect(model(text, 18))
    assert (site.coupling.verdict, site.coupling.breaks_at, site.coupling.partner) == (Freedom.COUPLED, "here", "x")


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_sizes_never_contradict_a_run(path):
    try:
        found = list(answers(path))
    except resizefix.ResizefixError:  # onnxruntime does not run the model
        return
    assert [answer for answer in found if answer.contradicts] == []


INSIDE = """(float[1,2,4,6] x, float[1,2,8,12] skip, bool c) => (float[] y) { i = If (c) <
  then_branch = t () => (float[] a) { s = Constant <value = float[4] {1, 1, 2, 2}> () [up] a = Resize (x, , s) },
  else_branch = e () => (float[] b) { b = Identity (skip) }> [here] y = NODE }"""


@pytest.mark.parametrize(("node", "verdict"), [("Relu (i)", Freedom.FREE), ("Add (i, skip)", Freedom.UNKNOWN)])
def test_a_site_in_a_branch_is_followed_as_far_as_both_branches_say_the_same(node, verdict):
    (site,) = resizefix.inspect(model(INSIDE.replace("NODE", node), 18))
    assert site.coupling.verdict is verdict


GATED = """(float[1,3,H,W] x) => (float[a,b,c,d] y) <float t = {50}, float[4] s = {1, 1, 2, 2}> {
  [up] u = Resize (x, , s) [other] z = Resize (x, , s) m = ReduceMax <keepdims = 0> (x) g = Greater (m, t) y = If (g) <
  then_branch = th () => (float[a,b,c,d] o) { [here] o = Add (u, z) },
  else_branch = el () => (float[a,b,c,d] p) { p = Identity (x) }> }"""


def test_sites_that_meet_in_a_branch_which_the_feeds_never_take_are_not_called_free():
    verification = resizefix.promote_scales(model(GATED, 18)).verification
    assert [one.verdict for one in verification.coupling] == [Freedom.UNKNOWN, Freedom.UNKNOWN]
    assert any("up and other in If(y).then_branch" in str(one) for one in verification.not_tested)


NEVER = """(float[1,3,H,W] x) => (float[a,b,c,d] y) <float t = {LIMIT}, float[4] s = {1, 1, 2, 2}, int64[1] one = {1}> {
  m = ReduceMax <keepdims = 0> (x) g = Greater (m, t) [up] u = Resize <mode = "linear"> (x, , s) y = If (g) <
  then_branch = th () => (float[a,b,c,d] o) { i = NonZero (x) n = ReduceMax <keepdims = 0> (i) r = Reshape (n, one)
    k = Min (r, one) o = Expand (u, k) },
  else_branch = el () => (float[a,b,c,d] p) { p = Identity (x) }> }"""


@pytest.mark.parametrize(
    ("limit", "verdict"), [("50", Freedom.UNKNOWN), ("-50", Freedom.FREE)], ids=["never", "always"]
)
def test_of_a_branch_that_did_not_run_the_proof_says_so_and_does_not_call_the_site_free(limit, verdict):
    """What the branch makes depends on data, so that sizes do not tell."""
    verification = resizefix.promote_scales(model(NEVER.replace("LIMIT", limit), 18)).verification
    assert [one.verdict for one in verification.coupling] == [verdict]
    says = "another scale of up in If(y).then_branch: no run is known to have gone through this body"
    assert (says in map(str, verification.not_tested)) == (verdict is Freedom.UNKNOWN)


LOOP = """(float[1,3,8,8] x) => (float[1,3,8,8] y) <int64 n = {TURNS}, bool go = {1}, float[4] s = {1, 1, 2, 2}> {
  [up] u = Resize (x, , s) y = Loop (n, go, x) < body = b (int64 i, bool c, float[1,3,8,8] v) =>
  (bool d, float[1,3,8,8] o) { d = Identity (c) m = ReduceMax (u) o = Mul (v, m) }> }"""


@pytest.mark.parametrize(("turns", "verdict"), [("0", Freedom.UNKNOWN), ("2", Freedom.FREE)])
def test_a_loop_of_no_turns_leaves_it_open_whether_a_site_that_its_body_reads_is_free(turns, verdict):
    verification = resizefix.promote_scales(model(LOOP.replace("TURNS", turns), 17)).verification
    assert [one.verdict for one in verification.coupling] == [verdict]
    assert bool(verification.not_tested) == (verdict is Freedom.UNKNOWN)


CALLED = """(float[1,2,4,6] x, float[1,2,8,12] skip) => (float[] y) { i = local.Up (x) [here] y = NODE }
<domain: "local", opset_import: ["" : 18]> Up (v) => (w)
{ s = Constant <value = float[4] {1, 1, 2, 2}> () [up] u = Resize (v, , s) w = Relu (u) }"""


@pytest.mark.parametrize(("node", "breaks_at"), [("Relu (i)", None), ("Add (i, skip)", "here")])
def test_a_site_in_a_function_is_followed_through_its_call(node, breaks_at):
    (site,) = resizefix.inspect(model(CALLED.replace("NODE", node), 18, "local"))
    assert (site.coupling.verdict is Freedom.FREE, site.coupling.breaks_at) == (breaks_at is None, breaks_at)


def test_a_node_without_a_name_is_called_by_its_place_in_the_users_file():
    """The promoted model, which is run, has no Constant node any more, and so other places."""
    nodes = "s = Constant <value = float[4] {1, 1, 2, 2}> () a = Resize (x, , s) y = Add (a, skip)"
    (outcome,) = resizefix.promote_scales(model(f"{HEAD} {{ {nodes} }}", 18), on_refusal="return").outcomes
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
    made = model(f"{HEAD} {UP}> {{ [up] a = Resize (x, , s) b = MaxPool (a) y = Relu (b) }}", 18)
    strides = onnx.AttributeProto(name="strides", type=onnx.AttributeProto.INTS)
    made.graph.node[1].attribute.extend([onnx.helper.make_attribute("kernel_shape", [2, 2]), strides])
    (site,) = resizefix.inspect(made)
    assert site.coupling.verdict is Freedom.FREE


# ---- what a promotion refuses ----

CHANGED, REFUSED = Status.CHANGED, Status.REFUSED
# By what is to be seen: the model, and what becomes of its nodes.
OF_TWO = {
    "a node before fixed sizes is free, though these are coupled": (
        """(float[1,1,4,4] x) => (float[1,1,6,6] y)
        <float[4] s = {1, 1, 0.5, 0.5}, int64[4] k = {1, 1, 6, 6}, int64[4] shape = {1, 1, 6, 6}>
        { [first] a = Resize (x, , s) [second] b = Resize (a, , , k) y = Reshape (b, shape) }""", [CHANGED, REFUSED]),
    # The chain divides 4 by the size that comes: the Reshape binds `second` alone.
    "a chain that makes a fixed size absorbs what comes when its node is refused": (
        """(uint8[3] x) => (uint8[4] y) <float[1] s = {0.75}, float[1] four = {4}, int64[1] shape = {4}>
        { [first] a = Resize (x, , s) n = Shape (a) f = Cast <to = 1> (n) t = Div (four, f)
          [second] b = Resize (a, , t) y = Reshape (b, shape) }""", [CHANGED, REFUSED]),
    "of two nodes with fixed sizes in a row the last alone is coupled": (
        """(float[4,3] x, float[18,12] skip) => (float[18,12] y) <int64[2] k = {4, 6}, int64[2] m = {18, 12}>
        { [first] a = Resize (x, , , k) [second] b = Resize (a, , , m) y = Add (b, skip) }""", [CHANGED, REFUSED]),
    # `second` is refused for the last Add; then it no longer follows `first`, and the Add before it does not fit.
    "a node that moves apart from one that keeps its sizes is coupled too": (
        """(float[1,1,4,4] x, float[1,1,8,8] skip) => (float[] y, float[] z)
        <float[4] s = {1, 1, 2, 2}, int64[4] k = {1, 1, 8, 8}>
        { [first] a = Resize (x, , s) [second] b = Resize (a, , , k) z = Add (a, b)
          y = Add (b, skip) }""", [REFUSED, REFUSED]),
    # Half of 2 is 1, and so is three quarters: only a step by a whole sample shows that the Reshape does not fit.
    "a short axis that rounding keeps does not pass for free": (
        """(float[1,1,2,2] x) => (float[1] y) <float[4] s = {1, 1, 0.5, 0.5}, int64[1] shape = {1}>
        { [first] a = Resize (x, , s) y = Reshape (a, shape) }""", [REFUSED]),
}  # fmt: skip


@pytest.mark.parametrize("what", OF_TWO)
def test_a_site_whose_scale_breaks_the_model_is_refused_and_no_other(what):
    text, statuses = OF_TWO[what]
    result = resizefix.promote_scales(model(text, 18), on_refusal="return")
    assert [outcome.status for outcome in result.outcomes] == statuses
    assert all("breaks the model" in outcome.reason for outcome in result.outcomes if outcome.status is REFUSED)
    assert result.verification.passed == (CHANGED in statuses)
    verdicts = {CHANGED: "free", REFUSED: "coupled"}
    found = [(coupling.node, coupling.verdict.value) for coupling in result.verification.coupling]
    assert found == [(name, verdicts[one]) for name, one in zip(("first", "second"), statuses, strict=False)]


@pytest.mark.parametrize("name", ["unet_nearest_opset11", "unet_linear_dynamo23"])
def test_without_verification_what_sizes_show_to_be_coupled_is_refused_too(name):
    path = FIXTURES / f"{name}.onnx"
    unverified = resizefix.promote_scales(path, verify=False, on_refusal="return")
    verified = resizefix.promote_scales(path, on_refusal="return")
    said, proven = ([(one.status, one.reason) for one in result.outcomes] for result in (unverified, verified))
    assert said == proven
    assert resizefix.promote_scales(path, verify=False, allow_coupled=True).changed


def test_where_a_model_does_not_run_as_a_whole_what_sizes_show_to_be_coupled_is_refused():
    """The Sum of two element types keeps onnxruntime from loading it."""
    text = """(float[1,1,4,4] x, float16[1] h) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}>
        { [first] a = Resize (x, , s) [second] b = Resize (x, , s) [add] y = Add (a, b) [bad] z = Mul (y, h) }"""
    alone, together = (
        resizefix.promote_scales(model(text, 18), shared=shared, on_refusal="return") for shared in (False, True)
    )
    assert [outcome.status for outcome in alone.outcomes] == [REFUSED, REFUSED]
    assert all(outcome.retry_args == ("--shared",) for outcome in alone.outcomes)
    assert together.changed
    assert together.verification.passed


@pytest.mark.parametrize("x", ["float[1,2,4,6] x", "float[n,c,h,w] x", "float[n,c,4,6] x"])
@pytest.mark.parametrize("place", ["d.F (x)", 'Resize <mode = "linear"> (x, , , k)'])
def test_sizes_beside_axes_of_unknown_length_move_on_the_spatial_axes_alone(x, place):
    """Linear takes two axes at most: another batch or channel count would break the resize itself."""
    function = """<domain: "d", opset_import: ["" : 18]> F (a) => (b) {
        k = Constant <value = int64[4] {1, 2, 8, 12}> () b = Resize <mode = "linear"> (a, , , k) }"""
    held = "<int64[4] k = {1, 2, 8, 12}>" if "k" in place else ""
    text = f"({x}) => (float[h,i,j,l] y) {held} {{ y = {place} }} {function if 'd.F' in place else ''}"
    result = resizefix.promote_scales(model(text, 18, "d"), form="sizes", shape={"x": [1, 2, 4, 6]})
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED]
    assert len({tuple(run.values[result.inputs[0].name]) for run in result.verification.runs}) > 1


def test_sizes_are_followed_through_nodes_that_stand_in_no_order():
    text = """(float[1,1,8,8] x, float[1,1,16,16] z) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}>
        { y = Add (a, z) a = Upsample (x, s) }"""
    (site,) = resizefix.inspect(model(text, 9))
    assert (site.coupling.verdict, site.coupling.breaks_at) == (Freedom.COUPLED, "Add#0")


@pytest.mark.parametrize(
    "options", [{}, {"form": "spatial"}, {"form": "factor"}, {"form": "sizes"}, {"for_": "tensorrt"}]
)
def test_coupled_ones_that_move_together_are_proven_together(options):
    path = FIXTURES / "handmade" / "two_sites_together.onnx"
    result = resizefix.promote_scales(path, allow_coupled=True, **options)
    moved = [run.values for run in result.verification.runs if not run.optimized]
    assert any(all(run[source.name] != tuple(source.value) for source in result.inputs) for run in moved)
    assert "old value alone" not in (result.verification.reason or "")
