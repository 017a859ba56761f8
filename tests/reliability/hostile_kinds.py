"""Resizes of every spelling whose operands are of every element type, whose input is of every rank, and whose constants
lie at any place of another file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from hostile_models import Fill, file_of, model, resize, value
from onnx import NodeProto, TensorProto, helper

RANKS = (0, 65, 500)
NUMBERS = ("", "-1", "+1", "1e3", "17", "9" * 19, "9" * 20, "9" * 5000, "\x1b[2J")
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
    for position in ("offset", "length", "location"):
        for number in NUMBERS:
            for what in ("scales", "w"):
                yield f"{what}-{position}-{number[:20]}", _external(what, position, number)


def _of_type(elem_type: int) -> TensorProto:
    tensor = TensorProto(name="scales", data_type=elem_type, dims=[4])
    if elem_type == TensorProto.STRING:
        tensor.string_data.extend([b"a", b"1", b"2", b"\x1b[2J"])
    elif elem_type in (TensorProto.FLOAT, TensorProto.COMPLEX64):
        tensor.float_data.extend([1, 1, 2, 2] * (2 if elem_type == TensorProto.COMPLEX64 else 1))
    elif elem_type in (TensorProto.DOUBLE, TensorProto.COMPLEX128):
        tensor.double_data.extend([1, 1, 2, 2] * (2 if elem_type == TensorProto.COMPLEX128 else 1))
    elif elem_type == TensorProto.INT64:
        tensor.int64_data.extend([1, 1, 2, 2])
    elif elem_type in (TensorProto.UINT32, TensorProto.UINT64):
        tensor.uint64_data.extend([1, 1, 2, 2])
    else:
        tensor.int32_data.extend([1, 1, 2, 2])
    return tensor


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


def _external(what: str, position: str, number: str) -> Fill:
    tensor = TensorProto(name=what, data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    said = {"location": "data", "offset": "0", "length": "16", position: number}
    for key, text in said.items():
        tensor.external_data.add(key=key, value=text)
    nodes: list[NodeProto] = [resize()]
    tensors = [tensor]
    if what == "w":
        nodes = [helper.make_node("Add", ["x", "w"], ["t"]), resize("t")]
        tensors.append(helper.make_tensor("scales", 1, [4], [1, 1, 2, 2]))

    def fill(folder: Path) -> None:
        (folder / "data").write_bytes(np.array([1, 1, 2, 2], np.float32).tobytes())
        file_of(model(nodes, tensors))(folder)

    return fill
