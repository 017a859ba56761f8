"""The TensorRT targets, oldest first: the releases, and the rows that are selected for each."""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.target import EVERY_MOVE, OperatorLimit, Release, Target, targets_of
from resizefix.targets.tensorrt_form import EXTENT, FORM
from resizefix.targets.tensorrt_sampling import SAMPLING, TENSORS

_UINT8 = frozenset({TensorProto.UINT8})

RELEASES = (
    Release("5.0", "onnx-tensorrt a9a47bb (TensorRT 4.0 to 5.0.2)"),
    Release("5.1", "onnx-tensorrt 8b52755"),
    Release("6.0", "onnx-tensorrt 400df73"),
    Release("7.0", "onnx-tensorrt 84b5be1 (TensorRT 7.0.0)"),
    Release("7.1", "onnx-tensorrt 1cf89dd (TensorRT 7.1)"),
    Release("7.2", "onnx-tensorrt eb559b6 (TensorRT 7.2.1)"),
    Release("8.0", "onnx-tensorrt 8fea430 (TensorRT 8.0) to 85e79f6 (8.2)"),
    Release("8.4", "onnx-tensorrt 1da7332 (TensorRT 8.4 GA)"),
    Release("8.5", "onnx-tensorrt 3b008c4 (TensorRT 8.5 GA) to 6ba67d3 (8.6.1)"),
    Release("9", "onnx-tensorrt 9d2d786 (TensorRT 9.0) to 1def182 (9.3)"),
    Release("10", "onnx-tensorrt 973d68d (TensorRT 10.0) to 96e7811 (10.1)"),
    Release("rtx", "TensorRT-RTX 1.4.0.76 to 1.7.1.116"),
)

# "documented": docs/operators.md of onnx-tensorrt, which lists the types of every operator since 8.0.
LIMITS = (
    OperatorLimit(
        frozenset({"ConvTranspose"}),
        "onnx-tensorrt 5.0 and 5.1, importer of ConvTranspose",
        ranks=frozenset({5}),
        until="5.1",
    ),
    OperatorLimit(
        frozenset({"AveragePool"}),
        "onnx-tensorrt 5.0 to 6.0, importer of AveragePool",
        ranks=frozenset({5}),
        until="6.0",
    ),
    OperatorLimit(
        EVERY_MOVE | {"Identity"},
        "onnx-tensorrt 5.0 to 8.4, convertDtype: there is no such tensor",
        types=_UINT8,
        until="8.4",
    ),
    # From 8.6 on a Cast. TensorRT-RTX 1.7.1: "TensorRT does not support UINT8 types for intermediate tensors".
    OperatorLimit(
        EVERY_MOVE,
        "documented from 8.5 on; measured on TensorRT-RTX 1.7.1 (bool, int8, int32 and int64 are taken everywhere)",
        types=_UINT8,
        only_at_the_edges=True,
        since="8.5",
    ),
)

TENSORRT_TARGETS: tuple[Target, ...] = targets_of(
    "tensorrt", RELEASES, (*FORM, *EXTENT, *SAMPLING, *TENSORS), LIMITS, "measured on TensorRT-RTX 1.7.1"
)
# Those that the form of `trt-legacy` is for.
LEGACY_TARGETS = tuple(
    target for target in TENSORRT_TARGETS if target.version in ("5.0", "5.1", "6.0", "7.0", "7.1", "7.2")
)
