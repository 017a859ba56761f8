"""What blocks are built with: a network for one input size, the map behind which nodes are added, and the blocks.

A block adds nodes to a `Net` behind a `Map` and gives the map that it makes. Whatever depends on the input's size is a
constant of the file, as tracing leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


class Map(NamedTuple):
    """A tensor [1, c, h, w]."""

    name: str
    c: int
    h: int
    w: int


class Net:
    """A network for one input size; what `pick` draws is the same at every size."""

    def __init__(self, seed: int, height: int, width: int) -> None:
        self.draw, self.seed = np.random.default_rng(seed), seed
        self.height, self.width = height, width
        self.nodes: list = []
        self.constants: list[TensorProto] = []
        self.skips: list[Map] = []

    def const(self, values, dtype=np.int64) -> str:
        self.constants.append(numpy_helper.from_array(np.array(values, dtype), f"k{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value) -> str:
        return self.const(value, np.float32)

    def weight(self, *shape: int) -> str:
        values = np.random.default_rng((self.seed, len(self.constants))).standard_normal(shape)
        return self.const(values / np.sqrt(max(np.prod(shape[1:]), 1)), np.float32)

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"t{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, name=f"{op_type}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def pick(self, *choices):
        return choices[int(self.draw.integers(len(choices)))]

    def model(self, x: Map, further: list[str]) -> ModelProto:
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, self.height, self.width])
        self.nodes.append(helper.make_node("Identity", [x.name], ["out"], name="out"))
        outputs = [helper.make_empty_tensor_value_info(name) for name in ["out", *further]]
        graph = helper.make_graph(self.nodes, "net", [image], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


Block = Callable[[Net, Map], Map]
BLOCKS: dict[str, Block] = {}


def block(function: Block) -> Block:
    """Adds a block under its name."""
    BLOCKS[function.__name__.strip("_")] = function
    return function


def same(x: Map, name: str) -> Map:
    return x._replace(name=name)


def row(n: Net, x: Map, values, axis: int) -> str:
    """A table along the height (2) or the width (3)."""
    shape = [1, 1, -1, 1] if axis == 2 else [1, 1, 1, -1]
    return n.const(np.array(values, np.float32).reshape(shape), np.float32)


def length(x: Map, axis: int) -> int:
    return x.h if axis == 2 else x.w
