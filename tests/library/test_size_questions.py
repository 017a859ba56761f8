"""What the file leaves open is asked at once, every offered option works, and another export answers."""

import json
import subprocess
import sys

import numpy as np
import pytest
from onnx import save
from size_networks import NEW, OLD, assert_follows, built, called, run

import resizefix
from resizefix.diagnostics import RefusedError
from resizefix.input_sizes.scalar_use import EVERY_FORM


def two_roots(n, h, w):
    """Two numbers that are 1 / sqrt(w), and a ramp that is counted from the middle."""
    y = n.Mul(n.conv("x", 3, 2), n.floats(w**-0.5))
    y = n.Mul(n.Relu(y), n.floats(w**-0.5))
    return n.Add(y, n.floats((np.arange(w) - (w - 1) / 2).reshape(1, 1, 1, w)))


def mirrored(n, h, w):
    return n.Add(n.conv("x", 3, 2), n.floats(np.arange(w)[::-1].reshape(1, 1, 1, w)))


def pool_and_back(n, h, w):
    """A pool of 4 and the scale of 4 that undoes it."""
    y = n.conv("x", 3, 2)
    small = n.AveragePool(y, kernel_shape=[4, 4], strides=[4, 4])
    return n.Add(y, n.Resize(small, "", n.floats([1, 1, 4, 4]), mode="linear"))


def columns_masked(n, h, w):
    """Columns of a Range, fewer than their number: that is no mask, so the number is one of its own."""
    columns = n.Range(n.floats(0), n.floats(w), n.floats(1))
    return n.Where(n.Less(columns, n.floats(OLD[1])), n.conv("x", 3, 2), n.floats(0))


def plain_temperature(n, h, w):
    """Scores of rows, by sqrt(2 / height): a quarter at the old size."""
    y = n.conv("x", 3, 2)
    score = n.MatMul(n.Transpose(y, perm=[0, 1, 3, 2]), y)
    return n.Mul(score, n.floats(np.sqrt(2 / h)))


def share_of_a_cut_map(n, h, w):
    """Columns of a map without its margin, compared with a share of their number that the image decides."""
    y = n.Slice(n.conv("x", 3, 2), [1, 1], [h - 1, w - 1], [2, 3])
    share = n.Sigmoid(n.ReduceMean(y, axes=[1, 2, 3], keepdims=1))
    columns = n.floats(np.arange(w - 2).reshape(1, 1, 1, -1))
    return n.Mul(y, n.Cast(n.Greater(columns, n.Mul(share, n.floats(w - 2))), to=1))


def log_of_an_enlarged_map(n, h, w):
    """An entropy over the log of how many samples a shuffled map has."""
    y = n.Reshape(n.DepthToSpace(n.conv("x", 3, 4), blocksize=2), [1, 1, -1])
    y = n.Softmax(y, axis=2)
    total = n.ReduceSum(n.Mul(y, n.Log(n.Add(y, n.floats(1e-9)))), [2])
    return n.Div(total, n.floats(np.log(4 * h * w)))


