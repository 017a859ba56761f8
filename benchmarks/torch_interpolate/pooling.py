"""Whether an export of `mode="area"` can be told from one of an adaptive average pooling: both, node for node.

python -m benchmarks.torch_interpolate.pooling        needs torch; a line for each call, of open lengths, and the count
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import onnx
import torch
from torch.nn import functional

from benchmarks.torch_interpolate.calls import LENGTHS
from benchmarks.torch_interpolate.exports import quiet

POOLS = {1: functional.adaptive_avg_pool1d, 2: functional.adaptive_avg_pool2d}
CALLS: dict[int, tuple[dict[str, object], ...]] = {
    1: tuple({"scale_factor": factor, "recompute_scale_factor": True} for factor in (1.8, 0.7)),
    2: (
        *({"scale_factor": factor} for factor in (0.5, 0.7)),
        {"scale_factor": 0.7, "recompute_scale_factor": True},
        *({"size": size} for size in ((24, 16), (12, 8), (24, 8))),
    ),
}
"""Those whose files admit other lengths than the export's and compute otherwise there than torch does."""


class Network(torch.nn.Module):
    """A network of one call."""

    def __init__(self, call: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the call makes of x."""
        return self.call(x)


def exported(call: Callable[[torch.Tensor], torch.Tensor], rank: int) -> list[tuple[object, ...]]:
    """What dynamo writes at opset 18 for open lengths, without names: inputs, constants and nodes."""
    free = {axis: torch.export.Dim(f"length{axis}", min=2, max=4096) for axis in range(2, 2 + rank)}
    x = torch.zeros(1, 2, *LENGTHS[rank])
    with quiet():
        program = torch.onnx.export(
            Network(call).eval(), (x,), dynamo=True, opset_version=18, dynamic_shapes=(free,), verbose=False
        )
    graph = program.model_proto.graph
    numbers: dict[str, int] = {"": -1}

    def of(names: object) -> tuple[int, ...]:
        return tuple(numbers.setdefault(name, len(numbers)) for name in names)

    parts: list[tuple[object, ...]] = [of(value.name for value in graph.input)]
    parts += [(*of([one.name]), onnx.numpy_helper.to_array(one).tobytes()) for one in graph.initializer]
    for node in graph.node:
        attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
        parts.append((node.domain, node.op_type, of(node.input), of(node.output), *attributes))
    return parts


def pooled(options: dict[str, object], rank: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """The pooling to the same lengths."""
    size, factor = options.get("size"), options.get("scale_factor")
    if size is not None:
        return lambda x: POOLS[rank](x, size)
    return lambda x: POOLS[rank](x, [math.trunc(torch.sym_float(length) * factor) for length in x.shape[2:]])


def compared() -> Iterator[tuple[int, dict[str, object], bool]]:
    """Every call, and whether the two files are alike."""
    for rank, calls in CALLS.items():
        for options in calls:
            area = exported(lambda x, options=options: functional.interpolate(x, mode="area", **options), rank)
            yield rank, options, area == exported(pooled(options, rank), rank)


if __name__ == "__main__":
    results = list(compared())
    for rank, options, alike in results:
        print(f"{rank}-D", options, "alike" if alike else "not alike")
    print(sum(alike for *_, alike in results), "of", len(results))
