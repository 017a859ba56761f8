"""All operators that changed since opset 7: rows for the versions that an older one can say, and for each operator why
there is nothing before its first."""

from typing import NamedTuple

from resizefix.opsets import (
    constants,
    elementwise,
    linear,
    reductions,
    selection,
    shapes_ops,
    special_fields,
    subgraphs,
)
from resizefix.opsets.site import OpsetRow
from resizefix.opsets.verdict import OLDER_EXPORT

ROOMS = (
    constants, elementwise, linear, reductions, selection, shapes_ops, special_fields, subgraphs,
)  # fmt: skip
DOWN: dict[str, OpsetRow] = {row.op_type: row for room in ROOMS for row in room.ROWS}


class Absent(NamedTuple):
    """Why an operator is refused, and what the user can do about it."""

    reason: str
    fix: str = OLDER_EXPORT


_GROUPS: tuple[tuple[Absent, tuple[str, ...]], ...] = (
    (Absent("opsets.resize-is-no-row", "opsets.fix-rewrite-resize"), ("Resize", "Upsample")),
    (Absent("opsets.no-quantisation", "opsets.fix-unquantised"), (
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
        "ConvInteger", "MatMulInteger",
    )),
    (Absent("opsets.no-bits"), ("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitCast")),
    (Absent("opsets.no-sequences", "opsets.fix-pass-tensors"), (
        "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
        "SequenceMap", "SplitToSequence", "ConcatFromSequence",
    )),
    (Absent("opsets.no-optional-values", "opsets.fix-plain-inputs"), (
        "Optional", "OptionalGetElement", "OptionalHasElement",
    )),
    (Absent("opsets.no-shape-from-data"), ("NonZero", "Unique", "Compress", "NonMaxSuppression")),
    (Absent("opsets.no-scatter"), ("Scatter", "ScatterND", "TensorScatter", "MaxUnpool", "Col2Im")),
    (Absent("opsets.no-gather-elements"), ("GatherElements",)),
    (Absent("opsets.no-one-hot"), ("OneHot",)),
    (Absent("opsets.no-eye-like", "opsets.fix-fold"), ("EyeLike",)),
    (Absent("opsets.no-reverse-sequence"), ("ReverseSequence",)),
    (Absent("opsets.no-center-crop-pad", "opsets.fix-slice-and-pad"), ("CenterCropPad",)),
    (Absent("opsets.no-running-sum"), ("CumSum",)),
    (Absent("opsets.no-running-product"), ("CumProd",)),
    (Absent("opsets.no-determinant"), ("Det",)),
    (Absent("opsets.no-spectrum"), ("DFT", "STFT", "MelWeightMatrix", "BlackmanWindow", "HammingWindow", "HannWindow")),
    (Absent("opsets.loses-precision-near-zero"), ("Acosh", "Asinh", "Atanh", "Sinh", "Cosh")),
    (Absent("opsets.no-scan-before-8"), ("Scan",)),
    (Absent("opsets.is-for-training", "opsets.fix-export-for-inference"), (
        "Bernoulli", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
    )),
    (Absent("opsets.no-text-or-images", "opsets.fix-outside-the-model"), (
        "StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer", "ImageDecoder",
    )),
    (Absent("opsets.no-sampling-by-data"), ("AffineGrid", "GridSample", "RoiAlign", "DeformConv")),
    (Absent("opsets.is-for-language-models"), (
        "Attention", "RotaryEmbedding", "LinearAttention", "CausalConvWithState", "SwiGLU",
    )),
)  # fmt: skip
"""For each reason the operators that have it."""

ABSENT: dict[str, Absent] = {operator: absent for absent, operators in _GROUPS for operator in operators}
