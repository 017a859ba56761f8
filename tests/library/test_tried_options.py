"""Options that a refusal proposes are tried together with those of the call before they are proposed."""

import pytest
from onnx_text import model

import resizefix
from resizefix.document.document import Document
from resizefix.library import advice
from resizefix.library.plans import Plans
from resizefix.operations.sites import sites_in
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView

UPSAMPLE = 9, "(float[1,1,h,w] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }"
ROUNDING = (
    11,
    """(float[1,1,6,6] x) => (float[?,?,?,?] y) <float[0] r, float[4] s = {1, 1, 2.5, 2.5}> { y = Resize <
    coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "round_prefer_ceil"> (x, r, s) }""",
)
SKIP = (
    9,
    """(float[1,1,8,8] x, float[1,1,16,16] z) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}>
    { a = Upsample (x, s) y = Add (a, z) }""",
)
PAIR = (
    13,
    """(float[1,1,4,4] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}>
    { a = Resize (x, , s) b = Resize <mode = "linear"> (x, , s) y = Add (a, b) }""",
)


def refused(case, **options):
    """The first outcome, which is a refusal."""
    opset, text = case
    outcome = resizefix.promote_scales(model(text, opset), on_refusal="return", **options).outcomes[0]
    assert outcome.status is Status.REFUSED
    return outcome


@pytest.mark.parametrize(
    ("case", "options", "proposed"),
    [
        (UPSAMPLE, {"form": "sizes", "at": [[3]]}, ("--form", "factor")),
        (UPSAMPLE, {"form": "sizes", "input_name": "scales"}, ("--form", "factor")),
        (UPSAMPLE, {"form": "sizes", "for_": "tensorrt"}, ("--form", "factor")),
        (SKIP, {"form": "sizes"}, ("--form", "factor", "--allow-coupled")),
        (SKIP, {"form": "sizes", "allow_coupled": True}, ("--form", "factor")),
        (SKIP, {"form": "sizes", "verify": False}, ("--form", "factor", "--allow-coupled")),
        (SKIP, {"form": "sizes", "verify": False, "shared": True}, ("--form", "factor", "--allow-coupled")),
        (SKIP, {"form": "sizes", "verify": False, "allow_coupled": True}, ("--form", "factor")),
        (UPSAMPLE, {"form": "sizes", "verify": False}, ("--form", "factor")),
        (PAIR, {"form": "factor", "at": [[3]]}, ("--shared",)),
    ],
)
def test_options_that_help_are_proposed(case, options, proposed):
    assert refused(case, **options).retry_args == proposed


