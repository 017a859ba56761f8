"""Random networks built at two sizes: what `input-size` makes of the one must be the other.

Every network is drawn from a seed: convolutions, pools, skip connections, windows, heads, grids, statistics divided by
counts, with every size written as a constant, as exporters write them. The same seed at another size is the truth.

usage: random_sizes.py [--seeds 0:1000] [--any]
"""

from __future__ import annotations

import argparse
import collections
import sys

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.outcome import Status


class Net:
    """A network at one size; `draw` decides its structure and is the same at every size."""

    def __init__(self, seed: int, height: int, width: int, opset: int, replay: list[bool] | None = None) -> None:
        self.replay, self.allowed_so_far = replay, []
        self.draw = np.random.default_rng(seed)
        self.weights = np.random.default_rng(seed + 1)
        self.nodes: list = []
        self.constants: dict[str, TensorProto] = {}
        self.shared: dict[bytes, str] = {}
        self.opset = opset
        self.share = bool(self.draw.integers(2))
        self.height, self.width = height, width

    def const(self, values, dtype=np.int64) -> str:
        array = np.array(values, dtype)
        key = repr((array.shape, array.dtype)).encode() + array.tobytes()
        if self.share and key in self.shared:
            return self.shared[key]
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(array, name)
        self.shared[key] = name
        return name

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.constants)}"
        values = self.weights.standard_normal(shape).astype(np.float32)
        self.constants[name] = numpy_helper.from_array(values, name)
        return name

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes) -> str:
        names = [f"t{len(self.nodes)}_{k}" for k in range(outputs)]
        node = helper.make_node(op_type, inputs, names, name=f"{op_type}_{len(self.nodes)}", **attributes)
        self.nodes.append(node)
        return names[0]

    def allowed(self, holds: bool) -> bool:
        """Whether a block fits the map: as at the first size, at another one."""
        if self.replay is not None:
            holds = self.replay[len(self.allowed_so_far)]
        self.allowed_so_far.append(holds)
        return holds

    def pick(self, *choices):
        return choices[int(self.draw.integers(len(choices)))]


class Map:
    """A tensor [1, channels, height, width]."""

    def __init__(self, name: str, channels: int, height: int, width: int) -> None:
        self.name, self.channels, self.height, self.width = name, channels, height, width


