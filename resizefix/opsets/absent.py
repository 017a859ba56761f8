"""The other half of the table: operators that opset 8 has no form for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from resizefix.opsets.verdict import OLDER_EXPORT


@dataclass(frozen=True)
class Absent:
    """Why an operator is refused, and what the user can do about it."""

    reason: str
    mend: str = OLDER_EXPORT


_RESIZE = Absent("opsets.handled-here-must-stand", "opsets.rewrite-first")
_QUANTIZED = Absent("opsets.quantised-operators-did-exist", "opsets.use-model-before-quantisation")
_BITS = Absent("opsets.opset-operator-bits-multiplying")
_SEQUENCE = Absent("opsets.opset-sequences", "opsets.let-model-pass-tensors")
_OPTIONAL = Absent("opsets.opset-optional-values", "opsets.give-model-plain-tensor")
_DATA_SHAPED = Absent("opsets.shape-result-depends-data")
_SCATTER = Absent("opsets.writes-positions-given-data")
_SPECTRAL = Absent("opsets.opset-fourier-transform-window")
_CANCELLING = Absent("opsets.exponentials-logarithms-lose-relative")
_TRAINING = Absent("opsets.operator-training", "opsets.export-model-inference")
_TEXT = Absent("opsets.opset-operator-text-encoded", "opsets.do-work-outside-model")
_SAMPLING = Absent("opsets.samples-coordinates-given-data")
_STATEFUL = Absent("opsets.kernel-language-models-convolutional")

ABSENT: dict[str, Absent] = {
    "Resize": _RESIZE,
    "Upsample": _RESIZE,
    "QuantizeLinear": _QUANTIZED,
    "DequantizeLinear": _QUANTIZED,
    "DynamicQuantizeLinear": _QUANTIZED,
    "QLinearConv": _QUANTIZED,
    "QLinearMatMul": _QUANTIZED,
    "ConvInteger": _QUANTIZED,
    "MatMulInteger": _QUANTIZED,
    "BitShift": _BITS,
    "BitwiseAnd": _BITS,
    "BitwiseOr": _BITS,
    "BitwiseXor": _BITS,
    "BitwiseNot": _BITS,
    "BitCast": _BITS,
    "SequenceAt": _SEQUENCE,
    "SequenceConstruct": _SEQUENCE,
    "SequenceEmpty": _SEQUENCE,
    "SequenceErase": _SEQUENCE,
    "SequenceInsert": _SEQUENCE,
    "SequenceLength": _SEQUENCE,
    "SequenceMap": _SEQUENCE,
    "SplitToSequence": _SEQUENCE,
    "ConcatFromSequence": _SEQUENCE,
    "Optional": _OPTIONAL,
    "OptionalGetElement": _OPTIONAL,
    "OptionalHasElement": _OPTIONAL,
    "NonZero": _DATA_SHAPED,
    "Unique": _DATA_SHAPED,
    "Compress": _DATA_SHAPED,
    "NonMaxSuppression": _DATA_SHAPED,
    "Scatter": _SCATTER,
    "ScatterElements": _SCATTER,
    "ScatterND": _SCATTER,
    "TensorScatter": _SCATTER,
    "MaxUnpool": _SCATTER,
    "Col2Im": _SCATTER,
    "GatherElements": Absent("opsets.gathers-along-axis-positions"),
    "OneHot": Absent("opsets.onehot-came-opset-off"),
    "EyeLike": Absent("opsets.eyelike-came-opset", "opsets.make-constant-fold-model"),
    "ReverseSequence": Absent("opsets.each-row-reversed-over"),
    "CenterCropPad": Absent("opsets.where-crops-where-pads", "opsets.use-slice-pad"),
    "CumSum": Absent("opsets.order-running-sum-said"),
    "CumProd": Absent("opsets.opset-running-product"),
    "Det": Absent("opsets.opset-determinant"),
    "DFT": _SPECTRAL,
    "STFT": _SPECTRAL,
    "MelWeightMatrix": _SPECTRAL,
    "BlackmanWindow": _SPECTRAL,
    "HammingWindow": _SPECTRAL,
    "HannWindow": _SPECTRAL,
    "Acosh": _CANCELLING,
    "Asinh": _CANCELLING,
    "Atanh": _CANCELLING,
    "Sinh": _CANCELLING,
    "Cosh": _CANCELLING,
    "Bernoulli": _TRAINING,
    "NegativeLogLikelihoodLoss": _TRAINING,
    "SoftmaxCrossEntropyLoss": _TRAINING,
    "StringNormalizer": _TEXT,
    "StringConcat": _TEXT,
    "StringSplit": _TEXT,
    "RegexFullMatch": _TEXT,
    "TfIdfVectorizer": _TEXT,
    "ImageDecoder": _TEXT,
    "AffineGrid": _SAMPLING,
    "GridSample": _SAMPLING,
    "RoiAlign": _SAMPLING,
    "DeformConv": _SAMPLING,
    "Attention": _STATEFUL,
    "RotaryEmbedding": _STATEFUL,
}
