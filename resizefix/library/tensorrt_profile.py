"""The optimization profile that TensorRT needs to build a promoted model, and the trtexec flags that say it.

A shape-tensor input is profiled by its values, even where height and width are static (NVIDIA's developer guide,
"Shape Tensor I/O"); a dynamic tensor by its shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto

from resizefix.document.shapes import dims_of
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Form, PromotedInput

_USUAL_LENGTH = 64  # of a dynamic axis that nothing is known of


@dataclass(frozen=True)
class Range:
    """The smallest, the usual and the largest value of a shape tensor, or shape of a tensor."""

    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]


def profile_of(
    model: ModelProto, inputs: Sequence[PromotedInput], shapes: Mapping[str, Sequence[int]]
) -> dict[str, Range]:
    """A range for every input that needs one: the promoted ones, and those with dynamic sizes.

    `shapes` are the shapes that the model was run at; dynamic axes range from half of that to double, the first (the
    batch) from 1. Scales range from 1 (or half, where they shrink) to double.
    """
    promoted = {source.name: source for source in inputs}
    constants = {tensor.name for tensor in model.graph.initializer}
    ranges: dict[str, Range] = {}
    for value in model.graph.input:
        if value.name in promoted:
            ranges[value.name] = _values(promoted[value.name])
        elif value.name not in constants and value.type.tensor_type.HasField("shape"):
            dims = dims_of(value.type)
            if not all(isinstance(size, int) for size in dims):
                ranges[value.name] = _shapes(dims, shapes.get(value.name))
    return ranges


def _values(source: PromotedInput) -> Range:
    opt = tuple(int(number) for number in source.value)
    driven = source.sites[0]
    if driven.form is Form.SIZES or driven.kind is ExtentKind.SIZES:
        moving = set(driven.scaled)
        low = tuple(max(1, size // 2) if position in moving else size for position, size in enumerate(opt))
        high = tuple(2 * size if position in moving else size for position, size in enumerate(opt))
        return Range(low, opt, high)
    one = driven.denominator or 1
    return Range(tuple(one if n >= one else max(1, n // 2) for n in opt), opt, tuple(2 * n for n in opt))


def _shapes(dims: Sequence[int | str | None], ran: Sequence[int] | None) -> Range:
    opt = [size if isinstance(size, int) else _USUAL_LENGTH if axis else 1 for axis, size in enumerate(dims)]
    if ran is not None and len(ran) == len(dims):
        opt = [int(size) for size in ran]
    low, high = list(opt), list(opt)
    for axis, size in enumerate(dims):
        if not isinstance(size, int):
            low[axis] = max(1, opt[axis] // 2) if axis else 1
            high[axis] = 2 * opt[axis]
    return Range(tuple(low), tuple(opt), tuple(high))


def trtexec_flags(path: str, ranges: Mapping[str, Range]) -> str:
    """The command that builds the model: shapes as 1x3x64x64, the values of shape tensors in the same spelling."""
    flags = [f"--onnx={path}"]
    for name, part in (("minShapes", "min"), ("optShapes", "opt"), ("maxShapes", "max")):
        specs = (f"{source}:{'x'.join(map(str, getattr(ranges[source], part)))}" for source in ranges)
        flags.append(f"--{name}={','.join(specs)}")
    return " ".join(["trtexec", *flags] if ranges else ["trtexec", flags[0]])
