from report_models import FED, PLAIN, document

from resizefix.operations.diff import diff
from resizefix.reports.comparison import Fate, compare
from resizefix.reports.neighbourhood import Mark

TWICE = PLAIN.replace("[out] y = Neg (b)", '[up2] y = Resize <mode = "linear"> (b, , s)')


def compared(before, after):
    models = document(before), document(after)
    return compare(*models, diff(*models))


def marks(picture):
    return {box.name or box.title: box.mark for box in picture.boxes if box.mark}


def test_a_model_compared_with_itself_has_nothing_marked():
    found = compared(TWICE, TWICE)
    assert [pair.fate for pair in found.pairs] == [Fate.SAME, Fate.SAME]
    assert not any(pair.before.picture.is_marked or pair.after.picture.is_marked for pair in found.pairs)


def test_a_new_input_is_marked_new_and_the_constant_it_replaces_removed():
    (pair,) = compared(PLAIN, FED.replace("<float[4] s = {1, 1, 2, 2}>", "")).pairs
    assert pair.fate is Fate.CHANGED
    assert marks(pair.before.picture) == {"s": Mark.REMOVED, "up": Mark.CHANGED}
    assert marks(pair.after.picture) == {"t": Mark.NEW, "up": Mark.CHANGED}


def test_an_initializer_that_became_an_input_is_new_under_its_old_name():
    after = PLAIN.replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] s)").replace(
        "<float[4] s = {1, 1, 2, 2}>", ""
    )
    (pair,) = compared(PLAIN, after).pairs
    assert marks(pair.after.picture) == {"s": Mark.NEW}
    assert pair.fate is Fate.CHANGED


def test_another_value_is_a_change():
    (pair,) = compared(PLAIN, PLAIN.replace("{1, 1, 2, 2}", "{1, 1, 3, 3}")).pairs
    assert marks(pair.after.picture) == {"s": Mark.CHANGED}
    assert pair.fate is Fate.CHANGED


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


def test_a_node_between_tensors_of_other_sizes_is_itself_not_changed():
    sized = PLAIN.replace("float[1,3,8,8] x", "float[1,3,16,16] x")
    (pair,) = compared(PLAIN, sized).pairs
    assert pair.fate is Fate.SIZED
    assert not pair.is_touched


def test_a_node_that_only_moved_is_the_same():
    moved = PLAIN.replace("[act] a = Relu (x)", "[extra] e = Abs (x)\n[act] a = Relu (x)")
    (pair,) = compared(PLAIN, moved).pairs
    assert pair.fate is Fate.SAME
