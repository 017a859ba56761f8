"""The TensorRT targets, oldest first."""

from __future__ import annotations

from resizefix.targets.target import Target
from resizefix.targets.tensorrt_5_to_7 import (
    TENSORRT_5_0,
    TENSORRT_5_1,
    TENSORRT_6_0,
    TENSORRT_7_0,
    TENSORRT_7_1,
    TENSORRT_7_2,
)
from resizefix.targets.tensorrt_8_to_9 import TENSORRT_8_0, TENSORRT_8_4, TENSORRT_8_5, TENSORRT_9
from resizefix.targets.tensorrt_10_to_rtx import TENSORRT_10, TENSORRT_RTX

TENSORRT_TARGETS: tuple[Target, ...] = (
    TENSORRT_5_0,
    TENSORRT_5_1,
    TENSORRT_6_0,
    TENSORRT_7_0,
    TENSORRT_7_1,
    TENSORRT_7_2,
    TENSORRT_8_0,
    TENSORRT_8_4,
    TENSORRT_8_5,
    TENSORRT_9,
    TENSORRT_10,
    TENSORRT_RTX,
)
# Those that the form of `trt-legacy` is for.
LEGACY_TARGETS = TENSORRT_TARGETS[: TENSORRT_TARGETS.index(TENSORRT_8_0)]
