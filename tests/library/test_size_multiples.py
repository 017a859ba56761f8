"""The sizes that a model takes: what a refused size and an open one say of them is the same."""

import numpy as np
import pytest
from size_networks import built

import resizefix


def skip_over(stride):
    """A skip connection from before `stride` to behind the enlargement by it: sizes that round up meet again."""

    def network(n, h, w):
        y = n.conv("x", 3, 2)
        small = n.conv(y, 2, 2, stride)
        scales = n.floats(np.array([1, 1, stride, stride]))
        large = n.Resize(small, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric")
        return n.Add(y, large)

    return network


@pytest.mark.parametrize("stride", [2, 4])
def test_a_refused_size_and_an_open_one_name_the_same_multiples(stride):
    made = built(skip_over(stride), (32, 48))
    result = resizefix.input_size(made, size=(33, 48), verify=False, on_refusal="return")
    below, above = 32, 32 + stride
    reason = str(result.outcomes[0].reason)
    assert f"multiple of {stride}" in reason
    assert f"the nearest are {below} and {above}" in reason
    opened = resizefix.input_size(made, size="any", verify=False)
    assert f"multiple of {stride} (height) and {stride} (width)" in opened.resolution.rule
    assert ("must be" in opened.resolution.rule) == ("must be" in reason)
