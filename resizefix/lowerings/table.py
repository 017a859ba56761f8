"""All lowerings in order of preference, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.document.edits import Replacement
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.lowerings.convolutions import AVERAGE_POOL, CONV_TRANSPOSE, DEPTHWISE_CONV_TRANSPOSE
from resizefix.lowerings.copies import GATHER, IDENTITY, REPEAT, SPLIT_CONCAT, STRIDED_SLICE
from resizefix.lowerings.kept_resizes import PAD_UPSAMPLE_SLICE, TWO_4D_RESIZES
from resizefix.lowerings.lowering import Lowering, why_not_native
from resizefix.lowerings.matmul import MATMUL, SMALL_MATMUL, TRANSPOSED_MATMUL

LOWERINGS: tuple[Lowering, ...] = (
    # Copies first: they are exact.
    IDENTITY,
    REPEAT,
    STRIDED_SLICE,
    GATHER,
    # Equal numbers, but negative zero.
    DEPTHWISE_CONV_TRANSPOSE,
    # Within a bound, the faster in onnxruntime first (docs/lowerings.md).
    AVERAGE_POOL,
    SMALL_MATMUL,
    CONV_TRANSPOSE,
    MATMUL,
    # The same without a Reshape, for volumes where a target has none of five axes.
    TRANSPOSED_MATMUL,
    # Keeps an interpolation node, though a simpler one.
    PAD_UPSAMPLE_SLICE,
)

_NUMBERS = (AVERAGE_POOL, SMALL_MATMUL, MATMUL)
BY_TARGET: Mapping[str, tuple[Lowering, ...]] = {
    # pnnx leaves Gather, and refuses the reshapes of `repeat` and slices with steps.
    # Of integers it computes nothing, but copies: sample by sample.
    "ncnn": (IDENTITY, DEPTHWISE_CONV_TRANSPOSE, *_NUMBERS, TRANSPOSED_MATMUL, SPLIT_CONCAT),
    # No Unsqueeze of two axes ("repeat"), no deconvolution with other padding at the end than at the beginning.
    "opencv-4": (IDENTITY, STRIDED_SLICE, GATHER, DEPTHWISE_CONV_TRANSPOSE, *_NUMBERS),
}
"""The order for targets that do not compute them all right, measured (benchmarks/lowerings_live.py); what is not listed
is not used there. The others have the order of LOWERINGS."""

BY_NAME: Mapping[str, Lowering] = {
    lowering.name.replace("_", "-"): lowering
    # The last two are large, or keep two nodes of the same mode: no target is helped by them that has others.
    for lowering in (*LOWERINGS, SPLIT_CONCAT, TWO_4D_RESIZES)
}
"""The lowerings that a user can ask for, by the name that is typed."""

_IN_WORDS: Mapping[str, str] = {
    "identity": "lowerings.by-identity",
    "repeat": "lowerings.by-repeat",
    "strided_slice": "lowerings.by-strided-slice",
    "gather": "lowerings.by-gather",
    "depthwise_conv_transpose": "lowerings.by-depthwise-conv-transpose",
    "average_pool": "lowerings.by-average-pool",
    "small_matmul": "lowerings.by-small-matmul",
    "split_concat": "lowerings.by-split-concat",
    "conv_transpose": "lowerings.by-conv-transpose",
    "matmul": "lowerings.by-matmul",
    "transposed_matmul": "lowerings.by-transposed-matmul",
    "pad_upsample_slice": "lowerings.by-pad-upsample-slice",
    "two_4d_resizes": "lowerings.by-two-4d-resizes",
}


def lowerings_for(target: str | None) -> tuple[Lowering, ...]:
    """What may replace a node for the target of that name (None: for anybody), in order of preference."""
    return LOWERINGS if target is None else BY_TARGET.get(target, LOWERINGS)


def in_words(name: str) -> str:
    """What the lowering of that name writes, for people to read."""
    return Diagnostic(_IN_WORDS[name])


def lower(
    subject: ResizeSpec,
    *,
    x: str,
    y: str,
    opset: int,
    fresh: Callable[[str], str],
    among: Sequence[Lowering] = LOWERINGS,
    why_not: Callable[[Lowering], str | None] = lambda lowering: None,
) -> Iterator[Replacement]:
    """Each of `among` that replaces a node computing `y` from `x` in a model of this opset, in order.

    `fresh` makes a name that is not used yet from a suggestion.
    `why_not` says of a lowering why the target does not take its operators (`Lowering.operators`); None: it does.

    Raises:
        RefusedError: none applies; the text gives each one's reason.

    """
    nothing_to_match = why_not_native(subject)
    if nothing_to_match:
        raise RefusedError("lowerings.nothing-to-match", why=nothing_to_match, rule="lowering")
    reasons = []
    for lowering in among:
        reason = lowering.applies(subject, opset) or why_not(lowering)
        if reason is None:
            yield lowering.build(subject, x=x, y=y, opset=opset, fresh=fresh)
        else:
            reasons.append(f"{in_words(lowering.name)}: {reason}")
    if len(reasons) == len(among):
        raise RefusedError("lowerings.none-applies", reasons="; ".join(reasons), rule="lowering")
