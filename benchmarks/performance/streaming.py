"""Writes a model of any size without holding its weights: payloads are generated while they are written.

The fields of the protobuf messages stand in the order of their numbers, as every exporter writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx

# Field numbers of onnx.proto, as tags of length-delimited fields.
GRAPH = (7 << 3) | 2
INITIALIZER = (5 << 3) | 2
RAW_DATA = (9 << 3) | 2
ALIGNMENT = 4096
BLOCK = 1 << 20  # numbers generated at a time


@dataclass(frozen=True)
class Weight:
    """A float32 initializer: normally distributed numbers of this deviation, the same in every run."""

    name: str
    shape: tuple[int, ...]
    deviation: float

    @property
    def size(self) -> int:
        """Its bytes."""
        return 4 * int(np.prod(self.shape, dtype=np.int64))

    def chunks(self, seed: int) -> Iterator[bytes]:
        generator = np.random.default_rng(seed)
        block = (generator.standard_normal(min(BLOCK, self.size // 4)) * self.deviation).astype("<f4")
        left = self.size // 4
        while left:
            count = min(left, len(block))
            # Turned by a prime, so that no two blocks are the same bytes.
            yield np.roll(block, left % 104729)[:count].tobytes()
            left -= count


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def header(weight: Weight) -> bytes:
    return onnx.TensorProto(dims=weight.shape, data_type=onnx.TensorProto.FLOAT, name=weight.name).SerializeToString()


def write_embedded(model: onnx.ModelProto, weights: Sequence[Weight], path: Path) -> None:
    """The model with the weights inside its file; `model` has none of them."""
    # Two halves of the graph around its initializers: what has a smaller field number, and what has a larger one.
    small = {"node", "name", "initializer"}
    before = without(model.graph, {field.name for field, _ in model.graph.ListFields()} - small)
    after = without(model.graph, small)
    first, last = before.SerializeToString(), after.SerializeToString()
    heads = []
    for weight in weights:
        head = header(weight) + varint(RAW_DATA) + varint(weight.size)
        heads.append(varint(INITIALIZER) + varint(len(head) + weight.size) + head)
    size = len(first) + sum(len(head) + weight.size for head, weight in zip(heads, weights, strict=True)) + len(last)
    shell, props = (
        onnx.ModelProto(),
        onnx.ModelProto(metadata_props=model.metadata_props, opset_import=model.opset_import),
    )
    shell.CopyFrom(model)
    for name in ("graph", "metadata_props", "opset_import"):
        shell.ClearField(name)
    with path.open("wb") as file:
        file.write(shell.SerializeToString() + varint(GRAPH) + varint(size) + first)
        for index, (head, weight) in enumerate(zip(heads, weights, strict=True)):
            file.write(head)
            write_payload(file, weight, index)
        file.write(last + props.SerializeToString())


def write_external(model: onnx.ModelProto, weights: Sequence[Weight], path: Path) -> None:
    """The model with the weights in one file beside it, each on a page of its own."""
    location = f"{path.name}.data"
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    with path.with_name(location).open("wb") as file:
        for index, weight in enumerate(weights):
            file.write(bytes(-file.tell() % ALIGNMENT))
            tensor = whole.graph.initializer.add(
                dims=weight.shape,
                data_type=onnx.TensorProto.FLOAT,
                name=weight.name,
                data_location=onnx.TensorProto.EXTERNAL,
            )
            for key, value in (("location", location), ("offset", file.tell()), ("length", weight.size)):
                tensor.external_data.add(key=key, value=str(value))
            write_payload(file, weight, index)
    path.write_bytes(whole.SerializeToString())


def write_payload(file: BinaryIO, weight: Weight, seed: int) -> None:
    for chunk in weight.chunks(seed):
        file.write(chunk)


def without(graph: onnx.GraphProto, fields: set[str]) -> onnx.GraphProto:
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    for name in fields:
        copy.ClearField(name)
    return copy
