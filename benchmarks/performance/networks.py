"""The graphs that are measured: small enough to hold, their weights only named (`streaming.Weight`).

Every graph has interpolation nodes with constant scales, so that a promotion has something to do, and runs in
onnxruntime: `input` is float32[1,3,8,8] in all of them, and one output depends on every node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.performance.streaming import Weight

OPSET = 17
EDGE = 8  # of the input image
SHAPE = (1, 3, EDGE, EDGE)
POOLED = (1, SHAPE[1], 1, 1)


@dataclass
class Network:
    """A graph being built: `nodes`, small constants in the file, large weights named."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    shape: tuple[int | str, ...] = SHAPE  # of the input

    def add(self, op_type: str, *inputs: str, output: str = "", **attributes: object) -> str:
        output = output or f"/{op_type}_{len(self.nodes)}/output"
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=output.rsplit("/", 1)[0], **attributes))
        return output

    def constant(self, name: str, value: object, dtype: type = np.float32) -> str:
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, shape: tuple[int, ...]) -> str:
        fan_in = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        name = f"weight_{len(self.weights)}"
        self.weights.append(Weight(name, shape, 0.5 * fan_in**-0.5))
        return name

    def resize(self, x: str, factor: float, name: str, mode: str = "linear", *, by_node: bool = False) -> str:
        """An interpolation node; its scales are an initializer, or the output of a Constant node."""
        scales = f"{name}/scales"
        if by_node:
            value = numpy_helper.from_array(np.array([1, 1, factor, factor], np.float32))
            self.add("Constant", output=scales, value=value)
        else:
            self.constant(scales, [1, 1, factor, factor])
        coordinates = {"nearest": "asymmetric", "linear": "half_pixel", "cubic": "half_pixel"}[mode]
        extra = {"nearest_mode": "floor"} if mode == "nearest" else {}
        return self.add(
            "Resize",
            x,
            "",
            scales,
            output=f"{name}/output",
            mode=mode,
            coordinate_transformation_mode=coordinates,
            **extra,
        )

    def conv(self, x: str, shape: tuple[int, int], stride: int = 1) -> str:
        """A convolution of 3×3 with so many channels out and in."""
        return self.add("Conv", x, self.weight((*shape, 3, 3)), pads=[1] * 4, strides=[stride] * 2)

    def model(self, y: str, shape: tuple[int | str, ...]) -> onnx.ModelProto:
        """The model without its weights. `shape` is that of `y`, which becomes the output."""
        self.add("Identity", y, output="output")
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "measured",
            [info("input", TensorProto.FLOAT, self.shape)],
            [info("output", TensorProto.FLOAT, shape)],
            self.constants,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="exporter"
        )
        helper.set_model_props(model, {"stage": "release", "sha": "0123"})
        return model


Built = tuple[onnx.ModelProto, list[Weight]]


def convolutional(channels: int, blocks: int) -> Built:
    """A residual network with a cubic and a linear Resize at its end, as of super-resolution."""
    net = Network()
    x = net.add("Conv", "input", net.weight((channels, 3, 3, 3)), pads=[1] * 4)
    for _ in range(blocks):
        y = net.add("Conv", x, net.weight((channels, channels, 3, 3)), pads=[1] * 4)
        x = net.add("Add", x, net.add("Relu", y))
    x = net.add("Conv", x, net.weight((4, channels, 3, 3)), pads=[1] * 4)
    x = net.resize(x, 2, "/up1/Resize", "cubic", by_node=True)
    x = net.add("Conv", x, net.weight((4, 4, 3, 3)), pads=[1] * 4)
    x = net.resize(x, 2, "/up2/Resize", by_node=True)
    y = net.add("Conv", x, net.weight((3, 4, 3, 3)), pads=[1] * 4)
    return net.model(y, (1, 3, 4 * EDGE, 4 * EDGE)), net.weights


def autoencoder() -> Built:
    """The decoder of an image autoencoder: 48 million weights, a latent of 64×64, three resizes by 2."""
    net = Network(shape=(1, 4, 64, 64))
    x, channels = net.conv("input", (512, 4)), 512
    for width in (512, 512, 512, 256):
        for _ in range(4):
            x, channels = net.add("Relu", net.conv(x, (width, channels))), width
        if width != 256:
            x = net.resize(x, 2, f"/up{len(net.nodes)}/Resize", "nearest")
    y = net.conv(net.conv(x, (128, channels)), (3, 128))
    return net.model(y, (1, 3, 512, 512)), net.weights


def coupled() -> Built:
    """A U-Net: each resize meets a skip."""
    net = Network(shape=(1, 3, 512, 512))
    x, channels, skips = net.conv("input", (32, 3)), 32, []
    for width in (64, 128, 256):
        skips.append((x, channels))
        x, channels = net.add("Relu", net.conv(x, (width, channels), stride=2)), width
    for level, (skip, width) in enumerate(reversed(skips)):
        x = net.conv(net.resize(x, 2, f"/up{level}/Resize"), (width, channels))
        x, channels = net.conv(net.add("Concat", x, skip, axis=1), (width, 2 * width)), width
    return net.model(net.conv(x, (2, channels)), (1, 2, 512, 512)), net.weights