def sides_behind_a_fixed_map(n, h, w):
    """Distances in pixels of the image, on a map of fixed size."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 20, 28], mode="linear")
    return n.Div(n.Transpose(y, perm=[0, 2, 3, 1]), n.floats([w, h]))


def pixels_of_a_fixed_map(n, h, w):
    """Positions on a map of fixed size, times as many pixels as one sample has."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 20, 14], mode="linear")
    y = n.Add(y, n.floats(np.arange(14).reshape(1, 1, 1, -1)))
    return n.Mul(y, n.floats(w // 14))


def small_share_of_the_image(n, h, w):
    """A disparity of an eighth of the width, which is 4 of 32."""
    return n.Mul(n.Sigmoid(n.conv("x", 3, 2)), n.floats(w / 8))


SQUARE = (32, 32)


def square_list(n, h, w):
    """A flow over the width and the height less one, with no positions near."""
    return n.Div(n.Transpose(n.conv("x", 3, 2), perm=[0, 2, 3, 1]), n.floats([w - 1, h - 1]))


def square_sides(n, h, w):
    """Two numbers of one node each: the width and the height less one."""
    column, row = n.conv("x", 3, 2), n.conv("x", 3, 2)
    return n.Concat(n.Mul(column, n.floats(w - 1)), n.Mul(row, n.floats(h - 1)), axis=1)


@pytest.mark.parametrize(
    ("build", "old", "args"),
    [
        (columns_masked, OLD, ("--keep", "Less_1")),
        (share_of_a_cut_map, OLD, ("--follow", "Mul_4")),
        (log_of_an_enlarged_map, OLD, ("--follow", "Div_8")),
        (pixels_of_a_fixed_map, OLD, ("--follow", "Mul_3")),
        (small_share_of_the_image, (48, 32), ("--follow", "Mul_2")),
        (sides_behind_a_fixed_map, SQUARE, ("--read", "Div_3=width,height")),
        (plain_temperature, OLD, ("--follow", "Mul_3")),
        (square_list, SQUARE, ("--read", "Div_2=(width-1),(height-1)")),
        (square_sides, SQUARE, ("--read", "Mul_2=(width-1)", "--read", "Mul_3=(height-1)")),
    ],
)
def test_a_number_of_two_readings_is_asked_and_the_right_one_is_offered(build, old, args):
    model = built(build, old)
    asked = resizefix.input_size(model, size=NEW, on_refusal="return")
    offered = {question.args(one.name) for question in asked.resolution.choices for one in question.readings}
    assert offered >= set(zip(args[::2], args[1::2], strict=True))
    np.testing.assert_allclose(run(called(model, args).model, NEW), run(built(build, NEW), NEW), rtol=1e-5)


def test_equal_questions_are_one_and_all_are_asked_at_once():
    result = resizefix.input_size(built(two_roots, OLD), size=NEW, on_refusal="return")
    assert not bool(result)
    questions = {question.nodes: [one.name for one in question.readings] for question in result.resolution.choices}
    assert questions == {("Add_4",): ["first", "centred"], ("Mul_1", "Mul_3"): ["keep", "follow"]}


@pytest.mark.parametrize("build", [two_roots, mirrored, pool_and_back])
def test_one_combination_of_the_offers_is_the_network_of_that_size(build):
    model, wanted = built(build, OLD), run(built(build, NEW), NEW)
    questions = resizefix.input_size(model, size=NEW, on_refusal="return").resolution.choices
    offers = [[question.args(one.name) for one in question.readings] for question in questions]
    made = [[]]
    for offered in offers:
        made = [[*before, *args] for before in made for args in offered]
    results = [called(model, args) for args in made]
    assert all(bool(one) or one.resolution.choices for one in results)
    assert sum(bool(one) and run(one.model, NEW).tobytes() == wanted.tobytes() for one in results) == 1


@pytest.mark.parametrize("build", [two_roots, mirrored])
def test_any_size_counts_as_the_user_says(build):
    args = ("--read", "Add_4=centred", "--follow", "Mul_*") if build is two_roots else ("--read", "Add_1=down")
    made = called(built(build, OLD), args, "any").model
    for size in (OLD, NEW, (40, 25)):
        np.testing.assert_allclose(run(made, size), run(built(build, size), size), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [None, (64, 96), "any"])
def test_another_export_answers_every_question(size):
    model, other = built(two_roots, OLD), built(two_roots, NEW)
    result = resizefix.input_size(model, size=size, like=other)
    assert result.resolution.assumed == ()
    at = NEW if size is None else (64, 96)
    np.testing.assert_allclose(run(result.model, at), run(built(two_roots, at), at), rtol=1e-6, atol=1e-6)
    assert result.verification.status == ("passed" if size is None else "unrefuted")


def test_an_export_of_other_weights_is_refused():
    other = built(two_roots, NEW)
    weights = next(one for one in other.graph.initializer if len(one.dims) == 4 and one.dims[0] == 2)
    changed = bytearray(weights.raw_data)
    changed[3] ^= 0x40
    weights.raw_data = bytes(changed)
    with pytest.raises(RefusedError, match="the weights may differ"):
        resizefix.input_size(built(two_roots, OLD), like=other)


def test_the_terminal_asks_one_after_another(tmp_path):
    save(built(two_roots, OLD), tmp_path / "in.onnx")
    save(built(two_roots, NEW), tmp_path / "wanted.onnx")
    words = [
        sys.executable,
        "-m",
        "resizefix",
        "input-size",
        str(tmp_path / "in.onnx"),
        str(tmp_path / "out.onnx"),
        f"{NEW[0]}x{NEW[1]}",
    ]
    asked = subprocess.run([*words, "--json"], capture_output=True, text=True)
    answer = json.loads(asked.stdout)
    assert asked.returncode == 1
    assert {choice["node"]: len(choice["readings"]) for choice in answer["choices"]} == {"Add_4": 2, "Mul_1": 2}
    made = subprocess.run([*words, "--ask"], input="2\n2\n", capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert resizefix.verify(tmp_path / "out.onnx", tmp_path / "wanted.onnx").passed


@pytest.mark.parametrize("size", [NEW, "any"], ids=str)
@pytest.mark.parametrize("form", EVERY_FORM)
def test_a_number_that_is_a_form_of_a_size_is_asked_for_and_that_form_is_offered(form, size):
    def build(n, h, w):
        return n.Mul(n.Sigmoid(n.conv("x", 3, 2)), n.floats(EVERY_FORM[form].of(w, np.float32)))

    (question,) = resizefix.input_size(built(build, OLD), size=size, on_refusal="return").resolution.choices
    results = [called(built(build, OLD), question.args(one.name), size) for one in question.readings]
    wanted = run(built(build, NEW), NEW)
    assert sum(bool(one) and np.allclose(run(one.model, NEW), wanted, rtol=1e-6) for one in results) == 1


def test_a_block_that_would_follow_a_learned_table_is_asked_for():
    """Weights as large as half of the map hold the outer factor; the block of two would become the input's."""

    def build(n, h, w):
        y = n.Reshape(n.conv("x", 3, 2), [1, 2, h // 2, 2, w // 2, 2])
        y = n.Reshape(n.Transpose(y, perm=[0, 1, 3, 5, 2, 4]), [1, 8, h // 2, w // 2])
        return n.Mul(y, n.weight(1, 1, h // 2, w // 2))

    result = resizefix.input_size(built(build, OLD), size="any", on_refusal="return", verify=False)
    assert not result
    assert [one.nodes for one in result.resolution.choices][:1] == [("Reshape_1",)]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda n, h, w: n.Gather(n.conv("x", 3, 2), list(np.pad(np.arange(w), 2, mode="reflect")), axis=3),
            "not stay",
        ),
        (lambda n, h, w: n.Slice(n.conv("x", 3, 2), [w - 1], [-w - 1], [3], [-1]), "No reading is known"),
    ],
    ids=["keep alone", "none"],
)
def test_numbers_without_another_reading_are_said_to_have_none(build, said):
    """Neither is a question of two readings: the answer is what to do instead."""
    result = resizefix.input_size(built(build, OLD), size=NEW, on_refusal="return")
    (outcome,) = [one for one in result.outcomes if one.reason]
    assert said in outcome.reason
    assert "export the model at" in outcome.reason
    assert all([one.name for one in question.readings] == ["keep"] for question in result.resolution.choices)


def back_to_the_image(n, h, w):
    """TensorFlow's resize to the image's size: a converter wrote the quotients of the sizes as scales."""
    y = n.conv("x", 3, 2, 8)
    scales = np.float32([h, w]) / np.float32([(h + 7) // 8, (w + 7) // 8])
    return n.Resize(y, "", n.floats([1, 1, *scales]), mode="linear", coordinate_transformation_mode="asymmetric")


@pytest.mark.parametrize("size", [(49, 65), "any"])
def test_scales_that_make_the_image_are_asked_for_and_the_image_is_among_the_readings(size):
    model = built(back_to_the_image, (33, 49))
    asked = resizefix.input_size(model, size=size, on_refusal="return")
    assert [reading.name for reading in asked.resolution.choices[0].readings] == ["of-image", "keep", "follow"]
    assert_follows(back_to_the_image, size, old=(33, 49), at=[(49, 65)], read=[("Resize_1", "of-image")], rtol=1e-5)
