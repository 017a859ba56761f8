"""Feeds: sensible, repeatable, as the user says."""

import math
from itertools import islice

import numpy as np
import pytest
from onnx import TensorProto, helper

from resizefix.diagnostics import RefusedError, UsageError
from resizefix.runtimes.inputs import Dimension, InputKind, TensorInput
from resizefix.verification.feeds import MOST_ELEMENTS, Feeder, TooLargeError, as_feed


def entry(name: str, *shape: Dimension, elem_type: int = TensorProto.FLOAT) -> TensorInput:
    return TensorInput(name, elem_type, shape)


def first(*inputs: TensorInput, **options: object) -> dict[str, object]:
    return next(Feeder(inputs, **options).candidates())


IMAGE = entry("x", "n", 3, "h", "w")


def test_floats_are_unit_normal():
    for elem_type in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16):
        value = first(entry("x", 1, 3, 64, 64, elem_type=elem_type))["x"]
        assert value.dtype == helper.tensor_dtype_to_np_dtype(elem_type)
        assert abs(value.astype(np.float64).mean()) < 0.05
        assert abs(value.astype(np.float64).std() - 1) < 0.05


@pytest.mark.parametrize(
    ("elem_type", "shape", "low", "high"),
    [
        (TensorProto.UINT8, (1, 3, 64, 64), 0, 255),
        (TensorProto.INT8, (1, 3, 64, 64), -128, 127),
        (TensorProto.INT32, (1, 3, 64, 64), 0, 255),
        (TensorProto.INT64, (64, 64), 0, 1),
        (TensorProto.BOOL, (64, 64), 0, 1),
    ],
)
def test_integers_fill_the_range_that_such_tensors_have(elem_type, shape, low, high):
    value = first(entry("x", *shape, elem_type=elem_type))["x"]
    assert (int(value.min()), int(value.max())) == (low, high)


def test_every_other_kind_of_input_gets_a_value():
    feeds = first(
        entry("s", 2, elem_type=TensorProto.STRING),
        entry("c", 2, 2, elem_type=TensorProto.COMPLEX64),
        TensorInput("q", TensorProto.FLOAT, (1, None), InputKind.SEQUENCE),
        TensorInput("o", TensorProto.FLOAT, (2,), InputKind.OPTIONAL),
    )
    assert feeds["s"].tolist() == ["a", "a"]
    assert feeds["c"].dtype == np.complex64
    assert [item.shape for item in feeds["q"]] == [(1, 3), (1, 3)]
    assert not np.array_equal(*feeds["q"])
    assert feeds["o"].shape == (2,)


def test_the_same_seed_gives_the_same_feeds_and_another_seed_others():
    once, again, other = first(IMAGE, seed=1)["x"], first(IMAGE, seed=1)["x"], first(IMAGE, seed=2)["x"]
    assert once.tobytes() == again.tobytes()
    assert once.tobytes() != other.tobytes()


def test_one_input_more_does_not_change_the_values_of_the_others():
    alone = first(IMAGE)["x"]
    beside = first(entry("a", 5, 5), IMAGE, entry("z", 5, 5))
    assert alone.tobytes() == beside["x"].tobytes()
    assert beside["a"].tobytes() != beside["z"].tobytes()


def test_consecutive_seeds_take_both_branches():
    condition = entry("c", elem_type=TensorProto.BOOL)
    assert first(condition, seed=0)["c"]
    assert not first(condition, seed=1)["c"]


def test_no_two_candidates_are_alike():
    inputs = [IMAGE, entry("scales", 4), entry("sizes", 2, elem_type=TensorProto.INT64)]
    candidates = list(Feeder(inputs).candidates())
    told = {tuple((name, value.shape, value.tobytes()) for name, value in feeds.items()) for feeds in candidates}
    assert len(told) == len(candidates) > 24


def test_a_model_without_choices_has_one_candidate():
    assert len(list(Feeder([entry("x", 1, 3, 8, 8)]).candidates())) == 1
    assert list(Feeder([]).candidates()) == [{}]


def test_sizes_and_readings_of_vectors_both_vary_early():
    tried = list(islice(Feeder([IMAGE, entry("s", 4)]).candidates(), 24))
    assert len({feeds["x"].shape for feeds in tried}) >= 6
    doubled, halved = [1, 1, 2, 2], [1, 1, 0.5, 0.5]
    assert tried[0]["s"].tolist() == doubled
    assert any(feeds["s"].tolist() == halved for feeds in tried)


def test_fed_scales_stretch_an_image_of_a_fixed_size():
    feeder = Feeder([entry("x", 1, 1, 2, 4), entry("s", 4)])
    doubled = next(feeder.candidates())
    assert [feeds["s"].tolist() for feeds in feeder.others(doubled)] == [[1, 1, 2, 3], [1, 1, 2, 2]]


def test_a_default_is_not_fed_unless_it_is_hinted():
    defaulted = TensorInput("s", TensorProto.FLOAT, (4,), has_default=True)
    assert set(first(IMAGE, defaulted)) == {"x"}
    assert first(IMAGE, defaulted, hints={"s": [1, 1, 3, 3]})["s"].tolist() == [1, 1, 3, 3]