def in_the_middle(width: int) -> Built:
    """Convolutions before, between and behind two resizes, of open height and width."""
    net = Network(shape=(1, 3, "h", "w"))
    x, channels = net.conv("input", (width // 2, 3)), width // 2
    for number in range(12):
        x, channels = net.add("Relu", net.conv(x, (width, channels))), width
        if number in (3, 7):
            x = net.resize(x, 2, f"/up{number}/Resize", "nearest")
    return net.model(net.conv(x, (3, channels)), (1, 3, "h_out", "w_out")), net.weights


def transformer(width: int, blocks: int) -> Built:
    """A vision transformer whose position embedding is resized and cropped, with a dense head that enlarges."""
    net = Network()
    side = EDGE // 4
    x = net.add("Conv", "input", net.weight((width, 3, 4, 4)), strides=[4, 4])
    embedding = net.resize(net.weight((1, width, side, side)), 2, "/position/Resize", "cubic")
    ends, zeros = net.constant("ends", [side, side], np.int64), net.constant("zeros", [0, 0], np.int64)
    x = net.add("Add", x, net.add("Slice", embedding, zeros, ends, net.constant("axes", [2, 3], np.int64)))
    x = net.add("Reshape", x, net.constant("as_tokens", [1, width, side * side], np.int64))
    x = net.add("Transpose", x, perm=[0, 2, 1])
    ones, nought = net.constant("ones", np.ones(width)), net.constant("nought", np.zeros(width))
    root = net.constant("root", width**-0.5)
    for _ in range(blocks):
        normal = net.add("LayerNormalization", x, ones, nought)
        q, k, v = (net.add("MatMul", normal, net.weight((width, width))) for _ in range(3))
        scores = net.add("MatMul", net.add("Mul", q, root), net.add("Transpose", k, perm=[0, 2, 1]))
        seen = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
        x = net.add("Add", x, net.add("MatMul", seen, net.weight((width, width))))
        normal = net.add("LayerNormalization", x, ones, nought)
        wide = net.add("Relu", net.add("MatMul", normal, net.weight((width, 4 * width))))
        x = net.add("Add", x, net.add("MatMul", wide, net.weight((4 * width, width))))
    x = net.add("Transpose", x, perm=[0, 2, 1])
    x = net.add("Reshape", x, net.constant("as_image", [1, width, side, side], np.int64))
    x = net.resize(net.add("Conv", x, net.weight((3, width, 1, 1))), 4, "/head/Resize")
    return net.model(x, (1, 3, 4 * side, 4 * side)), net.weights


def chain(nodes: int, sites: int = 10) -> Built:
    """A long chain of elementwise nodes, a Resize and a pooling back every so often."""
    net = Network()
    half = net.constant("half", [0.5])
    x = "input"
    every = max(3, nodes // sites)
    while len(net.nodes) < nodes - 1:
        if len(net.nodes) % every == every // 2:
            x = net.resize(x, 2, f"/up{len(net.nodes)}/Resize", "nearest", by_node=True)
            x = net.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
        elif len(net.nodes) % 2:
            x = net.add("Relu", x)
        else:
            x = net.add("Add", x, half)
    return net.model(x, SHAPE), net.weights


def branches(sites: int) -> Built:
    """As many branches as sites, each enlarging the input by itself; their averages are added up."""
    net = Network()
    total = net.add("GlobalAveragePool", "input")
    for index in range(sites):
        large = net.resize("input", 2 + index % 3, f"/branch{index}/Resize", ("nearest", "linear", "cubic")[index % 3])
        total = net.add("Add", total, net.add("GlobalAveragePool", large))
    return net.model(total, POOLED), net.weights


def nested(depth: int) -> Built:
    """If inside If, each body with a Resize of its own."""
    net = Network()
    net.constants.append(numpy_helper.from_array(np.array(True), "taken"))

    def body(level: int, side: str) -> onnx.GraphProto:
        inner = Network()
        x = inner.resize("input", 2, f"/{side}{level}/Resize")
        x = inner.add("GlobalAveragePool", x, output=f"/{side}{level}/pool/output")
        if side == "then" and level + 1 < depth:
            x = inner.add("Add", x, branch(inner, level + 1), output=f"/{side}{level}/sum/output")
        inner.add("Relu", x, output=f"/{side}{level}/last/output")
        out = helper.make_tensor_value_info(f"/{side}{level}/last/output", TensorProto.FLOAT, POOLED)
        return helper.make_graph(inner.nodes, f"{side}{level}", [], [out], inner.constants)

    def branch(into: Network, level: int) -> str:
        bodies = {"then_branch": body(level, "then"), "else_branch": body(level, "else")}
        return into.add("If", "taken", output=f"/If{level}/output", **bodies)

    return net.model(branch(net, 0), POOLED), net.weights
