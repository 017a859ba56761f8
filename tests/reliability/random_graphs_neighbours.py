"""What stands before and after a drawn resize: casts, QDQ pairs, skips that couple, readers of its shape."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper
from random_graphs_body import Body
from random_graphs_spelling import Spelling


@dataclass(frozen=True)
class Tensor:
    """A tensor of the drawn model: `dims` when it is fed what `Source.feeds` says; None: not known."""

    name: str
    dims: tuple[int, ...] | None
    dtype: str

    @property
    def sizes(self) -> tuple[int, ...]:
        assert self.dims is not None
        return self.dims


def as_it_is(body: Body, x: Tensor) -> Tensor:
    return x


def negated(body: Body, x: Tensor) -> Tensor:
    return x if x.dtype.startswith("u") else Tensor(body.node("Abs", [x.name]), x.dims, x.dtype)


def weighted(body: Body, x: Tensor) -> Tensor:
    """A multiplication with a constant that is large enough to lie outside the light model."""
    if x.dtype != "float32" or len(x.sizes) < 2:
        return x
    weight = np.linspace(0.5, 2, x.sizes[-1], dtype=np.float32)
    return Tensor(body.node("Mul", [x.name, body.constant(weight, "weight")]), x.dims, x.dtype)


def cast(body: Body, x: Tensor) -> Tensor:
    other = body.source.rng.choice(("float32", "float32", "float16", "int32"))
    to = helper.np_dtype_to_tensor_dtype(np.dtype(other))
    return Tensor(body.node("Cast", [x.name], to=to), x.dims, other)


def quantized(body: Body, x: Tensor) -> Tensor:
    """QuantizeLinear → DequantizeLinear, or the first of them alone: then the resize reads uint8."""
    if x.dtype != "float32" or body.source.opset < 10:
        return x
    constants = [body.constant(np.array(0.05, np.float32)), body.constant(np.array(128, np.uint8))]
    q = body.node("QuantizeLinear", [x.name, *constants])
    if body.source.rng.random() < 0.5:
        return Tensor(q, x.dims, "uint8")
    return Tensor(body.node("DequantizeLinear", [q, *constants]), x.dims, x.dtype)


BEFORE = (as_it_is, as_it_is, as_it_is, negated, weighted, cast, quantized)


def alone(body: Body, x: Tensor, y: Tensor, spelling: Spelling, sites: list[Any]) -> Tensor:
    return y


def skip(body: Body, x: Tensor, y: Tensor, spelling: Spelling, sites: list[Any]) -> Tensor:
    """Adds a constant or an input of the very size: another scale breaks it, but where an axis has size 1."""
    if y.dtype != "float32":
        return y
    other = np.linspace(-1, 1, int(np.prod(y.sizes)), dtype=np.float32).reshape(y.sizes)
    name = body.source.input("skip", other) if body.source.rng.random() < 0.5 else body.constant(other, "skip")
    return Tensor(body.node("Add", [y.name, name]), y.dims, y.dtype)


def second_of_its_kind(body: Body, x: Tensor, y: Tensor, spelling: Spelling, sites: list[Any]) -> Tensor:
    """A second resize of the same tensor, added: only together can the two take another scale."""
    from random_graphs_places import resize

    if y.dtype not in ("float32", "float16"):
        return y
    other, _ = resize(body, spelling, x, sites, "main")
    if other.dims != y.dims:
        return y
    return Tensor(body.node("Add", [y.name, other.name]), y.dims, y.dtype)


def reshaped(body: Body, x: Tensor, y: Tensor, spelling: Spelling, sites: list[Any]) -> Tensor:
    shape = body.constant(np.array([1, *y.sizes[1:]] if y.sizes[0] == 1 else y.sizes, np.int64), "shape")
    return Tensor(body.node("Reshape", [y.name, shape]), y.dims, y.dtype)


def same_shape_as(body: Body, x: Tensor, y: Tensor, spelling: Spelling, sites: list[Any]) -> Tensor:
    """Reads its shape: stale shapes in the file would show here."""
    shape = body.node("Shape", [y.name], "shape")
    return Tensor(body.node("Reshape", [body.node("Identity", [y.name]), shape]), y.dims, y.dtype)


AFTER = (alone, alone, alone, skip, skip, second_of_its_kind, reshaped, same_shape_as)