def test_a_hint_wins_and_fixes_the_symbols_of_its_shape():
    feeds = first(entry("m", "h", "w"), IMAGE, hints={"m": np.ones((5, 7))})
    assert feeds["m"].tolist() == np.ones((5, 7)).tolist()
    assert feeds["x"].shape[2:] == (5, 7)


def test_a_given_shape_is_taken_and_carries_over_to_equal_symbols():
    feeds = first(IMAGE, entry("m", "h", "w"), shapes={"x": (2, 3, 10, 20)})
    assert feeds["x"].shape == (2, 3, 10, 20)
    assert feeds["m"].shape == (10, 20)


@pytest.mark.parametrize("shape", [(1, 3, 8), (1, 3, 8, 8, 8), (1, 4, 8, 8), (1, 3, -8, 8)])
def test_a_given_shape_that_does_not_fit_is_a_wrong_argument(shape):
    with pytest.raises(UsageError, match=r"does not fit input 'x', which is float\[n,3,h,w\]"):
        Feeder([IMAGE], shapes={"x": shape})


@pytest.mark.parametrize("option", ["shapes", "hints"])
def test_a_wrong_name_is_answered_with_the_inputs_there_are(option):
    with pytest.raises(UsageError, match=r"no input 'y'.*x \(float\[n,3,h,w\]\)"):
        Feeder([IMAGE], **{option: {"y": (1,)}})


def test_chosen_sizes_are_limited_and_given_ones_are_not():
    volume = entry("v", 1, 64, "a", "b", "c")
    for feeds in Feeder([volume]).candidates():
        assert math.prod(feeds["v"].shape) <= MOST_ELEMENTS
    assert first(volume, shapes={"v": (1, 64, 1, 1, 2**19)})["v"].size == 2**25


def test_maps_are_refused_and_named():
    with pytest.raises(RefusedError, match="Input 'm' is a map"):
        Feeder([TensorInput("m", TensorProto.FLOAT, None, InputKind.MAP)])


@pytest.mark.parametrize(
    ("target", "given", "expected"),
    [
        (entry("s", 4), [1, 1, 3, 3], [1, 1, 3, 3]),
        (entry("s"), [2.0], 2.0),  # --feed s=2 for a scalar
        (entry("s", 2, 2), [1, 2, 3, 4], [[1, 2], [3, 4]]),
        (entry("s", 1, 1, 2), [[1, 2]], [[[1, 2]]]),
        (entry("s", "n"), (1, 2), [1, 2]),
        (entry("s", 2, elem_type=TensorProto.INT64), [3.0, 4.0], [3, 4]),
        (TensorInput("s", TensorProto.FLOAT, (1,), InputKind.OPTIONAL), [5], [5]),
        (TensorInput("s", TensorProto.FLOAT, None), [5], [5]),
    ],
)
def test_given_numbers_become_what_the_input_wants(target, given, expected):
    value = as_feed(target, given)
    assert value.dtype == helper.tensor_dtype_to_np_dtype(target.elem_type)
    assert value.tolist() == expected


def test_an_optional_can_be_left_out_and_a_sequence_given_piece_by_piece():
    assert as_feed(TensorInput("o", TensorProto.FLOAT, (1,), InputKind.OPTIONAL), None) is None
    pieces = as_feed(TensorInput("q", TensorProto.FLOAT, (None,), InputKind.SEQUENCE), [[1], [2, 3]])
    assert [piece.tolist() for piece in pieces] == [[1], [2, 3]]


@pytest.mark.parametrize(
    ("target", "given"),
    [
        (entry("s", 4), [1, 2, 3]),
        (entry("s", 4), ["one", "two", "three", "four"]),
        (entry("s", 1, elem_type=TensorProto.INT64), [1.5]),
        (entry("s", 1, elem_type=TensorProto.UINT8), [300]),
        (entry("s", 2), None),
        (entry("s", 1), [1e300]),
        (entry("s", 1), [1j]),
        (entry("s", 1, elem_type=TensorProto.INT64), [float("nan")]),
        (entry("s", 1, 3, 2, 2), np.zeros((2, 2, 3))),  # channels last: laid out anew it would be another picture
        (TensorInput("s", TensorProto.FLOAT, None, InputKind.MAP), [1]),
    ],
)
def test_numbers_that_do_not_fit_are_a_wrong_argument(target, given):
    with pytest.raises(UsageError, match="'s'"):
        as_feed(target, given)


def test_a_message_shows_a_large_array_by_its_range():
    with pytest.raises(UsageError, match=r"cannot be fed float64\[64\] from 1e\+300 to 1e\+300\.$"):
        as_feed(entry("s", 64), np.full(64, 1e300))


def test_an_input_that_no_memory_holds_is_refused_with_its_size():
    huge = entry("x", 1, 1, 2**31, 2**31)
    with pytest.raises(
        TooLargeError,
        match=r"'x' is float\[1,1,2147483648,2147483648\]: more than 10\^18 elements need too much",
    ):
        first(huge)


@pytest.mark.parametrize("elem_type", [TensorProto.UNDEFINED, 99])
def test_an_input_whose_type_nobody_knows_is_refused(elem_type):
    with pytest.raises(RefusedError, match="The type of input 'x' is not known"):
        first(entry("x", 1, 3, 8, 8, elem_type=elem_type))
