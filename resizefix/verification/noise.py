"""How far a network may move for a change that is exact only to a bound: as far as noise of that size moves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto, helper

from resizefix.document.document import Document
from resizefix.outcome import ErrorBound
from resizefix.runtimes.inputs import Feeds, shapes_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import MAIN, Key
from resizefix.verification.compare import compare, largest_finite, longest
from resizefix.verification.engine import Engine

_DRAWS = 2
_TIMES = 2  # what noise does, so much a change may do


def moved_by_noise(
    engine: Engine,
    original: Document,
    bounds: Mapping[Key, ErrorBound],
    feeds: Feeds,
    inner: Sequence[str] = (),
) -> dict[str, float]:
    """For each output, and each of the tensors `inner`, how far it may differ, as a part of its largest value.

    That is twice as far as it moves when noise of the size of their bounds is added to what nodes of the main graph
    make. Empty where that cannot be run.
    """
    names = [name for (path, name), bound in bounds.items() if path == MAIN and bound.bound > 0]
    if not names:
        return {}
    generator = np.random.default_rng(0)
    allowed: dict[str, float] = {}
    try:
        seen = engine.run(original, feeds, extra_outputs=list(dict.fromkeys((*names, *inner))))
        shown = dict.fromkeys((*(value.name for value in original.proto.graph.output), *inner))
        outputs = {name: seen[name] for name in shown}
        for _ in range(_DRAWS):
            noise = {}
            for name in names:
                value = seen[name]
                if not isinstance(value, np.ndarray) or value.dtype != np.float32:
                    return {}
                samples = longest([*shapes_of(feeds).values(), value.shape])
                size = bounds[MAIN, name].at(samples) * largest_finite(value)
                noise[_noise(name)] = generator.uniform(-size, size, value.shape).astype(np.float32)
            moved_outputs = engine.run(_noisy(original, names), {**feeds, **noise}, extra_outputs=list(inner))
            moved = compare(outputs, {name: moved_outputs[name] for name in shown})
            for difference in moved.tensors:
                far = _TIMES * difference.max_rel_diff
                allowed[difference.tensor] = max(allowed.get(difference.tensor, 0.0), far)
    except (CannotLoadError, CannotRunError):
        return {}
    return {name: far for name, far in allowed.items() if np.isfinite(far)}


def _noise(name: str) -> str:
    return f"{name}__noise"


def _noisy(original: Document, names: list[str]) -> Document:
    """A copy whose nodes' results have an input added to them."""
    copy = original.copy()
    graph = copy.proto.graph
    for name in names:
        index = next(index for index, node in enumerate(graph.node) if name in node.output)
        node = graph.node[index]
        node.output[list(node.output).index(name)] = f"{name}__before"
        graph.node.insert(index + 1, helper.make_node("Add", [f"{name}__before", _noise(name)], [name]))
        graph.input.append(helper.make_tensor_value_info(_noise(name), TensorProto.FLOAT, None))
    return copy
