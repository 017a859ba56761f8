"""Files that admit two readings: `prefer` decides, and nothing else does."""

import numpy as np
import pytest
from ort_runs import opened
from resize_texts import refusal
from test_repair import SCALES, shape_of, small

import resizefix
from resizefix.diagnostics import UsageError

LINEAR = 'y = Resize <mode = "linear"> (x, s)'


def bits(model) -> bytes:
    """What it makes of an image."""
    image = np.random.default_rng(0).random((1, 3, 8, 8), np.float32)
    return opened(model, optimized=True).run(None, {"x": image})[0].tobytes()


@pytest.mark.parametrize(("prefer", "side"), [("scales", 16), ("sizes", 20)])
def test_prefer_decides_between_two_operands(prefer, side):
    broken = small(13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}")
    assert shape_of(resizefix.repair(broken, prefer=prefer).model) == (1, 3, side, side)


@pytest.mark.parametrize(
    ("kind", "words", "coordinates"),
    [
        ("float", "half_pixel", "half_pixel"),
        ("float", "asymmetric", "asymmetric"),
        ("int64", ["scales", "half_pixel"], "half_pixel"),  # whole numbers may be sizes, too
    ],
)
def test_prefer_decides_how_a_node_of_two_versions_samples(kind, words, coordinates):
    meant = f'y = Resize <mode = "linear", coordinate_transformation_mode = "{coordinates}"> (x, "", s)'
    result = resizefix.repair(small(13, LINEAR, f"{kind}[4] s = {{1, 1, 2, 2}}"), prefer=words)
    assert result.verification.passed
    assert bits(result.model) == bits(small(13, meant, SCALES))


def test_a_refusal_of_two_coordinates_gives_an_option_that_decides():
    broken = small(13, LINEAR, SCALES)
    result = resizefix.repair(broken, on_refusal="return")
    assert 'choose with prefer="asymmetric" or prefer="half_pixel"' in refusal(result)
    assert result.outcomes[0].retry_args == ("--prefer", "half_pixel")
    with pytest.raises(UsageError, match="a list of one of each"):
        resizefix.repair(broken, prefer=["half_pixel", "asymmetric"])


ZERO = 'y = Resize <mode = "linear"> (x, "", s)', "float[4] s = {1, 1, 0, 0}, float[1,3,4,4] y"
NONE = 'y = Resize <mode = "linear"> (x)', "float[1,3,4,4] y"
ROUNDED = "by these sizes or by a scale that was rounded down"
# float32(30 / 29)
QUOTIENT = 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1.034482717514038, 2}"
LONGER = 'prefer="sizes" makes the output 30 long'


@pytest.mark.parametrize(
    ("node", "height", "reason", "prefer", "sizes"),
    [
        # a stored shape that two scales give is taken as sizes on request alone
        (ZERO, 9, ROUNDED, "sizes", (4, 4)),
        (NONE, 9, ROUNDED, "sizes", (4, 4)),
        # a quotient, and the length that it gives
        (QUOTIENT, 29, LONGER, "sizes", (30, 16)),
        (QUOTIENT, 29, LONGER, "scales", (29, 16)),
    ],
)
def test_an_output_of_two_sizes_is_refused_until_prefer_decides(node, height, reason, prefer, sizes):
    broken = small(13, *node, f"float[1,3,{height},8] x")
    assert reason in refusal(resizefix.repair(broken, on_refusal="return"))
    assert shape_of(resizefix.repair(broken, prefer=prefer).model, 1, 3, height, 8) == (1, 3, *sizes)


@pytest.mark.parametrize("prefer", [None, "asymmetric", "half_pixel"])
def test_a_cubic_node_of_two_inputs_has_one_reading(prefer):
    made = resizefix.repair(small(13, 'y = Resize <mode = "cubic"> (x, s)', SCALES), prefer=prefer).model
    assert bits(made) == bits(small(13, 'y = Resize <mode = "cubic"> (x, "", s)', SCALES))
