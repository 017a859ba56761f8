"""Empty tensors: a lowering takes them as the node it replaces does, or its conditions say that it does not."""

import itertools

import numpy as np
import pytest
from exhaustive import EXHAUSTIVE
from lowering_cases import by_scales, cubic, linear, nearest
from lowering_runs import native, run
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

from resizefix.lowerings import LOWERINGS, Lowering, ResizeSpec

MEANINGS = (nearest(), nearest("half_pixel", "round_prefer_ceil"), nearest("align_corners"), linear(), cubic())
SIZES = {1: (6,), 2: (4, 6), 3: (2, 3, 6), 4: (2, 3, 4, 6), 5: (1, 2, 3, 4, 6)}
SCALES = ((2.0,), (0.5,), (2.0, 2.0), (0.5, 0.5), (1.5, 1.0))


def empty_cases(lowering: Lowering, opset: int) -> list[tuple[ResizeSpec, tuple[int, ...]]]:
    """Subjects that have dynamic axes, each with an input shape of which one of these is empty."""
    cases = []
    for meaning, (rank, sizes), scales in itertools.product(MEANINGS, SIZES.items(), SCALES):
        for is_open in itertools.product((False, True), repeat=rank) if len(scales) <= rank else ():
            shape = tuple(None if open_ else size for open_, size in zip(is_open, sizes, strict=True))
            subject = by_scales(meaning, shape, *scales)
            if lowering.applies(subject, opset) is None:
                cases += [
                    (subject, tuple(0 if k == axis else size for k, size in enumerate(sizes)))
                    for axis in range(rank)
                    if is_open[axis]
                ]
    return cases


def is_like_the_node(lowering: Lowering, subject: ResizeSpec, shape: tuple[int, ...], opset: int) -> bool:
    x = np.zeros(shape, np.float32)
    try:
        expected = native(subject, x).shape
    except (Fail, RuntimeException):
        return True  # the node itself does not run
    try:
        return run(lowering, subject, x, opset)[1].shape == expected
    except (Fail, RuntimeException):
        return False


@pytest.mark.parametrize("opset", [8, 13])
@pytest.mark.parametrize("lowering", LOWERINGS, ids=lambda lowering: lowering.name)
def test_a_lowering_that_does_not_take_empty_tensors_as_the_node_does_says_so(lowering, opset):
    for subject, shape in empty_cases(lowering, opset)[:: 1 if EXHAUSTIVE else 6]:
        built = lowering.build(subject, x="x", y="y", opset=opset, fresh=lambda name: name)
        if "where no axis is empty" not in built.error.conditions:
            assert is_like_the_node(lowering, subject, shape, opset), (subject, shape)
