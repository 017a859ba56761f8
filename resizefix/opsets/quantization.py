"""Quantisation: each version says more of scales, of which the older ones know one for a whole tensor."""

import math
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from resizefix.opsets.site import OpsetRow, OpsetSite, only, without
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked

_LATER = "opsets.no-attribute"


def of_one_scale(site: OpsetSite) -> None:
    """Before 13 one scale is for the whole tensor."""
    dims = site.dims(site.input(1))
    if dims is None or None in dims or math.prod(size or 0 for size in dims) != 1:
        raise Blocked("opsets.scale-of-axis", OLDER_EXPORT)
    site.copy_node(without=["axis"])


def without_blocks(site: OpsetSite) -> None:
    """Blocks, and the type of the result without a zero point, came with 21."""
    if site.attribute("block_size", 0):
        raise Blocked(_LATER, OLDER_EXPORT, name="block_size", since=21)
    wanted = site.attribute("output_dtype", 0)
    inputs = list(site.node.input)
    if wanted and not site.input(2) and wanted != TensorProto.UINT8:
        zero: Any = np.zeros(site.static_dims(site.input(1)), helper.tensor_dtype_to_np_dtype(wanted))
        inputs[2:] = [site.value(zero, "zero_point")]
    site.copy_node(inputs=inputs, without=["block_size", "output_dtype"])


def typed_by_scale(site: OpsetSite) -> None:
    """Before 23 the result of DequantizeLinear has the type of its scale."""
    wanted = site.attribute("output_dtype", 0)
    if wanted and wanted != site.elem_type(site.input(1)):
        raise Blocked(_LATER, OLDER_EXPORT, name="output_dtype", since=23)
    site.copy_node(without=["output_dtype"])


# Sources: docs/Changelog.md. Others: more types.
_BLOCKED = only(block_size=0)
ROWS: tuple[OpsetRow, ...] = (
    OpsetRow(
        "QuantizeLinear",
        {13: of_one_scale, 19: without("saturate"), 21: without_blocks, 23: only(precision=0)},
        (24, 25, 28),
    ),
    OpsetRow("DequantizeLinear", {13: of_one_scale, 21: _BLOCKED, 23: typed_by_scale}, (19, 24, 25, 28)),
    OpsetRow("QLinearMatMul", {}, (21,)),
)
