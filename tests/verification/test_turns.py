"""What a Loop hands on to its next turn: it grows with each, so a proof must not try larger scales there."""

import onnx_text
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.operations.sites import sites_in
from resizefix.runtimes.ort_session import Session
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.upstream import fed_back

NEAREST = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
CARRIED = f"u = Resize {NEAREST} (v, , s) w = Relu (u)"
THROUGH_ANOTHER = (
    f"a = Relu (v) u = Resize {NEAREST} (a, , s) w = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (u)"
)
FROM_OUTSIDE = f"u = Resize {NEAREST} (x, , s) m = ReduceMean <keepdims = 0> (u) w = Add (v, m)"
AFTER_THE_TURN = f"w = Relu (v) u = Resize {NEAREST} (w, , s)"


def looped(body: str):
    return onnx_text.model(f"""(float[1,1,8,8] x) => (float[?,?,?,?] y, float[?,?,?,?,?] all)
        <float[4] s = {{1, 1, 2, 2}}, int64 turns = {{3}}, bool yes = {{1}}> {{
        y, all = Loop (turns, yes, x) <body = turn (int64 i, bool c, float[?,?,?,?] v) =>
            (bool d, float[?,?,?,?] w, float[?,?,?,?] k) {{ d = Identity (c) {body} k = GlobalAveragePool (v) }}> }}""")


@pytest.mark.parametrize(
    ("body", "feeds_itself"),
    [(CARRIED, True), (THROUGH_ANOTHER, True), (AFTER_THE_TURN, False), (FROM_OUTSIDE, False)],
)
def test_what_a_loop_feeds_back(body, feeds_itself):
    model = looped(body)
    sites = sites_in(ModelView(Document.from_proto(model)))
    assert bool(fed_back(model, [site.key for site in sites])) is feeds_itself


def test_no_run_makes_what_is_carried_larger(monkeypatch):
    fed = []
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, feeds: (fed.append(feeds), run(self, feeds))[1])
    (source,) = resizefix.promote_scales(looped(THROUGH_ANOTHER)).inputs
    values = [feeds[source.name] for feeds in fed if source.name in feeds]
    assert len({tuple(value) for value in values}) > 1
    assert max(value[2] * value[3] for value in values) <= 4
