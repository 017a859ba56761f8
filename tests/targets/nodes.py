"""Facts of four ordinary nodes (scale H and W by 2), to start examples from."""

from onnx import TensorProto

from resizefix.interpolation import ExtentKind
from resizefix.targets.facts import OperandSource, Roi, SiteFacts

UPSAMPLE_7 = SiteFacts(
    node="up", op_type="Upsample", opset=8, ir_version=3, attributes=frozenset({"mode", "scales"}), n_inputs=1,
    extent=ExtentKind.SCALES, source=OperandSource.ATTRIBUTE, values=(1.0, 1.0, 2.0, 2.0), length=4, operand_rank=1,
    operand_type=TensorProto.FLOAT, rank=4, input_shape=(1, 3, 8, 8), output_shape=(1, 3, 16, 16),
    elem_type=TensorProto.FLOAT,
)  # fmt: skip


def changed(facts: SiteFacts, **changes: object) -> SiteFacts:
    """The same node but for these facts."""
    if "rank" in changes and "input_shape" not in changes:
        changes["input_shape"] = None
    return SiteFacts(**{**vars(facts), **changes})


UPSAMPLE_9 = changed(UPSAMPLE_7, opset=9, attributes=frozenset({"mode"}), n_inputs=2, source=OperandSource.INITIALIZER)
RESIZE_10 = changed(UPSAMPLE_9, op_type="Resize", opset=10)
RESIZE_11 = changed(
    RESIZE_10, opset=11, ir_version=6, attributes=frozenset({"mode", "coordinate_transformation_mode", "nearest_mode"}),
    coordinate_transformation_mode="asymmetric", nearest_mode="floor", n_inputs=3, roi=Roi.EMPTY,
)  # fmt: skip
SIZED_11 = changed(
    RESIZE_11, n_inputs=4, extent=ExtentKind.SIZES, values=(1.0, 3.0, 16.0, 16.0), operand_type=TensorProto.INT64
)
NODES = {"Upsample-7": UPSAMPLE_7, "Upsample-9": UPSAMPLE_9, "Resize-10": RESIZE_10, "Resize-11": RESIZE_11}
