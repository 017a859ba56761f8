"""Sizes that hold 1 for batch and channels of a tensor that has more: torch 1.3 at opset 11."""

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import sizes_of_input
from resizefix.faults.resize_node import INT64, Operand, ResizeNode

LOST_CHANNELS = "lost-channels"


def lost_channels(node: ResizeNode, _: Preferences) -> Fault | None:
    """Sizes [1, 1, height, width] for an image of several channels, where nothing else says that they are meant.

    torch/onnx/symbolic_opset11.py of torch 1.3 puts ones before the computed height and width; onnxruntime then keeps
    the first channel alone where the mode is nearest, and refuses the node otherwise.
    """
    scales, sizes = node.extents
    rank = node.rank
    if sizes is None or scales is not None or rank is None or rank < 3 or "axes" in node.attributes:
        return None
    batch, channels = _known(node)
    if channels is None or channels < 2 or batch not in (None, 1) or sizes.elem_type not in (None, INT64):
        return None
    tail = _behind_two_ones(node, sizes, rank)
    evidence = _evidence(node, channels)
    if tail is None or evidence is None:
        return None
    because = Diagnostic("faults.channels-lost", channels=channels)
    fix = Diagnostic("faults.channels-of-input", evidence=evidence)
    return Fault(LOST_CHANNELS, because, fix, sizes_of_input(node, sizes.position, 2, tail), keeps_numbers=False)


def _known(node: ResizeNode) -> tuple[int | None, int | None]:
    """Batch and channels: of the input; where that is not known, of the stored output, which should have the same."""
    for dims in (node.input_dims, node.stored_dims):
        if dims is not None and len(dims) > 1 and isinstance(dims[1], int):
            return (dims[0] if isinstance(dims[0], int) else None), dims[1]
    return None, None


def _evidence(node: ResizeNode, channels: int) -> Diagnostic | None:
    """What says that the channels are to stay; None: nothing does."""
    stored = node.stored_dims
    if stored is not None and len(stored) > 1 and stored[1] == channels:
        return Diagnostic("faults.channels-stored", channels=channels)
    if node.attributes.get("mode", "nearest") != "nearest":
        return Diagnostic("faults.channels-not-interpolated")
    if node.view.model.producer_name == "pytorch":
        return Diagnostic("faults.channels-of-torch")
    return None


def _behind_two_ones(node: ResizeNode, sizes: Operand, rank: int) -> list[str] | list[int] | None:
    """What follows the two ones: numbers of constant sizes, or the other names of the Concat that makes them."""
    if sizes.value is not None:
        fits = sizes.value.shape == (rank,) and sizes.value.dtype == np.int64 and sizes.value[:2].tolist() == [1, 1]
        return [int(size) for size in sizes.value[2:]] if fits else None
    made = node.definition(sizes.name)
    concat = None if made is None else made.node
    if concat is None or concat.op_type != "Concat" or concat.domain not in DEFAULT_DOMAINS or len(concat.input) < 2:
        return None
    ones = node.value_of(concat.input[0])
    return list(concat.input[1:]) if ones is not None and ones.tolist() == [1, 1] else None
