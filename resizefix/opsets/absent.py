"""The other half of the table: operators that opset 8 has no form for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from resizefix.opsets.verdict import OLDER_EXPORT


@dataclass(frozen=True)
class Absent:
    """Why an operator is refused, and what the user can do about it."""

    reason: str
    fix: str = OLDER_EXPORT


_RESIZE = Absent("opsets.resize-is-no-row", "opsets.fix-rewrite-resize")
_QUANTIZED = Absent("opsets.no-quantisation", "opsets.fix-unquantised")
_BITS = Absent("opsets.no-bits")
_SEQUENCE = Absent("opsets.no-sequences", "opsets.fix-pass-tensors")
_OPTIONAL = Absent("opsets.no-optional-values", "opsets.fix-plain-inputs")
_DATA_SHAPED = Absent("opsets.no-shape-from-data")
_SCATTER = Absent("opsets.no-scatter")
_SPECTRAL = Absent("opsets.no-spectrum")
_CANCELLING = Absent("opsets.loses-precision-near-zero")
_TRAINING = Absent("opsets.is-for-training", "opsets.fix-export-for-inference")
_TEXT = Absent("opsets.no-text-or-images", "opsets.fix-outside-the-model")
_SAMPLING = Absent("opsets.no-sampling-by-data")
_STATEFUL = Absent("opsets.is-for-language-models")

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
    "GatherElements": Absent("opsets.no-gather-elements"),
    "OneHot": Absent("opsets.no-one-hot"),
    "EyeLike": Absent("opsets.no-eye-like", "opsets.fix-fold"),
    "ReverseSequence": Absent("opsets.no-reverse-sequence"),
    "CenterCropPad": Absent("opsets.no-center-crop-pad", "opsets.fix-slice-and-pad"),
    "CumSum": Absent("opsets.no-running-sum"),
    "CumProd": Absent("opsets.no-running-product"),
    "Det": Absent("opsets.no-determinant"),
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
