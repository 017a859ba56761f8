"""Resizes of every spelling whose operands are of every element type, and whose input is of every rank."""

from collections.abc import Iterator, Sequence

from hostile_models import Fill, file_of, model, value
from onnx import TensorProto, helper

RANKS = (0, 65, 500)
# By opset, how a node says what its input is scaled by; None: in an attribute.
_OPERANDS: dict[int, tuple[str, tuple[str, ...] | None]] = {
    1: ("Upsample", None),
    8: ("Upsample", None),
    9: ("Upsample", ("scales",)),
    10: ("Resize", ("scales",)),
    11: ("Resize", ("roi", "scales")),
    13: ("Resize", ("", "scales")),
    19: ("Resize", ("", "", "scales")),
}


def kinds() -> Iterator[tuple[str, Fill]]:
    """Element types of operands, and ranks."""
    for opset, (op_type, operands) in _OPERANDS.items():
        for name, elem_type in TensorProto.DataType.items() if opset in (9, 13) else ():
            yield f"{op_type}-{opset}-{name}", _resizing(opset, op_type, operands or (), [_of_type(elem_type)], 4)
        for rank in RANKS:
            scales = [1.0] * max(rank - 2, 0) + [2.0] * min(rank, 2)
            attributes: dict[str, object] = {"scales": scales} if operands is None and scales else {}
            if opset == 1:
                attributes = {"height_scale": 2.0, "width_scale": 2.0}
            dtype = TensorProto.INT64 if opset == 19 else TensorProto.FLOAT
            numbers = [2 if opset == 19 else scale for scale in scales]
            tensors = [helper.make_tensor("scales", dtype, [rank], numbers)] if operands is not None else []
            for text, shape in (("fixed", [1] * rank), ("open", [f"d{axis}" for axis in range(rank)])):
                fill = _resizing(opset, op_type, operands or (), tensors, rank, shape, **attributes)
                yield f"{op_type}-{opset}-rank-{rank}-{text}", fill


# Where the numbers of a type lie; those of all others in int32_data.
_FIELDS = {
    TensorProto.FLOAT: "float_data",
    TensorProto.COMPLEX64: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.COMPLEX128: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}


def _of_type(elem_type: int) -> TensorProto:
    if elem_type == TensorProto.STRING:
        return helper.make_tensor("scales", elem_type, [4], [b"a", b"1", b"2", b"\x1b[2J"])
    numbers = [1, 1, 2, 2] * (2 if elem_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128) else 1)
    field = _FIELDS.get(elem_type, "int32_data")
    return TensorProto(name="scales", data_type=elem_type, dims=[4], **{field: numbers})


def _resizing(
    opset: int,
    op_type: str,
    operands: Sequence[str],
    tensors: Sequence[TensorProto],
    rank: int,
    shape: Sequence[object] | None = None,
    **attributes: object,
) -> Fill:
    more = [helper.make_tensor("roi", TensorProto.FLOAT, [0], [])] if "roi" in operands else []
    node = helper.make_node(op_type, ["x", *operands], ["y"], name="resize", **attributes)
    inputs = [value("x", [1, 1, 4, 4] if shape is None else list(shape))]
    return file_of(model([node], [*tensors, *more], inputs=inputs, opset=opset))
