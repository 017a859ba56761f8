"""Small models drawn at random: what `verify_pairs.py` tries `verify` on.

A model takes one to three inputs of any kind and shape and has one to six operations, some of which are branches,
loops, local functions or containers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

F, D, I64, B, S = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
U8, I32 = TensorProto.UINT8, TensorProto.INT32
NUMERIC = (F, D, I64, I32)
SHAPES = ([], [1], [2], [3], [5], [2, 3], [1, 3, 4, 4], ["n"], ["n", 2], [1, 3, "h", "w"])

# Operators that one may be taken for another, by how many tensors they take; the types that they take.
UNARY_FLOAT = ("Abs", "Neg", "Relu", "Identity", "Floor", "Ceil", "Round", "Sigmoid", "Tanh", "Sign", "Exp", "Sqrt",
               "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Softplus", "Erf", "Sin", "ThresholdedRelu", "Selu",
               "Celu", "Softsign", "Reciprocal", "Shrink")  # fmt: skip
UNARY_INTEGER = ("Abs", "Neg", "Identity", "Sign")
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Div")
COMPARISONS = ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal")
LOGICAL = ("And", "Or", "Xor")
REDUCTIONS = ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2")
FAMILIES = (UNARY_FLOAT, BINARY, COMPARISONS, LOGICAL, REDUCTIONS, ("ArgMax", "ArgMin"))


@dataclass
class Tensor:
    """A name with its type; `shape` None: whatever comes out."""

    name: str
    kind: int
    shape: list[int | str] | None = None


@dataclass
class Builder:
    """One graph as it grows."""

    rng: random.Random
    pool: list[Tensor] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    functions: list[object] = field(default_factory=list)
    made: int = 0

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def constant(self, value: object, kind: int) -> str:
        name = self.name()
        array = np.asarray(value, helper.tensor_dtype_to_np_dtype(kind))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def number(self, kind: int) -> str:
        """A scalar such as models hold."""
        if kind in (I64, I32, U8):
            return self.constant(self.rng.choice([0, 1, 2, 3, 5, 10, 37, 100] + [-1, -2] * (kind != U8)), kind)
        return self.constant(self.rng.choice([0, 0.5, 1, -1, 2, 3, 6, 10, 255, 0.1, -0.3, 20, 1e-3]), kind)

    def add(
        self, op: str, inputs: list[str], kind: int, shape: list[int | str] | None = None, **attributes: object
    ) -> Tensor:
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        made = Tensor(name, kind, shape)
        self.pool.append(made)
        return made

    def one(self, *kinds: int) -> Tensor | None:
        fitting = [tensor for tensor in self.pool if tensor.kind in kinds]
        return self.rng.choice(fitting[-3:] if self.rng.random() < 0.6 else fitting) if fitting else None


def unary(b: Builder) -> None:
    x = b.one(F, D, I64, I32)
    if x is not None:
        op = b.rng.choice(UNARY_FLOAT if x.kind == F else UNARY_INTEGER)
        b.add(op, [x.name], x.kind, x.shape)


def with_number(b: Builder) -> None:
    x = b.one(F, D, I64, I32)
    if x is not None:
        operands = [x.name, b.number(x.kind)]
        b.rng.shuffle(operands)
        op = b.rng.choice(BINARY if x.kind in (F, D) else BINARY[:5])
        b.add(op, operands, x.kind, x.shape)


def binary(b: Builder) -> None:
    x = b.one(F, D, I64, I32)
    other = x and b.rng.choice([y for y in b.pool if y.kind == x.kind])
    if x is not None and other is not None:
        b.add(b.rng.choice(BINARY[:5]), [x.name, other.name], x.kind)


def clip(b: Builder) -> None:
    x = b.one(F, I64)
    if x is not None:
        low, high = sorted(b.rng.sample([-100, -6, -1, 0, 1, 6, 20, 100, 255], 2))
        b.add("Clip", [x.name, b.constant(low, x.kind), b.constant(high, x.kind)], x.kind, x.shape)


def compared(b: Builder) -> Tensor | None:
    x = b.one(F, I64, I32, D)
    if x is None:
        return None
    others = [y.name for y in b.pool if y.kind == x.kind and y is not x]
    other = b.rng.choice(others) if others and b.rng.random() < 0.3 else b.number(x.kind)
    return b.add(b.rng.choice(COMPARISONS), [x.name, other], B)


def where(b: Builder) -> None:
    condition = b.one(B) or compared(b)
    x = b.one(F, I64)
    if condition is not None and x is not None:
        other = b.one(x.kind)
        b.add("Where", [condition.name, x.name, b.number(x.kind) if b.rng.random() < 0.5 else other.name], x.kind)


def cast(b: Builder) -> None:
    x = b.one(F, I64, I32, B, U8, D)
    if x is not None:
        kind = b.rng.choice([F, I64, I32, D] + [B] * (x.kind != U8))
        b.add("Cast", [x.name], kind, x.shape, to=kind)


def reduced(b: Builder) -> None:
    x = b.one(F)
    if x is not None:
        b.add(b.rng.choice(REDUCTIONS), [x.name], F, None, keepdims=b.rng.randint(0, 1))


def logical(b: Builder) -> None:
    x, y = b.one(B), b.one(B)
    if x is not None and y is not None:
        b.add(b.rng.choice(LOGICAL), [x.name, y.name], B) if b.rng.random() < 0.7 else b.add("Not", [x.name], B)


def flat(b: Builder) -> Tensor | None:
    x = b.one(F, I64)
    return x and b.add("Reshape", [x.name, b.constant([-1], I64)], x.kind, ["?"])


def picked(b: Builder) -> None:
    x = flat(b)
    index = b.one(I64)
    if x is not None:
        b.add("Gather", [x.name, index.name if index and b.rng.random() < 0.6 else b.constant(0, I64)], x.kind)


def largest(b: Builder) -> None:
    x = flat(b)
    if x is not None:
        b.add(b.rng.choice(("ArgMax", "ArgMin")), [x.name], I64, None, axis=0, keepdims=0)


def concatenated(b: Builder) -> None:
    x, y = flat(b), flat(b)
    if x is not None and y is not None and x.kind == y.kind:
        b.add("Concat", [x.name, y.name], x.kind, ["?"], axis=0)


def rounded(b: Builder) -> None:
    x = b.one(F)
    if x is not None:
        name = b.add("QuantizeLinear", [x.name, b.constant(b.rng.choice([0.1, 0.05, 1.0]), F),
                                        b.constant(b.rng.choice([0, 100, 128]), U8)], U8, x.shape)  # fmt: skip
        b.add("Cast", [name.name], F, x.shape, to=F)


def modulo(b: Builder) -> None:
    x = b.one(I64, I32)
    if x is not None:
        b.add("Mod", [x.name, b.constant(b.rng.choice([2, 3, 10, 7]), x.kind)], x.kind, x.shape)


def resized(b: Builder) -> None:
    images = [x for x in b.pool if x.kind == F and x.shape is not None and len(x.shape) == 4]
    if images:
        scales = b.constant(b.rng.choice([[1, 1, 2, 2], [1, 1, 1.5, 2], [1, 1, 0.5, 0.5]]), F)
        mode = b.rng.choice(["nearest", "linear", "cubic"])
        b.add("Resize", [images[0].name, "", scales], F, [1, 3, "?", "?"], mode=mode)


def texts(b: Builder) -> None:
    x = b.one(S)
    if x is not None:
        y = b.one(S)
        other = b.constant(np.array(b.rng.choice(["a", "b", "cat"]), object), S) if b.rng.random() < 0.6 else y.name
        b.add("Equal", [x.name, other], B)


def _body(b: Builder, name: str, kind: int, source: str) -> GraphProto:
    inner = Builder(b.rng, [Tensor(source, kind)], made=b.made + 100 * (1 + len(b.nodes)))
    inner.made += b.rng.randint(0, 9) * 10
    for _ in range(b.rng.randint(1, 2)):
        b.rng.choice((unary, with_number))(inner)
    if not inner.nodes:
        inner.add("Identity", [source], kind)
    b.made = max(b.made, inner.made)
    outputs = [helper.make_tensor_value_info(inner.pool[-1].name, kind, None)]
    return helper.make_graph(inner.nodes, name, [], outputs, inner.constants)


def branch(b: Builder) -> None:
    x = b.one(F, I64)
    condition = next((y for y in b.pool if y.kind == B and y.shape == []), None)
    if x is None:
        return
    if condition is None or b.rng.random() < 0.6:
        total = b.add("ReduceSum", [x.name], x.kind, [], keepdims=0)
        condition = b.add(b.rng.choice(COMPARISONS[:4]), [total.name, b.number(x.kind)], B, [])
    bodies = {f"{side}_branch": _body(b, side, x.kind, x.name) for side in ("then", "else")}
    b.add("If", [condition.name], x.kind, None, **bodies)


def loop(b: Builder) -> None:
    x = b.one(F)
    if x is None:
        return
    turns = next((y.name for y in b.pool if y.kind == I64 and y.shape == []), None)
    turns = turns if turns and b.rng.random() < 0.5 else b.constant(b.rng.randint(0, 4), I64)
    at, go, carried = b.name(), b.name(), b.name()
    body = _body(b, "body", F, carried)
    result = body.output[0].name
    body.node.append(helper.make_node("Identity", [go], [go + "o"]))
    body.input.extend([helper.make_tensor_value_info(at, I64, []), helper.make_tensor_value_info(go, B, []),
                       helper.make_tensor_value_info(carried, F, None)])  # fmt: skip
    del body.output[:]
    body.output.extend([helper.make_tensor_value_info(go + "o", B, []), helper.make_tensor_value_info(result, F, None)])
    b.add("Loop", [turns, "", x.name], F, x.shape, body=body)


def called(b: Builder) -> None:
    x = b.one(F)
    if x is None:
        return
    inner = Builder(b.rng, [Tensor("x", F)], made=1000)
    for _ in range(b.rng.randint(1, 3)):
        unary(inner)
    name = f"f{len(b.functions)}"
    imports = [helper.make_opsetid("", 18)]
    b.functions.append(helper.make_function("own", name, ["x"], [inner.pool[-1].name], inner.nodes, imports))
    b.add(name, [x.name], F, x.shape, domain="own")


OPERATIONS: tuple[tuple[Callable[[Builder], object], int], ...] = (
    (unary, 6), (with_number, 6), (binary, 4), (clip, 3), (compared, 3), (where, 3), (cast, 2), (reduced, 2),
    (logical, 2), (picked, 2), (largest, 1), (concatenated, 1), (rounded, 1), (modulo, 1), (resized, 1), (texts, 3),
    (branch, 3), (loop, 2), (called, 2),
)  # fmt: skip


def model(rng: random.Random) -> ModelProto:
    """A model of opset 18."""
    b = Builder(rng)
    inputs = []
    for index in range(rng.randint(1, 3)):
        kind = rng.choice([F, F, F, F, I64, I64, B, D, I32, U8, S])
        shape = rng.choice([[], [1], [3]]) if kind in (S, B) else rng.choice(SHAPES)
        tensor = Tensor(f"x{index}", kind, shape)
        b.pool.append(tensor)
        inputs.append(helper.make_tensor_value_info(tensor.name, kind, shape))
    operations, weights = zip(*OPERATIONS, strict=True)
    for _ in range(rng.randint(1, 6)):
        rng.choices(operations, weights)[0](b)
    if not b.nodes:
        b.add("Identity", [b.pool[0].name], b.pool[0].kind)
    read = {name for node in b.nodes for name in node.input}
    ends = [tensor for tensor in b.pool[len(inputs) :] if tensor.name not in read]
    kept = ends[-3:]
    outputs = [helper.make_tensor_value_info(tensor.name, tensor.kind, None) for tensor in kept]
    if rng.random() < 0.08:  # the outputs in a container
        name = b.name()
        b.nodes.append(helper.make_node("SequenceConstruct", [kept[-1].name], [name]))
        outputs[-1] = helper.make_tensor_sequence_value_info(name, kept[-1].kind, None)
    graph = helper.make_graph(b.nodes, "drawn", inputs, outputs, b.constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=b.functions, ir_version=9)
