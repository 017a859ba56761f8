"""What a node becomes when its model is raised: rows for the versions that changed an operator's words or meaning.

`raising.py` applies them, version by version. A version that has no row here leaves a node as it is: it took more
types alone (the `kept` of a row of `table.DOWN`), or it stands in `NOTHING_TO_DO` with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import NO_NUMBERS
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import Scope
from resizefix.document.values import Array, Dims
from resizefix.shapes.size_quotients import SizeQuotients
from resizefix.shapes.stored_shapes import ModelView

ROUNDS_OTHERWISE = "opsets.raise-sums"
_MANTISSA_OF_POWER = 0.5  # as numpy.frexp splits a power of 2


@dataclass
class Raised:
    """One node on its way: `node` is a copy that a row changes, `tensors` are the constants that it reads then.

    `rounding` is the nearest mode of a Resize-10 whose scales do not decide it.
    """

    node: NodeProto
    view: ModelView
    scope: Scope
    names: FreshNames
    rounding: str | None = None
    tensors: list[TensorProto] = field(default_factory=list)

    def dims(self, name: str) -> Dims | None:
        """The sizes of a tensor that the node can see, as far as they are known."""
        return self.view.dims(self.scope, name)

    def value(self, name: str) -> Array | None:
        """The value of a tensor that nothing at run time can change; None for another."""
        return self.view.value(self.scope, name)

    def take(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, which is removed."""
        for place, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                del self.node.attribute[place]
                return value
        return default

    def put(self, name: str, value: Any) -> None:
        """Write an attribute that is not there."""
        self.node.attribute.append(helper.make_attribute(name, value))

    def read(self, position: int, what: str, value: Array) -> None:
        """Let input `position` read a constant."""
        tensor = numpy_helper.from_array(value, self.names.fresh(f"{self.node.output[0]}_{what}"))
        self.tensors.append(tensor)
        self.node.input.extend([""] * (position + 1 - len(self.node.input)))
        self.node.input[position] = tensor.name


Rewrite = Callable[[Raised], None]


def _to_inputs(*names: str, dtype: npt.DTypeLike = np.int64) -> Rewrite:
    """Attributes become inputs, from the second on: integers int64 vectors, others what they are in `dtype`."""

    def rewrite(raised: Raised) -> None:
        values = [raised.take(name) for name in names]
        for position, (name, value) in enumerate(zip(names, values, strict=True), start=1):
            if value is not None:
                array = np.array(value, dtype)
                raised.read(position, name, array.reshape(-1) if dtype is np.int64 else array)

    return rewrite


def _renamed(op_type: str) -> Rewrite:
    def rewrite(raised: Raised) -> None:
        raised.node.op_type = op_type

    return rewrite


def _refused(code: str) -> Rewrite:
    def rewrite(raised: Raised) -> None:
        raise RefusedError(code)

    return rewrite


def _batch_normalization_9(raised: Raised) -> None:
    if raised.take("spatial", 1) != 1:
        raise RefusedError("opsets.raise-spatial")


def _batch_normalization_14(raised: Raised) -> None:
    """With more than one output the old node trained, which the attribute training_mode says from here on."""
    if len(raised.node.output) > 1:
        raise RefusedError("opsets.raise-training")


def _resize_11(raised: Raised) -> None:
    """Resize-10 samples asymmetrically; nearest rounds down where an axis grows and up where it shrinks."""
    scales = raised.node.input[1]
    raised.put("coordinate_transformation_mode", "asymmetric")
    if raised.take("mode", b"nearest") in (b"nearest", "nearest"):
        raised.put("nearest_mode", "floor" if _grows(raised) else _rounding(raised.value(scales), raised.rounding))
        raised.put("mode", "nearest")
    else:
        raised.put("mode", "linear")
    raised.read(1, "roi", NO_NUMBERS)
    raised.node.input.append(scales)


