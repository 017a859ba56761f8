"""What is local in the original computes the same on the middle of another map, or refutes a model."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "library"))

from size_networks import OLD, built

from resizefix.input_sizes.experiments.image_experiments import Original, Picture
from resizefix.input_sizes.experiments.locality import require_local
from resizefix.input_sizes.refusal import SizeRefusedError
from resizefix.interop import opened
from resizefix.verification.engine import Engine
from resizefix.verification.verification import conditions

SIZES = [(64, 96), (48, 32), (96, 48), (40, 64)]


def shuffled(is_swapped):
    """A pixel shuffle as a Reshape holds it; its height and width may be swapped."""

    def build(n, h, w):
        sides = [w, h] if is_swapped(h) else [h, w]
        y = n.Reshape(n.conv("x", 3, 8), [1, 2, 2, 2, *sides])
        return n.Reshape(n.Transpose(y, perm=[0, 1, 4, 2, 5, 3]), [1, 2, 2 * h, 2 * w])

    return build


def moved_padding(begin):
    """A network that pads its map by one row, and cuts one row off."""

    def build(n, h, w):
        y = n.Pad(n.conv("x", 3, 2), [0, 0, begin(h), 0, 0, 0, 1 - begin(h), 0])
        return n.Slice(y, [0], [h], [2])

    return build


def larger(n, h, w):
    """A network with a sum over the map: nothing behind it is local."""
    return n.Mul(n.conv("x", 3, 2), n.ReduceMean("x", axes=[1, 2, 3]))


def upper(n, h, w):
    """A network that keeps what is above the diagonal: it moves along the diagonal alone."""
    return n.Trilu(n.conv("x", 3, 2))


def local(build, size, other=None, kept=()):
    engine = Engine(conditions(), "the new model")
    before, after = opened(built(build, OLD, 14)), opened(built(other or build, size, 14))
    pictures = {"x": Picture((2, 3), (1, 3, *size))}
    original = Original.run(engine, before, after)
    return require_local(engine, original, after, pictures, lambda label: label in kept), engine


@pytest.mark.parametrize("size", SIZES)
def test_a_shuffle_with_swapped_sides_is_refuted_at_its_node(size):
    right, wrong = shuffled(lambda h: False), shuffled(lambda h: h != OLD[0])
    assert local(right, size)[0] == 2
    with pytest.raises(SizeRefusedError) as found:
        local(right, size, wrong)
    assert found.value.reason.code == "verification.not-local"
    assert found.value.node == "Reshape_3"


def test_a_size_that_differs_by_part_of_a_stride_is_not_looked_at():
    count, engine = local(larger, (33, 51))
    assert count == 0
    assert [sentence.code for sentence in engine.not_tested] == ["verification.locality-too-small"]


def test_numbers_that_follow_the_size_may_change_what_is_local():
    def shares(n, h, w):
        return n.Div(n.conv("x", 3, 2), n.floats(w))

    assert local(shares, (64, 96))[0] == 1  # the convolution


@pytest.mark.parametrize("size", SIZES)
def test_a_padding_that_moved_to_the_other_side_is_refuted(size):
    right, wrong = moved_padding(lambda h: 0), moved_padding(lambda h: int(h != OLD[0]))
    local(right, size)
    with pytest.raises(SizeRefusedError) as found:
        local(right, size, wrong)
    assert [reading.name for reading in found.value.readings] == ["keep"]


def test_what_the_user_decided_is_not_refuted_nor_what_is_behind_it():
    right, wrong = moved_padding(lambda h: 0), moved_padding(lambda h: int(h != OLD[0]))
    assert local(right, (64, 96), wrong, kept=("Pad_1",))[0] > 0


@pytest.mark.parametrize("build", [larger, upper])
@pytest.mark.parametrize("size", SIZES)
def test_what_the_original_itself_fails_on_says_nothing(build, size):
    assert local(build, size)[0] == 1  # the convolution


def test_a_map_that_is_too_small_is_said():
    count, engine = local(larger, (4, 96))
    assert count == 0
    assert [sentence.code for sentence in engine.not_tested] == ["verification.locality-too-small"]
