import pytest
from report_models import FED, PLAIN, document

from resizefix.operations.diff import diff
from resizefix.reports.comparison import Fate, compare
from resizefix.reports.surroundings import Mark

TWICE = PLAIN.replace("[out] y = Neg (b)", '[up2] y = Resize <mode = "linear"> (b, , s)')


def compared(before, after):
    models = document(before), document(after)
    return compare(*models, diff(*models))


def marks(picture):
    return {box.name or box.title: box.mark for box in picture.boxes if box.mark}


NO_CONSTANT = ("<float[4] s = {1, 1, 2, 2}>", "")
FED_BY_NAME = PLAIN.replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] s)").replace(*NO_CONSTANT)
# What the model is after, what became of its resize, and what is marked before and after.
AFTER = {
    "the same": (PLAIN, Fate.SAME, {}, {}),
    "a new input in the place of a constant": (
        FED.replace(*NO_CONSTANT), Fate.CHANGED,
        {"s": Mark.REMOVED, "up": Mark.CHANGED}, {"t": Mark.NEW, "up": Mark.CHANGED}),
    "an initializer that became an input": (FED_BY_NAME, Fate.CHANGED, {"s": Mark.REMOVED}, {"s": Mark.NEW}),
    "another value": (
        PLAIN.replace("{1, 1, 2, 2}", "{1, 1, 3, 3}"), Fate.CHANGED, {"s": Mark.CHANGED}, {"s": Mark.CHANGED}),
    "other sizes": (PLAIN.replace("float[1,3,8,8] x", "float[1,3,16,16] x"), Fate.SIZED, {}, {}),
    "moved": (PLAIN.replace("[act] a = Relu (x)", "[extra] e = Abs (x)\n[act] a = Relu (x)"), Fate.SAME, {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", AFTER)
def test_what_became_of_a_resize_and_what_is_marked_around_it(case):
    after, fate, marked_before, marked_after = AFTER[case]
    (pair,) = compared(PLAIN, after).pairs
    assert pair.fate is fate
    assert (marks(pair.before.picture), marks(pair.after.picture)) == (marked_before, marked_after)
    assert pair.before.picture.is_marked == bool(marked_before)
    assert pair.is_touched == (fate is Fate.CHANGED)


def test_other_operators_in_a_sites_place_are_drawn():
    after = PLAIN.replace("[up] b = Resize", "[up] b = Transpose").replace(
        '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, , s)', "(a)"
    )
    (pair,) = compared(PLAIN, after).pairs
    assert (pair.fate, pair.after) == (Fate.REPLACED, None)
    assert marks(pair.before.picture)["up"] is Mark.REMOVED
    assert marks(pair.after_picture)["up"] is Mark.NEW


def test_a_site_whose_tensor_is_gone_and_one_that_is_new():
    pairs = compared(TWICE, TWICE.replace("[up2] y =", "[up2] z =").replace("?] y)", "?] z)")).pairs
    # `up` itself is as it was, but another node reads it now.
    assert [pair.fate for pair in pairs] == [Fate.CHANGED, Fate.REMOVED, Fate.NEW]
    assert pairs[1].after_picture is None
    assert pairs[2].before is None


def test_what_differs_comes_first():
    text = TWICE.replace("[up2] y = Resize", "c = Neg (b)\n[up2] y = Resize").replace('"linear"> (b', '"linear"> (c')
    after = text.replace('"linear">', '"linear", coordinate_transformation_mode = "asymmetric">')
    pairs = compared(text, after).pairs
    assert [(pair.fate, pair.before.site.label) for pair in pairs] == [(Fate.CHANGED, "up2"), (Fate.SAME, "up")]
