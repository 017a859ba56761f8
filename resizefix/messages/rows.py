"""How rows of runtimes besides TensorRT and onnxruntime are made: which commands are tried, and in which order."""

from __future__ import annotations

from resizefix.messages.fixes import FREEZE, MATMUL, OTHER_OPERATORS, REPAIR, legalize
from resizefix.messages.message import Fix, Message

# By the target that stands for them.
RUNTIMES = {
    "openvino": "OpenVINO", "opencv-4": "OpenCV", "opencv-5": "OpenCV", "ncnn": "ncnn", "mnn": "MNN", "tract": "tract",
    "tvm": "TVM", "rknn": "RKNN", "qnn": "QNN", "coreml": "CoreML", "nnapi": "NNAPI", "migraphx": "MIGraphX",
}  # fmt: skip
COORDINATES = "coordinates-and-rounding"
CONSTANT = "scales-must-be-constant"
CUBIC = "cubic-and-other-attributes"
RANK = "axes-and-rank"
SPATIAL = "axes-and-rank"
WITHOUT = "missing-kernel"


def row(target: str, page: str, cause: str, *texts: str, frozen: bool = False, runtime: str | None = None) -> Message:
    """A row of a runtime that a target stands for. `frozen`: it wants constants, so freezing comes first.

    Releases differ: where the rules accept the node that a release refused, other operators take its place.
    """
    first = (FREEZE, legalize(target)) if frozen else (legalize(target), FREEZE)
    others = (MATMUL,) if target == "ncnn" else OTHER_OPERATORS
    return Message(runtime or RUNTIMES[target], texts, cause, page, (*first, REPAIR, *others))


def elsewhere(runtime: str, page: str, cause: str, *texts: str, first: tuple[Fix, ...] = ()) -> Message:
    """A row of a runtime that no target stands for: other operators take the place of the resize."""
    return Message(runtime, texts, cause, page, (*first, *OTHER_OPERATORS))


def computed(target: str, *texts: str) -> Message:
    """A row of a runtime that wants constants where this model computes, or is fed."""
    cause = f"{RUNTIMES[target]} wants constant scales or sizes, and these are computed or fed. Make them constant."
    return row(target, CONSTANT, cause, *texts, frozen=True)


def coordinates(target: str, *texts: str) -> Message:
    """A row of a runtime that lacks the coordinate mode of the node."""
    lacks = f"{RUNTIMES[target]} does not have the coordinate mode of this node."
    return row(target, COORDINATES, f"{lacks} Another form or other operators compute the same.", *texts)
