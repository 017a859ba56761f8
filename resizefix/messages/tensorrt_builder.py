"""Messages of TensorRT's builder: shapes that it computes, profiles, and names of dimensions."""

from __future__ import annotations

from resizefix.messages.message import (
    ANY_SIZE,
    FOR_TENSORRT,
    FREEZE,
    NEWEST,
    PARTNER,
    REPAIR,
    TOGETHER,
    Fix,
    Message,
    legalize,
)


def _row(
    cause: str, *texts: str, page: str, fixes: tuple[Fix, ...], then: Fix | None = None, at_other_sizes: bool = False
) -> Message:
    return Message("TensorRT", texts, cause, page, fixes, then, "tensorrt-10", at_other_sizes=at_other_sizes)


MESSAGES = (
    _row(
        "An input that decides a shape must be an integer for TensorRT, and this model reads its scales or sizes from a "
        "float input. `promote-scales --for tensorrt` makes that input int64, with a Cast behind it.",
        "is a shape tensor and must have type Int32 or Int64. Type is Float",
        "Network input … is a shape tensor and must have type Int32 or Int64",
        "network input that is shape tensor must have type Int32",
        "that is shape tensor must have type Int32 or Int64",
        page="tensorrt-runtime-factor",
        fixes=(FOR_TENSORRT, FREEZE),
        then=FOR_TENSORRT,
    ),
    _row(
        "TensorRT computes shapes from integers and constants, and here a float input or the data of a tensor leads to one. "
        "Make the scales or sizes constant, or an integer factor.",
        "Assertion !isInFlight(p.second.symbolicRep) failed",
        "shape tensor must have build-time extent",
        "Assertion isDefined(it->second) failed. value should have been set by symbolic execution of producer.",
        "IShuffleLayer applied to shape tensor must have 0 or 1 reshape dimensions: dimensions were [1,4]",
        page="tensorrt-runtime-factor",
        fixes=(FOR_TENSORRT, FREEZE),
        then=FOR_TENSORRT,
    ),
    _row(
        "The builder wants a range of values for every input that is dynamic or decides a shape. "
        "`promote-scales --for tensorrt` prints the profile and the flags of trtexec.",
        "Network has dynamic or shape inputs, but no optimization profile has been defined",
        "Optimization profile 0 is missing values for shape input tensor",
        "dynamic input is missing dimensions in profile 0",
        "Called with invalid shape profile, expect min <= common <= max",
        page="tensorrt-runtime-factor",
        fixes=(FOR_TENSORRT,),
    ),
    _row(
        "One name stands for axes of different lengths, and TensorRT takes a name for one length. "
        "Each such axis needs a name of its own.",
        "Input dimensions with this name have different constant values",
        "input dimensions with this name have different",
        page="docs/repair.md",
        fixes=(REPAIR,),
    ),
    _row(
        "TensorRT cannot compute the size of this resize: the number of its axes or its scales is known only when the model runs. "
        "Make the scales or sizes constant.",
        "Assertion Error in validate: 0 (nbResizeDim >= 0)",
        "(nbResizeDim >= 0)",
        "Error during shape inference of … = resize(…), shape=(",
        "tensor volume exceeds («2^31»)-«1», dimensions are […]",
        "Assertion Error in fromSymbolic: 0 (x must be build-time constant)",
        "x must be build-time constant",
        page="scales-must-be-constant",
        fixes=(FREEZE, legalize("tensorrt-7.0"), NEWEST),
    ),
    _row(
        "A size of this resize is -1 or negative, and TensorRT takes a size as it stands. "
        "The size must be computed from the shape of a tensor, or be constant.",
        "dimension 0 never exceeds -1",
        "has axis 3 with inherently negative length. Proven upper bound is -1.",
        "Symbolic relation dims.d[i] >= 0 is always false",
        "Assertion Error in checkDimsSanity: 0 (dims.d[i] >= 0)",
        page="tensorrt-runtime-factor",
        fixes=(FREEZE, REPAIR, NEWEST),
    ),
    _row(
        "A resized tensor meets another one of a different size, or one whose size TensorRT cannot prove to be equal. "
        "The resize can take the size of the tensor that it meets.",
        "all concat input tensors must have the same dimensions except on the concatenation axis",
        "elementwise inputs must have same dimensions or follow broadcast rules",
        "dimensions not compatible for elementwise",
        "broadcast dimensions must be conformable",
        page="sizes-that-differ",
        fixes=(PARTNER, TOGETHER, ANY_SIZE, NEWEST),
        at_other_sizes=True,
    ),
)