def _grows(raised: Raised) -> bool:
    """Whether the scales are sizes divided by the input's own, none of which is larger."""
    data, scales = raised.node.input[:2]
    if raised.value(scales) is not None:
        return False
    quotients = SizeQuotients(raised.view)
    dividends = quotients.dividends(raised.scope, data, scales)
    return dividends is not None and quotients.grow(raised.scope, data, dividends)


def _rounding(scales: Array | None, otherwise: str | None) -> str:
    """How all axes round. Where an axis shrinks by a power of 2 every sample lies on one of the input's."""
    if scales is None or scales.dtype.kind not in "fiu":  # strings are no scales
        if otherwise is not None:
            return otherwise
        raise RefusedError("opsets.raise-rounding")
    grows, shrinks = scales > 1, scales < 1
    rounded = shrinks & (np.frexp(scales)[0] != _MANTISSA_OF_POWER)
    if np.any(grows) and np.any(rounded) and otherwise is not None:
        return otherwise
    if np.any(grows) and np.any(rounded):
        raise RefusedError("opsets.raise-rounding-both", scales=scales.tolist())
    return "ceil" if np.any(shrinks) and not np.any(grows) else "floor"


def _pad_11(raised: Raised) -> None:
    value = raised.take("value", 0.0)
    raised.read(1, "pads", np.array(raised.take("pads"), np.int64))
    if value:
        raised.read(2, "value", np.array(value, np.float32))


def _dropout_10(raised: Raised) -> None:
    """The mask becomes a bool here, and at opset 12 true where it was false: only one that nothing reads can go."""
    masks = set(raised.node.output[1:]) - {""}
    del raised.node.output[1:]
    for scope in raised.view.scopes.all if masks else ():
        read = {name for node in scope.body.node for name in node.input}
        if masks & (read | {value if isinstance(value, str) else value.name for value in scope.body.output}):
            raise RefusedError("opsets.raise-mask")


def _dropout_12(raised: Raised) -> None:
    _dropout_10(raised)
    _to_inputs("ratio", dtype=np.float32)(raised)


def _softmax_13(raised: Raised) -> None:
    """Before opset 13 the input is flattened at `axis`; from then on one axis is normalised."""
    axis = int(raised.take("axis", 1))
    dims = raised.dims(raised.node.input[0])
    if dims is None:
        raise RefusedError("opsets.raise-rank")
    rank = len(dims)
    if axis % max(rank, 1) != rank - 1:
        raise RefusedError("opsets.raise-softmax", axis=axis, rank=rank)
    raised.put("axis", rank - 1)


def _resize_13(raised: Raised) -> None:
    """Empty operands next to sizes are left out from here on; one that only a run shows to be empty cannot be."""
    node = raised.node
    if len(node.input) > 3 and node.input[3] and node.input[2]:
        scales = raised.value(node.input[2])
        if scales is None or scales.size:
            raise RefusedError("opsets.raise-fed-scales")
        node.input[2] = ""


def _floats_13(raised: Raised) -> None:
    """Erf-9 took integers too."""
    elem_type = raised.view.elem_type(raised.scope, raised.node.input[0])
    if elem_type is not None and np.dtype(helper.tensor_dtype_to_np_dtype(elem_type)).kind in "iu":
        raise RefusedError("opsets.raise-integers")


def _split_18(raised: Raised) -> None:
    if len(raised.node.input) < 2 or not raised.node.input[1]:
        raised.put("num_outputs", len(raised.node.output))


def _grid_sample_20(raised: Raised) -> None:
    words = {b"bilinear": "linear", b"bicubic": "cubic", b"nearest": "nearest"}
    mode = raised.take("mode")
    if mode is not None:
        raised.put("mode", words[mode if isinstance(mode, bytes) else mode.encode()])


_REDUCTIONS_18 = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSumSquare",
)  # fmt: skip

