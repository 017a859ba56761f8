"""What is recovered from chains as exporters write them, and that a run of the whole model agrees."""

import numpy as np
import pytest
from chain_models import both, document, only_site, recovered, sized
from hypothesis import given, settings
from hypothesis import strategies as st

from resizefix.interpolation import ExtentKind
from resizefix.origins.recover import Recovery
from resizefix.runtimes.ort_session import CannotRunError, open_session
from resizefix.shapes import expression

FLOORED = both("#f = Cast <to = 1> (#0) #m = Mul (#f, c) #r = Floor (#m) #1 = Cast <to = 7> (#r)")
DOUBLED = both("#1 = Mul (#0, two)")
FIXED = "h1 = Identity (hk) w1 = Identity (wk)"
HW = "int64 hk = {480}, int64 wk = {640}"


def recovery(*arguments, **others) -> Recovery:
    found = recovered(sized(*arguments, **others))
    assert isinstance(found, Recovery), found
    return found


def test_sizes_1_8_times_the_inputs_have_a_scale_but_no_constant_computes_the_same():
    found = recovery(FLOORED, extra="float c = {1.8}")
    assert found.scales == (1, 1, np.float32(1.8), np.float32(1.8))
    assert not found.right_under_every_rule
    assert found.says == (
        "height and width are floor(1.8 × the input's); as a constant, 1.8 makes 5 into 9 in onnxruntime's kernels and "
        "8 in shape inference, the chain makes it 9"
    )
    assert found.values is None
    assert "onnxruntime samples by 57/32" in found.reason


def test_the_input_by_another_name_is_the_input():
    # As an exporter writes 2 × the size of the picture, though what is resized comes out of a convolution.
    nodes = (
        "c = Conv <pads = [1, 1, 1, 1]> (x, W) "
        "s = Shape (x) sh = Slice (s, i2, i4, i0) sd = Mul (sh, two) "
        "v = Shape (c) nc = Slice (v, i0, i2, i0) k = Concat <axis = 0> (nc, sd) "
        "y = Resize (c, e, e, k)"
    )
    found = recovered(document(nodes, "float[n,3,h,w] x, float[4,3,3,3] W", "float[0] e = {}"))
    assert found.values == (1, 1, 2, 2)
    strided = recovered(document(nodes.replace("pads", "strides = [2, 2], pads"), "float[n,3,h,w] x, float[4,3,3,3] W",
                                 "float[0] e = {}"))  # fmt: skip
    assert strided.values is None
    assert strided.reason == "follow the size of 'x', so no constant can replace them"


def quotient(target: str) -> str:
    """Scales as TorchScript writes them at opset 9 and 10: the target divided by the size."""
    return (
        f"{target} s = Shape (x) ic = Slice (s, i2, i4, i0) ix = Cast <to = 1> (ic) "
        "h2 = Unsqueeze <axes = [0]> (h1) w2 = Unsqueeze <axes = [0]> (w1) hw = Concat <axis = 0> (h2, w2) "
        "t = Cast <to = 1> (hw) q = Div (t, ix) k = Concat <axis = 0> (ones, q) y = Resize <mode = \"nearest\"> (x, k)"
    )  # fmt: skip


def scaled(steps: str, inputs: str = "float[n,3,h,w] x", extra: str = "c"):
    nodes = "shape = Shape (x) h0 = Gather <axis = 0> (shape, two) w0 = Gather <axis = 0> (shape, three) "
    return document(nodes + quotient(steps), inputs, f"float[2] ones = {{1, 1}}, {extra}", opset=10)


SKIP = "s = Shape (z) h1 = Gather <axis = 0> (s, two) w1 = Gather <axis = 0> (s, three)"
ONE_8, ONE_7, ROBUST = np.float32(1.8), np.float32(1.7), np.nextafter(np.float32(1.8), np.float32(2))
CORNERS = 'mode = "linear", coordinate_transformation_mode = "align_corners"'
ROUNDED = "#f = Cast <to = 1> (#0) #m = Mul (#f, c) #r = {} (#m) #1 = Cast <to = 7> (#r)"
CUMULATED = "#u = Unsqueeze <axes = [0]> (#0) #d = Concat <axis = 0> (#u, #u) #s = CumSum (#d, z) #1 = Gather (#s, one)"
TWO_SIZES = """hu = Unsqueeze <axes = [0]> (h0) wu = Unsqueeze <axes = [0]> (w0) d = Concat <axis = 0> (hu, wu)
    s = CumSum (d, z) h1 = Gather <axis = 0> (s, one) w1 = Mul (w0, two)"""
