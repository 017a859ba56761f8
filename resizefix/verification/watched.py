"""A model run in onnxruntime without optimisation, tensors inside it looked at: what other runtimes are held to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, helper

from resizefix.document.document import Document
from resizefix.document.edits import set_shape
from resizefix.runtimes.inputs import Feeds, TensorInput, Value, model_inputs
from resizefix.scope_path import Key
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine
from resizefix.verification.extraction import Extraction
from resizefix.verification.fitting import Fitted, fit_feeds
from resizefix.verification.memory_budget import MemoryBudget


@dataclass(frozen=True)
class ResizePlace:
    """One resize: what reports call it, its scope path and output, and the tensor that it resizes."""

    label: str
    key: Key
    data: str


def watched_runs(
    document: Document,
    tensors: Sequence[str],
    inputs: Sequence[TensorInput],
    hints: Mapping[str, object],
    conditions: Conditions,
    runs: int = 1,
) -> list[Fitted]:
    """`runs` feeds of consecutive seeds and what the model makes of them, with `tensors` of its main graph beside its
    outputs. Raises CannotLoadError, CannotRunError, BrokenOffError, UsageError."""
    engine = Engine(conditions)
    session = engine.open(document, optimized=False, extra_outputs=tensors)
    budget = MemoryBudget(document, conditions.limits)
    seeds = range(conditions.seed, conditions.seed + runs)
    return [fit_feeds(session, engine.feeder(inputs, hints, seed=seed), budget=budget) for seed in seeds]


def values_in(document: Document, tensors: Collection[str], conditions: Conditions) -> dict[str, Value]:
    """What the model is fed, its outputs, and those of `tensors` that nodes of its main graph make. Raises what
    `watched_runs` raises."""
    made = {name for node in document.proto.graph.node for name in node.output}
    inputs = model_inputs(document.proto)
    (run,) = watched_runs(document, sorted(made.intersection(tensors)), inputs, {}, conditions)
    return {**run.outputs, **run.feeds}


def cut_out(document: Document, extraction: Extraction, key: Key, data: str) -> Document:
    """A model of one node, which resizes `data`. OpenCV looks at who has written a file: that is as in the document."""
    cut = extraction.extract({key: data})[0]
    for name in ("producer_name", "producer_version", "domain", "model_version"):
        setattr(cut.proto, name, getattr(document.proto, name))
    return cut


def watched_tensors(document: Document, places: Sequence[ResizePlace]) -> list[str]:
    """The inputs and outputs of those resizes that stand in the main graph; in bodies nothing can be looked at."""
    known = {name for node in document.proto.graph.node for name in node.output}
    names = (name for place in places if not place.key[0].steps for name in (place.data, place.key[1]))
    return [name for name in dict.fromkeys(names) if name in known]


def with_outputs(document: Document, results: Mapping[str, Value]) -> Document:
    """A copy with every tensor of `results` as an output, of the type and the sizes that it had: some runtimes take no
    output without them."""
    copy = document.copy()
    present = {value.name for value in copy.proto.graph.output}
    for name, value in results.items():
        if name not in present and isinstance(value, np.ndarray):
            copy.proto.graph.output.append(
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            )
    return copy


def write_sizes(model: ModelProto, values: Mapping[str, Value]) -> None:
    """Fix inputs and outputs to the sizes of these values."""
    for value in (*model.graph.input, *model.graph.output):
        known = values.get(value.name)
        if isinstance(known, np.ndarray):
            set_shape(value, known.shape)
            value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(known.dtype)


def fed(document: Document, feeds: Feeds) -> dict[str, Value]:
    """Those of `feeds` that the model has an input for, in its order."""
    return {entry.name: feeds[entry.name] for entry in model_inputs(document.proto) if entry.name in feeds}
