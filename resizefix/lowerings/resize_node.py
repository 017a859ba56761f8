"""The interpolation node that a lowering keeps, in the dialect of the model's opset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.document.node_builder import NodeBuilder
from resizefix.interpolation import ExtentKind, Interpolation


def resize_node(
    interpolation: Interpolation, extent: ExtentKind, values: Sequence[float], x: str, builder: NodeBuilder
) -> str:
    """Adds the node that resizes `x`, all axes listed, and gives its output's name."""
    dialect = dialect_of("Upsample" if builder.opset < 10 else "Resize", builder.opset)
    name = builder.fresh("upsample")
    if dialect.scales_input is None:
        operands = Operands(x, scales_attribute=tuple(values))
        return builder.append(write(interpolation, operands, dialect, name=name, output=name))
    demands_all = dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional  # Resize-11
    roi = builder.value([], "roi", np.float32) if demands_all else None
    if extent is ExtentKind.SIZES:
        scales = builder.value([], "scales", np.float32) if demands_all else None
        operands = Operands(x, roi=roi, scales=scales, sizes=builder.value(values, "sizes", np.int64))
    else:
        operands = Operands(x, roi=roi, scales=builder.value(values, "scales", np.float32))
    return builder.append(write(interpolation, operands, dialect, name=name, output=name))
