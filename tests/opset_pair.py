"""A model at a newer opset and what the downgrade makes of it, run side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper
from ort_runs import run

from resizefix.document.scopes import default_opset
from resizefix.opsets.ir3 import to_ir3
from resizefix.opsets.lowering import OPSET, downgrade
from resizefix.opsets.table import DOWN
from resizefix.opsets.verdict import Blocker, Downgrade

Feeds = Mapping[str, np.ndarray]


def model_of(opset: int, graph: str, ir_version: int = 8) -> ModelProto:
    """A model from a graph in ONNX text."""
    return onnx.helper.make_model(
        onnx.parser.parse_graph(graph), opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=ir_version
    )


def same_bits(one: Any, other: Any) -> bool:
    """Whether two arrays have one type, one shape and the same bytes."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()


def copied(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def lowered(model: ModelProto) -> tuple[ModelProto, Downgrade]:
    """A downgraded copy, which the full checker accepts, and what was done."""
    copy = copied(model)
    result = downgrade(copy, value_of=numpy_helper.to_array)
    assert not result.blockers, result.blockers
    assert default_opset(copy.opset_import, fallback=1) == 8
    onnx.checker.check_model(copy, full_check=True)
    return copy, result


def assert_same(model: ModelProto, feeds: Feeds, bound: float | None = None) -> ModelProto:
    """The downgraded model gives the original's bits, or numbers within `bound`; as IR 3 too. Returns it."""
    onnx.checker.check_model(model, full_check=True)
    after, result = lowered(model)
    assert result.exact == (bound is None), result.steps
    expected, found = run(model, feeds), run(after, feeds)
    for one, other in zip(expected, found, strict=True):
        if bound is None:
            assert same_bits(one, other), (one, other)
        else:
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            scale = max(1.0, float(np.abs(one[np.isfinite(one)]).max(initial=0)))
            np.testing.assert_allclose(other, one, rtol=0, atol=bound * scale, equal_nan=True)
    oldest = copied(after)
    assert not to_ir3(oldest).blockers
    onnx.checker.check_model(oldest, full_check=True)
    assert all(same_bits(one, other) for one, other in zip(found, run(oldest, feeds), strict=True))
    return after


def blockers_of(model: ModelProto) -> tuple[Blocker, ...]:
    """What stands in the way of a copy."""
    return downgrade(copied(model), value_of=numpy_helper.to_array).blockers


def operators(model: ModelProto) -> list[str]:
    """The operators of the main graph, in order."""
    return [node.op_type for node in model.graph.node]


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Unit-normal data."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


# Every kind of float that rules get wrong: signed zeros, infinities, NaN, ties, the largest and smallest.
AWKWARD = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan, 1.0, -1.0, 8388609.0],
    np.float32,
)


def versions_of(op_type: str) -> tuple[int, ...]:
    """Every version of an operator that its row reads; a model of the opset of that number uses it."""
    return tuple(version for version in DOWN[op_type].reads if version > OPSET)


def read_versions(*op_types: str) -> list[tuple[str, int]]:
    """(operator, version) for every version that the rows of these operators read."""
    return [(op_type, version) for op_type in op_types for version in versions_of(op_type)]


def declared(integers: Mapping[str, list[int]]) -> str:
    """Initializers of int64 vectors."""
    return ", ".join(
        f"int64[{len(values)}] {name} = {{{','.join(map(str, values))}}}" for name, values in integers.items()
    )
