"""Numbers that a simple factor and a root or a logarithm make of a size are asked for; usual constants are not."""

import numpy as np
import pytest
from size_networks import OLD, assert_follows, built, refused

from resizefix.input_sizes.wide_families import in_wide_family

SIZES = [32, 48, 32 * 48, 16, 24, 16 * 24, 31, 47]
LENGTHS = {3, 8, 36, 64, 128}
OF_SIZES = {
    "attention-by-length": np.log(384) / np.log(64) * 0.1,
    "attention-by-length-and-width": np.log(1536) / np.log(196) / np.sqrt(36),
    "entropy-of-more": 1 / np.log(1536) / 0.3,
    "share-of-an-area": np.sqrt(1536 / 400),
    "share-of-a-few": np.sqrt(1536 / 50),
    "over-the-share": np.sqrt(196 / 384),
    "root-of-the-side": 3 * np.sqrt(48) / 10,
    "twentieth": 48 / 20,
    "four-tenths": 0.4 * 47,
    "to-the-fourth": 384**0.25 / 10,
}
WRITTEN = {
    **{f"root-of-{d}": d**0.5 for d in (2, 3, 36, 64, 128)},
    **{f"over-root-of-{d}": d**-0.5 for d in (2, 3, 36, 64, 128)},
    **{f"{n:g}": n for n in (0.5, 255, 1e-5, 1e-6, 1e-12, 0.01, 0.1, 0.2, 0.3, 1 / 8, 1 / 16, 0.9, 2, 1.5, 12.5, 6)},
    **{f"mean-{n:g}": n for n in (0.485, 0.456, 0.406, 0.229, 0.224, 0.225, 123.675, 116.28, 103.53, 58.395, 57.12)},
    **{f"of-pixels-{n:g}": n for n in (1 / 255, 1 / 127.5, 2 / 255, 127.5, 0.017429)},
    "gelu": 0.044715,
    "gelu-root": np.sqrt(2 / np.pi),
    "quick-gelu": 1.702,
    "full-turn": 2 * np.pi,
    "bits": np.log(2),
    "selu": 1.0507009873554805,
    "selu-alpha": 1.6732632423543772,
    "latents": 0.18215,
    "leaky": 0.1,
    "anchors": 1.08,
    "sixth": 1 / 6,
}


@pytest.mark.parametrize("number", OF_SIZES.values(), ids=OF_SIZES.keys())
def test_a_simple_factor_of_a_formula_of_a_size_is_of_the_family(number):
    assert in_wide_family(np.array([number], np.float32), SIZES, LENGTHS)


@pytest.mark.parametrize("number", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_number_that_people_write_is_not(number):
    assert not in_wide_family(np.array([number], np.float32), SIZES, LENGTHS)


def test_few_numbers_of_no_meaning_are_of_the_family():
    """A number that was learned belongs to it by accident, once in two hundred."""
    numbers = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    assert sum(in_wide_family(number.reshape(1), SIZES, LENGTHS) for number in numbers) <= 4


def attention_by_length(n, h, w):
    """The scale grows by the logarithm of how many positions there are."""
    y = n.Reshape(n.conv(n.conv("x", 3, 8, 2), 8, 36), [1, 36, h * w // 4])
    scores = n.MatMul(n.Transpose(y, perm=[0, 2, 1]), y)
    return n.Softmax(n.Mul(scores, n.floats(np.log(h * w / 4) / np.log(64) * 0.1)), axis=-1)


def share_of_an_area(n, h, w):
    """Distances of a reference of 20 by 20."""
    return n.Mul(n.conv("x", 3, 2), n.floats(np.sqrt(h * w / 400)))


@pytest.mark.parametrize("size", [(48, 64), "any"], ids=["fixed", "any"])
@pytest.mark.parametrize(("build", "node"), [(attention_by_length, "Mul_5"), (share_of_an_area, "Mul_1")])
def test_a_number_of_a_wide_family_is_asked_for(build, node, size):
    assert refused(built(build, OLD), size) == (node, "origins.input-size-number")


def gelu(n, h, w):
    y = n.conv("x", 3, 4)
    return n.Mul(n.Mul(y, n.floats(0.5)), n.Add(n.Erf(n.Div(y, n.floats(np.sqrt(2)))), n.floats(1)))


def embedding_scaled(n, h, w):
    """By the root of how many channels there are."""
    return n.Mul(n.conv("x", 3, 37), n.floats(np.sqrt(37)))


@pytest.mark.parametrize("build", [gelu, embedding_scaled])
def test_usual_constants_are_left_alone(build):
    assert_follows(build)