LISTED = "s = Shape <start = -2> (x) k = Mul (s, f) y = Resize <axes = [-2, 3]> (x, , , k)"
NO_MULTIPLE = {"scales": None, "values": None}
RECOVERED = [
    (sized(DOUBLED), {"says": "height and width are 2 × the input's", "scales": (1, 1, 2, 2), "values": (1, 1, 2, 2),
                      "kind": ExtentKind.SCALES, "right_under_every_rule": True}),
    (sized(FLOORED, extra="float c = {1.8}", attributes=CORNERS),
     {"kind": ExtentKind.SCALES, "values": (1, 1, ROBUST, ROBUST)}),
    (sized(FLOORED, "float[1,3,32,32] x", "float c = {1.8}"),
     {"kind": ExtentKind.SIZES, "values": (1, 3, 57, 57), "scales": (1, 1, ONE_8, ONE_8)}),
    # only the batch moves
    (sized(FIXED, "float[n,3,32,40] x", HW),
     {"says": "height is 480, width is 640", "kind": ExtentKind.SCALES, "values": (1, 1, 15, 16)}),
    (sized(FIXED, extra=HW),
     {**NO_MULTIPLE, "reason": "make its height 480 at every size of its input, "
                               "as no constant scale does. Fix the sizes of the model's input first"}),
    *((sized(both(steps), extra="int64 one = {1}, float c = {1.5}"),
       {**NO_MULTIPLE, "says": f"height and width are {formula}",
        "reason": f"make its height {formula}, which is no constant multiple of the input's size"})
      for steps, formula in (("#m = Mul (#0, two) #1 = Add (#m, one)", "2 × the input's + 1"),
                             ("#m = Div (#0, two) #1 = Mul (#m, three)", "3 × floor(the input's / 2)"),
                             (ROUNDED.format("Ceil"), "ceil(1.5 × the input's)"),
                             (ROUNDED.format("Round"), "round(1.5 × the input's)"))),
    (sized("h1 = Mul (h0, two) w1 = Mul (h0, two)"),
     {"says": "height is 2 × the input's, width is 2 × the input's height", "scales": None}),
    (sized(SKIP, "float[n,3,h,w] x, float[n,8,u,v] z"),
     {"says": "height and width are the size of 'z'",
      "reason": "follow the size of 'z', so no constant can replace them"}),
    (sized(SKIP, "float[n,3,32,40] x, float[n,8,64,80] z"),
     {"says": "height is 64, width is 80", "values": (1, 1, 2, 2)}),
    (sized(both(CUMULATED), extra="int64 z = {0}, int64 one = {1}"),
     {"says": "height and width are 2 × the input's", "values": (1, 1, 2, 2)}),
    (sized(TWO_SIZES, extra="int64 z = {0}, int64 one = {1}"),
     {"says": "height is computed from the sizes of the input, width is 2 × the input's", "scales": None}),
    (sized(both("#1 = Mul (#0, z)"), extra="int64 z = {0}"), NO_MULTIPLE),
    (document(LISTED, extra="int64[2] f = {2, 3}", opset=18),
     {"says": "height is 2 × the input's, width is 3 × the input's", "values": (2, 3)}),
    # a quotient by the size
    (scaled(DOUBLED, extra="float c = {1}"), {"says": "height and width are 2 × the input's", "values": (1, 1, 2, 2)}),
    (scaled(FLOORED, extra="float c = {1.7}"), {"scales": (1, 1, ONE_7, ONE_7), "values": None}),
    (scaled(FIXED, extra=HW), {"says": "height is 480, width is 640", "scales": None}),
]  # fmt: skip


@pytest.mark.parametrize(("made", "expected"), RECOVERED, ids=[str(row) for row in range(len(RECOVERED))])
def test_what_is_recovered_of_a_chain(made, expected):
    kind = ExtentKind.SCALES if made.proto.opset_import[0].version == 10 else ExtentKind.SIZES
    found = recovered(made, kind=kind)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_quotient_that_loses_a_pixel_says_so():
    found = recovered(scaled(FLOORED, extra="float c = {1.7}"), kind=ExtentKind.SCALES)
    assert "1.7 makes 294 into 499, the chain makes it 498" in found.says