def conv(n: Net, x: Map) -> Map:
    outs, kernel, stride = int(n.pick(2, 4, 6, 8)), int(n.pick(1, 3, 5)), int(n.pick(1, 1, 2))
    pad = kernel // 2
    y = n.add("Conv", x.name, n.weight(outs, x.channels, kernel, kernel), pads=[pad] * 4, strides=[stride] * 2)
    return Map(n.add("Relu", y), outs, (x.height - 1) // stride + 1, (x.width - 1) // stride + 1)


def pool(n: Net, x: Map) -> Map:
    kind = n.pick("MaxPool", "AveragePool")
    if not n.allowed(min(x.height, x.width) >= 4):
        return x
    return Map(n.add(kind, x.name, kernel_shape=[2, 2], strides=[2, 2]), x.channels, x.height // 2, x.width // 2)


def shuffle(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, 2, x.channels // 2, x.height, x.width]))
    y = n.add("Transpose", y, perm=[0, 2, 1, 3, 4])
    return Map(n.add("Reshape", y, n.const([1, x.channels, x.height, x.width])), x.channels, x.height, x.width)


def group_norm(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const(n.pick([1, 2, -1], [1, 2, x.channels // 2 * x.height * x.width])))
    y = n.add("InstanceNormalization", y, n.weight(2), n.weight(2))
    return Map(n.add("Reshape", y, n.const([1, x.channels, x.height, x.width])), x.channels, x.height, x.width)


def attention(n: Net, x: Map) -> Map:
    tokens, c = x.height * x.width, x.channels
    y = n.add("Transpose", n.add("Reshape", x.name, n.const([1, c, tokens])), perm=[0, 2, 1])
    qkv = n.add("MatMul", y, n.weight(c, 3 * c))
    qkv = n.add("Transpose", n.add("Reshape", qkv, n.const([1, tokens, 3, 2, c // 2])), perm=[2, 0, 3, 1, 4])
    q, k, v = (n.add("Gather", qkv, n.const(i), axis=0) for i in range(3))
    score = n.add("Softmax", n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y = n.add("Transpose", n.add("MatMul", score, v), perm=[0, 2, 1, 3])
    y = n.add("Reshape", y, n.const([1, tokens, c]))
    y = n.add("Transpose", y, perm=[0, 2, 1])
    return Map(n.add("Reshape", y, n.const([1, c, x.height, x.width])), c, x.height, x.width)


def gate(n: Net, x: Map) -> Map:
    how = n.pick("mean", "pool", "sum")
    if how == "mean":
        y = n.add("ReduceMean", x.name, axes=[2, 3], keepdims=1) if n.opset < 18 else n.add("GlobalAveragePool", x.name)
    elif how == "pool":
        y = n.add("AveragePool", x.name, kernel_shape=[x.height, x.width])
    else:
        y = n.add("ReduceSum", x.name, n.const([2, 3]))
        y = n.add("Div", y, n.const(x.height * x.width, np.float32))
    y = n.add("Sigmoid", n.add("Conv", y, n.weight(x.channels, x.channels, 1, 1)))
    return Map(n.add("Mul", x.name, y), x.channels, x.height, x.width)


def coordinates(n: Net, x: Map) -> Map:
    def line(size: int) -> np.ndarray:
        i = np.arange(size, dtype=np.float32)
        return i / np.float32(size - 1) * np.float32(2) - np.float32(1) if unit else i

    unit = bool(n.draw.integers(2))
    ys, xs = np.meshgrid(line(x.height), line(x.width), indexing="ij")
    grid = n.const(np.stack([xs, ys])[None], np.float32)
    return Map(n.add("Concat", x.name, grid, axis=1), x.channels + 2, x.height, x.width)


def normed(n: Net, x: Map) -> Map:
    """Statistics over positions, with the count written out."""
    flat = n.add("Reshape", x.name, n.const([1, x.channels, x.height * x.width]))
    total = n.add("ReduceSum", n.add("Mul", flat, flat), n.const([2]))
    count = n.pick(x.height * x.width, x.height * x.width - 1)
    scale = n.add("Sqrt", n.add("Div", total, n.const(count, np.float32)))
    y = n.add("Div", flat, scale)
    return Map(n.add("Reshape", y, n.const([1, x.channels, x.height, x.width])), x.channels, x.height, x.width)


def unshuffled(n: Net, x: Map) -> Map:
    if not n.allowed(x.height % 2 == x.width % 2 == 0):
        return x
    c, h, w = x.channels, x.height // 2, x.width // 2
    y = n.add("Transpose", n.add("Reshape", x.name, n.const([1, c, h, 2, w, 2])), perm=[0, 1, 3, 5, 2, 4])
    y = n.add("Reshape", y, n.const([1, 4 * c, h, w]))
    return conv(n, Map(y, 4 * c, h, w))


def cropped(n: Net, x: Map) -> Map:
    if not n.allowed(min(x.height, x.width) >= 8):
        return x
    y = n.add("Slice", x.name, n.const([1, 1]), n.const([x.height - 1, x.width - 1]), n.const([2, 3]))
    return Map(y, x.channels, x.height - 2, x.width - 2)


def padded(n: Net, x: Map) -> Map:
    y = n.add("Pad", x.name, n.const([0, 0, 1, 1, 0, 0, 1, 1]), mode="reflect")
    return Map(y, x.channels, x.height + 2, x.width + 2)


BLOCKS = [
    conv,
    conv,
    conv,
    pool,
    shuffle,
    group_norm,
    attention,
    gate,
    coordinates,
    normed,
    unshuffled,
    padded,
    cropped,
]


def resized_to(n: Net, x: Map, height: int, width: int) -> Map:
    mode = n.pick("nearest", "linear")
    y = n.add("Resize", x.name, "", "", n.const([1, x.channels, height, width]), mode=mode)
    return Map(y, x.channels, height, width)


def merged(n: Net, x: Map, skip: Map) -> Map:
    x = resized_to(n, x, skip.height, skip.width)
    if n.draw.integers(2) and x.channels == skip.channels:
        return Map(n.add("Add", x.name, skip.name), x.channels, x.height, x.width)
    return Map(n.add("Concat", x.name, skip.name, axis=1), x.channels + skip.channels, x.height, x.width)


def output(n: Net, x: Map, maps: list[Map]) -> str:
    how = n.pick("map", "input", "triple", "tokens", "heads", "vector", "pooled")
    if how == "input":
        return resized_to(n, x, n.height, n.width).name
    if how == "triple":
        return resized_to(n, x, 3 * n.height, 3 * n.width).name
    if how == "tokens":
        return n.add("Reshape", x.name, n.const([1, x.channels, x.height * x.width]))
    if how == "heads":
        made = []
        for at in maps[-2:]:
            head = n.add("Transpose", n.add("Conv", at.name, n.weight(6, at.channels, 1, 1)), perm=[0, 2, 3, 1])
            made.append(n.add("Reshape", head, n.const([1, at.height * at.width * 2, 3])))
        return n.add("Concat", *made, axis=1)
    if how == "vector":
        y = n.add("Flatten", n.add("GlobalAveragePool", x.name))
        return n.add("Gemm", y, n.weight(x.channels, 5))
    if how == "pooled":
        y = n.add("AveragePool", x.name, kernel_shape=[x.height, x.width], strides=[x.height, x.width])
        return n.add("Reshape", y, n.const([1, x.channels]))
    return x.name


def built(seed: int, height: int, width: int, like: tuple[int, int] | None = None) -> ModelProto:
    """The network of a seed at a size, with the blocks that it has at the size `like`."""
    replay = None if like is None else _net(seed, *like, None)[0].allowed_so_far
    return _net(seed, height, width, replay)[1]


def _net(seed: int, height: int, width: int, replay: list[bool] | None) -> tuple[Net, ModelProto]:
    n = Net(seed, height, width, 13, replay)
    x = Map("x", 3, height, width)
    maps: list[Map] = []
    for _ in range(int(n.draw.integers(2, 9))):
        x = conv(n, x) if x.name == "x" or x.channels % 2 else n.pick(*BLOCKS)(n, x)
        maps.append(x)
        if len(maps) > 2 and n.draw.integers(4) == 0:
            x = merged(n, x, maps[int(n.draw.integers(len(maps) - 1))])
            maps.append(x)
    y = output(n, x, maps)
    graph = helper.make_graph(
        n.nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, height, width])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)],
        list(n.constants.values()),
    )
    return n, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def run(model: ModelProto, height: int, width: int) -> np.ndarray:
    """The output, not optimised."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    x = np.random.default_rng(1).random((1, 3, height, width), np.float32)
    (found,) = session.run(None, {"x": x})
    return np.asarray(found)


def judged(seed: int, *, anything: bool, verify: bool) -> tuple[str, str]:
    """What `input-size` made of the network of a seed: right, refused, or how it is wrong."""
    sizes = np.random.default_rng(seed + 2)
    old, new = ([int(16 * sizes.integers(1, 6)) for _ in range(2)] for _ in range(2))
    if sizes.integers(3) == 0:
        new = [int(size) for size in sizes.integers(24, 96, 2)]
    if sizes.integers(3) == 0:
        old[1] = old[0]
    model = built(seed, *old)
    try:
        truth = run(built(seed, *new, like=(old[0], old[1])), *new)
    except Exception:
        return "no truth", ""
    try:
        result = resizefix.input_size(
            model, size="any" if anything else (new[0], new[1]), verify=verify, on_refusal="return"
        )
    except ResizefixError as error:
        return "failed", str(error)[:300]
    refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
    if refused:
        return f"refused {getattr(refused[0].reason, 'code', '?')}", f"{refused[0].node}: {refused[0].reason}"
    if not result.changed and new == old:
        return "right", ""
    try:
        found = run(result.model, *new)
    except Exception as error:
        return "WRONG norun", str(error)[:200]
    if found.shape != truth.shape:
        return "WRONG shape", f"{found.shape} for {truth.shape}"
    if found.tobytes() == truth.tobytes():
        return "right", ""
    far = float(np.abs(found - truth).max() / max(1e-30, np.abs(truth).max()))
    return ("close", "") if far <= 1e-5 or np.isnan(truth).any() else ("WRONG different", f"{far:.3g} {old} {new}")


ort.set_default_logger_severity(4)


def main() -> None:
    """Judge the networks of a range of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300")
    parser.add_argument("--any", action="store_true")
    parser.add_argument("--verify", action="store_true")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, last):
        verdict, note = judged(seed, anything=given.any, verify=given.verify)
        counts[verdict] += 1
        if verdict.startswith(("WRONG", "failed")):
            print(seed, verdict, note, flush=True)
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    sys.exit(any(verdict.startswith(("WRONG", "failed")) for verdict in counts))


if __name__ == "__main__":
    main()