@pytest.mark.parametrize(
    ("case", "options"),
    [
        (UPSAMPLE, {"form": "sizes", "at": [[2, 3]]}),  # one factor takes one number
        (UPSAMPLE, {"form": "sizes", "input_name": "x"}),  # the name is taken
        (PAIR, {"form": "factor", "at": [[2, 3]]}),
        (ROUNDING, {"for_": "tensorrt", "denominator": 3}),  # over 2 TensorRT refuses its rounding
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_options_that_leave_the_node_refused_are_not_proposed(case, options, verify):
    assert refused(case, **{"verify": verify} | options).retry_args == ()


# onnxruntime has no linear of doubles: nothing of these is verified.
DOUBLES = {
    opset: (opset, f"(double[1,1,h,w] x) => (double[?,?,?,?] y) <{held}> {{ y = {node} }}")
    for opset, held, node in (
        (9, "float[4] s = {1, 1, 2, 3}", 'Upsample <mode = "linear"> (x, s)'),
        (16, "float[4] s = {1, 1, 2, 3}", 'Resize <mode = "linear"> (x, , s)'),
    )
}
DOUBLES["a pair"] = (PAIR[0], PAIR[1].replace("float[1,1,4,4] x", "double[1,1,4,4] x").replace("float[?", "double[?"))
UNRUN = [
    (lambda made: resizefix.promote_scales(made, form="factor", on_refusal="return"), 16),
    (lambda made: resizefix.promote_scales(made, form="sizes", on_refusal="return"), 9),
    (lambda made: resizefix.promote_scales(made, on_refusal="return"), "a pair"),
    (lambda made: resizefix.set_interpolation(made, antialias=True, on_refusal="return"), 16),
    (lambda made: resizefix.set_interpolation(made, form="axes", on_refusal="return"), 16),
    (lambda made: resizefix.legalize(made, target="migraphx", on_refusal="return"), 9),
]


@pytest.mark.parametrize(("call", "opset"), UNRUN)
def test_nothing_is_proposed_that_cannot_be_verified(call, opset):
    number, text = DOUBLES[opset]
    for outcome in call(model(text, number)).outcomes:
        assert (outcome.status, outcome.retry_args) == (Status.REFUSED, ())


@pytest.mark.parametrize(
    ("form", "held"), [("factor", "int64[5] s = {1, 1, 8, 8, 1}"), ("sizes", "float[2] s = {2, 2}")]
)
def test_nothing_is_proposed_for_a_wrong_count_in_a_function(form, held):
    """Neither rules nor sizes know the rank there; it is counted in what the calls give."""
    kind, numbers = held.split(" s = ")
    node = f"s = Constant <value = {kind} {numbers}> () y = Resize (x, , {', s' if 'int' in kind else 's'})"
    text = f"""(float[1,1,h,w] x) => (float[?,?,?,?] z) {{ z = my.Up (x) }}
        <domain: "my", opset_import: ["" : 13]> Up (x) => (y) {{ {node} }}"""
    made = model(text, 13, "my")
    (outcome,) = resizefix.promote_scales(made, form=form, on_refusal="return").outcomes
    assert (outcome.status, outcome.retry_args) == (Status.REFUSED, ())


def test_numbers_of_a_framework_are_not_proposed_where_another_node_does_not_run():
    text = """(float[1,1,4,4] x) => (float[?,?,?,?] y, float[?,?,?,?] z)
    <float[4] s = {1, 1, 2, 2}, int64[4] n = {1, 1, 3, 3}>
    { y = Resize <mode = "linear"> (x, s) z = Expand (x, n) }"""
    made = model(text, 10)
    made.producer_name, made.producer_version = "pytorch", "1.3"
    with pytest.raises(resizefix.RefusedError, match="Expand") as error:
        resizefix.repair(made)
    assert {one.fault for one in error.value.result.outcomes} == {"differs-from-pytorch"}
    assert {one.retry_args for one in error.value.result.outcomes} == {()}
    made.graph.node.pop()
    made.graph.output.pop()
    assert resizefix.repair(made).outcomes[0].retry_args == ("--prefer", "pytorch")


def test_another_size_is_not_proposed_to_a_model_that_takes_any(monkeypatch):
    monkeypatch.setattr(advice, "_by_partner", lambda *_: ())
    fixed = model(
        """(float[1,1,8,8] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> { a = MaxPool <kernel_shape = [2, 2],
        strides = [2, 2]> (x) b = Resize (a, , s) y = Add (b, x) }""",
        13,
    )
    assert resizefix.promote_scales(fixed, on_refusal="return").outcomes[0].instead[:1] == ("input-size",)
    of_any_size = resizefix.input_size(fixed, size="any").model
    assert resizefix.promote_scales(of_any_size, on_refusal="return").outcomes[0].instead == ()


def test_repair_is_not_proposed_where_onnxruntime_does_not_run_another_node():
    text = """(double[1,1,4,4] x) => (double[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}, float16[4] half = {1, 1, 2, 2}>
        { a = Resize (x, , half) y = Resize <mode = "linear"> (a, , s) }"""
    for found in (text, text.replace("double", "float")):
        view = ModelView(Document.from_proto(model(found, 13)))
        assert Plans(view, sites_in(view)).repairs == ("double" not in found)