def test_a_walk_that_onnxruntime_contradicts_is_not_believed(monkeypatch):
    monkeypatch.setitem(expression.ELEMENTWISE, "Mul", expression.ELEMENTWISE["Add"])
    found = recovered(sized(DOUBLED))
    assert "onnxruntime computes" in found


def test_an_aspect_ratio_policy_makes_sizes_mean_something_else():
    found = recovered(document("s = Shape (x) k = Mul (s, f) y = Resize <keep_aspect_ratio_policy = \"not_larger\"> "
                               "(x, , , k)", extra="int64[4] f = {1, 1, 2, 3}", opset=18))  # fmt: skip
    assert "not_larger" in found


@pytest.mark.parametrize(
    ("width", "reason"),
    [
        ("w", "make its width the input's: at 32, onnxruntime samples by 32/32"),
        ("4", "make 1 into 1, and tf_crop_and_resize reads scales otherwise than sizes"),
    ],
)
def test_of_axes_that_no_scale_stands_for_an_open_one_is_named_before_those_of_fixed_size(width, reason):
    crop = 'coordinate_transformation_mode = "tf_crop_and_resize"'
    nodes = f"s = Shape (x) k = Mul (s, f) y = Resize <{crop}> (x, r, , k)"
    extra = "int64[4] f = {1, 1, 1, 1}, float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}"
    found = recovered(document(nodes, f"float[1,3,4,{width}] x", extra, opset=13))
    if width == "w":
        assert found.values is None
        assert found.reason.startswith(reason)
    else:  # as sizes they can be constants, and no scales stand for those
        assert found.values == (1, 3, 4, 4)
        assert all(statement.exact is None and statement.why for statement in found.statements)
        assert found.statements[0].why == reason


def test_a_site_shows_what_was_recovered():
    site = only_site(sized(DOUBLED))
    assert site.promotable
    assert site.origin.says == "height and width are 2 × the input's"
    assert (site.origin.recovered_scales, site.origin.right_under_every_rule) == ((1, 1, 2, 2), True)
    refused = only_site(sized(SKIP, "float[n,3,h,w] x, float[n,8,u,v] z"))
    assert refused.reason == "its sizes follow the size of 'z', so no constant can replace them"


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([1.0, 2.0, 3.0, 0.5, 1.5, 1.8, 0.7, 2.3, 1.3333333, 0.25]),
    st.sampled_from(["Floor", "Ceil", "Round"]),
    st.sampled_from([1, 11]),
    st.lists(st.integers(1, 90), min_size=6, max_size=6),
)
def test_recovered_scales_are_what_a_run_of_the_model_gives(scale, rounding, elem_type, lengths):
    steps = both(f"#f = Cast <to = {elem_type}> (#0) #m = Mul (#f, c) #r = {rounding} (#m) #1 = Cast <to = 7> (#r)")
    kind = "float" if elem_type == 1 else "double"
    model = sized(steps, extra=f"{kind} c = {{{scale}}}")
    found = recovered(model)
    assert isinstance(found, Recovery)
    session = open_session(model, optimized=False)
    pairs = []
    for height, width in zip(lengths[::2], lengths[1::2], strict=True):
        try:
            made = session.run({"x": np.zeros((1, 3, height, width), np.float32)})["y"].shape
        except CannotRunError:  # an output of nothing, which Resize refuses
            continue
        pairs += [(height, made[2]), (width, made[3])]
    if rounding == "Floor" or scale in (1, 2, 3):
        assert found.scales == (1, 1, np.float32(scale), np.float32(scale))
    elif scale in (1.5, 0.5, 0.25, 1.3333333):
        assert found.scales is None
    if found.scales is not None and found.right_under_every_rule:
        assert [int(np.float32(found.scales[2]) * np.float32(size)) for size, _ in pairs] == [out for _, out in pairs]


def test_what_neither_the_walk_nor_a_run_can_tell_is_said_in_a_sentence():
    assert isinstance(recovered(document("k = Op (x) y = Resize (x, e, e, k)", extra="float[0] e = {}")), str)