# What an opset changed in an operator's words or meaning (docs/Changelog.md of onnx, the version of that number).
ROWS: dict[int, dict[str, Rewrite]] = {
    9: {
        "Upsample": _to_inputs("scales", dtype=np.float32),
        "BatchNormalization": _batch_normalization_9,
        "Scan": _refused("opsets.raise-batch-of-scan"),
    },
    10: {
        "Upsample": _renamed("Resize"),
        "Slice": _to_inputs("starts", "ends", "axes"),
        "TopK": _to_inputs("k"),
        "Dropout": _dropout_10,
    },
    11: {
        "Resize": _resize_11,
        "Clip": _to_inputs("min", "max", dtype=np.float32),
        "Pad": _pad_11,
        "Scatter": _renamed("ScatterElements"),
    },
    12: {"Dropout": _dropout_12},
    13: {
        **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _softmax_13),
        **dict.fromkeys(("Squeeze", "Unsqueeze", "ReduceSum"), _to_inputs("axes")),
        "Split": _to_inputs("split"),
        "Resize": _resize_13,
        "Erf": _floats_13,
    },
    14: {"BatchNormalization": _batch_normalization_14},
    16: {"RoiAlign": lambda raised: raised.put("coordinate_transformation_mode", "output_half_pixel")},
    18: {**dict.fromkeys(_REDUCTIONS_18, _to_inputs("axes")), "Split": _split_18},
    # not in ONNX, but in onnxruntime: the last bit of a mean differs
    19: {"AveragePool": _refused(ROUNDS_OTHERWISE)},
    20: {"GridSample": _grid_sample_20, "DFT": _refused("opsets.raise-axis-of-dft")},
    21: {"GroupNormalization": _refused("opsets.raise-groups")},
    # onnxruntime 1.32 computes them by other operators: the last bits differ
    28: dict.fromkeys(("ReduceLogSum", "ReduceLogSumExp"), _refused(ROUNDS_OTHERWISE)),
}

# takes-more: it takes what the older version refused, and reads the rest as before.
# option: its new attribute or input, left out, says what was always done.
# text: the text of auto_pad says better what was always done.
_BY_REASON: dict[str, dict[int, tuple[str, ...]]] = {
    "takes-more": {
        8: ("Max", "Mean", "Min", "Sum"),
        9: ("Flatten", "Greater", "Less"),
        11: (
            "ArgMax", "ArgMin", "Compress", "Concat", "Equal", "Flatten", "Gather", "Gemm", "Hardmax", "If",
            "LogSoftmax", "OneHot", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
            "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Scan", "Slice", "Softmax",
            "Split", "Squeeze", "Unsqueeze",
        ),
        12: ("Clip", "Max", "Min", "Pow", "ReduceMax", "ReduceMin"),
        13: ("Pad",),
        18: ("OptionalHasElement", "ScatterElements", "ScatterND"),
        19: ("Pad", "Resize"),
        20: ("IsInf", "ReduceMax", "ReduceMin"),
        28: ("Mod",),
    },
    "option": {
        8: ("MaxPool",),
        10: ("AveragePool", "MaxPool"),
        11: ("Constant", "DepthToSpace", "TopK"),
        12: ("ArgMax", "ArgMin", "Constant", "GatherND"),
        13: ("DequantizeLinear", "QuantizeLinear"),
        14: ("GRU", "LSTM", "RNN", "Reshape"),
        15: ("Shape",),
        16: ("ScatterElements", "ScatterND"),
        18: ("LpPool", "Pad", "Resize"),
        19: ("Cast", "CastLike", "QuantizeLinear"),
        21: ("DequantizeLinear", "QuantizeLinear"),
        23: ("DequantizeLinear", "QuantizeLinear"),
        24: ("Attention", "Cast", "CastLike"),
        25: ("Attention",),
        27: ("Range",),
        28: ("SpaceToDepth",),
    },
    "text": {11: ("ConvTranspose",)},
}  # fmt: skip
NOTHING_TO_DO: dict[str, dict[int, str]] = {}
"""For each operator the versions that changed its schema and leave its nodes as they are, with the reason."""
for _reason, _versions in _BY_REASON.items():
    for _version, _op_types in _versions.items():
        for _op_type in _op_types:
            NOTHING_TO_DO.setdefault(_op_type, {})[_version] = _reason
