"""The other half of the table: operators that opset 8 has no form for, and why."""

from __future__ import annotations

from dataclasses import dataclass

from resizefix.opsets.verdict import OLDER_EXPORT


@dataclass(frozen=True)
class Absent:
    """Why an operator is refused, and what the user can do about it."""

    reason: str
    mend: str = OLDER_EXPORT


_RESIZE = Absent(
    "not handled here: it must stand in the form of Upsample-7, or as other operators, before the opset goes down",
    "rewrite it first",
)
_QUANTIZED = Absent("quantised operators did not exist before opset 10", "use the model as it was before quantisation")
_BITS = Absent("opset 8 has no operator on bits, and multiplying by powers of two has no kernel for unsigned integers")
_SEQUENCE = Absent("opset 8 has no sequences", "let the model pass tensors; run the list's operators unrolled")
_OPTIONAL = Absent("opset 8 has no optional values", "give the model plain tensor inputs")
_DATA_SHAPED = Absent("the shape of its result depends on the data, and no operator of opset 8 makes such a shape")
_SCATTER = Absent("it writes at positions given by data, and no operator of opset 8 does")
_SPECTRAL = Absent("opset 8 has no Fourier transform or window")
_CANCELLING = Absent("from exponentials and logarithms it would lose its relative precision near 0")
_TRAINING = Absent("an operator of training", "export the model for inference")
_TEXT = Absent("opset 8 has no operator on text or encoded images", "do that work outside the model")
_SAMPLING = Absent("it samples at coordinates given by data, and no operator of opset 8 does")
_STATEFUL = Absent("a kernel for language models; no convolutional net holds it, and nobody has decomposed it here")

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
    "GatherElements": Absent(
        "it gathers along one axis at positions given by data for every other, which Gather-1 cannot"
    ),
    "OneHot": Absent(
        "OneHot came with opset 9, and its on and off values may be any number: multiplying by 0 is not exact"
    ),
    "EyeLike": Absent("EyeLike came with opset 9", "make it a constant: fold the model with fixed input shapes"),
    "ReverseSequence": Absent("each row is reversed over its own length, given by data"),
    "CenterCropPad": Absent("where it crops and where it pads depends on the size at run time", "use Slice and Pad"),
    "CumSum": Absent("the order of a running sum cannot be said with sums of opset 8"),
    "CumProd": Absent("opset 8 has no running product"),
    "Det": Absent("opset 8 has no determinant"),
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
